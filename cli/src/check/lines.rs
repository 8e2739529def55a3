//! Rows of the input, by batches: whatever one read gives, cut at line ends.
//!
//! ```text
//!  bytes   [ row \n row \n row \n ro|............]      one read
//!            └──── a batch ───┘ └ carried to the next batch
//! ```
//!
//! A batch is what has arrived, so that a program on the other end of a pipe gets each answer when
//! it has sent its row; and it is many rows where many are there. Only whole rows are in it, so
//! that batches can be cut and answered by several threads, and one reads.

use std::io::{self, Read};
use std::ops::Range;

use zeroize::Zeroizing;

use super::accounts;
use super::batch::{BATCH_LEN, Batch, Cut, Fault, MAX_ROW_LEN};
use super::csv::{Columns, CsvReader, LongRecords};
use crate::trouble::Trouble;

/// The longest input that is one candidate.
const MAX_ONE_LEN: usize = 16 << 20;

/// What some editors put in front of text; lists have it in front of any row.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How an input is cut into candidates.
#[derive(Clone, Debug)]
pub(super) enum Shape {
    /// A row is a candidate.
    Lines { end: u8 },
    /// A row is a user and a hash.
    Accounts { end: u8 },
    /// A record has a candidate in a column.
    Csv(Columns),
    /// All of it is one candidate.
    One,
}

impl Shape {
    /// Whether the input is text, of which it can be told that its rows are none.
    pub(super) const fn is_text(&self) -> bool {
        match self {
            Self::Lines { end } | Self::Accounts { end } => *end == b'\n',
            Self::Csv(_) => true,
            Self::One => false,
        }
    }

    /// Cuts a batch into rows, unless that was done by whoever read it.
    pub(super) fn cut(&self, batch: &mut Batch) {
        match self {
            Self::Lines { end } => cut_rows(batch, *end, |line, _, row| Cut::new(line, row)),
            Self::Accounts { end } => cut_rows(batch, *end, |line, bytes, row| {
                if row.is_empty() {
                    return Cut::new(line, row);
                }
                let within = |part: Range<usize>| row.start + part.start..row.start + part.end;
                match accounts::split(&bytes[row.clone()]) {
                    Ok((user, hash)) => Cut::new(line, within(hash)).with_label(within(user)),
                    Err(fault) => Cut::faulty(line, fault),
                }
            }),
            Self::Csv(_) | Self::One => {}
        }
    }
}

/// Cuts at every row end. One carriage return before a newline belongs to it.
fn cut_rows(batch: &mut Batch, end: u8, cut: impl Fn(u64, &[u8], Range<usize>) -> Cut) {
    let bytes = &batch.bytes[..batch.len];
    let text = end == b'\n';
    let mut start = 0;
    let mut too_long = batch.head_too_long;
    batch.cuts.extend((batch.first..).zip(memchr::memchr_iter(end, bytes)).map(|(line, at)| {
        let mut row = start..at;
        start = at + 1;
        if text {
            if bytes[row.clone()].starts_with(BYTE_ORDER_MARK) {
                row.start += BYTE_ORDER_MARK.len();
            }
            if bytes[row.clone()].ends_with(b"\r") {
                row.end -= 1;
            }
        }
        if std::mem::take(&mut too_long) || row.len() > MAX_ROW_LEN {
            return Cut::faulty(line, Fault::TooLong);
        }
        cut(line, bytes, row)
    }));
}

/// Reads an input in batches.
pub(super) enum Source<R> {
    Rows(RowReader<R>),
    Csv(Box<CsvReader<R>>),
    One(Option<R>),
}

impl<R: Read> Source<R> {
    pub(super) fn new(input: R, shape: &Shape) -> Self {
        match shape {
            Shape::Lines { end } | Shape::Accounts { end } => {
                Self::Rows(RowReader::new(input, *end))
            }
            Shape::Csv(columns) => Self::Csv(Box::new(CsvReader::new(input, columns.clone()))),
            Shape::One => Self::One(Some(input)),
        }
    }

    /// Fills a batch with what has arrived, perhaps without rows. `false` at the end of the input.
    ///
    /// # Errors
    ///
    /// If the input cannot be read, or its rows cannot be made out.
    pub(super) fn fill(&mut self, batch: &mut Batch, name: &str) -> Result<bool, Trouble> {
        batch.clear();
        let failed = |error: io::Error| Trouble::reading(name, &error);
        match self {
            Self::Rows(rows) => rows.fill(batch).map_err(failed),
            Self::Csv(records) => records.fill(batch, name),
            Self::One(input) => match input.take() {
                Some(input) => {
                    let (one, byte_len) = read_one(input).map_err(failed)?;
                    *batch = Batch::of_one(one);
                    batch.byte_len = byte_len as u64;
                    if batch.len > MAX_ONE_LEN {
                        return Err(Trouble::new(format_args!(
                            "{name}: expected one candidate of at most {MAX_ONE_LEN} bytes, found \
                             more"
                        )));
                    }
                    Ok(true)
                }
                None => Ok(false),
            },
        }
    }

    /// What may be wrong with the input although every row of it had an answer.
    pub(super) fn doubt(&self) -> Option<String> {
        let Self::Csv(records) = self else { return None };
        let LongRecords { count, first } = records.long_records();
        let goes = if count == 1 { "1 record goes" } else { &format!("{count} records go") };
        (count > 0).then(|| {
            format!(
                "{goes} over several lines, from line {first} on: where that is not meant, a \
                 quotation mark is missing there, and rows before the next one were not checked"
            )
        })
    }

    /// The beginning of the input, in the first batch.
    pub(super) fn head<'a>(&'a self, batch: &'a Batch) -> &'a [u8] {
        match self {
            Self::Rows(rows) if batch.len == 0 => &rows.carry,
            Self::Rows(_) => &batch.bytes[..batch.len],
            Self::Csv(records) => records.head(),
            Self::One(_) => &[],
        }
    }
}

/// Cuts off whole rows.
pub(super) struct RowReader<R> {
    input: R,
    end: u8,
    /// The beginning of a row whose end is not here yet.
    carry: Zeroizing<Vec<u8>>,
    /// The row at hand is too long, and the rest of it is passed over.
    skipping: bool,
    ended: bool,
    number: u64,
}

impl<R: Read> RowReader<R> {
    fn new(input: R, end: u8) -> Self {
        // What is carried over is never longer, so this does not move.
        let carry = Zeroizing::new(Vec::with_capacity(MAX_ROW_LEN + MAX_AROUND));
        Self { input, end, carry, skipping: false, ended: false, number: 1 }
    }

    fn fill(&mut self, batch: &mut Batch) -> io::Result<bool> {
        if self.ended {
            return Ok(false);
        }
        let carried = self.carry.len();
        batch.bytes[..carried].copy_from_slice(&self.carry);
        self.carry.clear();
        let read = read(&mut self.input, &mut batch.bytes[carried..BATCH_LEN])?;
        self.ended = read == 0;
        let mut len = carried + read;
        if self.ended && (len > 0 || self.skipping) {
            // The last row gets the end that it lacks.
            batch.bytes[len] = self.end;
            len += 1;
        }
        let whole = memchr::memrchr(self.end, &batch.bytes[..len]).map_or(0, |end| end + 1);
        batch.len = whole;
        batch.byte_len = read as u64;
        batch.first = self.number;
        self.number += memchr::memchr_iter(self.end, &batch.bytes[..whole]).count() as u64;
        if whole > 0 {
            batch.head_too_long = self.skipping;
            self.skipping = false;
        }
        let rest = &batch.bytes[whole..len];
        if self.skipping || rest.len() > MAX_ROW_LEN + MAX_AROUND {
            self.skipping = true;
        } else {
            self.carry.extend_from_slice(rest);
        }
        Ok(true)
    }
}

/// What may be around a row that is not too long: a mark, a carriage return.
const MAX_AROUND: usize = BYTE_ORDER_MARK.len() + 1;

/// Reads what is there.
pub(super) fn read(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Reads all of an input, or more than is accepted, and says how much that was. A line end at the
/// very end is taken off.
fn read_one(mut input: impl Read) -> io::Result<(Zeroizing<Vec<u8>>, usize)> {
    let mut one = Zeroizing::new(vec![0; 8 << 10]);
    let mut len = 0;
    loop {
        if len == one.len() {
            // The smaller buffer is wiped as it goes.
            let mut larger = Zeroizing::new(vec![0; 4 * len]);
            larger[..len].copy_from_slice(&one);
            one = larger;
        }
        let read = read(&mut input, &mut one[len..])?;
        len += read;
        if read == 0 || len > MAX_ONE_LEN + 2 {
            break;
        }
    }
    let byte_len = len;
    if one[..len].ends_with(b"\n") {
        len -= 1 + usize::from(one[..len - 1].ends_with(b"\r"));
    }
    one.truncate(len);
    Ok((one, byte_len))
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
    fn rows(input: &[u8], piece: usize, shape: &Shape) -> Vec<Option<Vec<u8>>> {
        let mut source = Source::new(Trickle(input, piece), shape);
        let (mut found, mut bytes, mut batch) = (Vec::new(), 0, Batch::new());
        while source.fill(&mut batch, "test").unwrap() {
            bytes += batch.byte_len;
            shape.cut(&mut batch);
            for cut in &batch.cuts {
                assert_eq!(cut.line, found.len() as u64 + 1);
                found.push(cut.fault.is_none().then(|| batch.candidate(cut).to_vec()));
            }
        }
        assert_eq!(bytes, input.len() as u64);
        found
    }

    fn here(rows: &[&[u8]]) -> Vec<Option<Vec<u8>>> {
        rows.iter().map(|row| Some(row.to_vec())).collect()
    }

    #[test]
    fn rows_are_bytes_and_only_their_ends_are_taken_off() {
        let cases: [(&[u8], &[&[u8]]); 9] = [
            (b"", &[]),
            (b"a", &[b"a"]),
            (b"a\n", &[b"a"]),
            (b"\n\n", &[b"", b""]),
            (b"a\r\nb\n\nc", &[b"a", b"b", b"", b"c"]),
            (b" a \n\tb\r\r\n", &[b" a ", b"\tb\r"]),
            (b"a\0b\nma\xf1ana\n", &[b"a\0b", b"ma\xf1ana"]),
            (b"\xef\xbb\xbfa\n\xef\xbb\xbf\r\n", &[b"a", b""]),
            (b"a\rb\r", &[b"a\rb"]),
        ];
        let shape = Shape::Lines { end: b'\n' };
        for (input, expected) in cases {
            for piece in [1, 2, 3, 100] {
                assert_eq!(rows(input, piece, &shape), here(expected), "{input:?} by {piece}");
            }
        }
    }

    #[test]
    fn rows_that_end_in_nul_are_exact() {
        let shape = Shape::Lines { end: 0 };
        let input = b"a\n\0\xef\xbb\xbfb\r\0\0c";
        for piece in [1, 2, 100] {
            let expected = here(&[b"a\n", b"\xef\xbb\xbfb\r", b"", b"c"]);
            assert_eq!(rows(input, piece, &shape), expected);
        }
    }

    #[test]
    fn rows_up_to_the_limit_come_whole_and_longer_ones_are_told() {
        let shape = Shape::Lines { end: b'\n' };
        for len in [MAX_ROW_LEN - 1, MAX_ROW_LEN, MAX_ROW_LEN + 1, MAX_ROW_LEN + 2, 3 * BATCH_LEN] {
            for end in [&b"\n"[..], b"\r\n", b""] {
                for mark in [&b""[..], BYTE_ORDER_MARK] {
                    let long = vec![b'x'; len];
                    let after: &[u8] = if end.is_empty() { b"" } else { b"after\n" };
                    let input = [b"before\n", mark, long.as_slice(), end, after].concat();
                    let mut expected = here(&[b"before"]);
                    expected.push((len <= MAX_ROW_LEN).then_some(long));
                    if !end.is_empty() {
                        expected.push(Some(b"after".to_vec()));
                    }
                    for piece in [1_000, 65_536, usize::MAX] {
                        let found = rows(&input, piece, &shape);
                        assert!(found == expected, "{len} bytes, end {end:?}, by {piece}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_row_comes_as_soon_as_its_end_has() {
        let shape = Shape::Lines { end: b'\n' };
        let mut source = Source::new(Trickle(b"one\ntwo\n", 4), &shape);
        let mut batch = Batch::new();
        assert!(source.fill(&mut batch, "test").unwrap());
        shape.cut(&mut batch);
        assert_eq!((batch.cuts.len(), batch.candidate(&batch.cuts[0])), (1, &b"one"[..]));
    }

    #[test]
    fn one_candidate_is_the_whole_input_less_a_line_end() {
        for len in [0, 1, 8_191, 8_192, 8_193, 100_000] {
            for end in ["", "\n", "\r\n"] {
                let one = format!("{}\nx", "é".repeat(len));
                let found = rows(format!("{one}{end}").as_bytes(), 1_000, &Shape::One);
                let candidate = one.into_bytes();
                assert!(found == vec![Some(candidate)], "{len} {end:?}");
            }
        }
    }
}
