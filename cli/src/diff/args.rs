//! The arguments of `hapax diff`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hapax::codec::Existing;

use super::{DiffRequest, Print};
use crate::exit;
use crate::lists::{DigestChoice, FormatChoice, Input, Reading};

/// Compare two lists
///
/// Counts the rows that were added, removed or counted anew between two lists of hashes, both sorted by
/// hash, in one pass and in constant memory. A list that is not sorted is refused.
///
/// With --print the rows are printed too. Rows of one kind are a list that every command can read; of
/// several kinds, "+", "-" and "~" stand before them.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DIFF))]
pub(crate) struct DiffArgs {
    /// The list as it was: a file or a folder of range files
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The list as it is
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// Print rows of these kinds, parted by commas
    #[arg(long, value_enum, value_name = "KINDS", value_delimiter = ',')]
    print: Vec<PrintChoice>,
    /// The file to print them to
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(short, long)]
    force: bool,
    /// Print the numbers on standard output as JSON
    #[arg(long, conflicts_with = "print")]
    pub(crate) json: bool,
    /// Which hash, if that is not told by the lists
    #[arg(long, value_enum, value_name = "HASH")]
    digest: Option<DigestChoice>,
    /// Tolerate and count up to so many malformed rows in each list
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
}

/// Rows to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PrintChoice {
    /// Rows of NEW that are not in OLD
    Added,
    /// Rows of OLD that are not in NEW
    Removed,
    /// Rows whose count is another one
    Changed,
}

impl DiffArgs {
    /// The two lists, as they were named.
    pub(crate) fn inputs(&self) -> [Input; 2] {
        [Input::from(self.old.clone()), Input::from(self.new.clone())]
    }

    /// What is asked for.
    pub(crate) fn request(&self) -> DiffRequest {
        DiffRequest {
            reading: Reading {
                // A list of passwords is in no order of hashes.
                format: FormatChoice::Hashes,
                digest: self.digest.map(Into::into),
                skip_bad: self.skip_bad,
                ..Reading::default()
            },
            print: Print {
                added: self.print.contains(&PrintChoice::Added),
                removed: self.print.contains(&PrintChoice::Removed),
                changed: self.print.contains(&PrintChoice::Changed),
            },
            output: self.output.clone(),
            existing: if self.force { Existing::Replace } else { Existing::Refuse },
        }
    }
}
