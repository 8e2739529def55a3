//! Two writers of one state: one of them is refused.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use super::super::*;
use super::{at, contents, everything};

#[test]
fn a_writer_that_was_replaced_is_refused_for_ever() {
    let storage = MemoryStorage::default();
    let mut zombie = StateStore::create(storage.clone(), contents()).unwrap();
    let (mut owner, _) = StateStore::open(storage.clone()).unwrap();
    assert_eq!((zombie.writer(), owner.writer()), (1, 2));

    for _ in 0..2 {
        let next = at(&zombie, "zombie");
        let refused = zombie.publish(next).unwrap_err();
        assert!(matches!(refused, StateError::Fenced { by: 2, ours: 1 }), "{refused}");
    }
    // Even where the number would be free again.
    let next = at(&owner, "owner");
    owner.publish(next).unwrap();
    reset(&storage).unwrap();
    let refused = [
        zombie.publish(contents()).map(drop),
        zombie.collect().map(drop),
        zombie.put_segment(1, Phase::Active, &[]).map(drop),
    ];
    for refused in refused {
        assert!(matches!(refused, Err(StateError::Fenced { by: 2, ours: 1 })), "{refused:?}");
    }
    let vanished = owner.publish(contents()).unwrap_err().to_string();
    assert!(vanished.contains("manifest-00000000000000000003, published by this"), "{vanished}");
}

#[test]
fn a_writer_that_was_replaced_long_ago_is_refused_though_its_number_is_free() {
    let storage = MemoryStorage::default();
    let mut zombie = StateStore::create(storage.clone(), contents()).unwrap();
    let (mut owner, _) = StateStore::open(storage.clone()).unwrap();
    for step in 0..5 {
        let next = at(&owner, &format!("owner {step}"));
        owner.publish(next).unwrap();
        owner.collect().unwrap();
    }
    assert_eq!(storage.list().unwrap().len(), 2);
    let next = at(&zombie, "zombie");
    let refused = zombie.publish(next).unwrap_err();
    assert!(matches!(refused, StateError::Fenced { by: 2, ours: 1 }), "{refused}");
    assert_eq!(everything(&storage).unwrap().0.progress, b"owner 4");
}

/// Does something just before a manifest is first written or read.
struct Stalled<F> {
    storage: MemoryStorage,
    /// What to stop at, and whether that is to come.
    stop: fn(Step) -> bool,
    armed: AtomicBool,
    meanwhile: F,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Put,
    Get,
}

impl<F: Fn()> Stalled<F> {
    fn stop(&self, step: Step, name: &str) {
        let here = name.starts_with("manifest") && (self.stop)(step);
        if here && self.armed.swap(false, Ordering::Relaxed) {
            (self.meanwhile)();
        }
    }
}

impl<F: Fn() + Send> Storage for Stalled<F> {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.stop(Step::Put, name);
        self.storage.put_new(name, bytes)
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        self.stop(Step::Get, name);
        self.storage.get(name, max_len)
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        self.storage.get_range(name, offset, len)
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        self.storage.list()
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.storage.delete(name)
    }
}

#[test]
fn a_writer_stopped_in_mid_publishing_is_refused_and_what_it_leaves_is_void() {
    let storage = MemoryStorage::default();
    StateStore::create(storage.clone(), contents()).unwrap();
    let owner = Arc::new(Mutex::new(None));
    let meanwhile = || {
        let (mut store, _) = StateStore::open(storage.clone()).unwrap();
        for step in 0..5 {
            let next = at(&store, &format!("owner {step}"));
            store.publish(next).unwrap();
            store.collect().unwrap();
        }
        *owner.lock().unwrap() = Some(store);
    };
    // Opening is stopped, and has no choice but to begin anew.
    let stop = |step| step == Step::Put;
    let stalled = Stalled { storage: storage.clone(), stop, armed: true.into(), meanwhile };
    let (zombie, _) = StateStore::open(stalled).unwrap();
    assert_eq!(zombie.contents().progress, b"owner 4");
    owner.lock().unwrap().take();

    // Publishing is stopped.
    zombie.storage().armed.store(true, Ordering::Relaxed);
    let mut zombie = zombie;
    let next = at(&zombie, "zombie");
    let refused = zombie.publish(next).unwrap_err();
    assert!(matches!(refused, StateError::Fenced { .. }), "{refused}");
    let mut owner = owner.lock().unwrap().take().unwrap();
    assert_eq!(everything(&storage).unwrap().0.progress, b"owner 4");

    // The zombie's manifest is there, below the owner's, and goes with the next that are too old.
    let zombies = zombie.number();
    let rows = storage.list().unwrap();
    let name = |number: u64| format!("manifest-{number:020}");
    assert!(rows.iter().any(|row| row.name == name(zombies)), "{rows:?}");
    let next = at(&owner, "owner 5");
    owner.publish(next).unwrap();
    owner.collect().unwrap();
    let rows = storage.list().unwrap();
    assert!(rows.iter().all(|row| row.name != name(zombies)), "{rows:?}");
}

/// While it decides what may go, another takes the state over, goes on from it and collects.
#[test]
fn a_writer_replaced_in_mid_collecting_deletes_nothing_that_is_needed() {
    let storage = MemoryStorage::default();
    let owner = Mutex::new(None);
    let meanwhile = || {
        let (mut store, _) = StateStore::open(storage.clone()).unwrap();
        for step in 0..5 {
            let next = at(&store, &format!("owner {step}"));
            store.publish(next).unwrap();
            store.collect().unwrap();
        }
        *owner.lock().unwrap() = Some(store);
    };
    let stop = |step| step == Step::Get;
    let stalled = Stalled { storage: storage.clone(), stop, armed: false.into(), meanwhile };
    let mut zombie = StateStore::create(stalled, contents()).unwrap();
    let segment = zombie.put_segment(1, Phase::Active, &[(4, &[1])]).unwrap();
    let mut next = at(&zombie, "zombie");
    next.epochs.push(super::epoch(1, Phase::Active, 1, vec![segment]));
    zombie.publish(next).unwrap();
    zombie.storage().armed.store(true, Ordering::Relaxed);
    let refused = zombie.collect().unwrap_err();
    assert!(matches!(refused, StateError::Fenced { by: 3, ours: 1 }), "{refused}");
    assert_eq!(everything(&storage).unwrap().1, [(1, 4, vec![1])]);
}

#[test]
fn a_void_manifest_is_passed_over() {
    let storage = MemoryStorage::default();
    let mut zombie = StateStore::create(storage.clone(), contents()).unwrap();
    let next = at(&zombie, "zombie");
    zombie.publish(next).unwrap();
    let bytes = storage.get("manifest-00000000000000000002", 1000).unwrap();
    storage.delete("manifest-00000000000000000002").unwrap();

    // The owner takes over at 2 and is at 3, which names a segment that is gone.
    let (mut owner, _) = StateStore::open(storage.clone()).unwrap();
    let segment = owner.put_segment(1, Phase::Active, &[(4, &[1])]).unwrap();
    let mut next = at(&owner, "owner");
    next.epochs.push(super::epoch(1, Phase::Active, 1, vec![segment]));
    owner.publish(next).unwrap();
    storage.delete(&segment.id.to_string()).unwrap();
    storage.delete("manifest-00000000000000000002").unwrap();
    storage.put_new("manifest-00000000000000000002", &bytes).unwrap();

    let (manifest, restored) = read(&storage).unwrap();
    assert_eq!(manifest.contents.progress, b"at 0");
    assert_eq!((restored.number, restored.skipped.len()), (1, 2));
    let void = restored.skipped[1].to_string();
    let expected = "expected 2, which had taken the state over, found 1";
    assert!(void.contains(expected), "{void}");
}

#[test]
fn of_threads_that_take_over_and_publish_each_state_continues_the_one_before() {
    let storage = MemoryStorage::default();
    drop(StateStore::create(storage.clone(), contents()).unwrap());
    let published: Vec<u64> = std::thread::scope(|scope| {
        let work = || {
            let mut published = 0;
            for _ in 0..50 {
                let mut store = match StateStore::open(storage.clone()) {
                    Ok((store, restored)) => {
                        assert!(restored.skipped.is_empty(), "{restored:?}");
                        store
                    }
                    Err(StateError::Contended { .. }) => continue,
                    Err(error) => panic!("{error}"),
                };
                for _ in 0..3 {
                    let before = store.contents().epochs.last().map_or(0, |epoch| epoch.number);
                    let step = || -> Result<(), StateError> {
                        let number = before + 1;
                        let segment =
                            store.put_segment(number, Phase::Active, &[(4, &[number])])?;
                        let mut next = store.contents().clone();
                        let segments = vec![segment];
                        next.epochs.push(super::epoch(number, Phase::Active, 1, segments));
                        store.publish(next)?;
                        published += 1;
                        store.collect()?;
                        Ok(())
                    };
                    match { step }() {
                        Ok(()) => {}
                        Err(StateError::Fenced { .. }) => break,
                        Err(error) => panic!("{error}"),
                    }
                }
            }
            published
        };
        let threads = [scope.spawn(work), scope.spawn(work), scope.spawn(work)];
        threads.map(|thread| thread.join().unwrap()).into()
    });
    // Every publishing that returned is there. One that was published and at once taken over by
    // another may have been told `Fenced`.
    let (contents, digests) = everything(&storage).unwrap();
    let told: u64 = published.iter().sum();
    assert!(contents.epochs.len() as u64 >= told, "{} of {told}", contents.epochs.len());
    assert!(told >= 30, "{published:?}");
    let numbers: Vec<_> = digests.iter().map(|(epoch, _, run)| (*epoch, run.clone())).collect();
    let expected: Vec<_> = (1..=contents.epochs.len() as u64).map(|n| (n, vec![n])).collect();
    assert_eq!(numbers, expected);
}
