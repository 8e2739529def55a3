//! How often a filter takes a stranger for a member: measured, beside what it promises.
//!
//! Strangers are random hashes. That one of them is a member has a chance of 2⁻⁹⁷ in the largest
//! list, so every one that is reported present is a false positive. Their share `p` of `n` is the
//! rate, within [Wilson's interval]: unlike `p ± z·√(p(1 - p)/n)` it holds for the few hits of low
//! rates, and for none.
//!
//! [Wilson's interval]: https://doi.org/10.1080/01621459.1927.10502953

use std::fmt;

use hapax::{BatchError, KeyHash, Membership};
use rayon::prelude::*;

use crate::build::grouped;

/// Hits that a measurement should have: ±8 % at 99 %.
const HITS: f64 = 1_000.0;

/// The most strangers, some seconds of them.
const MAX_STRANGERS: u64 = 1 << 27;

/// Strangers asked for at once.
const BATCH: u64 = 1 << 14;

/// Standard deviations of 99 %, two-sided.
const Z: f64 = 2.575_829_303_548_901;

/// What asking for strangers found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Measured {
    /// Strangers asked for.
    pub(crate) strangers: u64,
    /// Those that were reported present.
    pub(crate) hits: u64,
    /// The rate that the filter promises.
    pub(crate) promised: f64,
}

impl Measured {
    /// Asks for as many strangers as the promised rate needs, chosen by a seed.
    pub(super) fn new(
        filter: &(impl Membership + Sync),
        promised: f64,
        seed: u64,
    ) -> Result<Self, BatchError> {
        let batches = (HITS / promised / BATCH as f64).ceil() as u64;
        let batches = batches.clamp(64, MAX_STRANGERS / BATCH);
        let hits = (0..batches).into_par_iter().map(|batch| {
            let first = batch * BATCH;
            let strangers: Vec<KeyHash> =
                (first..first + BATCH).map(|number| stranger(seed, number)).collect();
            let mut present = vec![false; strangers.len()];
            filter.contains_batch(&strangers, &mut present)?;
            Ok(present.iter().filter(|present| **present).count() as u64)
        });
        let hits = hits.sum::<Result<u64, _>>()?;
        Ok(Self { strangers: batches * BATCH, hits, promised })
    }

    /// Between which rates the true one lies, in 99 of 100 measurements.
    pub(crate) fn interval(&self) -> (f64, f64) {
        let n = self.strangers as f64;
        let p = self.hits as f64 / n;
        let center = p + Z * Z / (2.0 * n);
        let half = Z * (p * (1.0 - p) / n + Z * Z / (4.0 * n * n)).sqrt();
        let scale = 1.0 + Z * Z / n;
        (((center - half) / scale).max(0.0), (center + half) / scale)
    }

    /// Whether the rate can be as low as promised. (It may be lower: a filter with room left errs
    /// less.)
    pub(crate) fn holds(&self) -> bool {
        self.interval().0 <= self.promised
    }
}

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (low, high) = self.interval();
        write!(
            f,
            "false positives {} of {} strangers: rate {:.3e}, 99 % interval {low:.3e} to {high:.3e}, \
             promised {:.3e}",
            grouped(self.hits),
            grouped(self.strangers),
            self.hits as f64 / self.strangers as f64,
            self.promised
        )?;
        if !self.holds() {
            f.write_str(
                "\n  the rate is higher than promised: the filter holds more keys than it was built \
                 for; build it again",
            )?;
        }
        Ok(())
    }
}

/// A random hash, by its number.
fn stranger(seed: u64, number: u64) -> KeyHash {
    let hi = mix(seed ^ mix(number));
    let lo = mix(hi ^ number);
    let value = u128::from(hi) << 64 | u128::from(lo);
    KeyHash::from_uniform(&value.to_be_bytes())
}

/// The finalizer of `SplitMix64`, a step on.
const fn mix(value: u64) -> u64 {
    let value = value.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

#[cfg(test)]
mod tests {
    use hapax::prelude::*;
    use hapax::{BinaryFuseFilter, PastCapacity};

    use super::*;

    /// Where Wilson's formula is short: no hit, and every second one.
    #[test]
    fn intervals_are_those_of_the_short_forms() {
        let of = |hits, strangers| Measured { strangers, hits, promised: 0.5 }.interval();
        let close = |found: f64, expected: f64| (found - expected).abs() < 1e-12;
        for n in [10, 100, 1_000_000] {
            let larger = n as f64 + Z * Z;
            let (low, high) = of(0, n);
            assert!(close(low, 0.0) && close(high, Z * Z / larger), "{low} {high}");
            let (low, high) = of(n / 2, n);
            let half = Z / (2.0 * larger.sqrt());
            assert!(close(low, 0.5 - half) && close(high, 0.5 + half), "{low} {high}");
        }
    }

    /// Those of one key too, within 4 standard deviations either way.
    #[test]
    fn filters_err_as_often_as_they_promise() {
        for keys in [1, 2, 3, 1_000, 100_000] {
            for bits in [4_u32, 8, 12] {
                let rate = (-f64::from(bits)).exp2();
                let members = (0..keys).map(|number| stranger(1, number));
                let builder = BinaryFuseFilter::builder().fingerprint_bits(bits);
                let filter = builder.build_from(members).unwrap().filter;
                let measured = Measured::new(&filter, rate, 2).unwrap();
                let expected = measured.strangers as f64 * rate;
                let deviations = (measured.hits as f64 - expected) / expected.sqrt();
                assert!(deviations.abs() < 4.0 && measured.holds(), "{keys}: {measured}");
            }
        }
    }

    #[test]
    fn a_filter_beyond_its_capacity_breaks_its_promise() {
        let builder = BloomFilter::builder().capacity(100).false_positive_rate(1e-3);
        let mut filter = builder.past_capacity(PastCapacity::Degrade).build().unwrap();
        for number in 0..100 {
            let _ = filter.insert_hash(stranger(1, number)).unwrap();
        }
        assert!(Measured::new(&filter, 1e-3, 2).unwrap().holds());
        for number in 100..200 {
            let _ = filter.insert_hash(stranger(1, number)).unwrap();
        }
        let measured = Measured::new(&filter, 1e-3, 2).unwrap();
        assert!(!measured.holds(), "{measured}");
        assert!(measured.to_string().contains("higher than promised"), "{measured}");
    }
}
