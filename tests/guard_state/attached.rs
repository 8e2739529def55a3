//! The operator's own bytes in a checkpoint, and guards that are sized as their state.

use hapax::replay::state::MemoryStorage;
use hapax::replay::*;

use super::subject::{builder, process};

#[test]
fn what_is_attached_comes_back_with_the_checkpoint_that_has_it() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    assert_eq!(guard.attached(), b"");
    guard.attach(b"output: 17 bytes").unwrap();
    assert_eq!(process(&mut guard, 0..10), 10);
    guard.checkpoint().unwrap();
    guard.attach(b"of no checkpoint").unwrap();
    drop(guard);

    assert_eq!(StateReport::read(&storage).unwrap().attached, b"output: 17 bytes");
    let (mut guard, _) = builder().open(storage).unwrap();
    assert_eq!(guard.attached(), b"output: 17 bytes");
    let channels = guard.channels();
    assert_eq!((channels.len(), channels[0].highest), (1, Some(9)));
    let long = guard.attach(&vec![0; 65_537]).unwrap_err();
    assert!(matches!(long, StateFault::AttachedTooLong { len: 65_537, .. }), "{long}");
    assert_eq!(guard.attached(), b"output: 17 bytes");
}

/// The rate of a state is what was asked for less the share of equal hashes. Asked for again, it would
/// be less by that much again.
#[test]
fn a_guard_is_sized_as_its_state_to_the_bit() {
    for (window, rate) in [(1_000_000, 1e-12), (100_000, 1e-9), (1_000, 0.1), (70_000, 3e-13)] {
        let storage = MemoryStorage::default();
        let free = || {
            ReplayGuard::builder(Placement::AfterOutput).max_in_flight(9).on_full(OnFull::Rotate)
        };
        let sized = || free().window(window).epochs(9).false_positive_rate(rate);
        drop(sized().open(storage.clone()).unwrap());
        let report = StateReport::read(&storage).unwrap();
        assert_eq!(free().sized_as(&report).plan().unwrap(), sized().plan().unwrap());
        free().sized_as(&report).open(storage).unwrap();
    }
}

/// A false positive rate near 0.1 spends a budget of 20 expected losses soon, and every hit after that
/// is diverted.
#[test]
fn a_budget_binds_where_every_tuple_is_tested() {
    let mut guard = ReplayGuard::builder(Placement::AfterOutput)
        .window(1_000)
        .max_in_flight(1)
        .epochs(2)
        .false_positive_rate(0.1)
        .test_every_tuple()
        .loss_budget(20.0)
        .on_full(OnFull::Rotate)
        .build()
        .unwrap();
    let (mut dropped, mut dropped_late) = (0, 0);
    for id in 0..100_000u64 {
        match guard.admit(&id, &id, Delivery::default()).unwrap() {
            Verdict::First(ticket) | Verdict::Probable(Action::Divert(ticket)) => ticket.commit(),
            Verdict::Probable(Action::Drop) => {
                dropped += 1;
                dropped_late += u64::from(id > 50_000);
            }
            other => panic!("{other:?}"),
        }
    }
    let counts = guard.snapshot().counts;
    assert!(counts.estimated_lost <= 20.0 && counts.estimated_lost > 19.0, "{counts:?}");
    // All are new: about Poisson with a mean of 20, within 4 standard deviations.
    assert!((2..=38).contains(&dropped), "{dropped}");
    assert_eq!(dropped_late, 0);
    assert!(counts.diverted > 1_000, "{counts:?}");
    let refused = ReplayGuard::builder(Placement::AfterOutput)
        .window(100_000)
        .false_positive_rate(0.1)
        .loss_budget(0.0)
        .on_full(OnFull::Rotate)
        .build()
        .unwrap_err();
    assert!(refused.to_string().starts_with("loss_budget: expected"), "{refused}");
}
