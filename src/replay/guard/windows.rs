//! The ids of the window: one retiring filter a key group, and exact room for what does not fit.

use std::collections::HashMap;

use crate::error::{BuildError, Full};
use crate::filter::{Advance, RetiringCuckooFilter};
use crate::hash::{KeyHash, Salt};
use crate::membership::{BatchError, Insert, Membership, Seen};
use crate::replay::GroupRange;

use super::ticket::InFlightId;

/// An id as the window, its log and its files know it: 64 bits of its hash.
///
/// Two ids of a group that share all 64 are one to the guard: n · 2⁻⁶⁴ a test for n tuples of a group,
/// which the builder adds to the rate.
pub(super) type IdDigest = u64;

/// The digest of an id. It depends on all 128 bits; those that chose the group are not used as such.
#[inline]
pub(super) fn digest(hash: KeyHash) -> IdDigest {
    const SALT: Salt = Salt::new(0x6861_7061_7820_6964);
    hash.mix(SALT).a
}

/// The hash under which filters know a digest.
#[inline]
fn in_filter(digest: IdDigest) -> KeyHash {
    KeyHash::from_halves(digest.rotate_left(32), digest)
}

/// An id of the window, with its group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Recorded {
    pub(super) digest: IdDigest,
    pub(super) group: u16,
}

impl From<InFlightId> for Recorded {
    #[inline]
    fn from(id: InFlightId) -> Self {
        Self { digest: digest(id.hash), group: id.group }
    }
}

/// The filters of the owned key groups, all in the same epoch.
#[derive(Clone, Debug)]
pub(super) struct Windows {
    groups: GroupRange,
    filters: Vec<RetiringCuckooFilter>,
    /// Tuples for which a filter had no room, and their epoch. Their outputs are durable, so they
    /// cannot be refused any more. At most as many as can be in flight.
    spilled: HashMap<Recorded, u64>,
    /// The epoch of the guard that is epoch 0 of the filters.
    first_epoch: u64,
    /// Scratch for inserts by batch.
    hashes: Vec<KeyHash>,
    seen: Vec<Seen>,
}

/// What one group's filter is made of.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WindowShape {
    pub(super) capacity: u64,
    pub(super) epochs: u32,
    pub(super) false_positive_rate: f64,
}

impl WindowShape {
    fn builder(&self) -> crate::filter::Builder<RetiringCuckooFilter> {
        let Self { capacity, epochs, false_positive_rate } = *self;
        RetiringCuckooFilter::builder()
            .capacity(capacity)
            .false_positive_rate(false_positive_rate)
            .epochs(epochs)
            .advance(Advance::ByCall)
            // What is inserted was processed just now and lives from now on.
            .refresh_on_hit()
    }

    /// Bytes of one group's filter.
    pub(super) fn byte_len(&self) -> Result<u64, BuildError> {
        Ok(self.builder().plan()?.byte_len())
    }
}

impl Windows {
    pub(super) fn new(groups: GroupRange, shape: &WindowShape) -> Result<Self, BuildError> {
        let builder = shape.builder();
        let filters: Result<Vec<_>, _> = groups.iter().map(|_| builder.build()).collect();
        Ok(Self {
            groups,
            filters: filters?,
            spilled: HashMap::new(),
            first_epoch: 0,
            hashes: Vec::new(),
            seen: Vec::new(),
        })
    }

    pub(super) const fn groups(&self) -> GroupRange {
        self.groups
    }

    #[inline]
    fn filter(&self, group: u16) -> Option<&RetiringCuckooFilter> {
        self.filters.get(usize::from(group.checked_sub(self.groups.first())?))
    }

    #[inline]
    fn filter_mut(&mut self, group: u16) -> Option<&mut RetiringCuckooFilter> {
        self.filters.get_mut(usize::from(group.checked_sub(self.groups.first())?))
    }

    /// Asks for the memory of a test.
    #[inline]
    pub(super) fn prefetch(&self, id: Recorded) {
        if let Some(filter) = self.filter(id.group) {
            filter.prefetch_hash(in_filter(id.digest));
        }
    }

    /// Whether the id may have been recorded in a live epoch; `false` is certain. An id of a group that
    /// is not here was not recorded here.
    #[inline]
    pub(super) fn contains(&self, id: Recorded) -> bool {
        self.filter(id.group).is_some_and(|filter| filter.contains_hash(in_filter(id.digest)))
            || (!self.spilled.is_empty() && self.spilled.contains_key(&id))
    }

    /// The rate of a test in a group now.
    #[inline]
    pub(super) fn rate(&self, group: u16) -> f64 {
        self.filter(group).map_or(0.0, Membership::false_positive_rate)
    }

    /// Whether a group's filter has as many live tuples as it was planned for.
    #[inline]
    pub(super) fn is_full(&self, group: u16) -> bool {
        self.filter(group).is_some_and(|filter| {
            let settings = filter.settings();
            settings.len >= settings.capacity
        })
    }

    /// Records an id in the current epoch.
    fn record(&mut self, id: Recorded) {
        let inserted = self
            .filter_mut(id.group)
            .map(|filter| filter.insert_hash(in_filter(id.digest)).map_err(|Full { .. }| id));
        if let Some(Err(id)) = inserted {
            self.spill(id);
        }
    }

    fn spill(&mut self, id: Recorded) {
        let epoch = self.epoch();
        self.spilled.insert(id, epoch);
    }

    /// Records many, in order.
    pub(super) fn record_all(&mut self, ids: &[Recorded]) {
        if !self.spilled.is_empty() {
            // There may be room for them now, and each is kept in one place.
            for id in ids {
                self.spilled.remove(id);
            }
        }
        // With several filters a batch of one of them is too short to be worth gathering.
        if self.filters.len() > 1 {
            const AHEAD: usize = 8;
            ids.iter().take(AHEAD).for_each(|id| self.prefetch(*id));
            for (i, id) in ids.iter().enumerate() {
                if let Some(later) = ids.get(i + AHEAD) {
                    self.prefetch(*later);
                }
                self.record(*id);
            }
            return;
        }
        let mut hashes = std::mem::take(&mut self.hashes);
        let mut seen = std::mem::take(&mut self.seen);
        hashes.clear();
        hashes.extend(ids.iter().map(|id| in_filter(id.digest)));
        seen.resize(ids.len(), Seen::Never);
        let mut done = 0;
        while let Some(filter) = self.filters.first_mut()
            && let Err(BatchError::Full { inserted, .. }) =
                filter.insert_batch(&hashes[done..], &mut seen[done..])
        {
            done += inserted;
            if let Some(id) = ids.get(done) {
                self.spill(*id);
            }
            done += 1;
        }
        self.hashes = hashes;
        self.seen = seen;
    }

    /// Counts epochs from this one on; to be called while nothing is recorded.
    pub(super) const fn begin_at(&mut self, epoch: u64) {
        self.first_epoch = epoch;
    }

    /// The epoch that all filters fill.
    pub(super) fn epoch(&self) -> u64 {
        self.first_epoch + self.filters.first().map_or(0, RetiringCuckooFilter::current_epoch)
    }

    /// Begins the next epoch in all groups. O(groups) if the epoch had its share of tuples; one that ends
    /// early has the rest of the tables swept, at the speed of memory.
    pub(super) fn advance(&mut self) {
        for filter in &mut self.filters {
            // A call ends the epoch when the sweep is done, which may take several; all groups must be
            // in one epoch.
            let ending = filter.current_epoch();
            while filter.advance_epoch() == ending {}
        }
        if let Some(filter) = self.filters.first() {
            let oldest = self.first_epoch + filter.oldest_epoch();
            self.spilled.retain(|_, epoch| *epoch >= oldest);
        }
    }

    /// Retires epochs up to this one.
    pub(super) fn retire_through(&mut self, epoch: u64) {
        let Some(of_filters) = epoch.checked_sub(self.first_epoch) else { return };
        for filter in &mut self.filters {
            filter.retire_through(of_filters);
        }
        self.spilled.retain(|_, of| *of > epoch);
    }

    /// Live tuples.
    pub(super) fn len(&self) -> u64 {
        let filters: u64 = self.filters.iter().map(|filter| filter.settings().len).sum();
        filters + self.spilled.len() as u64
    }

    /// Tuples kept exactly, for want of room in a filter.
    pub(super) fn spilled(&self) -> u64 {
        self.spilled.len() as u64
    }

    /// The fullest filter's live tuples over its capacity.
    pub(super) fn fullest(&self) -> f64 {
        let fill = |filter: &RetiringCuckooFilter| {
            filter.settings().len as f64 / filter.settings().capacity as f64
        };
        self.filters.iter().map(fill).fold(0.0, f64::max)
    }

    /// The highest rate of a group now.
    pub(super) fn highest_rate(&self) -> f64 {
        self.filters.iter().map(Membership::false_positive_rate).fold(0.0, f64::max)
    }

    /// Bytes of all filters.
    pub(super) fn byte_len(&self) -> u64 {
        self.filters.iter().map(|filter| filter.stats().bit_len / 8).sum()
    }
}
