//! Recoveries: what may be a replay, and what the outputs say.

use super::error::AdmitError;
use super::recovery::Fence;
use super::replay_guard::ReplayGuard;
use super::windows::Recorded;
use crate::hash::Key;
use crate::replay::{GroupRange, Position};

impl ReplayGuard {
    /// A recovery begins: what upstream sends from now on may be replays. To be called when an
    /// *upstream* restarts and replays; restoring the guard itself does it.
    ///
    /// Fences are removed, to be set anew, and the loss budget of a recovery is whole again.
    pub fn begin_recovery(&mut self) {
        self.drain();
        self.counts.recoveries += 1;
        self.recovery.begin(self.options.untold);
        self.budget.renew();
        self.forget_tail();
    }

    /// No replays come any more, unless upstream flags them.
    pub fn end_recovery(&mut self) {
        self.drain();
        self.recovery.end();
        self.forget_tail();
    }

    /// Sets the fence of a channel: the head of its log, read after the restore and before the first
    /// pull. A tuple beyond it was sent later and is no replay.
    pub fn fence(&mut self, head: Position) {
        self.fence_groups(self.owned(), head);
    }

    /// As [`fence`](Self::fence), for some key groups alone: those that were just taken over.
    pub fn fence_groups(&mut self, groups: GroupRange, head: Position) {
        self.recovery.fence(Fence { groups, at: head });
        self.place_tail(head);
    }

    /// Takes ids from the tail of the output that came after the restored state: exact evidence that
    /// they are processed. Gives their number.
    ///
    /// Without it, tuples whose output became durable after the last checkpoint come out twice.
    ///
    /// The tail has ids and no positions. What its channels' positions up to the fence do not prove
    /// to be processed is left to the filter from then on, until upstream has truncated it: the few
    /// tuples that were sent before the crash and not processed are tested at the rate of the filter.
    ///
    /// # Errors
    ///
    /// [`AdmitError::NotOwned`] and [`AdmitError::Hash`]; ids before the one at fault are taken.
    pub fn catch_up<R, K>(
        &mut self,
        outputs: impl IntoIterator<Item = (R, K)>,
    ) -> Result<u64, AdmitError>
    where
        R: Key,
        K: Key,
    {
        let before = self.counts.caught_up;
        let outcome = outputs.into_iter().try_for_each(|(route, id)| {
            let id = self.identify(&route, &id)?;
            if !self.caught_up.contains(&id) {
                // It may retire an epoch, and what was caught up in it.
                self.record(&[Recorded::from(id)], Self::epoch_room);
                self.caught_up.insert(id);
                self.caught_up_since.get_or_insert(self.epochs.current().number);
                self.caught_up_epoch = self.epochs.current().number;
                self.counts.caught_up += 1;
            }
            Ok(())
        });
        let heads: Vec<_> = self.recovery.fences().iter().map(|fence| fence.at).collect();
        for head in heads {
            self.place_tail(head);
        }
        outcome.map(|()| self.counts.caught_up - before)
    }

    /// Fills an empty window from the ids of everything processed, oldest first: where the state is
    /// lost and all outputs are at hand. Of more than the window takes, the last ones are kept. Gives
    /// the number of all. A [`fence`](Self::fence) set afterwards says where their positions end.
    ///
    /// # Errors
    ///
    /// As [`catch_up`](Self::catch_up).
    pub fn rebuild_from<R, K>(
        &mut self,
        processed: impl IntoIterator<Item = (R, K)>,
    ) -> Result<u64, AdmitError>
    where
        R: Key,
        K: Key,
    {
        const BATCH: usize = 1_024;
        let mut batch = Vec::with_capacity(BATCH);
        let mut total = 0;
        let mut processed = processed.into_iter();
        loop {
            let next = processed.next();
            if let Some((route, id)) = &next {
                batch.push(Recorded::from(self.identify(route, id)?));
            }
            if batch.len() == BATCH || next.is_none() {
                self.record(&batch, |guard, now| Some(guard.room_by_rotation(now)));
                total += batch.len() as u64;
                batch.clear();
            }
            if next.is_none() {
                let now = self.now();
                self.room_by_rotation(now);
                // Where they stand is not known either: a fence places them.
                self.caught_up_since = Some(self.epochs.oldest().number);
                self.caught_up_epoch = self.epochs.current().number;
                return Ok(total);
            }
        }
    }

    pub(super) fn lift_fences(&mut self) {
        if self.recovery.fences().is_empty() {
            return;
        }
        let positions = &self.positions;
        self.recovery.reached(|fence| {
            positions.watermark(fence.channel).is_some_and(|mark| mark >= fence.sequence)
        });
        if self.recovery.is_over() {
            self.forget_tail();
        }
    }
}
