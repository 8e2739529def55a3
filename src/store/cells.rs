//! Numbers of 4 to 32 bits, packed without gaps from the start of a cache line.
//!
//! ```text
//!  12-bit cells: cell 5 spans words 0 and 1
//!  word 0: |c5 (low 4)|c4|c3|c2|c1|c0|   low bits on the right
//! ```
//!
//! Several arrays lie one after the other, each at a multiple of eight words. Cells of 4, 8, 16 or
//! 32 bits never span two words: one load and one shift reads them.

use std::fmt;

/// Words in a cache line.
const LINE_WORDS: u64 = 8;

/// Packed cells over words `S`.
#[derive(Clone)]
pub(crate) struct Cells<S> {
    words: S,
    bits: u32,
}

/// Number of words for so many cells, whole cache lines; `None` on overflow.
pub(crate) const fn lines_for(cells: u64, bits: u32) -> Option<u64> {
    match cells.checked_mul(bits as u64) {
        Some(total) => total.div_ceil(64 * LINE_WORDS).checked_mul(LINE_WORDS),
        None => None,
    }
}

impl<S: AsRef<[u64]>> Cells<S> {
    pub(crate) const fn new(words: S, bits: u32) -> Self {
        Self { words, bits }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(crate) const fn bits(&self) -> u32 {
        self.bits
    }

    pub(crate) fn into_words(self) -> S {
        self.words
    }

    const fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// The word in which a cell of the array at `first_word` begins.
    #[inline]
    pub(crate) fn word_of(&self, first_word: u64, cell: u32) -> usize {
        (first_word + u64::from(cell) * u64::from(self.bits) / 64) as usize
    }

    /// The xor of some cells of the array that begins at `first_word`. Past the end they read as 0.
    #[inline]
    pub(crate) fn xor<const N: usize>(&self, first_word: u64, cells: [u32; N]) -> u32 {
        let words = self.words();
        let mut sum = 0;
        for cell in cells {
            let word = self.word_of(first_word, cell);
            let shift = (u64::from(cell) * u64::from(self.bits) % 64) as u32;
            sum ^= words.get(word).copied().unwrap_or(0) >> shift;
            if shift + self.bits > 64 {
                sum ^= words.get(word + 1).copied().unwrap_or(0) << (64 - shift);
            }
        }
        (sum & self.mask()) as u32
    }

    /// Whether every bit from the end of the last cell of an array to the end of its words is 0.
    pub(crate) fn padding_is_clear(&self, first_word: u64, cells: u32, words: u64) -> bool {
        let end = u64::from(cells) * u64::from(self.bits);
        let tail = first_word + end / 64..first_word + words;
        let tail = self.words().get(tail.start as usize..tail.end as usize).unwrap_or(&[]);
        tail.split_first().is_none_or(|(first, rest)| {
            first >> (end % 64) == 0 && rest.iter().all(|&word| word == 0)
        })
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Cells<S> {
    /// Stores into a cell of the first array that was 0. Past the end it changes nothing.
    #[inline]
    pub(crate) fn fill(&mut self, cell: u32, value: u32) {
        let word = self.word_of(0, cell);
        let shift = (u64::from(cell) * u64::from(self.bits) % 64) as u32;
        let value = u64::from(value) & self.mask();
        let spans = shift + self.bits > 64;
        let words = self.words.as_mut();
        if let Some(word) = words.get_mut(word) {
            *word |= value << shift;
        }
        if spans && let Some(next) = words.get_mut(word + 1) {
            *next |= value >> (64 - shift);
        }
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for Cells<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cells").field("bits", &self.bits).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_of_every_width_keep_their_values_apart() {
        for bits in 4..=32 {
            let cells = 131;
            let value = |cell: u32| cell.wrapping_mul(0x9e37_79b9) >> (32 - bits);
            let mut array = Cells::new(vec![0; lines_for(cells, bits).unwrap() as usize], bits);
            for cell in (0..cells as u32).rev() {
                assert_eq!(array.xor(0, [cell]), 0);
                array.fill(cell, value(cell));
            }
            for cell in 0..cells as u32 {
                assert_eq!(array.xor(0, [cell]), value(cell), "{bits} bits, cell {cell}");
            }
            let words = array.words().len() as u64;
            assert!(array.padding_is_clear(0, cells as u32, words), "{bits} bits");
            // The same array, eight words further on, with a bit after its last cell.
            let mut moved = vec![u64::MAX; 8];
            moved.extend_from_slice(array.words());
            let end = cells * u64::from(bits);
            moved[8 + (end / 64) as usize] |= 1 << (end % 64);
            let moved = Cells::new(moved, bits);
            assert_eq!(moved.xor(8, [130]), value(130));
            assert!(!moved.padding_is_clear(8, cells as u32, words), "{bits} bits");
        }
    }

    #[test]
    fn arrays_are_whole_lines() {
        assert_eq!(lines_for(0, 8), Some(0));
        assert_eq!(lines_for(64, 8), Some(8));
        assert_eq!(lines_for(65, 8), Some(16));
        assert_eq!(lines_for(u64::MAX, 8), None);
    }
}
