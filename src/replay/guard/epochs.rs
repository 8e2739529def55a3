//! What is known of each epoch beside its ids: where its positions end, when it ended, how late its
//! events are. It decides when the epoch may retire.

use std::collections::VecDeque;
use std::time::Duration;

use crate::replay::Position;

/// One epoch of the guard; all key groups advance together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Epoch {
    pub(super) number: u64,
    /// Tuples recorded.
    pub(super) len: u64,
    /// When its first tuple was recorded, by the monotonic clock.
    pub(super) began: Option<Duration>,
    /// When its newest tuple was. Not saved: it differs from `ended` only where an epoch should have
    /// ended and none could begin.
    pub(super) newest: Option<Duration>,
    /// When it ended.
    pub(super) ended: Option<Duration>,
    /// The highest event time in it.
    pub(super) event_time: Option<u64>,
    /// The highest position recorded by channel.
    pub(super) ends: Vec<Position>,
}

impl Epoch {
    pub(super) const fn new(number: u64) -> Self {
        Self {
            number,
            len: 0,
            began: None,
            newest: None,
            ended: None,
            event_time: None,
            ends: Vec::new(),
        }
    }

    /// A tuple was recorded.
    #[inline]
    pub(super) fn record(
        &mut self,
        now: Duration,
        position: Option<Position>,
        event_time: Option<u64>,
    ) {
        self.len += 1;
        self.began.get_or_insert(now);
        self.newest = self.newest.max(Some(now));
        self.event_time = self.event_time.max(event_time);
        if let Some(at) = position {
            self.reach(at);
        }
    }

    /// Its positions go at least as far as this.
    #[inline]
    pub(super) fn reach(&mut self, at: Position) {
        match self.ends.iter().position(|end| end.channel == at.channel) {
            Some(0) => self.ends[0].sequence = self.ends[0].sequence.max(at.sequence),
            // The channel used last is found first.
            Some(i) => {
                self.ends[i].sequence = self.ends[i].sequence.max(at.sequence);
                self.ends.swap(0, i);
            }
            None => self.ends.push(at),
        }
    }

    /// Brings number and times to those of a guard that is further.
    pub(super) fn shift(&mut self, epochs: u64, time: Duration) {
        self.number += epochs;
        for moment in [&mut self.began, &mut self.newest, &mut self.ended].into_iter().flatten() {
            *moment = moment.saturating_add(time);
        }
    }

    /// The union with an epoch of another part of the state.
    pub(super) fn merge(&mut self, other: &Self) {
        self.len += other.len;
        self.began = match (self.began, other.began) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        // The later end: nothing retires early.
        self.newest = self.newest.max(other.newest);
        self.ended = self.ended.max(other.ended);
        self.event_time = self.event_time.max(other.event_time);
        other.ends.iter().for_each(|end| self.reach(*end));
    }
}

/// The live epochs, oldest first, the last one being filled.
#[derive(Clone, Debug)]
pub(super) struct EpochList {
    ended: VecDeque<Epoch>,
    current: Epoch,
}

impl EpochList {
    pub(super) const fn new(current: Epoch) -> Self {
        Self { ended: VecDeque::new(), current }
    }

    pub(super) const fn current(&self) -> &Epoch {
        &self.current
    }

    pub(super) const fn current_mut(&mut self) -> &mut Epoch {
        &mut self.current
    }

    /// Live epochs, the current one included.
    pub(super) fn len(&self) -> u64 {
        self.ended.len() as u64 + 1
    }

    /// All of them, oldest first.
    pub(super) fn live(&self) -> impl Iterator<Item = &Epoch> {
        self.ended.iter().chain(std::iter::once(&self.current))
    }

    pub(super) fn live_mut(&mut self) -> impl Iterator<Item = &mut Epoch> {
        self.ended.iter_mut().chain(std::iter::once(&mut self.current))
    }

    pub(super) fn oldest(&self) -> &Epoch {
        self.ended.front().unwrap_or(&self.current)
    }

    /// Ends the current epoch at a time, or with its newest tuple if that is later, and begins the
    /// next.
    pub(super) fn advance(&mut self, end: Duration) {
        let next = Epoch::new(self.current.number + 1);
        let mut ended = std::mem::replace(&mut self.current, next);
        ended.ended = ended.newest.max(Some(end));
        self.ended.push_back(ended);
    }

    /// Takes the oldest ended epoch out if `may_retire` says so.
    pub(super) fn retire_if(&mut self, may_retire: impl FnOnce(&Epoch) -> bool) -> Option<Epoch> {
        self.ended.pop_front_if(|epoch| may_retire(epoch))
    }

    /// Puts epochs back as they were saved.
    pub(super) fn restore(ended: Vec<Epoch>, current: Epoch) -> Self {
        Self { ended: ended.into(), current }
    }
}

/// The causes for which epochs retire. Each that is given may do it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Retirement {
    /// Upstream has confirmed that it truncated its log past the epoch.
    pub(super) on_truncation: bool,
    /// So long after its end.
    pub(super) after: Option<Duration>,
    /// When the watermark is past its events by so much.
    pub(super) lateness: Option<u64>,
}

impl Retirement {
    pub(super) const fn is_never(&self) -> bool {
        !self.on_truncation && self.after.is_none() && self.lateness.is_none()
    }

    /// Whether upstream may not send anything of the epoch again.
    pub(super) fn truncated(&self, epoch: &Epoch, horizon: impl Fn(u32) -> Option<u64>) -> bool {
        let past = |end: &Position| horizon(end.channel).is_some_and(|at| at >= end.sequence);
        self.on_truncation && !epoch.ends.is_empty() && epoch.ends.iter().all(past)
    }

    /// Whether it is too old by the clock or by the watermark.
    ///
    /// `event_time` is its latest, or for an epoch without any that of the next one with some.
    pub(super) fn expired(
        &self,
        epoch: &Epoch,
        event_time: Option<u64>,
        now: Duration,
        watermark: Option<u64>,
    ) -> bool {
        let by_time = match (self.after, epoch.ended) {
            (Some(after), Some(ended)) => now >= ended.saturating_add(after),
            _ => false,
        };
        let by_watermark = match (self.lateness, watermark, event_time) {
            (Some(lateness), Some(mark), Some(last)) => mark >= last.saturating_add(lateness),
            _ => false,
        };
        by_time || by_watermark
    }
}
