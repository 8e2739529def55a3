//! Lines of a stream, many of them in memory at once.

use std::io::{self, Read};
use std::ops::Range;

/// Longest line that is taken: bounds what an endless line can make the program hold.
const MAX_LINE_LEN: usize = 16 << 20;

/// Bytes that are asked for at a time.
const CHUNK: usize = 256 << 10;

/// Reads lines into one buffer.
///
/// ```text
///  buffer   │ given out │ whole lines │ rest │ free │
///                       at           scanned filled
/// ```
pub(super) struct Lines<R> {
    input: R,
    buffer: Vec<u8>,
    at: usize,
    scanned: usize,
    filled: usize,
    number: u64,
}

/// A line: its number, from 1, and where it is until the next [`Lines::fill`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Line {
    pub(super) number: u64,
    /// With its line end.
    pub(super) whole: Range<usize>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R) -> Self {
        Self { input, buffer: Vec::new(), at: 0, scanned: 0, filled: 0, number: 0 }
    }

    /// The next whole line, if it has been read.
    pub(super) fn next(&mut self) -> Option<Line> {
        let from = self.at.max(self.scanned);
        let Some(end) = memchr::memchr(b'\n', &self.buffer[from..self.filled]) else {
            self.scanned = self.filled;
            return None;
        };
        let whole = self.at..from + end + 1;
        self.at = whole.end;
        self.number += 1;
        Some(Line { number: self.number, whole })
    }

    /// Takes back the line that was given out last.
    pub(super) fn back(&mut self, line: &Line) {
        self.at = line.whole.start;
        self.scanned = line.whole.start;
        self.number -= 1;
    }

    /// Whether a whole line has been read and not been given out.
    pub(super) fn has_next(&mut self) -> bool {
        match self.next() {
            Some(line) => {
                self.back(&line);
                true
            }
            None => false,
        }
    }

    /// Reads once, which may wait for input; `false` at its end. To be called when there is no whole
    /// line left: those that were given out are gone.
    ///
    /// # Errors
    ///
    /// What the input returns, and `InvalidData` for a line longer than [`MAX_LINE_LEN`].
    pub(super) fn fill(&mut self) -> io::Result<bool> {
        self.buffer.copy_within(self.at..self.filled, 0);
        self.scanned = self.scanned.saturating_sub(self.at);
        self.filled -= self.at;
        self.at = 0;
        if self.filled > MAX_LINE_LEN {
            let number = self.number + 1;
            let message =
                format!("line {number}: expected at most {MAX_LINE_LEN} bytes, found more");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if self.buffer.len() < self.filled + CHUNK {
            self.buffer.resize(self.filled + CHUNK, 0);
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.filled..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.filled += read;
        Ok(read > 0)
    }

    /// Whether the input ended in the middle of a line: its last one, which may have been cut short.
    /// Gives that line's number.
    pub(super) const fn cut(&self) -> Option<u64> {
        if self.at < self.filled { Some(self.number + 1) } else { None }
    }

    /// Gives the line that the input ended in a line end.
    pub(super) fn end_cut(&mut self) {
        self.buffer.truncate(self.filled);
        self.buffer.push(b'\n');
        self.filled += 1;
    }

    /// A line with its end.
    pub(super) fn whole(&self, line: &Line) -> &[u8] {
        &self.buffer[line.whole.clone()]
    }

    /// A line without its end.
    pub(super) fn content(&self, line: &Line) -> &[u8] {
        &self.buffer[line.whole.start..line.whole.end - 1]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives so many bytes at a time.
    struct Drip<'a>(&'a [u8], usize);

    impl Read for Drip<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(self.0.len());
            let (now, later) = self.0.split_at(len);
            self.0 = later;
            buffer[..len].copy_from_slice(now);
            Ok(len)
        }
    }

    #[test]
    fn lines_are_bytes_however_they_come() {
        let input = b"a\n\nb\r\n\xff\0\nlast";
        for drip in 1..=input.len() {
            let mut lines = Lines::new(Drip(input, drip));
            let mut found = Vec::new();
            let mut more = true;
            while more {
                more = lines.fill().unwrap();
                while let Some(line) = lines.next() {
                    assert_eq!(line.number, found.len() as u64 + 1);
                    found.push(lines.content(&line).to_vec());
                }
            }
            assert_eq!(found, [&b"a"[..], b"", b"b\r", b"\xff\0"], "{drip} at a time");
            assert_eq!(lines.cut(), Some(5));
            lines.end_cut();
            let last = lines.next().unwrap();
            assert_eq!((lines.content(&last), lines.whole(&last)), (&b"last"[..], &b"last\n"[..]));
            assert_eq!((lines.cut(), lines.next()), (None, None));
        }
    }

    #[test]
    fn a_line_can_be_given_back() {
        let mut lines = Lines::new(&b"a\nb\n"[..]);
        assert!(!lines.has_next());
        assert!(lines.fill().unwrap());
        let first = lines.next().unwrap();
        lines.back(&first);
        assert!(lines.has_next());
        assert_eq!(lines.next(), Some(first));
        assert_eq!(lines.next().map(|line| line.number), Some(2));
    }

    #[test]
    fn a_line_that_never_ends_is_refused_at_the_limit() {
        let mut lines = Lines::new(io::repeat(b'x'));
        let error = loop {
            match lines.fill() {
                Ok(_) => assert_eq!(lines.next(), None),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::InvalidData);
        assert!(lines.buffer.len() <= MAX_LINE_LEN + 2 * CHUNK);
    }
}
