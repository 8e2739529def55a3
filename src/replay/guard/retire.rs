//! Epochs that end, and that retire.

use std::time::Duration;

use super::epochs::Epoch;
use super::replay_guard::ReplayGuard;
use super::verdict::OnFull;
use crate::replay::Position;

impl ReplayGuard {
    /// Ends the current epoch and begins the next; not if as many as can be are live, and none of them
    /// may retire.
    pub(super) fn turn_epoch(&mut self, now: Duration) -> bool {
        self.retire_due(now);
        if !self.may_begin_epoch() && self.options.on_full != OnFull::Rotate {
            return false;
        }
        self.rotate_epoch(now);
        true
    }

    /// Ends the current epoch and begins the next, in the place of the oldest if as many as can be are
    /// live.
    fn rotate_epoch(&mut self, now: Duration) {
        if !self.may_begin_epoch() {
            self.retire_oldest(now);
        }
        self.advance(now);
    }

    /// Retires the oldest epoch to make room, the current one if there is no other; `false` if that is
    /// empty.
    pub(super) fn retire_oldest(&mut self, now: Duration) -> bool {
        if self.epochs.len() == 1 {
            if self.epochs.current().len == 0 {
                return false;
            }
            self.advance(now);
        }
        if let Some(oldest) = self.epochs.retire_if(|_| true) {
            self.counts.rotated += 1;
            self.forget(&oldest, false);
        }
        true
    }

    /// Tuples that the current epoch still takes, at the cost of the oldest if need be.
    pub(super) fn room_by_rotation(&mut self, now: Duration) -> u64 {
        let share = self.dimensions.epoch_len;
        if self.epochs.current().len >= share {
            self.rotate_epoch(now);
        }
        share - self.epochs.current().len
    }

    fn may_begin_epoch(&self) -> bool {
        self.epochs.len() < self.dimensions.epochs.into()
    }

    fn advance(&mut self, ended: Duration) {
        self.epochs.advance(ended);
        self.windows.advance();
    }

    /// Ends the current epoch if it is old, and retires what is due.
    pub(super) fn retire_due(&mut self, now: Duration) {
        self.end_if_old(now);
        while self.retire_one(now) {
            // It may have been due for long, and there was no room for the next.
            self.end_if_old(now);
        }
    }

    /// Retires the oldest epoch if it is due.
    fn retire_one(&mut self, now: Duration) -> bool {
        let Self { options, watermark, positions, epochs, .. } = self;
        let retirement = &options.retirement;
        // An epoch without positions goes with the next that has some.
        let placed = epochs.live().find(|epoch| !epoch.ends.is_empty());
        let certain = placed
            .is_some_and(|epoch| retirement.truncated(epoch, |channel| positions.horizon(channel)));
        let event_time = epochs.live().find_map(|epoch| epoch.event_time);
        let oldest = epochs
            .retire_if(|epoch| certain || retirement.expired(epoch, event_time, now, *watermark));
        let Some(oldest) = oldest else { return false };
        self.counts.retired += 1;
        self.forget(&oldest, certain);
        true
    }

    /// Ends the current epoch if its time is over and another may be live.
    fn end_if_old(&mut self, now: Duration) {
        let current = self.epochs.current();
        let (Some(after), Some(began)) = (self.options.retirement.after, current.began) else {
            return;
        };
        let due = began.saturating_add(after / (self.dimensions.epochs - 1));
        if now >= due && self.may_begin_epoch() {
            self.advance(due);
        }
    }

    fn forget(&mut self, epoch: &Epoch, certain: bool) {
        self.windows.retire_through(epoch.number);
        if let Some(log) = &mut self.log {
            log.retire_through(epoch.number);
        }
        if epoch.number >= self.caught_up_epoch {
            self.forget_tail();
        }
        if !certain {
            epoch.ends.iter().for_each(|end| self.positions.expired(*end));
        }
    }

    /// Upstream has **confirmed** that it truncated a channel's log up to this position: nothing at or
    /// below it is ever sent again. An acknowledgement that was only sent confirms nothing.
    ///
    /// Epochs all of whose positions are truncated retire, in constant time each.
    pub fn truncated(&mut self, through: Position) {
        self.drain();
        self.positions.truncated(through);
        let now = self.now();
        self.retire_due(now);
        let Self { options, positions, epochs, .. } = &*self;
        let current = epochs.current();
        let over = options.retirement.truncated(current, |channel| positions.horizon(channel));
        if over && self.may_begin_epoch() && self.tickets == 0 {
            self.advance(now);
            self.retire_due(now);
        }
        self.lift_fences();
    }

    /// The watermark of event time: everything before it has arrived. It never steps back.
    pub fn advance_watermark(&mut self, mark: u64) {
        self.drain();
        self.watermark = self.watermark.max(Some(mark));
        let now = self.now();
        self.retire_due(now);
        let current = self.epochs.current();
        if self.options.retirement.lateness.is_some()
            && current.len > 0
            && self.options.retirement.expired(current, current.event_time, now, self.watermark)
            && self.may_begin_epoch()
        {
            self.advance(now);
            self.retire_due(now);
        }
    }

    /// Ends the current epoch now, if it holds anything and another may be live.
    pub fn seal(&mut self) {
        self.drain();
        let now = self.now();
        self.retire_due(now);
        if self.epochs.current().len > 0 && self.may_begin_epoch() {
            self.advance(now);
        }
    }
}
