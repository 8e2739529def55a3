//! Rows of the input, by chunks: whatever one read gives, cut at newlines.
//!
//! ```text
//!  buffer   [ row \n row \n row \n ro|............]      one read
//!             └──── a chunk ────┘ └ moved to the front before the next read
//! ```
//!
//! A chunk is what has arrived, so that a program on the other end of a pipe gets each answer when
//! it has sent its row; and it is many rows where many are there, so that they can be answered in
//! parallel. The buffer never grows, so there is one copy of the input in memory, and it is wiped.

use std::io::{self, Read};

use zeroize::Zeroizing;

/// Bytes of a row that are accepted. Longer ones have no answer.
pub(crate) const MAX_ROW_LEN: usize = 64 * 1024;

const BUFFER_LEN: usize = 1 << 20;

/// What some editors put in front of text; lists have it in front of any row.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// One row of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Row {
    /// The row is here, in the chunk's bytes.
    Here { start: usize, end: usize },
    /// The row is longer than [`MAX_ROW_LEN`]; its bytes were passed over.
    TooLong,
}

/// Rows that arrived together.
#[derive(Debug)]
pub(crate) struct Chunk<'a> {
    /// Number of the first row, from 1.
    pub(crate) first: u64,
    /// Bytes of input that it took.
    pub(crate) byte_len: u64,
    pub(crate) rows: &'a [Row],
    bytes: &'a [u8],
}

impl<'a> Chunk<'a> {
    /// What has arrived: its rows, and perhaps the beginning of the next one.
    pub(crate) const fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// The bytes of a row: without its end and without a mark, and otherwise as they came.
    pub(crate) fn content(&self, row: Row) -> Option<&'a [u8]> {
        match row {
            Row::Here { start, end } => {
                let row = &self.bytes[start..end];
                Some(row.strip_prefix(BYTE_ORDER_MARK).unwrap_or(row))
            }
            Row::TooLong => None,
        }
    }
}

/// Cuts an input into chunks of rows.
pub(crate) struct Chunks<R> {
    input: R,
    buffer: Zeroizing<Vec<u8>>,
    /// The part of the buffer that belongs to a row whose end is not here yet.
    carry: std::ops::Range<usize>,
    /// The row at hand is too long, and the rest of it is passed over.
    skipping: bool,
    ended: bool,
    rows: Vec<Row>,
    number: u64,
}

impl<R: Read> Chunks<R> {
    pub(crate) fn new(input: R) -> Self {
        Self {
            input,
            buffer: Zeroizing::new(vec![0; BUFFER_LEN]),
            carry: 0..0,
            skipping: false,
            ended: false,
            rows: Vec::new(),
            number: 1,
        }
    }

    /// The next chunk, perhaps without rows. `None` at the end of the input.
    ///
    /// # Errors
    ///
    /// What the input returns.
    pub(crate) fn next(&mut self) -> io::Result<Option<Chunk<'_>>> {
        if self.ended {
            return Ok(None);
        }
        self.buffer.copy_within(self.carry.clone(), 0);
        let searched = self.carry.len();
        let read = loop {
            match self.input.read(&mut self.buffer[searched..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                read => break read?,
            }
        };
        self.ended = read == 0;
        self.number += self.rows.len() as u64;
        self.rows.clear();
        let (mut start, end) = (0, searched + read);
        for newline in memchr::memchr_iter(b'\n', &self.buffer[searched..end]) {
            let newline = searched + newline;
            self.rows.push(self.row(start, newline));
            self.skipping = false;
            start = newline + 1;
        }
        if self.ended && (start < end || self.skipping) {
            self.rows.push(self.row(start, end));
            start = end;
        } else if self.skipping || end - start > MAX_ROW_LEN + 1 {
            // One byte more may be the carriage return of a line end.
            self.skipping = true;
            start = end;
        }
        self.carry = start..end;
        Ok(Some(Chunk {
            first: self.number,
            byte_len: read as u64,
            rows: &self.rows,
            bytes: &self.buffer[..searched + read],
        }))
    }

    /// The row between two newlines: one carriage return before the second belongs to the end.
    fn row(&self, start: usize, newline: usize) -> Row {
        let carriage_return = self.buffer[start..newline].ends_with(b"\r");
        let end = newline - usize::from(carriage_return);
        if self.skipping || end - start > MAX_ROW_LEN {
            Row::TooLong
        } else {
            Row::Here { start, end }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gives its bytes in pieces of the given length.
    struct Trickle<'a>(&'a [u8], usize);

    impl Read for Trickle<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            let len = self.1.min(buffer.len()).min(self.0.len());
            let (head, tail) = self.0.split_at(len);
            buffer[..len].copy_from_slice(head);
            self.0 = tail;
            Ok(len)
        }
    }

    /// All rows with their numbers; `None` is a row that is too long.
    fn rows(input: &[u8], piece: usize) -> Vec<Option<Vec<u8>>> {
        let mut chunks = Chunks::new(Trickle(input, piece));
        let (mut found, mut bytes) = (Vec::new(), 0);
        while let Some(chunk) = chunks.next().unwrap() {
            assert_eq!(chunk.first, found.len() as u64 + 1);
            bytes += chunk.byte_len;
            found.extend(chunk.rows.iter().map(|row| chunk.content(*row).map(<[u8]>::to_vec)));
        }
        assert_eq!(bytes, input.len() as u64);
        found
    }

    fn here(rows: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        rows.iter().map(|row| Some(row.to_vec())).collect()
    }

    #[test]
    fn rows_are_bytes_and_only_their_ends_are_taken_off() {
        let cases: [(&[u8], &[&[u8]]); 8] = [
            (b"", &[]),
            (b"a", &[b"a"]),
            (b"a\n", &[b"a"]),
            (b"a\r\nb\n\nc", &[b"a", b"b", b"", b"c"]),
            (b" a \n\tb\r\r\n", &[b" a ", b"\tb\r"]),
            (b"a\0b\nma\xf1ana\n", &[b"a\0b", b"ma\xf1ana"]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf\r\n", &[b"a", b""]),
            (b"a\rb\r", &[b"a\rb"]),
        ];
        for (input, expected) in cases {
            for piece in [1, 2, 3, 100] {
                assert_eq!(rows(input, piece), here(expected), "{input:?} by {piece}");
            }
        }
    }

    #[test]
    fn rows_up_to_the_limit_come_whole_and_longer_ones_are_told() {
        for len in [MAX_ROW_LEN - 1, MAX_ROW_LEN, MAX_ROW_LEN + 1, MAX_ROW_LEN + 2, 3 * BUFFER_LEN]
        {
            for end in [&b"\n"[..], b"\r\n", b""] {
                let long = vec![b'x'; len];
                let after: &[u8] = if end.is_empty() { b"" } else { b"after\n" };
                let input = [b"before\n", long.as_slice(), end, after].concat();
                let mut expected = here(&[b"before"]);
                expected.push((len <= MAX_ROW_LEN).then_some(long));
                if !end.is_empty() {
                    expected.push(Some(b"after".to_vec()));
                }
                for piece in [1_000, 65_536, usize::MAX] {
                    let found = rows(&input, piece);
                    assert!(found == expected, "{len} bytes, end {end:?}, by {piece}");
                }
            }
        }
    }

    #[test]
    fn a_row_comes_as_soon_as_its_end_has() {
        let mut chunks = Chunks::new(Trickle(b"one\ntwo\n", 4));
        let chunk = chunks.next().unwrap().unwrap();
        assert_eq!(chunk.content(chunk.rows[0]), Some(&b"one"[..]));
        assert_eq!(chunk.rows.len(), 1);
    }
}
