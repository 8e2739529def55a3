//! The channels of a guard.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;

use super::channel::Channel;
use super::{ChannelKind, Evidence, Position};

/// Two intervals of a channel are never forgotten, and a jump makes one that is filled next.
pub(super) const MIN_INTERVALS: usize = 4;

/// Which positions were processed, channel by channel.
///
/// What it holds per channel is bounded by the number of intervals, whatever the length of the log:
/// 16 bytes each when saved, about three times that in memory.
#[derive(Clone)]
pub(in crate::replay) struct Positions {
    pub(super) default_kind: ChannelKind,
    pub(super) max_intervals: usize,
    /// In the order of their first mention.
    channels: Vec<Channel>,
    index: BTreeMap<u32, usize>,
    /// The channel of the last change: tuples of one channel come in runs.
    last: usize,
}

impl Positions {
    /// Knows nothing. Channels are of the default kind unless told otherwise, and keep up to
    /// `max_intervals` intervals, 4 at least: beyond that the lowest are forgotten, and their
    /// positions are `Unknown` from then on.
    pub(in crate::replay) fn new(default_kind: ChannelKind, max_intervals: usize) -> Self {
        Self {
            default_kind,
            max_intervals: max_intervals.max(MIN_INTERVALS),
            channels: Vec::new(),
            index: BTreeMap::new(),
            last: 0,
        }
    }

    /// Says what the positions of a channel promise. An unordered channel forgets what it had.
    pub(in crate::replay) fn set_kind(&mut self, channel: u32, kind: ChannelKind) {
        self.channel_mut(channel).set_kind(kind);
    }

    /// Declares the first position of a channel's log, from which the watermark counts.
    pub(in crate::replay) fn start(&mut self, channel: u32, sequence: u64) {
        self.channel_mut(channel).start(sequence);
    }

    /// Records that a tuple was processed. O(1) in order, O(log intervals) after a jump.
    #[inline]
    pub(in crate::replay) fn processed(&mut self, position: Position) {
        let max_intervals = self.max_intervals;
        self.channel_mut(position.channel).processed(position.sequence, max_intervals);
    }

    /// Records that a tuple has arrived, before it is processed.
    #[inline]
    pub(in crate::replay) fn seen(&mut self, position: Position) {
        self.channel_mut(position.channel).seen(position.sequence);
    }

    /// Upstream has confirmed that nothing of the channel up to here is ever sent again.
    pub(in crate::replay) fn truncated(&mut self, position: Position) {
        let max_intervals = self.max_intervals;
        self.channel_mut(position.channel).truncated(position.sequence, max_intervals);
    }

    /// Whatever else was processed of the channel up to here is too old to be known.
    pub(in crate::replay) fn expired(&mut self, position: Position) {
        self.channel_mut(position.channel).expired(position.sequence);
    }

    /// Tuples of the channel up to here were processed whose positions nobody knows: what is not known
    /// to be processed is not known to be new either.
    pub(in crate::replay) fn doubtful(&mut self, position: Position) {
        self.channel_mut(position.channel).doubtful(position.sequence);
    }

    /// What a position tells about its tuple. O(1) where tuples come in order.
    #[inline]
    pub(in crate::replay) fn evidence(&self, position: Position) -> Evidence {
        let channel = self.channel(position.channel);
        channel.map_or(Evidence::Unknown, |channel| channel.evidence(position.sequence))
    }

    /// The position up to which everything from the start of the channel's log is processed: what a
    /// cumulative acknowledgement may name. `None` if that is nothing, or if the start is not known.
    pub(in crate::replay) fn watermark(&self, channel: u32) -> Option<u64> {
        self.channel(channel)?.watermark()
    }

    /// The kind of a channel.
    pub(in crate::replay) fn kind(&self, channel: u32) -> ChannelKind {
        self.channel(channel).map_or(self.default_kind, |channel| channel.kind)
    }

    /// The position through which upstream has confirmed that it truncated a channel's log.
    pub(in crate::replay) fn horizon(&self, channel: u32) -> Option<u64> {
        self.channel(channel)?.truncated
    }

    /// The highest position that was processed, seen or truncated.
    pub(in crate::replay) fn highest(&self, channel: u32) -> Option<u64> {
        self.channel(channel)?.highest
    }

    /// Positions up to the highest that are not known to be processed, ascending. In a channel with
    /// holes they need not exist.
    pub(in crate::replay) fn pending_gaps(
        &self,
        channel: u32,
    ) -> impl Iterator<Item = RangeInclusive<u64>> {
        self.channel(channel).into_iter().flat_map(Channel::pending_gaps)
    }

    /// The channels that were mentioned, ascending.
    pub(in crate::replay) fn channels(&self) -> impl Iterator<Item = u32> {
        self.index.keys().copied()
    }

    /// Intervals of all channels: what the size depends on.
    pub(in crate::replay) fn interval_count(&self) -> usize {
        self.channels.iter().map(|channel| channel.processed.count()).sum()
    }

    /// Takes in what another state knows, as if both had been one: a position is processed if it is in
    /// one of them, and forgotten or expired if it is in one of them and processed in none. A channel
    /// that the two take for different kinds is of the weaker one. The limit stays.
    pub(in crate::replay) fn merge(&mut self, other: &Self) {
        let max_intervals = self.max_intervals;
        for theirs in &other.channels {
            if self.channel(theirs.id).is_none() {
                self.channel_mut(theirs.id).set_kind(theirs.kind);
            }
            self.channel_mut(theirs.id).merge(theirs, max_intervals);
        }
    }

    pub(super) fn channels_in_order(&self) -> impl ExactSizeIterator<Item = &Channel> {
        self.index.values().map(|&at| &self.channels[at])
    }

    #[inline]
    pub(super) fn channel(&self, id: u32) -> Option<&Channel> {
        match self.channels.get(self.last) {
            Some(last) if last.id == id => Some(last),
            _ => self.index.get(&id).map(|&at| &self.channels[at]),
        }
    }

    /// The channel, made if this is its first mention.
    #[inline]
    pub(super) fn channel_mut(&mut self, id: u32) -> &mut Channel {
        if self.channels.get(self.last).is_none_or(|last| last.id != id) {
            self.last = *self.index.entry(id).or_insert_with(|| {
                self.channels.push(Channel::new(id, self.default_kind));
                self.channels.len() - 1
            });
        }
        &mut self.channels[self.last]
    }
}

impl fmt::Debug for Positions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map()
            .entries(self.channels_in_order().map(|channel| (channel.id, channel)))
            .finish()
    }
}
