//! Other crates, as their documentation says to use them.

use std::collections::hash_map::DefaultHasher;
use std::hash::BuildHasher;

use crate::contest::{Contestant, Mode};
use crate::keys::Burst;

/// `fastbloom` at the bits and probes of a filter of 1 %.
pub(crate) struct Fastbloom<S> {
    name: &'static str,
    filter: fastbloom::BloomFilter<S>,
    insert: fn(&mut fastbloom::BloomFilter<S>, &Burst),
    count: fn(&fastbloom::BloomFilter<S>, &Burst) -> u64,
}

fn fastbloom_bits(n: u64) -> usize {
    let plan = hapax::BloomFilter::builder().capacity(n).false_positive_rate(0.01).plan();
    usize::try_from(plan.unwrap().bit_len).unwrap()
}

fn insert_words<S: BuildHasher>(filter: &mut fastbloom::BloomFilter<S>, keys: &Burst) {
    for key in &keys.words {
        filter.insert(key);
    }
}

fn count_words<S: BuildHasher>(filter: &fastbloom::BloomFilter<S>, keys: &Burst) -> u64 {
    keys.words.iter().map(|key| u64::from(filter.contains(key))).sum()
}

fn insert_bytes<S: BuildHasher>(filter: &mut fastbloom::BloomFilter<S>, keys: &Burst) {
    for key in &keys.bytes {
        filter.insert(key);
    }
}

fn count_bytes<S: BuildHasher>(filter: &fastbloom::BloomFilter<S>, keys: &Burst) -> u64 {
    keys.bytes.iter().map(|key| u64::from(filter.contains(key))).sum()
}

type SipHash = fastbloom::DefaultHasher;
type FoldHash = foldhash::fast::FixedState;

fn siphash(n: u64) -> fastbloom::BloomFilter<SipHash> {
    fastbloom::BloomFilter::with_num_bits(fastbloom_bits(n)).seed(&0).hashes(7)
}

fn foldhash(n: u64) -> fastbloom::BloomFilter<FoldHash> {
    fastbloom::BloomFilter::with_num_bits(fastbloom_bits(n)).hasher(FoldHash::default()).hashes(7)
}

impl Fastbloom<SipHash> {
    pub(crate) fn ready(n: u64) -> Self {
        Self {
            name: "fastbloom, ready hash",
            filter: siphash(n),
            insert: |filter, keys| {
                for hash in &keys.words {
                    filter.insert_hash(*hash);
                }
            },
            count: |filter, keys| {
                keys.words.iter().map(|hash| u64::from(filter.contains_hash(*hash))).sum()
            },
        }
    }

    pub(crate) fn siphash(n: u64) -> Self {
        let name = "fastbloom, SipHash, u64";
        Self { name, filter: siphash(n), insert: insert_words, count: count_words }
    }

    pub(crate) fn siphash_of_bytes(n: u64) -> Self {
        let name = "fastbloom, SipHash, 24 bytes";
        Self { name, filter: siphash(n), insert: insert_bytes, count: count_bytes }
    }
}

impl Fastbloom<FoldHash> {
    pub(crate) fn foldhash(n: u64) -> Self {
        let name = "fastbloom, foldhash, u64";
        Self { name, filter: foldhash(n), insert: insert_words, count: count_words }
    }

    pub(crate) fn foldhash_of_bytes(n: u64) -> Self {
        let name = "fastbloom, foldhash, 24 bytes";
        Self { name, filter: foldhash(n), insert: insert_bytes, count: count_bytes }
    }
}

impl<S: BuildHasher> Contestant for Fastbloom<S> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn bits(&self) -> u64 {
        self.filter.as_slice().len() as u64 * 64
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        (self.insert)(&mut self.filter, keys);
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        (self.count)(&self.filter, keys)
    }
}

/// `sbbf-rs-safe` at the bits that 0.94 % takes.
pub(crate) struct Sbbf(sbbf_rs_safe::Filter);

impl Sbbf {
    pub(crate) fn new(n: u64) -> Self {
        // The crate takes whole bits per key; of one key it takes any number.
        Self(sbbf_rs_safe::Filter::new((n as f64 * 10.67) as usize, 1))
    }
}

impl Contestant for Sbbf {
    fn name(&self) -> String {
        "sbbf-rs-safe, ready hash".to_owned()
    }

    fn bits(&self) -> u64 {
        self.0.as_bytes().len() as u64 * 8
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        for hash in &keys.words {
            self.0.insert_hash(*hash);
        }
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        keys.words.iter().map(|hash| u64::from(self.0.contains_hash(*hash))).sum()
    }
}

/// `xorf`'s binary fuse filter of 16 bits; it is built at the end, and the time is not shown.
pub(crate) struct Fuse {
    keys: Vec<u64>,
    filter: Option<xorf::BinaryFuse16>,
}

impl Fuse {
    pub(crate) fn new(_: u64) -> Self {
        Self { keys: Vec::new(), filter: None }
    }
}

impl Contestant for Fuse {
    fn name(&self) -> String {
        "xorf BinaryFuse16".to_owned()
    }

    fn bits(&self) -> u64 {
        self.filter.as_ref().map_or(0, |filter| filter.fingerprints.len() as u64 * 16)
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        self.keys.extend_from_slice(&keys.words);
    }

    fn finish(&mut self) {
        self.filter = Some(xorf::BinaryFuse16::try_from(std::mem::take(&mut self.keys)).unwrap());
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        use xorf::Filter;
        let Some(filter) = &self.filter else { return 0 };
        keys.words.iter().map(|key| u64::from(filter.contains(key))).sum()
    }
}

/// `qfilter` at 1 %.
pub(crate) struct Quotient(qfilter::Filter);

impl Quotient {
    pub(crate) fn new(n: u64) -> Self {
        Self(qfilter::Filter::new(n, 0.01).unwrap())
    }
}

impl Contestant for Quotient {
    fn name(&self) -> String {
        "qfilter, ready hash".to_owned()
    }

    fn bits(&self) -> u64 {
        self.0.memory_usage() as u64 * 8
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        for hash in &keys.words {
            self.0.insert_fingerprint(false, *hash).unwrap();
        }
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        keys.words.iter().map(|hash| u64::from(self.0.contains_fingerprint(*hash))).sum()
    }
}

/// `cuckoofilter`: fingerprints of 8 bits, a power of two of buckets, `SipHash`.
pub(crate) struct Cuckoo {
    filter: cuckoofilter::CuckooFilter<DefaultHasher>,
    lost: u64,
}

impl Cuckoo {
    pub(crate) fn new(n: u64) -> Self {
        let capacity = usize::try_from(n * 21 / 20).unwrap();
        Self { filter: cuckoofilter::CuckooFilter::with_capacity(capacity), lost: 0 }
    }
}

impl Contestant for Cuckoo {
    fn name(&self) -> String {
        "cuckoofilter, u64".to_owned()
    }

    fn bits(&self) -> u64 {
        self.filter.memory_usage() as u64 * 8
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        for key in &keys.words {
            self.lost += u64::from(self.filter.add(key).is_err());
        }
    }

    fn finish(&mut self) {
        assert_eq!(self.lost, 0, "cuckoofilter was full");
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        keys.words.iter().map(|key| u64::from(self.filter.contains(key))).sum()
    }
}

/// `hashbrown` with its own hasher: exact.
pub(crate) struct HashSet(hashbrown::HashSet<u64>);

impl HashSet {
    pub(crate) fn new(n: u64) -> Self {
        Self(hashbrown::HashSet::with_capacity(usize::try_from(n).unwrap()))
    }
}

impl Contestant for HashSet {
    fn name(&self) -> String {
        "hashbrown HashSet, u64".to_owned()
    }

    fn bits(&self) -> u64 {
        self.0.allocation_size() as u64 * 8
    }

    fn insert(&mut self, _: Mode, keys: &Burst) {
        for key in &keys.words {
            self.0.insert(*key);
        }
    }

    fn count(&mut self, _: Mode, keys: &Burst) -> u64 {
        keys.words.iter().map(|key| u64::from(self.0.contains(key))).sum()
    }
}
