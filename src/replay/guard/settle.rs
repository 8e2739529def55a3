//! Tickets that come back: what was processed is recorded, and may be acknowledged.

use std::time::Duration;

use super::replay_guard::ReplayGuard;
use super::ticket::{Entry, EntryKind, Outcome, Returned, Settled};
use super::verdict::Placement;
use super::windows::Recorded;
use crate::replay::Position;

/// How sure it is that a dropped tuple was processed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Certainty {
    Certain,
    Probable,
}

impl ReplayGuard {
    /// Takes in what tickets gave back. Everything that looks at the state does it first.
    pub(super) fn drain(&mut self) {
        let mut taken = std::mem::take(&mut self.taken);
        self.returns.take(&mut taken);
        if !taken.is_empty() {
            let now = self.now();
            for returned in taken.drain(..) {
                match returned {
                    Returned::One(entry, settled) => self.settle(&[entry], settled, now),
                    Returned::Batch(entries, settled) => self.settle(&entries, settled, now),
                    Returned::FalsePositive => self.counts.confirmed_false_positive += 1,
                }
            }
            self.lift_fences();
        }
        self.taken = taken;
    }

    fn settle(&mut self, entries: &[Entry], settled: Settled, now: Duration) {
        let number = entries.len() as u64;
        self.tickets = self.tickets.saturating_sub(number);
        for id in entries.iter().filter_map(|entry| entry.id) {
            self.in_flight.remove(&id);
        }
        match settled.outcome {
            Outcome::Aborted => {
                self.counts.aborted += number;
                return;
            }
            Outcome::ConfirmedReplay => {
                self.counts.confirmed_replay += number;
                for entry in entries {
                    self.dropped(entry.position, Certainty::Certain);
                }
                return;
            }
            Outcome::Committed => self.counts.committed += number,
        }
        let at = settled.at.map_or(now, |clock| self.time_of(clock));
        let mut rest = entries;
        while !rest.is_empty() {
            let room = self.epoch_room(at).unwrap_or(u64::MAX).min(rest.len() as u64);
            let (these, later) = rest.split_at(room as usize);
            self.record_entries(these, at);
            rest = later;
        }
    }

    /// A replay is dropped: what upstream sent again is processed, and may be acknowledged. Its id
    /// does not live longer for it.
    pub(super) fn dropped(&mut self, position: Option<Position>, certainty: Certainty) {
        if let Some(position) = position {
            self.positions.processed(position);
            self.ack_dropped(position, certainty);
        }
    }

    /// Tuples that the current epoch still takes; none if it has its share and cannot end.
    pub(super) fn epoch_room(&mut self, now: Duration) -> Option<u64> {
        if self.options.retirement.after.is_some() {
            // A tuple belongs to the epoch of its time, or it would go with older ones.
            self.retire_due(now);
        }
        let share = self.dimensions.epoch_len;
        if self.epochs.current().len >= share {
            self.turn_epoch(now).then_some(share)
        } else {
            Some(share - self.epochs.current().len)
        }
    }

    /// Records tuples whose outputs are durable.
    fn record_entries(&mut self, entries: &[Entry], now: Duration) {
        let mut recorded = std::mem::take(&mut self.recorded);
        recorded.clear();
        let latest = self.watermark.map(|mark| mark.saturating_add(self.options.max_ahead));
        for entry in entries {
            if let Some(position) = entry.position {
                self.positions.processed(position);
                self.ack_committed(position);
            }
            if entry.kind == EntryKind::Unrecorded {
                continue;
            }
            let event_time = match (entry.event_time, latest) {
                (Some(time), Some(latest)) => Some(time.min(latest)),
                (time, _) => time,
            };
            let epoch = self.epochs.current_mut();
            match entry.id {
                Some(id) => {
                    epoch.record(now, entry.position, event_time);
                    recorded.push(id.into());
                }
                None => entry.position.into_iter().for_each(|at| epoch.reach(at)),
            }
        }
        self.remember(&recorded);
        self.recorded = recorded;
    }

    /// Records ids of which nothing else is known. `room` says how many the current epoch takes.
    pub(super) fn record(
        &mut self,
        ids: &[Recorded],
        room: impl Fn(&mut Self, Duration) -> Option<u64>,
    ) {
        let now = self.now();
        let mut rest = ids;
        while !rest.is_empty() {
            let room = room(self, now).unwrap_or(u64::MAX).min(rest.len() as u64);
            let (these, later) = rest.split_at(room as usize);
            for _ in these {
                self.epochs.current_mut().record(now, None, None);
            }
            self.remember(these);
            rest = later;
        }
    }

    fn remember(&mut self, ids: &[Recorded]) {
        self.windows.record_all(ids);
        if let Some(log) = &mut self.log {
            log.push(self.epochs.current().number, ids);
        }
    }

    fn ack_committed(&mut self, position: Position) {
        if self.options.durable {
            self.acks.later(position);
        } else {
            self.acks.now(position);
        }
    }

    /// Acknowledges a tuple that was dropped. It waits for the next checkpoint if it may have been new:
    /// acknowledged at once, it would be gone for upstream, and after a crash also for the counts. And
    /// in the operator's own state, if the evidence for it may not be durable yet.
    fn ack_dropped(&mut self, position: Position, certainty: Certainty) {
        let evident = certainty == Certainty::Certain
            && (self.options.placement == Placement::AfterOutput || self.acks.all_durable());
        if evident || !self.options.durable {
            self.acks.now(position);
        } else {
            self.acks.later(position);
        }
    }
}
