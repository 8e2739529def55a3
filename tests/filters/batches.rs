//! Batches on filters that are large enough to ask for their memory ahead: answers and contents are
//! those of one by one, for keys of every shape. (The laws have the small filters, and the ends.)

use hapax::filter::{Buildable, Builder};
use hapax::{
    Advance, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, InsertExt,
    KeyHash, MembershipExt, RetiringCuckooFilter, Seen, WordBloomFilter,
};

use crate::support::{Shape, Subject};

/// Two megabytes, twice what counts as large.
const BYTE_LEN: u64 = 2 << 20;

/// Batches of every kind of length: none, one, less than is fetched ahead, and more.
const LENGTHS: [usize; 8] = [0, 1, 2, 15, 16, 17, 63, 5_000];

fn check<F: Buildable + Subject>(builder: Builder<F>, capacity: u64) {
    let builder = builder.byte_len(BYTE_LEN).capacity(capacity);
    for shape in Shape::ALL {
        let (mut one, mut batched) = (builder.build().unwrap(), builder.build().unwrap());
        let what = format!("{shape:?} {:?}", builder.plan().unwrap());
        let mut next = 0;
        for len in LENGTHS {
            // Every third key again, some near and some far.
            let mut keys: Vec<KeyHash> = (next..next + len as u64)
                .map(|i| shape.hash(if i % 3 == 2 { i / 2 } else { i }))
                .collect();
            next += len as u64;
            let mut seen = vec![Seen::Maybe; keys.len()];
            batched.insert_batch(&keys, &mut seen).unwrap();
            for (&key, &seen) in keys.iter().zip(&seen) {
                assert_eq!(one.insert_hash(key), Ok(seen), "{what}");
            }
            keys.extend((0..len as u64).map(|i| shape.hash(next + i)));
            let mut present = vec![false; keys.len()];
            batched.contains_batch(&keys, &mut present).unwrap();
            assert!(
                keys.iter().zip(&present).all(|(&key, &p)| one.contains_hash(key) == p),
                "{what}"
            );
        }
        assert!(one.bytes() == batched.bytes(), "{what}");
        assert!(one.stats().len > 2_000, "{what}");
    }
}

#[test]
fn large_filters_answer_batches_as_one_by_one() {
    for bits_per_key in [6, 10, 16, 40] {
        check(BloomFilter::builder(), BYTE_LEN * 8 / bits_per_key);
        check(BlockedBloomFilter::builder(), BYTE_LEN * 8 / bits_per_key);
        check(WordBloomFilter::builder(), BYTE_LEN * 8 / bits_per_key);
        check(CountingBloomFilter::builder(), BYTE_LEN * 2 / bits_per_key);
        check(CountingBloomFilter::builder().counter_bits(8), BYTE_LEN / bits_per_key);
    }
    for fingerprint_bits in [8, 13, 16, 32] {
        let builder = CuckooFilter::builder().fingerprint_bits(fingerprint_bits);
        check(builder, BYTE_LEN * 7 / u64::from(fingerprint_bits));
    }
    for fingerprint_bits in [12, 13, 28, 33, 60] {
        let builder = RetiringCuckooFilter::builder().fingerprint_bits(fingerprint_bits);
        let capacity = BYTE_LEN * 7 / u64::from(fingerprint_bits + 4);
        check(builder.clone(), capacity);
        check(builder.advance(Advance::ByCount), 15_000);
    }
}

/// Keys are hashed 256 at a time.
#[test]
fn batches_of_keys_answer_as_key_by_key() {
    for len in [0, 1, 255, 256, 257, 1_000] {
        let builder = BlockedBloomFilter::builder().capacity(1_000).false_positive_rate(0.01);
        let (mut one, mut batched) = (builder.build().unwrap(), builder.build().unwrap());
        let keys: Vec<String> = (0..len).map(|i| format!("key {}", i / 2)).collect();
        let mut seen = vec![Seen::Maybe; len];
        batched.insert_keys(&keys, &mut seen).unwrap();
        for (key, seen) in keys.iter().zip(seen) {
            assert_eq!(one.insert(key), Ok(seen));
        }
        assert!(one.bytes() == batched.bytes());
        let asked: Vec<String> = (0..2 * len).map(|i| format!("key {i}")).collect();
        let mut present = vec![false; asked.len()];
        batched.contains_keys(&asked, &mut present).unwrap();
        assert!(asked.iter().zip(present).all(|(key, present)| one.contains(key) == Ok(present)));
    }
}

/// A refusal in the second handful of keys counts the first, too.
#[test]
fn a_refused_batch_of_keys_says_how_many_came_before() {
    let builder = CountingBloomFilter::builder().capacity(300).false_positive_rate(0.01);
    let keys: Vec<u64> = (0..1_000).collect();
    let mut seen = vec![Seen::Maybe; keys.len()];
    match builder.build().unwrap().insert_keys(&keys, &mut seen) {
        Err(hapax::BatchError::Full { inserted, .. }) => assert_eq!(inserted, 300),
        result => panic!("{result:?}"),
    }
}
