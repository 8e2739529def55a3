//! What a window remembers, what it forgets, and what it costs.

use hapax::Salt;
use hapax::filter::Builder;
use hapax::prelude::*;
use hapax::replay::GenerationWindow;

use crate::random::Rng;
use crate::statistics::{SIGMAS, assert_close, assert_rate};
use crate::subject::{
    Generation, Windowed, bloom, counting, cuckoo, fill, passes, strangers, windowed,
};

/// So low that no false positive occurs among the keys of these tests.
const NEVER: f64 = 1e-8;

/// The key at position p of a generation is remembered while 2W − 1 − p more first sightings come:
/// at least W, for the last of a generation, and never 2W.
fn check_lifetimes<F: Generation>(builder: impl Fn(u64, f64) -> Builder<F>) {
    for capacity in [1, 2, 3, 40] {
        let mut filter = windowed(&builder(capacity, NEVER));
        assert_eq!(filter.window().capacity(), capacity);
        for now in 0..=6 * capacity {
            assert!(passes(&mut filter, now), "{now} of {capacity}");
            assert_eq!(filter.window().generation(), now / capacity);
            for id in 0..=now {
                let (later, position) = (now - id, id % capacity);
                assert_eq!(
                    filter.window().contains(&id).unwrap(),
                    later < 2 * capacity - position,
                    "{id} after {later} more, in a window of {capacity}"
                );
            }
        }
    }
}

#[test]
fn a_key_is_remembered_for_capacity_first_sightings_and_forgotten_at_twice_that() {
    check_lifetimes(bloom);
    check_lifetimes(counting);
    check_lifetimes(cuckoo);
}

/// As above at a rate at which many are dropped: those that passed are remembered all the same.
fn check_last_capacity<F: Generation>(builder: Builder<F>) {
    let mut filter = windowed(&builder);
    let capacity = filter.window().capacity() as usize;
    let mut passed = Vec::new();
    for id in 0..8 * capacity as u64 {
        if passes(&mut filter, id) {
            passed.push(id);
        }
        // The last one has seen none since, so W + 1 keys have seen at most W.
        for back in [capacity - 1, capacity, capacity + 1] {
            if let Some(&id) = passed.len().checked_sub(back).and_then(|at| passed.get(at)) {
                assert!(filter.window().contains(&id).unwrap(), "{back}");
            }
        }
    }
    for id in &passed[passed.len() - capacity - 1..] {
        assert!(filter.window().contains(id).unwrap());
    }
}

#[test]
fn no_false_negative_within_capacity_at_a_high_rate() {
    check_last_capacity(bloom(300, 0.2));
    check_last_capacity(counting(300, 0.2));
    check_last_capacity(cuckoo(300, 0.2));
}

fn check_endless<F: Generation>(builder: Builder<F>) {
    let mut filter = windowed(&builder);
    let capacity = filter.window().capacity();
    let bit_len = filter.window().stats().bit_len;
    let (mut next, mut old) = (0, Vec::new());
    for turn in 1..=100 {
        let passed = fill(&mut filter, &mut next, turn * capacity);
        let stats = filter.window().stats();
        assert_eq!(stats.bit_len, bit_len, "grew by turn {turn}");
        assert!(stats.len <= 2 * capacity);
        assert_eq!(filter.window().generation(), turn - 1);
        if (70..=98).contains(&turn) {
            old.extend(passed);
        }
    }
    let found = old.iter().filter(|&id| filter.window().contains(id).unwrap()).count() as u64;
    let rate = filter.window().stats().false_positive_rate;
    assert_rate("forgotten keys reported", found, old.len() as u64, rate, 0.0);
}

#[test]
fn memory_never_grows_and_what_is_older_than_two_windows_is_a_stranger() {
    check_endless(bloom(1_000, 0.02));
    check_endless(counting(1_000, 0.02));
    check_endless(cuckoo(1_000, 0.02));
}

/// A key asked at every step, with one new key in between.
fn check_repeated<F: Generation>(builder: Builder<F>) {
    let mut filter = windowed(&builder);
    let capacity = filter.window().capacity();
    let repeated = u64::MAX;
    assert!(passes(&mut filter, repeated));
    let mut came_out = Vec::new();
    let mut since = 0;
    for id in 0..100 * capacity {
        assert!(passes(&mut filter, id));
        since += 1;
        if passes(&mut filter, repeated) {
            came_out.push(since);
            since = 0;
        }
    }
    // First at position 0, of 2W − 1 − 0; then always one after the key that turned the window.
    assert_eq!(came_out[0], 2 * capacity);
    assert!(came_out[1..].iter().all(|&since| since == 2 * capacity - 1), "{came_out:?}");
    assert_eq!(came_out.len() as u64, (100 * capacity - 1) / (2 * capacity - 1));
}

#[test]
fn a_hit_does_not_extend_a_life() {
    check_repeated(bloom(50, NEVER));
    check_repeated(counting(50, NEVER));
    check_repeated(cuckoo(50, NEVER));
}

/// `insert`, `insert_unique` and the batch are one operation, with one answer.
fn check_doors<F: Generation>(builder: Builder<F>) {
    let mut windows: Vec<_> = (0..3).map(|_| GenerationWindow::new(&builder).unwrap()).collect();
    let mut rng = Rng(5);
    let ids: Vec<u64> = (0..3_000).map(|id| id - rng.below(id.min(200) + 1)).collect();
    let seed = windows[0].seed().clone();
    let hashes: Vec<_> = ids.iter().map(|id| seed.hash(id).unwrap()).collect();

    let inserted: Vec<Seen> = ids.iter().map(|id| windows[0].insert(id).unwrap()).collect();
    let unique: Vec<Seen> = ids.iter().map(|id| windows[1].insert_unique(id).unwrap()).collect();
    let mut batch = vec![Seen::Never; ids.len()];
    windows[2].insert_batch(&hashes, &mut batch).unwrap();
    assert!(inserted == unique && inserted == batch);
    assert!(windows.iter().all(|window| window.stats() == windows[0].stats()));
    let never = inserted.iter().filter(|&&seen| seen == Seen::Never).count() as u64;
    assert!(never < 3_000 && windows[0].generation() == (never - 1) / windows[0].capacity());
}

#[test]
fn every_door_to_a_window_gives_the_same_answers() {
    check_doors(bloom(100, 0.1));
    check_doors(counting(100, 0.1));
    check_doors(cuckoo(100, 0.1));
}

/// Tuples dropped while new are dropped again, two turns later, only as often as any stranger.
fn check_afresh<F: Generation>(builder: Builder<F>) {
    let mut filter = windowed(&builder);
    let capacity = filter.window().capacity();
    let (mut next, mut dropped) = (0, Vec::new());
    fill(&mut filter, &mut next, 2 * capacity);
    for id in strangers(20_000) {
        if filter.window().contains(&id).unwrap() {
            dropped.push(id);
        }
    }
    assert!(dropped.len() > 1_000, "too few for a statement: {}", dropped.len());
    fill(&mut filter, &mut next, 4 * capacity);
    let again = dropped.iter().filter(|&id| filter.window().contains(id).unwrap()).count();
    let rate = filter.window().stats().false_positive_rate;
    assert_rate("dropped again", again as u64, dropped.len() as u64, rate, 0.0);
}

#[test]
fn what_was_dropped_falsely_is_judged_afresh_after_two_turns() {
    check_afresh(bloom(2_000, 0.1));
    check_afresh(counting(2_000, 0.1));
    check_afresh(cuckoo(2_000, 0.1));
}

/// The same keys come again in the same order: under one salt the generations would make the same
/// mistakes, under new ones two mistakes at once are as rare as chance has it.
fn check_salts<F: Generation>(builder: Builder<F>) {
    let mut filter = windowed(&builder);
    let capacity = filter.window().capacity();
    let round = |filter: &mut Windowed<F>| -> Vec<bool> {
        for id in 0..4 * capacity {
            let _ = passes(filter, id);
        }
        strangers(20_000).map(|id| filter.window().contains(&id).unwrap()).collect()
    };
    let first = round(&mut filter);
    let rate = filter.window().stats().false_positive_rate;
    assert!(filter.window().generation() >= 3);
    let second = round(&mut filter);
    let of = first.iter().filter(|&&mistake| mistake).count() as u64;
    let both = first.iter().zip(&second).filter(|&(&one, &two)| one && two).count() as u64;
    let rate_now = filter.window().stats().false_positive_rate;
    assert!(of > 300 && rate > 0.0, "too few for a statement: {of}");
    assert_rate("the same mistakes", both, of, rate_now, 0.0);
}

#[test]
fn each_turn_takes_a_new_salt() {
    check_salts(bloom(1_000, 0.1));
    check_salts(counting(1_000, 0.1));
    check_salts(cuckoo(1_000, 0.1));
}

/// Both generations full: as large as planned, and wrong as often as said and as asked for.
fn check_rate<F: Generation>(builder: &Builder<F>, requested: f64) {
    const TRIALS: u64 = 100_000;
    let plan = GenerationWindow::plan(builder).unwrap();
    let mut filter = windowed(builder);
    fill(&mut filter, &mut 0, 2 * plan.capacity);
    let stats = filter.window().stats();
    assert_eq!((stats.len, stats.capacity), (2 * plan.capacity, plan.capacity));
    assert_eq!(stats.bit_len, plan.bit_len);
    assert!(plan.false_positive_rate <= requested * (1.0 + 1e-12));

    let found = strangers(TRIALS).filter(|id| filter.window().contains(id).unwrap()).count();
    let what = format!("full window, {plan:?}");
    assert_rate(&what, found as u64, TRIALS, stats.false_positive_rate, 0.0);
    let (measured, trials) = (found as f64 / TRIALS as f64, TRIALS as f64);
    let deviation = (requested * (1.0 - requested) / trials).sqrt();
    assert!(measured <= requested + SIGMAS * deviation, "{what}: {measured} over {requested}");
}

#[test]
fn a_full_window_has_the_rate_it_states_and_at_most_the_one_requested() {
    for rate in [0.02, 0.001] {
        check_rate(&bloom(10_000, rate), rate);
        check_rate(&counting(10_000, rate), rate);
        check_rate(&cuckoo(10_000, rate), rate);
        check_rate(&BloomFilter::builder().byte_len(20_000).false_positive_rate(rate), rate);
        check_rate(
            &CountingBloomFilter::builder().byte_len(80_000).false_positive_rate(rate),
            rate,
        );
        check_rate(&CuckooFilter::builder().byte_len(20_000).false_positive_rate(rate), rate);
    }
}

/// The plan's rate is that of full windows, on average over salts. The fill of a Bloom filter
/// varies by chance; that of a cuckoo filter does not.
fn check_planned_rate<F: Generation>(builder: &Builder<F>) {
    let plan = GenerationWindow::plan(builder).unwrap();
    let rates: Vec<f64> = (0..30)
        .map(|salt| {
            let mut filter = windowed(&builder.clone().salt(Salt::new(salt * 1_000)));
            fill(&mut filter, &mut 0, 2 * plan.capacity);
            filter.window().stats().false_positive_rate
        })
        .collect();
    let number = rates.len() as f64;
    let mean = rates.iter().sum::<f64>() / number;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (number - 1.0);
    let deviation = (variance / number).sqrt().max(plan.false_positive_rate * 1e-9);
    assert_close(&format!("{plan:?}"), mean, plan.false_positive_rate, deviation);
}

#[test]
fn the_planned_rate_is_that_of_full_windows() {
    check_planned_rate(&bloom(1_000, 0.001));
    check_planned_rate(&counting(1_000, 0.001));
    check_planned_rate(&cuckoo(1_000, 0.001));
}

fn check_bytes<F: Generation>(builder: impl Fn() -> Builder<F>) {
    for byte_len in [400, 777, 999, 1_000, 1_001, 12_345] {
        for builder in [
            builder().byte_len(byte_len).capacity(byte_len / 32),
            builder().byte_len(byte_len).false_positive_rate(0.01),
        ] {
            let plan = GenerationWindow::plan(&builder).unwrap();
            let stats = GenerationWindow::new(&builder).unwrap().stats();
            assert!(stats.byte_len() <= byte_len, "{byte_len}: {stats:?}");
            assert_eq!((stats.bit_len, stats.capacity), (plan.bit_len, plan.capacity));
            if byte_len >= 1_000 {
                assert!(stats.byte_len() * 10 > byte_len * 8, "{byte_len}: {stats:?}");
            }
        }
    }
}

#[test]
fn the_bytes_given_bound_the_whole_window() {
    check_bytes(BloomFilter::builder);
    check_bytes(CountingBloomFilter::builder);
    check_bytes(CuckooFilter::builder);
}
