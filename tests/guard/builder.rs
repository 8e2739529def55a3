//! What a guard is planned to be, and what is refused: each message names what was expected, what was
//! found and what to do.

use std::time::Duration;

use hapax::replay::{
    ChannelKind, GuardError, KeyGroups, OnProbable, Placement, ReplayGuard, ReplayGuardBuilder,
};

use crate::subject::{sized, small};

/// Not given a rate yet.
fn bare() -> ReplayGuardBuilder {
    sized(1_400).retire_on_truncation()
}

#[track_caller]
fn assert_refused(builder: ReplayGuardBuilder, parts: &[&str]) -> GuardError {
    let planned = builder.plan().is_err();
    let error = builder.build().unwrap_err();
    let message = error.to_string();
    for part in parts {
        assert!(message.contains(part), "{part:?} is not in {message:?}");
    }
    // What needs no policies is refused by the plan, too.
    let sizing = matches!(
        &error,
        GuardError::WindowTooSmall { .. }
            | GuardError::BelowHashFloor { .. }
            | GuardError::Filter(_)
    );
    assert!(planned || !sizing, "{message}");
    error
}

#[test]
fn options_that_are_missing_or_out_of_range_are_named() {
    let unsized_ = ReplayGuard::builder(Placement::AfterOutput).false_positive_rate(1e-3);
    assert_refused(unsized_, &["window", "above 0", "nothing"]);
    assert_refused(small().window(0), &["window", "above 0", "found 0"]);
    for epochs in [0, 1, 256] {
        let found = format!("found {epochs}");
        assert_refused(small().epochs(epochs), &["epochs", "2 to 255", &found]);
    }
    let budget = ["loss_per_recovery", "always_on", "false_positive_rate"];
    assert_refused(bare(), &[&budget[..], &["found 0 of them"]].concat());
    let two = small().loss_per_recovery(1e-3, 100);
    assert_refused(two, &[&budget[..], &["found 2 of them"]].concat());
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1.0] {
        assert_refused(bare().false_positive_rate(rate), &["false_positive_rate", "above 0"]);
    }
    for lost in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_refused(bare().loss_per_recovery(lost, 100), &["loss_per_recovery", "above 0"]);
        assert_refused(bare().always_on(lost, 100), &["always_on", "above 0"]);
        if lost != f64::INFINITY {
            assert_refused(small().loss_per_hour(lost), &["loss_per_hour", "above 0"]);
        }
    }
    assert_refused(bare().loss_per_recovery(1e-3, 0), &["loss_per_recovery", "1 tuple"]);
    assert_refused(bare().always_on(1e-3, 0), &["always_on", "1 tuple"]);
    assert_refused(small().max_in_flight(0), &["max_in_flight", "1 tuple", "found 0"]);
    assert_refused(small().max_intervals(0), &["max_intervals", "1 interval", "found 0"]);
    assert_refused(small().retire_after(Duration::ZERO), &["retire_after", "above 0", "0 s"]);
    let drops = small().on_suspect(OnProbable::Drop);
    assert_refused(drops, &["on_suspect", "Divert", "always_on", "found Drop"]);
    let groups = KeyGroups::new(8).unwrap();
    let others = KeyGroups::new(16).unwrap().groups(4, 11).unwrap();
    assert_refused(small().key_groups(groups, others), &["key_groups", "below", "4-11"]);
    let with_state = ReplayGuard::builder(Placement::WithState).window(70_000);
    let with_state = with_state.false_positive_rate(1e-3).retire_on_truncation();
    assert_refused(with_state, &["build", "AfterOutput", "open", "WithState"]);
}

#[test]
fn windows_that_cannot_do_are_refused_with_the_way_out() {
    let error = assert_refused(
        small().max_in_flight(1_401),
        &["1400", "1401", "widen the window or lower max_in_flight"],
    );
    assert_eq!(error, GuardError::WindowTooSmall { window: 1_400, in_flight: 1_401 });
    assert_refused(
        sized(1_400).false_positive_rate(1e-3),
        &["fill up", "retire_on_truncation", "retire_after", "retire_by_watermark", "Rotate"],
    );
    let tags = small().channels(ChannelKind::Unordered);
    assert_refused(tags, &["retire_on_truncation", "Unordered", "retire_after"]);
    let below = assert_refused(
        bare().always_on(1e-9, 1_000_000_000),
        &["1e-18", "64 bits", "raise the budget", "Confirm"],
    );
    assert!(matches!(below, GuardError::BelowHashFloor { wanted, floor } if wanted < floor));
    let filter = bare().false_positive_rate(0.4).window(1 << 60);
    let filter = assert_refused(filter, &["the window cannot be built"]);
    assert!(matches!(filter, GuardError::Filter(_)));
    assert!(std::error::Error::source(&filter).is_some());
}

/// 50,000 tuples a second for 60 seconds with half as much again, and a thousandth of a tuple lost in
/// 10,000 tested ones: the rate is 1e-7, and a window of 4.5 million takes under 20 MB.
#[test]
fn a_plan_follows_from_the_budget() {
    let builder = ReplayGuard::builder(Placement::AfterOutput)
        .window_for(50_000.0, Duration::from_mins(1), 1.5)
        .loss_per_recovery(1e-3, 10_000)
        .retire_on_truncation();
    let plan = builder.plan().unwrap();
    assert_eq!(plan.window, 4_500_000);
    assert!(plan.false_positive_rate > 0.99e-7 && plan.false_positive_rate <= 1e-7);
    assert_eq!(plan.capacity_per_group, 4_821_435);
    assert!((17_000_000..20_000_000).contains(&plan.byte_len), "{}", plan.byte_len);
}

/// A window that is no number is no window.
#[test]
fn a_window_for_nonsense_is_refused() {
    for (rate, safety) in [(f64::NAN, 1.0), (-1.0, 1.0), (0.0, 1.0), (1.0, f64::NAN)] {
        let builder = small().window_for(rate, Duration::from_mins(1), safety);
        assert_refused(builder, &["window", "above 0"]);
    }
    let all = small().window_for(f64::INFINITY, Duration::from_mins(1), 1.0);
    assert!(all.plan().is_err());
}

/// A part of the groups takes its part of the memory, and of the tuples.
#[test]
fn owning_a_quarter_of_the_groups_takes_a_quarter_of_the_memory() {
    let groups = KeyGroups::new(16).unwrap();
    let sized = || sized(140_000).false_positive_rate(1e-6).retire_on_truncation();
    let whole = sized().key_groups(groups, groups.all()).plan().unwrap();
    let part = sized().key_groups(groups, groups.groups(4, 7).unwrap()).plan().unwrap();
    assert_eq!(part.byte_len * 4, whole.byte_len);
    assert_eq!(part.capacity_per_group, whole.capacity_per_group);
    assert!(whole.capacity_per_group > 140_000 / 16);
}
