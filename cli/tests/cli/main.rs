//! The tool as its users meet it: through the binary.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a premise that fails is a test that fails")]

mod builtin;
mod check;
mod common;
mod confirm;
mod convert;
mod dedup;
mod dry_run;
mod formats;
mod lists;
mod no_room;
mod peers_faults;
mod process;
#[cfg(target_os = "linux")]
mod prompt;
mod secrets;
mod shapes;
