//! The retiring cuckoo filter: a cuckoo table whose slots know in which epoch they were filled.
//!
//! ```text
//!  slot       ┌─────┬─────────────┐       live epochs    5  6  7     (7 is being filled)
//!             │ tag │ fingerprint │       a slot of 4    is free, and matches nothing
//!             └─────┴─────────────┘       a slot of 5    matches, until 5 retires
//!
//!  bucket i₁  ┌─ 6·3f ─┬─ 4·91 ─┬─ 7·0a ─┬─ 5·77 ─┐      buckets and fingerprints as those of
//!  bucket i₂  ├─ 5·c4 ─┼─ 0 ────┼─ 6·1e ─┼─ 4·c4 ─┤      a CuckooFilter
//!             └────────┴────────┴────────┴────────┘
//! ```
//!
//! **Retiring** an epoch moves a mark: its slots are then free, wherever they are, without being
//! looked at. **Inserting** looks into two cache lines: a live slot of the fingerprint is a hit, and
//! otherwise the first free slot is overwritten, empty or expired, after the moves that a cuckoo table
//! makes for one. **A fingerprint is stored once** in its two buckets as long as it is live, so copies
//! never fill them up, every slot is a distinct false positive, and the rate is 8α/(2^f − 1) exactly.
//!
//! **Sharing.** A tuple that is a false positive and passes all the same, since a store of all ids
//! knows better, has no slot of its own: it relies on that of an older tuple, and would be forgotten
//! with it. So whoever lets it pass calls [`renew`](RetiringCuckooFilter::renew), which moves the slot
//! to the current epoch. And since slots are shared, nothing can be removed: there is no
//! [`Remove`](crate::Remove).
//!
//! **Tags** come round again after 2^t epochs, more than can be live. While an epoch is filled, each
//! insert sweeps a few buckets for slots of the tag that comes next; after as many inserts as an epoch
//! is planned to have, the table has been swept once. An epoch that is to end sooner has the rest swept,
//! unless nothing is left of that tag, which is counted; in a large table it goes on until that is done,
//! so that no call takes long.
//!
//! Of two live epochs or more, E, one is being filled, so that a window by count remembers the last
//! (E − 1)/E of its capacity. At 0.1 % and 15 epochs that is 17 bits a slot, of which 95 % are used:
//! 19.2 bits a tuple. A ring of Bloom filters of the same slack takes 32.

mod admit;
mod epochs;
mod plan;

use super::buckets::{Home, Table, by_width, contains, contains_all, other_bucket, prefetch};
use super::builder::Builder;
use super::{InvalidParts, Settings};
use crate::hash::{HashError, KeyHash, SecretKey, Seed};
use crate::math::cuckoo::SLOTS_PER_BUCKET;
use crate::math::retiring::{
    MAX_EPOCHS, MAX_SLOT_BITS, epoch_len, guaranteed, min_fingerprint_bits, rate_at_load, tag_bits,
};
use crate::membership::{BatchError, Membership, Stats, Unlock, check_lengths};
use crate::store::{TaggedSlots, Words, words_for};

pub(crate) use epochs::Epochs;
pub use plan::Advance;
pub(crate) use plan::OnHit;

/// A cuckoo filter that forgets by epoch: the window of a stream.
///
/// Bits per guaranteed tuple at 15 epochs: 15.8 at 1 % (which keeps 0.75 %), 19.2 at 0.1 %, 26 at
/// 2⁻¹⁶, 30.5 at 10⁻⁶, 41.8 at 10⁻⁹. A question touches two cache lines; retiring an epoch of any
/// size takes half a millisecond at most, and mostly nanoseconds. It cannot be merged, and nothing can be removed from it but whole epochs.
///
/// `capacity` is the number of tuples that are live at once, at most. [`guaranteed`](Self::guaranteed)
/// of them are the last ones for sure, if epochs advance by count; see
/// [`Builder::window`](Builder::window).
///
/// [`insert_hash`](crate::Insert::insert_hash) keeps one copy of a key, as
/// [`insert_unique_hash`](crate::Insert::insert_unique_hash) does.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let builder = RetiringCuckooFilter::builder().capacity(10_000).false_positive_rate(0.001);
/// let mut filter = builder.epochs(3).build()?;
/// assert_eq!(filter.check_and_insert("order 17")?, Seen::Never);
/// assert_eq!(filter.check_and_insert("order 17")?, Seen::Maybe);
///
/// assert_eq!(filter.advance_epoch(), 1);
/// assert!(filter.contains("order 17")?);
/// assert_eq!(filter.retire_through(0), 1); // all of epoch 0 was acknowledged
/// assert!(!filter.contains("order 17")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct RetiringCuckooFilter<S = Words> {
    /// Their `len` is the number of slots of live epochs.
    settings: Settings,
    slots: TaggedSlots<S>,
    epochs: Epochs,
    advance: Advance,
    on_hit: OnHit,
    pace: Pace,
}

/// How an epoch goes on, as planned: it follows from the capacity, the epochs and the buckets.
#[derive(Clone, Copy, Debug)]
struct Pace {
    /// Tuples of an epoch.
    epoch_len: u64,
    /// After so many of them, a power of two, so many buckets are swept.
    inserts: u64,
    buckets: u64,
}

impl Pace {
    /// A sweep of a few buckets at a time costs twice as much; in a short epoch, too much would be
    /// left for its end.
    const INSERTS: u64 = 16;
    const LONG: u64 = 256;

    fn new(capacity: u64, epochs: u32, buckets: u64) -> Self {
        let epoch_len = epoch_len(capacity, epochs).max(1);
        let inserts = if epoch_len < Self::LONG { 1 } else { Self::INSERTS };
        Self { epoch_len, inserts, buckets: buckets.div_ceil(epoch_len).saturating_mul(inserts) }
    }
}

impl RetiringCuckooFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl<S> RetiringCuckooFilter<S> {
    /// The epoch that is being filled; the first one is 0.
    #[must_use]
    pub const fn current_epoch(&self) -> u64 {
        self.epochs.current
    }

    /// The oldest epoch that has not retired.
    #[must_use]
    pub const fn oldest_epoch(&self) -> u64 {
        self.epochs.oldest
    }

    /// Epochs that can be live at once (E).
    #[must_use]
    pub const fn epochs(&self) -> u32 {
        self.epochs.most
    }

    /// Tuples that are remembered at least, where epochs advance by count: a tuple is found for so
    /// many first sightings after its own. Where they advance by call, it is what E − 1 epochs of
    /// equal length hold.
    #[must_use]
    pub fn guaranteed(&self) -> u64 {
        guaranteed(self.settings.capacity, self.epochs.most)
    }

    /// When the next epoch begins.
    #[must_use]
    pub const fn advances(&self) -> Advance {
        self.advance
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn epochs_state(&self) -> &Epochs {
        &self.epochs
    }

    pub(crate) const fn on_hit(&self) -> OnHit {
        self.on_hit
    }
}

impl<S: AsRef<[u64]>> RetiringCuckooFilter<S> {
    /// Bits in a fingerprint (f).
    #[must_use]
    pub const fn fingerprint_bits(&self) -> u32 {
        self.slots.value_bits()
    }

    /// Bits in the tag of a slot (t).
    #[must_use]
    pub const fn tag_bits(&self) -> u32 {
        self.slots.tag_bits()
    }

    /// Buckets of four slots, an even number.
    #[must_use]
    pub const fn buckets(&self) -> u64 {
        self.slots.buckets()
    }

    /// Live slots / slots.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        self.settings.len as f64 / (self.slots.buckets() * SLOTS_PER_BUCKET) as f64
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.slots.words()
    }

    /// Puts a filter together from stored parts, checking what can be checked in O(epochs).
    pub(crate) fn from_parts(
        settings: Settings,
        words: S,
        (fingerprint_bits, tag_bits): (u32, u32),
        buckets: u64,
        epochs: Epochs,
        (advance, on_hit): (Advance, OnHit),
    ) -> Result<Self, InvalidParts> {
        let most = self::tag_bits(MAX_EPOCHS);
        InvalidParts::unless(
            (1..=most).contains(&tag_bits),
            "bits in a tag",
            format_args!("1 to {most}"),
            tag_bits,
        )?;
        let (least, most) = (min_fingerprint_bits(tag_bits), MAX_SLOT_BITS - tag_bits);
        InvalidParts::unless(
            (least..=most).contains(&fingerprint_bits),
            "bits in a fingerprint",
            format_args!("{least} to {most}"),
            fingerprint_bits,
        )?;
        InvalidParts::unless(
            buckets > 0 && buckets.is_multiple_of(2),
            "number of buckets",
            "an even number, and not 0",
            buckets,
        )?;
        let bits = fingerprint_bits + tag_bits;
        let found = words.as_ref().len() as u64;
        let expected = words_for(buckets, bits);
        InvalidParts::unless(
            expected == Some(found),
            "number of words",
            expected.map_or_else(|| "fewer buckets".to_owned(), |words| words.to_string()),
            found,
        )?;
        epochs.check(tag_bits, buckets)?;
        // `words_for` gave a value, so four slots a bucket cannot overflow.
        let slots = buckets * SLOTS_PER_BUCKET;
        let total = epochs.counts.iter().try_fold(0u64, |sum, &count| sum.checked_add(count));
        let total = total.unwrap_or(u64::MAX);
        InvalidParts::unless(
            total <= slots,
            "number of keys",
            format_args!("0 to {slots}"),
            total,
        )?;
        let (len, live) = (settings.len, epochs.len());
        InvalidParts::unless(len == live, "number of live slots", live, len)?;
        let shared = advance == Advance::ByCall || settings.capacity >= epochs.most.into();
        let (most, capacity) = (epochs.most, settings.capacity);
        InvalidParts::unless(shared, "capacity", format_args!("{most} or more"), capacity)?;
        let slots = TaggedSlots::new(words, buckets, bits, tag_bits);
        Ok(Self::of_parts(settings, slots, epochs, (advance, on_hit)))
    }

    fn of_parts(
        settings: Settings,
        slots: TaggedSlots<S>,
        epochs: Epochs,
        (advance, on_hit): (Advance, OnHit),
    ) -> Self {
        let pace = Pace::new(settings.capacity, epochs.most, slots.buckets());
        Self { settings, slots, epochs, advance, on_hit, pace }
    }

    /// Compares what is stored about the slots with the slots. O(slots).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let mut counts = vec![0; self.epochs.counts.len()];
        for bucket in 0..self.slots.buckets() {
            let used = self.slots.bucket(bucket).into_iter().filter(|slot| slot.0 != 0);
            for (_, tag) in used {
                let behind = bucket < self.epochs.swept && tag == self.epochs.doomed();
                InvalidParts::unless(!behind, "swept bucket", "nothing of the next tag", tag)?;
                if let Some(count) = counts.get_mut(tag as usize) {
                    *count += 1;
                }
            }
        }
        for (stored, counted) in self.epochs.counts.iter().zip(counts) {
            let what = "number of slots under a tag";
            InvalidParts::unless(*stored == counted, what, stored, counted)?;
        }
        InvalidParts::unless(self.slots.padding_is_clear(), "padding after the slots", 0, "1 bits")
    }

    /// Bucket and slot of the fingerprint under a live tag.
    #[inline]
    fn find<const B: u32>(&self, home: &Home) -> Option<(u64, usize)> {
        let live = self.epochs.live();
        home.buckets.into_iter().find_map(|bucket| {
            let slot = self.slots.first_of::<B>(bucket, home.fingerprint, live)?;
            Some((bucket, slot))
        })
    }
}

impl<S> Unlock for RetiringCuckooFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Table for RetiringCuckooFilter<S> {
    fn words(&self) -> &[u64] {
        self.slots.words()
    }

    #[inline]
    fn home(&self, hash: KeyHash) -> Home {
        let mixed = hash.mix(self.settings.salt);
        Home::new(mixed, self.slots.buckets(), self.slots.value_bits())
    }

    #[inline]
    fn finds<const B: u32>(&self, home: &Home) -> bool {
        let live = self.epochs.live();
        let [first, second] = home.buckets;
        self.slots.holds::<B>(first, home.fingerprint, live)
            | self.slots.holds::<B>(second, home.fingerprint, live)
    }

    #[inline]
    fn load(&self) -> f64 {
        self.load_factor()
    }

    #[inline]
    fn first_free<const B: u32>(&self, bucket: u64) -> Option<usize> {
        self.slots.first_free::<B>(bucket, self.epochs.live())
    }

    #[inline]
    fn neighbour<const B: u32>(&self, bucket: u64, slot: usize) -> u64 {
        let (fingerprint, _) = self.slots.slot::<B>(bucket, slot);
        other_bucket(self.slots.buckets(), bucket, fingerprint)
    }

    #[inline]
    fn prefetch<const B: u32>(&self, bucket: u64) {
        self.slots.prefetch::<B>(bucket);
    }
}

impl<S: AsRef<[u64]>> Membership for RetiringCuckooFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        by_width!(self.slots.bits(), [16 17 27 32 64], contains(self, hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let (settings, on) = (self.settings.unkeyed(), (self.advance, self.on_hit));
        let view =
            RetiringCuckooFilter::of_parts(settings, self.slots.view(), self.epochs.clone(), on);
        by_width!(view.slots.bits(), [16 17 27 32 64], contains_all(&view, hashes, present));
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        by_width!(self.slots.bits(), [16 17 27 32 64], prefetch(self, hash));
    }

    fn false_positive_rate(&self) -> f64 {
        rate_at_load(self.slots.value_bits(), self.load_factor())
    }

    fn stats(&self) -> Stats {
        Stats {
            capacity: self.settings.capacity,
            len: self.settings.len,
            estimated_len: self.settings.len as f64,
            fill_ratio: self.load_factor(),
            false_positive_rate: self.false_positive_rate(),
            bit_len: self.words().len() as u64 * 64,
            saturated: 0,
        }
    }
}
