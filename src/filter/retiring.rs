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
//! is planned to have, the table has been swept once. An epoch that ends sooner has the rest swept at
//! once, unless nothing is left of that tag, which is counted.
//!
//! Of two live epochs or more, E, one is being filled, so that a window by count remembers the last
//! (E − 1)/E of its capacity. At 0.1 % and 15 epochs that is 17 bits a slot, of which 95 % are used:
//! 19.2 bits a tuple. A ring of Bloom filters of the same slack takes 32.

mod epochs;
mod plan;

use super::buckets::{
    Home, Table, TableMut, by_width, contains, contains_all, free_slot, insert, insert_all,
    other_bucket,
};
use super::builder::Builder;
use super::{InvalidParts, Settings};
use crate::error::{Full, FullReason};
use crate::hash::{HashError, Key, KeyHash, Salt, SecretKey, Seed};
use crate::math::cuckoo::SLOTS_PER_BUCKET;
use crate::math::retiring::{
    MAX_EPOCHS, MAX_SLOT_BITS, epoch_len, guaranteed, min_fingerprint_bits, rate_at_load, tag_bits,
};
use crate::membership::{
    BatchError, Insert, InsertError, Membership, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::store::{ANY, TaggedSlots, Words, words_for};

pub(crate) use epochs::Epochs;
pub use plan::Advance;
pub(crate) use plan::OnHit;

/// A cuckoo filter that forgets by epoch: the window of a stream.
///
/// Bits per guaranteed tuple at 15 epochs: 15.8 at 1 % (which keeps 0.75 %), 19.2 at 0.1 %, 26 at
/// 2⁻¹⁶, 30.5 at 10⁻⁶, 41.8 at 10⁻⁹. Any operation touches two cache lines; retiring an epoch of any
/// size takes nanoseconds. It cannot be merged, and nothing can be removed from it but whole epochs.
///
/// `capacity` is the number of tuples that are live at once, at most. [`guaranteed`](Self::guaranteed)
/// of them are the last ones for sure, if epochs advance by count; see
/// [`Builder::window`](Builder::window).
///
/// [`insert_hash`](Insert::insert_hash) keeps one copy of a key, as
/// [`insert_unique_hash`](Insert::insert_unique_hash) does.
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
        Ok(Self { settings, slots, epochs, advance, on_hit })
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
        by_width!(self.slots.bits(), [16 32 64], contains(self, hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        by_width!(self.slots.bits(), [16 32 64], contains_all(self, hashes, present));
        Ok(())
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

impl<S: AsRef<[u64]> + AsMut<[u64]>> RetiringCuckooFilter<S> {
    /// Judges a tuple by its id, and remembers it: [`Seen::Never`] is certain within the live
    /// epochs. One pass over two cache lines. The same as `insert`.
    ///
    /// # Errors
    ///
    /// [`InsertError`] if the filter is full or cannot hash keys. Nothing has changed then.
    pub fn check_and_insert<K: Key + ?Sized>(&mut self, id: &K) -> Result<Seen, InsertError> {
        let hash = self.settings.seed.hash(id)?;
        Ok(self.insert_hash(hash)?)
    }

    /// Remembers a tuple from now on, seen before or not: to be called for one that was passed on
    /// in spite of [`Seen::Maybe`], because whoever knows all ids said that it is new. The slot that
    /// it shares with an older tuple moves to the current epoch; neither is forgotten early, and
    /// nothing is stored twice.
    ///
    /// # Errors
    ///
    /// As for [`check_and_insert`](Self::check_and_insert); not after a hit, which takes no slot.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    ///
    /// let builder = RetiringCuckooFilter::builder().capacity(1_000).false_positive_rate(0.01);
    /// let mut filter = builder.epochs(2).build()?;
    /// assert_eq!(filter.check_and_insert("order 17")?, Seen::Never);
    /// filter.advance_epoch();
    /// assert_eq!(filter.renew("order 17")?, Seen::Maybe);
    /// filter.advance_epoch(); // epoch 0 retires
    /// assert!(filter.contains("order 17")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn renew<K: Key + ?Sized>(&mut self, id: &K) -> Result<Seen, InsertError> {
        let hash = self.settings.seed.hash(id)?;
        Ok(self.renew_hash(hash)?)
    }

    /// As [`renew`](Self::renew), for an id that was hashed before.
    ///
    /// # Errors
    ///
    /// [`Full`] if the tuple was not there and cannot be added. Nothing has changed then.
    pub fn renew_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        by_width!(self.slots.bits(), [16 32 64], renew(self, hash))
    }

    /// Begins the next epoch and gives its number; if E epochs were live, the oldest retires.
    ///
    /// O(1) if the epoch had its share of the capacity, or if no slot has the tag that comes next.
    /// Otherwise the rest of the table is swept for such slots, once at the speed of memory.
    pub fn advance_epoch(&mut self) -> u64 {
        self.sweep::<ANY>(u64::MAX);
        self.settings.len -= self.epochs.advance();
        self.epochs.current
    }

    /// Retires every tuple of the epochs up to this one, since upstream will not send them again,
    /// and gives the number of slots that became free. O(1), whatever the number of tuples.
    ///
    /// The current epoch, if it is among them, ends, and the next begins as by
    /// [`advance_epoch`](Self::advance_epoch). Epochs that have not begun are not affected.
    pub fn retire_through(&mut self, epoch: u64) -> u64 {
        let before = self.settings.len;
        if epoch >= self.epochs.current {
            self.advance_epoch();
        }
        while self.epochs.oldest <= epoch && self.epochs.oldest < self.epochs.current {
            self.settings.len -= self.epochs.retire_oldest();
        }
        before - self.settings.len
    }

    /// Forgets every tuple. The epoch stays what it is. O(slots).
    pub fn clear(&mut self) {
        self.slots.clear();
        self.epochs.counts.fill(0);
        self.epochs.oldest = self.epochs.current;
        self.epochs.swept = 0;
        self.settings.len = 0;
    }

    /// Tuples of an epoch as planned.
    fn epoch_len(&self) -> u64 {
        epoch_len(self.settings.capacity, self.epochs.most).max(1)
    }

    /// Whether one more tuple belongs to the next epoch.
    #[inline]
    fn is_over(&self) -> bool {
        self.advance == Advance::ByCount
            && self.epochs.count(self.epochs.newest()) >= self.epoch_len()
    }

    /// Looks for slots of the tag that comes next in so many more buckets, and empties them.
    #[inline]
    fn sweep<const B: u32>(&mut self, buckets: u64) {
        let tag = self.epochs.doomed();
        let end = self.epochs.swept.saturating_add(buckets).min(self.slots.buckets());
        while self.epochs.swept < end && self.epochs.count(tag) > 0 {
            let bucket = self.epochs.swept;
            while let Some(slot) = self.slots.first_tagged::<B>(bucket, tag) {
                self.slots.set::<B>(bucket, slot, 0, 0);
                self.epochs.subtract(tag);
            }
            self.epochs.swept += 1;
        }
    }

    /// Puts the fingerprint into a slot that is its own or vacant, in the current epoch, and goes
    /// on with the sweep.
    #[inline]
    fn store<const B: u32>(&mut self, (bucket, slot): (u64, usize), fingerprint: u64) {
        let tag = self.epochs.newest();
        self.slots.set::<B>(bucket, slot, fingerprint, tag);
        self.epochs.add(tag);
        self.settings.len += 1;
        self.sweep::<B>(self.slots.buckets().div_ceil(self.epoch_len()));
    }

    /// The one pass over a key's buckets.
    #[inline]
    fn admit<const B: u32>(&mut self, home: &Home, on_hit: OnHit) -> Result<Seen, Full> {
        if let Some(place) = self.find::<B>(home) {
            if on_hit == OnHit::Refresh {
                self.refresh::<B>(place, home.fingerprint);
            }
            return Ok(Seen::Maybe);
        }
        // After a refusal the epoch has not ended either. (It has been swept when it is over.)
        let before = self.is_over().then(|| {
            self.sweep::<B>(u64::MAX);
            let before = (self.epochs.marks(), self.settings.len);
            self.settings.len -= self.epochs.advance();
            before
        });
        let place = match self.settings.refusal() {
            Some(full) => Err(full),
            None => free_slot::<B, _>(self, home)
                .ok_or_else(|| self.settings.full(FullReason::Evictions)),
        };
        match place {
            Ok(place) => self.store::<B>(place, home.fingerprint),
            Err(full) => {
                if let Some((marks, len)) = before {
                    self.epochs.set_marks(marks);
                    self.settings.len = len;
                }
                return Err(full);
            }
        }
        Ok(Seen::Never)
    }

    /// Moves a live slot to the current epoch, or to the next if this one has its share.
    fn refresh<const B: u32>(&mut self, (bucket, slot): (u64, usize), fingerprint: u64) {
        let (_, tag) = self.slots.slot::<B>(bucket, slot);
        if tag == self.epochs.newest() {
            return;
        }
        if self.is_over() {
            self.advance_epoch();
        }
        // That may have retired the slot's epoch, and taken it from the number of live slots.
        self.settings.len -= u64::from(self.epochs.is_live(tag));
        self.epochs.subtract(tag);
        self.store::<B>((bucket, slot), fingerprint);
    }
}

/// `renew_hash`.
fn renew<const B: u32, S>(filter: &mut RetiringCuckooFilter<S>, hash: KeyHash) -> Result<Seen, Full>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
{
    filter.admit::<B>(&filter.home(hash), OnHit::Refresh)
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> TableMut for RetiringCuckooFilter<S> {
    #[inline]
    fn insert_home<const B: u32>(&mut self, home: &Home) -> Result<Seen, Full> {
        self.admit::<B>(home, self.on_hit)
    }

    #[inline]
    fn vacate<const B: u32>(&mut self, bucket: u64, slot: usize) {
        let (fingerprint, tag) = self.slots.slot::<B>(bucket, slot);
        if fingerprint != 0 {
            self.epochs.subtract(tag);
        }
    }

    #[inline]
    fn copy<const B: u32>(&mut self, from: (u64, usize), to: (u64, usize)) {
        let (fingerprint, tag) = self.slots.slot::<B>(from.0, from.1);
        self.slots.set::<B>(to.0, to.1, fingerprint, tag);
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for RetiringCuckooFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for RetiringCuckooFilter<S> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        by_width!(self.slots.bits(), [16 32 64], insert(self, hash))
    }

    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        // One copy is all that is ever stored.
        self.insert_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        by_width!(self.slots.bits(), [16 32 64], insert_all(self, hashes, seen))
    }
}
