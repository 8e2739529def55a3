//! The guard's parts, and what moves it on: tickets that come back, epochs that end and retire.

use std::collections::HashSet;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;
use std::time::Duration;

use super::accounts::{Accounts, Snapshot};
use super::acks::Acks;
use super::budget::Budget;
use super::builder::{Dimensions, Options, ReplayGuardBuilder};
use super::checkpoint::Store;
use super::clock::Clock;
use super::epochs::{Epoch, EpochList};
use super::error::{AdmitError, GuardError};
use super::log::Log;
use super::recovery::{Fence, Recovery};
use super::ticket::{Entry, EntryKind, InFlightId, Outcome, Returned, Returns, Settled};
use super::verdict::{OnFull, Placement};
use super::windows::{Recorded, Windows};
use crate::hash::{HashError, Key, Seed};
use crate::replay::positions::Positions;
use crate::replay::{ChannelKind, GroupRange, KeyGroups, Position};

/// Recognises tuples that were processed before, by the cheapest evidence that is exact, and by a
/// filter where there is none.
///
/// ```text
///  admit ─▶ in flight? ─▶ caught up? ─▶ position ─▶ at risk? ──no──▶ First
///              │              │            │            │yes
///           InFlight        Replay      Replay,      filter ──no──▶ First     exact
///                                       Stale           │yes
///                                                    Probable: drop within the budget, else divert
/// ```
///
/// | upstream gives | evidence | lost, by expectation | replays that pass |
/// |---|---|---|---|
/// | dense positions | exact | 0 | 0 |
/// | a redelivered flag | filter, flagged tuples only | C · X · f | 0 within the window |
/// | ids only | filter, the first X new tuples after a recovery | C · X · f | 0 within the window |
/// | ids only, [`always_on`](ReplayGuardBuilder::always_on) | filter, every tuple | N · f | 0 within the window |
///
/// With dense positions, tuples up to the fence that were neither processed nor read from the output's tail
/// are tested after a [`catch_up`](Self::catch_up): C · X · f for those few, and 0 without one.
///
/// C recoveries, X new tuples tested in each, N new tuples in all, f the rate of the filter. X is at
/// most the number in flight where upstream flags.
///
/// What it cannot do: a *replay* is a tuple that comes with the same id. An operator whose repeated
/// output has other ids (not repeatable: it draws random numbers, reads a clock, depends on the order
/// of arrival) needs ids derived from its inputs.
///
/// # Order of steps
///
/// 1. [`admit`](Self::admit), process, make the output durable, then [`Ticket::commit`].
/// 2. [`checkpoint`](Self::checkpoint), then acknowledge what [`ackable`](Self::ackable) yields.
/// 3. When upstream has *confirmed* that it truncated, say so: [`truncated`](Self::truncated).
///
/// # Examples
///
/// ```
/// use hapax::replay::{OnFull, Placement, Position, ReplayGuard, Verdict};
///
/// let mut guard = ReplayGuard::builder(Placement::AfterOutput)
///     .window(100_000)
///     .loss_per_recovery(1e-3, 1_000)
///     .retire_on_truncation()
///     .build()?;
/// match guard.admit("user 7", "order 17", Position::new(0, 1))? {
///     Verdict::First(ticket) => ticket.commit(), // after its output is durable
///     _ => unreachable!(),
/// }
/// assert!(matches!(guard.admit("user 7", "order 17", Position::new(0, 1))?, Verdict::Replay));
/// assert_eq!(guard.snapshot().counts.replay, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// [`Ticket::commit`]: super::Ticket::commit
pub struct ReplayGuard {
    pub(super) dimensions: Dimensions,
    pub(super) options: Options,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) positions: Positions,
    pub(super) windows: Windows,
    pub(super) epochs: EpochList,
    pub(super) watermark: Option<u64>,
    pub(super) recovery: Recovery,
    pub(super) budget: Budget,
    pub(super) counts: Accounts,
    pub(super) acks: Acks,
    /// What was recorded since the last checkpoint; none for a guard without a state.
    pub(super) log: Option<Log>,
    pub(super) in_flight: IdSet,
    /// Ids read from the output's tail after the recovery: exact evidence until it is over.
    pub(super) caught_up: IdSet,
    /// The epoch with the newest of them, and until which they are kept at most.
    caught_up_epoch: u64,
    /// The epoch in which the first of them was recorded.
    pub(super) caught_up_since: Option<u64>,
    /// Tickets out, those without an id included.
    pub(super) tickets: u64,
    pub(super) returns: Arc<Returns>,
    pub(super) fenced: bool,
    /// Bytes of the operator's own, for checkpoints.
    pub(super) attached: Vec<u8>,
    /// Where checkpoints go.
    pub(super) store: Option<Store>,
    /// The guard's time when it began or was restored, and the clock's.
    pub(super) time: Duration,
    pub(super) began: Duration,
    taken: Vec<Returned>,
    recorded: Vec<Recorded>,
}

/// A set of ids, whose hashes are uniform already.
pub(super) type IdSet = HashSet<InFlightId, BuildHasherDefault<Uniform>>;

/// Takes the words of a uniform hash as they are.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Uniform(u64);

impl Hasher for Uniform {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        // Not used by `InFlightId`, whose fields are words.
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        self.0 = self.0.rotate_left(5) ^ word;
    }

    #[inline]
    fn write_u16(&mut self, group: u16) {
        self.write_u64(group.into());
    }
}

impl ReplayGuard {
    /// Starts a builder.
    pub fn builder(placement: Placement) -> ReplayGuardBuilder {
        ReplayGuardBuilder::new(placement)
    }

    pub(super) fn new(
        dimensions: Dimensions,
        options: Options,
        positions: Positions,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, GuardError> {
        let windows = Windows::new(dimensions.owned, &dimensions.shape)?;
        let log = options.durable.then(Log::default);
        let began = clock.now();
        let timed = options.retirement.after.is_some().then(|| Arc::clone(&clock));
        let budget = Budget::new(options.per_recovery, options.per_hour);
        Ok(Self {
            dimensions,
            options,
            clock,
            positions,
            windows,
            epochs: EpochList::new(Epoch::new(0)),
            watermark: None,
            recovery: Recovery::default(),
            budget,
            counts: Accounts::default(),
            acks: Acks::default(),
            log,
            in_flight: IdSet::default(),
            caught_up: IdSet::default(),
            caught_up_epoch: 0,
            caught_up_since: None,
            tickets: 0,
            returns: Arc::new(Returns::new(timed)),
            fenced: false,
            attached: Vec::new(),
            store: None,
            time: Duration::ZERO,
            began,
            taken: Vec::new(),
            recorded: Vec::new(),
        })
    }

    /// The hash of ids and routes.
    #[must_use]
    pub const fn seed(&self) -> &Seed {
        &self.dimensions.seed
    }

    /// The number of key groups of the job.
    #[must_use]
    pub const fn key_groups(&self) -> KeyGroups {
        self.dimensions.key_groups
    }

    fn time_of(&self, clock: Duration) -> Duration {
        self.time.saturating_add(clock.saturating_sub(self.began))
    }

    /// The guard's time: it goes on where a restored state left it.
    pub(super) fn now(&self) -> Duration {
        self.time_of(self.clock.now())
    }

    /// The key groups that this guard owns.
    #[must_use]
    pub const fn owned(&self) -> GroupRange {
        self.windows.groups()
    }

    /// The key group of a route.
    ///
    /// # Errors
    ///
    /// [`HashError`] if the seed cannot hash keys.
    pub fn group_of<R: Key + ?Sized>(&self, route: &R) -> Result<u16, HashError> {
        Ok(self.dimensions.key_groups.group_of(self.dimensions.seed.hash(route)?))
    }

    /// What positions on a channel are worth, for one that differs from the others.
    pub fn set_channel_kind(&mut self, channel: u32, kind: ChannelKind) {
        self.positions.set_kind(channel, kind);
    }

    /// The first position that a channel's log ever had. Without it, the lowest one seen; to be told
    /// where deliveries may begin out of order and upstream is acknowledged up to a position
    /// ([`watermark`](Self::watermark)).
    pub fn start(&mut self, first: Position) {
        self.positions.start(first.channel, first.sequence);
    }

    /// The position up to which everything on a channel is processed, dropped or truncated.
    ///
    /// It is not the position up to which upstream may truncate: that is the one that a durable
    /// checkpoint has.
    pub fn watermark(&mut self, channel: u32) -> Option<u64> {
        self.drain();
        self.positions.watermark(channel)
    }

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
    /// the number of all.
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
                return Ok(total);
            }
        }
    }

    pub(super) fn identify<R: Key + ?Sized, K: Key + ?Sized>(
        &self,
        route: &R,
        id: &K,
    ) -> Result<InFlightId, AdmitError> {
        let group = self.group_of(route)?;
        self.check_owned(group)?;
        Ok(InFlightId { hash: self.dimensions.seed.hash(id)?, group })
    }

    pub(super) fn check_owned(&self, group: u16) -> Result<(), AdmitError> {
        let owned = self.owned();
        if owned.contains(group) { Ok(()) } else { Err(AdmitError::NotOwned { group, owned }) }
    }

    /// Wakes a task when the next ticket comes back.
    #[cfg(feature = "stream")]
    pub(in crate::replay) fn wake_on_return(&self, waker: &std::task::Waker) {
        self.returns.wake_on_return(waker);
    }

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
                    self.dropped(entry.position);
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
    pub(super) fn dropped(&mut self, position: Option<Position>) {
        if let Some(position) = position {
            self.positions.processed(position);
            self.ack_dropped(position);
        }
    }

    /// Tuples that the current epoch still takes; none if it has its share and cannot end.
    fn epoch_room(&mut self, now: Duration) -> Option<u64> {
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
    fn record(&mut self, ids: &[Recorded], room: impl Fn(&mut Self, Duration) -> Option<u64>) {
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

    /// Acknowledges a tuple that was dropped. In the operator's own state the evidence for it may not
    /// be durable yet; then it waits.
    fn ack_dropped(&mut self, position: Position) {
        if self.options.placement == Placement::AfterOutput || self.acks.all_durable() {
            self.acks.now(position);
        } else {
            self.acks.later(position);
        }
    }

    fn lift_fences(&mut self) {
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
    fn room_by_rotation(&mut self, now: Duration) -> u64 {
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

    /// What may be acknowledged now, each position once: what was dropped, and what a durable
    /// checkpoint covers. What is not taken stays.
    pub fn ackable(&mut self) -> impl Iterator<Item = Position> + '_ {
        self.drain();
        let fenced = self.fenced;
        std::iter::from_fn(move || if fenced { None } else { self.acks.pop() })
    }

    /// The counts, and how full and how exact the guard is. O(key groups).
    pub fn snapshot(&mut self) -> Snapshot {
        self.drain();
        self.lift_fences();
        self.budget.at(self.now());
        Snapshot {
            counts: self.counts,
            lost_this_recovery: self.budget.recovery(),
            lost_this_hour: self.budget.hour(),
            epochs: self.epochs.len(),
            epoch: self.epochs.current().number,
            oldest_epoch: self.epochs.oldest().number,
            remembered: self.windows.len(),
            spilled: self.windows.spilled(),
            fill_ratio: self.windows.fullest(),
            false_positive_rate: self.windows.highest_rate(),
            byte_len: self.windows.byte_len(),
            in_flight: self.tickets,
            uncheckpointed: self.log.as_ref().map_or(0, Log::len),
            intervals: self.positions.interval_count() as u64,
            fences: self.recovery.fences().len() as u64,
        }
    }
}

/// The window and the horizon, not the ids.
impl fmt::Debug for ReplayGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayGuard")
            .field("placement", &self.options.placement)
            .field("owned", &self.owned())
            .field("window", &self.dimensions.window)
            .field("remembered", &self.windows.len())
            .field("epochs", &(self.epochs.oldest().number..=self.epochs.current().number))
            .field("positions", &self.positions)
            .field("watermark", &self.watermark)
            .field("in_flight", &self.tickets)
            .field("counts", &self.counts)
            .finish_non_exhaustive()
    }
}
