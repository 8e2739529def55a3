//! What only the crate can see: layouts and arrays of the published filter bit for bit, sizes that
//! used to fail, and where shards are cut.

use super::geometry::Geometry;
use super::peel::{Peeler, others};
use super::shards::SHARD_KEYS;
use super::{BinaryFuseFilter, Shards, cut};
use crate::error::BuildError;
use crate::hash::{KeyHash, Salt, Seed};
use crate::math::fuse::{array_len, segment_log2, segments_for, size_factor};
use crate::membership::Membership;
use crate::store::{Cells, lines_for};

/// The step of the keys of the published vectors, and of `SplitMix64`.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The published filter of raw keys under one seed, or `None` if that seed fails.
fn published(keys: &[u64], seed: u64, bits: u32) -> Option<(Geometry, Vec<u64>)> {
    let n = keys.len() as u64;
    let log2 = segment_log2(n);
    let factor = if n < 2 { 0.0 } else { size_factor(n) };
    let geometry = Geometry::new(segments_for(n, log2, factor) as u32, log2).unwrap();
    let word = |key: u32| {
        let mut word = keys[key as usize].wrapping_add(seed);
        word = (word ^ word >> 33).wrapping_mul(0xff51_afd7_ed55_8ccd);
        word = (word ^ word >> 33).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
        word ^ word >> 33
    };
    let mut peeler = Peeler::default();
    if !peeler.peel(n as u32, geometry.cells(), |key| geometry.edge(word(key)), |_| {}) {
        return None;
    }
    let words = lines_for(geometry.cells().into(), bits).unwrap();
    let mut cells = Cells::new(vec![0; words as usize], bits);
    for &cell in peeler.peeled() {
        let word = word(peeler.key_of(cell));
        let [second, third] = others(geometry.edge(word), cell);
        let value = (word ^ word >> 32) as u32 ^ cells.xor(0, [second, third]);
        cells.fill(cell, value);
    }
    for key in 0..n as u32 {
        let sum = cells.xor(0, geometry.edge(word(key)));
        let mask = u32::MAX >> (32 - bits);
        assert_eq!(sum, (word(key) ^ word(key) >> 32) as u32 & mask);
    }
    Some((geometry, cells.into_words()))
}

/// CRC-32 (IEEE), bit by bit.
fn crc32(bytes: impl Iterator<Item = u8>) -> u32 {
    !bytes.fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(byte), |crc, _| {
            crc >> 1 ^ if crc & 1 == 1 { 0xedb8_8320 } else { 0 }
        })
    })
}

/// CRC-32 of the arrays that `xor_singleheader` c482686 builds with the first seed of its stream.
#[test]
fn arrays_of_the_published_filter_are_the_same_bit_for_bit() {
    for (n, len, bits, crc) in [
        (100, 192, 8, 0x6f5e_38c2),
        (100, 192, 16, 0x134a_76cd),
        (10_000, 12_800, 8, 0x89a6_9d11),
        (10_000, 12_800, 16, 0xf5a0_9c26),
        (1_000_000, 1_130_496, 8, 0x335f_055d),
    ] {
        let keys: Vec<u64> = (0..n).map(|i: u64| i.wrapping_mul(GOLDEN)).collect();
        let (geometry, words) = published(&keys, 0x6df6_b225_37d2_3467, bits).unwrap();
        assert_eq!(geometry.cells(), len, "{n} keys");
        let bytes = words.iter().flat_map(|word| word.to_le_bytes());
        let bytes = bytes.take((len * bits / 8) as usize);
        assert_eq!(crc32(bytes), crc, "{n} keys, {bits} bits");
    }
}

/// Key count; segment length, segments and array length as published.
const LAYOUTS: [(u64, u64, u64, u64); 11] = [
    (0, 4, 1, 12),
    (1, 4, 1, 12),
    (2, 4, 1, 12),
    (10, 16, 1, 48),
    (100, 64, 1, 192),
    (1_000, 128, 9, 1_408),
    (10_000, 512, 23, 12_800),
    (100_000, 2_048, 56, 118_784),
    (10_000_000, 32_768, 342, 11_272_192),
    (100_000_000, 131_072, 857, 112_590_848),
    (1_000_000_000, 262_144, 4_290, 1_125_122_048),
];

#[test]
fn layouts_are_those_published() {
    for (n, len, segments, array) in LAYOUTS {
        let log2 = segment_log2(n);
        assert_eq!(1 << log2, len, "{n} keys");
        let found = segments_for(n, log2, size_factor(n));
        assert_eq!((found, array_len(found, log2)), (segments, Some(array)), "{n} keys");
    }
}

fn hashes(n: u64) -> Vec<KeyHash> {
    (0..n).map(|id| Seed::default().hash(&id).unwrap()).collect()
}

fn fuse(hashes: &[KeyHash], bits: u32) -> BinaryFuseFilter {
    let builder = BinaryFuseFilter::builder().fingerprint_bits(bits);
    builder.build_from(hashes.iter().copied()).unwrap().filter
}

/// The attempt that succeeded, of each shard.
fn attempts(shards: &Shards) -> Vec<u8> {
    shards.iter().map(|shard| shard.row.attempt).collect()
}

/// Builds filters of these sizes. Every build asks for its keys; here it must also come soon.
fn sweep(sizes: impl Iterator<Item = usize>) {
    let hashes = hashes(20_000);
    let mut needed = [0u32; 64];
    for n in sizes {
        let filter = fuse(&hashes[..n], 8);
        assert_eq!(filter.stats().len, n as u64);
        for attempt in attempts(filter.table()) {
            needed[usize::from(attempt)] += 1;
        }
    }
    let built: u32 = needed.iter().sum();
    assert!(needed[0] > built * 3 / 4 && needed[8..].iter().sum::<u32>() == 0, "{needed:?}");
}

/// Those near 11,500 and 12,340 are where the published layout fails.
#[test]
fn sizes_to_20_000_are_built_within_a_few_attempts() {
    let hard = (11_100..11_600).chain(12_250..12_400);
    sweep((0..1_500).chain(hard).chain((1_500..=20_000).step_by(41)));
}

#[test]
#[ignore = "takes a minute"]
fn every_size_to_20_000_is_built_within_a_few_attempts() {
    sweep(0..=20_000);
}

#[test]
fn shards_are_cut_at_the_last_prefix_that_fits() {
    let of_prefix =
        |prefix: u128, i: u128| KeyHash::from_uniform(&(prefix << 112 | i).to_be_bytes());
    let run = |parts: &[(u128, usize)]| -> Vec<KeyHash> {
        let keys = |&(prefix, n): &(u128, usize)| (0..n as u128).map(move |i| of_prefix(prefix, i));
        parts.iter().flat_map(keys).collect()
    };
    assert_eq!(cut(&[]), None);
    assert_eq!(cut(&run(&[(5, SHARD_KEYS)])), None);
    assert_eq!(cut(&run(&[(5, SHARD_KEYS), (6, 1)])), Some(SHARD_KEYS));
    assert_eq!(cut(&run(&[(5, 10), (6, SHARD_KEYS - 10), (7, 1)])), Some(SHARD_KEYS));
    assert_eq!(cut(&run(&[(5, 10), (6, SHARD_KEYS - 9), (7, 1)])), Some(10));
    // A prefix with more keys than a shard is a shard, once its end is known.
    assert_eq!(cut(&run(&[(5, SHARD_KEYS + 2)])), None);
    assert_eq!(cut(&run(&[(5, SHARD_KEYS + 2), (6, 1)])), Some(SHARD_KEYS + 2));
}

/// A 64-bit word that two keys have in common cannot be resolved under that salt, whatever the
/// layout; the next attempt has another.
#[test]
fn keys_that_share_a_word_are_told_apart_by_the_next_attempt() {
    let salt = super::shards::salt_of(Salt::new(0), 0);
    let mixed = |a, b| KeyHash::unmix(crate::hash::Mixed { a, b }, salt);
    let keys = [mixed(7, 1 << 60), mixed(7, 2 << 60), mixed(7, 3 << 60)];
    let filter = fuse(&keys, 8);
    assert!(keys.iter().all(|&key| filter.contains_hash(key)));
    assert!(attempts(filter.table()).iter().all(|&attempt| attempt > 0));
}

#[test]
fn options_out_of_range_are_refused() {
    let build = |builder: super::FuseBuilder| builder.build_from([]).map(|built| built.filter);
    let builder = BinaryFuseFilter::builder();
    for bits in [0, 3, 33, u32::MAX] {
        let error = build(builder.clone().fingerprint_bits(bits)).unwrap_err();
        assert!(matches!(error, BuildError::Option { found, .. } if found == u64::from(bits)));
    }
    assert!(matches!(build(builder.clone()), Err(BuildError::Option { .. })));
    for rate in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let error = build(builder.clone().false_positive_rate(rate)).unwrap_err();
        assert!(matches!(error, BuildError::FalsePositiveRate { .. }));
    }
    let error = build(builder.clone().false_positive_rate(1e-10)).unwrap_err();
    assert!(matches!(error, BuildError::RateUnreachable { .. }));
    for (rate, bits, found) in
        [(0.9, None, 4), (0.01, None, 7), (0.01, Some(16), 16), (1e-9, None, 30)]
    {
        let mut builder = builder.clone().false_positive_rate(rate);
        if let Some(bits) = bits {
            builder = builder.fingerprint_bits(bits);
        }
        assert_eq!(build(builder).unwrap().fingerprint_bits(), found);
    }
}
