//! What a check prints: results to standard output, the summary to standard error. No row's
//! content is known here.

use std::fmt::Write as _;
use std::io::{self, BufWriter, StdoutLock, Write};

use serde::Serialize;

use super::answer::Answer;
use crate::progress::Progress;
use crate::trouble::Trouble;

/// Rows that could not be answered are told one by one up to this many, then counted.
const MAX_TOLD: u64 = 10;

/// What goes to standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Output {
    /// `NAME:ROW: listed`
    Lines,
    /// A [`Record`] for each listed row, an [`Unanswered`] for each row without an answer.
    Json,
    /// The number of listed rows, at the end.
    Count,
    Nothing,
}

/// A line of `--json`. Fields may be added, and none is taken away or changes its meaning.
#[derive(Debug, Serialize)]
struct Record<'a> {
    /// The source: a path, `stdin` or `prompt`.
    input: &'a str,
    /// The row, from 1.
    line: u64,
    listed: bool,
    /// What the answer rests on.
    basis: &'static str,
    /// Probability that a row that is in no list gets this answer.
    false_positive_rate: f64,
}

/// A line of `--json` for what has no answer, so that it is not taken for "not listed".
#[derive(Debug, Serialize)]
struct Unanswered<'a> {
    input: &'a str,
    /// The row, from 1; null for the rest of an input that cannot be read.
    line: Option<u64>,
    /// Always null.
    listed: Option<bool>,
    /// Why. Holds nothing of the row.
    error: &'a str,
}

/// Counts answers and prints what was asked for.
pub(super) struct Report {
    output: Output,
    out: BufWriter<StdoutLock<'static>>,
    false_positive_rate: f64,
    listed: u64,
    not_listed: u64,
    unknown: u64,
    blank: u64,
    failed_sources: u64,
}

impl Report {
    pub(super) fn new(output: Output, false_positive_rate: f64) -> Self {
        Self {
            output,
            out: BufWriter::with_capacity(1 << 16, io::stdout().lock()),
            false_positive_rate,
            listed: 0,
            not_listed: 0,
            unknown: 0,
            blank: 0,
            failed_sources: 0,
        }
    }

    /// Whether something is printed for each listed row.
    pub(super) const fn prints_rows(&self) -> bool {
        matches!(self.output, Output::Lines | Output::Json)
    }

    pub(super) const fn listed(&self) -> u64 {
        self.listed
    }

    /// Whether every row of every source had an answer.
    pub(super) const fn is_certain(&self) -> bool {
        self.unknown == 0 && self.failed_sources == 0
    }

    /// Takes the answers of consecutive rows, and prints them at once: the sender of the rows may
    /// be waiting.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written.
    pub(super) fn rows(
        &mut self,
        input: &str,
        first: u64,
        answers: &[Answer],
        progress: &Progress,
    ) -> Result<(), Trouble> {
        for (line, answer) in (first..).zip(answers) {
            match answer {
                Answer::Blank => self.blank += 1,
                Answer::NotListed => self.not_listed += 1,
                Answer::Listed => {
                    self.listed += 1;
                    self.print(input, line).map_err(|error| Trouble::stdout(&error))?;
                }
                Answer::Unknown(reason) => {
                    self.unknown += 1;
                    self.print_unanswered(input, Some(line), &reason.to_string())?;
                    if self.unknown <= MAX_TOLD {
                        progress.note(&format!("hapax: {input}:{line}: unknown: {reason}"));
                    }
                }
            }
        }
        self.out.flush().map_err(|error| Trouble::stdout(&error))
    }

    fn print(&mut self, input: &str, line: u64) -> io::Result<()> {
        match self.output {
            Output::Lines => writeln!(self.out, "{input}:{line}: listed"),
            Output::Json => {
                let false_positive_rate = self.false_positive_rate;
                let record =
                    Record { input, line, listed: true, basis: "filter", false_positive_rate };
                serde_json::to_writer(&mut self.out, &record)?;
                self.out.write_all(b"\n")
            }
            Output::Count | Output::Nothing => Ok(()),
        }
    }

    fn print_unanswered(
        &mut self,
        input: &str,
        line: Option<u64>,
        error: &str,
    ) -> Result<(), Trouble> {
        if self.output != Output::Json {
            return Ok(());
        }
        let record = Unanswered { input, line, listed: None, error };
        let written = serde_json::to_writer(&mut self.out, &record).map_err(io::Error::from);
        written.and_then(|()| self.out.write_all(b"\n")).map_err(|error| Trouble::stdout(&error))
    }

    /// A source could not be read to its end. The others are still checked.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written.
    pub(super) fn source_failed(
        &mut self,
        input: &str,
        trouble: &Trouble,
        progress: &Progress,
    ) -> Result<(), Trouble> {
        self.failed_sources += 1;
        if let Trouble::Message(message) = trouble {
            progress.note(&format!("hapax: {message}"));
            self.print_unanswered(input, None, message)?;
        }
        self.out.flush().map_err(|error| Trouble::stdout(&error))
    }

    /// Prints the count, if that was asked for, and the summary.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written, or there was nothing to check: an empty input is
    /// more often a broken pipeline than a wish to check nothing.
    pub(super) fn finish(&mut self, quiet: bool) -> Result<(), Trouble> {
        if self.listed + self.not_listed + self.unknown + self.failed_sources == 0 {
            let blank = if self.blank == 0 { "it is empty" } else { "all rows are blank" };
            return Err(Trouble::new(format_args!("no input to check: {blank}")));
        }
        if self.output == Output::Count {
            let printed = writeln!(self.out, "{}", self.listed).and_then(|()| self.out.flush());
            printed.map_err(|error| Trouble::stdout(&error))?;
        }
        if !quiet {
            crate::note(&self.summary());
        }
        Ok(())
    }

    fn summary(&self) -> String {
        let mut text = format!(
            "checked {}, listed {} (by filter only; about {:.1} expected false alarms)",
            self.listed + self.not_listed,
            self.listed,
            self.expected_false_alarms(),
        );
        for (count, what) in [
            (self.unknown, "unknown"),
            (self.blank, "blank"),
            (self.failed_sources, "inputs not read to their end"),
        ] {
            if count > 0 {
                // Writing to a String cannot fail.
                let _ = write!(text, ", {count} {what}");
            }
        }
        text
    }

    /// Of s strangers, s(1 - r) are not listed, and s r are false alarms.
    fn expected_false_alarms(&self) -> f64 {
        let rate = self.false_positive_rate;
        // A filter that lists everything has rate 1, and all alarms may be false.
        (self.not_listed as f64 * rate / (1.0 - rate)).min(self.listed as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(rate: f64, listed: u64, not_listed: u64) -> Report {
        Report { listed, not_listed, ..Report::new(Output::Nothing, rate) }
    }

    #[test]
    fn false_alarms_are_estimated_from_those_not_listed() {
        assert!((report(0.5, 60, 50).expected_false_alarms() - 50.0).abs() < 1e-9);
        assert!((report(1.0, 7, 0).expected_false_alarms() - 7.0).abs() < 1e-9);
        assert!(report(0.0, 7, 1_000).expected_false_alarms().abs() < 1e-9);
    }

    #[test]
    fn the_summary_is_one_line_and_names_what_is_unknown() {
        let text = report(1.5e-5, 1, 1).summary();
        assert_eq!(text, "checked 2, listed 1 (by filter only; about 0.0 expected false alarms)");
        let uncertain = Report { unknown: 3, blank: 2, ..report(1e-5, 0, 1) };
        assert!(uncertain.summary().ends_with(", 3 unknown, 2 blank"));
        assert!(!uncertain.is_certain());
    }

    #[test]
    fn nothing_to_check_is_an_error() {
        let message = |blank| match (Report { blank, ..report(0.1, 0, 0) }).finish(true) {
            Err(Trouble::Message(message)) => message,
            other => panic!("{other:?}"),
        };
        assert!(message(0).contains("empty"));
        assert!(message(3).contains("blank"));
    }
}
