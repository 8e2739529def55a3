//! Cuckoo filters: two buckets a key, four slots a bucket, f-bit fingerprints that are never 0.
//!
//! Source: B. Fan et al., *Cuckoo filter: practically better than Bloom*, CoNEXT 2014; that 2^f − 1
//! fingerprints are in use, not 2^f, follows H. Lang et al., VLDB 12 (2019).

/// Slots in a bucket. Four reach a load factor of 0.95; two stop at 0.84, and eight double the
/// false positive rate.
pub const SLOTS_PER_BUCKET: u64 = 4;

/// Share of the slots that a filter plans to fill.
///
/// `examples/cuckoo_load.rs` prints the load at which an insert is first refused: 0.966 to 0.98
/// from a thousand buckets to half a million, with 8 bits or more.
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
    let fingerprints = 2f64.powi(fingerprint_bits.cast_signed()) - 1.0;
    let matching = 2.0 * SLOTS_PER_BUCKET as f64 * load_factor / fingerprints;
    -(-matching).exp_m1()
}

/// The fewest fingerprint bits with which n distinct keys fit at the planned load: 4 up to 5,000
/// keys, and one more for each factor of ten.
///
/// A measured rule. Few distinct fingerprints tie few buckets together, and evictions run in
/// circles sooner the larger the table. Load at the first refusal (`examples/cuckoo_load.rs`): 5
/// bits 0.953 at 100 thousand keys; 6 bits 0.956 at 2 million; 7 bits 0.958 and 8 bits 0.966 at
/// 20 million.
#[must_use]
pub fn least_fingerprint_bits(n: u64) -> u32 {
    let decades = (n as f64 / 5_000.0).log10().ceil().max(0.0);
    (MIN_FINGERPRINT_BITS + decades as u32).min(MAX_FINGERPRINT_BITS)
}

/// The shortest fingerprint. Shorter ones repeat too often to be spread by evictions.
pub const MIN_FINGERPRINT_BITS: u32 = 4;

/// The longest fingerprint: 2⁻²⁹ at full load.
pub const MAX_FINGERPRINT_BITS: u32 = 32;

/// Buckets for n keys: n / (0.95 · 4), and a few more, because small tables fill unevenly.
#[must_use]
pub fn buckets_for(n: u64) -> u64 {
    let slots = n as f64 / MAX_LOAD + 8.0;
    (slots / SLOTS_PER_BUCKET as f64).ceil() as u64
}

/// The most keys for which [`buckets_for`] stays within `buckets`.
#[must_use]
pub fn keys_in(buckets: u64) -> u64 {
    let slots = (buckets * SLOTS_PER_BUCKET) as f64 - 8.0;
    let mut n = (slots.max(0.0) * MAX_LOAD) as u64;
    while n > 0 && buckets_for(n) > buckets {
        n -= 1;
    }
    while buckets_for(n + 1) <= buckets {
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
        assert_eq!(rate_at_load(8, 0.0), 0.0);
    }

    #[test]
    fn keys_in_inverts_buckets_for() {
        for n in (1..5_000).chain([1_000_000, 1 << 40]) {
            let buckets = buckets_for(n);
            let keys = keys_in(buckets);
            assert!(keys >= n && buckets_for(keys) == buckets, "{n} keys: {buckets}, {keys}");
        }
        assert_eq!(keys_in(0), 0);
    }
}
