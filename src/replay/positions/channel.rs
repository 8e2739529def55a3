//! What one channel knows about its positions.
//!
//! ```text
//!         expired      forgotten            highest
//!  ───────────┤            │                   │
//!       ■■■ · ■■ ·  ? ? ?  ┤ · · ■■■■ · · ■■■ ·│· · · ·
//!         └ kept while there is room           └ seen, not processed yet
//! ```
//!
//! Positions that are in the set were processed, whatever the marks say. Of the others those up to
//! `expired` are too old to tell, and those up to `forgotten` were dropped from the set to bound it.
//! A set of an endless log stays small because what is truncated joins one interval from 0.

use std::fmt;
use std::ops::RangeInclusive;

use super::intervals::Intervals;
use super::{ChannelKind, Evidence};

/// The evidence of one channel. Of an unordered one nothing is kept.
#[derive(Clone)]
pub(super) struct Channel {
    pub(super) id: u32,
    pub(super) kind: ChannelKind,
    /// The first position of the log, where that was declared.
    pub(super) start: Option<u64>,
    /// Upstream has confirmed that nothing up to here is ever sent again. All of it is in the set.
    pub(super) truncated: Option<u64>,
    /// What is not in the set up to here is too old to tell.
    pub(super) expired: Option<u64>,
    /// What is not in the set up to here may have been: it was dropped from it, or was told by its id.
    pub(super) forgotten: Option<u64>,
    /// The highest position that was processed, seen or truncated.
    pub(super) highest: Option<u64>,
    pub(super) processed: Intervals,
}

impl Channel {
    pub(super) fn new(id: u32, kind: ChannelKind) -> Self {
        Self {
            id,
            kind,
            start: None,
            truncated: None,
            expired: None,
            forgotten: None,
            highest: None,
            processed: Intervals::default(),
        }
    }

    pub(super) fn set_kind(&mut self, kind: ChannelKind) {
        self.kind = kind;
        if !self.keeps() {
            *self = Self::new(self.id, kind);
        }
    }

    /// Whether its positions mean anything.
    fn keeps(&self) -> bool {
        self.kind != ChannelKind::Unordered
    }

    pub(super) fn start(&mut self, sequence: u64) {
        if self.keeps() {
            self.start = Some(sequence);
        }
    }

    #[inline]
    pub(super) fn processed(&mut self, sequence: u64, max_intervals: usize) {
        if self.keeps() {
            self.highest = self.highest.max(Some(sequence));
            if !self.processed.extend(sequence) {
                self.processed.insert(sequence, sequence);
                self.forget(max_intervals);
            }
        }
    }

    #[inline]
    pub(super) fn seen(&mut self, sequence: u64) {
        if self.keeps() {
            self.highest = self.highest.max(Some(sequence));
        }
    }

    pub(super) fn truncated(&mut self, sequence: u64, max_intervals: usize) {
        if self.keeps() {
            self.seen(sequence);
            self.truncated = self.truncated.max(Some(sequence));
            self.processed.insert(0, sequence);
            self.forget(max_intervals);
        }
    }

    pub(super) fn expired(&mut self, sequence: u64) {
        if self.keeps() {
            self.expired = self.expired.max(Some(sequence));
        }
    }

    pub(super) fn doubtful(&mut self, sequence: u64) {
        if self.keeps() {
            self.seen(sequence);
            self.forgotten = self.forgotten.max(Some(sequence));
        }
    }

    #[inline]
    pub(super) fn evidence(&self, sequence: u64) -> Evidence {
        let position = Some(sequence);
        if !self.keeps() {
            return Evidence::Unknown;
        }
        if self.processed.contains(sequence) {
            return Evidence::Processed;
        }
        if position <= self.expired {
            return Evidence::Expired;
        }
        let is_new = position > self.forgotten
            && match (self.kind, self.highest) {
                // A hole is never filled later, so what is above all others was never sent before.
                (ChannelKind::Monotone, Some(highest)) => sequence > highest,
                (ChannelKind::Monotone, None) => self.begins_by(sequence),
                _ => self.begins_by(sequence) || self.processed.begin_by(sequence),
            };
        if is_new { Evidence::New } else { Evidence::Unknown }
    }

    /// Whether the log is known to reach down to a position.
    fn begins_by(&self, sequence: u64) -> bool {
        self.start.is_some_and(|start| start <= sequence)
    }

    /// Where what is known begins: the start of the log, or below it the lowest processed position.
    fn first_known(&self) -> Option<u64> {
        let lowest = self.processed.first();
        self.start.into_iter().chain(lowest).min()
    }

    /// The position up to which everything is processed, from the start of the log on. Without a start
    /// only truncation tells where the log begins: the first tuple to arrive need not be the first.
    pub(super) fn watermark(&self) -> Option<u64> {
        let anchors = self.start.into_iter().chain(self.truncated);
        anchors.filter_map(|anchor| Some(*self.processed.around(anchor)?.end())).max()
    }

    /// What is not known to be processed, from the first known position to the highest, ascending.
    pub(super) fn pending_gaps(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        let mut next = self.first_known();
        let behind = self.highest.map(|highest| (highest.checked_add(1), None));
        let intervals = self.processed.iter().map(|interval| {
            let (first, last) = interval.into_inner();
            (Some(first), last.checked_add(1))
        });
        intervals.chain(behind).filter_map(move |(first, after)| {
            let from = std::mem::replace(&mut next, after)?;
            // Nothing is behind the last position of all, and `from` would be there.
            let to = first.map_or(u64::MAX, |first| first.saturating_sub(1));
            (first != Some(from) && from <= to).then_some(from..=to)
        })
    }

    /// The mark up to which positions may be forgotten, without those at its end that are in the set
    /// (again): it is the same for all states that give the same evidence.
    pub(super) fn forgotten(&self) -> Option<u64> {
        let mark = self.forgotten?;
        match self.processed.around(mark) {
            Some(interval) => interval.start().checked_sub(1),
            None => Some(mark),
        }
    }

    /// Takes in what another state knows of the same channel.
    pub(super) fn merge(&mut self, other: &Self, max_intervals: usize) {
        self.set_kind(weaker(self.kind, other.kind));
        if !self.keeps() || !other.keeps() {
            return;
        }
        // The lower start claims less for the watermark.
        self.start = self.start.into_iter().chain(other.start).min();
        self.truncated = self.truncated.max(other.truncated);
        self.expired = self.expired.max(other.expired);
        self.forgotten = self.forgotten.max(other.forgotten);
        self.highest = self.highest.max(other.highest);
        for interval in other.processed.iter() {
            self.processed.insert(*interval.start(), *interval.end());
        }
        self.forget(max_intervals);
    }

    /// Drops the lowest intervals that are too many. What upstream may be told depends on those at the
    /// start of the log and at the truncation, so these two stay.
    fn forget(&mut self, max_intervals: usize) {
        while self.processed.count() > max_intervals {
            let anchors = [self.start, self.truncated];
            let keep = |interval: &RangeInclusive<u64>| {
                anchors.iter().flatten().any(|anchor| interval.contains(anchor))
            };
            let Some(last) = self.processed.remove_lowest(keep) else { break };
            self.forgotten = self.forgotten.max(Some(last));
        }
    }
}

/// The kind that promises less.
fn weaker(a: ChannelKind, b: ChannelKind) -> ChannelKind {
    let weakest_first = [ChannelKind::Unordered, ChannelKind::Monotone];
    weakest_first.into_iter().find(|kind| [a, b].contains(kind)).unwrap_or(ChannelKind::Dense)
}

/// What it answers by, rather than the parts it is made of.
impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel")
            .field("kind", &self.kind)
            .field("watermark", &self.watermark())
            .field("gaps", &self.pending_gaps().collect::<Vec<_>>())
            .field("highest", &self.highest)
            .field("truncated", &self.truncated)
            .field("expired", &self.expired)
            .field("forgotten", &self.forgotten())
            .finish_non_exhaustive()
    }
}
