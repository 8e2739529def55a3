//! The orders that rows can be in.

use std::cmp::Ordering;

use super::Entry;

/// An order of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Order {
    /// By their hashes.
    Hash,
    /// Those seen most often first, and of the same count by their hashes.
    Count,
}

impl Order {
    pub(crate) fn compare(self, first: &Entry, second: &Entry) -> Ordering {
        let by_hash = || (first.hash, first.tail).cmp(&(second.hash, second.tail));
        match self {
            Self::Hash => by_hash().then(second.count.cmp(&first.count)),
            Self::Count => second.count.cmp(&first.count).then_with(by_hash),
        }
    }
}
