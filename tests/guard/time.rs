//! Time: what is forgotten by it, whoever is asked when.

use std::time::Duration;

use hapax::replay::{Clock, Delivery, Judged, OnFull, OnStale, ReplayGuardBuilder};

use crate::subject::{DROPPED, NEVER, Time, assert_accounts, at, judge, process, sized};

/// Ids alone, remembered for 60 seconds.
fn minute(time: &Time) -> ReplayGuardBuilder {
    let builder = sized(1_400).always_on(1.0, (1.0 / NEVER) as u64);
    builder.retire_after(Duration::from_mins(1)).clock(time.clone())
}

/// An id and nothing else.
const BARE: Delivery = {
    let mut bare = Delivery::redelivered(false);
    bare.redelivered = None;
    bare
};

/// An id, more than the time to live, the id, the id: the third is a replay of the second.
#[test]
fn what_passed_again_after_its_time_is_remembered_again() {
    let time = Time::default();
    let mut guard = minute(&time).build().unwrap();
    for _ in 0..3 {
        // Nobody asks in between, so nothing could be swept.
        assert_eq!(process(&mut guard, "a", BARE), Judged::First);
        assert_eq!(process(&mut guard, "a", BARE), DROPPED);
        time.pass(65);
        assert_eq!(process(&mut guard, "a", BARE), Judged::First);
        time.pass(59);
        assert_eq!(process(&mut guard, "a", BARE), DROPPED);
        time.pass(1_000);
    }
}

/// From its commit on, a tuple is remembered for 60 seconds and at most a fourteenth more, whatever
/// came before and whenever the guard next looks.
#[test]
fn a_tuple_lives_for_its_time_and_a_fourteenth_at_most() {
    for (gap, since) in [(0, 0), (1, 3), (4_000, 1), (100_000, 90_000), (4_285, 0), (4_286, 59_999)]
    {
        for (later, remembered) in [(59_999, true), (64_286, false), (70_000, false)] {
            let time = Time::default();
            let mut guard = minute(&time).build().unwrap();
            assert_eq!(process(&mut guard, "before", BARE), Judged::First);
            time.pass_ms(gap);
            let (judged, held) = judge(&mut guard, "a", BARE).unwrap();
            assert_eq!(judged, Judged::First);
            time.pass_ms(since);
            held.commit();
            time.pass_ms(later);
            let expected = if remembered { DROPPED } else { Judged::First };
            assert_eq!(process(&mut guard, "a", BARE), expected, "{gap} {since} {later}");
        }
    }
}

#[test]
fn a_hit_does_not_extend_a_life() {
    let time = Time::default();
    let mut guard = minute(&time).build().unwrap();
    assert_eq!(process(&mut guard, "beat", BARE), Judged::First);
    let mut passed = 0;
    for _ in 0..600 {
        time.pass(1);
        passed += u32::from(process(&mut guard, "beat", BARE) == Judged::First);
    }
    // Once in 60 s to 60 · 15/14 s.
    assert_eq!(passed, 9);
}

/// A count and a time: whichever is reached first.
#[test]
fn both_bounds_of_a_window_bind() {
    let time = Time::default();
    let mut guard = minute(&time).on_full(OnFull::Rotate).build().unwrap();
    for id in 0..1_400u64 {
        assert_eq!(process(&mut guard, &id, BARE), Judged::First);
    }
    assert_eq!(process(&mut guard, &0u64, BARE), DROPPED);
    for id in 1_400..1_501u64 {
        assert_eq!(process(&mut guard, &id, BARE), Judged::First);
    }
    assert_eq!(process(&mut guard, &0u64, BARE), Judged::First, "by count");
    time.pass(65);
    assert_eq!(process(&mut guard, &1_500u64, BARE), Judged::First, "by time");
    assert_accounts(&mut guard);
}

#[test]
fn a_clock_that_stands_still_forgets_nothing_and_pushes_back() {
    let mut guard = minute(&Time::default()).build().unwrap();
    for id in 0..1_500u64 {
        assert_eq!(process(&mut guard, &id, BARE), Judged::First);
    }
    assert!(judge(&mut guard, &1_500u64, BARE).is_err());
    for id in 0..1_500u64 {
        assert_eq!(process(&mut guard, &id, BARE), DROPPED);
    }
}

/// A clock breaks its promise: an hour back, an hour on, the end of time.
#[test]
fn a_clock_that_jumps_suppresses_nothing_new() {
    let time = Time::default();
    time.set(7_200_000);
    let mut guard = minute(&time).build().unwrap();
    assert_eq!(process(&mut guard, "a", BARE), Judged::First);
    time.set(3_600_000);
    assert_eq!(process(&mut guard, "b", BARE), Judged::First);
    assert_eq!(process(&mut guard, "a", BARE), DROPPED);
    time.set(10_800_000);
    assert_eq!(process(&mut guard, "a", BARE), Judged::First);
    time.set(u64::MAX);
    assert_eq!(process(&mut guard, "a", BARE), Judged::First);
    assert_eq!(process(&mut guard, "a", BARE), DROPPED);
    assert_accounts(&mut guard);
}

/// The latest moment that there is.
#[derive(Debug)]
struct EndOfTime;

impl Clock for EndOfTime {
    fn now(&self) -> Duration {
        Duration::MAX
    }
}

#[test]
fn the_end_of_time_is_a_time() {
    let builder = minute(&Time::default()).clock(EndOfTime).loss_per_hour(1.0);
    let mut guard = builder.build().unwrap();
    assert_eq!(process(&mut guard, "a", BARE), Judged::First);
    assert_eq!(process(&mut guard, "a", BARE), DROPPED);
}

/// Event time: an epoch goes when the watermark is past all of it, and one bad clock of a source
/// keeps it no longer than `max_ahead`.
#[test]
fn a_watermark_retires_what_is_late_for_certain() {
    let builder = sized(1_400).always_on(1.0, (1.0 / NEVER) as u64);
    let mut guard = builder.retire_by_watermark(10, 1_000).build().unwrap();
    guard.advance_watermark(100);
    let event = |time| BARE.with_event_time(time);
    assert_eq!(process(&mut guard, "a", event(100)), Judged::First);
    assert_eq!(process(&mut guard, "bad clock", event(u64::MAX)), Judged::First);
    guard.advance_watermark(1_109);
    assert_eq!(process(&mut guard, "a", event(1_109)), DROPPED);
    guard.advance_watermark(1_110);
    assert_eq!(guard.snapshot().remembered, 0);
    assert_eq!(process(&mut guard, "a", event(1_110)), Judged::First);
    // It never steps back.
    guard.advance_watermark(5);
    let (judged, _) = judge(&mut guard, "late", event(1_100)).unwrap();
    assert_eq!((judged, guard.snapshot().counts.stale_passed), (Judged::First, 1));
}

/// Positions from before the horizon say nothing, and the policy decides.
#[test]
fn a_position_that_is_too_old_is_stale() {
    for (policy, expected) in [
        (OnStale::Pass, Judged::First),
        (OnStale::Drop, Judged::Stale(hapax::replay::Fate::Drop)),
        (OnStale::Divert, Judged::Stale(hapax::replay::Fate::Divert)),
    ] {
        let time = Time::default();
        let mut guard = minute(&time).on_stale(policy).build().unwrap();
        for sequence in [1u64, 2, 4, 5] {
            assert_eq!(process(&mut guard, &sequence, at(sequence)), Judged::First);
        }
        time.pass(65);
        assert_eq!(process(&mut guard, &3u64, at(3)), expected);
        assert_eq!(process(&mut guard, &4u64, at(4)), Judged::Replay, "exact, however old");
        assert_eq!(process(&mut guard, &6u64, at(6)), Judged::First);
        let counts = guard.snapshot().counts;
        let stale = counts.stale_passed + counts.stale_dropped + counts.stale_diverted;
        assert_eq!(stale, 1);
        assert_accounts(&mut guard);
    }
}
