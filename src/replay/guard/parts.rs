//! Opening a guard on parts of other states: after a rescale, or to join what saw the same stream.

use std::collections::BTreeMap;

use super::builder::ReplayGuardBuilder;
use super::checkpoint::Store;
use super::epochs::Epoch;
use super::error::StateFault;
use super::replay_guard::ReplayGuard;
use super::restore::{Part, load};
use super::windows::{IdDigest, Recorded, Windows};
use crate::replay::GroupRange;
use crate::replay::state::{
    Contents, EpochEntry, Phase, Restored, SegmentReader, StateError, StateStore, Storage, read,
};

/// A part and where its ids are.
struct Piece<'a> {
    part: Part,
    contents: Contents,
    storage: &'a dyn Storage,
}

/// Whether key groups may be in several parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Overlap {
    Refused,
    Joined,
}

impl ReplayGuardBuilder {
    /// Opens a guard on key groups of other states, and begins a state of its own with them: after
    /// a rescale, or to merge states.
    ///
    /// Each owned group must be in exactly one part. The parts are only read; their writers must have
    /// stopped, or have been fenced by [`take_over`](crate::replay::state::take_over). With
    /// [`Placement::WithState`](super::Placement::WithState), which joins the checkpoints that the
    /// operators' states name, take each part over by
    /// [`StateStore::open_at`](crate::replay::state::StateStore::open_at) first: the newest is read
    /// here. Counts begin at zero.
    ///
    /// What a crash leaves in `into` before it is complete is refused by [`open`](Self::open); erase
    /// it by [`reset`](crate::replay::state::reset) and begin anew.
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
        self.assemble(parts, into, Overlap::Refused)
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
        self.assemble(parts, into, Overlap::Joined)
    }

    fn assemble(
        self,
        storages: &[&dyn Storage],
        into: impl Storage + 'static,
        overlap: Overlap,
    ) -> Result<(ReplayGuard, Vec<Restored>), StateFault> {
        let mut guard = self.build_durable()?;
        let mut pieces = Vec::with_capacity(storages.len());
        let mut restored = Vec::with_capacity(storages.len());
        for &storage in storages {
            let (manifest, from) = read(storage)?;
            let contents = manifest.contents;
            guard.check_parameters(&contents)?;
            let part = Part::read(&contents, guard.budget.clone())?;
            pieces.push(Piece { part, contents, storage });
            restored.push(from);
        }
        check_cover(&pieces, guard.owned(), overlap)?;

        let epochs = guard.align(&mut pieces);
        guard.join(&pieces, epochs, overlap)?;
        // Nothing is written before all of it is known to be there and to have room: what is written is
        // not deleted again, since another who joins the same parts to the same place may have found
        // it there and be about to name it.
        let into: Box<dyn Storage> = Box::new(into);
        let mut store = StateStore::draft(into, guard.empty_contents())?;
        let contents = guard.write_joined(&mut store, &pieces, overlap)?;
        store.publish(contents)?;
        guard.store = Some(store);
        guard.begin_recovery();
        Ok((guard, restored))
    }
}

fn check_cover(
    pieces: &[Piece<'_>],
    owned: GroupRange,
    overlap: Overlap,
) -> Result<(), StateFault> {
    for group in &owned {
        let has = |piece: &&Piece<'_>| {
            let Contents { first_group, last_group, .. } = piece.contents;
            (first_group..=last_group).contains(&group)
        };
        match pieces.iter().filter(has).count() {
            0 => return Err(StateFault::MissingGroup { group, owned }),
            2.. if overlap == Overlap::Refused => return Err(StateFault::SharedGroup { group }),
            _ => {}
        }
    }
    Ok(())
}

impl ReplayGuard {
    /// Takes what is known of positions and times, and gives the epochs, the ones of all parts that are
    /// as old, counted from the newest, as one.
    fn align(&mut self, pieces: &mut [Piece<'_>]) -> Vec<Epoch> {
        // All times and epochs are brought to those of the part that is furthest.
        let progress = || pieces.iter().map(|piece| &piece.part.progress);
        let now = progress().map(|progress| progress.time).max().unwrap_or_default();
        let last = progress().map(|progress| progress.epoch).max().unwrap_or_default();
        self.resume(now);
        let mut epochs: BTreeMap<u64, Epoch> = BTreeMap::new();
        for Piece { part: Part { progress, epochs: theirs }, .. } in pieces {
            let (behind, late) = (last - progress.epoch, now.saturating_sub(progress.time));
            for mut epoch in theirs.drain(..) {
                epoch.shift(behind, late);
                match epochs.get_mut(&epoch.number) {
                    Some(there) => there.merge(&epoch),
                    None => drop(epochs.insert(epoch.number, epoch)),
                }
            }
            self.positions.merge(&progress.positions);
            // The lower watermark: what is late for one may not be for the other.
            self.watermark = match (self.watermark, progress.watermark) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            };
        }
        epochs.into_values().collect()
    }

    /// Takes the ids of the owned groups.
    fn join(
        &mut self,
        pieces: &[Piece<'_>],
        epochs: Vec<Epoch>,
        overlap: Overlap,
    ) -> Result<(), StateFault> {
        let owned = self.owned();
        let last = epochs.last().map_or(0, |epoch| epoch.number);
        let mut lens = Vec::with_capacity(epochs.len());
        self.adopt_epochs(epochs, |number, windows| {
            let runs = gather(pieces, owned, last - number, overlap)?;
            lens.push(count(&runs));
            for (&group, digests) in &runs {
                record(windows, group, digests);
            }
            Ok(())
        })?;
        self.epochs.live_mut().zip(lens).for_each(|(epoch, len)| epoch.len = len);
        let (spilled, most) = (self.windows.spilled(), self.options.max_in_flight);
        if spilled > most {
            let window = self.dimensions.window;
            return Err(StateFault::TooFull { spilled, window });
        }
        Ok(())
    }

    /// Writes them once more, as they are to be published.
    fn write_joined(
        &self,
        store: &mut Store,
        pieces: &[Piece<'_>],
        overlap: Overlap,
    ) -> Result<Contents, StateFault> {
        let last = self.epochs.current().number;
        let mut epochs = Vec::new();
        for epoch in self.epochs.live() {
            let number = epoch.number;
            let runs = gather(pieces, self.owned(), last - number, overlap)?;
            let runs: Vec<_> =
                runs.iter().map(|(group, digests)| (*group, digests.as_slice())).collect();
            let phase = if number < last { Phase::Sealed } else { Phase::Active };
            let segments = match epoch.len {
                0 => Vec::new(),
                _ => vec![store.put_segment(number, phase, &runs)?],
            };
            let (len, meta) = (epoch.len, epoch.encode_meta());
            epochs.push(EpochEntry { number, phase, len, meta, segments });
        }
        let progress = self.progress().encode();
        Ok(Contents { progress, epochs, ..self.empty_contents() })
    }
}

/// The digests of the owned groups in the epochs that are so many before the newest of their part.
fn gather(
    pieces: &[Piece<'_>],
    owned: GroupRange,
    before: u64,
    overlap: Overlap,
) -> Result<BTreeMap<u16, Vec<IdDigest>>, StateError> {
    let mut runs: BTreeMap<u16, Vec<IdDigest>> = BTreeMap::new();
    for Piece { part, contents, storage } in pieces {
        let theirs = part.progress.epoch.checked_sub(before);
        let entry = contents.epochs.iter().find(|entry| Some(entry.number) == theirs);
        for segment in entry.into_iter().flat_map(|entry| &entry.segments) {
            load(&SegmentReader::open(*storage, segment)?, owned, |ids| {
                for id in ids {
                    runs.entry(id.group).or_default().push(id.digest);
                }
            })?;
        }
    }
    if overlap == Overlap::Joined {
        for digests in runs.values_mut() {
            digests.sort_unstable();
            digests.dedup();
        }
    }
    Ok(runs)
}

fn count(runs: &BTreeMap<u16, Vec<IdDigest>>) -> u64 {
    runs.values().map(|digests| digests.len() as u64).sum()
}

fn record(windows: &mut Windows, group: u16, digests: &[IdDigest]) {
    let ids: Vec<_> = digests.iter().map(|&digest| Recorded { digest, group }).collect();
    windows.record_all(&ids);
}
