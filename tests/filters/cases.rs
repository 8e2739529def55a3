//! The filters that the laws run on: every kind, several parameter sets.

use hapax::filter::{Buildable, Builder};
use hapax::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, PastCapacity,
    RetiringCuckooFilter, Salt, Seed, SharedBloomFilter, WordBloomFilter,
};

use crate::support::{Oracle, Subject};

/// A way to build one filter.
pub struct Case<F> {
    pub name: String,
    pub capacity: u64,
    builder: Box<dyn Fn(PastCapacity) -> F>,
}

impl<F> Case<F> {
    /// An empty filter that refuses past its capacity.
    pub fn empty(&self) -> F {
        (self.builder)(PastCapacity::Refuse)
    }

    pub fn empty_with(&self, past_capacity: PastCapacity) -> F {
        (self.builder)(past_capacity)
    }
}

fn case<F: Buildable + Subject + 'static>(name: &str, builder: Builder<F>) -> Case<F> {
    let plan = builder.plan().unwrap();
    Case {
        name: format!("{name} {plan:?}"),
        capacity: plan.capacity,
        builder: Box::new(move |policy| builder.clone().past_capacity(policy).build().unwrap()),
    }
}

pub fn oracle() -> Vec<Case<Oracle>> {
    let case = |capacity| Case {
        name: format!("oracle of {capacity}"),
        capacity,
        builder: Box::new(move |policy| Oracle::new(capacity, policy)),
    };
    vec![case(1), case(10), case(500)]
}

pub fn bloom() -> Vec<Case<BloomFilter>> {
    let sized = |keys, rate| BloomFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("one probe", sized(300, 0.6)),
        case("small", sized(500, 0.1).salt(Salt::new(7))),
        case("other seed", sized(500, 0.001).seed(Seed::new(1 << 63))),
        case("low rate", sized(2_000, 2f64.powi(-16))),
        case("by bytes", BloomFilter::builder().byte_len(1_000).false_positive_rate(0.02)),
    ]
}

pub fn counting() -> Vec<Case<CountingBloomFilter>> {
    let sized =
        |keys, rate| CountingBloomFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("8 bits", sized(500, 0.1).counter_bits(8)),
        case("other salt", sized(500, 0.001).salt(Salt::new(7))),
        case("low rate", sized(1_000, 2f64.powi(-16))),
        case("by bytes", CountingBloomFilter::builder().byte_len(1_000).capacity(200)),
    ]
}

pub fn cuckoo() -> Vec<Case<CuckooFilter>> {
    let sized = |keys, rate| CuckooFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("4 bits", sized(400, 0.9).fingerprint_bits(4).salt(Salt::new(7))),
        case("odd width", sized(500, 0.002)),
        case("16 bits", sized(1_000, 0.1).fingerprint_bits(16)),
        case("32 bits", sized(2_000, 0.5).fingerprint_bits(32)),
        case("by bytes", CuckooFilter::builder().byte_len(1_000).false_positive_rate(0.02)),
    ]
}

pub fn blocked() -> Vec<Case<BlockedBloomFilter>> {
    let sized = |keys, rate| BlockedBloomFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("one probe", sized(3_000, 0.6)),
        case("part of a round", sized(500, 0.1).salt(Salt::new(7))),
        case("one round", BlockedBloomFilter::builder().byte_len(640).capacity(420)),
        case("two rounds", sized(1_000, 2f64.powi(-16))),
        case("low rate", sized(1_000, 2f64.powi(-20))),
        case("by bytes", BlockedBloomFilter::builder().byte_len(1_000).false_positive_rate(0.02)),
    ]
}

pub fn word() -> Vec<Case<WordBloomFilter>> {
    let sized = |keys, rate| WordBloomFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("one bit", sized(3_000, 0.6)),
        case("small", sized(500, 0.1).salt(Salt::new(7))),
        case("other seed", sized(500, 0.001).seed(Seed::new(1 << 63))),
        case("low rate", sized(1_000, 2f64.powi(-16))),
        case("by bytes", WordBloomFilter::builder().byte_len(1_000).false_positive_rate(0.02)),
    ]
}

pub fn retiring() -> Vec<Case<RetiringCuckooFilter>> {
    let builder = RetiringCuckooFilter::builder;
    let sized = |keys, rate| builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("shortest", sized(400, 0.9).salt(Salt::new(7))),
        case("17 bits", sized(500, 0.001).seed(Seed::new(1 << 63))),
        case("16 bits", sized(1_000, 0.1).fingerprint_bits(12)),
        case("32 bits", sized(1_000, 0.1).epochs(200).fingerprint_bits(24)),
        case("37 bits", sized(1_000, 1e-9)),
        case("64 bits", sized(1_000, 0.1).epochs(1).fingerprint_bits(63)),
        case("refreshing", sized(500, 0.01).epochs(2).refresh_on_hit()),
        case("by bytes", builder().byte_len(1_000).false_positive_rate(0.02)),
    ]
}

pub fn shared() -> Vec<Case<SharedBloomFilter>> {
    let sized = |keys, rate| SharedBloomFilter::builder().capacity(keys).false_positive_rate(rate);
    vec![
        case("one key", sized(1, 0.5)),
        case("ten keys", sized(10, 0.01)),
        case("small", sized(500, 0.1).salt(Salt::new(7))),
        case("low rate", sized(1_000, 2f64.powi(-16))),
        case("by bytes", SharedBloomFilter::builder().byte_len(1_000).capacity(600)),
    ]
}
