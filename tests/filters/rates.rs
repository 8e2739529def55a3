//! Measured false positive rates, two-sided, with fixed keys.
//!
//! Two checks each: strangers reported, against the rate the filter gives for itself (binomial);
//! and its fill, against what the formula expects of so many keys.

use hapax::filter::{Buildable, Builder};
use hapax::math::{blocked, bloom, cuckoo, word};
use hapax::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, Digest, Insert, KeyHash,
    Membership, RetiringCuckooFilter, Salt, Seed, WordBloomFilter,
};

use crate::support::statistics::{assert_close, assert_rate};
use crate::support::{Shape, Subject};

const RATES: [f64; 3] = [1e-1, 1e-2, 1e-4];
const SIZES: [u64; 3] = [1_000, 100_000, 1_000_000];

/// Enough strangers for a hundred false positives, and more where they are common.
fn trials(rate: f64) -> u64 {
    ((100.0 / rate) as u64).max(400_000)
}

fn filled<F: Buildable + Insert>(
    builder: &Builder<F>,
    members: impl Iterator<Item = KeyHash>,
) -> F {
    let mut filter = builder.build().unwrap();
    for member in members {
        let _ = filter.insert_hash(member).unwrap();
    }
    filter
}

fn false_positives(filter: &impl Subject, strangers: impl Iterator<Item = KeyHash>) -> u64 {
    strangers.filter(|&stranger| filter.contains_hash(stranger)).count() as u64
}

/// Fills to the capacity and checks the rate; `extra` is the variance of the formula's rate.
fn check_rate<F: Buildable + Subject>(
    builder: &Builder<F>,
    shape: Shape,
    extra: impl Fn(&F) -> f64,
) -> F {
    let plan = builder.plan().unwrap();
    let filter = filled(builder, shape.members(plan.capacity));
    let what = format!("{shape:?} {plan:?}");
    let trials = trials(plan.false_positive_rate);
    let found = false_positives(&filter, shape.strangers(trials));
    assert_rate(&what, found, trials, filter.false_positive_rate(), extra(&filter));
    filter
}

/// Checks the share of cells in use against the occupancy formula.
fn check_fill(filter: &impl Subject, cells: u64, num_probes: u32) {
    let stats = filter.stats();
    let (m, n) = (cells as f64, stats.capacity as f64);
    let expected = bloom::expected_fill(m, num_probes, n);
    let deviation = bloom::fill_variance(m, num_probes, n).sqrt();
    assert_close(&format!("fill of {stats:?}"), stats.fill_ratio, expected, deviation);
}

/// Variance of a cuckoo filter's rate about [`cuckoo::rate_at_load`]: a stranger is one of
/// C = buckets · (2^f − 1) / 2 pairs of a fingerprint and its two buckets, and n keys thrown into
/// them occupy a share of variance e^−λ (1 − (1 + λ) e^−λ) / C, λ = n/C.
fn cuckoo_variance(filter: &CuckooFilter) -> f64 {
    let fingerprints = 2f64.powi(filter.fingerprint_bits().cast_signed()) - 1.0;
    let pairs = filter.buckets() as f64 * fingerprints / 2.0;
    let mean = filter.stats().len as f64 / pairs;
    let empty = (-mean).exp();
    empty * (1.0 - (1.0 + mean) * empty) / pairs
}

/// Variance of a blocked filter's rate about the formula: the mean over lines of their rates, which
/// differ as the numbers of their keys do.
fn blocked_variance(filter: &BlockedBloomFilter) -> f64 {
    let k = f64::from(filter.num_probes());
    let lines = filter.bit_len() as f64 / blocked::LINE_BITS as f64;
    let mean = filter.stats().estimated_len / lines;
    let (mut weight, mut squares) = ((-mean).exp(), 0.0);
    for keys in 1..=(3.0 * mean) as u32 + 20 {
        weight *= mean / f64::from(keys);
        let fill = 1.0 - (1.0 - k / 512.0).powi(keys.cast_signed());
        squares += weight * fill.powf(2.0 * k);
    }
    squares / lines
}

/// Variance of a word-blocked filter's rate about the formula: the mean over words of their rates. A
/// word in which c bits are set has the rate C(c, k) / C(64, k).
fn word_variance(filter: &WordBloomFilter) -> f64 {
    let choose = |n: usize, k: usize| -> f64 {
        (0..k).map(|i| (n as f64 - i as f64) / (k - i) as f64).product()
    };
    let k = filter.num_probes() as usize;
    let words = filter.bit_len() as f64 / 64.0;
    let mean = filter.stats().estimated_len / words;
    let (mut weight, mut covered, mut squares) = ((-mean).exp(), [0.0; 65], 0.0);
    covered[0] = 1.0;
    for keys in 1..=(3.0 * mean) as u32 + 20 {
        weight *= mean / f64::from(keys);
        let mut next = [0.0; 65];
        for (c, share) in covered.iter().enumerate() {
            for more in 0..=k.min(64 - c) {
                let ways = choose(c, k - more) * choose(64 - c, more);
                next[c + more] += share * ways / choose(64, k);
            }
        }
        covered = next;
        let square = |(c, share): (usize, &f64)| share * (choose(c, k) / choose(64, k)).powi(2);
        squares += weight * covered.iter().enumerate().map(square).sum::<f64>();
    }
    squares / words
}

fn sized<F: Buildable>(builder: Builder<F>, keys: u64, rate: f64) -> Builder<F> {
    builder.capacity(keys).false_positive_rate(rate)
}

#[test]
fn bloom_rate_and_fill_are_as_computed() {
    for (rate, keys) in RATES.iter().flat_map(|&rate| SIZES.map(|keys| (rate, keys))) {
        let builder = sized(BloomFilter::builder(), keys, rate);
        let filter = check_rate(&builder, Shape::Random, |_| 0.0);
        check_fill(&filter, filter.bit_len(), filter.num_probes());
    }
}

#[test]
fn blocked_rate_and_fill_are_as_computed() {
    // One, two and three rounds, whole and in part.
    let low = 2f64.powi(-14);
    let all = RATES.iter().flat_map(|&rate| SIZES.map(|keys| (rate, keys)));
    for (rate, keys) in all.chain([(low, 1_000), (low, 100_000)]) {
        let builder = sized(BlockedBloomFilter::builder(), keys, rate);
        let plan = builder.plan().unwrap();
        let filter = check_rate(&builder, Shape::Random, blocked_variance);
        let stated = filter.false_positive_rate();
        let off = (stated / plan.false_positive_rate - 1.0).abs();
        assert!(off < 0.02 + 3.0 / (keys as f64).sqrt(), "{plan:?}: {stated}");
        let estimate = filter.stats().estimated_len / keys as f64;
        assert!((estimate - 1.0).abs() < 4.0 / (keys as f64).sqrt(), "{plan:?}: {estimate}");
    }
    for num_bytes in [640, 64_000, 1_280_000] {
        // Ten bits a key make k 6 or 7; eight are one full round.
        let builder = BlockedBloomFilter::builder().byte_len(num_bytes);
        for bits in [9, 11, 40] {
            let filter = check_rate(
                &builder.clone().capacity(num_bytes * 8 / bits),
                Shape::Random,
                blocked_variance,
            );
            assert_eq!(filter.bit_len(), num_bytes * 8);
        }
    }
}

#[test]
fn word_rate_and_fill_are_as_computed() {
    for (rate, keys) in RATES.into_iter().flat_map(|rate| SIZES.map(|keys| (rate, keys))) {
        let builder = sized(WordBloomFilter::builder(), keys, rate);
        let plan = builder.plan().unwrap();
        let filter = check_rate(&builder, Shape::Random, word_variance);
        // What is planned for so many keys is what the fill then says.
        let stats = filter.stats();
        let off = (stats.false_positive_rate / plan.false_positive_rate - 1.0).abs();
        assert!(off < 20.0 / (keys as f64).sqrt(), "{plan:?}: {off}");
        let estimate = stats.estimated_len / keys as f64;
        assert!((estimate - 1.0).abs() < 4.0 / (keys as f64).sqrt(), "{plan:?}: {estimate}");
        let words = stats.bit_len as f64 / 64.0;
        let expected = word::expected_rate(words, filter.num_probes(), stats.estimated_len);
        assert!((expected / stats.false_positive_rate - 1.0).abs() < 1e-9);
    }
}

#[test]
fn counting_rate_and_fill_are_as_computed() {
    for (rate, keys) in RATES.iter().flat_map(|&rate| SIZES.map(|keys| (rate, keys))) {
        let builder = sized(CountingBloomFilter::builder(), keys, rate);
        let filter = check_rate(&builder, Shape::Random, |_| 0.0);
        let counters = filter.stats().bit_len / u64::from(filter.counter_bits());
        check_fill(&filter, counters, filter.num_probes());
        assert_eq!(filter.saturated(), 0, "distinct keys do not saturate 4-bit counters");
    }
}

#[test]
fn cuckoo_rate_and_fill_are_as_computed() {
    for (rate, keys) in RATES.iter().flat_map(|&rate| SIZES.map(|keys| (rate, keys))) {
        let builder = sized(CuckooFilter::builder(), keys, rate);
        let filter = check_rate(&builder, Shape::Random, cuckoo_variance);
        let load = keys as f64 / (filter.buckets() * cuckoo::SLOTS_PER_BUCKET) as f64;
        assert!((filter.stats().fill_ratio - load).abs() < 1e-12, "the load is exact");
        assert!(load > 0.92, "{load}");
    }
}

#[test]
fn structured_keys_are_reported_at_the_same_rate() {
    for shape in [Shape::Sequential, Shape::BitReversed, Shape::SharedPrefix] {
        for rate in [0.03, 0.001] {
            check_rate(&sized(BloomFilter::builder(), 20_000, rate), shape, |_| 0.0);
            check_rate(&sized(CountingBloomFilter::builder(), 20_000, rate), shape, |_| 0.0);
            let blocked = sized(BlockedBloomFilter::builder(), 20_000, rate);
            check_rate(&blocked, shape, blocked_variance);
            check_rate(&sized(WordBloomFilter::builder(), 20_000, rate), shape, word_variance);
            check_rate(&sized(CuckooFilter::builder(), 20_000, rate), shape, cuckoo_variance);
        }
    }
}

/// Short fingerprints are where the usual formula fails; 4 bits at 38 %.
#[test]
fn cuckoo_of_short_fingerprints_is_reported_at_the_rate_of_the_formula() {
    for bits in 4..=8 {
        for (keys, salt) in [(500, 1), (1_903, 2), (4_999, 3)] {
            let builder = sized(CuckooFilter::builder(), keys, 0.9).fingerprint_bits(bits);
            let builder = builder.salt(Salt::new(salt));
            let filter = check_rate(&builder, Shape::Random, cuckoo_variance);
            let formula = cuckoo::rate_at_load(bits, filter.load_factor());
            assert!((filter.false_positive_rate() - formula).abs() < 1e-12);
        }
    }
}

/// Half full, past its capacity and after removals, the rate is the one the filter states.
#[test]
fn stated_rate_follows_the_fill() {
    let strangers = || Shape::Random.strangers(300_000);
    let check = |what: &str, filter: &CountingBloomFilter| {
        let found = false_positives(filter, strangers());
        assert_rate(what, found, 300_000, filter.false_positive_rate(), 0.0);
    };
    let builder = sized(CountingBloomFilter::builder(), 20_000, 0.01);
    let builder = builder.past_capacity(hapax::PastCapacity::Degrade);
    let mut filter = filled(&builder, Shape::Random.members(10_000));
    check("half full", &filter);
    for key in Shape::Random.members(40_000).skip(10_000) {
        let _ = filter.insert_hash(key).unwrap();
    }
    check("twice the capacity", &filter);
    let estimate = filter.stats().estimated_len;
    assert!((estimate / 40_000.0 - 1.0).abs() < 0.02, "{estimate}");
    for key in Shape::Random.members(40_000).skip(5_000) {
        let _ = filter.try_remove(key);
    }
    check("a quarter full again", &filter);
}

/// A hash whose top 7 bits are `group`: what a key group of 128 holds.
fn in_group(hash: KeyHash, group: u8) -> KeyHash {
    let mut bytes = hash.to_bytes();
    bytes[0] = group << 1 | bytes[0] & 1;
    KeyHash::from_uniform(&bytes)
}

/// The bits that chose a key group are not used again inside it. Reused, they would put all of
/// the group's keys into a 128th of the table.
#[test]
fn rate_within_one_key_group_is_the_rate_everywhere() {
    fn check<F: Buildable + Subject>(builder: Builder<F>, extra: impl Fn(&F) -> f64) {
        for group in [0, 1, 85, 127] {
            let builder = sized(builder.clone(), 50_000, 0.01).seed(Seed::uniform(Digest::Sha1));
            let members = Shape::Random.members(50_000).map(|hash| in_group(hash, group));
            let filter = filled(&builder, members);
            let strangers = Shape::Random.strangers(500_000).map(|hash| in_group(hash, group));
            let found = false_positives(&filter, strangers);
            let rate = filter.false_positive_rate();
            assert_rate(&format!("group {group}"), found, 500_000, rate, extra(&filter));
        }
    }
    check(BloomFilter::builder(), |_| 0.0);
    check(BlockedBloomFilter::builder(), blocked_variance);
    check(WordBloomFilter::builder(), word_variance);
    check(CountingBloomFilter::builder(), |_| 0.0);
    check(CuckooFilter::builder(), cuckoo_variance);
    check(RetiringCuckooFilter::builder(), |_| 0.0);
}

/// Two generations of a window, of the same keys and different salts, err independently: both
/// report a stranger at the product of their rates.
#[test]
fn false_positives_under_different_salts_are_independent() {
    fn check<F: Buildable + Subject>(builder: Builder<F>) {
        let generation = |salt| {
            let builder = sized(builder.clone(), 20_000, 0.05).salt(Salt::new(salt));
            filled(&builder, Shape::Sequential.members(20_000))
        };
        let (one, other) = (generation(7), generation(8));
        let strangers = Shape::Sequential.strangers(1_000_000);
        let by_both = strangers.filter(|&key| one.contains_hash(key) && other.contains_hash(key));
        let rate = one.false_positive_rate() * other.false_positive_rate();
        assert_rate("both", by_both.count() as u64, 1_000_000, rate, 0.0);
    }
    check(BloomFilter::builder());
    check(BlockedBloomFilter::builder());
    check(WordBloomFilter::builder());
    check(CountingBloomFilter::builder());
    check(CuckooFilter::builder());
    check(RetiringCuckooFilter::builder());
}
