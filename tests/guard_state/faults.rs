//! A process that is killed at every single operation: what was acknowledged is remembered.

use std::collections::BTreeSet;

use hapax::replay::state::{MemoryStorage, StateError, Storage, reset, take_over};
use hapax::replay::*;

use crate::subject::*;

const TUPLES: u64 = 260;

fn build() -> ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput)
        .window(400)
        .epochs(5)
        .max_in_flight(400)
        .loss_per_recovery(1e-6, 1_000)
        .retire_on_truncation()
}

/// What a life has learned.
#[derive(Debug, Default)]
struct Told {
    committed: u64,
    acknowledged: BTreeSet<u64>,
    /// Confirmed to be truncated up to here, exclusively.
    truncated: u64,
    /// Tuples of each state that may be there: the last one told of, and the one being published.
    published: BTreeSet<u64>,
}

impl Told {
    fn process(&mut self, guard: &mut ReplayGuard, tuples: u64) {
        let end = self.committed + tuples;
        assert_eq!(process(guard, self.committed..end), tuples);
        self.committed = end;
    }

    fn checkpoint(&mut self, guard: &mut ReplayGuard) -> Result<(), StateFault> {
        self.published.insert(self.committed);
        let checkpoint = guard.checkpoint()?;
        self.published = BTreeSet::from([self.committed]);
        self.acknowledged.extend(guard.ackable().map(|at| at.sequence));
        match checkpoint.collected {
            Ok(_) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

/// Tuples, checkpoints with and without new ones, epochs that end and retire, a restart.
fn live(storage: &(impl Storage + Clone + 'static), told: &mut Told) -> Result<(), StateFault> {
    told.published.insert(0);
    let (mut guard, _) = build().open(storage.clone())?;
    told.process(&mut guard, 40);
    told.checkpoint(&mut guard)?;
    told.process(&mut guard, 60);
    guard.seal();
    told.process(&mut guard, 30);
    told.checkpoint(&mut guard)?;
    told.checkpoint(&mut guard)?;
    told.process(&mut guard, 20);
    drop(guard);

    let (mut guard, _) = build().open(storage.clone())?;
    guard.fence(Position::new(0, told.committed - 1));
    assert_eq!(process(&mut guard, 0..told.committed), 20);
    told.process(&mut guard, 50);
    guard.seal();
    told.checkpoint(&mut guard)?;
    told.truncated = 100;
    guard.truncated(Position::new(0, told.truncated - 1));
    told.process(&mut guard, 60);
    told.checkpoint(&mut guard)?;
    Ok(())
}

/// Opens what is there and checks it against what was told.
fn is_exact(storage: &MemoryStorage, told: &Told, case: &str) {
    let (mut guard, opened) = build().open(storage.clone()).unwrap();
    if told.acknowledged.is_empty() && matches!(opened, Opened::Created) {
        return;
    }
    let by_filter = remembered(&mut guard, TUPLES);
    let end = by_filter.last().map_or(0, |last| last + 1);
    let begin = by_filter.first().copied().unwrap_or(0);
    assert!(told.published.contains(&end), "{case}: {end} of {told:?}");
    assert_eq!(by_filter, set(begin..end), "{case}");
    assert!(begin <= told.truncated, "{case}: {begin} of {told:?}");
    let forgotten = told.acknowledged.iter().find(|&&id| id >= told.truncated && id >= end);
    assert_eq!(forgotten, None, "{case}");
    // By position everything is known, what has retired included.
    guard.fence(Position::new(0, TUPLES));
    let passed = process(&mut guard, 0..told.committed);
    assert_eq!(passed, told.committed - end, "{case}");
    guard.checkpoint().unwrap();
}

fn operations(run: impl Fn(&Watched)) -> u64 {
    let watched = Watched::new(&MemoryStorage::default());
    run(&watched);
    watched.operations()
}

#[test]
fn a_guard_killed_at_any_operation_has_what_was_acknowledged() {
    let total = operations(|storage| live(storage, &mut Told::default()).unwrap());
    assert!(total > 80, "{total}");
    for kill in [Kill::Before, Kill::After] {
        for at in 0..total {
            let place = MemoryStorage::default();
            let mut told = Told::default();
            let case = format!("killed {kill:?} {at}");
            live(&Watched::killed(&place, kill, at), &mut told).expect_err(&case);
            is_exact(&place, &told, &case);
        }
    }
}

/// Two parts, and a guard that takes both.
fn parts() -> [MemoryStorage; 2] {
    let groups = KeyGroups::new(8).unwrap();
    [0, 1].map(|subtask| {
        let storage = MemoryStorage::default();
        let build = build().key_groups(groups, groups.range(subtask, 2).unwrap());
        let (mut guard, _) = build.open(storage.clone()).unwrap();
        for id in 0..100u64 {
            if guard.owned().contains(guard.group_of(&id).unwrap()) {
                assert!(passes(&mut guard, id, FRESH));
            }
            if id == 50 {
                guard.seal();
            }
        }
        guard.checkpoint().unwrap();
        storage
    })
}

fn joined() -> ReplayGuardBuilder {
    let groups = KeyGroups::new(8).unwrap();
    build().key_groups(groups, groups.all())
}

#[test]
fn a_rescale_killed_at_any_operation_leaves_all_or_an_error_and_can_be_repeated() {
    let parts = parts();
    let parts = parts.each_ref().map(|part| part as &dyn Storage);
    let total = operations(|into| drop(joined().open_parts(&parts, into.clone()).unwrap()));
    assert!(total > 5, "{total}");
    for kill in [Kill::Before, Kill::After] {
        let mut refused = 0;
        for at in 0..total {
            let case = format!("killed {kill:?} {at}");
            let into = MemoryStorage::default();
            joined().open_parts(&parts, Watched::killed(&into, kill, at)).expect_err(&case);
            match joined().open(into.clone()) {
                Ok((mut guard, Opened::Restored(_))) => {
                    assert_eq!(remembered(&mut guard, 120), set(0..100), "{case}");
                    continue;
                }
                // Nothing was written: whoever opens this learns that it is new.
                Ok((_, opened)) => assert!(matches!(opened, Opened::Created), "{case}"),
                Err(StateFault::State(StateError::NoManifest { .. })) => refused += 1,
                Err(error) => panic!("{case}: {error}"),
            }
            reset(&into).unwrap();
            let (mut guard, _) = joined().open_parts(&parts, into).unwrap();
            assert_eq!(remembered(&mut guard, 120), set(0..100), "{case}");
        }
        assert!(refused > 0, "{kill:?}");
    }
}

#[test]
fn a_part_that_fails_at_any_operation_leaves_no_state_and_can_be_read_again() {
    let [first, second] = parts();
    let read = |first: &dyn Storage, into: &MemoryStorage| {
        joined().open_parts(&[first, &second], into.clone())
    };
    let watched = Watched::new(&first);
    drop(read(&watched, &MemoryStorage::default()).unwrap());
    for at in 0..watched.operations() {
        let into = MemoryStorage::default();
        read(&Watched::killed(&first, Kill::Before, at), &into).expect_err("killed");
        // Nothing, or what is refused until it is erased.
        if !into.list().unwrap().is_empty() {
            let refused = joined().open(into.clone()).unwrap_err();
            let no_manifest = matches!(refused, StateFault::State(StateError::NoManifest { .. }));
            assert!(no_manifest, "at {at}: {refused}");
            reset(&into).unwrap();
        }
        let (mut guard, _) = read(&first, &into).unwrap();
        assert_eq!(remembered(&mut guard, 120), set(0..100), "at {at}");
    }
}

#[test]
fn taking_over_killed_at_any_operation_changes_no_tuple() {
    let [first, second] = parts();
    for kill in [Kill::Before, Kill::After] {
        for at in 0.. {
            if take_over(Watched::killed(&first, kill, at)).is_ok() {
                assert!(at > 4, "{at}");
                break;
            }
            let parts: [&dyn Storage; 2] = [&first, &second];
            let (mut guard, _) = joined().open_parts(&parts, MemoryStorage::default()).unwrap();
            assert_eq!(remembered(&mut guard, 120), set(0..100), "killed {kill:?} {at}");
        }
    }
}

/// A place that fails and comes back: the same guard tries again, and nothing is lost or doubled.
#[test]
fn a_checkpoint_that_failed_is_tried_again_by_the_same_guard() {
    for at in 0..40 {
        let place = MemoryStorage::default();
        let storage = Flaky { place: place.clone(), left: at.into() };
        let Ok((mut guard, _)) = build().open(storage) else { continue };
        assert_eq!(process(&mut guard, 0..50), 50);
        let mut failures = 0;
        for round in 1..5u64 {
            guard.seal();
            while guard.checkpoint().is_err() {
                failures += 1;
            }
            assert_eq!(guard.snapshot().uncheckpointed, 0);
            assert_eq!(guard.ackable().count(), if round == 1 { 50 } else { 10 });
            assert_eq!(process(&mut guard, 40 + round * 10..50 + round * 10), 10);
        }
        assert!(failures <= 1, "{failures}");
        guard.checkpoint().unwrap();
        assert_eq!(guard.snapshot().counts.checkpoints, 5);
        drop(guard);
        let (mut guard, _) = reopen(build(), place);
        assert_eq!(remembered(&mut guard, 120), set(0..90));
        assert_eq!(guard.snapshot().remembered, 90);
    }
}

/// Does one operation whose answer is lost.
#[derive(Debug)]
struct Flaky {
    place: MemoryStorage,
    left: std::sync::atomic::AtomicU64,
}

impl Flaky {
    fn run<T>(&self, answer: Result<T, state::StorageError>) -> Result<T, state::StorageError> {
        use std::sync::atomic::Ordering;
        if self.left.fetch_sub(1, Ordering::Relaxed) == 0 {
            let source = std::io::Error::other("the answer is lost");
            return Err(state::StorageError::Io { object: "place".into(), source });
        }
        answer
    }
}

impl Storage for Flaky {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), state::StorageError> {
        self.run(self.place.put_new(name, bytes))
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, state::StorageError> {
        self.run(self.place.get(name, max_len))
    }

    fn get_range(&self, name: &str, at: u64, len: u64) -> Result<Vec<u8>, state::StorageError> {
        self.run(self.place.get_range(name, at, len))
    }

    fn list(&self) -> Result<Vec<state::StoredObject>, state::StorageError> {
        self.run(self.place.list())
    }

    fn delete(&self, name: &str) -> Result<(), state::StorageError> {
        self.run(self.place.delete(name))
    }
}
