//! What the tests share: the kinds of window, one way to ask, and a seeded source of chance.

use hapax::codec::{Decode, Encode};
use hapax::filter::{Buildable, Builder};
use hapax::replay::{GenerationWindow, ReplayFilter};
use hapax::{BloomFilter, CountingBloomFilter, CuckooFilter, Insert, Restart, Seen, Words};

/// Filters that a window can be made of, and saved.
pub trait Generation: Buildable + Restart + Encode + Decode<Words> + Clone {}

impl<F: Buildable + Restart + Encode + Decode<Words> + Clone> Generation for F {}

pub type Windowed<F> = ReplayFilter<GenerationWindow<F>>;

pub fn bloom(capacity: u64, rate: f64) -> Builder<BloomFilter> {
    BloomFilter::builder().capacity(capacity).false_positive_rate(rate)
}

pub fn counting(capacity: u64, rate: f64) -> Builder<CountingBloomFilter> {
    CountingBloomFilter::builder().capacity(capacity).false_positive_rate(rate)
}

pub fn cuckoo(capacity: u64, rate: f64) -> Builder<CuckooFilter> {
    CuckooFilter::builder().capacity(capacity).false_positive_rate(rate)
}

pub fn windowed<F: Generation>(builder: &Builder<F>) -> Windowed<F> {
    ReplayFilter::new(GenerationWindow::new(builder).unwrap())
}

/// Judges a tuple: whether it is passed on.
pub fn passes<W: Insert>(filter: &mut ReplayFilter<W>, id: u64) -> bool {
    filter.admit(&id).unwrap() == Seen::Never
}

/// Judges new tuples, from `next` on, until `passed` have been passed on in all; gives those that
/// were in this call.
pub fn fill<W: Insert>(filter: &mut ReplayFilter<W>, next: &mut u64, passed: u64) -> Vec<u64> {
    let mut ids = Vec::new();
    while filter.counts().passed < passed {
        if passes(filter, *next) {
            ids.push(*next);
        }
        *next += 1;
    }
    ids
}

/// Ids that no test inserts.
pub fn strangers(number: u64) -> impl Iterator<Item = u64> {
    (1 << 60..).take(number as usize)
}
