//! Rows of lists that are written again: their text, their order, the files they go to.

mod order;
mod sort;
mod text;
mod write;

use hapax::KeyHash;
use hapax::screen::list::Row;

pub(crate) use self::order::Order;
pub(crate) use self::sort::{RECORD, Sorted, Sorter};
pub(crate) use self::text::{LineEnd, MAX_ROW_TEXT, RowText};
pub(crate) use self::write::{Compress, Format, ListWriter, Target, TextWriter};

/// What a row of hashes says: all of its hash, and how often the password was seen.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) hash: KeyHash,
    /// What a SHA-1 has beyond the key.
    pub(crate) tail: u32,
    pub(crate) count: u64,
}

impl Entry {
    /// The entry of a row. One without a count has been seen once.
    pub(crate) fn of(row: Row) -> Self {
        Self { hash: row.hash, tail: row.tail, count: row.count.unwrap_or(1) }
    }

    /// Whether it has the same hash.
    pub(crate) fn is_same_hash(&self, other: &Self) -> bool {
        (self.hash, self.tail) == (other.hash, other.tail)
    }
}
