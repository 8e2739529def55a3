//! What a saved state says, for people and tools that only look.

use super::accounts::Accounts;
use super::budget::Budget;
use super::epochs::Epoch;
use super::error::StateFault;
use super::progress::{Parameters, Progress};
use super::replay_guard::ReplayGuard;
use super::verdict::Placement;
use crate::hash::HashIdentity;
use crate::replay::GroupRange;
use crate::replay::positions::Positions;
use crate::replay::state::{Restored, Storage, read};

/// A guard's state as it was saved.
#[derive(Debug)]
#[non_exhaustive]
pub struct StateReport {
    /// Which checkpoint, and which newer ones do not verify.
    pub restored: Restored,
    /// The number by which its writer took the state over.
    pub writer: u64,
    /// How ids and routes are hashed.
    pub identity: HashIdentity,
    /// Which side of the crash the guard is on.
    pub placement: Placement,
    /// Key groups of the job.
    pub key_groups: u32,
    /// Those of this state.
    pub owned: GroupRange,
    /// Tuples that are remembered at least.
    pub window: u64,
    /// Epochs that can be live.
    pub max_epochs: u32,
    /// The rate of a test at a full window.
    pub false_positive_rate: f64,
    /// The live epochs, oldest first.
    pub epochs: Vec<EpochReport>,
    /// The channels.
    pub channels: Vec<ChannelReport>,
    /// The watermark of event time.
    pub watermark: Option<u64>,
    /// The counts.
    pub counts: Accounts,
    /// What the operator has attached.
    pub attached: Vec<u8>,
}

/// An epoch of a saved state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct EpochReport {
    /// Its number.
    pub number: u64,
    /// Tuples in it.
    pub len: u64,
    /// Whether it has ended.
    pub ended: bool,
    /// Bytes of its segments.
    pub byte_len: u64,
}

/// A channel, as it is or as it was saved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ChannelReport {
    /// Its number.
    pub channel: u32,
    /// The position up to which everything is processed.
    pub watermark: Option<u64>,
    /// The highest position seen.
    pub highest: Option<u64>,
    /// Gaps below it: tuples that were not processed when the state was saved.
    pub gaps: u64,
    /// The position through which upstream has truncated.
    pub truncated: Option<u64>,
}

impl ChannelReport {
    fn all(positions: &Positions) -> Vec<Self> {
        let of = |channel| Self {
            channel,
            watermark: positions.watermark(channel),
            highest: positions.highest(channel),
            gaps: positions.pending_gaps(channel).count() as u64,
            truncated: positions.horizon(channel),
        };
        positions.channels().map(of).collect()
    }
}

impl ReplayGuard {
    /// How far each channel is that was mentioned, ascending. O(gaps).
    pub fn channels(&mut self) -> Vec<ChannelReport> {
        self.drain();
        ChannelReport::all(&self.positions)
    }
}

impl StateReport {
    /// Reads the newest state that is whole, to the last byte, without taking it over.
    ///
    /// # Errors
    ///
    /// [`StateFault::State`] as for [`read`], and [`StateFault::Meaning`].
    pub fn read(storage: &dyn Storage) -> Result<Self, StateFault> {
        let (manifest, restored) = read(storage)?;
        let meaning = |source| StateFault::Meaning { source };
        let contents = &manifest.contents;
        let parameters = Parameters::decode(&contents.parameters).map_err(meaning)?;
        let unlimited = Budget::new(f64::INFINITY, f64::INFINITY);
        let progress = Progress::decode(&contents.progress, unlimited).map_err(meaning)?;
        let epochs = contents.epochs.iter().map(|entry| {
            let epoch = Epoch::decode_meta(entry.number, entry.len, &entry.meta)?;
            let byte_len = entry.segments.iter().map(|segment| segment.len).sum();
            let (number, len, ended) = (epoch.number, epoch.len, epoch.ended.is_some());
            Ok(EpochReport { number, len, ended, byte_len })
        });
        let epochs = epochs.collect::<Result<_, _>>().map_err(meaning)?;
        let channels = ChannelReport::all(&progress.positions);
        Ok(Self {
            writer: manifest.writer,
            identity: parameters.identity,
            placement: parameters.placement,
            key_groups: parameters.key_groups,
            owned: GroupRange::between(contents.first_group, contents.last_group),
            window: parameters.window,
            max_epochs: parameters.epochs,
            false_positive_rate: parameters.false_positive_rate,
            epochs,
            channels,
            watermark: progress.watermark,
            counts: progress.counts,
            attached: progress.attached,
            restored,
        })
    }
}
