//! A table of buckets with four slots of 4 to 32 bits each, packed without gaps.
//!
//! ```text
//!  12-bit slots: a bucket is 48 bits, so bucket 1 spans words 0 and 1
//!  word 0: |b1.s1 (low 4)|b1.s0|b0.s3|b0.s2|b0.s1|b0.s0|   low bits on the right
//! ```
//!
//! A slot of 0 is empty. Two words of padding follow the last bucket, so that a bucket can always
//! be read as three words without a test for the end.

use std::fmt;

/// Slots in a bucket.
const SLOTS: u32 = crate::math::cuckoo::SLOTS_PER_BUCKET as u32;

/// Words after the last bucket.
const PADDING: u64 = 2;

/// Buckets of packed slots over words `S`.
#[derive(Clone)]
pub(crate) struct Slots<S> {
    words: S,
    buckets: u64,
    bits: u32,
}

/// Number of words for a table, padding included; `None` on overflow.
pub(crate) const fn words_for(buckets: u64, bits: u32) -> Option<u64> {
    match buckets.checked_mul((SLOTS * bits) as u64) {
        Some(total) => total.div_ceil(64).checked_add(PADDING),
        None => None,
    }
}

impl<S: AsRef<[u64]>> Slots<S> {
    /// A table over its words; the caller has made `words_for(buckets, bits)` of them.
    pub(crate) const fn new(words: S, buckets: u64, bits: u32) -> Self {
        Self { words, buckets, bits }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(crate) const fn buckets(&self) -> u64 {
        self.buckets
    }

    pub(crate) const fn bits(&self) -> u32 {
        self.bits
    }

    const fn mask(&self) -> u64 {
        (1 << self.bits) - 1
    }

    fn word(&self, index: usize) -> u64 {
        self.words().get(index).copied().unwrap_or(0)
    }

    /// The four slots of a bucket.
    #[inline]
    pub(crate) fn bucket(&self, bucket: u64) -> [u32; SLOTS as usize] {
        let start = bucket * u64::from(SLOTS * self.bits);
        let (word, shift) = ((start / 64) as usize, (start % 64) as u32);
        let low = u128::from(self.word(word)) | u128::from(self.word(word + 1)) << 64;
        let mut packed = low >> shift;
        if shift > 0 {
            packed |= u128::from(self.word(word + 2)) << (128 - shift);
        }
        std::array::from_fn(|slot| {
            (packed >> (slot as u32 * self.bits)) as u32 & self.mask() as u32
        })
    }

    /// Number of slots in use. O(slots).
    pub(crate) fn count(&self) -> u64 {
        (0..self.buckets)
            .map(|bucket| self.bucket(bucket).iter().filter(|&&slot| slot != 0).count() as u64)
            .sum()
    }

    /// Whether every bit after the last bucket is 0.
    pub(crate) fn padding_is_clear(&self) -> bool {
        let end = self.buckets * u64::from(SLOTS * self.bits);
        let (word, used) = ((end / 64) as usize, end % 64);
        let tail = self.words().get(word..).unwrap_or(&[]);
        tail.split_first()
            .is_none_or(|(first, rest)| first >> used == 0 && rest.iter().all(|&word| word == 0))
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Slots<S> {
    /// Stores a slot. Buckets past the end change nothing.
    pub(crate) fn set(&mut self, bucket: u64, slot: usize, value: u32) {
        let start = bucket * u64::from(SLOTS * self.bits) + slot as u64 * u64::from(self.bits);
        let (word, shift) = ((start / 64) as usize, (start % 64) as u32);
        let mask = u128::from(self.mask());
        if let Some([low, high]) = self.words.as_mut().get_mut(word..word + 2) {
            let mut pair = u128::from(*low) | u128::from(*high) << 64;
            pair = pair & !(mask << shift) | (u128::from(value) & mask) << shift;
            *low = pair as u64;
            *high = (pair >> 64) as u64;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.words.as_mut().fill(0);
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for Slots<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Slots")
            .field("buckets", &self.buckets)
            .field("bits", &self.bits)
            .finish_non_exhaustive()
    }
}
