//! Finding the newest state that is whole.

use std::collections::BTreeMap;

use super::contents::{Contents, EpochEntry, SegmentEntry};
use super::error::{Skipped, StateError};
use super::manifest::{self, Manifest};
use super::names::{Listing, SegmentId, manifest_name};
use super::segment::{Phase, SegmentReader};
use super::storage::{Storage, StorageError};
use crate::codec::invalid;

/// Which manifest a state was taken from, and which were passed over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Restored {
    /// The number of the manifest. That of a writer's own taking over is higher.
    pub number: u64,
    /// Newer manifests that do not verify, the newest first, and why. If there are any, tuples that
    /// only they covered will pass again when they are replayed.
    pub skipped: Vec<Skipped>,
}

/// A state that is whole.
pub(super) struct Found {
    pub(super) manifest: Manifest,
    pub(super) segments: Segments,
    pub(super) restored: Restored,
}

/// What is known of the segments that may be published.
pub(super) type Segments = BTreeMap<SegmentId, Known>;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Known {
    pub(super) entry: SegmentEntry,
    pub(super) epoch: u64,
    pub(super) phase: Phase,
    /// Digests in it.
    pub(super) count: u64,
}

/// How often a search begins anew because a writer was at work meanwhile.
pub(super) const ATTEMPTS: u32 = 16;

/// Reads the newest state that is whole, without taking it over: to look at it, or to take key
/// groups from it.
///
/// Every byte of it is read once. Objects that it names may be deleted later if its owner goes on;
/// a copy ([`copy`](super::copy)) stays.
///
/// # Errors
///
/// As [`StateStore::open`](super::StateStore::open).
pub fn read(storage: &dyn Storage) -> Result<(Manifest, Restored), StateError> {
    let (_, found) = find(storage)?;
    Ok((found.manifest, found.restored))
}

/// The newest whole state, and the listing that it was chosen from.
pub(super) fn find(storage: &dyn Storage) -> Result<(Listing, Found), StateError> {
    let mut listing = Listing::read(storage)?;
    for _ in 0..ATTEMPTS {
        let found = newest_whole(storage, &listing);
        if found.as_ref().is_ok_and(|found| found.restored.skipped.is_empty()) {
            return found.map(|found| (listing, found));
        }
        // What is missing may have been deleted by a writer that is already further.
        let now = Listing::read(storage)?;
        if now.newest() == listing.newest() {
            return found.map(|found| (listing, found));
        }
        listing = now;
    }
    Err(StateError::Contended { attempts: ATTEMPTS })
}

/// As [`find`], the state of one manifest and no other.
pub(super) fn find_at(storage: &dyn Storage, number: u64) -> Result<(Listing, Found), StateError> {
    let listing = Listing::read(storage)?;
    let manifest = read_manifest(storage, number)?;
    let segments = verify(storage, &listing, &manifest.contents)?;
    let restored = Restored { number, skipped: Vec::new() };
    Ok((listing, Found { manifest, segments, restored }))
}

fn newest_whole(storage: &dyn Storage, listing: &Listing) -> Result<Found, StateError> {
    let mut skipped = Vec::new();
    let mut lineage = Lineage::default();
    for &number in listing.manifests.keys().rev() {
        let whole = read_manifest(storage, number).and_then(|manifest| {
            lineage.admit(&manifest)?;
            let segments = verify(storage, listing, &manifest.contents)?;
            Ok((manifest, segments))
        });
        match whole {
            Ok((manifest, segments)) => {
                return Ok(Found { manifest, segments, restored: Restored { number, skipped } });
            }
            Err(why) if why.is_damage() => skipped.push(Skipped { number, why: Box::new(why) }),
            Err(error) => return Err(error),
        }
    }
    match listing.segments.first_key_value() {
        _ if !skipped.is_empty() => Err(StateError::NoneVerifies { skipped }),
        None => Err(StateError::Nothing),
        Some((&example, _)) => {
            Err(StateError::NoManifest { segments: listing.segments.len() as u64, example })
        }
    }
}

/// Reads one manifest, without a look at what it names.
pub(in crate::replay) fn read_manifest(
    storage: &dyn Storage,
    number: u64,
) -> Result<Manifest, StateError> {
    let bytes = storage.get(&manifest_name(number), manifest::MAX_LEN)?;
    Manifest::decode(number, &bytes)
}

/// The row of writers, followed from the newest manifest down.
///
/// A writer that was stopped in mid-publishing may go on when another has taken the state over and has
/// deleted the manifest of that number. What it then publishes has a number at which the other one was
/// already the writer.
#[derive(Debug, Default)]
pub(super) struct Lineage {
    writer: Option<u64>,
}

impl Lineage {
    /// Takes the next older manifest, unless its writer had been replaced when it was published.
    pub(super) fn admit(&mut self, manifest: &Manifest) -> Result<(), StateError> {
        let found = manifest.writer;
        match self.writer {
            Some(writer) if manifest.number >= writer && found != writer => {
                let expected = format!("{writer}, which had taken the state over");
                let error = invalid("writer of a manifest", expected, found);
                Err(StateError::damaged(manifest.name(), error))
            }
            _ => {
                self.writer = Some(found);
                Ok(())
            }
        }
    }
}

/// Checks everything that a state names, to the last byte. What can be told from the listing is asked
/// first.
fn verify(
    storage: &dyn Storage,
    listing: &Listing,
    contents: &Contents,
) -> Result<Segments, StateError> {
    for entry in contents.segments() {
        match listing.segments.get(&entry.id) {
            Some(&len) if len == entry.len => {}
            Some(&len) => {
                let error = invalid("length of a segment", entry.len.to_string(), len);
                return Err(StateError::damaged(entry.id.to_string(), error));
            }
            None => return Err(StorageError::NotFound { object: entry.id.to_string() }.into()),
        }
    }
    let mut segments = Segments::new();
    for epoch in &contents.epochs {
        let mut len = 0u64;
        for entry in &epoch.segments {
            let known = verify_segment(storage, entry, epoch, contents.key_groups)?;
            len = len.saturating_add(known.count);
            segments.insert(entry.id, known);
        }
        if len != epoch.len {
            let error = invalid("digests of an epoch", epoch.len.to_string(), len);
            return Err(StateError::damaged(format!("epoch {}", epoch.number), error));
        }
    }
    Ok(segments)
}

fn verify_segment(
    storage: &dyn Storage,
    entry: &SegmentEntry,
    epoch: &EpochEntry,
    key_groups: u32,
) -> Result<Known, StateError> {
    let damaged = |error| StateError::damaged(entry.id.to_string(), error);
    let reader = SegmentReader::open(storage, entry)?;
    if reader.epoch() != epoch.number {
        return Err(damaged(invalid(
            "epoch of a segment",
            epoch.number.to_string(),
            reader.epoch(),
        )));
    }
    if reader.phase() != epoch.phase {
        return Err(damaged(invalid(
            "phase of a segment",
            epoch.phase.to_string(),
            reader.phase(),
        )));
    }
    if let Some((group, _)) = reader.groups().last()
        && u32::from(group) >= key_groups
    {
        return Err(damaged(invalid("key group", format!("less than {key_groups}"), group)));
    }
    reader.verify()?;
    Ok(Known { entry: *entry, epoch: epoch.number, phase: epoch.phase, count: reader.len() })
}
