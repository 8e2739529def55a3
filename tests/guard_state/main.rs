//! The guard's state from outside: what a restart, a rescale and a crash leave.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a premise that fails is a test that fails")]

mod catch_up;

use hapax::replay::state::MemoryStorage;
use hapax::replay::*;

fn builder() -> ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput)
        .window(10_000)
        .max_in_flight(1_000)
        .loss_per_recovery(1e-3, 1_000)
        .on_full(OnFull::Rotate)
}

fn process(guard: &mut ReplayGuard, ids: std::ops::Range<u64>) -> u64 {
    let mut passed = 0;
    for id in ids {
        match guard.admit(&id, &id, Position::new(0, id)).unwrap() {
            Verdict::First(ticket) => {
                ticket.commit();
                passed += 1;
            }
            Verdict::Replay => {}
            other => panic!("{other:?}"),
        }
    }
    passed
}

#[test]
fn a_restart_remembers_what_was_checkpointed() {
    let storage = MemoryStorage::default();
    let (mut guard, opened) = builder().open(storage.clone()).unwrap();
    assert!(matches!(opened, Opened::Created));
    assert_eq!(process(&mut guard, 0..5_000), 5_000);
    assert_eq!(guard.ackable().count(), 0);
    let checkpoint = guard.checkpoint().unwrap();
    assert_eq!(checkpoint.tuples, 5_000);
    assert_eq!(guard.ackable().count(), 5_000);
    assert_eq!(process(&mut guard, 5_000..5_100), 100);
    drop(guard);

    let (mut guard, _) = builder().open(storage).unwrap();
    guard.fence(Position::new(0, 5_099));
    assert_eq!(process(&mut guard, 4_000..5_100), 100, "the output's tail was not read");
    assert_eq!(guard.snapshot().counts.replay, 1_000);
}
