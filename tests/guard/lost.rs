//! Nothing new is dropped, for the causes that users of other systems lost tuples by.

use hapax::replay::{
    AdmitError, ChannelKind, Delivery, Judged, OnMissingId, Position, ReplayGuard,
};

use crate::subject::{
    DROPPED, acks, assert_accounts, at, judge, parts, process, redeliver, small, small_always_on,
};

/// The output failed between the verdict and its durability.
#[test]
fn a_dropped_ticket_aborts_and_the_replay_passes() {
    for kind in [ChannelKind::Dense, ChannelKind::Monotone] {
        let mut guard = small_always_on().channels(kind).build().unwrap();
        let (judged, held) = judge(&mut guard, "a", at(1)).unwrap();
        assert_eq!(judged, Judged::First);
        drop(held);
        assert_eq!(acks(&mut guard), []);
        guard.begin_recovery();
        assert_eq!(
            process(&mut guard, "a", Delivery::from(at(1)).with_redelivered(true)),
            Judged::First
        );
        assert_eq!(acks(&mut guard), [1]);
        let counts = guard.snapshot().counts;
        assert_eq!((counts.aborted, counts.committed), (1, 1));
        assert_accounts(&mut guard);
    }
}

/// Absent, empty and null are three things.
#[test]
fn a_missing_id_is_neither_empty_nor_null() {
    let null = (0u8, "");
    let mut guard = small_always_on().on_missing_id(OnMissingId::Pass).build().unwrap();
    assert_eq!(process(&mut guard, "", Delivery::default()), Judged::First);
    assert_eq!(process(&mut guard, &null, Delivery::default()), Judged::First);
    for _ in 0..3 {
        let verdict = guard.admit_without_id("route", Delivery::default()).unwrap();
        let (judged, held) = parts(verdict);
        held.commit();
        assert_eq!(judged, Judged::First);
    }
    assert_eq!(process(&mut guard, "", Delivery::default()), DROPPED);
    assert_eq!(process(&mut guard, &null, Delivery::default()), DROPPED);
    assert_eq!(guard.snapshot().counts.missing_id, 3);
    assert_accounts(&mut guard);
}

#[test]
fn a_missing_id_is_an_error_unless_told_otherwise() {
    let mut guard = small().build().unwrap();
    let refused = guard.admit_without_id("route", at(1));
    assert_eq!(refused.unwrap_err(), AdmitError::MissingId);
    assert_eq!(acks(&mut guard), []);
    assert_eq!(guard.snapshot().counts.judged, 0);
}

/// Without an id, the position alone tells.
#[test]
fn a_tuple_without_an_id_is_known_by_its_position() {
    let mut guard = small().on_missing_id(OnMissingId::Pass).build().unwrap();
    for expected in [Judged::First, Judged::Replay] {
        let (judged, held) = parts(guard.admit_without_id("route", at(1)).unwrap());
        held.commit();
        assert_eq!(judged, expected);
    }
    assert_eq!(acks(&mut guard), [1, 1]);
}

/// The highest position seen says nothing of those below it.
#[test]
fn what_comes_out_of_order_passes() {
    for kind in [ChannelKind::Dense, ChannelKind::Monotone, ChannelKind::Unordered] {
        let builder = small().retire_after(std::time::Duration::from_mins(1));
        let mut guard = builder.build().unwrap();
        guard.set_channel_kind(0, kind);
        for sequence in [100u64, 103, 101, 99, 102] {
            assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First, "{sequence}");
        }
        // Flagged after a worker died, behind newer ones, and not known by id.
        for sequence in [50u64, 60, 40] {
            let delivery = Delivery::from(at(sequence)).with_redelivered(true);
            assert_eq!(process(&mut guard, &sequence, delivery), Judged::First, "{sequence}");
        }
    }
}

/// A submission that is made again on purpose, when its first copy is gone from the log.
#[test]
fn what_is_submitted_again_after_its_epoch_retired_passes() {
    let mut guard = small_always_on().build().unwrap();
    guard.begin_recovery();
    assert_eq!(guard.catch_up([("b", "b")]).unwrap(), 1);
    assert_eq!(process(&mut guard, "a", at(1)), Judged::First);
    assert_eq!(acks(&mut guard), [1]);
    assert_eq!(process(&mut guard, "a", at(2)), DROPPED, "acknowledged is not retired");
    assert_eq!(process(&mut guard, "b", at(3)), Judged::Replay);
    guard.truncated(at(3));
    assert_eq!(process(&mut guard, "a", at(4)), Judged::First);
    assert_eq!(process(&mut guard, "b", at(5)), Judged::First);
    assert_accounts(&mut guard);
}

/// Another copy comes while the first is being processed: it can be told neither way yet.
#[test]
fn a_twin_in_flight_is_neither_dropped_nor_acknowledged() {
    let mut guard = small_always_on().build().unwrap();
    let (_, first) = judge(&mut guard, "a", at(1)).unwrap();
    for _ in 0..1_000 {
        let (judged, _) = judge(&mut guard, "a", at(1)).unwrap();
        assert_eq!(judged, Judged::InFlight);
    }
    assert_eq!(acks(&mut guard), []);
    let snapshot = guard.snapshot();
    assert_eq!((snapshot.in_flight, snapshot.counts.in_flight), (1, 1_000), "nothing grows");
    drop(first);
    let (judged, second) = judge(&mut guard, "a", at(1)).unwrap();
    assert_eq!(judged, Judged::First);
    second.commit();
    assert_eq!(process(&mut guard, "a", at(1)), Judged::Replay);
    assert_eq!(acks(&mut guard), [1, 1]);
    assert_accounts(&mut guard);
}

/// Sources that number their tuples alike are told apart by a key of both.
#[test]
fn equal_ids_of_two_sources_are_two_ids() {
    let mut guard = small_always_on().build().unwrap();
    for expected in [Judged::First, DROPPED] {
        for source in ["orders", "payments"] {
            for id in 0..100u64 {
                assert_eq!(process(&mut guard, &(source, id), Delivery::default()), expected);
            }
        }
    }
}

/// A chunk of 1,000 records failed at its end and is sent again whole: ids derived from where each
/// record stands let the rest through alone.
#[test]
fn ids_derived_from_source_position_and_ordinal_survive_a_partial_retry() {
    let id = |chunk: u64, ordinal: u64| ("source 3", chunk, ordinal);
    let mut guard = small_always_on().build().unwrap();
    for ordinal in 0..900 {
        assert_eq!(process(&mut guard, &id(17, ordinal), Delivery::default()), Judged::First);
    }
    let passed =
        (0..1_000).filter(|&ordinal| redeliver(&mut guard, &id(17, ordinal)) == Judged::First);
    assert_eq!(passed.count(), 100);
    assert_eq!(redeliver(&mut guard, &id(18, 0)), Judged::First);
}

/// What upstream says was never delivered before, or stands where nothing was processed, is not
/// risked after a recovery either.
#[test]
fn what_cannot_be_a_replay_is_not_asked_about() {
    let mut guard = small().build().unwrap();
    assert_eq!(process(&mut guard, "a", at(1)), Judged::First);
    guard.begin_recovery();
    guard.fence(at(10));
    assert_eq!(process(&mut guard, "a", at(2)), Judged::First, "published twice");
    let new = Delivery::redelivered(false);
    assert_eq!(process(&mut guard, "a", new), Judged::First);
    let flagged = Delivery::from(Position::new(1, 7)).with_redelivered(true);
    assert_eq!(process(&mut guard, "a", flagged), DROPPED);
    assert_accounts(&mut guard);
}

/// Fences test their own tuples; those of another upstream, which gives ids alone, still have theirs.
#[test]
fn a_fence_does_not_use_up_the_tuples_tested_after_a_recovery() {
    let builder = small().channels(ChannelKind::Monotone).tested_after_recovery(3);
    let mut guard: ReplayGuard = builder.build().unwrap();
    for id in 0..3u64 {
        assert_eq!(process(&mut guard, &id, Delivery::default()), Judged::First);
    }
    guard.begin_recovery();
    assert_eq!(process(&mut guard, &100u64, at(100)), Judged::First);
    guard.fence(at(100));
    for id in 50..60u64 {
        assert_eq!(process(&mut guard, &id, at(id)), Judged::First);
    }
    for id in 0..3u64 {
        assert_eq!(process(&mut guard, &id, Delivery::default()), DROPPED);
    }
    for id in 10..13u64 {
        assert_eq!(process(&mut guard, &id, Delivery::default()), Judged::First);
    }
    // Three new ones have passed: the recovery is over.
    assert_eq!(process(&mut guard, &0u64, Delivery::default()), Judged::First);
}
