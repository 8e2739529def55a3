//! The one writer of a state.

use std::collections::BTreeSet;
use std::hash::{BuildHasher, RandomState};
use std::num::NonZeroU32;
use std::time::SystemTime;

use super::contents::{Contents, EpochEntry, SegmentEntry};
use super::error::StateError;
use super::manifest::Manifest;
use super::names::{Listing, SegmentId};
use super::restore::{ATTEMPTS, Found, Known, Restored, Segments, find, find_at, read_manifest};
use super::segment::{self, Encoded, Phase, SegmentReader};
use super::storage::{Storage, StorageError};

/// The state of a guard in a [`Storage`], open for writing.
///
/// A checkpoint writes segments and then publishes a manifest that names them. Until the manifest is
/// there the state is the one before; a crash at any point leaves one of the two.
///
/// # One writer
///
/// Opening takes the state over: it publishes what is there under the next number, which becomes
/// the writer's *fencing number*. Each manifest has its number once, so a writer that was taken for
/// dead finds its next number taken and gets [`StateError::Fenced`], from then on and for
/// everything. A writer acknowledges to upstream only what [`publish`](Self::publish) has returned
/// for.
///
/// # Examples
///
/// ```
/// use hapax::replay::state::{Contents, EpochEntry, MemoryStorage, Phase, StateStore};
///
/// let storage = MemoryStorage::default();
/// let contents = Contents {
///     key_groups: 128,
///     first_group: 0,
///     last_group: 127,
///     parameters: b"how to read it".to_vec(),
///     progress: b"position 0".to_vec(),
///     epochs: vec![],
/// };
/// let mut store = StateStore::create(storage.clone(), contents)?;
///
/// let segment = store.put_segment(7, Phase::Active, &[(3, &[11, 12]), (90, &[13])])?;
/// let mut contents = store.contents().clone();
/// contents.progress = b"position 3".to_vec();
/// let (meta, segments) = (vec![], vec![segment]);
/// contents.epochs.push(EpochEntry { number: 7, phase: Phase::Active, len: 3, meta, segments });
/// store.publish(contents)?;
/// drop(store); // a crash would do
///
/// let (store, restored) = StateStore::open(storage)?;
/// assert!(restored.skipped.is_empty());
/// assert_eq!(store.contents().progress, b"position 3");
/// assert_eq!(store.reader(&segment)?.read_group(3)?, [11, 12]);
/// # Ok::<(), hapax::replay::state::StateError>(())
/// ```
#[derive(Debug)]
pub struct StateStore<S> {
    pub(super) storage: S,
    pub(super) writer: u64,
    token: u64,
    /// The manifest that this writer has published last.
    pub(super) number: u64,
    contents: Contents,
    /// Segments that may be published: those of the contents, and those written since.
    pub(super) segments: Segments,
    /// The next segment's.
    counter: u64,
    pub(super) keep: NonZeroU32,
    fenced_by: Option<u64>,
}

/// The first manifest.
const FIRST: u64 = 1;

/// States that are kept unless it is said otherwise: the newest, and one to go back to.
const KEEP: NonZeroU32 = NonZeroU32::MIN.saturating_add(1);

impl<S: Storage> StateStore<S> {
    /// Begins a state in a place without one. `contents` has no segments yet.
    ///
    /// # Errors
    ///
    /// [`StateError::Occupied`] if there is a state or what is left of one, which only
    /// [`reset`](super::reset) erases; [`StateError::Invalid`]; [`StateError::Storage`].
    pub fn create(storage: S, contents: Contents) -> Result<Self, StateError> {
        let listing = Listing::read(&storage)?;
        if !listing.is_empty() {
            return Err(occupied(&listing));
        }
        let token = token();
        let manifest = Manifest { number: FIRST, writer: FIRST, token, previous: 0, contents };
        check_segments(&manifest.contents, &Segments::new())?;
        if !put(&storage, &manifest)? {
            return Err(occupied(&Listing::read(&storage)?));
        }
        Ok(Self::new(storage, manifest, Segments::new()))
    }

    /// As [`create`](Self::create), for a state whose first manifest already names segments. It is to
    /// be published when they are written; what a crash leaves until then is refused as
    /// [`StateError::NoManifest`], and never taken for an empty state.
    pub(in crate::replay) fn draft(storage: S, contents: Contents) -> Result<Self, StateError> {
        let listing = Listing::read(&storage)?;
        if !listing.is_empty() {
            return Err(occupied(&listing));
        }
        let manifest = Manifest { number: 0, writer: FIRST, token: token(), previous: 0, contents };
        Ok(Self::new(storage, manifest, Segments::new()))
    }

    /// Takes over the newest state of which every byte verifies. If that is not the newest one
    /// there is, [`Restored`] says which were passed over and why.
    ///
    /// Reads the whole state once.
    ///
    /// # Errors
    ///
    /// Never an empty state: [`StateError::Nothing`] in an empty place,
    /// [`StateError::NoManifest`] if the manifests are gone, [`StateError::NoneVerifies`] if
    /// all are damaged. [`StateError::Damaged`] for a format of a newer release, and
    /// [`StateError::Storage`] if the place fails: neither makes an older state the right one.
    /// [`StateError::Contended`] if another writer goes on publishing.
    pub fn open(storage: S) -> Result<(Self, Restored), StateError> {
        Self::claim(storage, find)
    }

    /// Takes over the state that a manifest says, and no other: one that something outside of the
    /// state names. What was published after it is given up.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); [`StateError::Storage`] if the manifest is not there, and
    /// [`StateError::Damaged`] if it or what it names is not whole.
    pub fn open_at(storage: S, number: u64) -> Result<Self, StateError> {
        Self::claim(storage, |storage| find_at(storage, number)).map(|(store, _)| store)
    }

    fn claim(
        storage: S,
        find: impl Fn(&dyn Storage) -> Result<(Listing, Found), StateError>,
    ) -> Result<(Self, Restored), StateError> {
        for _ in 0..ATTEMPTS {
            let (listing, found) = find(&storage)?;
            let Some(number) = listing.next_number() else {
                let expected = "less than 2^64";
                return Err(StateError::invalid("number of a manifest", expected, u64::MAX));
            };
            let previous = found.manifest.number;
            let contents = found.manifest.contents;
            let claim = Manifest { number, writer: number, token: token(), previous, contents };
            // Another writer may have published the number, or have deleted it and be beyond.
            if put(&storage, &claim)? && Listing::read(&storage)?.newest() == Some(number) {
                return Ok((Self::new(storage, claim, found.segments), found.restored));
            }
        }
        Err(StateError::Contended { attempts: ATTEMPTS })
    }

    fn new(storage: S, manifest: Manifest, segments: Segments) -> Self {
        let Manifest { number, writer, token, previous: _, contents } = manifest;
        Self {
            storage,
            writer,
            token,
            number,
            contents,
            segments,
            counter: 0,
            keep: KEEP,
            fenced_by: None,
        }
    }

    /// How many states [`collect`](Self::collect) keeps, the newest included; 2 unless it is said
    /// otherwise. Taking over does not count as a state.
    #[must_use]
    pub fn keep(mut self, states: NonZeroU32) -> Self {
        self.keep = states;
        self
    }

    /// The state that was published last.
    #[must_use]
    pub const fn contents(&self) -> &Contents {
        &self.contents
    }

    /// The number of the manifest that was published last.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }

    /// The fencing number of this writer.
    #[must_use]
    pub const fn writer(&self) -> u64 {
        self.writer
    }

    /// Where the state is.
    #[must_use]
    pub const fn storage(&self) -> &S {
        &self.storage
    }

    /// Opens a segment.
    ///
    /// # Errors
    ///
    /// As [`SegmentReader::open`].
    pub fn reader(&self, entry: &SegmentEntry) -> Result<SegmentReader<'_>, StateError> {
        SegmentReader::open(&self.storage, entry)
    }

    /// Writes digests of an epoch by key group. They are part of the state once it is published with
    /// the entry that this returns; a segment that the next publishing does not name is given up.
    ///
    /// Takes memory for the segment, 8 bytes a digest and 24 a key group.
    ///
    /// # Errors
    ///
    /// [`StateError::Invalid`] for a key group that there is not; [`StateError::Fenced`];
    /// [`StateError::Storage`].
    pub fn put_segment(
        &mut self,
        epoch: u64,
        phase: Phase,
        runs: &[(u16, &[u64])],
    ) -> Result<SegmentEntry, StateError> {
        self.require_current()?;
        let key_groups = self.contents.key_groups;
        if let Some((group, _)) = runs.iter().find(|(group, _)| u32::from(*group) >= key_groups) {
            return Err(StateError::invalid("key group", format!("less than {key_groups}"), group));
        }
        let encoded = segment::encode(epoch, phase, runs)
            .map_err(|error| StateError::damaged("a new segment", error))?;
        self.put_encoded(epoch, phase, &encoded)
    }

    /// Writes the segments of an epoch as one, in the order of key groups, and returns the sealed entry
    /// to publish in place of the active one.
    ///
    /// Reads each segment once. Takes memory for the epoch, 8 bytes a digest, and 8 MiB.
    ///
    /// # Errors
    ///
    /// [`StateError::Invalid`] if the epoch is sealed already or has segments that are not in the
    /// state; [`StateError::Damaged`]; [`StateError::Fenced`]; [`StateError::Storage`].
    pub fn seal(&mut self, epoch: &EpochEntry) -> Result<EpochEntry, StateError> {
        self.join_as(epoch, Phase::Sealed)
    }

    /// Writes the segments of an active epoch as one, and returns the entry to publish in place of
    /// theirs: an epoch that checkpoints add little to would have as many segments as checkpoints.
    ///
    /// Cost and memory of [`seal`](Self::seal).
    ///
    /// # Errors
    ///
    /// As [`seal`](Self::seal).
    pub fn join(&mut self, epoch: &EpochEntry) -> Result<EpochEntry, StateError> {
        self.join_as(epoch, Phase::Active)
    }

    fn join_as(&mut self, epoch: &EpochEntry, into: Phase) -> Result<EpochEntry, StateError> {
        self.require_current()?;
        let EpochEntry { number, phase, len, ref meta, ref segments } = *epoch;
        if phase == Phase::Sealed {
            return Err(StateError::invalid("epoch to seal", "an active one", phase));
        }
        check_epoch(epoch, &self.segments)?;
        let readers: Vec<_> =
            segments.iter().map(|entry| self.reader(entry)).collect::<Result<_, _>>()?;
        let encoded = segment::join(number, into, &readers)?;
        drop(readers);
        let segments = match len {
            0 => vec![],
            _ => vec![self.put_encoded(number, into, &encoded)?],
        };
        Ok(EpochEntry { number, phase: into, len, meta: meta.clone(), segments })
    }

    /// Publishes a state, which then is the one that a restart finds, and returns its number. One
    /// write and two listings.
    ///
    /// # Errors
    ///
    /// [`StateError::Invalid`] if the number of key groups changes, if a segment is neither in the
    /// state nor written since, or if lengths do not add up; [`StateError::Fenced`];
    /// [`StateError::Vanished`]. After [`StateError::Storage`] the state may have been published
    /// all the same: publish again, this one or a later one.
    pub fn publish(&mut self, contents: Contents) -> Result<u64, StateError> {
        self.require_current()?;
        let (found, expected) = (contents.key_groups, self.contents.key_groups);
        if found != expected {
            return Err(StateError::invalid("number of key groups", expected, found));
        }
        check_segments(&contents, &self.segments)?;
        let (writer, token) = (self.writer, self.token);
        let mut manifest = Manifest { number: 0, writer, token, previous: 0, contents };
        for _ in 0..ATTEMPTS {
            self.require_newest()?;
            manifest.previous = self.number;
            manifest.number = self.number.saturating_add(1);
            // If the number is taken, the next look says by whom.
            if put(&self.storage, &manifest)? {
                return self.confirm(manifest);
            }
        }
        Err(StateError::Contended { attempts: ATTEMPTS })
    }

    /// Makes a manifest that was put the state, unless another writer has it.
    fn confirm(&mut self, manifest: Manifest) -> Result<u64, StateError> {
        self.number = manifest.number;
        // The number may have been free only because whoever took over has deleted it since.
        self.require_newest()?;
        self.contents = manifest.contents;
        let published: BTreeSet<_> = self.contents.segments().map(|entry| entry.id).collect();
        self.segments.retain(|id, _| published.contains(id));
        Ok(self.number)
    }

    fn put_encoded(
        &mut self,
        epoch: u64,
        phase: Phase,
        encoded: &Encoded,
    ) -> Result<SegmentEntry, StateError> {
        let Encoded { bytes, checksum, count } = encoded;
        let id = SegmentId { writer: self.writer, counter: self.counter };
        // Also if it fails: the object may be there all the same.
        self.counter += 1;
        let name = id.to_string();
        if !put_or_find(&self.storage, &name, bytes)? {
            return Err(StorageError::AlreadyExists { object: name }.into());
        }
        let entry = SegmentEntry { id, len: bytes.len() as u64, checksum: *checksum };
        self.segments.insert(id, Known { entry, epoch, phase, count: *count });
        Ok(entry)
    }

    pub(super) fn require_current(&self) -> Result<(), StateError> {
        match self.fenced_by {
            None => Ok(()),
            Some(by) => Err(StateError::Fenced { by, ours: self.writer }),
        }
    }

    /// Checks that nobody has published after this writer, and that what it has published is there.
    pub(super) fn require_newest(&mut self) -> Result<Listing, StateError> {
        let listing = Listing::read(&self.storage)?;
        let newest = listing.newest().unwrap_or(0);
        if newest > self.number {
            let other = match read_manifest(&self.storage, newest) {
                Ok(other) => other,
                // Another writer is so far beyond that it has deleted it already.
                Err(StateError::Storage(StorageError::NotFound { .. })) => {
                    return Err(self.fence(newest));
                }
                Err(error) => return Err(error),
            };
            if other.token != self.token {
                return Err(self.fence(other.writer));
            }
            // Our own, of which we did not learn that it had been published.
            self.number = newest;
        }
        let is_draft = self.number == 0 && listing.manifests.is_empty();
        if is_draft || listing.manifests.contains_key(&self.number) {
            return Ok(listing);
        }
        Err(StateError::Vanished { object: super::names::manifest_name(self.number) })
    }

    fn fence(&mut self, by: u64) -> StateError {
        self.fenced_by = Some(by);
        StateError::Fenced { by, ours: self.writer }
    }
}

/// Takes a state from its writer without going on with it, which then can publish nothing more. To be
/// done to the states of old owners before their key groups are given to new ones.
///
/// # Errors
///
/// As [`StateStore::open`].
pub fn take_over(storage: impl Storage) -> Result<Restored, StateError> {
    StateStore::open(storage).map(|(_, restored)| restored)
}

fn occupied(listing: &Listing) -> StateError {
    StateError::Occupied {
        manifests: listing.manifests.len() as u64,
        segments: listing.segments.len() as u64,
    }
}

/// Publishes a manifest, or finds its number taken by another writer: `false`.
fn put(storage: &dyn Storage, manifest: &Manifest) -> Result<bool, StateError> {
    put_or_find(storage, &manifest.name(), &manifest.encode()?)
}

/// Writes an object, or finds the name taken by other bytes: `false`. A place that has lost its
/// answer and tries again by itself finds its own.
fn put_or_find(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<bool, StateError> {
    match storage.put_new(name, bytes) {
        Ok(()) => Ok(true),
        Err(StorageError::AlreadyExists { .. }) => match storage.get(name, bytes.len() as u64) {
            Ok(there) => Ok(there == bytes),
            Err(StorageError::NotFound { .. } | StorageError::TooLong { .. }) => Ok(false),
            Err(error) => Err(error.into()),
        },
        Err(error) => Err(error.into()),
    }
}

/// Checks that a state can be restored once it is published.
fn check_segments(contents: &Contents, segments: &Segments) -> Result<(), StateError> {
    contents.epochs.iter().try_for_each(|epoch| check_epoch(epoch, segments))
}

fn check_epoch(epoch: &EpochEntry, segments: &Segments) -> Result<(), StateError> {
    let mut len = 0u64;
    for entry in &epoch.segments {
        let expected = "one of the state, or written since it was published";
        let Some(known) = segments.get(&entry.id).filter(|known| known.entry == *entry) else {
            return Err(StateError::invalid("segment", expected, entry.id));
        };
        if (known.epoch, known.phase) != (epoch.number, epoch.phase) {
            return Err(StateError::invalid(
                "segment",
                format!("one of the {} epoch {}", epoch.phase, epoch.number),
                format!("{} of the {} epoch {}", entry.id, known.phase, known.epoch),
            ));
        }
        len = len.saturating_add(known.count);
    }
    if len == epoch.len {
        return Ok(());
    }
    let found = format!("{} in epoch {}", epoch.len, epoch.number);
    Err(StateError::invalid("length of an epoch", len, found))
}

/// A number that no other writer has: the standard library's keys come from the system's randomness.
fn token() -> u64 {
    RandomState::new().hash_one((std::process::id(), SystemTime::now()))
}
