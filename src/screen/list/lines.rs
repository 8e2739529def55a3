//! Lines of an input, in one buffer of fixed size that is wiped at the end.
//!
//! ```text
//!  buffer   ......[ line | \n | line, not all here yet      ]..........
//!                 start        start + searched              end
//! ```
//!
//! A line is handed out where it was read; only the piece of one that is cut by the end of the
//! buffer is moved to the front. No line costs an allocation, and one without an end costs no
//! memory: it is given up when the buffer shows it to be beyond the limit, and the rest of it is
//! read past.

use std::io::{self, ErrorKind, Read};
use std::ops::Range;

use zeroize::Zeroizing;

use super::row::strip_line_end;

/// Read at least so much at once.
const CHUNK: usize = 64 * 1024;

/// A carriage return and a newline.
const LINE_END: usize = 2;

/// Splits an input at newlines.
pub(super) struct Lines<R> {
    input: R,
    buffer: Zeroizing<Vec<u8>>,
    start: usize,
    end: usize,
    /// Bytes from `start` that hold no newline.
    searched: usize,
    limit: usize,
    /// Position of `start` in the input.
    offset: u64,
    number: u64,
    /// The rest of the current line is to be read past.
    skipping: bool,
    ended: bool,
}

/// A line: its number, where it starts, and its bytes in the buffer, or `None` if it is too long.
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) offset: u64,
    pub(super) content: Option<Range<usize>>,
}

impl<R: Read> Lines<R> {
    pub(super) fn new(input: R, limit: u32) -> Self {
        let limit = limit as usize;
        let buffer = Zeroizing::new(vec![0; limit + LINE_END + CHUNK]);
        Self {
            input,
            buffer,
            start: 0,
            end: 0,
            searched: 0,
            limit,
            offset: 0,
            number: 0,
            skipping: false,
            ended: false,
        }
    }

    /// The bytes of a line just read.
    pub(super) fn content(&self, line: Range<usize>) -> &[u8] {
        &self.buffer[line]
    }

    /// Most bytes of a line, its end not counted.
    pub(super) const fn limit(&self) -> usize {
        self.limit
    }

    /// Bytes of the input that were handed out or read past.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Bytes read from the input.
    pub(super) const fn bytes_read(&self) -> u64 {
        self.offset + (self.end - self.start) as u64
    }

    /// The next line, without its end. `None` after the last one.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        self.skip_rest()?;
        loop {
            let unsearched = &self.buffer[self.start + self.searched..self.end];
            if let Some(newline) = memchr::memchr(b'\n', unsearched) {
                let len = self.searched + newline;
                return Ok(Some(self.take(len, len + 1)));
            }
            self.searched = self.end - self.start;
            if self.searched >= self.limit + LINE_END {
                self.skipping = true;
                return Ok(Some(self.take(self.searched, self.searched)));
            }
            if self.ended {
                let rest = self.searched;
                return Ok((rest > 0).then(|| self.take(rest, rest)));
            }
            self.fill()?;
        }
    }

    /// Hands out a line of `len` bytes and goes on after `consumed`.
    fn take(&mut self, len: usize, consumed: usize) -> Line {
        let content = strip_line_end(&self.buffer[self.start..self.start + len]);
        let content = self.start..self.start + content.len();
        let whole = !self.skipping && content.len() <= self.limit;
        self.number += 1;
        let line =
            Line { number: self.number, offset: self.offset, content: whole.then_some(content) };
        self.consume(consumed);
        line
    }

    fn consume(&mut self, len: usize) {
        self.start += len;
        self.offset += len as u64;
        self.searched = 0;
    }

    /// Reads past the rest of a line that was too long.
    fn skip_rest(&mut self) -> io::Result<()> {
        while self.skipping {
            let buffered = &self.buffer[self.start..self.end];
            let newline = memchr::memchr(b'\n', buffered);
            self.consume(newline.map_or(buffered.len(), |newline| newline + 1));
            if newline.is_some() || self.ended {
                self.skipping = false;
            } else {
                self.fill()?;
            }
        }
        Ok(())
    }

    /// Reads more, after making room. There is always room: a line that fills the buffer has been
    /// given up before.
    fn fill(&mut self) -> io::Result<()> {
        if self.start == self.end || self.buffer.len() - self.end < CHUNK {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        let read = loop {
            match self.input.read(&mut self.buffer[self.end..]) {
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                result => break result?,
            }
        };
        self.ended = read == 0;
        self.end += read;
        Ok(())
    }
}
