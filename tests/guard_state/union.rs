//! States that saw the same stream: an active standby.

use hapax::replay::state::{MemoryStorage, Storage, copy};
use hapax::replay::*;

use crate::subject::*;

fn saw(ids: std::ops::Range<u64>) -> MemoryStorage {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    for id in ids {
        assert!(passes(&mut guard, id, FRESH));
    }
    guard.checkpoint().unwrap();
    storage
}

fn parts(storages: &[MemoryStorage; 2]) -> [&dyn Storage; 2] {
    storages.each_ref().map(|part| part as &dyn Storage)
}

#[test]
fn a_union_has_what_one_of_them_saw_and_the_overlap_once() {
    let storages = [saw(0..500), saw(300..700)];
    let into = MemoryStorage::default();
    let (mut guard, restored) = builder().open_union(&parts(&storages), into.clone()).unwrap();
    assert_eq!(restored.len(), 2);
    assert_eq!(guard.snapshot().remembered, 700);
    assert_eq!(digests_by_group(&into), [(0, 700)]);
    assert_eq!(remembered(&mut guard, 1_000), set(0..700));
    drop(guard);
    let (mut guard, _) = reopen(builder(), into);
    assert_eq!(remembered(&mut guard, 1_000), set(0..700));
}

/// Each epoch of one is joined with that of the other which is as old, counted from the newest.
#[test]
fn a_union_of_states_at_other_epochs_has_both() {
    let storages = [saw(0..4_000), saw(1_000..4_100)];
    let (mut guard, _) = builder().open_union(&parts(&storages), MemoryStorage::default()).unwrap();
    assert_eq!(guard.snapshot().remembered, 4_100);
    assert_eq!(remembered(&mut guard, 4_200), set(0..4_100));
    for start in (4_100..30_000).step_by(5_000) {
        assert!((start..30_000.min(start + 5_000)).all(|id| passes(&mut guard, id, FRESH)));
        guard.checkpoint().unwrap();
    }
    assert!((20_000..30_000).all(|id| !passes(&mut guard, id, REPEATED)), "the window");
}

#[test]
fn a_union_beyond_the_window_is_refused_and_nothing_is_begun() {
    let storages = [saw(0..10_000), saw(10_000..20_000)];
    let into = MemoryStorage::default();
    let refused = builder().open_union(&parts(&storages), into.clone()).unwrap_err();
    let StateFault::TooFull { spilled, window: 10_000 } = refused else { panic!("{refused}") };
    // The filters have room for 10,725 tuples.
    assert!((8_000..=10_000).contains(&spilled), "{spilled}");
    assert_eq!(into.list().unwrap(), []);
}

#[test]
fn a_copy_is_the_state_elsewhere() {
    let storage = saw(0..900);
    let elsewhere = MemoryStorage::default();
    let number = copy(&storage, &elsewhere).unwrap();
    let (mut guard, restored) = reopen(builder(), elsewhere);
    assert_eq!(restored.number, number);
    assert_eq!(remembered(&mut guard, 1_000), set(0..900));
}
