//! Classic Bloom filters: k of m bits per key, drawn with replacement.
//!
//! Sources: B. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 13
//! (1970); P. Bose et al., *On the false-positive rate of Bloom filters*, IPL 108 (2008), for why
//! the textbook formula is too low for small filters.

use super::search;

/// The most probes a filter may use. At the best fill each probe halves the rate, so this reaches
/// 2⁻⁶⁴; it also bounds what a lookup may cost.
pub const MAX_PROBES: u32 = 64;

/// Expected share of set bits after n keys: 1 − (1 − 1/m)^(kn).
#[must_use]
pub fn expected_fill(m: f64, k: u32, n: f64) -> f64 {
    -(f64::from(k) * n * (-1.0 / m).ln_1p()).exp_m1()
}

/// Variance of that share: ((1−ρ) − (1 + kn/m)(1−ρ)²) / m.
///
/// Source: the occupancy problem, Johnson & Kotz, *Urn Models and Their Application* (1977), to
/// first order in 1/m.
#[must_use]
pub fn fill_variance(m: f64, k: u32, n: f64) -> f64 {
    let empty = 1.0 - expected_fill(m, k, n);
    ((empty - (1.0 + f64::from(k) * n / m) * empty * empty) / m).max(0.0)
}

/// Rate of a filter whose share of set bits is `fill`: every probe of a stranger must hit.
#[must_use]
pub fn rate_at_fill(fill: f64, k: u32) -> f64 {
    fill.powi(k.cast_signed())
}

/// Expected rate after n keys, E\[ρᵏ\] to second order:
/// ρᵏ · (1 + k(k−1)/2 · Var(ρ)/ρ²).
///
/// The second term is what the textbook formula leaves out. It is 0.07 % of the rate at a
/// thousand keys and 1 %, and 17 % of it at ten keys and 10⁻⁴.
#[must_use]
pub fn expected_rate(m: f64, k: u32, n: f64) -> f64 {
    let fill = expected_fill(m, k, n);
    if fill <= 0.0 {
        return 0.0;
    }
    let pairs = f64::from(k) * (f64::from(k) - 1.0) / 2.0;
    let correction = pairs * fill_variance(m, k, n) / (fill * fill);
    (rate_at_fill(fill, k) * (1.0 + correction)).min(1.0)
}

/// Number of keys that leaves `ones` of m bits set: −(m/k) ln(1 − ones/m). Infinite when all are.
///
/// Source: S. Swamidass, P. Baldi, *Mathematical correction for fingerprint similarity measures*,
/// J. Chem. Inf. Model. 47 (2007).
#[must_use]
pub fn estimated_len(m: f64, k: u32, ones: f64) -> f64 {
    -(m / f64::from(k)) * (-ones / m).ln_1p()
}

/// The number of probes with the lowest expected rate, and that rate.
#[must_use]
pub fn best_probes(m: f64, n: f64) -> (u32, f64) {
    let mut best = (1, expected_rate(m, 1, n));
    for k in 2..=MAX_PROBES {
        let rate = expected_rate(m, k, n);
        if rate < best.1 {
            best = (k, rate);
        }
    }
    best
}

/// The least number of bits, a multiple of `step`, at which n keys stay within the rate, with the
/// number of probes that does it. `None` if that is more than [`MAX_BITS`], or if the rate lies
/// below [`hash_floor`].
#[must_use]
pub fn least_bits(n: f64, rate: f64, step: u64) -> Option<(u64, u32)> {
    // At the fill ρ = ε^(1/k), solve 1 − (1 − 1/m)^(kn) = ρ for m.
    let bits_for = |k: u32| {
        let fill = rate.powf(1.0 / f64::from(k));
        -f64::from(k) * n / (-fill).ln_1p()
    };
    let least = (1..=MAX_PROBES).map(bits_for).fold(f64::INFINITY, f64::min);
    if least > MAX_BITS || rate < hash_floor(n) {
        return None;
    }
    let mut bits = (least.ceil() as u64).next_multiple_of(step).max(step);
    // The correction for small filters asks for a little more.
    while bits as f64 <= MAX_BITS {
        let (k, reached) = best_probes(bits as f64, n);
        if reached <= rate {
            return Some((bits, k));
        }
        bits += step.max((bits >> 20).next_multiple_of(step));
    }
    None
}

/// The rate that no filter of n keys gets below: some member has the same 128-bit hash, n·2⁻¹²⁸.
#[must_use]
pub fn hash_floor(n: f64) -> f64 {
    n * 2f64.powi(-128)
}

/// The most keys that m bits hold within the rate, with the number of probes that does it.
/// 0 keys if not even one fits.
#[must_use]
pub fn most_keys(m: f64, rate: f64) -> (u64, u32) {
    // One bit a key already gives a rate of 63 %; at rates close to 1 more keys than bits fit.
    let keys = search::most((m * 64.0) as u64, |n| best_probes(m, n as f64).1 <= rate);
    (keys, best_probes(m, keys.max(1) as f64).0)
}

/// The largest filter that can be planned: 2⁴⁸ bits, 32 TiB.
pub const MAX_BITS: f64 = (1u64 << 48) as f64;

#[cfg(test)]
mod tests {
    use super::*;

    /// The table of the module's users: bits per key at the best integer k.
    #[test]
    fn textbook_bits_per_key_are_met() {
        for (rate, bits_per_key) in [(0.01, 9.59), (0.001, 14.38), (2f64.powi(-16), 23.09)] {
            let (bits, k) = least_bits(1e7, rate, 64).expect("reachable");
            let found = bits as f64 / 1e7;
            assert!((found - bits_per_key).abs() < 0.02, "{rate}: {found} bits, {k} probes");
        }
    }

    #[test]
    fn most_keys_inverts_least_bits() {
        for n in [1.0, 10.0, 1e3, 1e6, 1e9] {
            for rate in [0.5, 0.1, 0.01, 1e-4, 1e-9] {
                let (bits, _) = least_bits(n, rate, 64).expect("reachable");
                let (keys, k) = most_keys(bits as f64, rate);
                assert!(keys as f64 >= n, "{n} keys at {rate}: {bits} bits hold only {keys}");
                assert!(expected_rate(bits as f64, k, keys as f64) <= rate);
                // At most what a rounding up of the bits by one word can add.
                assert!(keys as f64 <= n + 64.0 + n * 1e-4, "{n} keys at {rate}: {keys}");
            }
        }
    }

    #[test]
    fn expected_rate_is_monotone_in_keys_and_bounded() {
        for k in [1, 7, 64] {
            let mut last = 0.0;
            for n in 0..2_000 {
                let rate = expected_rate(1024.0, k, f64::from(n));
                assert!(
                    (0.0..=1.0).contains(&rate) && rate >= last,
                    "k {k} n {n}: {rate} < {last}"
                );
                last = rate;
            }
        }
    }

    #[test]
    fn unreachable_rates_are_refused() {
        assert_eq!(least_bits(1e3, 1e-36, 64), None);
        assert!(least_bits(1e3, 1e-34, 64).is_some());
        assert_eq!(least_bits(1e18, 0.01, 64), None);
    }
}
