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

/// Read at least so much at once: the cost of a call is lost in it, and it stays in the second-level
/// cache until it is cut.
pub(super) const CHUNK: usize = 256 * 1024;

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

/// What the buffer has.
pub(super) enum Buffered {
    Line(Line),
    /// Nothing that can be told before [`Lines::fill`].
    NeedsMore,
    /// The input has ended, and all of it was handed out.
    End,
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

    /// Goes on with another input, in the same buffer.
    pub(super) fn restart(&mut self, input: R) {
        self.input = input;
        (self.start, self.end, self.searched, self.offset, self.number) = (0, 0, 0, 0, 0);
        (self.skipping, self.ended) = (false, false);
    }

    /// The next line, without its end, if it can be told from what was read so far.
    pub(super) fn buffered(&mut self) -> Buffered {
        if !self.skip_rest() {
            return Buffered::NeedsMore;
        }
        let unsearched = &self.buffer[self.start + self.searched..self.end];
        if let Some(newline) = memchr::memchr(b'\n', unsearched) {
            let len = self.searched + newline;
            return Buffered::Line(self.take(len, len + 1));
        }
        self.searched = self.end - self.start;
        if self.searched >= self.limit + LINE_END {
            self.skipping = true;
            return Buffered::Line(self.take(self.searched, self.searched));
        }
        match (self.ended, self.searched) {
            (false, _) => Buffered::NeedsMore,
            (true, 0) => Buffered::End,
            (true, rest) => Buffered::Line(self.take(rest, rest)),
        }
    }

    /// What was read and not handed out, if it starts with a line.
    pub(super) fn ahead(&self) -> &[u8] {
        if self.skipping { &[] } else { &self.buffer[self.start..self.end] }
    }

    /// Passes over lines that were read in [`ahead`](Self::ahead): so many, of so many bytes.
    pub(super) fn pass(&mut self, lines: u64, bytes: usize) {
        self.number += lines;
        self.consume(bytes);
    }

    /// Number and offset of the next line.
    pub(super) const fn place(&self) -> (u64, u64) {
        (self.number + 1, self.offset)
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

    /// Passes over the rest of a line that was too long; whether its end was found.
    fn skip_rest(&mut self) -> bool {
        if self.skipping {
            let buffered = &self.buffer[self.start..self.end];
            let newline = memchr::memchr(b'\n', buffered);
            self.consume(newline.map_or(buffered.len(), |newline| newline + 1));
            self.skipping = newline.is_none() && !self.ended;
        }
        !self.skipping
    }

    /// Reads more, after making room. There is always room: a line that fills the buffer has been
    /// given up before.
    pub(super) fn fill(&mut self) -> io::Result<()> {
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
