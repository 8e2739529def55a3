//! Slots of two fields: a value that is 0 where nothing is stored, and a tag.
//!
//! ```text
//!  17-bit slots, tags of 4 bits            live tags: `live` of them up to `newest`, in a ring
//!  ┌──────┬───────────────┐                        .  .  .
//!  │ tag  │ value         │                     .  e  f  0  .    newest = 1, live = 4: e f 0 1
//!  └──────┴───────────────┘                        .  1  .       the others are those of the past
//!    16‥13  12 ‥ 0
//! ```
//!
//! A slot is free if its value is 0 or its tag is not live, and is then overwritten as it stands.
//!
//! **Comparing.** All slots of a bucket at once, as in [`slots`](super::slots), and without a shift by
//! a number that is not known at compile time: on a processor without BMI2 that takes as long as three
//! other steps. For slots of b bits with T = 2^t tags, the answer is the highest bit of each slot:
//!
//! ```text
//!  ((slot ⊕ wanted) & value) + 2^(b−1) − 1     1 unless the values are equal
//!  tag' = (slot & tag) / 2                     from here on there is room above the tag
//!  tag' + T' − oldest'                mod T'   how much younger than the oldest live one, 0 to T − 1
//!        … + T' − live'                        1 if that is `live` or more
//! ```
//!
//! Slots of more than 32 bits, of which four do not fit into two words, take the same steps one by
//! one.

use std::ops::{Add, BitAnd, BitOr, BitXor, Mul, Not, Shl, Shr, Sub};

use super::slots::{MAX_HALVED, MAX_NARROW, MAX_WIDE, SLOTS, Slots};

/// The tags that are live.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LiveTags {
    /// The newest one.
    pub(crate) newest: u64,
    /// How many there are, the newest included: at least 1, and less than there are tags.
    pub(crate) live: u64,
}

/// Buckets of packed slots with tags, over words `S`.
#[derive(Clone, Debug)]
pub(crate) struct TaggedSlots<S> {
    slots: Slots<S>,
    fields: Fields<u128>,
}

/// One bit for each slot of a bucket: the highest of its `stride` bits, in each half.
#[derive(Clone, Copy)]
pub(crate) struct Marks {
    halves: [u64; 2],
    stride: u32,
}

impl Marks {
    /// From those of all four slots in one integer.
    #[inline]
    fn of_four<P: Packed>(bits: P, stride: u32) -> Self {
        let low: u128 = bits.into();
        let high: u128 = (bits >> stride >> stride).into();
        Self { halves: [low as u64 & (u64::MAX >> (64 - 2 * stride)), high as u64], stride }
    }

    #[inline]
    pub(crate) const fn any(self) -> bool {
        self.halves[0] | self.halves[1] != 0
    }

    /// All but the first one.
    #[inline]
    const fn without_first(self) -> Self {
        let [low, high] = self.halves;
        let halves =
            if low != 0 { [low & (low - 1), high] } else { [0, high & high.wrapping_sub(1)] };
        Self { halves, ..self }
    }

    /// The first slot that is marked.
    #[inline]
    pub(crate) const fn first(self) -> Option<usize> {
        let [low, high] = self.halves;
        let (slot, half) = if low != 0 { (0, low) } else { (2, high) };
        let second = half >> (self.stride - 1) & 1 == 0;
        if self.any() { Some(slot + second as usize) } else { None }
    }
}

/// The integers that hold a bucket or a slot.
trait Packed:
    Copy
    + From<u64>
    + Into<u128>
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Shl<u32, Output = Self>
    + Shr<u32, Output = Self>
    + BitAnd<Output = Self>
    + BitOr<Output = Self>
    + BitXor<Output = Self>
    + Not<Output = Self>
{
}

impl Packed for u64 {}
impl Packed for u128 {}

/// The arithmetic on the slots of `P`: one, two or four. The masks are made once: for a width that is
/// not known at compile time that takes longer than a question.
#[derive(Clone, Copy, Debug)]
struct Fields<P> {
    /// The lowest bit of every slot.
    ones: P,
    /// The highest bit of every slot.
    high: P,
    /// The bits of every value.
    values: P,
    /// The bits of every tag, one bit lower than they lie.
    tags: P,
    /// The lowest bit of each of those.
    units: P,
    value_bits: u32,
    tag_bits: u32,
}

impl Fields<u128> {
    const fn new(bits: u32, tag_bits: u32) -> Self {
        let ones =
            if bits <= MAX_WIDE { 1 | 1 << bits | 1 << (2 * bits) | 1 << (3 * bits) } else { 1 };
        let value_bits = bits - tag_bits;
        let units = ones << (value_bits - 1);
        Self {
            ones,
            high: ones << (bits - 1),
            values: ones * ((1 << value_bits) - 1),
            tags: units * ((1 << tag_bits) - 1),
            units,
            value_bits,
            tag_bits,
        }
    }

    /// For slots that lie in one word.
    #[inline]
    const fn in_a_word(self) -> Fields<u64> {
        self.within(u64::MAX)
    }

    /// For two slots of up to half a word.
    #[inline]
    const fn of_a_half(self, bits: u32) -> Fields<u64> {
        self.within((1 << bits << bits) - 1)
    }

    #[inline]
    const fn within(self, slots: u64) -> Fields<u64> {
        let Self { ones, high, values, tags, units, value_bits, tag_bits } = self;
        Fields {
            ones: ones as u64 & slots,
            high: high as u64 & slots,
            values: values as u64 & slots,
            tags: tags as u64 & slots,
            units: units as u64 & slots,
            value_bits,
            tag_bits,
        }
    }
}

// Each gives the highest bit of every slot, and leaves others as they fall.
impl<P: Packed> Fields<P> {
    /// 1 for each slot that holds another value, whatever its tag.
    #[inline]
    fn differ(self, packed: P, value: u64) -> P {
        let differ = (packed ^ (self.ones * P::from(value))) & self.values;
        differ + (self.high - self.ones)
    }

    /// 1 for each slot whose value is not 0.
    #[inline]
    fn used(self, packed: P) -> P {
        (packed & self.values) + (self.high - self.ones)
    }

    /// 1 for each slot whose tag is not live, whatever its value.
    #[inline]
    fn expired(self, packed: P, LiveTags { newest, live }: LiveTags) -> P {
        let tags = 1u64 << self.tag_bits;
        let oldest = (newest + 1 + tags - live) & (tags - 1);
        let above = ((packed >> 1) & self.tags | self.high) - self.units * P::from(oldest);
        (above & self.tags) + self.units * P::from(tags - live)
    }

    /// 1 for each slot of another tag, whatever its value.
    #[inline]
    fn elsewhere(self, packed: P, tag: u64) -> P {
        ((packed >> 1) & self.tags ^ (self.units * P::from(tag))) + self.tags
    }
}

/// Questions to the slots of an integer of either size.
trait Question<const N: usize>: Copy {
    fn ask<P: Packed>(self, fields: Fields<P>, packed: P) -> [P; N];
}

#[derive(Clone, Copy)]
struct Holds(u64, LiveTags);
#[derive(Clone, Copy)]
struct Free(LiveTags);
#[derive(Clone, Copy)]
struct OfTag(u64);
#[derive(Clone, Copy)]
struct HoldsOrFree(u64, LiveTags);

impl Question<1> for Holds {
    #[inline]
    fn ask<P: Packed>(self, fields: Fields<P>, packed: P) -> [P; 1] {
        [!(fields.differ(packed, self.0) | fields.expired(packed, self.1)) & fields.high]
    }
}

impl Question<1> for Free {
    #[inline]
    fn ask<P: Packed>(self, fields: Fields<P>, packed: P) -> [P; 1] {
        [(!fields.used(packed) | fields.expired(packed, self.0)) & fields.high]
    }
}

impl Question<1> for OfTag {
    #[inline]
    fn ask<P: Packed>(self, fields: Fields<P>, packed: P) -> [P; 1] {
        [fields.used(packed) & !fields.elsewhere(packed, self.0) & fields.high]
    }
}

impl Question<2> for HoldsOrFree {
    #[inline]
    fn ask<P: Packed>(self, fields: Fields<P>, packed: P) -> [P; 2] {
        let expired = fields.expired(packed, self.1);
        [
            !(fields.differ(packed, self.0) | expired) & fields.high,
            (!fields.used(packed) | expired) & fields.high,
        ]
    }
}

impl<S: AsRef<[u64]>> TaggedSlots<S> {
    /// A table over its words; the caller has made `words_for(buckets, bits)` of them, where a slot
    /// has `bits`, 64 at most, and `tag_bits` of them, not all, are the tag.
    pub(crate) const fn new(words: S, buckets: u64, bits: u32, tag_bits: u32) -> Self {
        Self { slots: Slots::new(words, buckets, bits), fields: Fields::new(bits, tag_bits) }
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.slots.words()
    }

    pub(crate) const fn buckets(&self) -> u64 {
        self.slots.buckets()
    }

    /// The same table, to be read: where its words are is found out once.
    pub(crate) fn view(&self) -> TaggedSlots<&[u64]> {
        TaggedSlots { slots: self.slots.view(), fields: self.fields }
    }

    /// Bits in a slot.
    pub(crate) const fn bits(&self) -> u32 {
        self.slots.bits()
    }

    pub(crate) const fn tag_bits(&self) -> u32 {
        self.fields.tag_bits
    }

    pub(crate) const fn value_bits(&self) -> u32 {
        self.fields.value_bits
    }

    #[inline(always)]
    #[expect(clippy::inline_always, reason = "a call takes as long as the answer")]
    fn ask<const B: u32, const N: usize>(
        &self,
        bucket: u64,
        question: impl Question<N>,
    ) -> [Marks; N] {
        let bits = self.slots.width::<B>();
        if bits <= MAX_NARROW {
            let packed = self.slots.narrow::<B>(bucket);
            let marks = question.ask(self.fields.in_a_word(), packed);
            marks.map(|marks| Marks::of_four(marks, bits))
        } else if bits <= MAX_HALVED {
            let (fields, [low, high]) =
                (self.fields.of_a_half(bits), self.slots.halves::<B>(bucket));
            let (low, high) = (question.ask(fields, low), question.ask(fields, high));
            std::array::from_fn(|i| Marks { halves: [low[i], high[i]], stride: bits })
        } else if bits <= MAX_WIDE {
            let packed = self.slots.wide::<B>(bucket);
            question.ask(self.fields, packed).map(|marks| Marks::of_four(marks, bits))
        } else {
            let fields = self.fields.in_a_word();
            let mark = |slot| question.ask(fields, self.slots.slot::<B>(bucket, slot));
            let slots = [mark(0), mark(1), mark(2), mark(3)];
            let mark = |slot: usize, i: usize| slots[slot][i] >> (bits - 1);
            std::array::from_fn(|i| Marks {
                halves: [mark(0, i) | mark(1, i) << 1, mark(2, i) | mark(3, i) << 1],
                stride: 1,
            })
        }
    }

    /// Whether a slot holds the value under a live tag.
    #[inline]
    pub(crate) fn holds<const B: u32>(&self, bucket: u64, value: u64, tags: LiveTags) -> bool {
        self.ask::<B, 1>(bucket, Holds(value, tags))[0].any()
    }

    /// The first slot that holds the value under a live tag.
    #[inline]
    pub(crate) fn first_of<const B: u32>(
        &self,
        bucket: u64,
        value: u64,
        tags: LiveTags,
    ) -> Option<usize> {
        self.ask::<B, 1>(bucket, Holds(value, tags))[0].first()
    }

    /// The first slot that is empty or whose tag is not live.
    #[inline]
    pub(crate) fn first_free<const B: u32>(&self, bucket: u64, tags: LiveTags) -> Option<usize> {
        self.ask::<B, 1>(bucket, Free(tags))[0].first()
    }

    /// Slots that hold the value under a live tag, and those that are free.
    #[inline]
    pub(crate) fn held_and_free<const B: u32>(
        &self,
        bucket: u64,
        value: u64,
        tags: LiveTags,
    ) -> [Marks; 2] {
        self.ask::<B, 2>(bucket, HoldsOrFree(value, tags))
    }

    /// Whether a slot that is not empty has this tag.
    #[inline]
    pub(crate) fn holds_tag<const B: u32>(&self, bucket: u64, tag: u64) -> bool {
        self.ask::<B, 1>(bucket, OfTag(tag))[0].any()
    }

    /// Value and tag of a slot.
    #[inline]
    pub(crate) fn slot<const B: u32>(&self, bucket: u64, slot: usize) -> (u64, u64) {
        let value_bits = self.fields.value_bits;
        let packed = self.slots.slot::<B>(bucket, slot);
        (packed & ((1 << value_bits) - 1), packed >> value_bits)
    }

    /// Starts to load the cache lines of a bucket. A hint.
    #[inline]
    pub(crate) fn prefetch<const B: u32>(&self, bucket: u64) {
        self.slots.prefetch::<B>(bucket);
    }

    /// Value and tag of the four slots of a bucket.
    pub(crate) fn bucket(&self, bucket: u64) -> [(u64, u64); SLOTS as usize] {
        std::array::from_fn(|slot| self.slot::<{ super::ANY }>(bucket, slot))
    }

    /// Whether every bit after the last bucket is 0.
    pub(crate) fn padding_is_clear(&self) -> bool {
        self.slots.padding_is_clear()
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> TaggedSlots<S> {
    /// The same table, to be changed.
    pub(crate) fn lend(&mut self) -> TaggedSlots<&mut [u64]> {
        TaggedSlots { slots: self.slots.lend(), fields: self.fields }
    }

    /// Stores value and tag.
    #[inline]
    pub(crate) fn set<const B: u32>(&mut self, bucket: u64, slot: usize, value: u64, tag: u64) {
        let value_bits = self.fields.value_bits;
        self.slots.set::<B>(bucket, slot, tag << value_bits | value);
    }

    /// Empties the slots of a bucket that have this tag, and says how many.
    #[inline]
    pub(crate) fn clear_tagged<const B: u32>(&mut self, bucket: u64, tag: u64) -> u64 {
        // Not asked anew after each one: reading what has just been written in another place waits.
        let [mut marks] = self.ask::<B, 1>(bucket, OfTag(tag));
        let mut cleared = 0;
        while let Some(slot) = marks.first() {
            self.set::<B>(bucket, slot, 0, 0);
            marks = marks.without_first();
            cleared += 1;
        }
        cleared
    }

    pub(crate) fn clear(&mut self) {
        self.slots.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::super::{ANY, words_for};
    use super::*;

    fn scrambled(index: u64) -> u64 {
        let z = index.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (z ^ z >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
    }

    /// Against slots taken out one by one, for every width and tag, with values and tags at the ends
    /// of their ranges: what a carry from slot to slot would get wrong.
    fn check<const B: u32>(bits: u32, tag_bits: u32) {
        const BUCKETS: u64 = 9;
        let words = vec![0; words_for(BUCKETS, bits).unwrap() as usize];
        let mut slots = TaggedSlots::new(words, BUCKETS, bits, tag_bits);
        let (most, tags) = ((1u64 << (bits - tag_bits)) - 1, 1u64 << tag_bits);
        let values = [0, 1, most / 2, most / 2 + 1, most - 1, most];
        for round in 0..60 {
            let pick = |salt: u64| scrambled(round * 64 + salt) >> 20;
            let bucket = round % BUCKETS;
            for slot in 0..4 {
                let value = values[pick(slot) as usize % values.len()];
                slots.set::<B>(bucket, slot as usize, value, pick(slot + 8) % tags);
            }
            let live = LiveTags { newest: pick(20) % tags, live: 1 + pick(21) % (tags - 1) };
            let held = slots.bucket(bucket);
            let is_live = |tag: u64| (live.newest + tags - tag) % tags < live.live;
            let first = |test: &dyn Fn(u64, u64) -> bool| {
                held.iter().position(|&(value, tag)| test(value, tag))
            };
            let what = format!("{bits} bits, tags of {tag_bits}, {live:?}: {held:x?}");
            for value in values.into_iter().filter(|&value| value != 0) {
                let expected = first(&|v, tag| v == value && is_live(tag));
                assert_eq!(slots.first_of::<B>(bucket, value, live), expected, "{what}");
                assert_eq!(slots.holds::<B>(bucket, value, live), expected.is_some(), "{what}");
            }
            let free = first(&|value, tag| value == 0 || !is_live(tag));
            let [held_at, free_at] = slots.held_and_free::<B>(bucket, most, live).map(Marks::first);
            assert_eq!(
                (held_at, free_at),
                (slots.first_of::<B>(bucket, most, live), free),
                "{what}"
            );
            assert_eq!(slots.first_free::<B>(bucket, live), free, "{what}");
            for tag in [0, 1, tags - 1, pick(9) % tags] {
                let is_tagged = |&(value, t): &(u64, u64)| value != 0 && t == tag;
                let tagged = held.iter().filter(|slot| is_tagged(slot)).count();
                assert_eq!(slots.holds_tag::<B>(bucket, tag), tagged > 0, "{what}");
                let mut cleared = slots.clone();
                assert_eq!(cleared.clear_tagged::<B>(bucket, tag), tagged as u64, "{what}");
                let rest = held.map(|slot| if is_tagged(&slot) { (0, 0) } else { slot });
                assert_eq!(cleared.bucket(bucket), rest, "{what}");
            }
        }
        assert!(slots.padding_is_clear());
    }

    #[test]
    fn questions_are_answered_as_slot_by_slot() {
        for tag_bits in 1..=8 {
            for bits in (tag_bits + 4).max(8)..=64 {
                check::<ANY>(bits, tag_bits);
            }
            check::<16>(16, tag_bits);
            check::<32>(32, tag_bits);
            check::<64>(64, tag_bits);
        }
    }
}
