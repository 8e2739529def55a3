//! Cuckoo filters: two buckets a key, four slots a bucket, f-bit fingerprints that are never 0.
//!
//! Source: B. Fan et al., *Cuckoo filter: practically better than Bloom*, CoNEXT 2014; that 2^f − 1
//! fingerprints are in use, not 2^f, follows H. Lang et al., VLDB 12 (2019).

/// Slots in a bucket. Four reach a load factor of 0.95; two stop at 0.84, and eight double the
/// false positive rate.
pub const SLOTS_PER_BUCKET: u64 = 4;

/// Share of the slots that a filter plans to fill.
///
/// `examples/cuckoo_load.rs` prints the load at which an insert is first refused: 0.975 to 0.98
/// from a thousand buckets to half a million, with 4 bits as with 16; 0.96 with 270 buckets.
pub const MAX_LOAD: f64 = 0.95;

/// Rate at load factor α: 1 − exp(−8α / (2^f − 1)).
///
/// A stranger is reported if some member has its fingerprint and one of its two buckets. There
/// are 4α·2 members to a pair of buckets, each with that fingerprint with probability
/// 1/(2^f − 1), and their number is Poisson. (The usual form 1 − (1 − 1/(2^f − 1))^(8α) takes
/// the eight slots as independent; equal fingerprints of a pair belong together, which shows at
/// 4 to 8 bits.)
#[must_use]
pub fn rate_at_load(fingerprint_bits: u32, load_factor: f64) -> f64 {
    let matching = 2.0 * SLOTS_PER_BUCKET as f64 * load_factor / fingerprints(fingerprint_bits);
    -(-matching).exp_m1()
}

/// The load factor at which the rate is reached, which may be more than 1: the inverse of
/// [`rate_at_load`].
#[must_use]
pub fn load_at_rate(fingerprint_bits: u32, rate: f64) -> f64 {
    -(-rate).ln_1p() * fingerprints(fingerprint_bits) / (2.0 * SLOTS_PER_BUCKET as f64)
}

/// The fewest fingerprint bits with which n distinct keys fit at the planned load: 4 up to a
/// thousand keys, 5 up to 340 thousand, 6 up to 90 million, 7 up to 20 billion.
///
/// A key can only be refused for want of a slot if nine keys share a fingerprint and its two
/// buckets. There are C = buckets · (2^f − 1) / 2 such pairs, n/C keys to a pair, and the number of
/// pairs of nine or more is about C · P(Poisson(n/C) ≥ 9); this many bits keep it below 10⁻⁵.
#[must_use]
pub fn least_fingerprint_bits(n: u64) -> u32 {
    const COPIES: i32 = 2 * SLOTS_PER_BUCKET as i32 + 1;
    let overfull_pairs = |bits: u32| {
        let mean = 2.0 * SLOTS_PER_BUCKET as f64 * MAX_LOAD / fingerprints(bits);
        let nine = (-mean).exp() * (1..=COPIES).map(|i| mean / f64::from(i)).product::<f64>();
        n as f64 / mean * nine / (1.0 - mean / f64::from(COPIES + 1))
    };
    (MIN_FINGERPRINT_BITS..MAX_FINGERPRINT_BITS)
        .find(|&bits| overfull_pairs(bits) <= 1e-5)
        .unwrap_or(MAX_FINGERPRINT_BITS)
}

/// Fingerprints of f bits in use: 0 marks an empty slot.
fn fingerprints(bits: u32) -> f64 {
    2f64.powi(bits.cast_signed()) - 1.0
}

/// The shortest fingerprint. Shorter ones repeat too often to be spread by evictions.
pub const MIN_FINGERPRINT_BITS: u32 = 4;

/// The longest fingerprint: 2⁻²⁹ at full load.
pub const MAX_FINGERPRINT_BITS: u32 = 32;

/// Slots beyond n / 0.95. In tables of a few buckets chance alone gives nine keys to some two of
/// them: with 8 slots to spare one filter of 30 keys in 2,000 refused one of them, with 24 none in
/// 200,000 did (8 bits; one or two at 40 keys).
const SPARE_SLOTS: f64 = 24.0;

/// Buckets for n keys: n / (0.95 · 4), a few more for small tables, and an even number. In an odd
/// table one bucket in each fingerprint's pairs is paired with itself and holds four copies instead
/// of eight, which at 4 bits is one refused filter in ten thousand.
#[must_use]
pub fn buckets_for(n: u64) -> u64 {
    buckets_at(n, MAX_LOAD)
}

/// Buckets for n keys at a load factor up to [`MAX_LOAD`]; with less than that, fewer keys have to be
/// moved to make room.
#[must_use]
pub fn buckets_at(n: u64, load_factor: f64) -> u64 {
    let slots = n as f64 / load_factor + SPARE_SLOTS;
    ((slots / SLOTS_PER_BUCKET as f64).ceil() as u64).next_multiple_of(2)
}

/// The most keys for which [`buckets_for`] stays within `buckets`.
#[must_use]
pub fn keys_in(buckets: u64) -> u64 {
    keys_at(buckets, MAX_LOAD)
}

/// The most keys for which [`buckets_at`] that load factor stays within `buckets`.
#[must_use]
pub fn keys_at(buckets: u64, load_factor: f64) -> u64 {
    let slots = (buckets / 2 * 2 * SLOTS_PER_BUCKET) as f64 - SPARE_SLOTS;
    let mut n = (slots.max(0.0) * load_factor) as u64;
    while n > 0 && buckets_at(n, load_factor) > buckets {
        n -= 1;
    }
    while buckets_at(n + 1, load_factor) <= buckets {
        n += 1;
    }
    n
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_rates_are_met() {
        // As measured with a C++ implementation at α = 0.94.
        for (bits, rate) in [(8, 0.0291), (12, 0.001_835), (16, 0.000_114_7)] {
            let found = rate_at_load(bits, 0.94);
            assert!((found / rate - 1.0).abs() < 0.01, "{bits} bits: {found}");
        }
        assert!(rate_at_load(8, 0.0).abs() < f64::MIN_POSITIVE);
    }

    #[test]
    fn load_at_rate_inverts_rate_at_load() {
        for bits in [4, 8, 16, 32] {
            for load in [1e-6, 0.3, 0.95] {
                let found = load_at_rate(bits, rate_at_load(bits, load));
                assert!((found / load - 1.0).abs() < 1e-9, "{bits} bits at {load}: {found}");
            }
        }
    }

    /// The bounds that the documentation names.
    #[test]
    fn least_fingerprint_bits_grow_with_the_keys() {
        for (n, bits) in [
            (1, 4),
            (1_000, 4),
            (2_000, 5),
            (340_000, 5),
            (400_000, 6),
            (90_000_000, 6),
            (100_000_000, 7),
            (20_000_000_000, 7),
            (1 << 48, 9),
        ] {
            assert_eq!(least_fingerprint_bits(n), bits, "{n} keys");
        }
    }

    #[test]
    fn keys_at_inverts_buckets_at() {
        for load in [MAX_LOAD, 0.8, 0.5] {
            for n in (1..5_000).chain([1_000_000, 1 << 40]) {
                let buckets = buckets_at(n, load);
                let keys = keys_at(buckets, load);
                let fits = keys >= n && buckets_at(keys, load) == buckets;
                assert!(fits, "{n} keys at {load}: {buckets}, {keys}");
            }
            assert_eq!(keys_at(0, load), 0);
        }
    }
}
