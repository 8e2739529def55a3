//! Keys that never repeat, and a timer that leaves making them out.
//!
//! Distinct probe keys matter: a loop over a few of them measures the branch predictor and the
//! cache, and an order of magnitude disappears.

use std::hint::black_box;
use std::ops::Range;
use std::time::{Duration, Instant};

/// Operations between two looks at the clock.
const CHUNK: u64 = 4_096;

/// Members are the keys from 0; strangers start here.
pub const STRANGERS: u64 = 1 << 40;

/// A bijection of the 64-bit words (`SplitMix64`): key `index`.
pub fn key(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Times `operation` on `iterations` inputs made by `input` from running indices. Making them is
/// not timed.
pub fn time<T>(
    iterations: u64,
    next: &mut u64,
    input: impl Fn(u64) -> T,
    mut operation: impl FnMut(&T),
) -> Duration {
    let mut elapsed = Duration::ZERO;
    let mut left = iterations;
    while left > 0 {
        let chunk = left.min(CHUNK);
        let inputs: Vec<T> = indices(next, chunk).map(&input).collect();
        let start = Instant::now();
        for input in black_box(&inputs) {
            operation(input);
        }
        elapsed += start.elapsed();
        left -= chunk;
    }
    elapsed
}

/// The next `count` indices.
fn indices(next: &mut u64, count: u64) -> Range<u64> {
    let start = *next;
    *next += count;
    start..*next
}

/// Counts answers, and checks them when a benchmark is over: a fast wrong answer is none.
#[derive(Default)]
pub struct Answers {
    asked: u64,
    yes: u64,
}

impl Answers {
    pub fn add(&mut self, answer: bool) {
        self.asked += 1;
        self.yes += u64::from(answer);
    }

    /// Panics unless the share of yes is `rate` to six standard deviations.
    pub fn assert_rate(&self, what: &str, rate: f64) {
        let (asked, yes) = (self.asked as f64, self.yes as f64);
        let deviation = (asked * rate * (1.0 - rate)).sqrt();
        let off = (yes - asked * rate).abs();
        assert!(off <= 6.0 * deviation + 1.0, "{what}: {yes} yes of {asked}, expected {rate}");
    }
}
