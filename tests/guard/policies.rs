//! Where evidence leaves a choice: hits, full windows, tuples that cannot be judged.

use std::collections::HashSet;
use std::convert::Infallible;

use hapax::replay::{
    AdmitError, Backpressure, ConfirmError, Delivery, Fate, Judged, KeyGroups, OnFull, OnProbable,
    OnStale, ReplayGuard, Tuple, Verdict,
};

use crate::subject::{
    DROPPED, Held, NEVER, acks, assert_accounts, at, judge, parts, process, redeliver, sized, small,
};

/// Hits of tuples that may be replays.
#[test]
fn each_policy_does_with_a_hit_what_it_says() {
    let hit = |fate| Judged::Probable(fate);
    for (policy, expected) in [
        (OnProbable::Drop, hit(Fate::Drop)),
        (OnProbable::Divert, hit(Fate::Divert)),
        (OnProbable::Confirm, hit(Fate::Confirm)),
        (OnProbable::Pass, Judged::First),
    ] {
        let mut guard = small().on_probable(policy).build().unwrap();
        assert_eq!(process(&mut guard, "a", at(1)), Judged::First);
        let again = Delivery::from(hapax::replay::Position::new(1, 1)).with_redelivered(true);
        assert_eq!(process(&mut guard, "a", again), expected);
        let counts = guard.snapshot().counts;
        let found = (counts.probable, counts.diverted, counts.unconfirmed, counts.suspect);
        let wanted = match policy {
            OnProbable::Drop => (1, 0, 0, 0),
            OnProbable::Divert => (0, 1, 0, 0),
            OnProbable::Confirm => (0, 0, 1, 0),
            _ => (0, 0, 0, 1),
        };
        assert_eq!(found, wanted);
        // What is dropped, diverted or processed is acknowledged; what is undecided comes again.
        let told = acks(&mut guard).len();
        assert_eq!(told, if policy == OnProbable::Confirm { 1 } else { 2 });
        assert_accounts(&mut guard);
    }
}

/// Hits of tuples that stand where nothing was processed: published twice, or false.
#[test]
fn suspects_pass_unless_told_otherwise() {
    for (policy, expected) in [
        (OnProbable::Pass, Judged::First),
        (OnProbable::Divert, Judged::Probable(Fate::Divert)),
        (OnProbable::Confirm, Judged::Probable(Fate::Confirm)),
    ] {
        let mut guard = small().on_suspect(policy).build().unwrap();
        assert_eq!(process(&mut guard, "a", at(1)), Judged::First);
        assert_eq!(process(&mut guard, "a", at(2)), expected);
        assert_eq!(guard.snapshot().counts.tested, 0, "nothing was at risk");
        assert_accounts(&mut guard);
    }
}

/// A store of all processed ids.
fn lookup(store: &HashSet<u64>) -> impl FnMut(&u64) -> Result<bool, Infallible> + '_ {
    |id| Ok(store.contains(id))
}

/// With an exact store behind it a filter of any rate loses nothing and lets no replay pass, and what
/// the store did not know measures the rate.
#[test]
fn a_store_decides_on_hits_and_measures_the_rate() {
    let builder = sized(1_400).false_positive_rate(0.05).on_probable(OnProbable::Confirm);
    let mut guard = builder.on_full(OnFull::Rotate).build().unwrap();
    let mut store = HashSet::new();
    let flagged = Delivery::redelivered(true);
    let mut expected = 0.0;
    for id in 0..20_000u64 {
        expected += guard.snapshot().false_positive_rate;
        let verdict = guard.admit_confirmed(&mut lookup(&store), &id, &id, flagged).unwrap();
        let Verdict::First(ticket) = verdict else { panic!("{id} was lost: {verdict:?}") };
        store.insert(id);
        ticket.commit();
        if id % 10 == 0 {
            let back = id - id % 1_000;
            let again = guard.admit_confirmed(&mut lookup(&store), &back, &back, flagged).unwrap();
            assert!(matches!(again, Verdict::Replay), "{back}");
        }
    }
    let counts = guard.snapshot().counts;
    assert_eq!((counts.first + counts.unconfirmed, counts.confirmed_replay), (22_000, 2_000));
    // Below 5 %: the variance of a count of rare events is a little less than its mean.
    let sigmas = (counts.confirmed_false_positive as f64 - expected) / expected.sqrt();
    assert!(sigmas.abs() < 4.0, "{} of {expected}", counts.confirmed_false_positive);
    assert_eq!(counts.estimated_lost.to_bits(), 0);
    assert_accounts(&mut guard);
}

/// A store that cannot answer decides nothing.
#[test]
fn a_store_that_fails_leaves_the_tuple_undecided() {
    let mut guard = small().on_probable(OnProbable::Confirm).build().unwrap();
    assert_eq!(process(&mut guard, &1u64, at(1)), Judged::First);
    assert_eq!(acks(&mut guard), [1]);
    let flagged = Delivery::redelivered(true);
    let mut down = |_: &u64| Err("down");
    let refused = guard.admit_confirmed(&mut down, &1u64, &1u64, flagged);
    assert!(matches!(refused, Err(ConfirmError::Store("down"))));
    assert_eq!((acks(&mut guard), guard.snapshot().in_flight), (vec![], 0));
    let mut up = |_: &u64| Ok::<_, &str>(true);
    assert!(matches!(guard.admit_confirmed(&mut up, &1u64, &1u64, flagged), Ok(Verdict::Replay)));
    assert_accounts(&mut guard);
}

/// By hand, one by one and in a batch.
#[test]
fn what_the_store_said_is_told_by_ticket_or_by_batch() {
    let mut guard = small().on_suspect(OnProbable::Confirm).build().unwrap();
    for id in 0..4u64 {
        assert_eq!(process(&mut guard, &id, at(id)), Judged::First);
    }
    let (_, held) = judge(&mut guard, &0u64, at(10)).unwrap();
    let Held::Unconfirmed(unconfirmed) = held else { panic!("not undecided") };
    unconfirmed.is_replay();
    let (_, held) = judge(&mut guard, &1u64, at(11)).unwrap();
    let Held::Unconfirmed(unconfirmed) = held else { panic!("not undecided") };
    unconfirmed.is_new().commit();

    let tuple = |id: u64| guard.tuple(&id, Some(&id), at(10 + id)).unwrap();
    let tuples: Vec<Tuple> = (2..6).map(tuple).collect();
    let mut judged = Vec::new();
    let (mut batch, _) = guard.admit_batch(&tuples, &mut judged);
    let undecided = Judged::Probable(Fate::Confirm);
    assert_eq!(judged, [undecided, undecided, Judged::First, Judged::First]);
    batch.confirm(0, true);
    batch.confirm(0, false); // decided
    batch.confirm(2, true); // nothing to decide
    batch.confirm(99, true); // not in the batch
    assert_eq!(batch.len(), 3);
    batch.commit(); // the second one is undecided, and so aborted
    let counts = guard.snapshot().counts;
    assert_eq!((counts.confirmed_replay, counts.confirmed_false_positive), (2, 1));
    assert_eq!((counts.committed, counts.aborted), (7, 1));
    assert_eq!(acks(&mut guard), [0, 1, 2, 3, 10, 11, 12, 14, 15]);
    assert_accounts(&mut guard);
}

/// Confirmed replays of a tail take no room either.
#[test]
fn confirmed_replays_do_not_grow_the_window() {
    let mut guard = small().on_probable(OnProbable::Confirm).build().unwrap();
    for id in 0..950u64 {
        assert_eq!(process(&mut guard, &id, Delivery::default()), Judged::First);
    }
    let before = guard.snapshot();
    for _ in 0..12 {
        for id in 0..950u64 {
            let mut known = |_: &u64| Ok::<_, Infallible>(true);
            let flagged = Delivery::redelivered(true);
            let verdict = guard.admit_confirmed(&mut known, &id, &id, flagged).unwrap();
            assert!(matches!(verdict, Verdict::Replay));
        }
    }
    let after = guard.snapshot();
    assert_eq!((after.epoch, after.remembered), (before.epoch, before.remembered));
}

/// More than the window takes, by a load of 1.0, 1.25 and 2 times its capacity.
#[test]
fn a_full_window_does_what_its_policy_says_and_never_grows() {
    const CAPACITY: u64 = 1_500;
    for policy in [OnFull::Backpressure, OnFull::Divert, OnFull::Rotate] {
        for offered in [CAPACITY, CAPACITY * 5 / 4, CAPACITY * 2] {
            let mut guard = small().on_full(policy).build().unwrap();
            let byte_len = guard.snapshot().byte_len;
            let beyond = offered - CAPACITY;
            for id in 0..offered {
                match judge(&mut guard, &id, at(id)) {
                    Ok((judged, held)) => {
                        let full = id >= CAPACITY && policy == OnFull::Divert;
                        let diverted = Judged::Probable(Fate::Divert);
                        assert_eq!(judged, if full { diverted } else { Judged::First });
                        held.commit();
                    }
                    Err(AdmitError::Backpressure(Backpressure::Window { remembered })) => {
                        assert_eq!((policy, remembered), (OnFull::Backpressure, CAPACITY));
                        assert!(id >= CAPACITY);
                    }
                    Err(other) => panic!("{other}"),
                }
            }
            let snapshot = guard.snapshot();
            let counts = snapshot.counts;
            let (refused, diverted, rotated) = match policy {
                OnFull::Backpressure => (beyond, 0, 0),
                OnFull::Divert => (0, beyond, 0),
                _ => (0, 0, beyond.div_ceil(100)),
            };
            assert_eq!(
                (counts.backpressure, counts.diverted, counts.rotated),
                (refused, diverted, rotated)
            );
            assert_eq!((snapshot.byte_len, snapshot.spilled), (byte_len, 0));
            assert!(snapshot.remembered <= CAPACITY && snapshot.remembered >= 1_400);
            assert!(snapshot.false_positive_rate <= NEVER);
            // What was diverted is processed, but not remembered.
            assert_eq!(acks(&mut guard).len() as u64, counts.first + counts.diverted);
            assert_accounts(&mut guard);
        }
    }
}

/// One key with all of the load: its group fills up alone, and the policy holds.
#[test]
fn a_hot_key_group_fills_up_alone() {
    let groups = KeyGroups::new(16).unwrap();
    for policy in [OnFull::Backpressure, OnFull::Divert, OnFull::Rotate] {
        let builder = sized(14_000).false_positive_rate(1e-6).tested_after_recovery(0);
        let builder = builder.key_groups(groups, groups.all()).on_full(policy);
        let builder = builder.retire_on_truncation();
        let capacity = builder.plan().unwrap().capacity_per_group;
        let mut guard = builder.build().unwrap();
        let (mut refused, mut remembered) = (0, 0);
        for id in 0..3 * capacity {
            let (route, delivery) = ("hot", at(id));
            match guard.admit(route, &id, delivery).map(parts) {
                Ok((Judged::First, held)) => {
                    held.commit();
                    remembered += 1;
                }
                Ok((judged, held)) => {
                    assert_eq!((judged, policy), (Judged::Probable(Fate::Divert), OnFull::Divert));
                    held.commit();
                }
                Err(AdmitError::Backpressure(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
        let snapshot = guard.snapshot();
        assert!(snapshot.fill_ratio <= 1.0, "{}", snapshot.fill_ratio);
        assert!(snapshot.false_positive_rate <= 1e-6, "{}", snapshot.false_positive_rate);
        match policy {
            OnFull::Backpressure => assert_eq!((refused, remembered), (2 * capacity, capacity)),
            OnFull::Divert => assert_eq!(snapshot.counts.diverted, 2 * capacity),
            _ => assert_eq!(remembered, 3 * capacity),
        }
        // Whoever waits for room does not end epochs that others fill.
        let filled = snapshot.counts.rotated + snapshot.epochs;
        assert!(filled <= 1 + remembered / 1_000, "{filled} epochs of {remembered} tuples");
        // Others go on where the policy lets them.
        let other = guard.admit("cold", &u64::MAX, at(3 * capacity)).map(parts);
        assert!(
            matches!(other, Ok((Judged::First, _))),
            "{policy:?}: a cold group waits for a hot one"
        );
        drop(other);
        assert_accounts(&mut guard);
    }
}

/// As many tickets as allowed: the next waits, whatever the window has.
#[test]
fn tickets_are_bounded() {
    let mut guard = small().max_in_flight(3).build().unwrap();
    let mut held: Vec<_> = (0..3u64).map(|id| judge(&mut guard, &id, at(id)).unwrap().1).collect();
    let refused = judge(&mut guard, &3u64, at(3)).err();
    let expected = AdmitError::Backpressure(Backpressure::Tickets { in_flight: 3 });
    assert_eq!(refused, Some(expected.clone()));
    assert!(
        expected.to_string().contains("3 tuples") && expected.to_string().contains("max_in_flight")
    );
    held.pop().unwrap().commit();
    assert_eq!(process(&mut guard, &3u64, at(3)), Judged::First);
    // Replays are dropped all the same.
    let (_, more) = judge(&mut guard, &4u64, at(4)).unwrap();
    assert_eq!(process(&mut guard, &3u64, at(3)), Judged::Replay);
    assert_eq!(redeliver(&mut guard, &3u64), DROPPED);
    drop(more);
    assert_accounts(&mut guard);
}

/// A batch stops at the tuple that is refused; those before it are judged.
#[test]
fn a_batch_stops_where_it_is_refused() {
    let mut guard: ReplayGuard = small().max_in_flight(3).build().unwrap();
    let tuple = |id: u64| guard.tuple(&id, Some(&id), at(id)).unwrap();
    let tuples: Vec<Tuple> = (0..6).map(tuple).collect();
    let mut judged = Vec::new();
    let (batch, refused) = guard.admit_batch(&tuples, &mut judged);
    assert!(matches!(refused, Err(AdmitError::Backpressure(Backpressure::Tickets { .. }))));
    assert_eq!((judged.len(), batch.len()), (3, 3));
    batch.commit();
    let (batch, rest) = guard.admit_batch(&tuples[3..], &mut judged);
    assert_eq!((rest, batch.len()), (Ok(()), 3));
    batch.commit_where(|index| index != 1);
    assert_eq!(acks(&mut guard), [0, 1, 2, 3, 5]);
    assert_accounts(&mut guard);
}

/// A tuple of another's key group is neither judged nor recorded.
#[test]
fn a_tuple_of_another_owner_is_refused() {
    let groups = KeyGroups::new(2).unwrap();
    let builder = small().key_groups(groups, groups.groups(1, 1).unwrap());
    let mut guard = builder.build().unwrap();
    let (mut own, mut others) = (0, 0);
    for id in 0..100u64 {
        match guard.admit(&id, &id, at(id)) {
            Ok(verdict) => {
                assert_eq!(guard.group_of(&id).unwrap(), 1);
                parts(verdict).1.commit();
                own += 1;
            }
            Err(error) => {
                let message = error.to_string();
                assert!(message.contains("key group 0") && message.contains("1-1"), "{message}");
                others += 1;
            }
        }
    }
    assert!(own > 30 && others > 30, "{own}, {others}");
    assert_eq!(guard.catch_up([(0u64, 0u64)]).is_ok(), guard.group_of(&0u64).unwrap() == 1);
    assert_eq!(guard.snapshot().counts.judged, own);
}

/// The side output takes what is late also when the window is full, and the guard keeps none of it.
#[test]
fn late_tuples_diverted_from_a_full_window_do_not_grow_it() {
    let builder = sized(1_400).false_positive_rate(NEVER).tested_after_recovery(0);
    let builder = builder.retire_by_watermark(0, u64::MAX).on_stale(OnStale::Divert);
    let mut guard = builder.on_full(OnFull::Divert).build().unwrap();
    guard.advance_watermark(10);
    let mut ids = 0u64..;
    let full = |judged| judged == Judged::Probable(Fate::Divert);
    while !full(process(&mut guard, &ids.next().unwrap(), Delivery::default())) {}
    let before = guard.snapshot();
    for id in ids.take(5_000) {
        let late = Delivery::default().with_event_time(5);
        assert_eq!(process(&mut guard, &id, late), Judged::Stale(Fate::Divert));
    }
    let after = guard.snapshot();
    assert_eq!((after.remembered, after.spilled), (before.remembered, 0));
    assert_eq!(after.counts.stale_diverted, 5_000);
    assert_accounts(&mut guard);
}
