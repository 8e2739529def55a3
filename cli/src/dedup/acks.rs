//! The files that go to and come from upstream: what it need not send again, and what it cannot.
//!
//! Both have one form: a number alone where there is one log, and a channel and a position on each line
//! where there are several.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::str::FromStr;

use hapax::codec::{Existing, Readers, SaveOptions, write_file};
use hapax::replay::Position;

use super::columns::number;
use crate::trouble::{Trouble, shown};

/// A position on the command line: `N` or `CHANNEL:N`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark(pub(super) Position);

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (channel, sequence) = text.split_once(':').unwrap_or(("0", text));
        position(channel.as_bytes(), sequence.as_bytes())
            .map(Self)
            .ok_or_else(|| "expected a position, or CHANNEL:POSITION, both numbers".to_owned())
    }
}

fn position(channel: &[u8], sequence: &[u8]) -> Option<Position> {
    Some(Position::new(u32::try_from(number(channel)?).ok()?, number(sequence)?))
}

/// Replaces the file atomically.
///
/// # Errors
///
/// If it cannot be written.
pub(super) fn write(path: &Path, marks: &[Position], channels: bool) -> Result<(), Trouble> {
    let mut text = String::new();
    for Position { channel, sequence } in marks {
        // Writing to a String cannot fail.
        let _ = if channels {
            writeln!(text, "{channel}\t{sequence}")
        } else {
            writeln!(text, "{sequence}")
        };
    }
    let options = SaveOptions { existing: Existing::Replace, readers: Readers::Umask };
    write_file(path, options, |out| out.write_all(text.as_bytes()))
        .map_err(|error| Trouble::file(&error))
}

/// Reads such a file; one that is not there yet says nothing.
///
/// # Errors
///
/// If it cannot be read, or is none.
pub(super) fn read(path: &Path, channels: bool) -> Result<Vec<Position>, Trouble> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(Trouble::reading(shown(path), &error)),
    };
    parse(&text, channels).ok_or_else(|| {
        let form = if channels { "a channel and a position on each line" } else { "a position" };
        Trouble::new(format_args!("{}: expected {form}, found something else", shown(path)))
    })
}

fn parse(text: &[u8], channels: bool) -> Option<Vec<Position>> {
    let lines = text.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty());
    let parsed = lines.map(|line| {
        let mut words = line.split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let channel = if channels { words.next()? } else { b"0" };
        let found = position(channel, words.next()?);
        if words.next().is_some() { None } else { found }
    });
    let marks: Vec<_> = parsed.collect::<Option<_>>()?;
    (channels || marks.len() <= 1).then_some(marks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ack");
        assert_eq!(read(&path, true).unwrap(), []);
        for (marks, channels) in [
            (vec![], true),
            (vec![Position::new(0, 17)], false),
            (vec![Position::new(0, u64::MAX), Position::new(u32::MAX, 0)], true),
        ] {
            write(&path, &marks, channels).unwrap();
            assert_eq!(read(&path, channels).unwrap(), marks);
        }
        for (text, channels) in [
            ("x", false),
            ("1 2", false),
            ("1\n2", false),
            ("1", true),
            ("1 2 3", true),
            ("-1", false),
        ] {
            assert_eq!(parse(text.as_bytes(), channels), None, "{text}");
        }
    }

    #[test]
    fn marks_have_a_channel_or_none() {
        assert_eq!("17".parse(), Ok(Mark(Position::new(0, 17))));
        assert_eq!("3:17".parse(), Ok(Mark(Position::new(3, 17))));
        for text in ["", ":", "3:", ":17", "a", "1:2:3", "4294967296:1"] {
            assert!(text.parse::<Mark>().is_err(), "{text}");
        }
    }
}
