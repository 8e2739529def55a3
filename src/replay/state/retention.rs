//! Deleting what nobody needs, erasing a state, and copying one.

use std::collections::BTreeSet;

use super::error::StateError;
use super::names::{Listing, SegmentId, manifest_name};
use super::restore::{ATTEMPTS, Found, Lineage, find, read_manifest};
use super::storage::{Storage, StorageError};
use super::store::StateStore;

/// What was deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Collected {
    /// Manifests.
    pub manifests: u64,
    /// Segments.
    pub segments: u64,
}

impl<S: Storage> StateStore<S> {
    /// Deletes manifests beyond those that are [kept](Self::keep), and segments that no kept one names.
    ///
    /// A segment that is written and not yet published stays, and so does what a writer may be
    /// about to publish who takes the state over meanwhile. Reads the kept manifests, and may be
    /// repeated or left out at will.
    ///
    /// # Errors
    ///
    /// [`StateError::Fenced`], [`StateError::Vanished`], [`StateError::Storage`]; what is left is
    /// deleted the next time.
    pub fn collect(&mut self) -> Result<Collected, StateError> {
        self.collect_before(u64::MAX)
    }

    /// As [`collect`](Self::collect), where something outside of the state may still name the manifest
    /// of this number or a later one: they are all kept.
    ///
    /// # Errors
    ///
    /// As [`collect`](Self::collect).
    pub fn collect_before(&mut self, number: u64) -> Result<Collected, StateError> {
        self.require_current()?;
        let listing = self.require_newest()?;
        let (obsolete, needed) = self.obsolete_manifests(&listing, number)?;
        let mut collected = Collected::default();
        // Manifests first, oldest first: none is left whose segments are gone.
        for number in obsolete {
            self.storage.delete(&manifest_name(number))?;
            collected.manifests += 1;
        }
        // Those of later writers are theirs, whatever this one knows of them.
        let ours = |id: &&SegmentId| id.writer <= self.writer && !needed.contains(id);
        for id in listing.segments.keys().filter(ours) {
            self.storage.delete(&id.to_string())?;
            collected.segments += 1;
        }
        Ok(collected)
    }

    /// The manifests that may go, ascending, and the segments that the others name.
    fn obsolete_manifests(
        &mut self,
        listing: &Listing,
        before: u64,
    ) -> Result<(Vec<u64>, BTreeSet<SegmentId>), StateError> {
        let mut obsolete = Vec::new();
        // Whatever has become of the manifest, the next one will name what this writer knows; and
        // so will that of a writer who takes the state over now.
        let mut needed: BTreeSet<_> = self.segments.keys().copied().collect();
        let mut states = 0;
        let mut lineage = Lineage::default();
        for &number in listing.manifests.keys().rev() {
            if states >= self.keep.get() && number < before {
                obsolete.push(number);
                continue;
            }
            let manifest = match read_manifest(&self.storage, number) {
                Ok(manifest) => manifest,
                Err(StateError::Storage(StorageError::NotFound { .. })) => {
                    // Deleted since the listing, by one who has taken the state over.
                    self.require_newest()?;
                    continue;
                }
                // It is looked into when it is old enough to go.
                Err(error) if error.is_damage() => continue,
                Err(error) => return Err(error),
            };
            // That of taking over says what its predecessor says.
            let superfluous = manifest.is_claim() && number != self.number && number < before;
            if lineage.admit(&manifest).is_err() || superfluous {
                obsolete.push(number);
                continue;
            }
            states += u32::from(!manifest.is_claim());
            needed.extend(manifest.contents.segments().map(|entry| entry.id));
        }
        obsolete.reverse();
        Ok((obsolete, needed))
    }
}

/// What a reset has erased.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Erased {
    /// Manifests.
    pub manifests: u64,
    /// Segments.
    pub segments: u64,
    /// Tuples that the newest readable manifest remembered: so many will pass again if they are
    /// replayed.
    /// `None` if no manifest can be read.
    pub tuples: Option<u64>,
}

/// Erases a state, whole or damaged. Stop its writer first. Stopped halfway, it leaves the newest
/// state or an error, and can be repeated.
///
/// # Errors
///
/// [`StateError::Storage`].
pub fn reset(storage: &dyn Storage) -> Result<Erased, StateError> {
    let listing = Listing::read(storage)?;
    let mut tuples = None;
    for &number in listing.manifests.keys().rev() {
        if let Ok(manifest) = read_manifest(storage, number) {
            let lens = manifest.contents.epochs.iter().map(|epoch| epoch.len);
            tuples = Some(lens.fold(0, u64::saturating_add));
            break;
        }
    }
    // The newest manifest last of them, and segments after: an older state never becomes the newest.
    for &number in listing.manifests.keys() {
        storage.delete(&manifest_name(number))?;
    }
    for id in listing.segments.keys() {
        storage.delete(&id.to_string())?;
    }
    Ok(Erased {
        manifests: listing.manifests.len() as u64,
        segments: listing.segments.len() as u64,
        tuples,
    })
}

/// Copies the newest whole state of one place, in use or not, to an empty one, and returns its
/// number. The manifest is written last, so half a copy is not taken for a state.
///
/// Reads the state twice and takes memory for its largest segment.
///
/// # Errors
///
/// [`StateError::Occupied`] if the second place is not empty; otherwise as [`read`](super::read).
pub fn copy(from: &dyn Storage, to: &dyn Storage) -> Result<u64, StateError> {
    let there = Listing::read(to)?;
    if !there.is_empty() {
        return Err(StateError::Occupied {
            manifests: there.manifests.len() as u64,
            segments: there.segments.len() as u64,
        });
    }
    let mut copied = BTreeSet::new();
    for _ in 0..ATTEMPTS {
        let (_, found) = find(from)?;
        match copy_segments(from, to, &found, &mut copied) {
            Ok(()) => {
                to.put_new(&found.manifest.name(), &found.manifest.encode()?)?;
                return Ok(found.manifest.number);
            }
            // Its owner has gone on and has deleted it meanwhile.
            Err(StateError::Storage(StorageError::NotFound { .. })) => {}
            Err(error) => return Err(error),
        }
    }
    Err(StateError::Contended { attempts: ATTEMPTS })
}

fn copy_segments(
    from: &dyn Storage,
    to: &dyn Storage,
    found: &Found,
    copied: &mut BTreeSet<SegmentId>,
) -> Result<(), StateError> {
    for entry in found.manifest.contents.segments() {
        if !copied.contains(&entry.id) {
            let name = entry.id.to_string();
            to.put_new(&name, &from.get(&name, entry.len)?)?;
            copied.insert(entry.id);
        }
    }
    Ok(())
}
