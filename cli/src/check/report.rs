//! What a check prints: results to standard output, the summary to standard error. Of a row, only
//! its label is known here.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd as _;
use std::time::Instant;

use super::answer::{Answer, Explained, Reason};
use super::ask::{Answers, Asked};
use super::batch::{Batch, Cut};
use super::record::{Record, Unanswered};
use super::tally::Tally;
use crate::progress::Progress;
use crate::trouble::{Trouble, escaped};

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

/// Which rows are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Printed {
    Listed,
    NotListed,
}

/// Counts answers and prints what was asked for.
pub(super) struct Report<'a> {
    asked: &'a Asked,
    output: Output,
    printed: Printed,
    false_positive_rate: f64,
    tally: Tally,
    text: Vec<u8>,
    out: File,
    started: Instant,
}

impl<'a> Report<'a> {
    /// # Errors
    ///
    /// If there is no standard output.
    pub(super) fn new(asked: &'a Asked, output: Output, printed: Printed) -> Result<Self, Trouble> {
        // Without the lock of the standard library, so that any thread may print in its turn.
        let out = io::stdout().as_fd().try_clone_to_owned();
        Ok(Self {
            asked,
            output,
            printed,
            false_positive_rate: asked.false_positive_rate(),
            tally: Tally::default(),
            text: Vec::new(),
            out: File::from(out.map_err(|error| Trouble::stdout(&error))?),
            started: Instant::now(),
        })
    }

    /// Whether something is printed for each listed row.
    pub(super) const fn prints_rows(&self) -> bool {
        matches!(self.output, Output::Lines | Output::Json)
    }

    pub(super) const fn listed(&self) -> u64 {
        self.tally.listed()
    }

    /// Takes the answers of a batch, and prints them at once: the sender of the rows may be
    /// waiting.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written.
    pub(super) fn batch(
        &mut self,
        input: &str,
        batch: &Batch,
        answers: &Answers,
        progress: &Progress,
    ) -> Result<(), Trouble> {
        for (filter, key) in &answers.refuted {
            self.tally.refuted(*filter, *key);
        }
        for (cut, answer) in batch.cuts.iter().zip(&answers.rows) {
            self.tally.count(*answer);
            match answer {
                Answer::Blank => {}
                Answer::Unknown(reason) => {
                    self.unknown(input, batch, cut, *reason, answers, progress)?;
                }
                Answer::NotListed if self.printed == Printed::Listed => {}
                answer => {
                    self.print(input, batch, cut, *answer)
                        .map_err(|error| Trouble::stdout(&error))?;
                }
            }
        }
        progress.advance(batch.byte_len);
        self.flush()
    }

    fn print(&mut self, input: &str, batch: &Batch, cut: &Cut, answer: Answer) -> io::Result<()> {
        let selected = answer.is_listed() == (self.printed == Printed::Listed);
        match self.output {
            Output::Lines if selected => {
                self.write_name(input, batch, cut);
                self.write_answer(answer);
                Ok(())
            }
            Output::Json => {
                // What a list refuted is told whatever is printed.
                let label = label(batch, cut);
                let by = match answer {
                    Answer::Maybe(by) | Answer::Confirmed { by, .. } => Some(by),
                    _ => None,
                };
                let (basis, count) = match answer {
                    Answer::Confirmed { count, .. } => ("confirmed", count),
                    Answer::Rare { count } => ("confirmed", Some(count)),
                    Answer::Refuted => ("refuted", None),
                    _ => ("filter", None),
                };
                let record = Record {
                    input,
                    line: cut.line,
                    label: label.as_deref(),
                    listed: answer.is_listed(),
                    basis,
                    count,
                    list: by.map(|by| self.asked.list(by.filter)),
                    form: by.and_then(|by| Some(by.form?.name())),
                    false_positive_rate: self.false_positive_rate,
                };
                if answer.is_listed() && !selected {
                    return Ok(());
                }
                serde_json::to_writer(&mut self.text, &record)?;
                self.text.push(b'\n');
                Ok(())
            }
            Output::Lines | Output::Count | Output::Nothing => Ok(()),
        }
    }

    /// `NAME:ROW: `, or what the row is called.
    fn write_name(&mut self, input: &str, batch: &Batch, cut: &Cut) {
        if let Some(label) = label(batch, cut) {
            self.text.extend_from_slice(label.as_bytes());
        } else {
            self.text.extend_from_slice(input.as_bytes());
            self.text.push(b':');
            self.text.extend_from_slice(itoa::Buffer::new().format(cut.line).as_bytes());
        }
        self.text.extend_from_slice(b": ");
    }

    fn write_answer(&mut self, answer: Answer) {
        let (confirmed, count, form) = match answer {
            Answer::Maybe(by) => (false, None, by.form),
            Answer::Confirmed { count, by } => (true, count, by.form),
            Answer::Rare { count } => {
                let text = format!("not listed (seen {count} times, confirmed)\n");
                self.text.extend_from_slice(text.as_bytes());
                return;
            }
            Answer::Refuted => {
                self.text.extend_from_slice(b"not listed (refuted)\n");
                return;
            }
            Answer::Blank | Answer::NotListed | Answer::Unknown(_) => {
                self.text.extend_from_slice(b"not listed\n");
                return;
            }
        };
        self.text.extend_from_slice(b"listed");
        if confirmed || form.is_some() {
            let parts = [
                count.map(|count| format!("seen {count} times")),
                confirmed.then(|| "confirmed".to_owned()),
                form.map(|form| format!("as {}", form.name())),
            ];
            let parts: Vec<String> = parts.into_iter().flatten().collect();
            self.text.extend_from_slice(format!(" ({})", parts.join(", ")).as_bytes());
        }
        self.text.push(b'\n');
    }

    fn unknown(
        &mut self,
        input: &str,
        batch: &Batch,
        cut: &Cut,
        reason: Reason,
        answers: &Answers,
        progress: &Progress,
    ) -> Result<(), Trouble> {
        let told = self.tally.unknown <= MAX_TOLD;
        if !told && self.output != Output::Json {
            return Ok(());
        }
        let error = escaped(&Explained(reason, &answers.told).to_string());
        let label = label(batch, cut);
        if told {
            progress.note(&match &label {
                Some(label) => format!("hapax: {input}:{} ({label}): unknown: {error}", cut.line),
                None => format!("hapax: {input}:{}: unknown: {error}", cut.line),
            });
        }
        self.print_unanswered(input, Some(cut.line), label.as_deref(), &error)
    }

    fn print_unanswered(
        &mut self,
        input: &str,
        line: Option<u64>,
        label: Option<&str>,
        error: &str,
    ) -> Result<(), Trouble> {
        if self.output != Output::Json {
            return Ok(());
        }
        let record = Unanswered { input, line, label, listed: None, error };
        serde_json::to_writer(&mut self.text, &record)
            .map_err(|error| Trouble::stdout(&error.into()))?;
        self.text.push(b'\n');
        Ok(())
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
        self.tally.failed_sources += 1;
        if let Trouble::Message(message) = trouble {
            progress.note(&format!("hapax: {message}"));
            self.print_unanswered(input, None, None, message)?;
        }
        self.flush()
    }

    fn flush(&mut self) -> Result<(), Trouble> {
        let written = self.out.write_all(&self.text);
        self.text.clear();
        written.map_err(|error| Trouble::stdout(&error))
    }

    /// Prints the count, if that was asked for, the summary and the numbers. Returns whether all
    /// answers are certain.
    ///
    /// # Errors
    ///
    /// If standard output cannot be written, or there was nothing to check: an empty input is
    /// more often a broken pipeline than a wish to check nothing.
    pub(super) fn finish(&mut self, quiet: bool, stats: bool) -> Result<bool, Trouble> {
        let tally = &self.tally;
        if tally.is_empty() {
            let blank = if tally.blank == 0 { "it is empty" } else { "all rows are blank" };
            return Err(Trouble::new(format_args!("no input to check: {blank}")));
        }
        if self.output == Output::Count {
            let count = match self.printed {
                Printed::Listed => tally.listed(),
                Printed::NotListed => tally.not_listed(),
            };
            self.text.extend_from_slice(format!("{count}\n").as_bytes());
            self.flush()?;
        }
        let tally = &self.tally;
        let mut certain = tally.is_certain();
        for (filter, count) in tally.doubtful(self.asked.rates(), self.asked.forms()) {
            certain = false;
            crate::note(&format!(
                "hapax: {}: the list refuted {count} different rows, far more than the filter's \
                 rate explains: it is not the list that the filter was made from, or a part of it \
                 is missing, so what it refuted may be listed",
                self.asked.list(filter)
            ));
        }
        if !quiet {
            crate::note(&tally.summary(self.false_positive_rate, self.asked.confirms_any()));
        }
        if stats {
            let seconds = self.started.elapsed().as_secs_f64();
            crate::note(&tally.stats(self.false_positive_rate, seconds));
        }
        Ok(certain)
    }
}

/// What a row is called, as it may be printed.
fn label<'a>(batch: &'a Batch, cut: &Cut) -> Option<Cow<'a, str>> {
    let label = String::from_utf8_lossy(batch.label(cut)?);
    Some(if label.chars().any(char::is_control) { Cow::Owned(escaped(&label)) } else { label })
}
