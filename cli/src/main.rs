//! `hapax`: probabilistic membership filters on the command line.
//!
//! ```text
//!  args ──▶ one command ──▶ Result<Exit, Trouble> ──▶ exit status
//!             │
//!             ├─ data      to standard output
//!             └─ summaries, progress, errors   to standard error
//! ```
//!
//! Secrets come on standard input, from files, or at a prompt that does not echo. They are in no
//! argument, variable, message or temporary file, and the buffers that held them are wiped.

mod args;
mod build;
mod builtin;
mod bytes;
mod check;
mod commands;
mod convert;
mod dedup;
mod diff;
mod exit;
mod filters;
mod generate;
mod harden;
mod info;
mod lists;
mod memory;
mod progress;
mod rate;
mod rows;
mod signals;
mod synthetic;
mod threads;
mod trouble;
mod usage;
mod verify;

use std::ffi::OsString;
use std::io::{self, Write as _};
use std::process::ExitCode;

use crate::args::{Command, Request};
use crate::exit::Exit;
use crate::trouble::Trouble;

fn main() -> ExitCode {
    if let Err(error) = harden::forbid_core_dumps() {
        note(&format!("hapax: core dumps could not be turned off: {error}"));
    }
    if let Err(error) = signals::tidy_up_when_stopped() {
        note(&format!("hapax: signals cannot be handled, so unfinished files may stay: {error}"));
    }
    let exit = run().unwrap_or_else(|trouble| {
        if let Trouble::Message(message) = &trouble {
            note(&format!("hapax: {message}"));
        }
        trouble.exit()
    });
    exit.into()
}

fn run() -> Result<Exit, Trouble> {
    let words: Vec<OsString> = std::env::args_os().collect();
    let cli = match args::parse(&words)? {
        Request::Run(cli) => cli,
        Request::Answered(exit) => return Ok(exit),
    };
    match cli.command {
        Command::Build(args) => commands::build(&args, cli.global),
        Command::Check(args) => check::run(&args, cli.global),
        Command::Convert(args) => commands::convert(&args, cli.global),
        Command::Dedup(args) => dedup::run(&args, cli.global),
        Command::Diff(args) => commands::diff(&args, cli.global),
        Command::Gen(args) => commands::generate(&args, cli.global),
        Command::Info(args) => info::run(&args),
        Command::Verify(args) => commands::verify(&args, cli.global),
        Command::Completions(args) => generate::completions(&args),
        Command::Man(args) => generate::man(&args),
    }
}

/// Prints a line, or several, to standard error, control characters escaped: messages of the
/// library and the system may have text in them that came with a file. If that fails there is nowhere left to say so; the exit status
/// still tells.
fn note(line: &str) {
    let _ = writeln!(io::stderr(), "{}", trouble::escaped_lines(line));
}
