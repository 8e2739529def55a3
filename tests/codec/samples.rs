//! One small filter of every kind and shape, made without chance: the golden files are these.
//!
//! How a builder sizes a filter may change from release to release; what a filter of a given shape
//! does with its keys may not. So a sample takes its shape from the golden file, emptied.

use std::fs;
use std::path::{Path, PathBuf};

use hapax::Words;
use hapax::codec::{Artefact, Decode, Encode, Provenance};
use hapax::prelude::*;
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::{Digest, Salt, SecretKey};
use sha1::{Digest as _, Sha1};

use crate::doors::{self, Doors};
use crate::reseal::{emptied, put, rebuilt};

/// A file and how to ask it.
pub(crate) struct Sample {
    pub(crate) name: &'static str,
    pub(crate) doors: Doors,
    pub(crate) make: fn() -> Vec<u8>,
    pub(crate) hash: fn(u32) -> KeyHash,
    /// How many of the keys 0, 1, 2, ... must be answered *maybe*.
    pub(crate) members: u32,
}

pub(crate) const SAMPLES: [Sample; 26] = [
    Sample { name: "bloom", doors: doors::BLOOM, make: bloom, hash: xxh3, members: 40 },
    Sample { name: "bloom-empty", doors: doors::ANY, make: empty, hash: xxh3, members: 0 },
    Sample { name: "bloom-sha1", doors: doors::ANY, make: uniform, hash: sha1, members: 50 },
    Sample {
        name: "counting-4",
        doors: doors::COUNTING,
        make: counting_4,
        hash: xxh3,
        members: 20,
    },
    Sample { name: "counting-8", doors: doors::ANY, make: counting_8, hash: xxh3_42, members: 30 },
    Sample { name: "cuckoo-8", doors: doors::CUCKOO, make: cuckoo_8, hash: xxh3, members: 60 },
    Sample { name: "cuckoo-13", doors: doors::ANY, make: cuckoo_13, hash: xxh3, members: 50 },
    Sample { name: "cuckoo-32", doors: doors::ANY, make: cuckoo_32, hash: xxh3, members: 30 },
    Sample { name: "cuckoo-keyed", doors: doors::CUCKOO, make: keyed, hash: siphash, members: 40 },
    Sample { name: "word", doors: doors::WORD, make: word, hash: xxh3, members: 40 },
    Sample { name: "word-low", doors: doors::ANY, make: word_low, hash: xxh3_42, members: 25 },
    Sample { name: "retiring", doors: doors::RETIRING, make: retiring, hash: xxh3, members: 0 },
    Sample { name: "retiring-16", doors: doors::ANY, make: retiring_16, hash: xxh3, members: 0 },
    Sample {
        name: "retiring-64",
        doors: doors::RETIRING,
        make: retiring_64,
        hash: xxh3_42,
        members: 30,
    },
    Sample { name: "blocked", doors: doors::BLOCKED, make: blocked, hash: xxh3, members: 50 },
    Sample {
        name: "blocked-low",
        doors: doors::ANY,
        make: blocked_low,
        hash: xxh3_42,
        members: 40,
    },
    Sample {
        name: "blocked-lowest",
        doors: doors::ANY,
        make: blocked_lowest,
        hash: xxh3,
        members: 40,
    },
    Sample { name: "fuse-8", doors: doors::FUSE, make: fuse_8, hash: xxh3, members: 60 },
    Sample { name: "fuse-13", doors: doors::ANY, make: fuse_13, hash: sha1, members: 90 },
    Sample { name: "fuse-shards", doors: doors::FUSE, make: fuse_shards, hash: xxh3, members: 200 },
    Sample { name: "fuse-empty", doors: doors::ANY, make: fuse_empty, hash: xxh3, members: 0 },
    Sample { name: "window-bloom", doors: doors::WINDOW, make: window, hash: xxh3, members: 0 },
    Sample {
        name: "window-counting",
        doors: doors::WINDOW,
        make: window_counting,
        hash: xxh3,
        members: 25,
    },
    Sample { name: "replay-cuckoo", doors: doors::REPLAY, make: replay, hash: xxh3, members: 0 },
    Sample {
        name: "replay-whole",
        doors: doors::REPLAY_WHOLE,
        make: replay_whole,
        hash: xxh3,
        members: 40,
    },
    Sample {
        name: "replay-retiring",
        doors: doors::REPLAY_WHOLE,
        make: replay_retiring,
        hash: xxh3,
        members: 0,
    },
];

/// The sample of that name.
pub(crate) fn sample(name: &str) -> &'static Sample {
    SAMPLES.iter().find(|sample| sample.name == name).unwrap()
}

/// Where the files of version 1 are.
pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/v1")
}

/// Whether new golden files are to be written, of shapes as builders make them now.
pub(crate) fn writes_golden() -> bool {
    std::env::var_os("HAPAX_WRITE_GOLDEN").is_some()
}

/// The filter in the golden file of that name without its keys, or a new one for a new file.
fn vacant<F: Decode<Words>>(name: &str, new: impl FnOnce() -> F) -> F {
    match fs::read(folder().join(name).with_extension("hapax")) {
        Ok(file) if !writes_golden() => Artefact::from_bytes(&emptied(&file)).unwrap().filter,
        _ => new(),
    }
}

/// The text of key `index`.
pub(crate) fn key(index: u32) -> String {
    format!("key {index}")
}

pub(crate) const SECRET: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];

fn xxh3(index: u32) -> KeyHash {
    Seed::new(0).hash(&key(index)).unwrap()
}

fn xxh3_42(index: u32) -> KeyHash {
    Seed::new(42).hash(&key(index)).unwrap()
}

fn siphash(index: u32) -> KeyHash {
    Seed::secret(SecretKey::new(SECRET)).hash(&key(index)).unwrap()
}

fn sha1(index: u32) -> KeyHash {
    let digest = Sha1::digest(key(index));
    KeyHash::from_uniform(digest.first_chunk().unwrap())
}

/// Inserts the keys of a range, each once.
pub(crate) fn fill(filter: &mut impl Insert, hash: fn(u32) -> KeyHash, keys: std::ops::Range<u32>) {
    for index in keys {
        let _ = filter.insert_unique_hash(hash(index)).unwrap();
    }
}

/// A file without provenance.
pub(crate) fn file(filter: impl Encode) -> Vec<u8> {
    Artefact { filter, provenance: Provenance::default() }.to_bytes()
}

fn bloom() -> Vec<u8> {
    let builder = BloomFilter::builder().capacity(40).false_positive_rate(0.02);
    let mut filter = vacant("bloom", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..40);
    file(filter)
}

fn empty() -> Vec<u8> {
    let builder = BloomFilter::builder().capacity(5).false_positive_rate(0.1);
    file(vacant("bloom-empty", || builder.build().unwrap()))
}

/// Part of one round.
fn blocked() -> Vec<u8> {
    let builder = BlockedBloomFilter::builder().capacity(50).false_positive_rate(0.02);
    let mut filter = vacant("blocked", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..50);
    file(filter)
}

/// One round and part of another.
fn blocked_low() -> Vec<u8> {
    let builder = BlockedBloomFilter::builder().capacity(40).false_positive_rate(1e-4);
    let builder = builder.salt(Salt::new(3)).seed(Seed::new(42));
    let mut filter = vacant("blocked-low", || builder.build().unwrap());
    fill(&mut filter, xxh3_42, 0..40);
    file(filter)
}

/// Two rounds and part of a third.
fn blocked_lowest() -> Vec<u8> {
    let builder = BlockedBloomFilter::builder().byte_len(64 * 4).capacity(40);
    let mut filter = vacant("blocked-lowest", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..40);
    file(filter)
}

fn uniform() -> Vec<u8> {
    let builder = BloomFilter::builder().capacity(50).false_positive_rate(0.01);
    let builder = builder.seed(Seed::uniform(Digest::Sha1));
    let mut filter = vacant("bloom-sha1", || builder.build().unwrap());
    let mut set_digest = 0u128;
    for hash in (0..50).map(sha1) {
        let _ = filter.insert_hash(hash).unwrap();
        set_digest = set_digest.wrapping_add(u128::from_be_bytes(hash.to_bytes()));
    }
    let provenance = Provenance {
        name: "Fifty keys".into(),
        source: "tests/codec/samples.rs".into(),
        date: "2026-01-31".into(),
        tool: "hapax – test".into(),
        min_count: 2,
        rows_read: 60,
        rows_added: 50,
        rows_duplicate: 7,
        rows_skipped: 3,
        set_digest,
    };
    Artefact { filter, provenance }.to_bytes()
}

fn counting_4() -> Vec<u8> {
    let builder = CountingBloomFilter::builder().capacity(60).false_positive_rate(0.05);
    let builder = builder.salt(Salt::new(7));
    let mut filter = vacant("counting-4", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..30);
    // Two keys fill their counters, and ten keys are taken out again.
    for index in [3, 4].repeat(15) {
        let _ = filter.insert_hash(xxh3(index)).unwrap();
    }
    for index in 20..30 {
        let _ = filter.remove_hash(xxh3(index));
    }
    file(filter)
}

fn counting_8() -> Vec<u8> {
    let builder = CountingBloomFilter::builder().capacity(25).false_positive_rate(0.03);
    let builder = builder.counter_bits(8).seed(Seed::new(42)).salt(Salt::new(u64::MAX));
    let builder = builder.past_capacity(PastCapacity::Degrade);
    let mut filter = vacant("counting-8", || builder.build().unwrap());
    fill(&mut filter, xxh3_42, 0..30);
    for _ in 0..100 {
        let _ = filter.insert_hash(xxh3_42(9)).unwrap();
    }
    file(filter)
}

fn cuckoo_of(name: &str, bits: u32, buckets: u64, salt: u64, keys: u32) -> CuckooFilter {
    let builder = CuckooFilter::builder().capacity(keys.into()).false_positive_rate(0.5);
    let builder = builder.fingerprint_bits(bits).salt(Salt::new(salt));
    let mut filter = vacant(name, || with_buckets(builder.build().unwrap(), buckets));
    fill(&mut filter, xxh3, 0..keys);
    filter
}

/// The same filter with another number of buckets: builders make an even one.
fn with_buckets(filter: CuckooFilter, buckets: u64) -> CuckooFilter {
    let bits = u64::from(filter.fingerprint_bits());
    let file = rebuilt(&file(filter), |parts| {
        put(&mut parts[0].bytes, 40, &buckets.to_le_bytes());
        parts[1].bytes = vec![0; 8 * ((4 * bits * buckets).div_ceil(64) as usize + 2)];
    });
    Artefact::from_bytes(&file).unwrap().filter
}

fn cuckoo_8() -> Vec<u8> {
    file(cuckoo_of("cuckoo-8", 8, 18, 0, 60))
}

fn cuckoo_13() -> Vec<u8> {
    let mut filter = cuckoo_of("cuckoo-13", 13, 17, 99, 55);
    for index in 50..55 {
        let _ = filter.remove_hash(xxh3(index));
    }
    file(filter)
}

fn cuckoo_32() -> Vec<u8> {
    file(cuckoo_of("cuckoo-32", 32, 9, 1 << 63, 30))
}

fn keyed() -> Vec<u8> {
    let builder = CuckooFilter::builder().capacity(40).false_positive_rate(0.01);
    let builder = builder.seed(Seed::secret(SecretKey::new(SECRET)));
    let mut filter = vacant("cuckoo-keyed", || builder.build().unwrap());
    fill(&mut filter, siphash, 0..40);
    file(filter)
}

fn word() -> Vec<u8> {
    let builder = WordBloomFilter::builder().capacity(40).false_positive_rate(0.02);
    let mut filter = vacant("word", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..40);
    file(filter)
}

fn word_low() -> Vec<u8> {
    let builder = WordBloomFilter::builder().byte_len(176).capacity(20);
    let builder = builder.seed(Seed::new(42)).salt(Salt::new(1 << 40));
    let builder = builder.past_capacity(PastCapacity::Degrade);
    let mut filter = vacant("word-low", || builder.build().unwrap());
    fill(&mut filter, xxh3_42, 0..25);
    file(filter)
}

fn fuse(bits: u32, salt: u64, keys: impl Iterator<Item = KeyHash>) -> BinaryFuseFilter {
    let builder = BinaryFuseFilter::builder().fingerprint_bits(bits).salt(Salt::new(salt));
    builder.build_from(keys).unwrap().filter
}

fn fuse_8() -> Vec<u8> {
    file(fuse(8, 0, (0..60).map(xxh3)))
}

fn fuse_13() -> Vec<u8> {
    let builder = BinaryFuseFilter::builder().false_positive_rate(2e-4).salt(Salt::new(u64::MAX));
    let builder = builder.seed(Seed::uniform(Digest::Sha1));
    file(builder.build_from((0..90).map(sha1)).unwrap().filter)
}

/// A builder makes several shards of half a million keys and more. Here is one shard of the keys
/// that start below 0x5000, and one of the others.
fn fuse_shards() -> Vec<u8> {
    let start: u16 = 0x5000;
    let keys = |low: bool| (0..200).map(xxh3).filter(move |key| (key.hi() >> 48 < 0x5000) == low);
    let (low, high) = (fuse(11, 3, keys(true)), fuse(11, 3, keys(false)));
    let high = crate::reseal::parts(&file(high));
    rebuilt(&file(low), |parts| {
        for part in [1, 2] {
            parts[part].bytes.extend_from_slice(&high[part].bytes);
        }
        put(&mut parts[2].bytes, 16 + 8, &start.to_le_bytes());
        // As many keys as both have, and a capacity of as many.
        put(&mut parts[0].bytes, 24, &200u64.to_le_bytes());
        put(&mut parts[0].bytes, 32, &200u64.to_le_bytes());
    })
}

fn fuse_empty() -> Vec<u8> {
    file(fuse(16, 0, std::iter::empty()))
}

/// Of 70 keys the window remembers the last 20 at least.
fn window() -> Vec<u8> {
    let builder = BloomFilter::builder().capacity(20).false_positive_rate(0.05);
    let builder = builder.salt(Salt::new(5));
    let mut window = vacant("window-bloom", || GenerationWindow::new(&builder).unwrap());
    fill(&mut window, xxh3, 0..70);
    file(window)
}

fn window_counting() -> Vec<u8> {
    let builder = CountingBloomFilter::builder().capacity(25).false_positive_rate(0.05);
    let mut window = vacant("window-counting", || GenerationWindow::new(&builder).unwrap());
    fill(&mut window, xxh3, 0..25);
    file(window)
}

fn replay() -> Vec<u8> {
    let builder = CuckooFilter::builder().capacity(20).false_positive_rate(0.01);
    let mut filter =
        vacant("replay-cuckoo", || ReplayFilter::new(GenerationWindow::new(&builder).unwrap()));
    for index in (0..55).chain(50..60) {
        let _ = filter.admit(&key(index)).unwrap();
    }
    file(filter)
}

fn replay_whole() -> Vec<u8> {
    let builder = BloomFilter::builder().capacity(50).false_positive_rate(0.01);
    let mut filter = vacant("replay-whole", || ReplayFilter::new(builder.build().unwrap()));
    for index in (0..40).chain(35..38) {
        let _ = filter.admit(&key(index)).unwrap();
    }
    file(filter)
}

/// A window by count whose tags have come round, with expired slots in it and a sweep under way.
fn retiring() -> Vec<u8> {
    let builder = RetiringCuckooFilter::builder().window(60, 15).false_positive_rate(0.001);
    let mut filter = vacant("retiring", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..203);
    file(filter)
}

/// Epochs by call, the first one retired, and a hit that counts as a sighting.
fn retiring_16() -> Vec<u8> {
    let builder = RetiringCuckooFilter::builder().capacity(60).false_positive_rate(0.5);
    let builder = builder.epochs(7).fingerprint_bits(13).refresh_on_hit().salt(Salt::new(99));
    let mut filter = vacant("retiring-16", || builder.build().unwrap());
    fill(&mut filter, xxh3, 0..20);
    filter.advance_epoch();
    fill(&mut filter, xxh3, 20..40);
    filter.advance_epoch();
    fill(&mut filter, xxh3, 35..40);
    filter.retire_through(0);
    file(filter)
}

fn retiring_64() -> Vec<u8> {
    let builder = RetiringCuckooFilter::builder().capacity(25).false_positive_rate(0.5);
    let builder = builder.fingerprint_bits(60).seed(Seed::new(42));
    let builder = builder.past_capacity(PastCapacity::Degrade);
    let mut filter = vacant("retiring-64", || builder.build().unwrap());
    fill(&mut filter, xxh3_42, 0..30);
    file(filter)
}

fn replay_retiring() -> Vec<u8> {
    let builder = RetiringCuckooFilter::builder().window(30, 3).false_positive_rate(0.01);
    let mut filter = vacant("replay-retiring", || ReplayFilter::new(builder.build().unwrap()));
    for index in (0..100).chain(80..90) {
        let _ = filter.admit(&key(index)).unwrap();
    }
    file(filter)
}
