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
use super::recovery::Recovery;
use super::ticket::{InFlightId, Returned, Returns};
use super::verdict::Placement;
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
    pub(super) caught_up_epoch: u64,
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
    pub(super) taken: Vec<Returned>,
    pub(super) recorded: Vec<Recorded>,
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

    pub(super) fn time_of(&self, clock: Duration) -> Duration {
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

    /// What may be acknowledged now, each position once: replays for certain at once; and when a durable
    /// checkpoint covers them, what was committed and what was dropped for a hit of the filter or for its
    /// age. What is not taken stays.
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
