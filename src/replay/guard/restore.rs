//! Opening a guard on a state: the one it left, or parts of others'.

use std::collections::BTreeMap;
use std::time::Duration;

use super::builder::ReplayGuardBuilder;
use super::checkpoint::entry_of;
use super::epochs::{Epoch, EpochList};
use super::error::StateFault;
use super::progress::{Parameters, Progress};
use super::replay_guard::ReplayGuard;
use super::windows::{IdDigest, Recorded};
use crate::replay::GroupRange;
use crate::replay::state::{
    Contents, EpochEntry, Phase, Restored, SegmentReader, StateError, StateStore, Storage, read,
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
        if storage.list().map_err(StateError::from)?.is_empty() {
            return Ok((self.create(storage)?, Opened::Created));
        }
        let least = self.at_least;
        // Looked at before it is taken over: a writer that is refused fences nobody.
        self.check(&read(&storage)?.0.contents)?;
        let (store, restored) = StateStore::open(storage)?;
        if let Some(expected) = least.filter(|least| restored.number < *least) {
            return Err(StateFault::Stale { expected, found: restored.number });
        }
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
        let store = StateStore::open_at(storage, checkpoint)?;
        self.check(store.contents())?;
        self.restore(store)
    }

    /// Opens a guard on key groups of other states, and begins a state of its own with them: after
    /// a rescale, or to merge states.
    ///
    /// Each owned group must be in exactly one part. The parts are only read; their writers must have
    /// stopped, or have been fenced by [`take_over`](crate::replay::state::take_over).
    /// Counts begin at zero.
    ///
    /// # Errors
    ///
    /// [`StateFault::MissingGroup`] and [`StateFault::SharedGroup`]; otherwise as
    /// [`open`](Self::open).
    pub fn open_parts(
        self,
        parts: &[&dyn Storage],
        into: impl Storage + 'static,
    ) -> Result<(ReplayGuard, Vec<Restored>), StateFault> {
        self.assemble(parts, into, false)
    }

    /// As [`open_parts`](Self::open_parts), where groups may be in several parts: the union of states
    /// that saw the same stream, such as those of an active standby.
    ///
    /// # Errors
    ///
    /// As [`open_parts`](Self::open_parts); [`StateFault::TooFull`] if the union does not fit the
    /// window.
    pub fn open_union(
        self,
        parts: &[&dyn Storage],
        into: impl Storage + 'static,
    ) -> Result<(ReplayGuard, Vec<Restored>), StateFault> {
        self.assemble(parts, into, true)
    }

    fn create(self, storage: Box<dyn Storage>) -> Result<ReplayGuard, StateFault> {
        let mut guard = self.build_durable()?;
        let contents = guard.empty_contents();
        guard.store = Some(StateStore::create(storage, contents)?);
        Ok(guard)
    }

    fn restore(self, store: StateStore<Box<dyn Storage>>) -> Result<ReplayGuard, StateFault> {
        let mut guard = self.build_durable()?;
        let contents = store.contents();
        let range = GroupRange::between(contents.first_group, contents.last_group);
        if range != guard.owned() {
            return Err(mismatch("owned key groups", range, guard.owned()));
        }
        let part = Part::read(&contents.clone(), &guard)?;
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

    fn assemble(
        self,
        storages: &[&dyn Storage],
        into: impl Storage + 'static,
        overlap: bool,
    ) -> Result<(ReplayGuard, Vec<Restored>), StateFault> {
        let mut guard = self.create(Box::new(into))?;
        let owned = guard.owned();
        let mut parts = Vec::new();
        let mut restored = Vec::new();
        for storage in storages {
            let (manifest, from) = read(*storage)?;
            guard.check_parameters(&manifest.contents)?;
            parts.push((Part::read(&manifest.contents, &guard)?, manifest.contents, *storage));
            restored.push(from);
        }
        for group in &owned {
            let holders = parts.iter().filter(|(_, contents, _)| {
                (contents.first_group..=contents.last_group).contains(&group)
            });
            match holders.count() {
                0 => return Err(StateFault::MissingGroup { group, owned }),
                1 => {}
                _ if overlap => {}
                _ => return Err(StateFault::SharedGroup { group }),
            }
        }

        // All times and epochs are brought to those of the part that is furthest.
        let now = parts.iter().map(|(part, ..)| part.progress.time).max().unwrap_or_default();
        let last = parts.iter().map(|(part, ..)| part.progress.epoch).max().unwrap_or_default();
        guard.resume(now);
        let mut epochs: BTreeMap<u64, Epoch> = BTreeMap::new();
        for (part, ..) in &mut parts {
            let (behind, late) =
                (last - part.progress.epoch, now.saturating_sub(part.progress.time));
            for mut epoch in part.epochs.drain(..) {
                epoch.shift(behind, late);
                match epochs.get_mut(&epoch.number) {
                    Some(there) => there.merge(&epoch),
                    None => drop(epochs.insert(epoch.number, epoch)),
                }
            }
            guard.positions.merge(&part.progress.positions);
            // The lower watermark: what is late for one may not be for the other.
            guard.watermark = match (guard.watermark, part.progress.watermark) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        let Some(mut store) = guard.store.take() else { return Err(StateFault::InMemory) };
        let mut entries: Vec<EpochEntry> = Vec::new();
        let epochs: Vec<_> = epochs.into_values().collect();
        guard.adopt_epochs(epochs.clone(), |number, windows| {
            let mut runs: BTreeMap<u16, Vec<IdDigest>> = BTreeMap::new();
            for (part, contents, storage) in &parts {
                let theirs = number.checked_sub(last - part.progress.epoch);
                let entry = contents.epochs.iter().find(|entry| Some(entry.number) == theirs);
                for segment in entry.into_iter().flat_map(|entry| &entry.segments) {
                    let reader = SegmentReader::open(*storage, segment)?;
                    load(&reader, owned, |ids| {
                        for id in ids {
                            runs.entry(id.group).or_default().push(id.digest);
                        }
                    })?;
                }
            }
            let mut len = 0;
            for (group, digests) in &mut runs {
                if overlap {
                    digests.sort_unstable();
                    digests.dedup();
                }
                let ids: Vec<_> =
                    digests.iter().map(|&digest| Recorded { digest, group: *group }).collect();
                windows.record_all(&ids);
                len += ids.len() as u64;
            }
            let entry = entry_of(&mut entries, number);
            entry.len = len;
            if number < last {
                entry.phase = Phase::Sealed;
            }
            if len > 0 {
                let runs: Vec<_> =
                    runs.iter().map(|(group, digests)| (*group, digests.as_slice())).collect();
                entry.segments.push(store.put_segment(number, entry.phase, &runs)?);
            }
            Ok(())
        })?;
        guard.set_epoch_lens(&entries);
        let (spilled, most) = (guard.windows.spilled(), guard.options.max_in_flight);
        if spilled > most {
            let window = guard.dimensions.window;
            return Err(StateFault::TooFull { spilled, window });
        }
        for epoch in guard.epochs.live() {
            entry_of(&mut entries, epoch.number).meta = epoch.encode_meta();
        }
        let contents = Contents {
            progress: guard.progress().encode(),
            epochs: entries,
            ..guard.empty_contents()
        };
        store.publish(contents)?;
        guard.store = Some(store);
        guard.begin_recovery();
        Ok((guard, restored))
    }
}

/// The state of one part, its ids aside.
struct Part {
    progress: Progress,
    epochs: Vec<Epoch>,
}

impl Part {
    fn read(contents: &Contents, guard: &ReplayGuard) -> Result<Self, StateFault> {
        let damaged = |error| StateFault::Meaning { source: error };
        let progress =
            Progress::decode(&contents.progress, guard.budget.clone()).map_err(damaged)?;
        let mut epochs = Vec::new();
        for EpochEntry { number, len, meta, .. } in &contents.epochs {
            epochs.push(Epoch::decode_meta(*number, *len, meta).map_err(damaged)?);
        }
        let first = epochs.first().map_or(progress.epoch, |epoch| epoch.number);
        let numbers = first..=progress.epoch;
        let consecutive = epochs.iter().map(|epoch| epoch.number).eq(numbers.clone());
        if !epochs.is_empty() && !consecutive {
            return Err(StateFault::Epochs { first, last: progress.epoch });
        }
        Ok(Self { progress, epochs })
    }
}

/// Reads the digests of the groups that are wanted, group by group.
fn load(
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
    /// Checks the parameters of a state against those asked for.
    fn check(&self, contents: &Contents) -> Result<(), StateFault> {
        let (dimensions, _) = self.dimensions()?;
        let given = Parameters::of(&dimensions, self.placement());
        compare(contents, given)
    }
}

fn compare(contents: &Contents, given: Parameters) -> Result<(), StateFault> {
    let stored = Parameters::decode(&contents.parameters)
        .map_err(|source| StateFault::Meaning { source })?;
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
    fn check_parameters(&self, contents: &Contents) -> Result<(), StateFault> {
        compare(contents, Parameters::of(&self.dimensions, self.options.placement))
    }

    fn empty_contents(&self) -> Contents {
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
    fn resume(&mut self, time: Duration) {
        self.began = self.clock.now();
        self.time = time;
    }

    /// Puts saved epochs, which are consecutive, in the place of the first one; `fill` records the ids
    /// of each into the windows, oldest first.
    fn adopt_epochs(
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

    fn set_epoch_lens(&mut self, entries: &[EpochEntry]) {
        for epoch in self.epochs.live_mut() {
            let entry = entries.iter().find(|entry| entry.number == epoch.number);
            epoch.len = entry.map_or(0, |entry| entry.len);
        }
    }
}
