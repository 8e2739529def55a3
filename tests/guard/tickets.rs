//! Tickets that come back late, from elsewhere, or never.

use std::collections::HashSet;
use std::sync::mpsc;
use std::thread;

use hapax::replay::{Delivery, Judged, ReplayGuard, Ticket, Tuple, Verdict};

use crate::subject::{
    DROPPED, acks, assert_accounts, at, judge, process, redeliver, sized, small, small_always_on,
};

/// Four workers commit or drop what one thread admits; upstream sends again what they dropped.
#[test]
fn workers_commit_on_their_own_threads() {
    const TUPLES: u64 = 20_000;
    let builder = sized(TUPLES).max_in_flight(256).false_positive_rate(1e-9);
    let mut guard = builder.retire_on_truncation().build().unwrap();
    let (to_guard, aborted) = mpsc::channel::<u64>();
    let mut outputs = Vec::new();
    thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|_| {
                let (to_worker, work) = mpsc::sync_channel::<(u64, Ticket)>(64);
                let to_guard = to_guard.clone();
                let worker = scope.spawn(move || {
                    let (mut out, mut failed) = (Vec::new(), HashSet::new());
                    for (id, ticket) in work {
                        // Each seventh output fails the first time.
                        if id.is_multiple_of(7) && failed.insert(id) {
                            drop(ticket);
                            to_guard.send(id).unwrap();
                        } else {
                            out.push(id);
                            ticket.commit();
                        }
                    }
                    out
                });
                (to_worker, worker)
            })
            .collect();
        let mut deliver = |id: u64| loop {
            match guard.admit(&id, &id, at(id)) {
                Ok(Verdict::First(ticket)) => {
                    return workers[(id % 4) as usize].0.send((id, ticket)).unwrap();
                }
                Ok(other) => panic!("{id}: {other:?}"),
                Err(_) => thread::yield_now(),
            }
        };
        (0..TUPLES).for_each(&mut deliver);
        for _ in 0..TUPLES.div_ceil(7) {
            deliver(aborted.recv().unwrap());
        }
        for (to_worker, worker) in workers {
            drop(to_worker);
            outputs.extend(worker.join().unwrap());
        }
    });
    outputs.sort_unstable();
    assert!(outputs.into_iter().eq(0..TUPLES), "each once");
    let counts = guard.snapshot().counts;
    assert_eq!((counts.committed, counts.aborted), (TUPLES, TUPLES.div_ceil(7)));
    assert_eq!((guard.snapshot().in_flight, guard.snapshot().intervals), (0, 1));
    let mut told = acks(&mut guard);
    told.sort_unstable();
    assert!(told.into_iter().eq(0..TUPLES));
    assert_accounts(&mut guard);
}

#[test]
fn the_guard_and_its_tickets_may_move_between_threads() {
    const fn is_send<T: Send>() {}
    const fn is_sync<T: Sync>() {}
    is_send::<ReplayGuard>();
    is_send::<Ticket>();
    is_sync::<Ticket>();
    is_send::<hapax::replay::Batch>();
    is_send::<hapax::replay::Unconfirmed>();
}

#[test]
fn a_ticket_outlives_its_guard() {
    let mut guard = small().build().unwrap();
    let (_, first) = judge(&mut guard, "a", at(1)).unwrap();
    let (_, second) = judge(&mut guard, "b", at(2)).unwrap();
    drop(guard);
    first.commit();
    drop(second);
}

/// What is lost for good stays in flight: its copies are held back, and the limit counts it.
#[test]
fn a_leaked_batch_stays_in_flight() {
    let mut guard = small().max_in_flight(10).build().unwrap();
    let tuples: Vec<Tuple> =
        (0..10u64).map(|id| guard.tuple(&id, Some(&id), at(id)).unwrap()).collect();
    let mut judged = Vec::new();
    let (batch, outcome) = guard.admit_batch(&tuples, &mut judged);
    assert_eq!((batch.len(), outcome), (10, Ok(())));
    std::mem::forget(batch);
    assert_eq!(process(&mut guard, &3u64, at(3)), Judged::InFlight);
    assert!(judge(&mut guard, &10u64, at(10)).is_err());
    assert_eq!(guard.snapshot().in_flight, 10);
    assert_eq!(acks(&mut guard), []);
}

#[test]
fn a_dropped_batch_aborts_all_of_it() {
    let mut guard = small().build().unwrap();
    let tuples: Vec<Tuple> =
        (0..10u64).map(|id| guard.tuple(&id, Some(&id), at(id)).unwrap()).collect();
    for round in 1..=3 {
        let (batch, _) = guard.admit_batch(&tuples, &mut Vec::new());
        assert_eq!(batch.len(), 10);
        drop(batch);
        assert_eq!(guard.snapshot().counts.aborted, 10 * round);
    }
    assert_eq!((guard.snapshot().in_flight, acks(&mut guard)), (0, vec![]));
    assert_accounts(&mut guard);
}

/// The question which outputs are durable panics: none was said to be, so all come again.
#[test]
fn a_panic_in_commit_where_aborts_the_batch() {
    let mut guard = small().build().unwrap();
    let tuples: Vec<Tuple> =
        (0..10u64).map(|id| guard.tuple(&id, Some(&id), at(id)).unwrap()).collect();
    let (batch, _) = guard.admit_batch(&tuples, &mut Vec::new());
    let ask = std::panic::AssertUnwindSafe(|| {
        batch.commit_where(|index| if index < 5 { index % 2 == 0 } else { panic!("at {index}") });
    });
    assert!(std::panic::catch_unwind(ask).is_err());
    assert_eq!((guard.snapshot().in_flight, guard.snapshot().counts.aborted), (0, 10));
    let (batch, _) = guard.admit_batch(&tuples, &mut Vec::new());
    batch.commit();
    assert_eq!(acks(&mut guard).len(), 10);
    assert_accounts(&mut guard);
}

/// A recovery of the upstream while tuples are out: they stay in flight, and what they say counts.
#[test]
fn tickets_survive_the_recovery_of_an_upstream() {
    let mut guard = small_always_on().build().unwrap();
    let (_, first) = judge(&mut guard, "a", at(1)).unwrap();
    let (_, second) = judge(&mut guard, "b", at(2)).unwrap();
    guard.begin_recovery();
    assert_eq!(redeliver(&mut guard, "a"), Judged::InFlight);
    first.commit();
    drop(second);
    assert_eq!(redeliver(&mut guard, "a"), DROPPED);
    assert_eq!(redeliver(&mut guard, "b"), Judged::First);
    assert_eq!(process(&mut guard, "a", at(1)), Judged::Replay);
    assert_accounts(&mut guard);
}

/// A batch has each id once; a second copy in it is in flight, and passes if the first fails.
#[test]
fn a_twin_in_the_same_batch_is_in_flight() {
    let mut guard = small().build().unwrap();
    let tuple = guard.tuple("a", Some("a"), Delivery::default()).unwrap();
    let mut judged = Vec::new();
    let (batch, _) = guard.admit_batch(&[tuple, tuple, tuple], &mut judged);
    assert_eq!(judged, [Judged::First, Judged::InFlight, Judged::InFlight]);
    drop(batch);
    assert_eq!(process(&mut guard, "a", Delivery::default()), Judged::First);
}
