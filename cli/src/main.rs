//! `hapax`: probabilistic membership filters on the command line.
#![allow(dead_code, unused_imports, reason = "commands are not dispatched yet")]

mod build;
mod bytes;
mod exit;
mod lists;
mod memory;
mod rate;
mod trouble;
mod verify;

fn main() {}
