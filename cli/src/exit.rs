//! The exit status: what each command promises to its caller, in one place.
//!
//! The statuses of `grep`: 0 yes, 1 no, 2 *could not tell*. Two always wins: a row that could not
//! be read must never look like a row that is not listed.

use std::fmt::Write as _;
use std::process::ExitCode;

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Done; listed; the promise holds.
    Yes,
    /// Not listed; the promise is broken.
    No,
    /// Not certain, or not possible.
    Trouble,
    /// Stopped by SIGINT.
    Interrupted,
    /// Whoever read the output has gone.
    BrokenPipe,
    /// Stopped by SIGTERM.
    Terminated,
}

impl Exit {
    /// The status as the caller sees it; signals as shells report them (128 and the number).
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Trouble => 2,
            Self::Interrupted => 130,
            Self::BrokenPipe => 141,
            Self::Terminated => 143,
        }
    }

    /// The status of a check: `asked` is whether what was asked for came true (something listed,
    /// or, with `--expect absent`, nothing), `certain` whether every input had an answer.
    pub(crate) const fn of_answer(asked: bool, certain: bool) -> Self {
        match (certain, asked) {
            (false, _) => Self::Trouble,
            (true, true) => Self::Yes,
            (true, false) => Self::No,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Statuses and what they mean for one command, for `--help` and the man page.
pub(crate) type Statuses = &'static [(&'static str, &'static str)];

/// For commands that do something.
pub(crate) const DOING: Statuses =
    &[("0", "done"), ("2", "not done; nothing was replaced"), SIGNALS];
/// For commands that show something.
pub(crate) const SHOWING: Statuses = &[("0", "done"), ("2", "not possible"), SIGNALS];
/// For `hapax check`.
pub(crate) const CHECK: Statuses = &[
    ("0", "at least one input is listed (with --expect absent: none is)"),
    ("1", "no input is listed (with --expect absent: at least one is)"),
    (
        "2",
        "uncertain: no input, a row that cannot be read, a filter that cannot be opened or asked; \
         wins over 0 and 1",
    ),
    SIGNALS,
];
/// For `hapax verify`.
pub(crate) const VERIFY: Statuses = &[
    ("0", "every promise holds"),
    ("1", "a promise is broken: a row is missed, or the rate is too high"),
    ("2", "the filter is damaged, or it or a list cannot be read or asked"),
    SIGNALS,
];
/// For `hapax diff`.
pub(crate) const DIFF: Statuses = &[
    ("0", "the lists have the same rows"),
    ("1", "they differ"),
    ("2", "a list cannot be read, is not sorted, or is of another hash"),
    SIGNALS,
];
/// For `hapax` itself.
pub(crate) const ANY: Statuses = &[
    (
        "0",
        "done; for check: at least one input is listed; for verify: every promise holds; for diff: \
         no difference",
    ),
    ("1", "for check: none is listed; for verify: a promise is broken; for diff: they differ"),
    ("2", "could not be done, or could not be told for certain; wins over 0 and 1"),
    SIGNALS,
];

const SIGNALS: (&str, &str) =
    ("130, 141, 143", "stopped by SIGINT, by a reader that went away, by SIGTERM");

/// Columns that the status takes in help.
const INDENT: usize = 15;
/// clap would wrap to the left margin what is wider than the terminal.
const WIDTH: usize = 78;

/// The "Exit status" section of a command's help.
pub(crate) fn section(statuses: Statuses) -> String {
    let mut text = String::from("Exit status:");
    for (code, meaning) in statuses {
        // Writing to a String cannot fail.
        let _ = write!(text, "\n  {code:<INDENT$}");
        let mut column = 2 + INDENT;
        for word in meaning.split(' ') {
            if column + word.len() > WIDTH {
                text.truncate(text.trim_end().len());
                let _ = write!(text, "\n  {:INDENT$}", "");
                column = 2 + INDENT;
            }
            let _ = write!(text, "{word} ");
            column += word.len() + 1;
        }
        text.truncate(text.trim_end().len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_those_of_the_help() {
        let codes = [
            (Exit::Yes, 0),
            (Exit::No, 1),
            (Exit::Trouble, 2),
            (Exit::Interrupted, 130),
            (Exit::BrokenPipe, 141),
            (Exit::Terminated, 143),
        ];
        for (exit, code) in codes {
            assert_eq!(exit.code(), code, "{exit:?}");
        }
    }

    #[test]
    fn an_uncertain_answer_wins_over_yes_and_no() {
        assert_eq!(Exit::of_answer(true, false), Exit::Trouble);
        assert_eq!(Exit::of_answer(false, false), Exit::Trouble);
        assert_eq!(Exit::of_answer(true, true), Exit::Yes);
        assert_eq!(Exit::of_answer(false, true), Exit::No);
    }

    #[test]
    fn every_section_names_success_and_trouble() {
        for statuses in [DOING, SHOWING, CHECK, VERIFY, DIFF, ANY] {
            let text = section(statuses);
            assert!(text.starts_with("Exit status:\n  0 "), "{text}");
            assert!(text.contains("\n  2 "), "{text}");
            for line in text.lines() {
                assert!(line.len() <= WIDTH && line == line.trim_end(), "{text}");
            }
        }
    }
}
