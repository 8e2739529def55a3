//! Writing a segment: from memory, or from the segments that it takes the place of.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64;

use super::head::{DIGEST_LEN, Head, Phase, Run, head_len};
use super::reader::SegmentReader;
use crate::codec::DecodeError;
use crate::replay::state::StateError;

/// A segment as bytes.
pub(crate) struct Encoded {
    pub(crate) bytes: Vec<u8>,
    /// That of header and index.
    pub(crate) checksum: u64,
    /// Digests in it.
    pub(crate) count: u64,
}

/// A segment of the digests of each group. Runs of one group follow each other.
pub(crate) fn encode(
    epoch: u64,
    phase: Phase,
    runs: &[(u16, &[u64])],
) -> Result<Encoded, DecodeError> {
    let mut draft = Draft::new(runs.iter().map(|&(group, run)| (group, run.len() as u64)))?;
    for &(group, run) in runs {
        for (slot, digest) in draft.room(group, run.len() as u64 * DIGEST_LEN).zip(run) {
            slot.copy_from_slice(&digest.to_le_bytes());
        }
    }
    Ok(draft.finish(epoch, phase))
}

/// One segment of everything in `parts`, the parts of a group in their order. Reads each part
/// once, front to back; the memory is that of the result and of one batch.
pub(crate) fn join(
    epoch: u64,
    phase: Phase,
    parts: &[SegmentReader<'_>],
) -> Result<Encoded, StateError> {
    let counts = parts.iter().flat_map(SegmentReader::groups);
    let mut draft = Draft::new(counts).map_err(|error| StateError::damaged("segment", error))?;
    for part in parts {
        for batch in part.batches(0..=u16::MAX) {
            let batch = batch?;
            for (group, bytes) in batch.runs() {
                let room = draft.room(group, bytes.len() as u64);
                for (slot, digest) in room.zip(bytes.chunks_exact(DIGEST_LEN as usize)) {
                    slot.copy_from_slice(digest);
                }
            }
        }
    }
    Ok(draft.finish(epoch, phase))
}

/// A segment of which all lengths are known, being filled.
struct Draft {
    runs: Vec<Run>,
    /// Where the next digest of each group goes.
    next: BTreeMap<u16, u64>,
    bytes: Vec<u8>,
}

impl Draft {
    fn new(counts: impl Iterator<Item = (u16, u64)>) -> Result<Self, DecodeError> {
        let mut totals = BTreeMap::<u16, u64>::new();
        for (group, count) in counts.filter(|&(_, count)| count > 0) {
            let total = totals.entry(group).or_default();
            *total = total.saturating_add(count);
        }
        let mut end = head_len(totals.len() as u64);
        let mut runs = Vec::with_capacity(totals.len());
        let mut next = BTreeMap::new();
        for (group, count) in totals {
            next.insert(group, end);
            runs.push(Run { group, count, offset: end, checksum: 0 });
            end = end.saturating_add(count.saturating_mul(DIGEST_LEN));
        }
        let mut bytes = Vec::new();
        bytes
            .try_reserve_exact(usize::try_from(end).unwrap_or(usize::MAX))
            .map_err(|_| DecodeError::OutOfMemory { byte_len: end })?;
        bytes.resize(end as usize, 0);
        Ok(Self { runs, next, bytes })
    }

    /// The next `len` bytes of a group's run, by digests.
    fn room(&mut self, group: u16, len: u64) -> impl Iterator<Item = &mut [u8]> {
        // A group without digests has no run, and asks for no room.
        let mut nowhere = 0;
        let next = self.next.get_mut(&group).unwrap_or(&mut nowhere);
        let start = *next;
        *next += len;
        let room = self.bytes.get_mut(start as usize..(start + len) as usize);
        room.unwrap_or_default().chunks_exact_mut(DIGEST_LEN as usize)
    }

    fn finish(mut self, epoch: u64, phase: Phase) -> Encoded {
        for run in &mut self.runs {
            let bytes = &self.bytes[run.offset as usize..(run.offset + run.byte_len()) as usize];
            run.checksum = xxh3_64(bytes);
        }
        let count = self.runs.iter().map(|run| run.count).sum();
        let head = Head { epoch, phase, len: self.bytes.len() as u64, runs: self.runs };
        let (head, checksum) = head.encode();
        self.bytes[..head.len()].copy_from_slice(&head);
        Encoded { bytes: self.bytes, checksum, count }
    }
}
