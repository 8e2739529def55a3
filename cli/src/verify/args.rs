//! The arguments of `hapax verify`, and what they ask for.

use std::path::PathBuf;

use clap::Args;

use super::VerifyRequest;
use crate::args::Global;
use crate::exit::{self, Exit};
use crate::filters;
use crate::lists::{self, FormatChoice, Input, Reading};
use crate::progress::Progress;
use crate::trouble::Trouble;

/// Arguments of `hapax verify`.
///
/// Checks every byte of a filter. With lists it also asks the filter for every row: none may be
/// missed.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::VERIFY))]
pub(crate) struct VerifyArgs {
    /// The filter to check
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// A list of which every row must be found, `-` for standard input; may be given again
    #[arg(long, value_name = "LIST")]
    against: Vec<PathBuf>,
    /// What rows are
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t, requires = "against")]
    format: FormatChoice,
    /// Tolerate so many malformed rows, and count them
    #[arg(long, value_name = "N", default_value_t = 0, requires = "against")]
    skip_bad: u64,
}

/// Verifies a filter, and tells what was found.
///
/// # Errors
///
/// As [`super::run`].
pub(crate) fn run(args: &VerifyArgs, global: Global) -> Result<Exit, Trouble> {
    filters::existing_len("FILTER", 0, &args.filter)?;
    let inputs: Vec<Input> = args.against.iter().cloned().map(Input::from).collect();
    let lists = if inputs.is_empty() { Vec::new() } else { lists::open_all(&inputs)? };
    let request = VerifyRequest {
        filter: args.filter.clone(),
        reading: Reading { format: args.format, skip_bad: args.skip_bad, ..Reading::default() },
    };
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let verified = super::run(&request, lists, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if !global.quiet {
        crate::note(&verified.to_string());
    }
    Ok(verified.exit())
}
