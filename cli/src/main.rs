//! `hapax`: probabilistic membership filters on the command line.
#![cfg_attr(not(test), expect(dead_code, reason = "not called yet"))]

mod build;
mod exit;
mod lists;
mod memory;
mod rate;
mod trouble;
mod verify;

fn main() {}
