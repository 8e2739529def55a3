//! Owned words: aligned to a cache line, zeroed lazily, refused rather than aborted on.

use std::fmt;

/// Words in a cache line.
const LINE_WORDS: usize = 8;

/// Owned memory of a filter: 64-bit words that start at a multiple of 64 bytes, so that a line of
/// eight never touches two cache lines.
///
/// A vector of words is aligned to 8 bytes only; this is one with up to seven words to spare in
/// front. (A vector of 64-byte lines would have the alignment for free, and its zeroed pages
/// touched at once: the system allocator zeroes over-aligned memory by hand.)
pub struct Words {
    raw: Vec<u64>,
    start: usize,
    len: usize,
}

impl Words {
    /// `len` zeroed words, or `None` if the memory cannot be had.
    ///
    /// The pages come zeroed from the operating system and are touched only when used. Asking
    /// first by `try_reserve` turns the abort of a failed allocation into an answer: more than the
    /// machine has is refused under Linux's default overcommit policy.
    pub(crate) fn zeroed(len: u64) -> Option<Self> {
        let len = usize::try_from(len).ok()?;
        let total = len.checked_add(LINE_WORDS - 1)?;
        Vec::<u64>::new().try_reserve_exact(total).ok()?;
        Some(Self::aligned(vec![0; total], len))
    }

    /// The `len` words of `raw` that start at a line; `raw` has seven more than that.
    fn aligned(raw: Vec<u64>, len: usize) -> Self {
        let misaligned = raw.as_ptr().addr() / size_of::<u64>() % LINE_WORDS;
        let start = (LINE_WORDS - misaligned) % LINE_WORDS;
        Self { raw, start, len }
    }

    /// A copy of these words, or `None` if the memory cannot be had.
    pub(crate) fn copy_of(words: &[u64], len: u64) -> Option<Self> {
        let mut copy = Self::zeroed(len.max(words.len() as u64))?;
        copy.as_mut()[..words.len()].copy_from_slice(words);
        Some(copy)
    }
}

impl AsRef<[u64]> for Words {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        &self.raw[self.start..self.start + self.len]
    }
}

impl AsMut<[u64]> for Words {
    #[inline]
    fn as_mut(&mut self) -> &mut [u64] {
        &mut self.raw[self.start..self.start + self.len]
    }
}

impl Clone for Words {
    /// Aligned like the original, which a copy of the vector would not be.
    fn clone(&self) -> Self {
        let mut clone = Self::aligned(vec![0; self.raw.len()], self.len);
        clone.as_mut().copy_from_slice(self.as_ref());
        clone
    }
}

/// The size; bits of a filter are not for logs.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zeroed_aligned_and_stay_so_in_clones() {
        for len in [0, 1, 7, 8, 9, 1_000, 100_000] {
            let mut words = Words::zeroed(len).unwrap();
            assert_eq!(words.as_ref().len() as u64, len);
            assert!(words.as_ref().iter().all(|&word| word == 0));
            words.as_mut().fill(len);
            let clone = words.clone();
            assert_eq!(clone.as_ref(), words.as_ref());
            for words in [&words, &clone] {
                assert_eq!(words.as_ref().as_ptr().addr() % 64, 0, "{len} words");
            }
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        assert!(Words::zeroed(u64::MAX).is_none());
        assert!(Words::zeroed(1 << 58).is_none());
    }
}
