//! The command line: what the user wrote, in types.
//!
//! One definition gives parsing, help, man pages and shell completions. The arguments of a command
//! stand beside the command, and so does the step from them to what the command works with.

use std::ffi::OsString;

use clap::{Args, CommandFactory, Parser, Subcommand};

use crate::build::BuildArgs;
use crate::check::CheckArgs;
use crate::convert::ConvertArgs;
use crate::dedup::DedupArgs;
use crate::diff::DiffArgs;
use crate::exit::{self, Exit};
use crate::generate::{CompletionsArgs, ManArgs};
use crate::info::InfoArgs;
use crate::progress::When;
use crate::synthetic::GenArgs;
use crate::trouble::Trouble;
use crate::usage;
use crate::verify::VerifyArgs;

/// Probabilistic membership filters: screen passwords against lists of compromised ones, drop
/// repeated lines.
///
/// A filter answers "not listed" for certain and "listed" with a known, small chance of a mistake,
/// offline, from a file many times smaller than the list.
#[derive(Debug, Parser)]
#[command(
    name = "hapax",
    version,
    arg_required_else_help = true,
    subcommand_required = true,
    max_term_width = 100,
    after_help = exit::section(exit::ANY)
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Options of every command.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct Global {
    /// Print no summary and no progress bar; `check` without --count or --json leaves its answer to
    /// the exit status
    #[arg(short, long, global = true)]
    pub(crate) quiet: bool,
    /// When to draw a progress bar on standard error
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    progress: When,
}

impl Global {
    /// When to draw a progress bar.
    pub(crate) fn progress(self) -> When {
        if self.quiet { When::Never } else { self.progress }
    }
}

/// The commands. What each says of itself stands at its arguments.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    #[command(visible_alias = "create")]
    Build(BuildArgs),
    #[command(visible_alias = "query")]
    Check(CheckArgs),
    #[command(visible_alias = "show")]
    Info(InfoArgs),
    Verify(VerifyArgs),
    Convert(ConvertArgs),
    Dedup(DedupArgs),
    Diff(DiffArgs),
    Gen(GenArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// The definition, for completions and man pages.
pub(crate) fn definition() -> clap::Command {
    Cli::command()
}

/// What the command line asks for.
pub(crate) enum Request {
    /// Run this.
    Run(Box<Cli>),
    /// Nothing; the answer (help, version) was printed.
    Answered(Exit),
}

/// Parses the command line.
///
/// # Errors
///
/// What is wrong with it, without any of the user's own words: a password typed at the wrong place
/// must not be shown on a screen or end in a log.
pub(crate) fn parse(args: &[OsString]) -> Result<Request, Trouble> {
    match Cli::try_parse_from(args) {
        Ok(cli) => Ok(Request::Run(Box::new(cli))),
        Err(error) => usage::answer(&error, args).map(Request::Answered),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_definition_is_sound() {
        definition().debug_assert();
    }

    #[test]
    fn quiet_wins_over_progress() {
        let global = Global { quiet: true, progress: When::Always };
        assert_eq!(global.progress(), When::Never);
    }
}
