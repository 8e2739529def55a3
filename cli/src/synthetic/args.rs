//! The arguments of `hapax gen`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hapax::codec::Existing;

use super::{GenRequest, Kind};
use crate::exit;
use crate::lists::DigestChoice;
use crate::rows::{Compress, Format, LineEnd, Target};
use crate::threads;

/// Make a list for tests and measurements
///
/// Writes hashes drawn at random, sorted, with counts as genuine lists have them, at any size and as
/// fast as they can be read: a billion rows can be piped into `hapax build` without a disk. The same
/// seed gives the same list, and another seed one that has no row in common with it.
///
/// With --as plain it writes the numbers from --start on, so that which passwords are in the list and
/// which are not is known: pipe it into `hapax convert --digest sha1` for their hashes.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
pub(crate) struct GenArgs {
    /// How many rows: exactly so many passwords, about so many hashes
    #[arg(long, value_name = "N")]
    rows: u64,
    /// What chooses the hashes
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,
    /// What to write
    #[arg(long = "as", value_enum, value_name = "FORMAT", default_value_t)]
    format: GenFormat,
    /// Which hash
    #[arg(long, value_enum, value_name = "HASH", default_value = "sha1")]
    digest: DigestChoice,
    /// The first number of a plain list
    #[arg(long, value_name = "N", default_value_t = 0)]
    start: u64,
    /// How lines end [default: crlf in range files, lf elsewhere]
    #[arg(long, value_enum, value_name = "END")]
    eol: Option<LineEnd>,
    /// How many threads make rows [default: one for each core]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    threads: Option<NonZero<u16>>,
    /// The file, or the new folder, to write; `-` for standard output
    #[arg(short, long, value_name = "FILE", default_value = "-")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(short, long)]
    force: bool,
}

/// What can be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum GenFormat {
    /// Hashes and counts, as Have I Been Pwned publishes them
    #[default]
    Hibp,
    /// The same as a folder of range files
    HibpDir,
    /// Hashes alone
    Hashes,
    /// Numbers, as passwords
    Plain,
}

impl GenArgs {
    /// What is asked for.
    pub(crate) fn request(&self) -> GenRequest {
        let (kind, format) = match self.format {
            GenFormat::Hibp => (Kind::Hashes, Format::Hibp),
            GenFormat::HibpDir => (Kind::Hashes, Format::HibpDir),
            GenFormat::Hashes => (Kind::Hashes, Format::Hashes),
            GenFormat::Plain => (Kind::Plain { start: self.start }, Format::Hashes),
        };
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        GenRequest {
            kind,
            rows: self.rows,
            seed: self.seed,
            digest: self.digest.into(),
            threads: self.threads.map_or(cores, |threads| threads.get().into()),
            target: Target {
                path: self.output.clone(),
                format,
                end: self.eol,
                compress: Compress::None,
                existing: if self.force { Existing::Replace } else { Existing::Refuse },
            },
        }
    }
}
