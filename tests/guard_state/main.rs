//! The guard's state from outside: what a restart, a rescale, a crash and damage leave.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a premise that fails is a test that fails")]
#![expect(unreachable_pub, reason = "the support modules are shared by several test crates")]

#[path = "../support/random.rs"]
mod random;

mod attached;
mod catch_up;
mod cost;
mod damage;
mod faults;
mod processes;
mod rescale;
mod restart;
mod subject;
mod union;
mod with_state;
