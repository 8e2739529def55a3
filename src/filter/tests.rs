//! What only the crate can see: positions, tiny tables, the words after each refusal, and parts
//! that do not fit together. The laws of the contract are in `tests/filters`.

use std::fmt::Debug;

use super::array::Prober;
use super::buckets::{Table as _, other_bucket};
use super::{
    Advance, BloomFilter, CountingBloomFilter, CuckooFilter, Epochs, InvalidParts, OnHit,
    PastCapacity, RetiringCuckooFilter, Settings, SharedBloomFilter, WordBloomFilter,
};
use crate as hapax;
use crate::error::FullReason;
use crate::hash::{KeyHash, Salt, Seed};
use crate::membership::{Insert, Membership, Remove, Removed, Seen};
use crate::store::{Words, words_for};

#[expect(unreachable_pub, reason = "shared with other crates")]
#[path = "../../tests/support/model.rs"]
mod model;

use model::Op;

/// Settings of a filter that takes whatever fits.
fn settings(salt: u64) -> Settings {
    Settings {
        seed: Seed::default(),
        salt: Salt::new(salt),
        capacity: 1 << 40,
        past_capacity: PastCapacity::Degrade,
        len: 0,
    }
}

fn words(len: u64) -> Words {
    Words::zeroed(len).unwrap()
}

fn cuckoo(buckets: u64, bits: u32, salt: u64) -> CuckooFilter {
    let words = words(words_for(buckets, bits).unwrap());
    CuckooFilter::from_parts(settings(salt), words, bits, buckets).unwrap()
}

fn key(index: u64) -> KeyHash {
    Seed::default().hash(&index).unwrap()
}

/// Operations without visible structure, the same for the same seed; few keys, many repeats.
fn operations(seed: u64, len: u64) -> Vec<Op> {
    let op = |i: u64| {
        let word = KeyHash::mix(key(i), Salt::new(seed)).a;
        let (choice, times) = (word % 32, 1 + (word >> 8 & 1) as u8 * (word >> 16 & 15) as u8);
        let key = (word >> 32) as u8 & if seed.is_multiple_of(2) { 255 } else { 7 };
        match choice {
            0..=14 => Op::Insert { key, times },
            15..=19 => Op::InsertUnique { key },
            20..=27 => Op::Remove { key, times },
            28 => Op::Contains { key },
            29 => Op::Merge,
            30 => Op::Swap,
            _ => {
                if word >> 24 & 255 < 32 {
                    Op::Clear
                } else {
                    Op::Contains { key }
                }
            }
        }
    };
    (0..len).map(op).collect()
}

#[test]
fn probe_positions_value_stability() {
    // From a transcript of the formulas in Python's integers.
    let hash = KeyHash::from_uniform(&0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128.to_be_bytes());
    let positions = |num_probes, range| {
        Prober { salt: Salt::new(7), num_probes, range }.positions(hash).collect::<Vec<_>>()
    };
    assert_eq!(positions(8, 1_000), [772, 810, 646, 239, 24, 357, 501, 906]);
    let far = [848_926_411_727, 891_537_185_733, 711_076_001_085, 263_776_361_125, 26_927_682_907];
    assert_eq!(positions(5, 1 << 40), far);
}

/// The bits of a word by the formula, one draw after the other.
#[test]
fn word_masks_value_stability() {
    // From a transcript of the formulas in Python's integers.
    let hash = KeyHash::from_uniform(&0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128.to_be_bytes());
    for (num_probes, words, word, mask) in MASKS {
        let probe = super::word::Prober { salt: Salt::new(7), words, num_probes }.probe(hash);
        assert_eq!((probe.word, probe.mask), (word, mask), "{num_probes}");
    }
}

/// Every mask has k bits, and every bit and every pair of bits its share, within five deviations.
#[test]
fn word_masks_are_sets_of_k_bits_all_alike() {
    const KEYS: u64 = 200_000;
    for num_probes in [1, 2, 5, 10] {
        let prober = super::word::Prober { salt: Salt::new(3), words: 1 << 20, num_probes };
        let mut pairs = vec![[0u32; 64]; 64];
        for hash in (0..KEYS).map(key) {
            let mask = prober.probe(hash).mask;
            assert_eq!(mask.count_ones(), num_probes);
            for i in (0..64).filter(|i| mask >> i & 1 == 1) {
                (i..64).filter(|j| mask >> j & 1 == 1).for_each(|j| pairs[i][j] += 1);
            }
        }
        let k = f64::from(num_probes);
        for (i, row) in pairs.iter().enumerate() {
            for (j, &found) in row.iter().enumerate().skip(i) {
                let share = if i == j { k / 64.0 } else { k * (k - 1.0) / (64.0 * 63.0) };
                let expected = KEYS as f64 * share;
                let deviation = (expected * (1.0 - share)).sqrt();
                let off = f64::from(found) - expected;
                assert!(off.abs() <= 5.0 * deviation, "{num_probes}: {i} {j} {found} {expected}");
            }
        }
    }
}

/// Bits, words, then the word and the mask.
const MASKS: [(u32, usize, usize, u64); 3] = [
    (1, 1, 0, 0x0000_0200_0000_0000),
    (5, 1_000, 772, 0x2001_0440_0000_0800),
    (10, 1_073_741_824, 829_029_698, 0x0408_0208_a011_1080),
];

/// Bits, buckets, then the fingerprint and its two buckets; from the same transcript.
const HOMES: [(u32, u64, u64, [u64; 2]); 3] = [
    (4, 10, 10, [7, 2]),
    (12, 1_001, 2_649, [772, 190]),
    (32, 1_048_576, 2_777_640_629, [809_599, 556_016]),
];

#[test]
fn cuckoo_homes_value_stability() {
    let hash = KeyHash::from_uniform(&0x0123_4567_89ab_cdef_fedc_ba98_7654_3210u128.to_be_bytes());
    for (bits, buckets, fingerprint, homes) in HOMES {
        let mut filter = cuckoo(buckets, bits, 7);
        let home = filter.home(hash);
        assert_eq!((home.fingerprint, home.buckets), (fingerprint, homes), "{bits} {buckets}");
        let _ = filter.insert_hash(hash).unwrap();
        assert_eq!(filter.slots.bucket(homes[0])[0], fingerprint);
    }
}

#[test]
fn other_bucket_is_its_own_inverse_and_differs_in_even_tables() {
    for buckets in (1..=64).chain([1_000, 1_001, (1 << 40) + 1]) {
        let (mut pairs, mut own) = (0, 0);
        for fingerprint in 1..=255 {
            for bucket in (0..buckets).step_by((buckets / 64 + 1) as usize) {
                let other = other_bucket(buckets, bucket, fingerprint);
                assert!(other < buckets);
                assert_eq!(other_bucket(buckets, other, fingerprint), bucket);
                pairs += 1;
                own += u64::from(other == bucket);
            }
        }
        assert!(own == 0 || buckets % 2 == 1, "{buckets} buckets: {own} of {pairs}");
    }
}

/// Every width and every number of buckets up to twenty, past the point where nothing fits.
#[test]
fn cuckoo_of_every_width_and_tiny_size_agrees_with_the_map() {
    for bits in 4..=32 {
        for buckets in 1..=20 {
            let seed = u64::from(bits) << 8 | buckets;
            let ops = operations(seed, 150);
            model::run(&cuckoo(buckets, bits, seed), &ops);
        }
    }
}

/// After every operation the totals that filters keep are what counting the words gives: the model
/// reads each state back from its file, which checks that.
#[test]
fn bloom_and_counting_of_tiny_size_agree_with_the_map() {
    for seed in 0..40 {
        let ops = operations(seed, 300);
        let bloom = BloomFilter::from_parts(settings(seed), words(1 + seed % 9), 3, 0).unwrap();
        model::run(&bloom, &ops);
        let masks = 1 + (seed % 10) as u32;
        let word = WordBloomFilter::from_parts(settings(seed), words(1 + seed % 9), masks, 0);
        let word = word.unwrap();
        model::run(&word, &ops);
        model::run(&SharedBloomFilter::try_from(&word).unwrap(), &ops);
        for bits in [4, 8] {
            let (words, probes) = (words(1 + seed % 9), 1 + (seed % 5) as u32);
            let counting =
                CountingBloomFilter::from_parts(settings(seed), words, bits, probes, (0, 0));
            let counting = counting.unwrap();
            model::run(&counting, &ops);
        }
    }
}

#[test]
fn cuckoo_holds_eight_copies_of_a_key_and_refuses_the_ninth() {
    for (buckets, salt) in (1..=20).flat_map(|buckets| (0..30).map(move |salt| (buckets, salt))) {
        let mut filter = cuckoo(buckets, 12, salt);
        let hash = key(salt);
        let places = if filter.home(hash).distinct().len() == 2 { 8 } else { 4 };
        assert!(places == 8 || buckets % 2 == 1, "an even table has two buckets for each key");
        for copy in 0..places {
            let seen = if copy == 0 { Seen::Never } else { Seen::Maybe };
            assert_eq!(filter.insert_hash(hash), Ok(seen));
        }
        let before = filter.words().to_vec();
        for _ in 0..3 {
            let full = filter.insert_hash(hash).unwrap_err();
            assert_eq!((full.reason, full.len), (FullReason::Copies, places));
            assert_eq!(filter.words(), before);
        }
        for _ in 0..places {
            assert_eq!(filter.remove_hash(hash), Removed::Removed);
        }
        assert_eq!(filter.remove_hash(hash), Removed::Absent);
        assert!(filter.words().iter().all(|&word| word == 0));
    }
}

/// Past the last slot every refusal leaves each word as it was, and one removal makes room again.
#[test]
fn cuckoo_that_refuses_keeps_every_word_and_every_member() {
    for bits in 4..=32 {
        for buckets in [1, 2, 3, 7, 10, 19, 64, 129] {
            let mut filter = cuckoo(buckets, bits, u64::from(bits));
            let mut members = Vec::new();
            let mut refused = 0;
            for hash in (0..).map(key) {
                let before = filter.words().to_vec();
                match filter.insert_hash(hash) {
                    Ok(_) => members.push(hash),
                    Err(full) => {
                        assert_ne!(full.reason, FullReason::Capacity);
                        assert_eq!(filter.words(), before, "{bits} bits {buckets} buckets: {full}");
                        refused += 1;
                    }
                }
                if refused == 40 {
                    break;
                }
            }
            assert!(members.iter().all(|&hash| filter.contains_hash(hash)));
            filter.check_counts().unwrap();
            let last = members.pop().unwrap();
            assert_eq!(filter.remove_hash(last), Removed::Removed);
            let _ = filter.insert_hash(last).unwrap();
            assert!(members.iter().all(|&hash| filter.contains_hash(hash)));
        }
    }
}

fn retiring(buckets: u64, (bits, tag_bits): (u32, u32), capacity: u64) -> RetiringCuckooFilter {
    let words = words(words_for(buckets, bits + tag_bits).unwrap());
    let tags = 1usize << tag_bits;
    let epochs = Epochs { most: 3, current: 0, oldest: 0, swept: 0, counts: vec![0; tags] };
    let settings = Settings { capacity, ..settings(buckets) };
    let modes = (Advance::ByCount, OnHit::Keep);
    RetiringCuckooFilter::from_parts(settings, words, (bits, tag_bits), buckets, epochs, modes)
        .unwrap()
}

/// A table too small for what it is told to hold, as no builder makes it: a refusal leaves it as it
/// was in the middle of an epoch, and where the insert would have begun the next one.
#[test]
fn retiring_that_refuses_keeps_epoch_words_and_members() {
    let mut at_the_end = 0;
    for widths in [(13, 3), (6, 2), (29, 3), (33, 4), (60, 4)] {
        for buckets in [2, 4, 10, 64] {
            // Two epochs fill the table; a third does not fit.
            for capacity in [6 * buckets, 7 * buckets, 9 * buckets] {
                let mut filter = retiring(buckets, widths, capacity);
                let (mut members, mut refused) = (Vec::new(), 0);
                for index in 0..40 * buckets {
                    let (words, epochs) = (filter.words().to_vec(), filter.epochs_state().clone());
                    let stats = filter.stats();
                    match filter.insert_hash(key(index)) {
                        Ok(Seen::Never) => members.push((index, filter.current_epoch())),
                        Ok(Seen::Maybe) => {}
                        Err(full) => {
                            assert_ne!(full.reason, FullReason::Copies);
                            assert_eq!(filter.words(), words);
                            assert_eq!((filter.epochs_state(), filter.stats()), (&epochs, stats));
                            let newest =
                                epochs.counts[epochs.current as usize % epochs.counts.len()];
                            at_the_end += u64::from(newest >= capacity / 3);
                            refused += 1;
                        }
                    }
                    members.retain(|&(_, epoch)| epoch >= filter.oldest_epoch());
                    let denied = |&(index, _): &(u64, u64)| !filter.contains_hash(key(index));
                    assert!(!members.iter().any(denied), "{widths:?} {buckets} {capacity}");
                    if refused == 20 {
                        refused = 0;
                        filter.retire_through(filter.oldest_epoch());
                    }
                }
                filter.check_counts().unwrap();
            }
        }
    }
    assert!(at_the_end > 100, "{at_the_end}");
}

/// `len` may come from a file, and a sum of two filters: it sticks rather than wraps.
#[test]
fn len_sticks_at_its_end() {
    let most = Settings { len: u64::MAX, ..settings(0) };
    let mut bloom = BloomFilter::from_parts(most.clone(), words(4), 2, 0).unwrap();
    let mut counting =
        CountingBloomFilter::from_parts(most.clone(), words(4), 4, 2, (0, 0)).unwrap();
    let mut word = WordBloomFilter::from_parts(most.clone(), words(4), 2, 0).unwrap();
    let mut shared = SharedBloomFilter::try_from(&word).unwrap();
    for hash in (0..5).map(key) {
        let _ = word.insert_hash(hash).unwrap();
        let _ = shared.insert_hash(hash).unwrap();
        let _ = bloom.insert_hash(hash).unwrap();
        let _ = counting.insert_hash(hash).unwrap();
    }
    assert_eq!((word.stats().len, shared.stats().len), (u64::MAX, u64::MAX));
    assert_eq!((bloom.stats().len, counting.stats().len), (u64::MAX, u64::MAX));
}

fn assert_invalid<F: Debug>(result: Result<F, InvalidParts>, what: &str) {
    let invalid = result.unwrap_err();
    assert_eq!(invalid.what, what);
    assert!(!invalid.expected.is_empty() && !invalid.found.is_empty(), "{invalid:?}");
}

#[test]
fn parts_that_do_not_fit_are_refused_by_name() {
    let bloom =
        |words, probes, ones| BloomFilter::from_parts(settings(0), vec![0; words], probes, ones);
    assert_invalid(bloom(1, 0, 0), "number of probes");
    assert_invalid(bloom(1, 65, 0), "number of probes");
    assert_invalid(bloom(0, 1, 0), "size of the bit array");
    assert_invalid(bloom(1, 1, 65), "number of set bits");
    assert_invalid(bloom(1, 1, 1).unwrap().check_counts(), "number of set bits");
    assert!(bloom(1, 64, 0).unwrap().check_counts().is_ok());

    let word = |words, probes, ones| {
        WordBloomFilter::from_parts(settings(0), vec![0; words], probes, ones)
    };
    assert_invalid(word(1, 0, 0), "number of probes");
    assert_invalid(word(1, 11, 0), "number of probes");
    assert_invalid(word(0, 1, 0), "size of the bit array");
    assert_invalid(word(1, 1, 65), "number of set bits");
    assert_invalid(word(1, 1, 1).unwrap().check_counts(), "number of set bits");
    assert!(word(1, 10, 0).unwrap().check_counts().is_ok());

    let counting = |words, bits, probes, totals| {
        CountingBloomFilter::from_parts(settings(0), vec![0xf1; words], bits, probes, totals)
    };
    assert_invalid(counting(1, 5, 1, (0, 0)), "bits in a counter");
    assert_invalid(counting(1, 4, 0, (0, 0)), "number of probes");
    assert_invalid(counting(0, 4, 1, (0, 0)), "number of counters");
    assert_invalid(counting(1, 4, 1, (17, 0)), "number of counters in use");
    assert_invalid(counting(1, 4, 1, (2, 3)), "number of counters in use");
    assert_invalid(counting(1, 4, 1, (3, 1)).unwrap().check_counts(), "number of counters in use");
    let saturated = counting(1, 4, 1, (2, 0)).unwrap().check_counts();
    assert_invalid(saturated, "number of saturated counters");
    assert!(counting(1, 4, 1, (2, 1)).unwrap().check_counts().is_ok());
    assert!(counting(1, 8, 1, (1, 0)).unwrap().check_counts().is_ok());

    let cuckoo = |len, words: Vec<u64>, bits, buckets| {
        CuckooFilter::from_parts(Settings { len, ..settings(0) }, words, bits, buckets)
    };
    assert_invalid(cuckoo(0, vec![0; 3], 3, 4), "bits in a fingerprint");
    assert_invalid(cuckoo(0, vec![0; 3], 33, 4), "bits in a fingerprint");
    assert_invalid(cuckoo(0, vec![0; 2], 4, 0), "number of buckets");
    assert_invalid(cuckoo(0, vec![0; 2], 4, 4), "number of words");
    assert_invalid(cuckoo(0, vec![0; 4], 4, 4), "number of words");
    assert_invalid(cuckoo(0, vec![0; 4], 4, u64::MAX), "number of words");
    assert_invalid(cuckoo(17, vec![0; 3], 4, 4), "number of keys");
    assert_invalid(cuckoo(1, vec![0; 3], 4, 4).unwrap().check_counts(), "number of occupied slots");
    assert!(cuckoo(1, vec![1, 0, 0], 4, 4).unwrap().check_counts().is_ok());
    for padding in [vec![0, 1, 0], vec![0, 0, 1 << 63]] {
        let body = cuckoo(0, padding, 4, 4).unwrap().check_counts();
        assert_invalid(body, "padding after the slots");
    }
    // The padding starts within a word here.
    let body = cuckoo(0, vec![1 << 60, 0, 0], 5, 3).unwrap().check_counts();
    assert_invalid(body, "padding after the slots");
}
