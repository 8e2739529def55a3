//! An array of bits.
//!
//! ```text
//!  bit 0 is the lowest bit of word 0; bit p is bit p % 64 of word p / 64
//!  word:        0                1                2
//!        |63 ...... 1 0|127 ..... 65 64|191 .... 129 128|
//! ```
//!
//! Built on `bitvec`, with `Lsb0` order over `u64`: the order above is part of the file format.
//! Indexing the raw words instead gained nothing (`benches/store.rs` in commit 05b816b): seven reads
//! took 1.01 times as long through `bitvec` in 128 KiB, and 0.92 times in 64 MiB.

use std::fmt;

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;

use crate::simd::{Prefetch, is_large};

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

    fn slice(&self) -> &BitSlice<u64, Lsb0> {
        BitSlice::from_slice(self.words())
    }

    /// Reads bits: a word whose lowest bit is the one at a position. Positions past the end read as
    /// 0.
    #[inline]
    pub(crate) fn reader(&self) -> impl Fn(u64) -> u64 + Copy {
        let words = self.words();
        move |position| words.get((position / 64) as usize).copied().unwrap_or(0) >> (position % 64)
    }

    /// Asks for the memory of a bit; can be used while bits are being set.
    pub(crate) fn fetcher(&self) -> impl Fn(u64) + Copy + use<S> {
        let place = Prefetch::of(self.words());
        move |position| place.word((position / 64) as usize)
    }

    /// Whether bits should be asked for ahead of use.
    pub(crate) fn is_large(&self) -> bool {
        is_large(self.words())
    }

    /// Number of set bits. O(len / 64).
    pub(crate) fn count_ones(&self) -> u64 {
        self.slice().count_ones() as u64
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Bits<S> {
    /// Sets the bit and says whether it was clear. Positions past the end change nothing.
    #[inline]
    pub(crate) fn set(&mut self, position: u64) -> bool {
        let bits = BitSlice::<u64, Lsb0>::from_slice_mut(self.words.as_mut());
        bits.get_mut(position as usize).is_some_and(|mut bit| !bit.replace(true))
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
