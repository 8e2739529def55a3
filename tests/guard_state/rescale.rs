//! Key groups that move between guards: every tuple stays known to exactly one of them.

use hapax::Seed;
use hapax::replay::state::{MemoryStorage, StateError, Storage, reset, take_over};
use hapax::replay::*;

use crate::subject::*;

const TUPLES: u64 = 2_400;

/// A route of three tuples each, which is not their id.
fn route(id: u64) -> u64 {
    id / 3 + 1_000_000
}

/// Whether upstream flags what it sends again, or nothing tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Upstream {
    Flags,
    IdsAlone,
}

fn part(
    upstream: Upstream,
    groups: KeyGroups,
    (subtask, parallelism): (u32, u32),
) -> ReplayGuardBuilder {
    let builder = ReplayGuard::builder(Placement::AfterOutput)
        .window(6_000)
        .epochs(7)
        .max_in_flight(100)
        .on_full(OnFull::Rotate)
        .key_groups(groups, groups.range(subtask, parallelism).unwrap());
    match upstream {
        Upstream::Flags => builder.loss_per_recovery(1e-7, 1_000),
        Upstream::IdsAlone => builder.always_on(1e-5, 100_000),
    }
}

/// How many of the tuples in `ids` pass, those of other guards left out.
fn passed(guard: &mut ReplayGuard, ids: std::ops::Range<u64>, delivery: Delivery) -> (u64, u64) {
    let (mut owned, mut passed) = (0, 0);
    for id in ids {
        match guard.admit(&route(id), &id, delivery) {
            Err(AdmitError::NotOwned { .. }) => continue,
            Ok(Verdict::First(ticket)) => {
                ticket.commit();
                passed += 1;
            }
            Ok(Verdict::Probable(Action::Drop)) => {}
            other => panic!("{id}: {other:?}"),
        }
        owned += 1;
    }
    (owned, passed)
}

/// The states of `parallelism` guards that shared a stream, their owners fenced.
fn states(upstream: Upstream, groups: KeyGroups, parallelism: u32) -> Vec<MemoryStorage> {
    let mut total = 0;
    let mut fenced = |subtask| {
        let storage = MemoryStorage::default();
        let (mut guard, _) =
            part(upstream, groups, (subtask, parallelism)).open(storage.clone()).unwrap();
        for round in 0..3 {
            // Not all at the same epoch, and some of the tuples not yet sealed.
            let ids = round * TUPLES / 3..(round + 1) * TUPLES / 3;
            total += passed(&mut guard, ids, FRESH).1;
            if (u64::from(subtask) + round) % 2 == 0 {
                guard.seal();
            }
            guard.checkpoint().unwrap();
        }
        take_over(storage.clone()).unwrap();
        let refused = guard.checkpoint().unwrap_err();
        assert!(matches!(refused, StateFault::State(StateError::Fenced { .. })), "{refused}");
        let refused = guard.admit(&route(0), &0u64, FRESH).unwrap_err();
        assert_eq!(refused, AdmitError::Fenced);
        storage
    };
    let storages = (0..parallelism).map(&mut fenced).collect();
    assert_eq!(total, TUPLES);
    storages
}

/// Restores the states at another parallelism, and sends the whole stream once more.
fn rescales(upstream: Upstream, groups: KeyGroups, old: &[MemoryStorage], parallelism: u32) {
    let case = format!("{upstream:?}, {groups:?}, {} to {parallelism}", old.len());
    let parts: Vec<&dyn Storage> = old.iter().map(|part| part as &dyn Storage).collect();
    let mut known = 0;
    let mut next = 0;
    for subtask in 0..parallelism {
        let into = MemoryStorage::default();
        let builder = || part(upstream, groups, (subtask, parallelism));
        let (mut guard, restored) = builder().open_parts(&parts, into.clone()).unwrap();
        assert!(restored.iter().all(|part| part.skipped.is_empty()), "{case}");
        let owned = guard.owned();
        assert_eq!(u32::from(owned.first()), next, "{case}");
        next = u32::from(owned.last()) + 1;

        let snapshot = guard.snapshot();
        assert_eq!((snapshot.spilled, snapshot.uncheckpointed), (0, 0), "{case}");
        known += snapshot.remembered;
        let on_disk: u64 = digests_by_group(&into).iter().map(|(_, count)| count).sum();
        assert_eq!(on_disk, snapshot.remembered, "{case}");

        let (again, twice) = passed(&mut guard, 0..TUPLES, REPEATED);
        assert_eq!((again, twice), (snapshot.remembered, 0), "{case}");
        let (new, passing) = passed(&mut guard, TUPLES..TUPLES + 300, FRESH);
        assert_eq!(new, passing, "{case}");

        guard.checkpoint().unwrap();
        let written = digests_by_group(&into);
        assert!(written.iter().all(|(group, _)| owned.contains(*group)), "{case}: {written:?}");
        drop(guard);
        let (mut guard, _) = reopen(builder(), into);
        assert_eq!(guard.snapshot().remembered, snapshot.remembered + new, "{case}");
    }
    assert_eq!((known, next), (TUPLES, groups.count()), "{case}");
}

fn rescales_all(upstream: Upstream, count: u32) {
    let groups = KeyGroups::new(count).unwrap();
    for old in 1..=16 {
        let states = states(upstream, groups, old);
        (1..=16).for_each(|new| rescales(upstream, groups, &states, new));
    }
}

#[test]
fn sixteen_groups_at_all_parallelisms_to_all_others() {
    rescales_all(Upstream::Flags, 16);
}

#[test]
fn a_hundred_and_twenty_eight_groups_at_all_parallelisms_to_all_others() {
    rescales_all(Upstream::IdsAlone, 128);
}

/// Who gets which group is tested for all parallelisms with the groups themselves; here that a state
/// of the most groups can be kept.
#[test]
fn the_most_groups_move_as_few_do() {
    let groups = KeyGroups::new(KeyGroups::MAX).unwrap();
    let states = states(Upstream::Flags, groups, 3);
    for new in [1, 16] {
        rescales(Upstream::Flags, groups, &states, new);
    }
}

/// Positions, epochs and retirement of the parts go on in what they are joined to.
#[test]
fn positions_and_epochs_are_joined_and_retire() {
    let groups = KeyGroups::new(16).unwrap();
    let build = |subtask, parallelism| {
        ReplayGuard::builder(Placement::AfterOutput)
            .window(6_000)
            .epochs(7)
            .max_in_flight(100)
            .loss_per_recovery(1e-7, 1_000)
            .retire_on_truncation()
            .key_groups(groups, groups.range(subtask, parallelism).unwrap())
    };
    // Subtask 0 is at epoch 2 and subtask 1 at epoch 5, each with 100 positions an epoch.
    let storages = [0, 1].map(|subtask| {
        let storage = MemoryStorage::default();
        let (mut guard, _) = build(subtask, 2).open(storage.clone()).unwrap();
        let rounds = if subtask == 0 { 3 } else { 6 };
        for round in 0..rounds {
            for id in round * 100..(round + 1) * 100 {
                if guard.owned().contains(guard.group_of(&route(id)).unwrap()) {
                    let at = Position::new(subtask, id);
                    let Verdict::First(ticket) = guard.admit(&route(id), &id, at).unwrap() else {
                        panic!("{id}")
                    };
                    ticket.commit();
                }
            }
            if round + 1 < rounds {
                guard.seal();
            }
            guard.checkpoint().unwrap();
        }
        storage
    });
    let parts: Vec<&dyn Storage> = storages.iter().map(|part| part as &dyn Storage).collect();
    let (mut guard, _) = build(0, 1).open_parts(&parts, MemoryStorage::default()).unwrap();
    let before = guard.snapshot();
    assert_eq!((before.epochs, before.epoch, before.counts.recoveries), (6, 5, 1));

    // Where positions say it, replays are certain, whatever group they are of.
    let groups_of = |guard: &ReplayGuard, id| guard.group_of(&route(id)).unwrap() < 8;
    let mut of_first = 0;
    for id in 0..300 {
        if groups_of(&guard, id) {
            of_first += 1;
            let judged = guard.admit(&route(id), &id, Position::new(0, id)).unwrap();
            assert!(matches!(judged, Verdict::Replay), "{id}: {judged:?}");
        }
    }
    assert_eq!(guard.ackable().count(), of_first);
    // Epochs 3 and 4 of the whole have tuples of both; the first three are of subtask 1 alone.
    guard.truncated(Position::new(1, 299));
    assert_eq!(guard.snapshot().oldest_epoch, 3);
    guard.truncated(Position::new(1, 499));
    assert_eq!(guard.snapshot().oldest_epoch, 3, "subtask 0's tuples may come again");
    guard.truncated(Position::new(0, 199));
    assert_eq!(guard.snapshot().oldest_epoch, 5);
    guard.checkpoint().unwrap();
    guard.truncated(Position::new(0, 299));
    guard.truncated(Position::new(1, 599));
    let after = guard.snapshot();
    assert_eq!((after.remembered, after.counts.retired), (0, 6));
}

#[test]
fn parts_that_are_missing_or_given_twice_are_named_and_nothing_is_begun() {
    let groups = KeyGroups::new(16).unwrap();
    let states = states(Upstream::Flags, groups, 4);
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| &states[i] as &dyn Storage);
    let into = MemoryStorage::default();
    let open = |parts: &[&dyn Storage]| {
        part(Upstream::Flags, groups, (0, 1)).open_parts(parts, into.clone()).unwrap_err()
    };
    let missing = open(&[a, b, d]);
    assert!(matches!(missing, StateFault::MissingGroup { group: 8, .. }), "{missing}");
    let shared = open(&[a, b, c, d, b]);
    assert!(matches!(shared, StateFault::SharedGroup { group: 4 }), "{shared}");
    let missing = open(&[]);
    assert!(matches!(missing, StateFault::MissingGroup { group: 0, .. }), "{missing}");
    assert_eq!(into.list().unwrap(), []);
    // The refusals have taken nothing from anybody: it works when all are there.
    let (mut guard, _) =
        part(Upstream::Flags, groups, (0, 1)).open_parts(&[d, c, b, a], into).unwrap();
    assert_eq!(guard.snapshot().remembered, TUPLES);
}

#[test]
fn other_parameters_are_refused_with_both_values_and_fence_nobody() {
    let groups = KeyGroups::new(16).unwrap();
    let upstream = Upstream::Flags;
    let storage = MemoryStorage::default();
    let build = || part(upstream, groups, (0, 1));
    let (mut owner, _) = build().open(storage.clone()).unwrap();
    passed(&mut owner, 0..100, FRESH);
    owner.checkpoint().unwrap();

    let more = KeyGroups::new(32).unwrap();
    let half = groups.groups(0, 7).unwrap();
    let with_state = ReplayGuard::builder(Placement::WithState)
        .window(6_000)
        .epochs(7)
        .max_in_flight(100)
        .on_full(OnFull::Rotate)
        .key_groups(groups, groups.all())
        .loss_per_recovery(1e-7, 1_000);
    let cases = [
        (build().key_groups(more, more.all()), "number of key groups", "16", "32"),
        (build().seed(Seed::new(7)), "hash", "", ""),
        (with_state, "placement", "AfterOutput", "WithState"),
        (build().window(7_000), "window", "6000", "7000"),
        (build().epochs(8), "epochs", "7", "8"),
    ];
    for (builder, expected, has, asked) in cases {
        let into = MemoryStorage::default();
        let from: &dyn Storage = &storage;
        let refused = builder.open_parts(&[from], into.clone()).unwrap_err();
        let StateFault::Mismatch { what, stored, given } = &refused else { panic!("{refused}") };
        assert_eq!(*what, expected);
        assert!(stored != given, "{refused}");
        if !has.is_empty() {
            assert_eq!((stored.as_str(), given.as_str()), (has, asked));
        }
        let message = refused.to_string();
        assert!(message.contains(stored) && message.contains(given), "{message}");
        assert_eq!(into.list().unwrap(), [], "{message}");
    }
    for refused in [
        build().window(7_000).open(storage.clone()).unwrap_err(),
        build().key_groups(groups, half).open(storage.clone()).unwrap_err(),
        build().window(7_000).open_at(storage.clone(), 2).unwrap_err(),
        build().key_groups(groups, half).open_at(storage.clone(), 2).unwrap_err(),
        build().at_least(99).open(storage.clone()).unwrap_err(),
    ] {
        let refused = refused.to_string();
        assert!(refused.contains("another") || refused.contains("stale"), "{refused}");
    }
    passed(&mut owner, 100..200, FRESH);
    owner.checkpoint().unwrap();
    assert_eq!(owner.snapshot().remembered, 200);
}

/// An owner that is fenced acknowledges nothing, not even what it was about to.
#[test]
fn a_fenced_owner_acknowledges_nothing() {
    let storage = MemoryStorage::default();
    let (mut owner, _) = builder().open(storage.clone()).unwrap();
    assert_eq!(process(&mut owner, 0..10), 10);
    owner.checkpoint().unwrap();
    assert_eq!(process(&mut owner, 10..20), 10);
    take_over(storage.clone()).unwrap();
    owner.checkpoint().unwrap_err();
    assert_eq!(owner.ackable().count(), 0);
    assert_eq!(owner.admit(&1u64, &1u64, FRESH).unwrap_err(), AdmitError::Fenced);
    let (mut heir, _) = reopen(builder(), storage.clone());
    assert_eq!(remembered(&mut heir, 20), set(0..10));
    reset(&storage).unwrap();
}
