//! Insert and contains of each filter: `cargo bench --bench filters`.
//!
//! A million keys at 1 %. Hashing is measured apart and not part of the rest. Answers are checked;
//! bits per key and the measured rate are printed beside the times.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot be set up has no result")]

#[expect(unreachable_pub, reason = "shared by several benchmarks")]
mod support;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use hapax::filter::{Buildable, Builder};
use hapax::{BloomFilter, CountingBloomFilter, CuckooFilter, Insert, KeyHash, Membership, Seed};
use support::{Answers, STRANGERS, key, time};

const KEYS: u64 = 1_000_000;
const RATE: f64 = 0.01;

fn hash(index: u64) -> KeyHash {
    Seed::default().hash(&key(index)).unwrap()
}

/// What every other benchmark leaves out.
fn hashing(c: &mut Criterion) {
    let mut group = c.benchmark_group("hash");
    group.throughput(Throughput::Elements(1));
    let mut next = 0;
    let seed = Seed::default();
    group.bench_function("u64", |b| {
        b.iter_custom(|n| {
            time(n, &mut next, key, |key| {
                std::hint::black_box(seed.hash(key).unwrap());
            })
        });
    });
    group.finish();
}

fn filter<F: Buildable + Insert>(c: &mut Criterion, name: &str, builder: &Builder<F>) {
    let builder = builder.clone().capacity(KEYS).false_positive_rate(RATE);
    let mut filter = builder.build().unwrap();
    for index in 0..KEYS {
        let _ = filter.insert_hash(hash(index)).unwrap();
    }
    let false_positives =
        (0..KEYS).filter(|i| filter.contains_hash(hash(STRANGERS * 2 + i))).count();
    let measured = false_positives as f64 / KEYS as f64;
    let bits_per_key = filter.stats().bits_per_key();
    println!("{name}: {bits_per_key:.2} bits per key, measured rate {measured:.5}");

    let mut group = c.benchmark_group(name);
    group.throughput(Throughput::Elements(1));
    contains(&mut group, "contains, hit", &filter, |i| hash(i % KEYS), 1.0);
    contains(&mut group, "contains, miss", &filter, |i| hash(STRANGERS + i), measured);
    let mixed = |i| if i % 2 == 0 { hash(i % KEYS) } else { hash(STRANGERS + i) };
    contains(&mut group, "contains, mixed", &filter, mixed, f64::midpoint(1.0, measured));

    let mut next = 0;
    let mut filling = builder.build().unwrap();
    group.bench_function("insert", |b| {
        b.iter_custom(|n| {
            time(n, &mut next, hash, |&hash| {
                if filling.insert_hash(hash).is_err() {
                    // Full once in a million: a new filter, and its page faults, are part of it.
                    filling = builder.build().unwrap();
                    let _ = filling.insert_hash(hash).unwrap();
                }
            })
        });
    });
    group.finish();
}

fn contains(
    group: &mut criterion::BenchmarkGroup<'_, criterion::measurement::WallTime>,
    name: &str,
    filter: &impl Membership,
    input: impl Fn(u64) -> KeyHash,
    rate: f64,
) {
    let (mut next, mut answers) = (0, Answers::default());
    group.bench_function(name, |b| {
        b.iter_custom(|n| {
            time(n, &mut next, &input, |&hash| answers.add(filter.contains_hash(hash)))
        });
    });
    answers.assert_rate(name, rate);
}

fn filters(c: &mut Criterion) {
    hashing(c);
    filter(c, "bloom", &BloomFilter::builder());
    filter(c, "counting", &CountingBloomFilter::builder());
    filter(c, "cuckoo", &CuckooFilter::builder());
}

criterion_group!(benches, filters);
criterion_main!(benches);
