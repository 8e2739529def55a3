//! The arguments of `hapax build`, and what they ask for.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use hapax::codec::Existing;
use hapax::screen::PasswordDigest;

use super::{BuildRequest, FilterKind, Size};
use crate::args::Global;
use crate::exit::{self, Exit};
use crate::lists::{self, FormatChoice, Input, Reading};
use crate::progress::Progress;
use crate::rate;
use crate::trouble::Trouble;

/// Arguments of `hapax build`.
///
/// Reads lists of passwords, or of their SHA-1 or NT hashes with or without counts, and writes one
/// filter. A row that cannot be read stops the build, and nothing is written; before anything is
/// written, every row is asked for and found.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
pub(crate) struct BuildArgs {
    /// Lists to read, `-` for standard input
    #[arg(required = true, value_name = "LIST")]
    lists: Vec<PathBuf>,
    /// The filter to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists
    #[arg(short, long)]
    force: bool,
    /// What rows are
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: FormatChoice,
    /// The hash that the filter holds; without it, that of the lists, or SHA-1 for passwords
    #[arg(long, value_enum, value_name = "HASH")]
    hash: Option<HashChoice>,
    /// Kind of filter
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    kind: FilterKind,
    /// Share of strangers that may be listed by mistake, such as 1e-5, 0.01%, 1/65536, 2^-16 (the
    /// default)
    #[arg(long, value_name = "RATE", value_parser = rate::parse)]
    false_positive_rate: Option<f64>,
    /// Most bytes of the filter, such as 65536, 64K or 4G; the rate follows
    #[arg(long, value_name = "BYTES", value_parser = bytes, conflicts_with = "false_positive_rate")]
    bytes: Option<u64>,
    /// Leave out rows counted less often
    #[arg(long, value_name = "N", default_value_t = 0)]
    min_count: u64,
    /// Tolerate so many malformed rows, and count them
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// What the list is called, to be kept in the file
    #[arg(long, value_name = "TEXT", default_value_t)]
    name: String,
    /// Where the list is from; without it, the names of the files
    #[arg(long, value_name = "TEXT")]
    source: Option<String>,
    /// The date of the list
    #[arg(long, value_name = "TEXT", default_value_t)]
    date: String,
}

/// A hash that a filter may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum HashChoice {
    /// SHA-1
    Sha1,
    /// NT, also called NTLM
    Nt,
}

/// Builds what was asked for, and tells what came of it.
///
/// # Errors
///
/// As [`super::run`].
pub(crate) fn run(args: &BuildArgs, global: Global) -> Result<Exit, Trouble> {
    let inputs: Vec<Input> = args.lists.iter().cloned().map(Input::from).collect();
    let lists = lists::open_all(&inputs)?;
    let progress = Progress::new(global.progress(), lists::total_len(&lists));
    let card = super::run(&args.request(), lists, &|bytes| progress.advance(bytes))?;
    drop(progress);
    if !global.quiet {
        crate::note(&card.to_string());
    }
    Ok(Exit::Yes)
}

impl BuildArgs {
    fn request(&self) -> BuildRequest {
        BuildRequest {
            output: self.output.clone(),
            reading: Reading {
                format: self.format,
                digest: self.hash.map(HashChoice::digest),
                min_count: self.min_count,
                skip_bad: self.skip_bad,
            },
            kind: self.kind,
            size: match (self.false_positive_rate, self.bytes) {
                (Some(rate), _) => Size::Rate(rate),
                (None, Some(bytes)) => Size::Bytes(bytes),
                (None, None) => Size::default(),
            },
            existing: if self.force { Existing::Replace } else { Existing::Refuse },
            name: self.name.clone(),
            source: self.source.clone().unwrap_or_else(|| self.file_names()),
            date: self.date.clone(),
        }
    }

    /// The names of the lists, without their folders: those are nobody else's business.
    fn file_names(&self) -> String {
        let names = self.lists.iter().map(|path| path.file_name().unwrap_or(path.as_os_str()));
        names.map(|name| name.to_string_lossy()).collect::<Vec<_>>().join(", ")
    }
}

impl HashChoice {
    const fn digest(self) -> PasswordDigest {
        match self {
            Self::Sha1 => PasswordDigest::Sha1,
            Self::Nt => PasswordDigest::Nt,
        }
    }
}

/// Reads a number of bytes, with K, M, G or T for powers of 1024.
fn bytes(text: &str) -> Result<u64, &'static str> {
    const EXPECTED: &str = "expected a number of bytes such as 65536, 64K or 4G";
    let (digits, shift) = match text.trim_end_matches(['B', 'b', 'i']) {
        text if text.ends_with(['K', 'k']) => (&text[..text.len() - 1], 10),
        text if text.ends_with(['M', 'm']) => (&text[..text.len() - 1], 20),
        text if text.ends_with(['G', 'g']) => (&text[..text.len() - 1], 30),
        text if text.ends_with(['T', 't']) => (&text[..text.len() - 1], 40),
        text => (text, 0),
    };
    let number: u64 = digits.parse().map_err(|_| EXPECTED)?;
    number.checked_mul(1 << shift).ok_or(EXPECTED)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_the_usual_ways() {
        for (text, number) in [
            ("1", 1),
            ("65536", 65_536),
            ("64K", 65_536),
            ("64k", 65_536),
            ("64KiB", 65_536),
            ("3M", 3 << 20),
            ("4GB", 4 << 30),
            ("2T", 2 << 40),
        ] {
            assert_eq!(bytes(text), Ok(number), "{text}");
        }
        for text in ["", "K", "-1", "1.5G", "1X", "99999999999999999999", "99999999T"] {
            assert!(bytes(text).is_err(), "{text}");
        }
    }
}
