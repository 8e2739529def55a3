//! Candidates that are answered together.

use std::fmt;
use std::ops::Range;

use zeroize::Zeroizing;

/// Bytes of a row that are accepted. Longer ones have no answer.
pub(super) const MAX_ROW_LEN: usize = 64 * 1024;

/// Bytes of a batch. What belongs to a batch of hashes (bytes, cuts, keys, answers) fits into the
/// second-level cache of a core together.
pub(super) const BATCH_LEN: usize = 192 * 1024;

/// A row: where it was, and where its parts are in the bytes of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// Number of its line, from 1.
    pub(super) line: u64,
    start: u32,
    end: u32,
    label_start: u32,
    label_end: u32,
    pub(super) fault: Option<Fault>,
}

impl Cut {
    /// A row of a candidate alone.
    pub(super) fn new(line: u64, candidate: Range<usize>) -> Self {
        let (start, end) = (candidate.start as u32, candidate.end as u32);
        Self { line, start, end, label_start: 0, label_end: 0, fault: None }
    }

    /// A row in which there is no candidate to be had.
    pub(super) const fn faulty(line: u64, fault: Fault) -> Self {
        Self { line, start: 0, end: 0, label_start: 0, label_end: 0, fault: Some(fault) }
    }

    pub(super) fn with_label(self, label: Range<usize>) -> Self {
        Self { label_start: label.start as u32, label_end: label.end as u32, ..self }
    }

    pub(super) const fn with_fault(self, fault: Fault) -> Self {
        Self { fault: Some(fault), ..self }
    }
}

/// Why no candidate can be had from a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// The row is longer than [`MAX_ROW_LEN`]; its bytes were passed over.
    TooLong,
    /// The record does not have that column.
    NoColumn,
    /// The record's label goes over several lines, or is very long.
    Label,
    /// The record's candidate goes over several lines: it may be a row that holds others.
    Lines,
    /// The input ends inside of quotation marks: what follows the first of them was not cut.
    OpenQuote,
    /// Text follows a quotation mark that closes a value: it may have been there to open one.
    StrayQuote,
    /// The account has no hash.
    NoHash,
    /// The row is not `user:hash`, nor a row of a dump.
    NoAccount,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "expected at most {MAX_ROW_LEN} bytes, found a longer row")
            }
            Self::NoColumn => f.write_str("the record does not have so many columns"),
            Self::Label => f.write_str(
                "the label goes over several lines, or is longer than 256 bytes: a quotation mark \
                 may be missing before it",
            ),
            Self::Lines => f.write_str(
                "the candidate goes over several lines: a quotation mark may be missing after it, \
                 and the rows in it were not checked",
            ),
            Self::OpenQuote => f.write_str(
                "a quotation mark is opened here and not closed before the end of the input: the \
                 rows after it were not checked",
            ),
            Self::StrayQuote => f.write_str(
                "text follows a closing quotation mark in this record: one may be missing before \
                 it, and rows that were taken for a value were not checked; or one within a value \
                 is not doubled",
            ),
            Self::NoHash => f.write_str("the account has no hash"),
            Self::NoAccount => {
                f.write_str("expected user:hash or user:rid:lm:nt:::, found something else")
            }
        }
    }
}

/// Rows that arrived together. The buffer never moves, and is wiped in the end.
pub(super) struct Batch {
    pub(super) bytes: Zeroizing<Vec<u8>>,
    /// How many of the bytes are rows.
    pub(super) len: usize,
    /// How many bytes of input it took.
    pub(super) byte_len: u64,
    /// Number of the first line.
    pub(super) first: u64,
    /// The first row is the end of one that was too long.
    pub(super) head_too_long: bool,
    pub(super) cuts: Vec<Cut>,
}

impl Batch {
    pub(super) fn new() -> Self {
        // One more for the end of a last row that has none.
        Self::of(Zeroizing::new(vec![0; BATCH_LEN + 1]), 0)
    }

    /// One candidate, however long.
    pub(super) fn of_one(candidate: Zeroizing<Vec<u8>>) -> Self {
        let len = candidate.len();
        let mut batch = Self::of(candidate, len);
        batch.cuts.push(Cut::new(1, 0..len));
        batch
    }

    const fn of(bytes: Zeroizing<Vec<u8>>, len: usize) -> Self {
        let byte_len = len as u64;
        Self { bytes, len, byte_len, first: 1, head_too_long: false, cuts: Vec::new() }
    }

    /// Empties it.
    pub(super) fn clear(&mut self) {
        (self.len, self.byte_len, self.head_too_long) = (0, 0, false);
        self.cuts.clear();
    }

    /// The candidate of a row.
    pub(super) fn candidate(&self, cut: &Cut) -> &[u8] {
        &self.bytes[cut.start as usize..cut.end as usize]
    }

    /// What the row is to be called, if it has a name.
    pub(super) fn label(&self, cut: &Cut) -> Option<&[u8]> {
        let label = &self.bytes[cut.label_start as usize..cut.label_end as usize];
        (!label.is_empty()).then_some(label)
    }
}
