//! The promises of `ReplayGuard`: what it remembers, what it may lose, what upstream may be told.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a premise that fails is a test that fails")]
#![expect(unreachable_pub, reason = "the modules of one test crate share their helpers")]

#[path = "../support/random.rs"]
mod random;
#[path = "../support/statistics.rs"]
mod statistics;

mod acks;
mod batches;
mod builder;
mod growth;
mod lost;
mod model;
mod policies;
mod rates;
mod subject;
mod tickets;
mod time;
