//! The arguments of `hapax verify`.

use std::path::PathBuf;

use clap::Args;

use super::VerifyRequest;
use crate::exit;
use crate::lists::{FormatChoice, Input, Reading, ZeroCountChoice};

/// Check a filter, byte by byte and against the list it was built from
///
/// Checks every byte of a filter against its checksums and, with --against, asks it for every row
/// of the list it was built from: none may be missed. With --measure-false-positive-rate it asks for
/// random hashes: no more of them may be reported present than the filter promises.
#[derive(Args, Debug)]
#[command(after_help = exit::section(exit::VERIFY))]
pub(crate) struct VerifyArgs {
    /// The filter, or folder with a state of `hapax dedup`
    #[arg(value_name = "FILTER")]
    filter: PathBuf,
    /// A list whose every row must be in the filter, `-` for standard input; may be repeated
    #[arg(long, value_name = "LIST")]
    against: Vec<PathBuf>,
    /// What a row of the list is
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    format: FormatChoice,
    /// Tolerate and count up to so many malformed rows
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// Measure how often a stranger is reported present, with the interval that holds in 99 of 100
    /// measurements, beside what the filter promises
    #[arg(long)]
    measure_false_positive_rate: bool,
    /// What chooses the strangers
    #[arg(long, value_name = "N", default_value_t = 0, requires = "measure_false_positive_rate")]
    seed: u64,
    /// What to do with rows that have a count of 0: as when the filter was built
    #[arg(long, value_enum, value_name = "WHAT", default_value_t)]
    zero_count: ZeroCountChoice,
}

impl VerifyArgs {
    /// The lists, as they were named.
    pub(crate) fn inputs(&self) -> Vec<Input> {
        self.against.iter().cloned().map(Input::from).collect()
    }

    /// What is asked for.
    pub(crate) fn request(&self) -> VerifyRequest {
        VerifyRequest {
            filter: self.filter.clone(),
            strangers: self.measure_false_positive_rate.then_some(self.seed),
            reading: Reading {
                format: self.format,
                skip_bad: self.skip_bad,
                zero_count: self.zero_count.into(),
                ..Reading::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use hapax::screen::list::ZeroCount;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: VerifyArgs,
    }

    #[test]
    fn every_option_reaches_the_request() {
        let line = "verify f.hapax --against a --against - --format plain --skip-bad 2 \
                    --zero-count keep";
        let args = Line::try_parse_from(line.split(' ')).unwrap().args;
        assert_eq!(args.inputs(), [Input::File("a".into()), Input::Stdin]);
        let request = args.request();
        assert_eq!(request.filter, PathBuf::from("f.hapax"));
        assert_eq!((request.reading.format, request.reading.skip_bad), (FormatChoice::Plain, 2));
        assert_eq!(request.strangers, None);
        let line = "verify f.hapax --measure-false-positive-rate --seed 7";
        let args = Line::try_parse_from(line.split(' ')).unwrap().args;
        assert_eq!(args.request().strangers, Some(7));
        for line in ["verify", "verify f.hapax --seed 7"] {
            assert!(Line::try_parse_from(line.split(' ')).is_err(), "{line}");
        }
        assert_eq!(request.reading.zero_count, ZeroCount::Keep);
        assert!(Line::try_parse_from(["verify"]).is_err());
    }
}
