//! What the tests share: guards, tuples, places that fail or count, and a clock that is told the time.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax::replay::state::{
    MemoryStorage, SegmentReader, Storage, StorageError, StoredObject, read,
};
use hapax::replay::*;

/// A window of 10,000 tuples in 15 epochs. The rate is such that no test meets a false positive.
pub(crate) fn builder() -> ReplayGuardBuilder {
    builder_of(Placement::AfterOutput)
}

pub(crate) fn builder_of(placement: Placement) -> ReplayGuardBuilder {
    ReplayGuard::builder(placement)
        .window(10_000)
        .max_in_flight(1_000)
        .loss_per_recovery(1e-6, 1_000)
        .on_full(OnFull::Rotate)
}

/// A delivery that upstream says to be repeated, and of which it says nothing else: the filter alone
/// can tell.
pub(crate) const REPEATED: Delivery = Delivery::redelivered(true);

/// One that upstream says to be new.
pub(crate) const FRESH: Delivery = Delivery::redelivered(false);

/// Judges a tuple whose route is its id, and commits it if it passes.
pub(crate) fn passes(guard: &mut ReplayGuard, id: u64, delivery: impl Into<Delivery>) -> bool {
    match guard.admit(&id, &id, delivery).unwrap() {
        Verdict::First(ticket) => {
            ticket.commit();
            true
        }
        Verdict::Replay | Verdict::Probable(Action::Drop) => false,
        other => panic!("{id}: {other:?}"),
    }
}

/// Processes tuples, each at the position of channel 0 that is its id, and gives how many passed.
pub(crate) fn process(guard: &mut ReplayGuard, ids: std::ops::Range<u64>) -> u64 {
    ids.filter(|&id| passes(guard, id, Position::new(0, id))).count() as u64
}

/// The ids that the filters know, of those below `end`; nothing changes.
pub(crate) fn remembered(guard: &mut ReplayGuard, end: u64) -> BTreeSet<u64> {
    let known = |id: &u64| match guard.admit(id, id, REPEATED).unwrap() {
        // The ticket is dropped: the tuple was not processed.
        Verdict::First(_) => false,
        Verdict::Probable(Action::Drop) | Verdict::Replay => true,
        other => panic!("{id}: {other:?}"),
    };
    (0..end).filter(known).collect()
}

pub(crate) fn set(ids: std::ops::Range<u64>) -> BTreeSet<u64> {
    ids.collect()
}

/// Opens a guard that is expected to be there.
pub(crate) fn reopen(
    builder: ReplayGuardBuilder,
    storage: impl Storage + 'static,
) -> (ReplayGuard, state::Restored) {
    match builder.open(storage).unwrap() {
        (guard, Opened::Restored(restored)) => (guard, restored),
        (_, other) => panic!("{other:?}"),
    }
}

/// Digests of the newest state by key group, all epochs together.
pub(crate) fn digests_by_group(storage: &dyn Storage) -> Vec<(u16, u64)> {
    let (manifest, _) = read(storage).unwrap();
    let mut counts = std::collections::BTreeMap::new();
    for entry in manifest.contents.segments() {
        for (group, count) in SegmentReader::open(storage, entry).unwrap().groups() {
            *counts.entry(group).or_insert(0) += count;
        }
    }
    counts.into_iter().collect()
}

/// The same objects elsewhere, one of them changed.
pub(crate) fn with_object(storage: &MemoryStorage, name: &str, bytes: &[u8]) -> MemoryStorage {
    let other = MemoryStorage::default();
    for StoredObject { name: there, len } in storage.list().unwrap() {
        let whole = storage.get(&there, len).unwrap();
        other.put_new(&there, if there == name { bytes } else { &whole }).unwrap();
    }
    other
}

/// A clock that stands still until it is told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Watch(Arc<AtomicU64>);

impl Watch {
    pub(crate) fn at(seconds: u64) -> Self {
        let watch = Self::default();
        watch.pass(seconds);
        watch
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.0.fetch_add(seconds, Ordering::Relaxed);
    }
}

impl Clock for Watch {
    fn now(&self) -> Duration {
        Duration::from_secs(self.0.load(Ordering::Relaxed))
    }
}

/// What happens at the operation at which a process is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kill {
    /// It is not done.
    Before,
    /// It is done, but nobody learns of it.
    After,
}

/// A place that counts what is done, and fails from one operation on.
#[derive(Clone, Debug)]
pub(crate) struct Watched {
    place: MemoryStorage,
    kill: Kill,
    at: u64,
    operations: Arc<AtomicU64>,
    written: Arc<AtomicU64>,
}

impl Watched {
    pub(crate) fn new(place: &MemoryStorage) -> Self {
        Self::killed(place, Kill::Before, u64::MAX)
    }

    pub(crate) fn killed(place: &MemoryStorage, kill: Kill, at: u64) -> Self {
        let (operations, written) = (Arc::default(), Arc::default());
        Self { place: place.clone(), kill, at, operations, written }
    }

    pub(crate) fn operations(&self) -> u64 {
        self.operations.load(Ordering::Relaxed)
    }

    /// Bytes written since this was last asked.
    pub(crate) fn take_written(&self) -> u64 {
        self.written.swap(0, Ordering::Relaxed)
    }

    fn run<T>(&self, run: impl FnOnce() -> Result<T, StorageError>) -> Result<T, StorageError> {
        let now = self.operations.fetch_add(1, Ordering::Relaxed);
        if now < self.at {
            return run();
        }
        if now == self.at && self.kill == Kill::After {
            run()?;
        }
        Err(StorageError::Io { object: "place".into(), source: io::Error::other("killed") })
    }
}

impl Storage for Watched {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        self.run(|| self.place.put_new(name, bytes))
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        self.run(|| self.place.get(name, max_len))
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        self.run(|| self.place.get_range(name, offset, len))
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        self.run(|| self.place.list())
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.run(|| self.place.delete(name))
    }
}
