//! Memory ends where it was planned to, and what fills it up goes again.

use hapax::replay::Delivery;
use hapax::replay::{AdmitError, Backpressure, ChannelKind, GuardError, Judged, OnFull, Position};

use crate::subject::{
    DROPPED, NEVER, acks, assert_accounts, at, judge, process, redeliver, sized, small,
    small_always_on,
};

/// An upstream that never confirms a truncation: memory stays what it was, and the guard says so.
#[test]
fn two_million_ids_without_an_ack_plateau_and_push_back() {
    const WINDOW: u64 = 1_400_000;
    let builder = sized(WINDOW).max_in_flight(65_536).false_positive_rate(1e-6);
    let builder = builder.retire_on_truncation();
    let plan = builder.plan().unwrap();
    let mut guard = builder.build().unwrap();
    let before = guard.snapshot();
    let mut refused = 0;
    for id in 0..2_000_000u64 {
        match guard.admit(&id, &id, at(id)) {
            Ok(verdict) => crate::subject::parts(verdict).1.commit(),
            Err(AdmitError::Backpressure(Backpressure::Window { remembered })) => {
                assert!(remembered >= WINDOW, "{remembered}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    let after = guard.snapshot();
    // 15 epochs hold the window in 14.
    assert_eq!(refused, 2_000_000 - WINDOW / 14 * 15);
    assert_eq!(after.counts.backpressure, refused);
    assert_eq!((after.byte_len, after.byte_len), (before.byte_len, plan.byte_len));
    assert_eq!((after.intervals, after.spilled), (1, 0));
    assert!(after.false_positive_rate <= 1e-6, "{}", after.false_positive_rate);
    // Acknowledged is not truncated.
    assert_eq!(guard.ackable().count() as u64, after.counts.committed);
    assert!(judge(&mut guard, &u64::MAX, at(2_000_000)).is_err());
    // One epoch less at upstream is one more here.
    guard.truncated(at(WINDOW / 14 - 1));
    assert_eq!(process(&mut guard, &u64::MAX, at(2_000_000)), Judged::First);
    assert_eq!(guard.snapshot().counts.retired, 1);
    assert_accounts(&mut guard);
}

#[test]
fn a_retirement_that_can_never_happen_is_refused() {
    let never = sized(1_400).false_positive_rate(NEVER);
    assert_eq!(never.build().unwrap_err(), GuardError::NeverRetires);
    for policy in [OnFull::Backpressure, OnFull::Divert] {
        let never = sized(1_400).false_positive_rate(NEVER).on_full(policy);
        assert_eq!(never.build().unwrap_err(), GuardError::NeverRetires);
    }
    assert!(sized(1_400).false_positive_rate(NEVER).on_full(OnFull::Rotate).build().is_ok());
    let tags = small().channels(ChannelKind::Unordered);
    assert_eq!(tags.build().unwrap_err(), GuardError::NoPositions);
}

/// 12 copies of the same tail by an upstream that lost the acknowledgements: none comes out, and
/// nothing grows.
#[test]
fn twelve_replays_of_a_tail_neither_come_out_nor_take_room() {
    let mut guard = small().build().unwrap();
    for sequence in 0..1_000u64 {
        assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First);
    }
    let before = guard.snapshot();
    for replay in 1..=12 {
        guard.begin_recovery();
        for sequence in 500..1_000u64 {
            assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::Replay);
            // The same by id: sent again as another record, and flagged.
            assert_eq!(redeliver(&mut guard, &sequence), DROPPED);
        }
        let after = guard.snapshot();
        assert_eq!(after.counts.replay, 500 * replay);
        let size =
            |of: &hapax::replay::Snapshot| (of.epoch, of.remembered, of.byte_len, of.intervals);
        assert_eq!(size(&after), size(&before));
    }
    assert_eq!(acks(&mut guard).len(), 1_000 + 12 * 500);
    assert_accounts(&mut guard);
}

/// An epoch whose tuples have no positions goes with the next that has some, not never.
#[test]
fn ids_without_positions_retire_with_those_that_follow() {
    let mut guard = small_always_on().build().unwrap();
    for id in 0..1_000u64 {
        assert_eq!(process(&mut guard, &id, Delivery::default()), Judged::First);
    }
    for id in 1_000..1_450u64 {
        assert_eq!(process(&mut guard, &id, at(id)), Judged::First);
    }
    guard.truncated(at(1_449));
    let snapshot = guard.snapshot();
    assert_eq!((snapshot.remembered, snapshot.counts.retired), (0, 15), "{snapshot:?}");
}

/// All outputs of ten windows, given to an empty guard: it keeps the last window and takes more.
#[test]
fn rebuilding_from_more_than_a_window_keeps_the_last_one() {
    let mut guard = small_always_on().build().unwrap();
    let outputs = (0..14_000u64).map(|id| (id, id));
    assert_eq!(guard.rebuild_from(outputs).unwrap(), 14_000);
    let snapshot = guard.snapshot();
    assert_eq!(snapshot.spilled, 0);
    assert!((1_400..=1_500).contains(&snapshot.remembered), "{}", snapshot.remembered);
    for id in 14_000 - 1_400..14_000u64 {
        assert_eq!(process(&mut guard, &id, at(id)), DROPPED, "{id}");
    }
    assert_eq!(process(&mut guard, &14_000u64, at(14_000)), Judged::First);
    guard.truncated(Position::new(0, 14_000));
    assert_eq!(guard.snapshot().remembered, 0);
}
