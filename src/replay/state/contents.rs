//! What a state is: settings, progress, and the epochs with their segments.

use std::collections::BTreeSet;

use super::error::StateError;
use super::names::SegmentId;
use super::segment::{MIN_LEN, Phase};

/// Key groups that there can be.
pub const MAX_KEY_GROUPS: u32 = 1 << 15;

/// What a manifest says, but for who published it.
///
/// `parameters`, `progress` and the `meta` of epochs are the owner's own bytes. They are kept and
/// checked, and not looked into.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// Key groups of the whole job, 1 to [`MAX_KEY_GROUPS`]. Fixed when a state is created: every key
    /// would fall into another group.
    pub key_groups: u32,
    /// First key group of this state.
    pub first_group: u16,
    /// Last key group of this state, itself included.
    pub last_group: u16,
    /// How the state is to be read: filters, seeds, whatever must not come from a configuration.
    pub parameters: Vec<u8>,
    /// How far it has come: positions, counts.
    pub progress: Vec<u8>,
    /// Its epochs, by ascending number.
    pub epochs: Vec<EpochEntry>,
}

/// One epoch of a state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EpochEntry {
    /// Its number.
    pub number: u64,
    /// Whether it grows. A sealed one has at most one segment.
    pub phase: Phase,
    /// Digests in its segments.
    pub len: u64,
    /// The owner's own bytes.
    pub meta: Vec<u8>,
    /// Its segments, in the order of writing.
    pub segments: Vec<SegmentEntry>,
}

/// One segment of an epoch, and what tells it from any other bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SegmentEntry {
    /// Which.
    pub id: SegmentId,
    /// Its length in bytes.
    pub len: u64,
    /// The checksum over its header and index, which has the checksums of all its digests.
    pub checksum: u64,
}

impl Contents {
    /// All segments of all epochs.
    pub fn segments(&self) -> impl Iterator<Item = &SegmentEntry> {
        self.epochs.iter().flat_map(|epoch| &epoch.segments)
    }

    /// Checks what can be told without looking at a segment.
    pub(super) fn check(&self) -> Result<(), StateError> {
        if !(1..=MAX_KEY_GROUPS).contains(&self.key_groups) {
            let expected = format!("1 to {MAX_KEY_GROUPS}");
            return Err(StateError::invalid("number of key groups", expected, self.key_groups));
        }
        let (first, last) = (self.first_group, self.last_group);
        if first > last || u32::from(last) >= self.key_groups {
            return Err(StateError::invalid(
                "range of key groups",
                format!("an ascending one below {}", self.key_groups),
                format!("{first} to {last}"),
            ));
        }
        for pair in self.epochs.windows(2) {
            if pair[0].number >= pair[1].number {
                let expected = format!("more than {}", pair[0].number);
                return Err(StateError::invalid("number of an epoch", expected, pair[1].number));
            }
        }
        let mut seen = BTreeSet::new();
        for epoch in &self.epochs {
            epoch.check()?;
            for segment in &epoch.segments {
                if !seen.insert(segment.id) {
                    let expected = "each segment once";
                    return Err(StateError::invalid("segments", expected, segment.id));
                }
            }
        }
        Ok(())
    }
}

impl EpochEntry {
    fn check(&self) -> Result<(), StateError> {
        let Self { number, segments, .. } = self;
        if self.phase == Phase::Sealed && segments.len() > 1 {
            return Err(StateError::invalid(
                "segments of a sealed epoch",
                "at most one: seal it before it is published as sealed",
                format!("{} in epoch {number}", segments.len()),
            ));
        }
        if segments.is_empty() && self.len > 0 {
            let found = format!("{} in epoch {number}, which has no segments", self.len);
            return Err(StateError::invalid("length of an epoch", 0, found));
        }
        match segments.iter().find(|segment| segment.len < MIN_LEN) {
            None => Ok(()),
            Some(SegmentEntry { id, len, .. }) => Err(StateError::invalid(
                "length of a segment",
                format!("at least {MIN_LEN}"),
                format!("{len} of {id}"),
            )),
        }
    }
}
