//! Rows that were read together.

use std::fmt;

use super::row::Row;
use crate::hash::KeyHash;

/// Most rows of a batch: enough that handing one over costs nothing a row, few enough that it stays
/// in the second-level cache (36 bytes a row).
pub(super) const MAX_ROWS: usize = 8 * 1024;

/// Stands in a column of counts for a row without one.
const NO_COUNT: u64 = u64::MAX;

/// Rows of one list that were read together, column by column: what builds a filter takes the
/// hashes alone, as one slice.
///
/// It is filled by [`ListReader::next_batch`](super::ListReader::next_batch), which keeps its memory
/// for the next rows, so a list costs no allocation beyond its first batch.
#[derive(Clone, Default)]
pub struct Batch {
    hashes: Vec<KeyHash>,
    tails: Vec<u32>,
    counts: Vec<u64>,
    /// Number and offset of each row, from those of the batch: it covers one buffer of input, so
    /// 32 bits hold both.
    places: Vec<(u32, u32)>,
    number: u64,
    offset: u64,
}

impl Batch {
    /// An empty batch.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The keys of the rows, in the order of the list.
    #[must_use]
    pub fn hashes(&self) -> &[KeyHash] {
        &self.hashes
    }

    /// Rows in it.
    #[must_use]
    pub fn len(&self) -> usize {
        self.hashes.len()
    }

    /// Whether there is no row in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.hashes.is_empty()
    }

    /// The row at this place, if there is one.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<Row> {
        let (number, offset) = *self.places.get(index)?;
        let count = self.counts[index];
        Some(Row {
            hash: self.hashes[index],
            tail: self.tails[index],
            count: (count != NO_COUNT).then_some(count),
            number: self.number + u64::from(number),
            offset: self.offset + u64::from(offset),
        })
    }

    /// All rows, in the order of the list.
    #[must_use]
    pub fn rows(&self) -> impl ExactSizeIterator<Item = Row> + '_ {
        let columns = self.hashes.iter().zip(&self.tails).zip(&self.counts).zip(&self.places);
        columns.map(|(((&hash, &tail), &count), &(number, offset))| Row {
            hash,
            tail,
            count: (count != NO_COUNT).then_some(count),
            number: self.number + u64::from(number),
            offset: self.offset + u64::from(offset),
        })
    }

    /// Keeps the rows that are counted at least so often, and returns how many went. A row without a
    /// count goes too, unless 0 or 1 is asked for, which every row satisfies.
    pub fn retain_counted(&mut self, min_count: u64) -> usize {
        if min_count <= 1 {
            return 0;
        }
        let mut kept = 0;
        for index in 0..self.len() {
            let count = self.counts[index];
            self.hashes[kept] = self.hashes[index];
            self.tails[kept] = self.tails[index];
            self.counts[kept] = count;
            self.places[kept] = self.places[index];
            kept += usize::from(count >= min_count && count != NO_COUNT);
        }
        let gone = self.len() - kept;
        self.hashes.truncate(kept);
        self.tails.truncate(kept);
        self.counts.truncate(kept);
        self.places.truncate(kept);
        gone
    }

    /// Empties it for rows from this place on.
    pub(super) fn restart(&mut self, number: u64, offset: u64) {
        self.hashes.clear();
        self.tails.clear();
        self.counts.clear();
        self.places.clear();
        (self.number, self.offset) = (number, offset);
    }

    pub(super) fn push(&mut self, row: Row) {
        self.hashes.push(row.hash);
        self.tails.push(row.tail);
        // One less than the sentinel: a count that large is wrong in any case.
        self.counts.push(row.count.map_or(NO_COUNT, |count| count.min(NO_COUNT - 1)));
        self.places.push(((row.number - self.number) as u32, (row.offset - self.offset) as u32));
    }
}

/// How many rows; nothing of their content.
impl fmt::Debug for Batch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Batch").field("len", &self.len()).finish_non_exhaustive()
    }
}
