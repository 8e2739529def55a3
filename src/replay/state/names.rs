//! How objects are called, and what a listing shows of them.

use std::collections::BTreeMap;
use std::fmt;

use super::storage::{Storage, StorageError};

/// Which segment: who wrote it, and how many that writer had written before. No two writers have a
/// number in common, so no name is given twice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SegmentId {
    /// The fencing number of the writer.
    pub writer: u64,
    /// Its segments before this one.
    pub counter: u64,
}

/// The name of the object.
impl fmt::Display for SegmentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{SEGMENT}{:020}-{:020}", self.writer, self.counter)
    }
}

const MANIFEST: &str = "manifest-";
const SEGMENT: &str = "segment-";

/// Twenty digits, so that names sort as numbers do.
pub(super) fn manifest_name(number: u64) -> String {
    format!("{MANIFEST}{number:020}")
}

fn parse_manifest(name: &str) -> Option<u64> {
    let number = name.strip_prefix(MANIFEST)?.parse().ok()?;
    (manifest_name(number) == name).then_some(number)
}

fn parse_segment(name: &str) -> Option<SegmentId> {
    let (writer, counter) = name.strip_prefix(SEGMENT)?.split_once('-')?;
    let id = SegmentId { writer: writer.parse().ok()?, counter: counter.parse().ok()? };
    (id.to_string() == name).then_some(id)
}

/// What is in a place, with lengths. Objects that are not called like ours are not ours.
#[derive(Debug, Default)]
pub(super) struct Listing {
    pub(super) manifests: BTreeMap<u64, u64>,
    pub(super) segments: BTreeMap<SegmentId, u64>,
}

impl Listing {
    pub(super) fn read(storage: &(impl Storage + ?Sized)) -> Result<Self, StorageError> {
        let mut listing = Self::default();
        for object in storage.list()? {
            if let Some(number) = parse_manifest(&object.name) {
                listing.manifests.insert(number, object.len);
            } else if let Some(id) = parse_segment(&object.name) {
                listing.segments.insert(id, object.len);
            }
        }
        Ok(listing)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.manifests.is_empty() && self.segments.is_empty()
    }

    pub(super) fn newest(&self) -> Option<u64> {
        self.manifests.last_key_value().map(|(&number, _)| number)
    }

    /// The number that comes after all that were ever seen here. Segments carry the numbers of their
    /// writers, which may outlive the manifests that somebody has deleted.
    pub(super) fn next_number(&self) -> Option<u64> {
        let by_segments = self.segments.keys().map(|id| id.writer).max();
        self.newest().max(by_segments).unwrap_or(0).checked_add(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_written_and_no_other_is_taken() {
        for number in [1, 17, u64::MAX] {
            assert_eq!(parse_manifest(&manifest_name(number)), Some(number));
            let id = SegmentId { writer: number, counter: number / 3 };
            assert_eq!(parse_segment(&id.to_string()), Some(id));
            assert!(super::super::check_name(&id.to_string()).is_ok());
        }
        assert_eq!(manifest_name(42), "manifest-00000000000000000042");
        for foreign in [
            "manifest-42",
            "manifest-+0000000000000000042",
            "manifest-99999999999999999999",
            "manifest-00000000000000000042.bak",
            "segment-00000000000000000001",
            "segment-00000000000000000001-1",
        ] {
            assert_eq!(
                (parse_manifest(foreign), parse_segment(foreign)),
                (None, None),
                "{foreign}"
            );
        }
    }
}
