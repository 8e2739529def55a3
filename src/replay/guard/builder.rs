//! Sizing from a loss budget, and everything a guard is told once.

use std::sync::Arc;
use std::time::Duration;

use super::clock::{Clock, SystemClock};
use super::epochs::Retirement;
use super::error::GuardError;
use super::inspect::StateReport;
use super::replay_guard::ReplayGuard;
use super::verdict::{OnFull, OnMissingId, OnProbable, OnStale, Placement};
use super::windows::WindowShape;
use crate::hash::Seed;
use crate::math::retiring::{MAX_EPOCHS, capacity_for, epoch_len};
use crate::replay::{ChannelKind, GroupRange, KeyGroups};

/// Epochs unless something else is asked for: a fourteenth of the window as slack.
const DEFAULT_EPOCHS: u32 = 15;

/// Tickets out at once, unless something else is asked for.
const DEFAULT_IN_FLIGHT: u64 = 65_536;

/// Intervals of positions kept by channel, unless something else is asked for: 1 MiB a channel.
const DEFAULT_INTERVALS: usize = 65_536;

/// How the false positive rate is found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Sizing {
    Rate(f64),
    Recovery {
        lost: f64,
        tested: u64,
    },
    AlwaysOn {
        lost: f64,
        tuples: u64,
    },
    /// The filters' own rate, as a state has it.
    Saved(f64),
}

/// What the guard does where evidence leaves a choice.
#[derive(Clone, Debug)]
pub(super) struct Options {
    pub(super) placement: Placement,
    pub(super) on_probable: OnProbable,
    pub(super) on_suspect: OnProbable,
    pub(super) on_missing_id: OnMissingId,
    pub(super) on_stale: OnStale,
    pub(super) on_full: OnFull,
    pub(super) always_on: bool,
    /// Tuples without position or flag that may be replays after a recovery.
    pub(super) untold: u64,
    pub(super) max_in_flight: u64,
    pub(super) retirement: Retirement,
    /// How far the time of an event may be ahead of the watermark.
    pub(super) max_ahead: u64,
    pub(super) per_recovery: f64,
    pub(super) per_hour: f64,
    /// Whether ids are kept for checkpoints.
    pub(super) durable: bool,
}

/// What the size of a guard is made of, and its state is bound to.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Dimensions {
    pub(super) key_groups: KeyGroups,
    pub(super) owned: GroupRange,
    pub(super) seed: Seed,
    /// Tuples that are remembered at least.
    pub(super) window: u64,
    pub(super) epochs: u32,
    /// Tuples of an epoch, all groups together.
    pub(super) epoch_len: u64,
    pub(super) shape: WindowShape,
}

/// Plans and builds a [`ReplayGuard`].
///
/// Needed: the [`window`](Self::window), a cause to retire, and one of
/// [`loss_per_recovery`](Self::loss_per_recovery), [`always_on`](Self::always_on) and
/// [`false_positive_rate`](Self::false_positive_rate); or the size of a state
/// ([`sized_as`](Self::sized_as)).
///
/// # Examples
///
/// 50,000 tuples a second; 60 seconds from a tuple's arrival until upstream has truncated it at the
/// worst; 10,000 new tuples arrive before the replay has ended, of which a thousandth may be lost:
///
/// ```
/// use hapax::replay::{Placement, ReplayGuard};
/// use std::time::Duration;
///
/// let builder = ReplayGuard::builder(Placement::AfterOutput)
///     .window_for(50_000.0, Duration::from_secs(60), 1.5)
///     .loss_per_recovery(1e-3, 10_000)
///     .retire_on_truncation();
/// let plan = builder.plan()?;
/// assert_eq!(plan.window, 4_500_000);
/// assert!(plan.false_positive_rate <= 1e-7);
/// assert!(plan.byte_len < 20_000_000);
/// # Ok::<(), hapax::replay::GuardError>(())
/// ```
#[derive(Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct ReplayGuardBuilder {
    window: Option<u64>,
    sizing: Option<Sizing>,
    given: u32,
    epochs: u32,
    every_tuple: bool,
    per_recovery: Option<f64>,
    per_hour: f64,
    key_groups: KeyGroups,
    owned: Option<GroupRange>,
    seed: Seed,
    channels: ChannelKind,
    max_intervals: usize,
    clock: Arc<dyn Clock>,
    options: Options,
    pub(super) at_least: Option<u64>,
    /// Set apart, since it depends on the sizing when it is not given.
    untold: Option<u64>,
}

/// What a guard will be, known before it is allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct GuardPlan {
    /// Tuples that are remembered at least.
    pub window: u64,
    /// The rate of a test when the window is full, ids that share a hash included.
    pub false_positive_rate: f64,
    /// Tuples that one key group's filter holds.
    pub capacity_per_group: u64,
    /// Bytes of all filters.
    pub byte_len: u64,
}

impl ReplayGuardBuilder {
    pub(super) fn new(placement: Placement) -> Self {
        Self {
            window: None,
            sizing: None,
            given: 0,
            epochs: DEFAULT_EPOCHS,
            every_tuple: false,
            per_recovery: None,
            per_hour: f64::INFINITY,
            key_groups: KeyGroups::ONE,
            owned: None,
            seed: Seed::default(),
            channels: ChannelKind::Dense,
            max_intervals: DEFAULT_INTERVALS,
            clock: Arc::new(SystemClock::start()),
            untold: None,
            at_least: None,
            options: Options {
                placement,
                on_probable: OnProbable::Drop,
                on_suspect: OnProbable::Pass,
                on_missing_id: OnMissingId::default(),
                on_stale: OnStale::default(),
                on_full: OnFull::default(),
                always_on: false,
                untold: 0,
                max_in_flight: DEFAULT_IN_FLIGHT,
                retirement: Retirement::default(),
                max_ahead: u64::MAX,
                per_recovery: f64::INFINITY,
                per_hour: f64::INFINITY,
                durable: false,
            },
        }
    }

    /// Tuples that are remembered at least: as many as upstream may send again.
    pub const fn window(mut self, tuples: u64) -> Self {
        self.window = Some(tuples);
        self
    }

    /// The window as rate · time · safety: tuples a second, and the seconds from a tuple's arrival
    /// until upstream has truncated it at the worst (checkpoint interval, acknowledgement, detection
    /// of a failure, restore).
    pub fn window_for(self, tuples_per_second: f64, time: Duration, safety: f64) -> Self {
        self.window((tuples_per_second * time.as_secs_f64() * safety).ceil() as u64)
    }

    /// Live epochs, the one being filled included: 2 to 255; 15 without it. Memory beyond the window
    /// is one part in `epochs − 1`.
    pub const fn epochs(mut self, epochs: u32) -> Self {
        self.epochs = epochs;
        self
    }

    /// Drops hits of tuples that may be replays, at a rate such that `lost` new tuples are lost by
    /// expectation in a recovery in which `tested` new ones are tested: f = lost / tested. When more
    /// are tested, hits are diverted as soon as the budget is spent.
    ///
    /// `tested` is at most the tuples in flight if upstream flags redeliveries, and otherwise those
    /// that arrive between the restore and the fence.
    pub const fn loss_per_recovery(mut self, lost: f64, tested: u64) -> Self {
        self.sizing = Some(Sizing::Recovery { lost, tested });
        self.given += 1;
        self
    }

    /// The size of a state, to the bit: window, epochs and rate. What a state is read with comes from
    /// it, and what is said elsewhere is compared with it beforehand.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::replay::state::MemoryStorage;
    /// use hapax::replay::{OnFull, Placement, ReplayGuard, StateReport};
    ///
    /// let builder = || ReplayGuard::builder(Placement::AfterOutput).on_full(OnFull::Rotate);
    /// let storage = MemoryStorage::default();
    /// let sized = builder().window(100_000).false_positive_rate(1e-9);
    /// drop(sized.open(storage.clone())?);
    ///
    /// let report = StateReport::read(&storage)?;
    /// builder().sized_as(&report).open(storage)?; // whatever the configuration says today
    /// # Ok::<(), hapax::replay::StateFault>(())
    /// ```
    pub const fn sized_as(mut self, state: &StateReport) -> Self {
        self.window = Some(state.window);
        self.epochs = state.max_epochs;
        self.sizing = Some(Sizing::Saved(state.false_positive_rate));
        self.given += 1;
        self
    }

    /// Asks the filter about every tuple and drops hits, as [`always_on`](Self::always_on), without
    /// saying anything of the rate.
    pub const fn test_every_tuple(mut self) -> Self {
        self.every_tuple = true;
        self
    }

    /// Drops hits only until `lost` new tuples are lost by expectation since the last recovery, and
    /// diverts from then on; says nothing of the rate. For the sizing
    /// [`loss_per_recovery`](Self::loss_per_recovery) it is `lost` without this.
    pub const fn loss_budget(mut self, lost: f64) -> Self {
        self.per_recovery = Some(lost);
        self
    }

    /// Also within any hour, so that a crash loop does not spend the budget of a recovery over and over.
    pub const fn loss_per_hour(mut self, lost: f64) -> Self {
        self.per_hour = lost;
        self
    }

    /// Asks the filter about *every* tuple and drops hits, at a rate such that `lost` new tuples are
    /// lost by expectation in `tuples`: f = lost / tuples. It covers what is published twice, too; the
    /// price is that each new tuple is at risk, not only those after a recovery.
    pub const fn always_on(mut self, lost: f64, tuples: u64) -> Self {
        self.sizing = Some(Sizing::AlwaysOn { lost, tuples });
        self.given += 1;
        self
    }

    /// Sets the rate of a test itself, at a full window, without a budget.
    pub const fn false_positive_rate(mut self, rate: f64) -> Self {
        self.sizing = Some(Sizing::Rate(rate));
        self.given += 1;
        self
    }

    /// How many tuples may be replays after a recovery where upstream gives neither positions nor
    /// flags; counted as they pass the test. Without it, what `loss_per_recovery` says is tested, or
    /// the window.
    pub const fn tested_after_recovery(mut self, tuples: u64) -> Self {
        self.untold = Some(tuples);
        self
    }

    /// The key groups that routes are divided into, of which this guard owns `owned`. Without it there
    /// is one group, and its state cannot be split.
    pub const fn key_groups(mut self, groups: KeyGroups, owned: GroupRange) -> Self {
        self.key_groups = groups;
        self.owned = Some(owned);
        self
    }

    /// The hash of ids and routes; the same for all parts of a job, for ever.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// What positions are worth on channels of which nothing else is said. The default is
    /// [`ChannelKind::Dense`].
    pub const fn channels(mut self, kind: ChannelKind) -> Self {
        self.channels = kind;
        self
    }

    /// Intervals of processed positions kept exactly by channel. Beyond it the oldest are left to the
    /// filter.
    pub const fn max_intervals(mut self, intervals: usize) -> Self {
        self.max_intervals = intervals;
        self
    }

    /// Tickets out at once; 65,536 without it. Set upstream's prefetch no higher.
    pub const fn max_in_flight(mut self, tuples: u64) -> Self {
        self.options.max_in_flight = tuples;
        self
    }

    /// Retires an epoch when upstream has confirmed that it truncated its log past it; see
    /// [`truncated`](ReplayGuard::truncated). Tuples without a position retire with those that were
    /// recorded next to them.
    pub const fn retire_on_truncation(mut self) -> Self {
        self.options.retirement.on_truncation = true;
        self
    }

    /// Retires an epoch so long after its end, by a monotonic clock. A tuple is remembered from its
    /// commit on for that time at least, and longer by at most one part in `epochs − 1`, if the
    /// window has room for what comes in that time.
    pub const fn retire_after(mut self, time: Duration) -> Self {
        self.options.retirement.after = Some(time);
        self
    }

    /// Retires an epoch when the watermark is past all of its events by `lateness`. The time of an
    /// event counts for no more than `max_ahead` beyond the watermark, so that one bad clock does not
    /// keep an epoch for ever.
    pub const fn retire_by_watermark(mut self, lateness: u64, max_ahead: u64) -> Self {
        self.options.retirement.lateness = Some(lateness);
        self.options.max_ahead = max_ahead;
        self
    }

    /// What is done with hits of tuples that may be replays. The default is to drop.
    pub const fn on_probable(mut self, policy: OnProbable) -> Self {
        self.options.on_probable = policy;
        self
    }

    /// What is done with hits of tuples that are no replays by their position or flag: published
    /// twice, or false positives. The default is to pass them. To drop them takes
    /// [`always_on`](Self::always_on).
    pub const fn on_suspect(mut self, policy: OnProbable) -> Self {
        self.options.on_suspect = policy;
        self
    }

    /// What is done with tuples without an id.
    pub const fn on_missing_id(mut self, policy: OnMissingId) -> Self {
        self.options.on_missing_id = policy;
        self
    }

    /// What is done with tuples from before the horizon.
    pub const fn on_stale(mut self, policy: OnStale) -> Self {
        self.options.on_stale = policy;
        self
    }

    /// What is done when the window is full and nothing may retire.
    pub const fn on_full(mut self, policy: OnFull) -> Self {
        self.options.on_full = policy;
        self
    }

    /// Refuses a state that is older than this checkpoint when it is opened: a stale copy, where the
    /// number of the newest checkpoint is known from elsewhere.
    pub const fn at_least(mut self, checkpoint: u64) -> Self {
        self.at_least = Some(checkpoint);
        self
    }

    /// The clock that retires by time and counts the hour.
    pub fn clock(mut self, clock: impl Clock + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Works the size out without allocating anything.
    ///
    /// # Errors
    ///
    /// [`GuardError`] for what is missing, out of range, or could never work.
    pub fn plan(&self) -> Result<GuardPlan, GuardError> {
        let (dimensions, floor) = self.dimensions()?;
        let each = dimensions.shape.byte_len()?;
        Ok(GuardPlan {
            window: dimensions.window,
            false_positive_rate: dimensions.shape.false_positive_rate + floor,
            capacity_per_group: dimensions.shape.capacity,
            byte_len: each.saturating_mul(dimensions.owned.len().into()),
        })
    }

    /// Allocates the guard, empty and without a state: what it knows ends with the process, and
    /// committed tuples may be acknowledged at once. [`open`](Self::open) gives it a state.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan), and if the memory cannot be had.
    pub fn build(self) -> Result<ReplayGuard, GuardError> {
        if self.options.placement == Placement::WithState {
            let expected = "Placement::AfterOutput, or open: a guard at the operator's input is saved \
                            with its state and rolls back with it";
            return Err(Self::refused("build", expected, "Placement::WithState"));
        }
        self.allocate()
    }

    /// As [`build`](Self::build), to be given a state.
    pub(super) fn build_durable(mut self) -> Result<ReplayGuard, GuardError> {
        self.options.durable = true;
        self.allocate()
    }

    pub(super) const fn placement(&self) -> Placement {
        self.options.placement
    }

    fn allocate(self) -> Result<ReplayGuard, GuardError> {
        let (dimensions, _) = self.dimensions()?;
        let options = self.options()?;
        let positions = crate::replay::positions::Positions::new(self.channels, self.max_intervals);
        ReplayGuard::new(dimensions, options, positions, self.clock)
    }

    fn refused(name: &'static str, expected: &'static str, found: impl ToString) -> GuardError {
        GuardError::Option { name, expected, found: found.to_string() }
    }

    /// The rate that the sizing asks for.
    fn rate(&self) -> Result<f64, GuardError> {
        let missing = "one of loss_per_recovery, always_on, false_positive_rate and sized_as";
        let (1, Some(sizing)) = (self.given, self.sizing) else {
            return Err(Self::refused(
                "loss budget",
                missing,
                format_args!("{} of them", self.given),
            ));
        };
        let (name, lost, tuples) = match sizing {
            Sizing::Rate(rate) | Sizing::Saved(rate) => ("false_positive_rate", rate, 1),
            Sizing::Recovery { lost, tested } => ("loss_per_recovery", lost, tested),
            Sizing::AlwaysOn { lost, tuples } => ("always_on", lost, tuples),
        };
        if tuples == 0 {
            return Err(Self::refused(name, "1 tuple or more", 0));
        }
        // Whole tuples of a budget can be more than are tested; the rate is below 1 all the same.
        let rate = (lost / tuples as f64).min(MAX_RATE);
        if !(lost > 0.0 && lost.is_finite()) || (tuples == 1 && lost >= 1.0) {
            return Err(Self::refused(name, "a number of lost tuples above 0", lost));
        }
        Ok(rate)
    }

    /// The dimensions, and the rate at which ids share a hash.
    pub(super) fn dimensions(&self) -> Result<(Dimensions, f64), GuardError> {
        let Some(window @ 1..) = self.window else {
            let found = self.window.map_or_else(|| "nothing".to_owned(), |n| n.to_string());
            return Err(Self::refused("window", "a number of tuples above 0", found));
        };
        if !(2..=MAX_EPOCHS).contains(&self.epochs) {
            return Err(Self::refused("epochs", "2 to 255", self.epochs));
        }
        if window < self.options.max_in_flight {
            let in_flight = self.options.max_in_flight;
            return Err(GuardError::WindowTooSmall { window, in_flight });
        }
        let wanted = self.rate()?;
        let owned = self.owned.unwrap_or_else(|| self.key_groups.all());
        if u32::from(owned.last()) >= self.key_groups.count() {
            let expected = "groups below the number of key groups";
            return Err(Self::refused("key_groups", expected, owned));
        }
        let whole = capacity_for(window, self.epochs);
        let capacity = self.key_groups.capacity_per_group(whole).max(self.epochs.into());
        let floor = capacity as f64 * 2f64.powi(-64);
        let false_positive_rate = match self.sizing {
            Some(Sizing::Saved(rate)) => rate,
            _ if floor >= wanted => return Err(GuardError::BelowHashFloor { wanted, floor }),
            _ => wanted - floor,
        };
        let shape = WindowShape { capacity, epochs: self.epochs, false_positive_rate };
        let dimensions = Dimensions {
            key_groups: self.key_groups,
            owned,
            seed: self.seed.clone(),
            window,
            epochs: self.epochs,
            epoch_len: self.share(epoch_len(whole, self.epochs), owned),
            shape,
        };
        Ok((dimensions, floor))
    }

    /// The part of a number of tuples that the owned groups have.
    fn share(&self, tuples: u64, owned: GroupRange) -> u64 {
        let part = u128::from(tuples) * u128::from(owned.len());
        (part.div_ceil(self.key_groups.count().into()) as u64).max(1)
    }

    pub(super) fn options(&self) -> Result<Options, GuardError> {
        let mut options = self.options.clone();
        let retirement = &options.retirement;
        if retirement.is_never() && options.on_full != OnFull::Rotate {
            return Err(GuardError::NeverRetires);
        }
        if retirement.on_truncation && self.channels == ChannelKind::Unordered {
            return Err(GuardError::NoPositions);
        }
        if retirement.after == Some(Duration::ZERO) {
            return Err(Self::refused("retire_after", "a time above 0", "0 s"));
        }
        if options.max_in_flight == 0 {
            return Err(Self::refused("max_in_flight", "1 tuple or more", 0));
        }
        if self.max_intervals == 0 {
            return Err(Self::refused("max_intervals", "1 interval or more", 0));
        }
        if self.per_hour.is_nan() || self.per_hour <= 0.0 {
            let expected = "a number of lost tuples above 0";
            return Err(Self::refused("loss_per_hour", expected, self.per_hour));
        }
        if let Some(lost) = self.per_recovery.filter(|lost| lost.is_nan() || *lost <= 0.0) {
            return Err(Self::refused("loss_budget", "a number of lost tuples above 0", lost));
        }
        options.per_hour = self.per_hour;
        match self.sizing {
            Some(Sizing::Recovery { lost, tested }) => {
                options.per_recovery = lost;
                options.untold = tested;
            }
            Some(Sizing::AlwaysOn { .. }) => {
                options.always_on = true;
            }
            _ => options.untold = self.window.unwrap_or(0),
        }
        if options.on_suspect == OnProbable::Drop {
            let expected = "Pass, Divert or Confirm (always_on drops, and states the loss): what \
                            cannot be a replay was probably new";
            return Err(Self::refused("on_suspect", expected, "Drop"));
        }
        options.untold = self.untold.unwrap_or(options.untold);
        options.always_on |= self.every_tuple;
        options.per_recovery = self.per_recovery.unwrap_or(options.per_recovery);
        Ok(options)
    }
}

/// The highest rate that a budget is turned into.
const MAX_RATE: f64 = 0.5;
