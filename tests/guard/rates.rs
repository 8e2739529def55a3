//! What is lost over ten thousand recoveries, against what it should be: C · X · f after recoveries,
//! N · f always on, and never more than the budget by expectation.
//!
//! A new tuple that is asked about at rate f is lost with probability f. So the number lost over many
//! has the expectation Σ f and the variance Σ f (1 − f); and the estimate, which adds f / (1 − f) for
//! each that passes, differs from it by Σ f / (1 − f) in variance.

use std::time::Duration;

use hapax::replay::{
    ChannelKind, Delivery, Fate, Judged, OnFull, OnProbable, Position, ReplayGuard,
    ReplayGuardBuilder,
};

use crate::random::Rng;
use crate::statistics::{assert_close, assert_rate};
use crate::subject::{DROPPED, Time, assert_accounts, process, sized};

/// C.
const RECOVERIES: u64 = 10_000;

/// X, new tuples tested in each.
const TESTED: u64 = 10;

/// New tuples between two recoveries.
const BETWEEN: u64 = 20;

const RATE: f64 = 0.01;

/// A window that is full all the time.
fn window() -> ReplayGuardBuilder {
    sized(2_000).false_positive_rate(RATE).on_full(OnFull::Rotate).on_suspect(OnProbable::Divert)
}

/// How upstream says what may be a replay.
trait Upstream {
    /// A delivery of a tuple that comes for the first time and may be a replay as far as upstream
    /// tells; `number` counts them.
    fn risky(&mut self, number: u64) -> Delivery;

    /// A recovery begins.
    fn recover(&mut self, guard: &mut ReplayGuard);
}

/// What came of all of it.
#[derive(Debug, Default)]
struct Outcome {
    lost: u64,
    /// Σ f and Σ f (1 − f) over the tuples tested.
    expected: f64,
    variance: f64,
    /// Between recoveries: hits of new tuples, which are not dropped and so measure the rate.
    false_hits: u64,
}

fn run(builder: ReplayGuardBuilder, upstream: &mut impl Upstream) -> (Outcome, ReplayGuard) {
    let mut guard = builder.build().unwrap();
    let mut rng = Rng(1);
    let mut outcome = Outcome::default();
    let mut next = 0u64;
    let mut number = 0;
    let safe = Delivery::redelivered(false);
    while next < 3_000 {
        let _ = process(&mut guard, &next, safe);
        next += 1;
    }
    for _ in 0..RECOVERIES {
        for _ in 0..BETWEEN {
            let judged = process(&mut guard, &next, safe);
            outcome.false_hits += u64::from(judged == Judged::Probable(Fate::Divert));
            next += 1;
        }
        upstream.recover(&mut guard);
        for _ in 0..TESTED {
            // Replays in between: they are dropped, and cost nothing.
            let replay = next - 1 - rng.below(BETWEEN);
            let again = process(&mut guard, &replay, Delivery::redelivered(true));
            assert!(matches!(again, DROPPED | Judged::First), "{again:?}");
            // A tuple that was lost was never processed, and need not be known.
            number += 1;
            let rate = guard.snapshot().false_positive_rate;
            outcome.expected += rate;
            outcome.variance += rate * (1.0 - rate);
            let judged = process(&mut guard, &next, upstream.risky(number));
            assert!(matches!(judged, Judged::First | DROPPED), "{judged:?}");
            outcome.lost += u64::from(judged == DROPPED);
            next += 1;
        }
    }
    assert_accounts(&mut guard);
    (outcome, guard)
}

fn check(builder: ReplayGuardBuilder, upstream: &mut impl Upstream) {
    let (outcome, mut guard) = run(builder, upstream);
    let counts = guard.snapshot().counts;
    assert_eq!(counts.recoveries, RECOVERIES);
    let Outcome { lost, expected, variance, false_hits } = outcome;
    let tested = (RECOVERIES * TESTED) as f64;
    assert!(expected < tested * RATE && expected > tested * RATE / 2.0, "{expected}");
    let lost = lost as f64;
    within(3.0, "lost, by the filter's own rate", lost, expected, variance.sqrt());
    assert_rate("false hits", false_hits, RECOVERIES * BETWEEN, expected / tested, 0.0);
    // The rate as it shows between the recoveries, and C · X · f with it: both sides are counts.
    let measured = false_hits as f64 / (RECOVERIES * BETWEEN) as f64;
    let from_measured = (tested / (RECOVERIES * BETWEEN) as f64) * tested * measured;
    within(
        3.0,
        "lost, by the rate measured",
        lost,
        tested * measured,
        (expected + from_measured).sqrt(),
    );
    within(2.0, "estimate", counts.estimated_lost, lost, expected.sqrt());
}

/// Asserts that a value lies within so many standard deviations of what is expected.
#[track_caller]
fn within(sigmas: f64, what: &str, found: f64, expected: f64, deviation: f64) {
    // `assert_close` allows four.
    assert_close(what, found, expected, deviation * sigmas / 4.0);
}

/// Upstream flags what it may have sent before, new tuples among them: they were never processed.
struct Flagged;

impl Upstream for Flagged {
    fn risky(&mut self, _: u64) -> Delivery {
        Delivery::redelivered(true)
    }

    fn recover(&mut self, guard: &mut ReplayGuard) {
        guard.begin_recovery();
    }
}

#[test]
fn flagged_deliveries_lose_as_many_as_were_flagged_times_the_rate() {
    check(window(), &mut Flagged);
}

/// Upstream gives ids alone, and the first X new tuples after a recovery are tested.
struct IdsOnly;

impl Upstream for IdsOnly {
    fn risky(&mut self, _: u64) -> Delivery {
        Delivery::default()
    }

    fn recover(&mut self, guard: &mut ReplayGuard) {
        guard.begin_recovery();
    }
}

#[test]
fn ids_alone_lose_the_tuples_tested_after_a_recovery_times_the_rate() {
    check(window().tested_after_recovery(2 * TESTED), &mut IdsOnly);
}

/// A log whose positions have holes: what comes below the highest seen and before the fence is at
/// risk.
struct Holes {
    head: u64,
}

impl Upstream for Holes {
    fn risky(&mut self, number: u64) -> Delivery {
        // Below the head, and never twice.
        Position::new(0, self.head - 1 - 3 * (number % TESTED)).into()
    }

    fn recover(&mut self, guard: &mut ReplayGuard) {
        guard.begin_recovery();
        self.head += 1_000;
        let head = Position::new(0, self.head);
        let _ = process(guard, &("head", self.head), Delivery::from(head).with_redelivered(false));
        guard.fence(head);
    }
}

#[test]
fn a_fence_in_a_log_with_holes_loses_the_tuples_before_it_times_the_rate() {
    let builder = window().channels(ChannelKind::Monotone).tested_after_recovery(0);
    check(builder, &mut Holes { head: 0 });
}

/// A dense log of which the guard knows only the end: what comes before what it knows is at risk.
struct Unknown {
    lowest: u64,
}

impl Upstream for Unknown {
    fn risky(&mut self, _: u64) -> Delivery {
        self.lowest -= 1;
        Position::new(0, self.lowest).into()
    }

    fn recover(&mut self, guard: &mut ReplayGuard) {
        guard.begin_recovery();
        guard.fence(Position::new(0, 1 << 41));
    }
}

#[test]
fn a_fence_before_all_that_is_known_loses_the_tuples_before_it_times_the_rate() {
    check(window().tested_after_recovery(0), &mut Unknown { lowest: 1 << 40 });
}

/// Every tuple is asked about, from the first on: N times the mean rate, which rises from nothing.
#[test]
fn always_on_loses_its_rate_of_every_tuple() {
    const TUPLES: u64 = 300_000;
    let builder = sized(2_000).always_on(RATE * TUPLES as f64, TUPLES).on_full(OnFull::Rotate);
    let mut guard = builder.build().unwrap();
    let (mut lost, mut expected, mut variance) = (0u64, 0.0, 0.0);
    for id in 0..TUPLES {
        let rate = guard.snapshot().false_positive_rate;
        expected += rate;
        variance += rate * (1.0 - rate);
        lost += u64::from(process(&mut guard, &id, Delivery::default()) == DROPPED);
    }
    within(3.0, "lost", lost as f64, expected, variance.sqrt());
    let counts = guard.snapshot().counts;
    within(2.0, "estimate", counts.estimated_lost, lost as f64, expected.sqrt());
    assert!(expected <= RATE * TUPLES as f64, "{expected}");
    assert!(counts.probability_of_loss() > 0.999);
    assert_accounts(&mut guard);
}

/// More tuples are tested in a recovery than were planned: drops stop where the budget is spent, and
/// hits are diverted from there on.
#[test]
fn no_recovery_is_charged_more_than_its_budget() {
    const LOST: f64 = 0.2;
    let builder = sized(2_000).loss_per_recovery(LOST, 20).on_full(OnFull::Rotate);
    let mut guard = builder.build().unwrap();
    let flagged = Delivery::redelivered(true);
    let (mut next, mut lost, mut diverted, mut charged) = (0u64, 0u64, 0u64, 0.0);
    let (mut after, mut expected_after, mut spent) = (0u64, 0.0, 0u64);
    for _ in 0..RECOVERIES {
        guard.begin_recovery();
        let mut over = false;
        for _ in 0..60 {
            let rate = guard.snapshot().false_positive_rate;
            let judged = process(&mut guard, &next, flagged);
            next += 1;
            match judged {
                Judged::First => {}
                DROPPED => {
                    assert!(!over, "the budget is spent");
                    lost += 1;
                }
                Judged::Probable(Fate::Divert) => diverted += 1,
                other => panic!("{other:?}"),
            }
            let now = guard.snapshot().lost_this_recovery;
            assert!(now <= LOST, "{now}");
            over = now + rate / (1.0 - rate) > LOST;
            if over {
                after += 1;
                expected_after += rate;
            }
        }
        let of_this = guard.snapshot().lost_this_recovery;
        spent += u64::from(of_this > LOST * 0.9);
        charged += of_this;
    }
    assert!(spent > RECOVERIES * 9 / 10, "the budget binds: {spent}");
    let counts = guard.snapshot().counts;
    assert!((counts.estimated_lost - charged).abs() < 1e-6 * charged);
    // Lost: what was charged, within the noise, and so no more than the budgets together.
    within(3.0, "lost", lost as f64, charged, charged.sqrt());
    within(2.0, "estimate", counts.estimated_lost, lost as f64, charged.sqrt());
    let budgets = LOST * RECOVERIES as f64;
    assert!(charged <= budgets && (lost as f64) < budgets + 3.0 * budgets.sqrt());
    // Afterwards every hit is diverted: as many as the rate says of those after.
    assert!(after > RECOVERIES * 30, "{after}");
    within(3.0, "diverted", diverted as f64, expected_after, expected_after.sqrt());
    assert_accounts(&mut guard);
}

/// A crash loop renews the budget of the recovery over and over; the hour stays.
#[test]
fn no_hour_is_charged_more_than_its_budget() {
    const HOUR: f64 = 2.0;
    let time = Time::default();
    let builder = sized(2_000).loss_per_recovery(0.2, 20).loss_per_hour(HOUR);
    let builder = builder.on_full(OnFull::Rotate).clock(time.clone());
    let mut guard = builder.build().unwrap();
    let flagged = Delivery::redelivered(true);
    let (mut next, mut lost, mut diverted) = (0u64, 0u64, 0u64);
    // Charged by second.
    let mut charges: Vec<(u64, f64)> = Vec::new();
    let mut total = 0.0;
    for recovery in 0..RECOVERIES {
        guard.begin_recovery();
        for _ in 0..20 {
            match process(&mut guard, &next, flagged) {
                Judged::First => {}
                DROPPED => lost += 1,
                Judged::Probable(Fate::Divert) => diverted += 1,
                other => panic!("{other:?}"),
            }
            next += 1;
        }
        let snapshot = guard.snapshot();
        assert!(snapshot.lost_this_hour <= HOUR && snapshot.lost_this_recovery <= 0.2);
        charges.push((recovery * 10, snapshot.counts.estimated_lost - total));
        total = snapshot.counts.estimated_lost;
        time.pass(10);
    }
    let mut start = 0;
    let mut sum = 0.0;
    for end in 0..charges.len() {
        sum += charges[end].1;
        while charges[end].0 - charges[start].0 >= 3_600 {
            sum -= charges[start].1;
            start += 1;
        }
        assert!(sum <= HOUR + 1e-9, "{sum} in the hour before {}", charges[end].0);
    }
    // 100,000 seconds are 27.8 hours, of 61 minutes each as the budget counts them.
    assert!(total > 26.0 * HOUR && total <= 28.0 * HOUR, "{total}");
    within(3.0, "lost", lost as f64, total, total.sqrt());
    assert!(diverted > 10 * lost, "{diverted} of {lost}");
    assert_accounts(&mut guard);
}

/// Without hits that count, nothing is estimated.
#[test]
fn what_is_never_asked_about_is_never_lost() {
    let builder = sized(2_000).false_positive_rate(0.4).on_full(OnFull::Rotate);
    let builder = builder.retire_after(Duration::from_mins(1));
    let mut guard = builder.build().unwrap();
    for id in 0..50_000u64 {
        assert_eq!(process(&mut guard, &id, Position::new(0, id)), Judged::First);
    }
    let counts = guard.snapshot().counts;
    assert_eq!((counts.tested, counts.suspect), (0, 0));
    assert_eq!(counts.estimated_lost.to_bits(), 0);
    assert_eq!(counts.estimated_replays().to_bits(), 0);
}
