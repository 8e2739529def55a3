//! Opening a guard on the state that it left.

use std::time::Duration;

use super::budget::Budget;
use super::builder::ReplayGuardBuilder;
use super::epochs::{Epoch, EpochList};
use super::error::StateFault;
use super::progress::{Parameters, Progress};
use super::replay_guard::ReplayGuard;
use super::windows::Recorded;
use crate::codec::invalid;
use crate::replay::GroupRange;
use crate::replay::state::{
    Contents, EpochEntry, Phase, Restored, SegmentReader, StateError, StateStore, Storage, read,
    read_manifest,
};

/// What a guard was restored from.
#[derive(Debug)]
#[non_exhaustive]
pub enum Opened {
    /// The place was empty: a new state.
    Created,
    /// The newest state that is whole.
    Restored(Restored),
}

impl ReplayGuardBuilder {
    /// Opens the guard on its state, or begins one in an empty place.
    ///
    /// What verifies is taken, or nothing is: see [`StateStore::open`]. A restored guard is in a
    /// recovery: read the output's tail into [`catch_up`](ReplayGuard::catch_up), set the
    /// [`fence`](ReplayGuard::fence) of each channel to the head of its log, then pull.
    ///
    /// # Errors
    ///
    /// [`StateFault::Guard`] as for [`build`](Self::build); [`StateFault::State`]; and
    /// [`StateFault::Mismatch`] if the state was made with other parameters.
    pub fn open(
        self,
        storage: impl Storage + 'static,
    ) -> Result<(ReplayGuard, Opened), StateFault> {
        let storage: Box<dyn Storage> = Box::new(storage);
        // Looked at before it is taken over: a writer that is refused fences nobody, and leaves the
        // number of the newest checkpoint what it is.
        match read(&storage) {
            Err(StateError::Nothing) => return Ok((self.create(storage)?, Opened::Created)),
            Err(error) => return Err(error.into()),
            Ok((manifest, restored)) => {
                self.check_age(&restored)?;
                self.check(&manifest.contents)?;
            }
        }
        let (store, restored) = StateStore::open(storage)?;
        self.check_age(&restored)?;
        Ok((self.restore(store)?, Opened::Restored(restored)))
    }

    /// Opens the guard on the checkpoint of this number and no other: the one that the operator's own
    /// state names, to which both roll back ([`Placement::WithState`](super::Placement::WithState)).
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open), and if the checkpoint is not there or not whole.
    pub fn open_at(
        self,
        storage: impl Storage + 'static,
        checkpoint: u64,
    ) -> Result<ReplayGuard, StateFault> {
        let storage: Box<dyn Storage> = Box::new(storage);
        // As in `open`; and what was published since is given up only for a guard that can be had.
        self.check(&read_manifest(&storage, checkpoint)?.contents)?;
        self.restore(StateStore::open_at(storage, checkpoint)?)
    }

    fn create(self, storage: Box<dyn Storage>) -> Result<ReplayGuard, StateFault> {
        let mut guard = self.build_durable()?;
        let contents = guard.empty_contents();
        guard.store = Some(StateStore::create(storage, contents)?);
        Ok(guard)
    }

    fn restore(self, store: StateStore<Box<dyn Storage>>) -> Result<ReplayGuard, StateFault> {
        // Once more: it may have gone on since it was looked at.
        self.check(store.contents())?;
        let mut guard = self.build_durable()?;
        let contents = store.contents();
        let part = Part::read(contents, guard.budget.clone())?;
        guard.resume(part.progress.time);
        guard.adopt_epochs(part.epochs, |epoch, windows| {
            let entry = contents.epochs.iter().find(|entry| entry.number == epoch);
            for segment in entry.into_iter().flat_map(|entry| &entry.segments) {
                load(&store.reader(segment)?, windows.groups(), |ids| windows.record_all(ids))?;
            }
            Ok(())
        })?;
        let Progress { watermark, counts, budget, attached, positions, .. } = part.progress;
        guard.watermark = watermark;
        guard.counts = counts;
        guard.budget = budget;
        guard.attached = attached;
        guard.positions = positions;
        guard.store = Some(store);
        guard.begin_recovery();
        Ok(guard)
    }
}

/// What a manifest means, its ids aside.
pub(super) struct Part {
    pub(super) progress: Progress,
    pub(super) epochs: Vec<Epoch>,
}

impl Part {
    /// Takes the meaning of a manifest, whose bytes verify, but which another program may have written.
    pub(super) fn read(contents: &Contents, budget: Budget) -> Result<Self, StateFault> {
        let meaning = |source| StateFault::Meaning { source };
        let progress = Progress::decode(&contents.progress, budget).map_err(meaning)?;
        let mut epochs = Vec::new();
        for EpochEntry { number, len, meta, .. } in &contents.epochs {
            epochs.push(Epoch::decode_meta(*number, *len, meta).map_err(meaning)?);
        }
        let first = epochs.first().map_or(0, |epoch| epoch.number);
        let last = progress.epoch;
        let consecutive = epochs.iter().map(|epoch| epoch.number).eq(first..=last);
        // A state that was just created has none.
        if !(consecutive || epochs.is_empty() && last == 0) {
            return Err(StateFault::Epochs { first, last });
        }
        for (epoch, entry) in epochs.iter().zip(&contents.epochs) {
            let ends = if epoch.number == last { Phase::Active } else { Phase::Sealed };
            let found = if epoch.ended.is_some() { Phase::Sealed } else { Phase::Active };
            if (entry.phase, found) != (ends, ends) {
                let found = format!("{} and {found} in epoch {}", entry.phase, epoch.number);
                return Err(meaning(invalid("phase of an epoch", ends.to_string(), found)));
            }
        }
        Ok(Self { progress, epochs })
    }
}

/// Reads the digests of the groups that are wanted, group by group.
pub(super) fn load(
    reader: &SegmentReader<'_>,
    wanted: GroupRange,
    mut take: impl FnMut(&[Recorded]),
) -> Result<(), StateError> {
    for run in reader.read_groups(wanted.first()..=wanted.last()) {
        let (group, digests) = run?;
        let ids: Vec<_> = digests.into_iter().map(|digest| Recorded { digest, group }).collect();
        take(&ids);
    }
    Ok(())
}

fn mismatch(
    what: &'static str,
    stored: impl std::fmt::Display,
    given: impl std::fmt::Display,
) -> StateFault {
    StateFault::Mismatch { what, stored: stored.to_string(), given: given.to_string() }
}

impl ReplayGuardBuilder {
    /// Checks that this guard can go on with a state.
    fn check(&self, contents: &Contents) -> Result<(), StateFault> {
        let (dimensions, _) = self.dimensions()?;
        compare(contents, Parameters::of(&dimensions, self.placement()))?;
        let range = GroupRange::between(contents.first_group, contents.last_group);
        if range != dimensions.owned {
            return Err(mismatch("range of key groups", range, dimensions.owned));
        }
        Part::read(contents, Budget::new(f64::INFINITY, f64::INFINITY)).map(drop)
    }

    fn check_age(&self, restored: &Restored) -> Result<(), StateFault> {
        match self.at_least {
            Some(expected) if restored.number < expected => {
                Err(StateFault::Stale { expected, found: restored.number })
            }
            _ => Ok(()),
        }
    }
}

fn compare(contents: &Contents, given: Parameters) -> Result<(), StateFault> {
    let stored = Parameters::decode(&contents.parameters)
        .map_err(|source| StateFault::Meaning { source })?;
    if contents.key_groups != stored.key_groups {
        let expected = format!("{}, as the parameters say", stored.key_groups);
        let source = invalid("number of key groups", expected, contents.key_groups);
        return Err(StateFault::Meaning { source });
    }
    let debug = |value: &dyn std::fmt::Debug| format!("{value:?}");
    if stored.identity != given.identity {
        return Err(mismatch("hash", debug(&stored.identity), debug(&given.identity)));
    }
    if stored.key_groups != given.key_groups {
        return Err(mismatch("number of key groups", stored.key_groups, given.key_groups));
    }
    if stored.placement != given.placement {
        return Err(mismatch("placement", debug(&stored.placement), debug(&given.placement)));
    }
    if stored.window != given.window {
        return Err(mismatch("window", stored.window, given.window));
    }
    if stored.epochs != given.epochs {
        return Err(mismatch("epochs", stored.epochs, given.epochs));
    }
    if stored.false_positive_rate.to_bits() != given.false_positive_rate.to_bits() {
        let (stored, given) = (stored.false_positive_rate, given.false_positive_rate);
        return Err(mismatch("false positive rate", stored, given));
    }
    Ok(())
}

impl ReplayGuard {
    pub(super) fn check_parameters(&self, contents: &Contents) -> Result<(), StateFault> {
        compare(contents, Parameters::of(&self.dimensions, self.options.placement))
    }

    pub(super) fn empty_contents(&self) -> Contents {
        Contents {
            key_groups: self.dimensions.key_groups.count(),
            first_group: self.owned().first(),
            last_group: self.owned().last(),
            parameters: Parameters::of(&self.dimensions, self.options.placement).encode(),
            progress: self.progress().encode(),
            epochs: Vec::new(),
        }
    }

    /// Lets the guard's time go on from here.
    pub(super) fn resume(&mut self, time: Duration) {
        self.began = self.clock.now();
        self.time = time;
    }

    /// Puts saved epochs, which are consecutive, in the place of the first one; `fill` records the ids
    /// of each into the windows, oldest first.
    pub(super) fn adopt_epochs(
        &mut self,
        mut epochs: Vec<Epoch>,
        mut fill: impl FnMut(u64, &mut super::windows::Windows) -> Result<(), StateError>,
    ) -> Result<(), StateFault> {
        let most = u64::from(self.dimensions.epochs);
        let Some(current) = epochs.pop() else { return Ok(()) };
        let first = epochs.first().map_or(current.number, |epoch| epoch.number);
        if current.number - first >= most {
            return Err(StateFault::Epochs { first, last: current.number });
        }
        self.windows.begin_at(first);
        for number in first..=current.number {
            if number > first {
                self.windows.advance();
            }
            fill(number, &mut self.windows)?;
        }
        self.epochs = EpochList::restore(epochs, current);
        Ok(())
    }
}
