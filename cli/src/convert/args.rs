//! The arguments of `hapax convert`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hapax::codec::Existing;

use super::{ConvertRequest, Merge};
use crate::bytes;
use crate::exit;
use crate::lists::{DigestChoice, FormatChoice, Input, Reading, ZeroCountChoice};
use crate::rows::{Compress, Format, LineEnd, Order, Target};

/// Make a list from lists
///
/// Reads what `hapax build` reads, and writes hashes: one file, or a folder of range files. Lists of
/// passwords are hashed. A row without a count counts as seen once, so --dedup sum makes the counts
/// of a list of passwords.
///
/// Rows stay in the order in which they come unless --sort, --dedup (by hash) or --top (by count) says
/// otherwise. What is to be sorted and does not fit into --memory is kept, as hashes, in temporary
/// files that have no name.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
pub(crate) struct ConvertArgs {
    /// Lists to read: files, folders of range files, `-` for standard input
    #[arg(value_name = "LIST", required = true)]
    lists: Vec<PathBuf>,
    /// The file, or the new folder, to write; `-` for standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists; a folder is never replaced
    #[arg(short, long)]
    force: bool,
    /// What to write
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    to: Format,
    /// What a row of the lists is
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: FormatChoice,
    /// Which hash; by default that of the list, or SHA-1 for plain passwords
    #[arg(long, value_enum, value_name = "HASH")]
    digest: Option<DigestChoice>,
    /// The order of the output
    #[arg(long, value_enum, value_name = "ORDER", default_value_t)]
    sort: SortChoice,
    /// What to do with rows of the same hash
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    dedup: DedupChoice,
    /// Leave out rows counted less often than this
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_count: u64,
    /// Keep only so many rows, those counted most often
    #[arg(long, value_name = "N")]
    top: Option<u64>,
    /// What to do with rows that have a count of 0
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    zero_count: ZeroCountChoice,
    /// Tolerate and count up to so many malformed rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// How lines end [default: crlf in range files, lf elsewhere]
    #[arg(long, value_enum, value_name = "END")]
    eol: Option<LineEnd>,
    /// How to compress the output; range files are compressed one by one
    #[arg(long, value_enum, value_name = "HOW", default_value_t)]
    compress: Compress,
    /// Memory to sort in, such as 512M or 4G
    #[arg(long, value_name = "SIZE", value_parser = bytes::parse, default_value = "512M")]
    memory: u64,
    /// The folder for temporary files [default: that of the system]
    #[arg(long, value_name = "FOLDER")]
    tmp: Option<PathBuf>,
}

/// The order of a list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum SortChoice {
    /// As the rows come
    #[default]
    Keep,
    /// By hash
    Hash,
    /// Those counted most often first
    Count,
}

/// What to do with rows of the same hash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum DedupChoice {
    /// Keep them
    #[default]
    Keep,
    /// Make one row of them, with the sum of their counts
    Sum,
    /// Make one row of them, with the largest of their counts
    Max,
}

impl ConvertArgs {
    /// The lists, as they were named.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.lists.iter().cloned().map(Input::from).collect()
    }

    /// What is asked for.
    pub(crate) fn request(&self) -> ConvertRequest {
        let sort = match self.sort {
            SortChoice::Keep => None,
            SortChoice::Hash => Some(Order::Hash),
            SortChoice::Count => Some(Order::Count),
        };
        let merge = match self.dedup {
            DedupChoice::Keep => None,
            DedupChoice::Sum => Some(Merge::Sum),
            DedupChoice::Max => Some(Merge::Max),
        };
        let chosen_by_count =
            self.top.is_some() || self.min_count > 1 || sort == Some(Order::Count);
        ConvertRequest {
            reading: Reading {
                format: self.format,
                digest: self.digest.map(Into::into),
                // A sum makes counts of rows that have none.
                needs_counts: chosen_by_count && merge != Some(Merge::Sum),
                zero_count: self.zero_count.into(),
                skip_bad: self.skip_bad,
                ..Reading::default()
            },
            target: Target {
                path: self.output.clone(),
                format: self.to,
                end: self.eol,
                compress: self.compress,
                existing: if self.force { Existing::Replace } else { Existing::Refuse },
            },
            sort,
            merge,
            min_count: self.min_count,
            top: self.top,
            memory: self.memory,
            tmp: self.tmp.clone().unwrap_or_else(std::env::temp_dir),
        }
    }
}
