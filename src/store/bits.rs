//! An array of bits.
//!
//! ```text
//!  bit 0 is the lowest bit of word 0; bit p is bit p % 64 of word p / 64
//!  word:        0                1                2
//!        |63 ...... 1 0|127 ..... 65 64|191 .... 129 128|
//! ```
//!
//! Built on `bitvec`, with `Lsb0` order over `u64`: the order above is part of the file format.
//! The two operations of the hot loops index the raw words instead: `BitSlice::get` re-encodes its
//! pointer on every call, which costs nothing where the compiler sees through it and up to half as
//! much again where it does not (`cargo bench --bench store`).

use std::fmt;

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;

/// An array of bits over words `S`.
#[derive(Clone)]
pub(crate) struct Bits<S> {
    words: S,
}

impl<S: AsRef<[u64]>> Bits<S> {
    /// All bits of the words; there are `64 * words.len()`.
    pub(crate) const fn new(words: S) -> Self {
        Self { words }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(crate) fn len(&self) -> u64 {
        self.words().len() as u64 * 64
    }

    /// Whether the bit is set. Positions past the end read as 0.
    #[inline]
    pub(crate) fn get(&self, position: u64) -> bool {
        let word = self.words().get((position / 64) as usize).copied().unwrap_or(0);
        word >> (position % 64) & 1 == 1
    }

    /// Number of set bits. O(len / 64).
    pub(crate) fn count_ones(&self) -> u64 {
        BitSlice::<u64, Lsb0>::from_slice(self.words()).count_ones() as u64
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Bits<S> {
    /// Sets the bit and says whether it was clear. Positions past the end change nothing.
    #[inline]
    pub(crate) fn set(&mut self, position: u64) -> bool {
        let Some(word) = self.words.as_mut().get_mut((position / 64) as usize) else {
            return false;
        };
        let bit = 1 << (position % 64);
        let was_clear = *word & bit == 0;
        *word |= bit;
        was_clear
    }

    /// Sets every bit that is set in `other`, which has the same length.
    pub(crate) fn union_with(&mut self, other: &[u64]) {
        *BitSlice::<u64, Lsb0>::from_slice_mut(self.words.as_mut()) |=
            BitSlice::<u64, Lsb0>::from_slice(other);
    }

    pub(crate) fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for Bits<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bits").finish_non_exhaustive()
    }
}
