//! What upstream may be told, and what its word does.

use hapax::replay::{Judged, Position};

use crate::subject::{acks, assert_accounts, at, judge, process, small, small_always_on};

/// An acknowledgement that was sent may be lost: only what upstream confirmed is forgotten.
#[test]
fn nothing_retires_on_an_acknowledgement() {
    let mut guard = small_always_on().build().unwrap();
    for sequence in 0..1_000u64 {
        assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First);
    }
    let sent: Vec<_> = (0..1_000).collect();
    assert_eq!(acks(&mut guard), sent);
    assert_eq!((guard.snapshot().remembered, guard.snapshot().counts.retired), (1_000, 0));
    for sequence in 0..1_000u64 {
        assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::Replay);
    }
    guard.truncated(at(499));
    assert_eq!((guard.snapshot().remembered, guard.snapshot().counts.retired), (500, 5));
    guard.truncated(at(999));
    assert_eq!((guard.snapshot().remembered, guard.snapshot().counts.retired), (0, 10));
    // What was confirmed as gone cannot be new.
    assert_eq!(process(&mut guard, &0u64, at(0)), Judged::Replay);
}

/// 1 to 3 and 5 to 7 are done: upstream goes on from 4, and 4 alone passes.
#[test]
fn a_gap_passes_and_what_is_behind_it_does_not() {
    let mut guard = small().build().unwrap();
    guard.start(at(1));
    let mut held = Vec::new();
    for sequence in 1..=7u64 {
        let (judged, ticket) = judge(&mut guard, &sequence, at(sequence)).unwrap();
        assert_eq!(judged, Judged::First);
        if sequence == 4 { held.push(ticket) } else { ticket.commit() }
    }
    assert_eq!(guard.watermark(0), Some(3));
    held.clear();
    assert_eq!(acks(&mut guard), [1, 2, 3, 5, 6, 7]);
    guard.begin_recovery();
    guard.fence(at(7));
    assert_eq!(guard.snapshot().fences, 1);
    for sequence in 4..=7u64 {
        let expected = if sequence == 4 { Judged::First } else { Judged::Replay };
        assert_eq!(process(&mut guard, &sequence, at(sequence)), expected);
    }
    assert_eq!(guard.watermark(0), Some(7));
    assert_eq!(guard.snapshot().fences, 0, "reached");
    let mut told = acks(&mut guard);
    told.sort_unstable();
    assert_eq!(told, [4, 5, 6, 7]);
}

/// Or upstream waits for them for ever, and its limit of unacknowledged tuples is reached.
#[test]
fn what_is_dropped_is_acknowledged() {
    let mut guard = small_always_on().build().unwrap();
    for sequence in 0..10u64 {
        assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First);
    }
    assert_eq!(acks(&mut guard).len(), 10);
    for sequence in 0..10u64 {
        let _ = process(&mut guard, &sequence, at(sequence));
        assert_eq!(acks(&mut guard), [sequence], "by position");
        let _ = process(&mut guard, &sequence, at(100 + sequence));
        assert_eq!(acks(&mut guard), [100 + sequence], "by id");
    }
    assert_accounts(&mut guard);
}

#[test]
fn positions_of_several_channels_do_not_mix() {
    let mut guard = small().build().unwrap();
    for sequence in 0..100u64 {
        for channel in [0, 7, u32::MAX] {
            let delivery = Position::new(channel, sequence);
            assert_eq!(process(&mut guard, &(channel, sequence), delivery), Judged::First);
        }
    }
    guard.truncated(Position::new(7, 99));
    assert_eq!(guard.snapshot().remembered, 300, "the epochs have tuples of the others");
    guard.truncated(Position::new(0, 99));
    guard.truncated(Position::new(u32::MAX, 99));
    assert_eq!(guard.snapshot().remembered, 0);
}

/// Taken in part: the rest stays.
#[test]
fn what_is_not_taken_is_yielded_later() {
    let mut guard = small().build().unwrap();
    for sequence in 0..10u64 {
        assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First);
    }
    let some: Vec<_> = guard.ackable().take(3).collect();
    assert_eq!(some, [at(0), at(1), at(2)]);
    assert_eq!(acks(&mut guard), [3, 4, 5, 6, 7, 8, 9]);
    assert_eq!(acks(&mut guard), []);
}
