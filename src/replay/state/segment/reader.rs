//! Reading a segment by key groups.

use std::fmt;
use std::ops::RangeInclusive;

use xxhash_rust::xxh3::xxh3_64;

use super::head::{DIGEST_LEN, HEADER_LEN, Head, Phase, Run};
use crate::codec::DecodeError;
use crate::replay::state::{SegmentEntry, StateError, Storage};

/// Runs are read together up to this many bytes, so that small ones do not cost a request each.
const BATCH_LEN: u64 = 8 << 20;

/// The digests of a segment, read by key groups and checked as they are read.
///
/// Opening reads the head alone. [`StateStore::reader`](super::super::StateStore::reader) opens the
/// segments of a state.
pub struct SegmentReader<'a> {
    storage: &'a dyn Storage,
    name: String,
    head: Head,
}

impl fmt::Debug for SegmentReader<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { storage: _, name, head } = self;
        f.debug_struct("SegmentReader").field("name", name).field("head", head).finish()
    }
}

impl<'a> SegmentReader<'a> {
    /// Reads and checks header and index. Two reads, of 32 bytes and of 24 for each key group.
    ///
    /// # Errors
    ///
    /// [`StateError::Storage`] if the object is not there; [`StateError::Damaged`] if it is not the
    /// one that the entry is about.
    pub fn open(storage: &'a dyn Storage, entry: &SegmentEntry) -> Result<Self, StateError> {
        let name = entry.id.to_string();
        let damaged = |error| StateError::damaged(&name, error);
        let header = storage.get_range(&name, 0, HEADER_LEN)?;
        let head_len = Head::len_from_header(&header, entry.len).map_err(damaged)?;
        let mut bytes = header;
        bytes.extend(storage.get_range(&name, HEADER_LEN, head_len - HEADER_LEN)?);
        let head = Head::decode(&bytes, entry.len, entry.checksum).map_err(damaged)?;
        Ok(Self { storage, name, head })
    }

    /// The number of the epoch.
    #[must_use]
    pub const fn epoch(&self) -> u64 {
        self.head.epoch
    }

    /// Whether this is all of a sealed epoch, or a part of one that grows.
    #[must_use]
    pub const fn phase(&self) -> Phase {
        self.head.phase
    }

    /// Digests of all key groups.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.head.runs.iter().map(|run| run.count).sum()
    }

    /// Whether there are no digests.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.head.runs.is_empty()
    }

    /// The key groups that have digests, ascending, with how many.
    pub fn groups(&self) -> impl Iterator<Item = (u16, u64)> {
        self.head.runs.iter().map(|run| (run.group, run.count))
    }

    /// The digests of a key group, in the order in which they were written; none if it has none. One
    /// read.
    ///
    /// # Errors
    ///
    /// [`StateError::Damaged`] if they are not those that were written.
    pub fn read_group(&self, group: u16) -> Result<Vec<u64>, StateError> {
        match self.read_groups(group..=group).next() {
            None => Ok(Vec::new()),
            Some(run) => run.map(|(_, digests)| digests),
        }
    }

    /// The digests of each key group in a range, ascending, groups without any left out. They lie
    /// side by side and are read by 8 MiB, or by one group if that is more.
    ///
    /// Each item is an error as in [`read_group`](Self::read_group).
    pub fn read_groups(
        &self,
        groups: RangeInclusive<u16>,
    ) -> impl Iterator<Item = Result<(u16, Vec<u64>), StateError>> {
        self.batches(groups).flat_map(|batch| match batch {
            Ok(batch) => batch.runs().map(|(group, bytes)| Ok((group, digests(bytes)))).collect(),
            Err(error) => vec![Err(error)],
        })
    }

    /// Reads everything and checks it. The memory is that of a batch.
    pub(crate) fn verify(&self) -> Result<(), StateError> {
        self.batches(0..=u16::MAX).try_for_each(|batch| batch.map(drop))
    }

    pub(super) fn batches(
        &self,
        groups: RangeInclusive<u16>,
    ) -> impl Iterator<Item = Result<Batch<'_>, StateError>> {
        let runs = &self.head.runs;
        let start = runs.partition_point(|run| run.group < *groups.start());
        let end = runs.partition_point(|run| run.group <= *groups.end());
        let mut rest = runs.get(start..end).unwrap_or_default();
        std::iter::from_fn(move || {
            let first = rest.first()?;
            let fits = |run: &&Run| run.offset + run.byte_len() - first.offset <= BATCH_LEN;
            let (batch, after) = rest.split_at(rest.iter().take_while(fits).count().max(1));
            rest = after;
            Some(self.read(batch))
        })
    }

    /// Reads runs that lie side by side.
    fn read<'b>(&self, runs: &'b [Run]) -> Result<Batch<'b>, StateError> {
        let start = runs.first().map_or(0, |run| run.offset);
        let len = runs.iter().map(Run::byte_len).sum();
        let batch = Batch { runs, bytes: self.storage.get_range(&self.name, start, len)? };
        for (run, (_, bytes)) in runs.iter().zip(batch.runs()) {
            let found = xxh3_64(bytes);
            if found != run.checksum {
                let expected = run.checksum;
                let error = DecodeError::Checksum { part: "digests", expected, found };
                let object = format!("{}, key group {}", self.name, run.group);
                return Err(StateError::damaged(object, error));
            }
        }
        Ok(batch)
    }
}

/// Runs that were read together.
pub(super) struct Batch<'a> {
    runs: &'a [Run],
    bytes: Vec<u8>,
}

impl Batch<'_> {
    /// The bytes of each run.
    pub(super) fn runs(&self) -> impl Iterator<Item = (u16, &[u8])> {
        let mut rest = self.bytes.as_slice();
        self.runs.iter().map(move |run| {
            // Storage gives as many bytes as were asked for.
            let (bytes, after) = rest.split_at((run.byte_len() as usize).min(rest.len()));
            rest = after;
            (run.group, bytes)
        })
    }
}

fn digests(bytes: &[u8]) -> Vec<u64> {
    let (digests, _) = bytes.as_chunks::<{ DIGEST_LEN as usize }>();
    digests.iter().map(|digest| u64::from_le_bytes(*digest)).collect()
}
