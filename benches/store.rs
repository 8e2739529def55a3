//! Why the bit store indexes words in its hot loops: `cargo bench --bench store`.
//!
//! `bitvec`'s `BitSlice::get` against the same positions by word and shift, in an array that fits
//! the second-level cache and in one that does not. Seven bits a key are read as a Bloom filter
//! reads them: until one is clear.

#[expect(unreachable_pub, reason = "shared by several benchmarks")]
mod support;

use bitvec::order::Lsb0;
use bitvec::slice::BitSlice;
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use support::{Answers, STRANGERS, key, time};

const PROBES: usize = 7;

/// Positions of key `index`, made of other keys than the words are. Not timed.
fn positions(index: u64, bits: u64) -> [u64; PROBES] {
    std::array::from_fn(|probe| key(STRANGERS + index * PROBES as u64 + probe as u64) % bits)
}

fn by_word(words: &[u64], position: u64) -> bool {
    let word = words.get((position / 64) as usize).copied().unwrap_or(0);
    word >> (position % 64) & 1 == 1
}

fn by_bitvec(words: &[u64], position: u64) -> bool {
    BitSlice::<u64, Lsb0>::from_slice(words).get(position as usize).is_some_and(|bit| *bit)
}

fn store(c: &mut Criterion) {
    for (name, bits) in [("128 KiB", 1u64 << 20), ("64 MiB", 1 << 29)] {
        // Half of the bits are set, as in a full Bloom filter.
        let words: Vec<u64> = (0..bits / 64).map(key).collect();
        let mut group = c.benchmark_group(format!("seven bits of {name}"));
        group.throughput(Throughput::Elements(1));
        for (how, get) in [("words", by_word as fn(&[u64], u64) -> bool), ("bitvec", by_bitvec)] {
            let (mut next, mut answers) = (0, Answers::default());
            group.bench_function(how, |b| {
                b.iter_custom(|n| {
                    time(
                        n,
                        &mut next,
                        |index| positions(index, bits),
                        |positions| answers.add(positions.iter().all(|&at| get(&words, at))),
                    )
                });
            });
            answers.assert_rate(how, 0.5f64.powi(7));
        }
        group.finish();
    }
}

criterion_group!(benches, store);
criterion_main!(benches);
