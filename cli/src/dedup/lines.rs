//! Lines of a stream, and what identifies them.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};

/// Longest line that is taken: bounds what an endless line can make the program hold.
const MAX_LINE_LEN: usize = 16 << 20;

/// Reads lines into one buffer.
pub(super) struct Lines<R> {
    input: BufReader<R>,
    line: Vec<u8>,
    number: u64,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input: BufReader::with_capacity(1 << 16, input), line: Vec::new(), number: 0 }
    }

    /// Whether the next line can be had without waiting for input.
    pub(super) fn next_is_here(&self) -> bool {
        self.input.buffer().contains(&b'\n')
    }

    /// The next line.
    ///
    /// # Errors
    ///
    /// What the input returns, and `InvalidData` for a line longer than [`MAX_LINE_LEN`].
    pub(super) fn next(&mut self) -> io::Result<Option<Line<'_>>> {
        self.line.clear();
        let limit = MAX_LINE_LEN as u64 + 1;
        let read = self.input.by_ref().take(limit).read_until(b'\n', &mut self.line)?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        let ended = self.line.last() == Some(&b'\n');
        if !ended && read as u64 == limit {
            let message =
                format!("line {}: expected at most {MAX_LINE_LEN} bytes, found more", self.number);
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if !ended {
            self.line.push(b'\n');
        }
        Ok(Some(Line { number: self.number, whole: &self.line, ended }))
    }
}

/// A line, otherwise as it came.
pub(super) struct Line<'a> {
    /// From 1.
    pub(super) number: u64,
    /// With a newline at its end, so that it can be written in one piece.
    pub(super) whole: &'a [u8],
    /// Whether the newline came with it. A last line without one may have been cut short.
    pub(super) ended: bool,
}

impl<'a> Line<'a> {
    /// Without its newline.
    pub(super) fn content(&self) -> &'a [u8] {
        self.whole.strip_suffix(b"\n").unwrap_or(self.whole)
    }
}

/// What identifies a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Id {
    /// All of it.
    Line,
    /// One field, counted from 0.
    Field { index: usize, delimiter: u8 },
}

impl Id {
    /// `field` counts from 1.
    pub(super) fn new(field: Option<u32>, delimiter: u8) -> Self {
        field.map_or(Self::Line, |field| Self::Field { index: field as usize - 1, delimiter })
    }

    /// The part of a line that identifies it.
    ///
    /// # Errors
    ///
    /// If the line has fewer fields: an absent key is not an empty one.
    pub(super) fn of<'a>(&self, line: &'a [u8]) -> Result<&'a [u8], MissingField> {
        match *self {
            Self::Line => Ok(line),
            Self::Field { index, delimiter } => {
                let mut fields = line.split(|&byte| byte == delimiter);
                fields.nth(index).ok_or_else(|| MissingField {
                    expected: index + 1,
                    found: line.split(|&byte| byte == delimiter).count(),
                })
            }
        }
    }
}

/// How the state file and messages name it.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Line => f.write_str("whole lines"),
            Self::Field { index, delimiter } => {
                write!(f, "field {} between \"{}\"", index + 1, delimiter.escape_ascii())
            }
        }
    }
}

/// A line without the field that identifies it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct MissingField {
    expected: usize,
    found: usize,
}

impl fmt::Display for MissingField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { expected, found } = self;
        write!(
            f,
            "expected at least {expected} fields, found {found}: it has no key, so it was neither \
             passed nor dropped; check --delimiter and --key-field"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(input: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Lines::new(input);
        let mut found = Vec::new();
        while let Some(line) = lines.next().unwrap() {
            found.push(line.content().to_vec());
        }
        found
    }

    #[test]
    fn lines_are_bytes_without_their_newline() {
        assert_eq!(all(b"a\n\nb\r\n\xff\0\nlast"), [&b"a"[..], b"", b"b\r", b"\xff\0", b"last"]);
        assert!(all(b"").is_empty());
    }

    #[test]
    fn a_last_line_that_was_cut_short_is_told_apart() {
        let mut lines = Lines::new(&b"a\nb"[..]);
        let line = lines.next().unwrap().unwrap();
        assert_eq!((line.whole, line.ended, line.number), (&b"a\n"[..], true, 1));
        let line = lines.next().unwrap().unwrap();
        assert_eq!((line.whole, line.ended, line.number), (&b"b\n"[..], false, 2));
        assert!(lines.next().unwrap().is_none());
    }

    #[test]
    fn a_line_that_never_ends_is_refused_at_the_limit() {
        let mut lines = Lines::new(io::repeat(b'x'));
        assert_eq!(lines.next().err().unwrap().kind(), io::ErrorKind::InvalidData);
        let longest = [vec![b'x'; MAX_LINE_LEN], b"\n".to_vec()].concat();
        assert_eq!(Lines::new(&longest[..]).next().unwrap().unwrap().content().len(), MAX_LINE_LEN);
    }

    #[test]
    fn a_missing_field_is_not_an_empty_one() {
        let id = Id::new(Some(3), b',');
        assert_eq!(id.of(b"a,b,c,d"), Ok(&b"c"[..]));
        assert_eq!(id.of(b"a,b,"), Ok(&b""[..]));
        assert_eq!(id.of(b"a,b"), Err(MissingField { expected: 3, found: 2 }));
        assert_eq!(Id::new(None, b',').of(b"a,b"), Ok(&b"a,b"[..]));
    }
}
