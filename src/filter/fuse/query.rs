//! What a key asks of its shard.

use super::geometry::Geometry;
use crate::hash::Mixed;
use crate::store::Cells;

/// Three cells, and the fingerprint that they must add up to.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Query {
    pub(super) first_word: u64,
    pub(super) cells: [u32; 3],
    pub(super) fingerprint: u32,
}

impl Query {
    /// The query of a key with these words in the array that begins at `first_word`. The
    /// fingerprint is the top bits of the second word.
    #[inline]
    pub(super) const fn new(
        first_word: u64,
        geometry: Geometry,
        Mixed { a, b }: Mixed,
        fingerprint_bits: u32,
    ) -> Self {
        let fingerprint = (b >> (64 - fingerprint_bits)) as u32;
        Self { first_word, cells: geometry.edge(a), fingerprint }
    }

    /// Whether the cells add up.
    #[inline]
    pub(super) fn holds<S: AsRef<[u64]>>(self, cells: &Cells<S>) -> bool {
        cells.xor(self.first_word, self.cells) == self.fingerprint
    }
}
