//! Epoch numbers, the tags that stand for them, and what is counted under each.
//!
//! ```text
//!  epoch     … 3   4   5   6   7 │ 8   9  …          E = 3, tags of 2 bits
//!  tag       … 3   0   1   2   3 │ 0   1
//!                  ▲   └───┬───┘   ▲
//!              expired   live     next: takes the tag of epoch 4, of which nothing may be left
//! ```

use crate::filter::InvalidParts;
use crate::math::retiring::{MAX_EPOCHS, tag_bits};
use crate::store::LiveTags;

/// The highest epoch that a stored filter may name. Counting on from it never overflows.
const MAX_EPOCH: u64 = 1 << 62;

/// What a filter knows of its epochs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Epochs {
    /// Epochs that can be live at once (E), fewer than there are tags.
    pub(crate) most: u32,
    /// The epoch being filled.
    pub(crate) current: u64,
    /// The oldest live one.
    pub(crate) oldest: u64,
    /// Buckets from the front that hold nothing of the tag of the next epoch.
    pub(crate) swept: u64,
    /// Slots in use by tag, those of expired epochs included.
    pub(crate) counts: Vec<u64>,
}

impl Epochs {
    /// Before the first tuple.
    pub(super) fn new(most: u32) -> Self {
        let tags = 1 << tag_bits(most);
        Self { most, current: 0, oldest: 0, swept: 0, counts: vec![0; tags] }
    }

    /// Checks what can be checked without the slots.
    pub(super) fn check(&self, tag_bits: u32, buckets: u64) -> Result<(), InvalidParts> {
        let most = (1u32 << tag_bits) - 1;
        InvalidParts::unless(
            (1..=most.min(MAX_EPOCHS)).contains(&self.most),
            "number of live epochs",
            format_args!("1 to {most}"),
            self.most,
        )?;
        let tags = 1 << tag_bits;
        InvalidParts::unless(
            self.counts.len() == tags,
            "number of counts",
            tags,
            self.counts.len(),
        )?;
        InvalidParts::unless(
            self.current <= MAX_EPOCH,
            "current epoch",
            format_args!("0 to {MAX_EPOCH}"),
            self.current,
        )?;
        let least = (self.current + 1).saturating_sub(self.most.into());
        InvalidParts::unless(
            (least..=self.current).contains(&self.oldest),
            "oldest live epoch",
            format_args!("{least} to {}", self.current),
            self.oldest,
        )?;
        InvalidParts::unless(
            self.swept <= buckets,
            "number of swept buckets",
            format_args!("0 to {buckets}"),
            self.swept,
        )
    }

    /// The tag of an epoch.
    #[inline]
    const fn tag(&self, epoch: u64) -> u64 {
        // There are 2^t tags.
        epoch & (self.counts.len() as u64 - 1)
    }

    /// The tag of the epoch being filled.
    #[inline]
    pub(super) const fn newest(&self) -> u64 {
        self.tag(self.current)
    }

    /// The tag that the next epoch will take.
    #[inline]
    pub(super) const fn doomed(&self) -> u64 {
        self.tag(self.current + 1)
    }

    #[inline]
    pub(super) const fn live(&self) -> LiveTags {
        LiveTags { newest: self.newest(), live: self.current - self.oldest + 1 }
    }

    /// Whether the epoch of a tag is live.
    #[inline]
    pub(super) const fn is_live(&self, tag: u64) -> bool {
        self.tag(self.current.wrapping_sub(tag)) <= self.current - self.oldest
    }

    /// Slots in use under a tag.
    #[inline]
    pub(super) fn count(&self, tag: u64) -> u64 {
        self.counts.get(tag as usize).copied().unwrap_or(0)
    }

    /// One more slot under a tag.
    #[inline]
    pub(super) fn add(&mut self, tag: u64) {
        if let Some(count) = self.counts.get_mut(tag as usize) {
            *count += 1;
        }
    }

    /// One slot less under a tag.
    #[inline]
    pub(super) fn subtract(&mut self, tag: u64) {
        if let Some(count) = self.counts.get_mut(tag as usize) {
            *count = count.saturating_sub(1);
        }
    }

    /// What is left under a tag.
    pub(super) fn set_count(&mut self, tag: u64, count: u64) {
        if let Some(counted) = self.counts.get_mut(tag as usize) {
            *counted = count;
        }
    }

    /// Slots of live epochs. O(epochs).
    pub(super) fn len(&self) -> u64 {
        (self.oldest..=self.current).map(|epoch| self.count(self.tag(epoch))).sum()
    }

    /// Whether no slot of so many buckets has the tag of the next epoch.
    pub(super) fn is_swept(&self, buckets: u64) -> bool {
        self.swept >= buckets || self.count(self.doomed()) == 0
    }

    /// Begins the next epoch, whose tag no slot may have; the oldest retires if it must. Gives the
    /// number of tuples retired.
    pub(super) fn advance(&mut self) -> u64 {
        self.current += 1;
        self.swept = 0;
        if self.current - self.oldest < self.most.into() { 0 } else { self.retire_oldest() }
    }

    /// Current and oldest epoch and the progress of the sweep: all that [`advance`](Self::advance)
    /// changes.
    pub(super) const fn marks(&self) -> [u64; 3] {
        [self.current, self.oldest, self.swept]
    }

    pub(super) const fn set_marks(&mut self, marks: [u64; 3]) {
        [self.current, self.oldest, self.swept] = marks;
    }

    /// Ends the life of the oldest live epoch, which is not the current one.
    pub(super) fn retire_oldest(&mut self) -> u64 {
        let retired = self.count(self.tag(self.oldest));
        self.oldest += 1;
        retired
    }
}
