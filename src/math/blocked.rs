//! Blocked Bloom filters: every probe of a key falls in one line of 512 bits.
//!
//! A line is eight lanes of 64 bits. A key sets one bit in each lane per *full round*, and one bit
//! in each of r distinct lanes in a last *partial round*: k = 8·rounds + r probes. The lines hold
//! different numbers of keys, and the crowded ones answer *maybe* far more often; that is what one
//! cache line a key costs: 3 % more bits than a classic filter at 1 %, 8 % at 0.1 %, 22 % at 2⁻¹⁶.
//!
//! Sources: F. Putze, P. Sanders, J. Singler, *Cache-, hash- and space-efficient Bloom filters*,
//! JEA 14 (2009), for the model of the lines; H. Lang et al., *Performance-optimal filtering*, VLDB
//! 12 (2019), for bits spread over the words of a line.

use std::fmt;

use super::bloom::MAX_BITS;
use super::search;

/// Bits in a line: a cache line.
pub const LINE_BITS: u64 = 512;

/// Lanes in a line.
pub const LANES: u32 = 8;

/// The most probes: three full rounds, enough for 2⁻²⁰.
pub const MAX_PROBES: u32 = 24;

/// The lowest rate a filter is planned for. Below it a fingerprint needs fewer bits at every size
/// (cuckoo: 24.2 against 39.2), and 32 bits of hash a round would begin to show.
pub const LOWEST_RATE: f64 = 1.0 / 1_048_576.0;

/// Bits in a lane.
const LANE_BITS: f64 = 64.0;

/// Probability that one key leaves a given bit of its line clear.
fn clear_of_one_key(k: u32) -> f64 {
    let (rounds, rest) = (k / LANES, k % LANES);
    let share = f64::from(rest) / f64::from(LANES);
    (1.0 - 1.0 / LANE_BITS).powi(rounds.cast_signed()) * (1.0 - share / LANE_BITS)
}

/// Rate of a line whose bits are clear with probability `clear` after so many keys: every probe of
/// a stranger must hit.
///
/// Probes in different lanes are independent; q probes in one lane hit with E\[ρ^q\], taken to
/// second order as for classic filters.
fn rate_in_line(k: u32, keys: f64, clear: f64) -> f64 {
    if keys <= 0.0 {
        return 0.0;
    }
    let (rounds, rest) = (k / LANES, k % LANES);
    let fill = 1.0 - clear;
    // A member with the same words, 32 bits a round, has the same bits. That is what a nearly empty
    // filter is left with; at planned fills it is 10⁻⁸ at most.
    let same = keys * 2f64.powi(-32 * k.div_ceil(LANES).cast_signed());
    if rounds == 0 {
        return (fill.powi(rest.cast_signed()) + same).min(1.0);
    }
    let throws = keys * f64::from(k) / f64::from(LANES);
    let variance = ((clear - (1.0 + throws / LANE_BITS) * clear * clear) / LANE_BITS).max(0.0);
    let lane = |probes: u32| {
        let pairs = f64::from(probes) * (f64::from(probes) - 1.0) / 2.0;
        (fill.powi(probes.cast_signed()) * (1.0 + pairs * variance / (fill * fill))).min(1.0)
    };
    let all =
        lane(rounds).powi((LANES - rest).cast_signed()) * lane(rounds + 1).powi(rest.cast_signed());
    (all + same).min(1.0)
}

/// Expected rate of a filter of `lines` lines that holds n keys: the mean over lines of their rates,
/// not the rate at the mean.
///
/// The number of keys in a line is binomial, which is Poisson but for filters of a few lines.
/// Costs about a microsecond.
#[must_use]
pub fn expected_rate(lines: f64, k: u32, n: f64) -> f64 {
    let clear = clear_of_one_key(k);
    if n <= 0.0 {
        return 0.0;
    }
    if lines <= 1.0 {
        return rate_in_line(k, n, clear.powf(n));
    }
    // Hardly a bit is clear in any line then, and the sum would be long.
    if n / lines > 10_000.0 {
        return rate_in_line(k, n / lines, clear.powf(n / lines));
    }
    // Weights by recurrence from the mode outwards, where they cannot underflow, and normalised by
    // their sum, so that no factorial is needed; the power of `clear` goes with them.
    let odds = 1.0 / (lines - 1.0);
    let mode = ((n + 1.0) / lines).floor().min(n.floor());
    let clear_at_mode = clear.powf(mode);
    let (mut total, mut weights) = (0.0, 0.0);
    let (mut keys, mut weight, mut clear_now) = (mode, 1.0, clear_at_mode);
    while weight > 1e-17 && keys >= 0.0 {
        total += weight * rate_in_line(k, keys, clear_now);
        weights += weight;
        weight *= keys / ((n - keys + 1.0) * odds);
        keys -= 1.0;
        clear_now /= clear;
    }
    (keys, weight, clear_now) = (mode, 1.0, clear_at_mode);
    loop {
        weight *= (n - keys) * odds / (keys + 1.0);
        keys += 1.0;
        clear_now *= clear;
        if weight <= 1e-17 {
            break;
        }
        total += weight * rate_in_line(k, keys, clear_now);
        weights += weight;
    }
    (total / weights).min(1.0)
}

/// Number of keys that leaves such a share of the bits set: a key hits a given bit with probability
/// q / lines, so the share is 1 − (1 − q/lines)ⁿ. Infinite when all are set.
#[must_use]
pub fn estimated_len(lines: f64, k: u32, fill: f64) -> f64 {
    let hit = (1.0 - clear_of_one_key(k)) / lines;
    (-fill).ln_1p() / (-hit).ln_1p()
}

/// The number of probes with the lowest expected rate, and that rate.
#[must_use]
pub fn best_probes(lines: f64, n: f64) -> (u32, f64) {
    let rate = |k| expected_rate(lines, k, n);
    // The rate falls and then rises in k, but for ripples where a round is full.
    let mut best = (1, rate(1));
    for k in 2..=MAX_PROBES {
        let reached = rate(k);
        if reached < best.1 {
            best = (k, reached);
        } else if k > best.0 + 3 {
            break;
        }
    }
    best
}

/// The least number of lines at which n keys stay within the rate, with the number of probes.
/// `None` if that is more than [`MAX_BITS`], or if the rate lies below [`LOWEST_RATE`].
#[must_use]
pub fn least_lines(n: f64, rate: f64) -> Option<(u64, u32)> {
    if rate < LOWEST_RATE {
        return None;
    }
    let max = MAX_BITS as u64 / LINE_BITS;
    let lines = search::least(max, |lines| best_probes(lines as f64, n).1 <= rate)?;
    Some((lines, best_probes(lines as f64, n).0))
}

/// The most keys that so many lines hold within the rate, with the number of probes. 0 if none.
#[must_use]
pub fn most_keys(lines: f64, rate: f64) -> (u64, u32) {
    let max = (lines * LINE_BITS as f64 * 8.0) as u64;
    let keys = search::most(max, |n| best_probes(lines, n as f64).1 <= rate);
    (keys, best_probes(lines, keys.max(1) as f64).0)
}

/// The rate of a filter as a function of its fill, as a table to interpolate.
///
/// The sum over lines costs a microsecond, too much for every insert. What is tabulated is the k-th
/// root of the rate, which is nearly a straight line (for a classic filter it *is* the fill), so
/// that 128 pieces are right to 0.2 % from a quarter of the planned fill on.
#[derive(Clone)]
pub struct RateCurve {
    k: u32,
    roots: Vec<f64>,
}

impl RateCurve {
    /// Tabulates the rate of a filter of so many lines. Costs about 0.2 ms.
    #[must_use]
    pub fn new(lines: f64, k: u32) -> Self {
        const PIECES: u32 = 128;
        let root = |piece: u32| {
            let n = estimated_len(lines, k, f64::from(piece) / f64::from(PIECES));
            expected_rate(lines, k, n).powf(1.0 / f64::from(k))
        };
        let roots = (0..PIECES).map(root).chain([1.0]).collect();
        Self { k, roots }
    }

    /// The rate when such a share of the bits is set.
    #[must_use]
    pub fn rate_at(&self, fill: f64) -> f64 {
        let place = fill.clamp(0.0, 1.0) * (self.roots.len() - 1) as f64;
        let piece = (place as usize).min(self.roots.len() - 2);
        let [low, high] = [self.roots[piece], self.roots[piece + 1]];
        (low + (high - low) * (place - piece as f64)).powi(self.k.cast_signed())
    }
}

/// What it is a curve of; the points follow.
impl fmt::Debug for RateCurve {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RateCurve").field("k", &self.k).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the crate documentation states: bits per key.
    #[test]
    fn bits_per_key_are_as_documented() {
        for (rate, bits, k) in [
            (0.01, 9.95, 6),
            (0.0095, 10.07, 6),
            (0.001, 15.6, 9),
            (2f64.powi(-16), 28.2, 14),
            (LOWEST_RATE, 39.2, 16),
        ] {
            let (lines, probes) = least_lines(1e7, rate).expect("reachable");
            let found = lines as f64 * 512.0 / 1e7;
            assert!((found / bits - 1.0).abs() < 0.005, "{rate}: {found} bits, {probes} probes");
            assert_eq!(probes, k, "{rate}: {found} bits");
        }
        assert_eq!(least_lines(1e7, LOWEST_RATE / 1.001), None);
    }

    #[test]
    fn one_full_round_is_the_split_block_formula() {
        // 8 lanes of 64 bits at 8, 10 and 16 bits a key, as published for this layout.
        for (bits, rate) in [(8.0, 0.029_31), (10.0, 0.010_49), (16.0, 0.000_909)] {
            let found = expected_rate(1e6, 8, 1e6 * 512.0 / bits);
            assert!((found / rate - 1.0).abs() < 2e-3, "{bits} bits: {found}");
        }
    }

    #[test]
    fn few_lines_are_binomial() {
        // Two keys in two lines, k = 1: a stranger shares its line with none, one or both.
        let one = 1.0 / 64.0 / 8.0;
        let two = 1.0 - (1.0 - one) * (1.0 - one);
        let expected = 0.5 * one + 0.25 * two;
        let found = expected_rate(2.0, 1, 2.0);
        assert!((found / expected - 1.0).abs() < 1e-6, "{found}, expected {expected}");
    }

    #[test]
    fn most_keys_inverts_least_lines() {
        for n in [1.0, 100.0, 1e6] {
            for rate in [0.1, 0.01, 1e-4, 2f64.powi(-20)] {
                let (lines, _) = least_lines(n, rate).expect("reachable");
                let (keys, _) = most_keys(lines as f64, rate);
                assert!(keys as f64 >= n, "{n} at {rate}: {lines} lines, {keys} keys");
            }
        }
    }

    #[test]
    fn estimated_len_inverts_the_fill() {
        for (lines, k, n) in [(1.0, 3, 20.0), (10.0, 8, 300.0), (1e6, 15, 2e7)] {
            let hit = (1.0 - clear_of_one_key(k)) / lines;
            let fill = -(n * (-hit).ln_1p()).exp_m1();
            let found = estimated_len(lines, k, fill);
            assert!((found / n - 1.0).abs() < 1e-9, "{lines} lines, {k}: {found}");
        }
    }

    #[test]
    fn the_curve_is_the_rate() {
        for rate in [0.01, 1e-4, LOWEST_RATE] {
            let (lines, probes) = least_lines(1e6, rate).expect("reachable");
            let curve = RateCurve::new(lines as f64, probes);
            for share in [0.25, 0.5, 0.9, 1.0, 1.5] {
                let n = 1e6 * share;
                let hit = (1.0 - clear_of_one_key(probes)) / lines as f64;
                let fill = -(n * (-hit).ln_1p()).exp_m1();
                let (found, exact) = (curve.rate_at(fill), expected_rate(lines as f64, probes, n));
                assert!((found / exact - 1.0).abs() < 2e-3, "{rate} at {share}: {found}, {exact}");
            }
            assert!(curve.rate_at(0.0) < 1e-12 && (curve.rate_at(1.0) - 1.0).abs() < 1e-12);
        }
    }
}
