//! Making what was committed durable.

use super::error::StateFault;
use super::progress::{Parameters, Progress};
use super::replay_guard::ReplayGuard;
use super::verdict::Placement;
use super::windows::{IdDigest, Recorded};
use crate::replay::state::{
    Collected, Contents, EpochEntry, Phase, StateError, StateStore, Storage,
};

/// The place of a guard's state.
pub(super) type Store = StateStore<Box<dyn Storage>>;

/// Segments of an epoch that is being filled. Beyond it they are joined, so that frequent checkpoints of
/// a slow stream are not as many objects.
const MAX_SEGMENTS: usize = 64;

/// Bytes of the operator's own that a checkpoint takes.
const MAX_ATTACHED: usize = 64 << 10;

/// A checkpoint that is durable.
#[derive(Debug)]
#[non_exhaustive]
pub struct Checkpoint {
    /// Its number, higher than all before.
    pub number: u64,
    /// Tuples that no earlier checkpoint had.
    pub tuples: u64,
    /// What was deleted because no kept checkpoint needs it, or why that failed. It is tried again by
    /// the next checkpoint.
    pub collected: Result<Collected, StateError>,
}

impl ReplayGuard {
    /// Makes everything committed so far durable: the ids since the last checkpoint, the epochs that
    /// ended since, positions and counts, and last the manifest that binds them.
    ///
    /// With [`Placement::AfterOutput`] the committed tuples may then be acknowledged. With
    /// [`Placement::WithState`] they may when the operator's own state is durable, too:
    /// save the number with it, and call [`state_durable`](Self::state_durable).
    ///
    /// Writes 8 bytes a tuple, once when it is new and once when its epoch ends; before that, its epoch
    /// as a whole with each 64th checkpoint that adds to it.
    ///
    /// # Errors
    ///
    /// [`StateFault::InMemory`] for a guard without a state, and [`StateFault::State`]. After
    /// [`StateError::Fenced`] another owns the state: the guard judges and acknowledges nothing more.
    /// After any other error nothing is lost, and the checkpoint may be tried again.
    pub fn checkpoint(&mut self) -> Result<Checkpoint, StateFault> {
        self.drain();
        let now = self.now();
        self.retire_due(now);
        let Some(mut store) = self.store.take() else { return Err(StateFault::InMemory) };
        let published = self.publish(&mut store);
        let outcome = published.map(|(number, tuples)| {
            self.acks.checkpointed(number);
            let collected = match self.options.placement {
                Placement::AfterOutput => {
                    self.acks.durable(number);
                    store.collect()
                }
                // The operator's state may still name an older one.
                Placement::WithState => Ok(Collected::default()),
            };
            self.fenced |= matches!(collected, Err(StateError::Fenced { .. }));
            Checkpoint { number, tuples, collected }
        });
        self.store = Some(store);
        outcome.map_err(|error| {
            self.fenced |= matches!(error, StateError::Fenced { .. });
            StateFault::State(error)
        })
    }

    /// The operator's state that names this checkpoint is durable: what it covers may be acknowledged,
    /// and checkpoints before it are no longer needed.
    ///
    /// # Errors
    ///
    /// If what no longer is needed cannot be deleted; the acknowledgements are released all the same.
    pub fn state_durable(&mut self, checkpoint: u64) -> Result<Collected, StateFault> {
        self.acks.durable(checkpoint);
        let Some(store) = &mut self.store else { return Ok(Collected::default()) };
        let collected = store.collect_before(checkpoint);
        self.fenced |= matches!(collected, Err(StateError::Fenced { .. }));
        Ok(collected?)
    }

    /// Gives the next checkpoint, and those after it, bytes of the operator's own, in the place of
    /// earlier ones. They become durable with it and come back with it
    /// ([`attached`](Self::attached)): what the ids are made of, how far the input was read, how long the
    /// output was.
    ///
    /// # Errors
    ///
    /// [`StateFault::AttachedTooLong`] for more than 64 KiB: each checkpoint writes them.
    pub fn attach(&mut self, bytes: &[u8]) -> Result<(), StateFault> {
        if bytes.len() > MAX_ATTACHED {
            return Err(StateFault::AttachedTooLong { len: bytes.len(), most: MAX_ATTACHED });
        }
        self.attached.clear();
        self.attached.extend_from_slice(bytes);
        Ok(())
    }

    /// What was attached last, by this guard or before the state was saved. Parts that are put together
    /// leave theirs behind.
    #[must_use]
    pub fn attached(&self) -> &[u8] {
        &self.attached
    }

    /// The number of the newest durable checkpoint.
    #[must_use]
    pub fn checkpoint_number(&self) -> Option<u64> {
        self.store.as_ref().map(StateStore::number)
    }

    fn publish(&mut self, store: &mut Store) -> Result<(u64, u64), StateError> {
        let mut epochs = store.contents().epochs.clone();
        let oldest = self.epochs.oldest().number;
        epochs.retain(|entry| entry.number >= oldest);

        let mut tuples = 0;
        if let Some(log) = &self.log {
            for (epoch, ids) in log.iter() {
                let segment = by_group(ids, |runs| store.put_segment(epoch, Phase::Active, runs))?;
                let entry = entry_of(&mut epochs, epoch);
                entry.segments.push(segment);
                entry.len += ids.len() as u64;
                tuples += ids.len() as u64;
            }
        }
        for epoch in self.epochs.live() {
            let entry = entry_of(&mut epochs, epoch.number);
            entry.meta = epoch.encode_meta();
            if epoch.ended.is_some() && entry.phase == Phase::Active {
                *entry = store.seal(entry)?;
            } else if entry.segments.len() > MAX_SEGMENTS {
                *entry = store.join(entry)?;
            }
        }
        self.counts.checkpoints += 1;
        let contents = Contents {
            key_groups: self.dimensions.key_groups.count(),
            first_group: self.owned().first(),
            last_group: self.owned().last(),
            parameters: Parameters::of(&self.dimensions, self.options.placement).encode(),
            progress: self.progress().encode(),
            epochs,
        };
        let number = store.publish(contents).inspect_err(|_| self.counts.checkpoints -= 1)?;
        if let Some(log) = &mut self.log {
            log.clear();
        }
        Ok((number, tuples))
    }

    pub(super) fn progress(&self) -> Progress {
        Progress {
            time: self.now(),
            watermark: self.watermark,
            epoch: self.epochs.current().number,
            counts: self.counts,
            budget: self.budget.clone(),
            attached: self.attached.clone(),
            positions: self.positions.clone(),
        }
    }
}

/// The entry of an epoch among those of a state, which are in ascending order.
fn entry_of(epochs: &mut Vec<EpochEntry>, number: u64) -> &mut EpochEntry {
    let at = epochs.partition_point(|entry| entry.number < number);
    if epochs.get(at).is_none_or(|entry| entry.number != number) {
        let entry = EpochEntry {
            number,
            phase: Phase::Active,
            len: 0,
            meta: Vec::new(),
            segments: Vec::new(),
        };
        epochs.insert(at, entry);
    }
    &mut epochs[at]
}

/// Calls `write` with the digests of each group, in the order in which they were recorded.
fn by_group<T>(ids: &[Recorded], write: impl FnOnce(&[(u16, &[IdDigest])]) -> T) -> T {
    let mut sorted = ids.to_vec();
    sorted.sort_by_key(|id| id.group);
    let digests: Vec<_> = sorted.iter().map(|id| id.digest).collect();
    let mut runs = Vec::new();
    let mut start = 0;
    for run in sorted.chunk_by(|a, b| a.group == b.group) {
        runs.push((run[0].group, &digests[start..start + run.len()]));
        start += run.len();
    }
    write(&runs)
}
