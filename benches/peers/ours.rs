//! The filters of this crate.

use hapax::prelude::*;
use hapax::{Key, KeyHash};

use crate::contest::{Contestant, Mode};
use crate::keys::Burst;

/// A filter given keys in one of their forms.
struct Ours<F, K: 'static> {
    name: &'static str,
    filter: F,
    keys: fn(&Burst) -> &[K],
    uses: Uses<F, K>,
    seen: Vec<Seen>,
    present: Vec<bool>,
}

/// Whole loops, so that what is measured one by one is what a program's own loop would be.
struct Uses<F, K> {
    insert_one_by_one: fn(&mut F, &[K]),
    insert_batch: fn(&mut F, &[K], &mut [Seen]),
    count_one_by_one: fn(&F, &[K]) -> u64,
    contains_batch: fn(&F, &[K], &mut [bool]),
}

impl<F: Insert, K> Contestant for Ours<F, K> {
    fn name(&self) -> String {
        self.name.to_owned()
    }

    fn bits(&self) -> u64 {
        self.filter.stats().bit_len
    }

    fn modes(&self) -> &'static [Mode] {
        &[Mode::Single, Mode::Batch]
    }

    fn insert(&mut self, mode: Mode, keys: &Burst) {
        let keys = (self.keys)(keys);
        match mode {
            Mode::Single => (self.uses.insert_one_by_one)(&mut self.filter, keys),
            Mode::Batch => {
                self.seen.resize(keys.len(), Seen::Maybe);
                (self.uses.insert_batch)(&mut self.filter, keys, &mut self.seen);
            }
        }
    }

    fn count(&mut self, mode: Mode, keys: &Burst) -> u64 {
        let keys = (self.keys)(keys);
        match mode {
            Mode::Single => (self.uses.count_one_by_one)(&self.filter, keys),
            Mode::Batch => {
                self.present.resize(keys.len(), false);
                (self.uses.contains_batch)(&self.filter, keys, &mut self.present);
                self.present.iter().map(|&present| u64::from(present)).sum()
            }
        }
    }
}

fn by_hash<F: Insert + 'static>(name: &'static str, filter: F) -> Box<dyn Contestant> {
    let uses = Uses::<F, KeyHash> {
        insert_one_by_one: |filter, hashes| {
            for &hash in hashes {
                let _ = filter.insert_hash(hash).unwrap();
            }
        },
        insert_batch: |filter, hashes, seen| filter.insert_batch(hashes, seen).unwrap(),
        count_one_by_one: |filter, hashes| {
            hashes.iter().map(|&hash| u64::from(filter.contains_hash(hash))).sum()
        },
        contains_batch: |filter, hashes, present| filter.contains_batch(hashes, present).unwrap(),
    };
    let keys: fn(&Burst) -> &[KeyHash] = |burst| &burst.hashes;
    Box::new(Ours { name, filter, keys, uses, seen: Vec::new(), present: Vec::new() })
}

fn by_key<F: Insert + 'static, K: Key + 'static>(
    name: &'static str,
    filter: F,
    keys: fn(&Burst) -> &[K],
) -> Box<dyn Contestant> {
    let uses = Uses::<F, K> {
        insert_one_by_one: |filter, keys| {
            for key in keys {
                let _ = filter.insert(key).unwrap();
            }
        },
        insert_batch: |filter, keys, seen| filter.insert_keys(keys, seen).unwrap(),
        count_one_by_one: |filter, keys| {
            keys.iter().map(|key| u64::from(filter.contains(key).unwrap())).sum()
        },
        contains_batch: |filter, keys, present| filter.contains_keys(keys, present).unwrap(),
    };
    Box::new(Ours { name, filter, keys, uses, seen: Vec::new(), present: Vec::new() })
}

fn blocked_at(n: u64, rate: f64) -> BlockedBloomFilter {
    BlockedBloomFilter::builder().capacity(n).false_positive_rate(rate).build().unwrap()
}

/// At 0.94 %, as the split-block filter beside it.
pub(crate) fn blocked(n: u64) -> Box<dyn Contestant> {
    by_hash("BlockedBloomFilter", blocked_at(n, 0.0094))
}

pub(crate) fn blocked_by_u64(n: u64) -> Box<dyn Contestant> {
    by_key("BlockedBloomFilter, u64", blocked_at(n, 0.01), |burst| &burst.words)
}

pub(crate) fn blocked_by_bytes(n: u64) -> Box<dyn Contestant> {
    by_key("BlockedBloomFilter, 24 bytes", blocked_at(n, 0.01), |burst| &burst.bytes)
}

/// At 1 %, as fastbloom beside it.
pub(crate) fn bloom(n: u64) -> Box<dyn Contestant> {
    let builder = BloomFilter::builder().capacity(n).false_positive_rate(0.01);
    by_hash("BloomFilter", builder.build().unwrap())
}

/// 16-bit fingerprints, filled to 95 % of the slots.
pub(crate) fn cuckoo(n: u64) -> Box<dyn Contestant> {
    let builder = CuckooFilter::builder().capacity(n).false_positive_rate(0.001);
    by_hash("CuckooFilter, 16 bits", builder.fingerprint_bits(16).build().unwrap())
}
