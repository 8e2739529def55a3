//! Bounds in standard deviations, on both sides: too good is as wrong as too bad.

/// How far a measurement may lie from its expectation. By chance one in 16 thousand does.
pub const SIGMAS: f64 = 4.0;

/// Asserts that a number of successes is what `trials` at probability `rate` give. `extra` is a
/// variance of the rate itself, for formulas that hold on average over filters.
#[track_caller]
pub fn assert_rate(what: &str, successes: u64, trials: u64, rate: f64, extra: f64) {
    let trials = trials as f64;
    let expected = trials * rate;
    let deviation = (expected * (1.0 - rate) + trials * trials * extra).sqrt();
    assert_close(what, successes as f64, expected, deviation);
}

/// Asserts that a value lies within [`SIGMAS`] standard deviations of what is expected.
#[track_caller]
pub fn assert_close(what: &str, found: f64, expected: f64, deviation: f64) {
    let sigmas = (found - expected) / deviation;
    assert!(
        sigmas.abs() <= SIGMAS,
        "{what}: found {found}, expected {expected} ± {deviation}: {sigmas:.2} deviations off"
    );
}
