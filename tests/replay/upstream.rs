//! Upstream backup: crashes and replays against exact sets.
//!
//! ```text
//!  log        0 ........ acknowledged ....... saved ......... position ──▶
//!  a crash    the filter is that of `saved`; upstream sends from `acknowledged` on
//! ```
//!
//! Output is durable at once, the state is saved now and then, and acknowledgements follow the saved
//! state late, as the order of steps demands.

use std::collections::HashSet;

use hapax::codec::{Artefact, Provenance};
use hapax::filter::Builder;

use crate::random::Rng;
use crate::statistics::assert_close;
use crate::subject::{Generation, Windowed, bloom, cuckoo, passes, windowed};

#[derive(Default)]
struct Outcome {
    /// Dropped though it had never come out.
    lost: HashSet<u64>,
    output: HashSet<u64>,
    came_twice: u64,
    crashes: u64,
    estimated_lost: f64,
}

/// Runs a log of `len` tuples to its end. An acknowledgement lags the position by less than the
/// window, or replays would be taken for new.
fn run<F: Generation>(builder: &Builder<F>, len: u64, seed: u64) -> Outcome {
    let mut rng = Rng(seed);
    let mut filter = windowed(builder);
    let behind = filter.window().capacity() / 2;
    let save =
        |filter: &Windowed<F>| Artefact { filter, provenance: Provenance::default() }.to_bytes();
    let (mut acknowledged, mut saved, mut position) = (0, 0, 0);
    let mut state = save(&filter);
    // What came out since the state was saved: only this may come out again after a crash, and once.
    let (mut unsaved, mut may_repeat) = (HashSet::new(), HashSet::<u64>::new());
    let mut outcome = Outcome::default();
    while position < len {
        if passes(&mut filter, position) {
            if !outcome.output.insert(position) {
                outcome.came_twice += 1;
                assert!(may_repeat.remove(&position), "{position} came out twice");
            }
            unsaved.insert(position);
        } else if !outcome.output.contains(&position) {
            outcome.lost.insert(position);
        }
        position += 1;
        if rng.below(40) == 0 || position.saturating_sub(saved) > behind / 2 {
            state = save(&filter);
            saved = saved.max(position);
            unsaved.clear();
        }
        if rng.below(60) == 0 || position.saturating_sub(acknowledged) > behind {
            acknowledged = saved;
        }
        if rng.below(100) == 0 {
            filter = Artefact::<Windowed<F>>::from_bytes(&state).unwrap().filter;
            may_repeat.extend(unsaved.drain());
            position = acknowledged;
            outcome.crashes += 1;
        }
    }
    let counts = filter.counts();
    assert_eq!(counts.passed + counts.dropped, counts.judged());
    outcome.estimated_lost = counts.estimated_lost;
    outcome
}

/// Without false positives: everything comes out, and what comes out twice was not yet saved.
fn check_exact<F: Generation>(builder: &Builder<F>) {
    for seed in 0..10 {
        let outcome = run(builder, 10_000, seed);
        assert!(outcome.crashes > 30 && outcome.came_twice > 100, "the run must crash");
        assert_eq!(outcome.lost, HashSet::new());
        assert_eq!(outcome.output, (0..10_000).collect());
    }
}

#[test]
fn crashes_lose_nothing() {
    check_exact(&bloom(400, 1e-8));
    check_exact(&cuckoo(400, 1e-8));
}

/// With false positives: what is missing was counted, and is as much as was estimated.
fn check_counted<F: Generation>(builder: &Builder<F>) {
    let (mut lost, mut estimated) = (0, 0.0);
    for seed in 0..30 {
        let outcome = run(&builder.clone().seed(hapax::Seed::new(seed)), 10_000, seed);
        let missing: HashSet<u64> = (0..10_000).filter(|id| !outcome.output.contains(id)).collect();
        assert!(missing.is_subset(&outcome.lost), "a tuple is missing that was never dropped");
        lost += missing.len();
        estimated += outcome.estimated_lost;
    }
    assert!(lost > 500, "too few for a statement: {lost}");
    // Few losses: their number is Poisson. What is regained by a replay after a turn is of the
    // order of the rate of it.
    assert_close("missing tuples", lost as f64, estimated, estimated.sqrt());
}

#[test]
fn crashes_lose_false_positives_only_and_those_are_estimated() {
    check_counted(&bloom(400, 0.005));
    check_counted(&cuckoo(400, 0.005));
}
