//! The promises of `hapax::replay`: windows, accounts, saved states, the adaptor, upstream backup.
#![expect(clippy::unwrap_used, reason = "a premise that fails is a test that fails")]
#![expect(unreachable_pub, reason = "the support modules are shared by several test crates")]

#[path = "../support/random.rs"]
mod random;
#[path = "../support/statistics.rs"]
mod statistics;

mod accounts;
mod adaptor;
mod checkpoint;
mod subject;
mod upstream;
mod window;
