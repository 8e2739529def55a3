//! An array of small counters that stick when full.
//!
//! ```text
//!  4-bit counters, 16 to a word; counter 0 is the lowest nibble of word 0
//!  word 0: |15|14|...|2|1|0|
//! ```

use std::fmt;

use crate::simd::{Prefetch, is_large};

/// Counters of 4 or 8 bits over words `S`.
#[derive(Clone)]
pub(crate) struct Counters<S> {
    words: S,
    bits: u32,
}

impl<S: AsRef<[u64]>> Counters<S> {
    /// All counters of the words. `bits` is 4 or 8, so that no counter spans two words.
    pub(crate) const fn new(words: S, bits: u32) -> Self {
        Self { words, bits }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(crate) const fn bits(&self) -> u32 {
        self.bits
    }

    /// Number of counters.
    pub(crate) fn len(&self) -> u64 {
        self.words().len() as u64 * u64::from(64 / self.bits)
    }

    /// The value at which a counter sticks.
    pub(crate) const fn max(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Word index and shift of a counter.
    #[inline]
    fn place(&self, position: u64) -> (usize, u32) {
        let per_word = u64::from(64 / self.bits);
        ((position / per_word) as usize, (position % per_word) as u32 * self.bits)
    }

    /// The counter's value. Positions past the end read as 0.
    #[inline]
    pub(crate) fn get(&self, position: u64) -> u64 {
        let (word, shift) = self.place(position);
        self.words().get(word).copied().unwrap_or(0) >> shift & self.max()
    }

    /// Asks for the memory of a counter; can be used while counters are being changed.
    pub(crate) fn fetcher(&self) -> impl Fn(u64) + Copy + use<S> {
        let (place, shift) = (Prefetch::of(self.words()), (64 / self.bits).ilog2());
        move |position| place.word((position >> shift) as usize)
    }

    /// Whether counters should be asked for ahead of use.
    pub(crate) fn is_large(&self) -> bool {
        is_large(self.words())
    }

    /// How many counters are not 0, and how many are full. O(len).
    pub(crate) fn count(&self) -> (u64, u64) {
        let (mut used, mut saturated) = (0, 0);
        for &word in self.words() {
            let mut rest = word;
            while rest != 0 {
                let shift = rest.trailing_zeros() / self.bits * self.bits;
                used += 1;
                saturated += u64::from(word >> shift & self.max() == self.max());
                rest &= !(self.max() << shift);
            }
        }
        (used, saturated)
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Counters<S> {
    /// Stores a value of at most [`max`](Self::max). Positions past the end change nothing.
    #[inline]
    pub(crate) fn set(&mut self, position: u64, value: u64) {
        let (word, shift) = self.place(position);
        let mask = self.max();
        if let Some(word) = self.words.as_mut().get_mut(word) {
            *word = *word & !(mask << shift) | (value & mask) << shift;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for Counters<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counters").field("bits", &self.bits).finish_non_exhaustive()
    }
}
