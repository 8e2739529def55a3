//! The contract, kept by every filter: laws, model tests, rates, sizing.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a premise that fails is a test that fails")]
#![expect(unreachable_pub, reason = "the support modules are shared by several test crates")]

#[path = "../support/mod.rs"]
mod support;

mod batches;
mod cases;
mod fuse;
mod laws;
mod models;
mod rates;
mod retiring;
mod sizing;
