//! What is deleted, and what never is.

use std::num::NonZeroU32;

use super::super::*;
use super::{at, contents, epoch, everything};

#[test]
fn the_kept_states_stay_whole_and_nothing_else_stays() {
    for keep in 1..=4 {
        let storage = MemoryStorage::default();
        let store = StateStore::create(storage.clone(), contents()).unwrap();
        let mut store = store.keep(NonZeroU32::new(keep).unwrap());
        for number in 1..=10 {
            let segment = store.put_segment(number, Phase::Active, &[(4, &[number])]).unwrap();
            let mut next = at(&store, &format!("at {number}"));
            next.epochs = vec![epoch(number, Phase::Active, 1, vec![segment])];
            store.publish(next).unwrap();
            store.collect().unwrap();
        }
        assert_eq!(storage.list().unwrap().len() as u32, 2 * keep);
        // Each kept state can be gone back to.
        for back in 0..u64::from(keep) {
            let (contents, digests) = everything(&storage).unwrap();
            let number = 10 - back;
            assert_eq!(contents.progress, format!("at {number}").as_bytes());
            assert_eq!(digests, [(number, 4, vec![number])]);
            storage.delete(&format!("manifest-{:020}", number + 1)).unwrap();
        }
    }
}

#[test]
fn taking_over_again_and_again_costs_no_state_to_go_back_to() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), contents()).unwrap();
    for step in 1..=2 {
        let next = at(&store, &format!("at {step}"));
        store.publish(next).unwrap();
    }
    for _ in 0..20 {
        let (mut store, _) = StateStore::open(storage.clone()).unwrap();
        store.collect().unwrap();
    }
    let names: Vec<_> = storage.list().unwrap().into_iter().map(|row| row.name).collect();
    let expected = [2, 3, 23].map(|number| format!("manifest-{number:020}"));
    assert_eq!(names, expected);
}

#[test]
fn segments_that_are_not_yet_published_are_left_alone() {
    let storage = MemoryStorage::default();
    let mut first = StateStore::create(storage.clone(), contents()).unwrap();
    let given_up = first.put_segment(1, Phase::Active, &[(4, &[1])]).unwrap();
    let next = at(&first, "at 1");
    first.publish(next).unwrap();
    let coming = first.put_segment(1, Phase::Active, &[(4, &[2])]).unwrap();
    let collected = first.collect().unwrap();
    assert_eq!((collected.manifests, collected.segments), (0, 1));

    let mut next = at(&first, "at 2");
    next.epochs = vec![epoch(1, Phase::Active, 1, vec![given_up])];
    let refused = first.publish(next.clone()).unwrap_err().to_string();
    assert!(refused.contains("expected one of the state, or written since"), "{refused}");
    next.epochs = vec![epoch(1, Phase::Active, 1, vec![coming])];
    first.publish(next).unwrap();

    // A writer that takes over while the first, of which it knows nothing, collects.
    let (mut second, _) = StateStore::open(storage.clone()).unwrap();
    let theirs = second.put_segment(1, Phase::Active, &[(4, &[3])]).unwrap();
    let refused = first.collect().unwrap_err();
    assert!(matches!(refused, StateError::Fenced { .. }), "{refused}");
    let mut next = at(&second, "at 3");
    next.epochs = vec![epoch(1, Phase::Active, 2, vec![coming, theirs])];
    second.publish(next).unwrap();
    assert_eq!(everything(&storage).unwrap().1, [(1, 4, vec![2]), (1, 4, vec![3])]);
}

#[test]
fn what_could_not_be_restored_is_not_published() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), contents()).unwrap();
    let part = store.put_segment(1, Phase::Active, &[(4, &[1, 2])]).unwrap();
    let sealed = store.put_segment(1, Phase::Sealed, &[(4, &[1, 2])]).unwrap();
    let lie = SegmentEntry { len: part.len + 8, ..part };
    let rows: [(&str, Vec<EpochEntry>); 9] = [
        ("expected 2, found 3", vec![epoch(1, Phase::Active, 3, vec![part])]),
        ("one of the sealed epoch 1", vec![epoch(1, Phase::Sealed, 2, vec![part])]),
        ("one of the active epoch 1", vec![epoch(1, Phase::Active, 2, vec![sealed])]),
        ("one of the active epoch 2", vec![epoch(2, Phase::Active, 2, vec![part])]),
        ("one of the state", vec![epoch(1, Phase::Active, 2, vec![lie])]),
        ("at most one", vec![epoch(1, Phase::Sealed, 4, vec![sealed, sealed])]),
        ("each segment once", vec![epoch(1, Phase::Active, 4, vec![part, part])]),
        ("expected 0", vec![epoch(1, Phase::Active, 1, vec![])]),
        (
            "number of an epoch: expected more than 2",
            vec![epoch(2, Phase::Active, 0, vec![]), epoch(2, Phase::Active, 0, vec![])],
        ),
    ];
    for (expected, epochs) in rows {
        let next = Contents { epochs, ..contents() };
        let refused = store.publish(next).unwrap_err().to_string();
        assert!(refused.contains(expected), "{refused}");
    }
    let refused = store.publish(Contents { key_groups: 32, ..contents() }).unwrap_err().to_string();
    assert_eq!(refused, "invalid number of key groups: expected 16, found 32");
    for (first_group, last_group) in [(3, 2), (0, 16)] {
        let refused = store.publish(Contents { first_group, last_group, ..contents() });
        assert!(refused.unwrap_err().to_string().contains("range of key groups"));
    }
    let refused = store.put_segment(1, Phase::Active, &[(16, &[1])]).unwrap_err().to_string();
    assert_eq!(refused, "invalid key group: expected less than 16, found 16");
    let again = epoch(1, Phase::Sealed, 2, vec![sealed]);
    assert!(store.seal(&again).unwrap_err().to_string().contains("epoch to seal"));
    assert_eq!(everything(&storage).unwrap(), (contents(), vec![]));
}
