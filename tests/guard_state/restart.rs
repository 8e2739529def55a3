//! A restart is exactly the last checkpoint, at any time and in any state of the window.

use std::collections::BTreeSet;
use std::time::Duration;

use hapax::replay::state::{MemoryStorage, StateError, Storage, copy, read};
use hapax::replay::*;

use crate::random::Rng;
use crate::subject::*;

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

/// A life of steps drawn at random, with a crash now and then. Every replay of what was committed
/// passes if it came after the last checkpoint and was not caught up, and else does not.
#[test]
fn a_crash_at_any_time_repeats_what_came_after_the_checkpoint_and_catching_up_repeats_nothing() {
    for seed in 0..40 {
        let mut rng = Rng(seed);
        let storage = MemoryStorage::default();
        let mut guard = builder().open(storage.clone()).unwrap().0;
        let (mut next, mut durable, mut crashes) = (0u64, 0u64, 0u64);
        while next < 3_000 {
            match rng.below(10) {
                0 => {
                    // What is still in flight at a checkpoint is not part of it.
                    let Verdict::First(ticket) = guard.admit(&next, &next, FRESH).unwrap() else {
                        panic!("{next}")
                    };
                    let checkpoint = guard.checkpoint().unwrap();
                    assert_eq!(checkpoint.tuples, next - durable, "seed {seed}");
                    durable = next;
                    ticket.commit();
                    next += 1;
                }
                // Not so often that the window turns before the end.
                1 if guard.snapshot().epochs < 8 => guard.seal(),
                2 => {
                    let before = guard.snapshot();
                    assert_eq!(before.uncheckpointed, next - durable, "seed {seed}");
                    drop(guard);
                    crashes += 1;
                    let saved = StateReport::read(&storage).unwrap().counts.recoveries;
                    (guard, _) = reopen(builder(), storage.clone());
                    let restored = guard.snapshot();
                    assert_eq!(restored.remembered, durable, "seed {seed}");
                    assert_eq!(restored.counts.recoveries, saved + 1, "seed {seed}");
                    if rng.below(2) == 0 {
                        assert_eq!(remembered(&mut guard, next), set(0..durable), "seed {seed}");
                        let again = (0..next).filter(|&id| passes(&mut guard, id, REPEATED));
                        assert_eq!(again.count() as u64, next - durable, "seed {seed}");
                    } else {
                        // The tail may reach back before the checkpoint.
                        let from = durable.saturating_sub(rng.below(50));
                        let taken = guard.catch_up((from..next).map(|id| (id, id))).unwrap();
                        assert_eq!(taken, next - from, "seed {seed}");
                        assert_eq!(remembered(&mut guard, next), set(0..next), "seed {seed}");
                        guard.checkpoint().unwrap();
                        durable = next;
                    }
                }
                _ => {
                    let more = rng.below(120);
                    assert!((next..next + more).all(|id| passes(&mut guard, id, FRESH)));
                    next += more;
                }
            }
        }
        assert!(crashes > 0, "seed {seed}");
    }
}

#[test]
fn counts_go_on_and_a_report_says_what_was_saved() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    guard.start(Position::new(0, 0));
    process(&mut guard, 0..2_000);
    process(&mut guard, 1_000..1_500);
    process(&mut guard, 2_010..2_020);
    guard.seal();
    guard.advance_watermark(77);
    guard.checkpoint().unwrap();
    let before = guard.snapshot();
    drop(guard);

    let report = StateReport::read(&storage).unwrap();
    assert_eq!(report.counts, before.counts);
    assert_eq!(
        (report.placement, report.window, report.max_epochs),
        (Placement::AfterOutput, 10_000, 15)
    );
    assert_eq!((report.watermark, report.key_groups, report.writer), (Some(77), 1, 1));
    assert_eq!(report.epochs.len() as u64, before.epochs);
    assert_eq!(report.epochs.iter().map(|epoch| epoch.len).sum::<u64>(), 2_010);
    assert!(report.epochs.iter().rev().skip(1).all(|epoch| epoch.ended));
    let channel = report.channels[0];
    assert_eq!((channel.watermark, channel.highest, channel.gaps), (Some(1_999), Some(2_019), 1));

    let (mut guard, _) = reopen(builder(), storage);
    let mut after = guard.snapshot();
    assert_eq!(after.counts.recoveries, before.counts.recoveries + 1);
    after.counts.recoveries = before.counts.recoveries;
    assert_eq!(after, before);
    assert_eq!(guard.watermark(0), Some(1_999));
}

#[test]
fn many_checkpoints_in_an_epoch_and_many_epochs_in_a_checkpoint_are_restored() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    // A checkpoint with nothing in it, and several with nothing new.
    for _ in 0..3 {
        assert_eq!(guard.checkpoint().unwrap().tuples, 0);
    }
    for round in 0..60 {
        assert_eq!(process(&mut guard, round * 5..round * 5 + 5), 5);
        assert_eq!(guard.checkpoint().unwrap().tuples, 5);
    }
    assert_eq!(guard.snapshot().epochs, 1);
    assert_eq!(guard.checkpoint().unwrap().tuples, 0);
    let (mut guard, _) = reopen(builder(), storage.clone());
    assert_eq!(remembered(&mut guard, 400), set(0..300));

    // Ten epochs end between two checkpoints; each becomes one segment.
    for id in 300..310 {
        assert!(passes(&mut guard, id, FRESH));
        guard.seal();
        guard.seal();
    }
    guard.checkpoint().unwrap();
    let (manifest, _) = read(&storage).unwrap();
    let segments: Vec<_> =
        manifest.contents.epochs.iter().map(|epoch| epoch.segments.len()).collect();
    assert_eq!(segments, [1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]);
    let (mut guard, _) = reopen(builder(), storage);
    assert_eq!(remembered(&mut guard, 400), set(0..310));
    let snapshot = guard.snapshot();
    assert_eq!((snapshot.epochs, snapshot.epoch), (11, 10));
}

#[test]
fn an_id_that_was_recorded_twice_is_one_after_the_restart() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    for _ in 0..3 {
        // Upstream's word that it is new is taken, and the tuple recorded again, here in a later epoch.
        assert!((0..100).all(|id| passes(&mut guard, id, FRESH)));
        guard.seal();
        guard.checkpoint().unwrap();
    }
    assert_eq!(guard.snapshot().remembered, 100);
    let (mut guard, _) = reopen(builder(), storage);
    assert_eq!(guard.snapshot().remembered, 100);
    assert_eq!(remembered(&mut guard, 200), set(0..100));
    assert_eq!(guard.snapshot().epoch, 3);
}

#[test]
fn epochs_in_the_thousands_are_restored_and_go_on() {
    let storage = MemoryStorage::default();
    let build = || builder().retire_on_truncation();
    let turn = |guard: &mut ReplayGuard, epoch: u64| {
        assert!(passes(guard, epoch, Position::new(0, epoch)));
        if let Some(through) = epoch.checked_sub(14) {
            guard.truncated(Position::new(0, through));
        }
        guard.seal();
    };
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    for epoch in 0..3_000 {
        turn(&mut guard, epoch);
        if epoch % 97 == 0 {
            guard.checkpoint().unwrap();
        }
    }
    guard.checkpoint().unwrap();
    for _ in 0..3 {
        let (mut restored, _) = reopen(build(), storage.clone());
        let snapshot = restored.snapshot();
        assert_eq!((snapshot.oldest_epoch, snapshot.epoch), (2_986, 3_000));
        assert_eq!(remembered(&mut restored, 3_100), set(2_986..3_000));
        guard = restored;
    }
    // The window goes on turning: the oldest go as new ones come.
    for id in 3_000..3_014 {
        turn(&mut guard, id);
    }
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(), storage);
    assert_eq!(remembered(&mut guard, 3_100), set(3_000..3_014));
}

#[test]
fn tuples_without_room_in_a_filter_are_restored_too() {
    let storage = MemoryStorage::default();
    let build = || {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(1_000)
            .loss_per_recovery(1e-6, 1_000)
            .retire_on_truncation()
    };
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    for round in 0..2u64 {
        // All of them are let in while there is room, and need it at once.
        let tickets: Vec<_> = (round * 1_000..(round + 1) * 1_000)
            .map(|id| match guard.admit(&id, &id, FRESH) {
                Ok(Verdict::First(ticket)) => ticket,
                other => panic!("{id}: {other:?}"),
            })
            .collect();
        tickets.into_iter().for_each(Ticket::commit);
        guard.checkpoint().unwrap();
    }
    let before = guard.snapshot();
    assert_eq!(before.remembered, 2_000);
    assert!((900..=1_000).contains(&before.spilled), "{}", before.spilled);

    let (mut guard, _) = reopen(build(), storage);
    let after = guard.snapshot();
    assert_eq!((after.remembered, after.epochs), (2_000, before.epochs));
    assert!((900..=1_000).contains(&after.spilled), "{}", after.spilled);
    assert!((0..2_000).all(|id| !passes(&mut guard, id, REPEATED)));
}

#[test]
fn truncation_retires_restored_epochs() {
    let storage = MemoryStorage::default();
    let build = || {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(100)
            .loss_per_recovery(1e-6, 1_000)
            .retire_on_truncation()
    };
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    for epoch in 0..5 {
        assert_eq!(process(&mut guard, epoch * 50..epoch * 50 + 50), 50);
        guard.seal();
    }
    guard.truncated(Position::new(0, 120));
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(), storage.clone());
    assert_eq!(guard.snapshot().oldest_epoch, 2);
    guard.truncated(Position::new(0, 148));
    assert_eq!(guard.snapshot().oldest_epoch, 2, "149 may come again");
    guard.truncated(Position::new(0, 149));
    assert_eq!((guard.snapshot().oldest_epoch, guard.snapshot().remembered), (3, 100));
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(), storage);
    assert_eq!(remembered(&mut guard, 300), set(150..250));
}

/// Of ids from the output's tail no position is known. They retire all the same, and not before
/// upstream has truncated past the fence.
#[test]
fn caught_up_tuples_do_not_hold_the_window_for_ever() {
    let build = || {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(100)
            .loss_per_recovery(1e-6, 1_000)
            .retire_on_truncation()
    };
    let storage = MemoryStorage::default();
    drop(build().open(storage.clone()).unwrap());
    for fenced in [true, false] {
        let (mut guard, _) = reopen(build(), storage.clone());
        guard.catch_up((0..500).map(|id| (id, id))).unwrap();
        if fenced {
            guard.fence(Position::new(0, 520));
            guard.truncated(Position::new(0, 519));
            assert_eq!(guard.snapshot().remembered, 500);
        } else {
            assert_eq!(process(&mut guard, 501..521), 20);
            guard.seal();
            // The last epoch of the tail has four of the new tuples, and the one after it the rest.
            guard.truncated(Position::new(0, 503));
            assert_eq!(guard.snapshot().remembered, 520);
            guard.truncated(Position::new(0, 504));
            assert_eq!(guard.snapshot().remembered, 16);
        }
        guard.truncated(Position::new(0, 520));
        assert_eq!(guard.snapshot().remembered, 0, "fenced: {fenced}");
    }
    // A whole window of them takes new tuples again.
    let (mut guard, _) = reopen(build(), storage);
    guard.rebuild_from((0..1_000).map(|id| (id, id))).unwrap();
    guard.fence(Position::new(0, 999));
    guard.seal();
    guard.truncated(Position::new(0, 999));
    assert_eq!(process(&mut guard, 1_000..1_500), 500);
}

#[test]
fn the_time_while_nothing_runs_does_not_count() {
    let storage = MemoryStorage::default();
    let build = |watch: &Watch| {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(100)
            .epochs(2)
            .loss_per_recovery(1e-6, 1_000)
            .retire_after(Duration::from_mins(10))
            .clock(watch.clone())
    };
    // The epoch ends at 600 s and is forgotten at 1,200 s of the guard's own time.
    let watch = Watch::at(10_000_000);
    let (mut guard, _) = build(&watch).open(storage.clone()).unwrap();
    assert!(passes(&mut guard, 1, FRESH));
    assert_eq!(guard.snapshot().remembered, 1, "the ticket is back");
    watch.pass(500);
    guard.checkpoint().unwrap();
    watch.pass(50);
    drop(guard);

    // Another machine, whose clock shows something else.
    for (pause, shows) in [(200, 5), (300, 3_000_000), (199, 0)] {
        let watch = Watch::at(shows);
        let (mut guard, _) = reopen(build(&watch), storage.clone());
        watch.pass(pause);
        assert_eq!(remembered(&mut guard, 2), BTreeSet::from([1]), "after {pause} more");
        guard.checkpoint().unwrap();
    }
    let watch = Watch::at(77);
    let (mut guard, _) = reopen(build(&watch), storage.clone());
    assert_eq!(remembered(&mut guard, 2), BTreeSet::from([1]), "at 1,199 s");
    watch.pass(1);
    assert_eq!(remembered(&mut guard, 2), BTreeSet::new(), "at 1,200 s");
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(&watch), storage);
    assert_eq!(guard.snapshot().remembered, 0);
}

#[test]
fn the_watermark_goes_on_and_retires_restored_epochs() {
    let storage = MemoryStorage::default();
    let build = || {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(100)
            .loss_per_recovery(1e-6, 1_000)
            .on_stale(OnStale::Drop)
            .retire_by_watermark(10, 1_000)
    };
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    for time in [100, 200, 300] {
        assert!(passes(&mut guard, time, FRESH.with_event_time(time)));
        guard.seal();
    }
    guard.advance_watermark(150);
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(), storage.clone());
    assert_eq!((guard.snapshot().oldest_epoch, guard.snapshot().remembered), (1, 2));
    let late = guard.admit(&1u64, &1u64, FRESH.with_event_time(140)).unwrap();
    assert!(matches!(late, Verdict::Stale(Action::Drop)), "{late:?}");
    guard.advance_watermark(120);
    guard.advance_watermark(209);
    assert_eq!(guard.snapshot().remembered, 2);
    guard.advance_watermark(210);
    assert_eq!(guard.snapshot().remembered, 1);
    // Of an epoch from the output's tail no event time is known; it goes with those after it.
    guard.catch_up([(400u64, 400u64)]).unwrap();
    guard.seal();
    assert!(passes(&mut guard, 500, FRESH.with_event_time(500)));
    guard.seal();
    guard.checkpoint().unwrap();
    let (mut guard, _) = reopen(build(), storage);
    guard.advance_watermark(509);
    assert_eq!(guard.snapshot().remembered, 2);
    guard.advance_watermark(510);
    assert_eq!(guard.snapshot().remembered, 0);
}

/// A crash loop renews the budget of a recovery each time, and that of the hour never.
#[test]
fn the_loss_budget_of_the_hour_is_not_renewed_by_a_restart() {
    let storage = MemoryStorage::default();
    let watch = Watch::at(0);
    let build = |watch: &Watch| {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(1_000)
            .max_in_flight(100)
            .on_full(OnFull::Rotate)
            .loss_per_recovery(0.5, 5)
            .loss_per_hour(1.0)
            .clock(watch.clone())
    };
    let (mut guard, _) = build(&watch).open(storage.clone()).unwrap();
    assert!((0..1_000).all(|id| passes(&mut guard, id, FRESH)));
    guard.checkpoint().unwrap();
    let mut next = 1_000;
    for _ in 0..20 {
        let before = guard.snapshot().lost_this_hour;
        (guard, _) = reopen(build(&watch), storage.clone());
        let snapshot = guard.snapshot();
        assert!((snapshot.lost_this_hour - before).abs() < 1e-12, "{snapshot:?}");
        assert!(snapshot.lost_this_recovery < 1e-12, "{snapshot:?}");
        for _ in 0..10 {
            drop(guard.admit(&next, &next, REPEATED).unwrap());
            next += 1;
        }
        watch.pass(60);
        guard.checkpoint().unwrap();
    }
    let spent = guard.snapshot().lost_this_hour;
    assert!((0.8..=1.0).contains(&spent), "{spent}");
    watch.pass(3_600);
    let (mut guard, _) = reopen(build(&watch), storage.clone());
    assert!((guard.snapshot().lost_this_hour - spent).abs() < 1e-12, "nothing ran in that hour");
    watch.pass(3_660);
    assert!(guard.snapshot().lost_this_hour < 1e-12);
}

#[test]
fn a_stale_copy_is_refused_however_often_it_is_tried() {
    let storage = MemoryStorage::default();
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    process(&mut guard, 0..100);
    guard.checkpoint().unwrap();
    let stale = MemoryStorage::default();
    copy(&storage, &stale).unwrap();
    process(&mut guard, 100..200);
    guard.checkpoint().unwrap();
    let newest = guard.checkpoint_number().unwrap();
    for _ in 0..4 {
        let refused = builder().at_least(newest).open(stale.clone()).unwrap_err();
        let StateFault::Stale { expected, found } = refused else { panic!("{refused}") };
        assert_eq!((expected, found), (newest, newest - 1));
    }
    let (mut guard, _) = reopen(builder().at_least(newest), storage);
    assert_eq!(remembered(&mut guard, 300), set(0..200));
}

#[test]
fn a_place_with_foreign_objects_is_empty_and_one_without_a_manifest_is_not() {
    let storage = MemoryStorage::default();
    storage.put_new("readme.txt", b"not ours").unwrap();
    let (mut guard, opened) = builder().open(storage.clone()).unwrap();
    assert!(matches!(opened, Opened::Created));
    process(&mut guard, 0..100);
    guard.checkpoint().unwrap();
    drop(guard);
    for row in storage.list().unwrap() {
        if row.name.starts_with("manifest") {
            storage.delete(&row.name).unwrap();
        }
    }
    let refused = builder().open(storage).unwrap_err();
    assert!(
        matches!(refused, StateFault::State(StateError::NoManifest { segments: 1, .. })),
        "{refused}"
    );
}

/// What is dropped for a hit may have been new. Upstream may forget it when the count of it is durable,
/// and not before: after a crash it comes again, and is counted.
#[test]
fn a_probable_replay_is_acknowledged_with_its_count() {
    let storage = MemoryStorage::default();
    let build = || builder().channels(ChannelKind::Unordered);
    let sent = Delivery::from(Position::new(0, 1)).with_redelivered(false);
    let again = Delivery::from(Position::new(0, 2)).with_redelivered(true);
    let acks = |guard: &mut ReplayGuard| guard.ackable().map(|at| at.sequence).collect::<Vec<_>>();
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    assert!(passes(&mut guard, 7, sent));
    guard.checkpoint().unwrap();
    assert_eq!(acks(&mut guard), [1]);
    assert!(!passes(&mut guard, 7, again));
    assert_eq!(guard.snapshot().counts.probable, 1);
    assert_eq!(acks(&mut guard), [0; 0]);
    drop(guard);

    let (mut guard, _) = reopen(build(), storage.clone());
    assert_eq!(guard.snapshot().counts.probable, 0);
    assert!(!passes(&mut guard, 7, again), "it was not acknowledged, so it comes again");
    guard.checkpoint().unwrap();
    assert_eq!(acks(&mut guard), [2]);
    drop(guard);
    assert_eq!(reopen(build(), storage).0.snapshot().counts.probable, 1);
}
