//! A process that dies, a place that fails: at every single operation.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::super::*;
use super::script::{Told, digests, live};
use super::{at, everything};

/// What happens at the chosen operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// It is not done, and neither is anything after it: the process is killed.
    KilledBefore,
    /// It is done, and nothing after it.
    KilledAfter,
    /// A write leaves half of the object under its name, and the process is killed.
    Torn,
    /// It is not done, and the next one is.
    FailsOnce,
    /// It is done, the answer is lost, and the next one is answered.
    AnswerLostOnce,
}

#[derive(Clone, Debug)]
struct Faulty {
    storage: MemoryStorage,
    fault: Fault,
    at: u64,
    operations: Arc<AtomicU64>,
}

impl Faulty {
    fn new(storage: &MemoryStorage, fault: Fault, at: u64) -> Self {
        Self { storage: storage.clone(), fault, at, operations: Arc::default() }
    }

    fn run<T>(
        &self,
        operation: impl FnOnce() -> Result<T, StorageError>,
        torn: impl FnOnce(),
    ) -> Result<T, StorageError> {
        let now = self.operations.fetch_add(1, Ordering::Relaxed);
        let failed = || Err(StorageError::io("storage", io::Error::other("injected")));
        match self.fault {
            _ if now < self.at => operation(),
            Fault::FailsOnce | Fault::AnswerLostOnce if now > self.at => operation(),
            Fault::KilledAfter | Fault::AnswerLostOnce if now == self.at => {
                operation()?;
                failed()
            }
            Fault::Torn if now == self.at => {
                torn();
                failed()
            }
            _ => failed(),
        }
    }
}

impl Storage for Faulty {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let put = |bytes| self.storage.put_new(name, bytes);
        let torn = || drop(put(&bytes[..bytes.len() / 2]));
        self.run(|| put(bytes), torn)
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        self.run(|| self.storage.get(name, max_len), || ())
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        self.run(|| self.storage.get_range(name, offset, len), || ())
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        self.run(|| self.storage.list(), || ())
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.run(|| self.storage.delete(name), || ())
    }
}

/// How many operations a life takes when all goes well.
fn operations_of_a_life() -> u64 {
    let faulty = Faulty::new(&MemoryStorage::default(), Fault::KilledBefore, u64::MAX);
    live(&faulty, &mut Told::default()).unwrap();
    faulty.operations.load(Ordering::Relaxed)
}

#[test]
fn a_process_killed_at_any_operation_leaves_the_state_before_or_after_it() {
    let operations = operations_of_a_life();
    assert!(operations > 40, "{operations}");
    for fault in [Fault::KilledBefore, Fault::KilledAfter, Fault::Torn] {
        let mut taken_before_told = 0;
        for at in 0..operations {
            let storage = MemoryStorage::default();
            let mut told = Told::default();
            live(&Faulty::new(&storage, fault, at), &mut told).unwrap_err();
            let case = format!("{fault:?} at {at}: {told:?}");

            let (contents, found) = match everything(&storage) {
                Ok(everything) => everything,
                // A torn first manifest is all there is; it was never told to be there.
                Err(StateError::Nothing | StateError::NoneVerifies { .. }) => {
                    assert_eq!(told.done, None, "{case}");
                    continue;
                }
                Err(error) => panic!("{case}: {error}"),
            };
            let progress = String::from_utf8(contents.progress).unwrap();
            assert_eq!(found, digests(&progress), "{case}");
            if told.done.as_ref() != Some(&progress) {
                assert_eq!(told.begun.as_ref(), Some(&progress), "{case}");
                taken_before_told += 1;
            }
            goes_on(&storage, &progress, &case);
        }
        // A manifest is there and not yet told of: after its writing, five times, and at the look
        // after it, which creating leaves out.
        let expected = if fault == Fault::KilledAfter { 9 } else { 4 };
        assert_eq!(taken_before_told, expected, "{fault:?}");
    }
}

/// Opens what a crash has left, publishes, seals, collects; nothing superfluous stays.
fn goes_on(storage: &MemoryStorage, progress: &str, case: &str) {
    let (mut store, _) = StateStore::open(storage.clone()).unwrap();
    assert_eq!(store.contents().progress, progress.as_bytes(), "{case}");
    for step in ["one more", "two more"] {
        let mut next = at(&store, step);
        for epoch in &mut next.epochs {
            if epoch.phase == Phase::Active {
                *epoch = store.seal(epoch).unwrap();
            }
        }
        store.publish(next).unwrap();
    }
    store.collect().unwrap();
    let named = store.contents().segments().count();
    let rows = storage.list().unwrap();
    let segments = rows.iter().filter(|row| row.name.starts_with("segment")).count();
    assert_eq!((segments, rows.len() - segments), (named, 2), "{case}: {rows:?}");
}

#[test]
fn a_place_that_fails_once_can_be_asked_again() {
    for fault in [Fault::FailsOnce, Fault::AnswerLostOnce] {
        let operations = operations_of_a_life();
        for at in 0..operations {
            let storage = MemoryStorage::default();
            let faulty = Faulty::new(&storage, fault, at);
            publishes_in_the_end(&faulty).unwrap();
            let (contents, _) = everything(&storage).unwrap();
            assert_eq!(contents.progress, b"step 4", "{fault:?} at {at}");
            assert_eq!(contents.epochs[0].len, 5, "{fault:?} at {at}");
        }
    }
}

/// Five checkpoints of a digest each, every step tried twice.
fn publishes_in_the_end(storage: &Faulty) -> Result<(), StateError> {
    let create = || StateStore::create(storage.clone(), super::contents());
    let mut store = match create() {
        Ok(store) => store,
        Err(StateError::Storage(_)) => match create() {
            Ok(store) => store,
            Err(StateError::Occupied { .. }) => StateStore::open(storage.clone())?.0,
            Err(error) => return Err(error),
        },
        Err(error) => return Err(error),
    };
    for step in 0..5 {
        let mut put = || store.put_segment(1, Phase::Active, &[(4, &[step])]);
        let segment = put().or_else(|_| put())?;
        let mut next = at(&store, &format!("step {step}"));
        match next.epochs.first_mut() {
            Some(epoch) => {
                epoch.len += 1;
                epoch.segments.push(segment);
            }
            None => next.epochs.push(super::epoch(1, Phase::Active, 1, vec![segment])),
        }
        store.publish(next.clone()).or_else(|_| store.publish(next))?;
        let _ = store.collect();
    }
    Ok(())
}

/// Writes everything twice, as a client does whose first answer was lost on the way.
#[derive(Clone, Debug)]
struct Repeating(MemoryStorage);

impl Storage for Repeating {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.put_new(name, bytes)?;
        self.0.put_new(name, bytes)
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        self.0.get(name, max_len)
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        self.0.get_range(name, offset, len)
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        self.0.list()
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.0.delete(name)
    }
}

#[test]
fn a_place_that_repeats_a_write_is_not_taken_for_another_writer() {
    let storage = Repeating(MemoryStorage::default());
    live(&storage, &mut Told::default()).unwrap();
    assert_eq!(everything(&storage).unwrap().1, digests("at 6, epoch 1 retired"));
}

#[test]
fn a_place_that_fails_is_no_reason_to_go_back() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    for at in 0.. {
        let faulty = Faulty::new(&storage, Fault::FailsOnce, at);
        match StateStore::open(faulty) {
            Err(StateError::Storage(StorageError::Io { .. })) => {}
            Ok((store, restored)) => {
                assert_eq!(restored.skipped.len(), 0);
                assert_eq!(store.contents().progress, b"at 6, epoch 1 retired");
                if store.storage().operations.load(Ordering::Relaxed) <= at {
                    assert!(at >= 6, "{at}");
                    break;
                }
            }
            Err(error) => panic!("{at}: {error}"),
        }
    }
}

#[test]
fn a_reset_stopped_anywhere_leaves_the_newest_state_or_none() {
    for fault in [Fault::KilledBefore, Fault::KilledAfter] {
        for at in 0.. {
            let storage = MemoryStorage::default();
            live(&storage, &mut Told::default()).unwrap();
            if reset(&Faulty::new(&storage, fault, at)).is_ok() {
                assert!(at > 4, "{at}");
                break;
            }
            match everything(&storage) {
                Ok((contents, _)) => assert_eq!(contents.progress, b"at 6, epoch 1 retired"),
                Err(StateError::NoManifest { .. } | StateError::Nothing) => {}
                Err(error) => panic!("{fault:?} at {at}: {error}"),
            }
            reset(&storage).unwrap();
            assert_eq!(storage.list().unwrap(), []);
        }
    }
}
