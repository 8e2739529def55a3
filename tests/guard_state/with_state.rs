//! A guard at the operator's input: it rolls back with the operator's state, which names a checkpoint.

use hapax::replay::state::{MemoryStorage, StateStore, Storage};
use hapax::replay::*;

use crate::subject::*;

fn build() -> ReplayGuardBuilder {
    builder_of(Placement::WithState)
}

/// Three checkpoints of 100 tuples each; gives their numbers.
fn three(storage: &MemoryStorage) -> (ReplayGuard, [u64; 3]) {
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    let numbers = [0, 1, 2].map(|round| {
        assert_eq!(process(&mut guard, round * 100..(round + 1) * 100), 100);
        if round == 1 {
            guard.seal();
        }
        guard.checkpoint().unwrap().number
    });
    (guard, numbers)
}

#[test]
fn acknowledgements_wait_for_the_state_that_names_the_checkpoint() {
    let storage = MemoryStorage::default();
    let (mut guard, [first, second, third]) = three(&storage);
    assert_eq!(guard.ackable().count(), 0);
    guard.state_durable(first).unwrap();
    assert!(guard.ackable().map(|at| at.sequence).eq(0..100));
    // What is dropped waits, too: the evidence for it may be rolled back.
    assert_eq!(process(&mut guard, 0..300), 0);
    assert_eq!(guard.ackable().count(), 0);
    guard.state_durable(second).unwrap();
    assert_eq!(guard.ackable().count(), 100);
    guard.state_durable(third).unwrap();
    assert_eq!(guard.ackable().count(), 100);
    let fourth = guard.checkpoint().unwrap().number;
    guard.state_durable(fourth).unwrap();
    assert_eq!(guard.ackable().count(), 300);
}

#[test]
fn a_guard_rolls_back_to_the_checkpoint_that_the_state_names_and_no_further() {
    for named in 0..3u64 {
        let storage = MemoryStorage::default();
        let (mut guard, numbers) = three(&storage);
        // All that is older than what is durable may go, and nothing else does.
        guard.state_durable(numbers[named as usize]).unwrap();
        drop(guard);
        let mut guard = build().open_at(storage.clone(), numbers[named as usize]).unwrap();
        let end = (named + 1) * 100;
        assert_eq!(guard.snapshot().remembered, end);
        assert_eq!(remembered(&mut guard, 400), set(0..end));
        assert_eq!(guard.snapshot().counts.first, end + 400 - end);

        // A crash before the next checkpoint: the state still names the same one.
        drop(guard);
        let mut guard = build().open_at(storage.clone(), numbers[named as usize]).unwrap();
        guard.fence(Position::new(0, 299));
        assert_eq!(process(&mut guard, 0..300), 300 - end);
        let number = guard.checkpoint().unwrap().number;
        assert!(number > numbers[2]);
        guard.state_durable(number).unwrap();
        drop(guard);
        let (mut guard, restored) = reopen(build(), storage);
        assert_eq!(restored.number, number);
        assert_eq!(remembered(&mut guard, 400), set(0..300));
    }
}

#[test]
fn a_checkpoint_that_is_not_there_is_an_error_and_takes_nothing_over() {
    let storage = MemoryStorage::default();
    let (mut guard, [.., third]) = three(&storage);
    assert!(build().open_at(storage.clone(), third + 1).is_err());
    assert!(build().window(9_999).open_at(storage.clone(), 2).is_err());
    guard.checkpoint().unwrap();
}

/// States become durable one checkpoint late, as where the next snapshot begins before the last one
/// has ended: the one that is named stays, and those before it go.
#[test]
fn what_may_be_named_is_kept_and_nothing_else() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    let mut named = None;
    for round in 0..50 {
        assert_eq!(process(&mut guard, round * 10..(round + 1) * 10), 10);
        let number = guard.checkpoint().unwrap().number;
        if let Some(named) = named.replace(number) {
            guard.state_durable(named).unwrap();
            let name = format!("manifest-{named:020}");
            let rows = storage.list().unwrap();
            assert!(rows.iter().any(|row| row.name == name), "{named} of {rows:?}");
            let manifests = rows.iter().filter(|row| row.name.starts_with("manifest")).count();
            assert!(manifests <= 3, "{manifests} at {round}");
        }
    }
}

/// Parts are joined at the checkpoints that the operators' states name, not at their newest.
#[test]
fn parts_are_rolled_back_before_they_are_joined() {
    let storage = MemoryStorage::default();
    let (_, [_, second, _]) = three(&storage);
    drop(StateStore::open_at(storage.clone(), second).unwrap());
    let part: &dyn Storage = &storage;
    let (mut guard, _) = build().open_parts(&[part], MemoryStorage::default()).unwrap();
    assert_eq!(remembered(&mut guard, 400), set(0..200));
}
