//! An array of lines: 512 bits each, of which a key sets some in one line only.
//!
//! Where the bits of a key lie in its line is said in [`simd`](crate::simd); a line is eight words of
//! 64 bits, and line 0 starts at word 0.

use std::fmt;

use crate::simd::{LINE_WORDS, Path, Prefetch, Probe, Rounds};

/// Lines over words `S`.
#[derive(Clone)]
pub(crate) struct Lines<S> {
    words: S,
    rounds: Rounds,
    path: Path,
}

impl<S: AsRef<[u64]>> Lines<S> {
    /// All whole lines of the words, for keys of `num_probes` bits, 1 to 24.
    pub(crate) fn new(words: S, num_probes: u32) -> Self {
        Self { words, rounds: Rounds::new(num_probes), path: Path::best() }
    }

    /// The same lines by another path.
    #[cfg(test)]
    pub(crate) fn by(self, path: Path) -> Self {
        Self { path, ..self }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Number of lines.
    #[inline]
    pub(crate) fn len(&self) -> u64 {
        (self.words().len() / LINE_WORDS) as u64
    }

    pub(crate) const fn num_probes(&self) -> u32 {
        self.rounds.num_probes()
    }

    /// Number of set bits. O(len).
    pub(crate) fn count_ones(&self) -> u64 {
        self.words().iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// Whether all bits of the key are set.
    #[inline]
    pub(crate) fn contains(&self, probe: Probe) -> bool {
        self.path.contains(self.words(), self.rounds, probe)
    }

    /// Asks for the line of a key; a hint.
    #[inline]
    pub(crate) fn prefetch(&self, probe: Probe) {
        Prefetch::of(self.words()).line(probe);
    }

    /// [`contains`](Self::contains) for `len` keys, in order, with their lines fetched ahead.
    #[inline]
    pub(crate) fn contains_all(
        &self,
        len: usize,
        probe: impl Fn(usize) -> Probe,
        answer: impl FnMut(usize, bool),
    ) {
        self.path.contains_all(self.words(), self.rounds, len, probe, answer);
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Lines<S> {
    /// Sets the bits of the key and says how many were clear.
    #[inline]
    pub(crate) fn insert(&mut self, probe: Probe) -> u32 {
        self.path.insert(self.words.as_mut(), self.rounds, probe)
    }

    /// [`insert`](Self::insert) for `len` keys, in order, with their lines fetched ahead.
    #[inline]
    pub(crate) fn insert_all(
        &mut self,
        len: usize,
        probe: impl Fn(usize) -> Probe,
        answer: impl FnMut(usize, u32),
    ) {
        self.path.insert_all(self.words.as_mut(), self.rounds, len, probe, answer);
    }

    /// Ranges of so many lines each, the last one maybe shorter.
    #[cfg(feature = "rayon")]
    pub(crate) fn par_ranges_mut(
        &mut self,
        lines: usize,
    ) -> impl rayon::iter::IndexedParallelIterator<Item = Lines<&mut [u64]>> {
        use rayon::prelude::*;
        let (rounds, path) = (self.rounds, self.path);
        let ranges = self.words.as_mut().par_chunks_mut(lines * LINE_WORDS);
        ranges.map(move |words| Lines { words, rounds, path })
    }

    /// Sets every bit that is set in `other`, which has the same length.
    pub(crate) fn union_with(&mut self, other: &[u64]) {
        for (mine, theirs) in self.words.as_mut().iter_mut().zip(other) {
            *mine |= theirs;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for Lines<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("rounds", &self.rounds).finish_non_exhaustive()
    }
}
