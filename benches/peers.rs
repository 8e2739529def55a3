//! Other crates at equal bits: `cargo bench --bench peers`.
//!
//! A million `u64` keys, hashing included on every side, since each crate brings its own. Bits,
//! load and measured rate are printed: a filter that is faster and wrong more often is another
//! filter.
//!
//! | | bits | probes or fingerprint |
//! |---|---|---|
//! | `fastbloom` | those of our Bloom filter at 1 % | as many as ours |
//! | `cuckoofilter` | 8 a slot, slots a power of two | 8 bits; ours gets the same bytes |
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no result")]

#[expect(unreachable_pub, reason = "shared by several benchmarks")]
mod support;

use std::collections::hash_map::DefaultHasher;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hapax::prelude::*;
use support::{Answers, STRANGERS, key, time};

const KEYS: u64 = 1_000_000;

/// A filled filter, asked by key.
struct Peer<'a> {
    name: &'a str,
    bits: u64,
    contains: &'a dyn Fn(u64) -> bool,
}

fn compare(c: &mut Criterion, group: &str, peers: &[Peer<'_>]) {
    let mut group = c.benchmark_group(group);
    group.throughput(Throughput::Elements(1));
    for Peer { name, bits, contains } in peers {
        assert!((0..KEYS).all(|index| contains(key(index))), "{name} denies a member");
        let found = (0..KEYS).filter(|index| contains(key(STRANGERS * 2 + index))).count();
        let measured = found as f64 / KEYS as f64;
        let bits_per_key = *bits as f64 / KEYS as f64;
        println!("{name}: {bits_per_key:.2} bits per key, measured rate {measured:.5}");
        for (what, start, rate) in [("hit", 0, 1.0), ("miss", STRANGERS, measured)] {
            let (mut next, mut answers) = (0, Answers::default());
            group.bench_function(format!("{name}, {what}"), |b| {
                b.iter_custom(|n| {
                    let input = |index| key(start + if start == 0 { index % KEYS } else { index });
                    time(n, &mut next, input, |&key| answers.add(contains(key)))
                });
            });
            answers.assert_rate(name, rate);
        }
    }
    group.finish();
}

fn bloom(c: &mut Criterion) {
    let mut ours = BloomFilter::builder().capacity(KEYS).false_positive_rate(0.01).build().unwrap();
    let bits = ours.bit_len();
    let mut theirs = fastbloom::BloomFilter::with_num_bits(usize::try_from(bits).unwrap())
        .seed(&0)
        .hashes(ours.num_probes());
    for index in 0..KEYS {
        let _ = ours.insert(&key(index)).unwrap();
        theirs.insert(&key(index));
    }
    let peers = [
        Peer { name: "hapax", bits, contains: &|key| ours.contains(&key).unwrap() },
        Peer {
            name: "fastbloom",
            bits: theirs.num_bits() as u64,
            contains: &|key| theirs.contains(&key),
        },
    ];
    compare(c, "bloom", &peers);
}

fn cuckoo(c: &mut Criterion) {
    // 2¹⁸ buckets of four bytes: a load of 0.954, which is the most that both take.
    let mut theirs = cuckoofilter::CuckooFilter::<DefaultHasher>::with_capacity(1 << 20);
    let byte_len = 1 << 20;
    let mut ours = CuckooFilter::builder()
        .byte_len(byte_len + 64)
        .capacity(990_000)
        .past_capacity(PastCapacity::Degrade)
        .build()
        .unwrap();
    for index in 0..KEYS {
        ours.insert(&key(index)).map(|_| ()).unwrap();
        theirs.add(&key(index)).unwrap();
    }
    println!("{} bits in our fingerprints", ours.fingerprint_bits());
    let peers = [
        Peer {
            name: "hapax",
            bits: ours.stats().bit_len,
            contains: &|key| ours.contains(&key).unwrap(),
        },
        Peer { name: "cuckoofilter", bits: byte_len * 8, contains: &|key| theirs.contains(&key) },
    ];
    compare(c, "cuckoo", &peers);
}

criterion_group!(benches, bloom, cuckoo);
criterion_main!(benches);
