//! The arguments of `hapax build`.

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;
use hapax::codec::Existing;

use super::request::MAX_RATE;
use super::{BuildRequest, FilterKind, Size};
use crate::exit;
use crate::lists::{DigestChoice, FormatChoice, Input, Reading, ZeroCountChoice};
use crate::{bytes, rate, threads};

/// Make a filter from lists
///
/// Reads lists of compromised passwords and writes a filter of them. The list is not changed, and
/// the filter appears whole or not at all. A filter of passwords is readable by its owner alone, one
/// of hashes by whom the umask lets: whoever holds a filter can test guesses against it.
///
/// Rows are passwords, or SHA-1 or NT hashes in hexadecimal with or without ":count". A folder is one
/// of range files, as every downloader leaves them. What is compressed with gzip, bzip2 or zstd is
/// decompressed. Line ends of both kinds, byte order marks, blank rows and padding rows are dealt
/// with; a row that is none of this stops the build and is named by its number and place.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::DOING))]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct BuildArgs {
    /// Lists to build from: files, folders of range files, `-` for standard input
    #[arg(value_name = "LIST", required = true)]
    lists: Vec<PathBuf>,
    /// The file to write
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Replace the output if it exists, and build even if the false positive rate is above 1 %
    #[arg(short, long)]
    force: bool,
    /// Tell what would be built, and build nothing: the size, the rate, and what the build takes
    #[arg(long)]
    dry_run: bool,
    /// How many rows there are, for a dry run of what is compressed or comes from a pipe
    #[arg(long, value_name = "N", requires = "dry_run")]
    rows: Option<u64>,
    /// What a row is
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: FormatChoice,
    /// Which hash the keys are; by default that of the list, or SHA-1 for plain passwords
    #[arg(long, value_enum, value_name = "HASH")]
    digest: Option<DigestChoice>,
    /// The kind of filter
    #[arg(long, value_enum, value_name = "KIND", default_value_t)]
    kind: FilterKind,
    /// The chance that a good password is refused, such as 1e-5, 0.01%, 1/65536 or 2^-16; above 1 %
    /// only with --force [default: 2^-16]
    #[arg(long, value_name = "RATE", value_parser = rate::parse, conflicts_with = "bytes")]
    false_positive_rate: Option<f64>,
    /// The most bytes that the filter may take, such as 64M, in place of a rate; refused if the rate
    /// that follows is above 1 %, unless with --force
    #[arg(long, value_name = "SIZE", value_parser = bytes::parse)]
    bytes: Option<u64>,
    /// Leave out rows counted less often than this
    #[arg(long, value_name = "N", default_value_t = 1)]
    min_count: u64,
    /// Take only so many rows, those counted most often
    #[arg(long, value_name = "N")]
    top: Option<u64>,
    /// Tolerate and count up to so many malformed rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// What to do with rows that have a count of 0
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    zero_count: ZeroCountChoice,
    /// Refuse lists that seem to lack rows: a download that broke off, a range that is missing
    #[arg(long)]
    require_complete: bool,
    /// Memory to work in. Fuse filters stay within it whatever the list; the others need 16 bytes a
    /// row beside the filter
    #[arg(long, value_name = "SIZE", value_parser = bytes::parse, default_value = "256M")]
    memory: u64,
    /// Folder for temporary files, 16 bytes a row, if the rows are not sorted and do not fit the memory
    /// [default: that of the system]
    #[arg(long, value_name = "FOLDER")]
    tmp: Option<PathBuf>,
    /// Threads that build [default: the number of processors]
    #[arg(long, value_name = "N", value_parser = threads::parse)]
    threads: Option<NonZero<u16>>,
    /// The rows of a pipe may come in any order, even if the first half million are sorted
    #[arg(long)]
    unsorted: bool,
    /// What the list is called, to be kept in the file
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    name: String,
    /// Where the list is from, to be kept in the file
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    source: String,
    /// The date of the list, to be kept in the file
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    date: String,
}

impl BuildArgs {
    /// The lists, as they were named.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.lists.iter().cloned().map(Input::from).collect()
    }

    /// Whether the build is only to be foretold.
    pub(crate) const fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// How many rows there are, where the user says.
    pub(crate) const fn rows(&self) -> Option<u64> {
        self.rows
    }

    /// What is asked for.
    pub(crate) fn request(&self) -> BuildRequest {
        BuildRequest {
            output: self.output.clone(),
            reading: Reading {
                format: self.format,
                digest: self.digest.map(Into::into),
                min_count: self.min_count,
                zero_count: self.zero_count.into(),
                skip_bad: self.skip_bad,
                coverage: true,
                ..Reading::default()
            },
            top: self.top,
            require_complete: self.require_complete,
            kind: self.kind,
            size: match (self.false_positive_rate, self.bytes) {
                (Some(rate), _) => Size::Rate(rate),
                (None, Some(bytes)) => Size::Bytes(bytes),
                (None, None) => Size::default(),
            },
            max_rate: if self.force { 1.0 } else { MAX_RATE },
            memory: self.memory,
            tmp: self.tmp.clone().unwrap_or_else(std::env::temp_dir),
            threads: self.threads.map(|threads| threads.get().into()),
            unsorted: self.unsorted,
            existing: if self.force { Existing::Replace } else { Existing::Refuse },
            name: self.name.clone(),
            source: self.source.clone(),
            date: self.date.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hapax::screen::PasswordDigest;
    use hapax::screen::list::ZeroCount;

    use super::*;
    use crate::trouble::Trouble;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: BuildArgs,
    }

    fn parse(line: &str) -> Result<BuildArgs, clap::Error> {
        Line::try_parse_from(format!("build {line}").split_whitespace()).map(|line| line.args)
    }

    #[test]
    fn defaults_are_those_of_the_help() {
        let args = parse("list.txt -o out.hapax").unwrap();
        assert_eq!(args.inputs(), [Input::File("list.txt".into())]);
        let request = args.request();
        assert_eq!(request.size, Size::Rate(2f64.powi(-16)));
        assert_eq!((request.kind, request.existing), (FilterKind::Fuse, Existing::Refuse));
        assert_eq!(request.reading.format, FormatChoice::Auto);
        assert_eq!((request.reading.digest, request.reading.skip_bad), (None, 0));
    }

    #[test]
    fn every_option_reaches_the_request() {
        let args = parse(
            "a - -o out -f --format hashes --digest nt --kind cuckoo --bytes 64M --min-count 10 \
             --memory 64M --tmp /t --threads 3 --unsorted \
             --skip-bad 3 --top 9 --zero-count keep --require-complete --name n --source s --date d",
        );
        let args = args.unwrap();
        assert_eq!(args.inputs(), [Input::File("a".into()), Input::Stdin]);
        let request = args.request();
        assert_eq!((request.kind, request.existing), (FilterKind::Cuckoo, Existing::Replace));
        assert_eq!(request.size, Size::Bytes(64 << 20));
        assert_eq!((request.memory, request.tmp), (64 << 20, "/t".into()));
        assert_eq!((request.threads, request.unsorted), (Some(3), true));
        assert_eq!(request.reading.digest, Some(PasswordDigest::Nt));
        assert_eq!(request.reading.format, FormatChoice::Hashes);
        assert_eq!((request.reading.min_count, request.reading.skip_bad), (10, 3));
        assert_eq!((request.top, request.require_complete), (Some(9), true));
        assert_eq!(request.reading.zero_count, ZeroCount::Keep);
        assert_eq!([request.name, request.source, request.date], ["n", "s", "d"]);
        let args = parse("a -o out --dry-run --rows 9").unwrap();
        assert_eq!((args.is_dry_run(), args.rows()), (true, Some(9)));
        let args = parse("a -o out --false-positive-rate 1/100").unwrap();
        assert!(!args.is_dry_run());
        assert_eq!(args.request().size, Size::Rate(0.01));
    }

    #[test]
    fn a_rate_above_one_in_a_hundred_must_be_forced() {
        let allowed = |line: &str, rate| parse(line).unwrap().request().allow(rate);
        for given in ["1/100", "1%", "0.01", "10^-2", "2^-16"] {
            let request =
                parse(&format!("a -o out --false-positive-rate {given}")).unwrap().request();
            let Size::Rate(rate) = request.size else { panic!("{:?}", request.size) };
            assert!(request.allow(rate).is_ok(), "{given}");
        }
        let refused = |line: &str, rate| match allowed(line, rate) {
            Err(Trouble::Message(message)) => message,
            other => panic!("{line}: {other:?}"),
        };
        let message = refused("a -o out --false-positive-rate 3%", 0.03);
        assert!(message.starts_with("a false positive rate of 3.000 % is above"), "{message}");
        for part in ["limit of 1 %", "every 100th good password", "a lower", "--force"] {
            assert!(message.contains(part), "{message}");
        }
        let message = refused("a -o out --kind bloom --bytes 1K", 0.010_01);
        assert!(message.contains("rate of 1.001 % follows from --bytes 1024, and is"), "{message}");
        assert!(message.contains("more bytes") && message.contains("--top"), "{message}");
        assert!(allowed("a -o out --force --false-positive-rate 0.5", 0.5).is_ok());
        assert!(allowed("a -o out -f --kind bloom --bytes 1K", 0.9).is_ok());
    }

    #[test]
    fn contradictions_and_omissions_are_refused() {
        for line in [
            "-o out",
            "a",
            "a -o out --bytes 1M --false-positive-rate 0.1",
            "a -o out --false-positive-rate 2",
            "a -o out --bytes 1MB",
            "a -o out --kind xor",
            "a -o out --threads 0",
            "a -o out --rows 9",
            "a -o out --memory much",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
