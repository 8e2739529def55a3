//! A table of buckets with four slots of 4 to 64 bits each, packed without gaps.
//!
//! ```text
//!  12-bit slots: a bucket is 48 bits, so bucket 1 spans words 0 and 1
//!  word 0: |b1.s1 (low 4)|b1.s0|b0.s3|b0.s2|b0.s1|b0.s0|   low bits on the right
//! ```
//!
//! A slot of 0 is empty. Two words of padding follow the last bucket, so that a bucket of slots of
//! up to 32 bits can always be read as three words without a test for the end.
//!
//! **Comparing.** A bucket of slots of up to 32 bits is compared as a whole. Slots of up to 16 bits fit into one word, wider
//! ones into two; slots of 4, 8 and 16 bits never cross a word, those of 32 bits are two whole ones.
//! With x = bucket ⊕ (value in every slot), the slots that hold the value are those of x that are 0:
//!
//! ```text
//!  x      0101 0000 1000 0001     high: 1000 in every slot, rest: 0111 in every slot
//!  (x & rest) + rest | x          1xxx where a slot is not 0, 0xxx where it is
//!  ¬ … & high
//!  marks  0000 1000 0000 0000     slot 2 is equal
//! ```
//!
//! No sum leaves its slot, so the marks are exact for every width. (L. Lamport, *Multiple byte
//! processing with full-word instructions*, CACM 18, 1975.)

use std::fmt;

use bytemuck::{cast_slice, cast_slice_mut};

use crate::simd::prefetch;

/// Slots in a bucket.
pub(super) const SLOTS: u32 = crate::math::cuckoo::SLOTS_PER_BUCKET as u32;

/// The widest slots of which four fit into one word.
pub(super) const MAX_NARROW: u32 = 64 / SLOTS;

/// The widest slots of which four fit into two words, and are read as three.
pub(super) const MAX_WIDE: u32 = 128 / SLOTS;

/// The widest slots of which two, and the widest of which one, is within eight bytes that start at
/// any byte: 57 bits and more are left after a shift by up to 7.
pub(super) const MAX_HALVED: u32 = 28;
const MAX_IN_EIGHT_BYTES: u32 = 57;

/// In place of a width that is known at compile time: any. With a constant, all shifts and masks
/// are constants.
pub(crate) const ANY: u32 = 0;

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

/// The lowest `bits` bits.
const fn mask(bits: u32) -> u64 {
    u64::MAX >> (64 - bits)
}

/// 1 in every slot of a bucket.
const fn ones(bits: u32) -> u128 {
    1 | 1 << bits | 1 << (2 * bits) | 1 << (3 * bits)
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

    /// Bits in a slot, as a constant where `B` is not [`ANY`].
    pub(super) const fn width<const B: u32>(&self) -> u32 {
        if B == ANY { self.bits } else { B }
    }

    /// The same table, to be read.
    pub(super) fn view(&self) -> Slots<&[u64]> {
        Slots { words: self.words(), buckets: self.buckets, bits: self.bits }
    }

    fn word(&self, index: usize) -> u64 {
        self.words().get(index).copied().unwrap_or(0)
    }

    /// Word and bit where a bucket starts.
    #[inline]
    const fn start<const B: u32>(&self, bucket: u64) -> (usize, u32) {
        let start = bucket * (SLOTS * self.width::<B>()) as u64;
        ((start / 64) as usize, (start % 64) as u32)
    }

    /// The bits from a position on, 57 or more: one load where words lie in memory with their low
    /// byte first.
    #[inline]
    fn bits_from(&self, position: u64) -> u64 {
        if cfg!(target_endian = "little") {
            let (byte, shift) = ((position / 8) as usize, position % 8);
            let bytes =
                cast_slice::<u64, u8>(self.words()).get(byte..).and_then(<[u8]>::first_chunk);
            bytes.map_or(0, |bytes| u64::from_le_bytes(*bytes)) >> shift
        } else {
            let (word, shift) = ((position / 64) as usize, position % 64);
            self.word(word) >> shift | self.word(word + 1) << 1 << (63 - shift)
        }
    }

    /// The two halves of a bucket of slots of up to [`MAX_HALVED`] bits, with what follows them.
    #[inline]
    pub(super) fn halves<const B: u32>(&self, bucket: u64) -> [u64; 2] {
        let bits = u64::from(self.width::<B>());
        let start = bucket * (u64::from(SLOTS) * bits);
        [self.bits_from(start), self.bits_from(start + 2 * bits)]
    }

    /// A bucket of slots of up to 16 bits.
    #[inline]
    pub(super) fn narrow<const B: u32>(&self, bucket: u64) -> u64 {
        let (word, shift) = self.start::<B>(bucket);
        let mut packed = self.word(word) >> shift;
        if !self.width::<B>().is_power_of_two() {
            packed |= self.word(word + 1) << 1 << (63 - shift);
        }
        packed & (u64::MAX >> (64 - SLOTS * self.width::<B>()))
    }

    /// A bucket of slots of any width.
    #[inline]
    pub(super) fn wide<const B: u32>(&self, bucket: u64) -> u128 {
        let (word, shift) = self.start::<B>(bucket);
        let low = u128::from(self.word(word)) | u128::from(self.word(word + 1)) << 64;
        let mut packed = low >> shift;
        if shift > 0 {
            packed |= u128::from(self.word(word + 2)) << (128 - shift);
        }
        packed & (u128::MAX >> (128 - SLOTS * self.width::<B>()))
    }

    /// The highest bit of each slot that holds the value.
    #[inline]
    fn marks<const B: u32>(&self, bucket: u64, value: u64) -> u128 {
        let bits = self.width::<B>();
        let ones = ones(bits);
        if bits <= MAX_NARROW {
            let ones = ones as u64;
            let (high, rest) = (ones << (bits - 1), (ones << (bits - 1)) - ones);
            let differ = self.narrow::<B>(bucket) ^ ones.wrapping_mul(value);
            u128::from(!(((differ & rest) + rest) | differ) & high)
        } else {
            let (high, rest) = (ones << (bits - 1), (ones << (bits - 1)) - ones);
            let differ = self.wide::<B>(bucket) ^ ones.wrapping_mul(value.into());
            !(((differ & rest) + rest) | differ) & high
        }
    }

    /// Whether a slot holds the value.
    #[inline]
    pub(crate) fn holds<const B: u32>(&self, bucket: u64, value: u64) -> bool {
        self.marks::<B>(bucket, value) != 0
    }

    /// How many slots hold the value.
    #[inline]
    pub(crate) fn count_of<const B: u32>(&self, bucket: u64, value: u64) -> u32 {
        self.marks::<B>(bucket, value).count_ones()
    }

    /// The first slot that holds the value; 0 finds the first free one.
    #[inline]
    pub(crate) fn first_of<const B: u32>(&self, bucket: u64, value: u64) -> Option<usize> {
        let marks = self.marks::<B>(bucket, value);
        // Three comparisons: a division by the width takes as long as the rest together.
        let position = marks.trailing_zeros();
        let slot = (1..SLOTS).map(|slot| usize::from(position >= slot * self.width::<B>())).sum();
        (marks != 0).then_some(slot)
    }

    /// One slot of a bucket.
    #[inline]
    pub(crate) fn slot<const B: u32>(&self, bucket: u64, slot: usize) -> u64 {
        let bits = self.width::<B>();
        let at = bucket * u64::from(SLOTS * bits) + slot as u64 * u64::from(bits);
        let packed = if bits <= MAX_IN_EIGHT_BYTES {
            self.bits_from(at)
        } else {
            let (word, shift) = ((at / 64) as usize, at % 64);
            // The bits of the second word, of which there are none if the shift is 0.
            self.word(word) >> shift | self.word(word + 1) << 1 << (63 - shift)
        };
        packed & mask(bits)
    }

    /// Starts to load the cache lines of a bucket: one, or two for one bucket in eight of 17-bit slots,
    /// one in five of 27-bit ones. A hint.
    #[inline]
    pub(crate) fn prefetch<const B: u32>(&self, bucket: u64) {
        let bits = self.width::<B>();
        let (first, shift) = self.start::<B>(bucket);
        prefetch(self.words(), first);
        if !bits.is_power_of_two() {
            prefetch(self.words(), first + ((shift + SLOTS * bits - 1) / 64) as usize);
        }
    }

    /// The four slots of a bucket.
    pub(crate) fn bucket(&self, bucket: u64) -> [u64; SLOTS as usize] {
        std::array::from_fn(|slot| self.slot::<ANY>(bucket, slot))
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
    /// The same table, for as long as a batch takes: where its words are is found out once.
    pub(super) fn lend(&mut self) -> Slots<&mut [u64]> {
        Slots { words: self.words.as_mut(), buckets: self.buckets, bits: self.bits }
    }

    /// Stores a slot. Buckets past the end change nothing.
    #[inline]
    pub(crate) fn set<const B: u32>(&mut self, bucket: u64, slot: usize, value: u64) {
        let bits = self.width::<B>();
        let start = bucket * u64::from(SLOTS * bits) + slot as u64 * u64::from(bits);
        let mask = mask(bits);
        if cfg!(target_endian = "little") && bits <= MAX_IN_EIGHT_BYTES {
            let (byte, shift) = ((start / 8) as usize, start % 8);
            let bytes = cast_slice_mut::<u64, u8>(self.words.as_mut()).get_mut(byte..);
            if let Some(bytes) = bytes.and_then(<[u8]>::first_chunk_mut) {
                let held = u64::from_le_bytes(*bytes);
                *bytes = (held & !(mask << shift) | (value & mask) << shift).to_le_bytes();
            }
            return;
        }
        let (word, shift) = ((start / 64) as usize, (start % 64) as u32);
        if bits.is_power_of_two() {
            if let Some(word) = self.words.as_mut().get_mut(word) {
                *word = *word & !(mask << shift) | (value & mask) << shift;
            }
        } else if let Some([low, high]) = self.words.as_mut().get_mut(word..word + 2) {
            let mut pair = u128::from(*low) | u128::from(*high) << 64;
            pair = pair & !(u128::from(mask) << shift) | u128::from(value & mask) << shift;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Against slots taken out one by one, for every width, each slot equal to its neighbours in
    /// all but one bit: what a carry from slot to slot would get wrong.
    #[test]
    fn marks_are_exact_for_every_width() {
        for bits in 4..=32 {
            let words = vec![0; words_for(9, bits).unwrap() as usize];
            let mut slots = Slots::new(words, 9, bits);
            let (top, most) = (1 << (bits - 1), mask(bits));
            let values = [0, 1, 2, top - 1, top, top + 1, most - 1, most];
            for round in 0..values.len().pow(4) {
                let bucket = round as u64 % 9;
                for slot in 0..4 {
                    let value = values[round / values.len().pow(slot) % values.len()];
                    slots.set::<ANY>(bucket, slot as usize, value);
                }
                let held = slots.bucket(bucket);
                for value in values {
                    let equal = held.iter().filter(|&&slot| slot == value).count();
                    let first = held.iter().position(|&slot| slot == value);
                    assert_eq!(
                        slots.count_of::<ANY>(bucket, value) as usize,
                        equal,
                        "{bits} {held:x?}"
                    );
                    assert_eq!(slots.first_of::<ANY>(bucket, value), first, "{bits} {held:x?}");
                    assert_eq!(slots.holds::<ANY>(bucket, value), equal > 0, "{bits} {held:x?}");
                }
            }
        }
    }

    /// Neighbours of a bucket are left alone, and every slot comes back from where it was put.
    #[test]
    fn slots_come_back_for_every_width() {
        for bits in 4..=64 {
            let words = vec![0; words_for(40, bits).unwrap() as usize];
            let mut slots = Slots::new(words, 40, bits);
            let value = |bucket: u64, slot: usize| {
                (bucket * 4 + slot as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - bits)
            };
            for bucket in (0..40).rev() {
                (0..4).for_each(|slot| slots.set::<ANY>(bucket, slot, value(bucket, slot)));
            }
            for bucket in 0..40 {
                let expected = std::array::from_fn(|slot| value(bucket, slot));
                assert_eq!(slots.bucket(bucket), expected, "{bits} bits");
            }
            assert!(slots.padding_is_clear());
        }
    }
}
