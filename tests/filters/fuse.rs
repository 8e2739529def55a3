//! The laws of a filter that is built once: nothing is missed, strangers come at the rate, and the
//! order, the repeats and the threads leave no trace.

use std::num::NonZero;

use hapax::codec::{Artefact, Provenance};
use hapax::{
    BinaryFuseFilter, FuseBuild, FuseBuilder, FuseReport, KeyHash, Membership, Salt, Seed,
};

use crate::support::Shape;
use crate::support::keys::{scramble, shuffled};
use crate::support::statistics::assert_rate;

fn builder(bits: u32) -> FuseBuilder {
    BinaryFuseFilter::builder().fingerprint_bits(bits)
}

fn bytes(filter: BinaryFuseFilter) -> Vec<u8> {
    Artefact { filter, provenance: Provenance::default() }.to_bytes()
}

/// Asks one by one and all at once, and requires the same answers.
fn answers(filter: &BinaryFuseFilter, hashes: &[KeyHash]) -> Vec<bool> {
    let one_by_one: Vec<bool> = hashes.iter().map(|&hash| filter.contains_hash(hash)).collect();
    let mut batch = vec![true; hashes.len()];
    filter.contains_batch(hashes, &mut batch).unwrap();
    assert_eq!(batch, one_by_one);
    one_by_one
}

#[test]
fn every_member_of_every_size_and_width_is_found() {
    for bits in 4..=32 {
        for n in [1, 2, 3, 7, 20, 100, 1_000, 5_000] {
            let shape = Shape::ALL[n as usize % 4];
            let hashes: Vec<_> = shape.members(n).collect();
            let FuseBuild { filter, report } =
                builder(bits).salt(Salt::new(n)).build_from(hashes.iter().copied()).unwrap();
            assert!(answers(&filter, &hashes).iter().all(|&yes| yes), "{n} keys of {bits} bits");
            assert_eq!((report.keys, report.duplicates, report.shards), (n, 0, 1));
            assert_eq!((filter.stats().len, filter.stats().capacity), (n, n));
        }
    }
}

#[test]
fn an_empty_filter_says_no() {
    let FuseBuild { filter, report } = builder(8).build_from([]).unwrap();
    let strangers: Vec<_> = Shape::Random.members(1_000).collect();
    assert!(answers(&filter, &strangers).iter().all(|&yes| !yes));
    assert_eq!(report, FuseReport::default());
    assert_eq!((filter.shards(), filter.stats().bit_len), (0, 0));
    assert!(filter.false_positive_rate().abs() < f64::MIN_POSITIVE);
}

/// A stranger's fingerprint has nothing to do with its cells, so the rate is 2⁻ᶠ whatever is in them.
#[test]
fn strangers_are_reported_at_the_rate() {
    for (bits, n) in [(4, 20), (4, 1_000), (7, 50_000), (8, 700_000), (12, 3_000), (16, 100_000)] {
        for shape in [Shape::Random, Shape::Sequential, Shape::BitReversed] {
            let filter = builder(bits).build_from(shape.members(n)).unwrap().filter;
            let rate = filter.false_positive_rate();
            assert!((rate * 2f64.powi(bits.cast_signed()) - 1.0).abs() < 1e-12);
            let trials = ((200.0 / rate) as u64).clamp(200_000, 4_000_000);
            let strangers = shape.strangers(trials);
            let found = strangers.filter(|&hash| filter.contains_hash(hash)).count() as u64;
            assert_rate(&format!("{shape:?}, {n} keys, {bits} bits"), found, trials, rate, 0.0);
        }
    }
}

/// Several shards, and all that may not change the file: order, repeats, threads.
#[test]
fn one_set_gives_one_file() {
    let hashes: Vec<_> = Shape::Sequential.members(1_200_000).collect();
    let threads = |n| builder(9).threads(NonZero::new(n).unwrap());
    let FuseBuild { filter, report } = threads(1).build_from(hashes.iter().copied()).unwrap();
    assert_eq!((report.keys, report.duplicates, report.shards), (1_200_000, 0, 3));
    assert!(report.largest_shard <= 1 << 19);
    assert!(answers(&filter, &hashes).iter().all(|&yes| yes));
    let digest = |sum: u128, hash: &KeyHash| sum.wrapping_add(u128::from_be_bytes(hash.to_bytes()));
    assert_eq!(report.set_digest, hashes.iter().fold(0, digest));
    let bytes_of_one = bytes(filter);
    for n in [2, 3, 16] {
        let built = threads(n).build_from(hashes.iter().copied()).unwrap();
        assert_eq!(built.report, report);
        assert!(bytes(built.filter) == bytes_of_one, "{n} threads");
    }
    let mut repeated = shuffled(&hashes);
    repeated.extend_from_slice(&hashes[..500_000]);
    let built = threads(2).build_from(repeated).unwrap();
    assert_eq!((built.report.keys, built.report.duplicates), (1_200_000, 500_000));
    assert!(bytes(built.filter) == bytes_of_one, "shuffled and repeated");
    let other = threads(2).salt(Salt::new(1)).build_from(hashes).unwrap();
    assert!(bytes(other.filter) != bytes_of_one, "another salt");
}

#[test]
fn repeated_keys_are_removed_and_counted() {
    let hashes: Vec<_> = Shape::Random.members(100_000).collect();
    let some = hashes.iter().chain(&hashes[..100]).copied();
    let built = builder(8).build_from(some).unwrap();
    assert_eq!((built.report.keys, built.report.duplicates), (100_000, 100));
    let thrice = hashes.iter().chain(&hashes).chain(&hashes).copied();
    let built = builder(8).build_from(thrice).unwrap();
    assert_eq!((built.report.keys, built.report.duplicates), (100_000, 200_000));
    let one = std::iter::repeat_n(hashes[7], 1_000_000);
    let built = builder(8).build_from(one).unwrap();
    assert_eq!((built.report.keys, built.report.duplicates), (1, 999_999));
    assert!(built.filter.contains_hash(hashes[7]) && !built.filter.contains_hash(hashes[8]));
}

/// A set of 11,515 keys that a peer's filter never found an array for.
#[test]
fn the_set_that_defeated_a_peer_is_built() {
    let state = |i: u64| 28_909u64.wrapping_add(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let keys: Vec<_> =
        (0..11_515).map(|i| Seed::default().hash(&scramble(state(i))).unwrap()).collect();
    let filter = builder(8).build_from(keys.iter().copied()).unwrap().filter;
    assert!(answers(&filter, &keys).iter().all(|&yes| yes));
}

/// The sizes that the documentation promises, the table of shards included.
#[test]
fn bits_per_key_are_as_documented() {
    for (bits, n, most) in [(8, 530_000, 9.13), (8, 1_048_000, 9.09), (16, 1_048_000, 18.18)] {
        let filter = builder(bits).build_from(Shape::Random.members(n)).unwrap().filter;
        let found = bytes(filter).len() as f64 * 8.0 / n as f64;
        assert!((1.13 * f64::from(bits)..most).contains(&found), "{bits} bits, {n} keys: {found}");
    }
    let filter = builder(8).build_from(Shape::Random.members(10_000)).unwrap().filter;
    assert!(filter.stats().bits_per_key() < 1.29 * 8.0);
}
