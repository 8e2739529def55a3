//! What changes a filter: tuples that are admitted, epochs that end, and the sweep.

use super::{Advance, OnHit, RetiringCuckooFilter};
use crate::error::{Full, FullReason};
use crate::filter::buckets::{
    Home, Table, TableMut, by_width, free_slot, insert, insert_all, make_room,
};
use crate::hash::{Key, KeyHash, Salt};
use crate::membership::{BatchError, Insert, InsertError, Restart, Seen, check_lengths};

/// Buckets that a call sweeps to end an epoch early: a quarter of a millisecond, or twice that if every
/// slot is to be emptied.
const AT_ONCE: u64 = 1 << 15;

/// Buckets that are looked at before those found are emptied.
const STRETCH: usize = 64;

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
        by_width!(self.slots.bits(), [16 17 27 32 64], renew(self, hash))
    }

    /// Begins the next epoch and gives the number of the one that is being filled; if E epochs were
    /// live, the oldest retires.
    ///
    /// At most half a millisecond, whatever the size. The next epoch takes a tag of which nothing may
    /// be left, and inserts have swept the table for it once the epoch has its share of the capacity,
    /// capacity / E. An epoch that is to end sooner has the rest swept, but no more than 32,768 buckets
    /// a call: it goes on if that is not all, and the number given is still its own. Its tuples are
    /// then remembered longer than was asked for, never shorter; a later call ends it. Filters for up
    /// to 124,000 tuples never wait, nor does one that has not used all its tags yet.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    ///
    /// let builder = RetiringCuckooFilter::builder().capacity(1_000).false_positive_rate(0.01);
    /// let mut filter = builder.epochs(2).build()?;
    /// assert_eq!(filter.check_and_insert("order 17")?, Seen::Never);
    /// assert_eq!(filter.advance_epoch(), 1);
    /// assert!(filter.contains("order 17")?);
    /// assert_eq!(filter.advance_epoch(), 2); // epochs 1 and 2 are live
    /// assert!(!filter.contains("order 17")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn advance_epoch(&mut self) -> u64 {
        by_width!(self.slots.bits(), [16 17 27 32 64], sweep_at_once(self));
        if self.epochs.is_swept(self.slots.buckets()) {
            self.settings.len -= self.epochs.advance();
        }
        self.epochs.current
    }

    /// Retires every tuple of the epochs up to this one, since upstream will not send them again,
    /// and gives the number of slots that became free. At most half a millisecond, whatever the number
    /// of tuples.
    ///
    /// The current epoch, if it is among them, ends, and the next begins as by
    /// [`advance_epoch`](Self::advance_epoch); if it cannot end yet, its tuples stay remembered until a
    /// later call. Epochs that have not begun are not affected.
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

    /// Whether one more tuple belongs to the next epoch.
    #[inline]
    fn is_over(&self) -> bool {
        self.advance == Advance::ByCount
            && self.epochs.count(self.epochs.newest()) >= self.pace.epoch_len
    }

    /// Looks for slots of the tag that comes next in so many more buckets, and empties them.
    fn sweep<const B: u32>(&mut self, buckets: u64) {
        let tag = self.epochs.doomed();
        let mut left = self.epochs.count(tag);
        let end = self.epochs.swept.saturating_add(buckets).min(self.slots.buckets());
        let mut next = self.epochs.swept;
        // Which buckets have such slots cannot be foreseen: they are listed without a branch, and then
        // emptied.
        let mut found = [0; STRETCH];
        while left > 0 && next < end {
            let stretch = next..end.min(next + STRETCH as u64);
            next = stretch.end;
            let mut len = 0;
            for bucket in stretch {
                found[len % STRETCH] = bucket;
                len += usize::from(self.slots.holds_tag::<B>(bucket, tag));
            }
            for &bucket in &found[..len] {
                left = left.saturating_sub(self.slots.clear_tagged::<B>(bucket, tag));
                if left == 0 {
                    next = bucket + 1;
                    break;
                }
            }
        }
        self.epochs.set_count(tag, left);
        self.epochs.swept = next;
    }

    /// Puts the fingerprint into a slot that is its own or vacant, in the current epoch, and goes
    /// on with the sweep.
    #[inline]
    fn store<const B: u32>(&mut self, (bucket, slot): (u64, usize), fingerprint: u64) {
        let tag = self.epochs.newest();
        self.slots.set::<B>(bucket, slot, fingerprint, tag);
        self.epochs.add(tag);
        self.settings.len += 1;
        if self.epochs.count(tag) & (self.pace.inserts - 1) == 0 {
            self.sweep::<B>(self.pace.buckets);
        }
    }

    /// The one pass over a key's buckets.
    #[inline]
    fn admit<const B: u32>(&mut self, home: &Home, on_hit: OnHit) -> Result<Seen, Full> {
        let live = self.epochs.live();
        let [one, other] = home.buckets;
        let first = self.slots.held_and_free::<B>(one, home.fingerprint, live);
        let second = self.slots.held_and_free::<B>(other, home.fingerprint, live);
        if first[0].any() | second[0].any() {
            if on_hit == OnHit::Refresh
                && let Some(place) = self.find::<B>(home)
            {
                self.refresh::<B>(place, home.fingerprint);
            }
            return Ok(Seen::Maybe);
        }
        if !self.is_over() && self.settings.refusal().is_none() {
            let place = match (first[1].first(), second[1].first()) {
                (Some(slot), _) => Some((one, slot)),
                (None, Some(slot)) => Some((other, slot)),
                (None, None) => None,
            };
            let place = match place {
                Some((bucket, slot)) => {
                    self.vacate::<B>(bucket, slot);
                    Some((bucket, slot))
                }
                None => make_room::<B, _>(self, home),
            };
            let place = place.ok_or_else(|| self.settings.full(FullReason::Evictions))?;
            self.store::<B>(place, home.fingerprint);
            return Ok(Seen::Never);
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
            self.sweep::<B>(u64::MAX);
            self.settings.len -= self.epochs.advance();
        }
        // That may have retired the slot's epoch, and taken it from the number of live slots.
        self.settings.len -= u64::from(self.epochs.is_live(tag));
        self.epochs.subtract(tag);
        self.store::<B>((bucket, slot), fingerprint);
    }
}

/// What a call of `advance_epoch` sweeps.
fn sweep_at_once<const B: u32, S>(filter: &mut RetiringCuckooFilter<S>)
where
    S: AsRef<[u64]> + AsMut<[u64]>,
{
    filter.sweep::<B>(AT_ONCE);
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
        by_width!(self.slots.bits(), [16 17 27 32 64], insert(self, hash))
    }

    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        // One copy is all that is ever stored.
        self.insert_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        let (settings, on) = (self.settings.unkeyed(), (self.advance, self.on_hit));
        let (slots, epochs) = (self.slots.lend(), self.epochs.clone());
        let mut lent = RetiringCuckooFilter::of_parts(settings, slots, epochs, on);
        let done =
            by_width!(lent.slots.bits(), [16 17 27 32 64], insert_all(&mut lent, hashes, seen));
        (self.epochs, self.settings.len) = (lent.epochs, lent.settings.len);
        done
    }
}
