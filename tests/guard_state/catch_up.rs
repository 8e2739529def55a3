//! What a guard was told of the output's tail must outlive the next crash, too.

use hapax::replay::state::MemoryStorage;
use hapax::replay::*;

fn builder() -> ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput)
        .window(1_000)
        .epochs(4)
        .max_in_flight(200)
        .loss_per_recovery(1e-6, 1_000)
        .retire_on_truncation()
}

/// Admits the tuples and commits those that pass; gives the numbers of those.
fn process(guard: &mut ReplayGuard, tuples: std::ops::Range<u64>) -> Vec<u64> {
    tuples
        .filter(|&id| match guard.admit(&id, &id, Position::new(0, id)).unwrap() {
            Verdict::First(ticket) => {
                ticket.commit();
                true
            }
            Verdict::Replay | Verdict::Probable(Action::Drop) => false,
            other => panic!("{other:?}"),
        })
        .collect()
}

#[test]
fn a_caught_up_tuple_that_comes_after_a_second_crash_is_dropped() {
    let storage = MemoryStorage::default();
    let open = || builder().open(storage.clone()).unwrap().0;
    let mut guard = open();
    guard.start(Position::new(0, 0));
    assert_eq!(process(&mut guard, 0..120).len(), 120);
    drop(guard);

    // The tail is read, but upstream sends something newer first; a checkpoint; the second crash.
    let mut guard = open();
    guard.start(Position::new(0, 0));
    assert_eq!(guard.catch_up((0..120u64).map(|id| (id, id))).unwrap(), 120);
    guard.fence(Position::new(0, 121));
    assert_eq!(process(&mut guard, 122..130).len(), 8);
    guard.checkpoint().unwrap();
    drop(guard);

    // 120 and 121 were sent before the first crash and never processed.
    let mut guard = open();
    guard.fence(Position::new(0, 129));
    assert_eq!(process(&mut guard, 0..131), [120, 121, 130]);
}

#[test]
fn epochs_of_caught_up_tuples_retire_when_upstream_truncates() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    assert_eq!(process(&mut guard, 0..900).len(), 900);
    drop(guard);

    let (mut guard, _) = builder().open(storage).unwrap();
    guard.catch_up((0..900u64).map(|id| (id, id))).unwrap();
    guard.fence(Position::new(0, 899));
    assert_eq!(process(&mut guard, 0..900).len(), 0);
    guard.checkpoint().unwrap();
    guard.truncated(Position::new(0, 898));
    assert_eq!(guard.snapshot().remembered, 900, "the tail may still come again");
    for first in (900..5_000).step_by(100) {
        assert_eq!(process(&mut guard, first..first + 100).len(), 100);
        guard.checkpoint().unwrap();
        guard.truncated(Position::new(0, first + 99));
    }
    assert!(guard.snapshot().counts.retired >= 12, "{:?}", guard.snapshot());
}
