//! `unique_within`: order, laziness, honesty, and what happens to a tuple that cannot be judged.

use std::cell::Cell;
use std::iter::FusedIterator;

use hapax::codec::{Artefact, Provenance};
use hapax::prelude::*;
use hapax::replay::{Refused, ReplayFilter, UniqueWithin};
use hapax::{FullReason, InsertError};

use crate::random::Rng;
use crate::subject::{bloom, cuckoo, passes, windowed};

fn window() -> crate::subject::Windowed<CuckooFilter> {
    windowed(&cuckoo(1_000, 1e-6))
}

#[test]
fn first_sightings_keep_their_order() {
    let mut rng = Rng(1);
    let log: Vec<u64> = (0..5_000).map(|_| rng.below(800)).collect();
    let mut expected = Vec::new();
    for &id in &log {
        if !expected.contains(&id) {
            expected.push(id);
        }
    }
    let mut filter = window();
    let passed: Vec<u64> =
        log.iter().copied().unique_within(&mut filter, |id| *id).map(Result::unwrap).collect();
    assert_eq!(passed, expected);
    assert_eq!(filter.counts().passed, expected.len() as u64);
    assert_eq!(filter.counts().judged(), log.len() as u64);
}

#[test]
fn nothing_is_pulled_before_it_is_asked_for() {
    let pulled = Cell::new(0);
    let log = [1u64, 1, 1, 2, 3].into_iter().inspect(|_| pulled.set(pulled.get() + 1));
    let mut filter = window();
    let mut tuples = log.unique_within(&mut filter, |id| *id);
    let after = |tuples: &mut dyn Iterator<Item = Result<u64, Refused<u64>>>| {
        (tuples.next().map(Result::unwrap), pulled.get())
    };
    assert_eq!(pulled.get(), 0);
    assert_eq!(after(&mut tuples), (Some(1), 1));
    assert_eq!(after(&mut tuples), (Some(2), 4));
    // The accounts are those of what was yielded.
    let counts = UniqueWithin::replay_filter(&tuples).counts();
    assert_eq!((counts.passed, counts.dropped), (2, 2));
    assert_eq!(after(&mut tuples), (Some(3), 5));
    assert_eq!(after(&mut tuples), (None, 5));
}

#[test]
fn the_size_hint_holds_at_every_step() {
    for log in [vec![1u64, 2, 3], vec![7; 10], vec![], vec![1, 2, 1, 2, 3]] {
        let mut filter = window();
        let mut expected = log.clone();
        expected.sort_unstable();
        expected.dedup();
        let mut left = expected.len();
        let mut tuples = log.into_iter().unique_within(&mut filter, |id| *id);
        loop {
            let (least, most) = tuples.size_hint();
            assert!(
                least <= left && left <= most.unwrap(),
                "{left} left, hint {least} to {most:?}"
            );
            if tuples.next().is_none() {
                break;
            }
            left -= 1;
        }
        assert_eq!((left, tuples.size_hint()), (0, (0, Some(0))));
    }
    let mut filter = window();
    assert_eq!((0u64..).filter(|_| true).unique_within(&mut filter, |id| *id).size_hint().0, 0);
}

#[test]
fn an_end_stays_an_end() {
    fn fused<I: FusedIterator>(tuples: I) -> I {
        tuples
    }
    let mut filter = window();
    let mut tuples = fused([1u64, 1].into_iter().unique_within(&mut filter, |id| *id));
    assert_eq!(tuples.next(), Some(Ok(1)));
    assert!((0..5).all(|_| tuples.next().is_none()));
}

#[test]
fn the_id_is_asked_for_once_a_tuple() {
    let asked = Cell::new(0);
    let log = (0..1_000u64).map(|tuple| (tuple % 300, tuple));
    let mut filter = window();
    let id = |tuple: &(u64, u64)| {
        asked.set(asked.get() + 1);
        tuple.0
    };
    let passed: Vec<_> = log.unique_within(&mut filter, id).map(Result::unwrap).collect();
    assert_eq!(asked.get(), 1_000);
    // The tuple that is yielded is the first of its id.
    assert!(passed.into_iter().eq((0..300).map(|id| (id, id))));
}

#[test]
fn a_tuple_that_a_full_filter_refuses_is_in_the_error() {
    const CAPACITY: u64 = 100;
    let mut filter = ReplayFilter::new(bloom(CAPACITY, 1e-6).build().unwrap());
    for id in 0..CAPACITY {
        assert!(passes(&mut filter, id));
    }
    let state = |filter: &ReplayFilter<BloomFilter>| {
        Artefact { filter, provenance: Provenance::default() }.to_bytes()
    };
    let before = state(&filter);
    // Full is full for new tuples only; what cannot be judged does not end the stream either.
    let log = [(500, "new"), (501, "newer")];
    let answers: Vec<_> = log.into_iter().unique_within(&mut filter, |tuple| tuple.0).collect();
    assert_eq!(answers.len(), 2);
    for (answer, sent) in answers.into_iter().zip(log) {
        let Refused { tuple, cause } = answer.unwrap_err();
        assert_eq!(tuple, sent);
        let InsertError::Full(full) = cause else { unreachable!("{cause}") };
        assert_eq!(
            (full.reason, full.len, full.capacity),
            (FullReason::Capacity, CAPACITY, CAPACITY)
        );
    }
    assert_eq!(state(&filter), before, "a refusal must change nothing");
    assert!(!passes(&mut filter, 17), "a replay is still recognised");
    assert_eq!((filter.counts().passed, filter.counts().dropped), (CAPACITY, 1));
}
