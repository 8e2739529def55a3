//! What can be said to `hapax check`.

use std::convert::Infallible;
use std::num::NonZero;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, ValueEnum};

use super::csv::Columns;
use super::forms::Also;
use super::lines::Shape;
use crate::exit;
use crate::threads;
use crate::trouble::Trouble;

/// Tell which passwords are listed
///
/// Reads one candidate per row from standard input, from files, or at a prompt without echo, and
/// prints which rows are listed: never the candidate itself. Passwords are no arguments, since
/// other users of the machine can read those.
///
/// Rows are bytes. The line end is taken off and nothing else; blank rows are passed over.
#[derive(Args, Debug)]
#[command(
    override_usage = "hapax check [OPTIONS] [FILTER]... [-- <FILE>...]",
    after_help = exit::section(exit::CHECK)
)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of the command line")]
pub(crate) struct CheckArgs {
    /// Filters to ask; a candidate in any of them is listed. Without one: a built-in list of the
    /// 100,000 most common passwords
    #[arg(value_name = "FILTER")]
    pub(super) filters: Vec<PathBuf>,
    /// Files of candidates, `-` for standard input
    #[arg(last = true, value_name = "FILE")]
    pub(super) files: Vec<PathBuf>,
    /// What a row is; required unless asked at the prompt, where it is plain
    #[arg(short, long, value_enum, value_name = "FORM")]
    pub(super) input: Option<Form>,
    /// Check every byte of the filters first, as `hapax verify` does; without it those of more than 16
    /// MiB are read only where they are asked
    #[arg(long)]
    pub(super) verify: bool,
    /// Ask for these forms of a plain candidate too; listed if any form is, and the form is named
    ///
    /// Each form is made of the candidate as it came; they are not combined. Bytes that are no
    /// UTF-8 have no NFC and no NFKC form.
    #[arg(long, value_enum, value_name = "FORMS", value_delimiter = ',')]
    pub(super) also: Vec<Also>,

    /// Each input is one candidate, line ends and all; one at the very end is taken off
    #[arg(long, conflicts_with_all = ["null", "csv", "user_hash"], help_heading = "Shape of the input")]
    pub(super) one: bool,
    /// Rows end in NUL, as from `find -print0`; nothing is taken off them
    #[arg(short = '0', long, conflicts_with_all = ["csv"], help_heading = "Shape of the input")]
    null: bool,
    /// Rows are `user:hash`, or `user:rid:lm:nt:::` as dumps of accounts have it; results name the
    /// user
    #[arg(long, conflicts_with_all = ["csv"], help_heading = "Shape of the input")]
    pub(super) user_hash: bool,
    /// Rows are records of CSV
    ///
    /// A value in quotation marks may go over several lines; how many records do, and the first of
    /// them, is told on standard error, since a mark that is missing looks the same. Text after a
    /// closing mark, or no closing mark at all, leaves a record without an answer (status 2).
    #[arg(long, help_heading = "Shape of the input")]
    csv: bool,
    /// The column of the candidate: a number from 1, or a name, and then the first record is a
    /// header
    #[arg(
        long,
        requires = "csv",
        value_name = "NAME|N",
        default_value = "1",
        help_heading = "Shape of the input"
    )]
    column: Column,
    /// The column that results name a row by, for example of user names, in place of input and line
    #[arg(long, requires = "csv", value_name = "NAME|N", help_heading = "Shape of the input")]
    label: Option<Column>,
    /// What parts columns; `\t` for a tab
    #[arg(
        short, long, requires = "csv", value_name = "CHAR", default_value = ",",
        value_parser = delimiter, help_heading = "Shape of the input"
    )]
    delimiter: u8,

    /// Look what a filter lists up in the list it was made from: sorted by hash, or a folder of
    /// range files. The answer is certain then, and has the count
    ///
    /// Given several times, the first list is that of the first filter, and so on. A filter that
    /// is left without one is believed.
    #[arg(long, value_name = "LIST", requires = "filters", help_heading = "Certainty")]
    pub(super) confirm: Vec<PathBuf>,
    /// Take only what was seen so often for listed
    #[arg(long, value_name = "N", requires = "confirm", help_heading = "Certainty")]
    pub(super) min_count: Option<u64>,

    /// Print only how many are listed
    #[arg(short, long, help_heading = "Output")]
    pub(super) count: bool,
    /// Print what is not listed instead. The exit status stays that of what is listed
    #[arg(short = 'v', long, help_heading = "Output")]
    pub(super) invert: bool,
    /// Print a JSON record for each listed row, and for each that has no answer
    ///
    /// A record has at least the fields `input`, `line` and `listed`. Where `listed` is null, there
    /// is no answer, and `error` says why; if `line` is null too, the input could not be read to
    /// its end. `basis` is `filter`, `confirmed` or `refuted`; what was refuted, or was seen less
    /// often than asked for, has a record in which `listed` is false. Any other row without a
    /// record is not listed, or blank.
    #[arg(long, conflicts_with = "count", help_heading = "Output")]
    pub(super) json: bool,
    /// What exit status 0 stands for
    #[arg(long, value_enum, value_name = "WHAT", default_value_t, help_heading = "Output")]
    pub(super) expect: Expect,
    /// Print what was counted, a line for each number, to standard error
    #[arg(long, help_heading = "Output")]
    pub(super) stats: bool,
    /// Threads that answer; by default one for each core
    #[arg(long, value_name = "N", value_parser = threads::parse, help_heading = "Output")]
    pub(super) threads: Option<NonZero<u16>>,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Form {
    /// A password, as its bytes
    Plain,
    /// Its SHA-1 in 40 hexadecimal digits
    Sha1,
    /// Its NT hash (NTLM) in 32 hexadecimal digits
    Nt,
}

/// What exit status 0 stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum Expect {
    /// At least one candidate is listed
    #[default]
    Listed,
    /// None is
    Absent,
}

/// A column of CSV.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Column {
    /// From 0.
    Number(usize),
    Name(String),
}

impl FromStr for Column {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(match text.parse::<usize>() {
            Ok(number @ 1..) => Self::Number(number - 1),
            _ => Self::Name(text.to_owned()),
        })
    }
}

/// Reads what parts columns. The text is not repeated, like no argument is.
fn delimiter(text: &str) -> Result<u8, &'static str> {
    match text.as_bytes() {
        b"\\t" => Ok(b'\t'),
        [b'"' | b'\r' | b'\n'] => Err("quotes and line ends have a meaning of their own in CSV"),
        [byte] if byte.is_ascii() => Ok(*byte),
        _ => Err("expected one ASCII character, or \\t"),
    }
}

impl CheckArgs {
    /// How the input is cut into candidates.
    pub(super) fn shape(&self) -> Shape {
        let end = if self.null { 0 } else { b'\n' };
        if self.one {
            Shape::One
        } else if self.csv {
            let (candidate, label) = (self.column.clone(), self.label.clone());
            Shape::Csv(Columns { candidate, label, delimiter: self.delimiter })
        } else if self.user_hash {
            Shape::Accounts { end }
        } else {
            Shape::Lines { end }
        }
    }

    /// What rows are.
    ///
    /// # Errors
    ///
    /// If that was not said and is not asked at the prompt, or does not go with another option.
    pub(super) fn form(&self, prompted: bool) -> Result<Form, Trouble> {
        let form = match self.input {
            Some(form) => form,
            None if prompted => Form::Plain,
            None => {
                return Err(Trouble::new(
                    "say what the rows are with --input plain, --input sha1 or --input nt: a \
                     password may look like a hash, so this is not guessed",
                ));
            }
        };
        if form == Form::Plain && self.user_hash {
            return Err(Trouble::new(
                "--user-hash goes with --input sha1 or --input nt: its rows hold hashes",
            ));
        }
        if form != Form::Plain && !self.also.is_empty() {
            return Err(Trouble::new(
                "--also goes with --input plain: the hash of another form cannot be told from a \
                 hash",
            ));
        }
        if self.label.as_ref() == Some(&self.column) {
            return Err(Trouble::new(
                "--label and --column name the same column: the candidate would be printed",
            ));
        }
        if prompted && (self.csv || self.user_hash || self.one || self.null) {
            return Err(Trouble::new(
                "the shape of the input was given, and the input is a terminal: give it on \
                 standard input or in files",
            ));
        }
        Ok(form)
    }
}

impl Form {
    pub(super) const fn question(self) -> &'static str {
        match self {
            Self::Plain => "Password (not shown): ",
            Self::Sha1 => "SHA-1 (not shown): ",
            Self::Nt => "NT hash (not shown): ",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_numbers_from_one_or_names() {
        for (text, column) in [
            ("1", Column::Number(0)),
            ("12", Column::Number(11)),
            ("0", Column::Name("0".into())),
            ("password", Column::Name("password".into())),
            ("-1", Column::Name("-1".into())),
        ] {
            assert_eq!(text.parse(), Ok(column));
        }
    }

    #[test]
    fn delimiters_are_single_characters() {
        assert_eq!((delimiter(";"), delimiter("\\t"), delimiter("\t")), (Ok(b';'), Ok(9), Ok(9)));
        for text in ["", "ab", "\"", "\n", "ä"] {
            assert!(delimiter(text).is_err(), "{text:?}");
        }
    }
}
