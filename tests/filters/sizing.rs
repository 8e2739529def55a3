//! Planning: the promised capacity is reached, the three ways to size agree, and what cannot be
//! built is an error.

use hapax::filter::{Buildable, Builder};
use hapax::{
    BlockedBloomFilter, BloomFilter, BuildError, CountingBloomFilter, CuckooFilter, Membership,
    Plan, RetiringCuckooFilter, Salt, Shape, SharedBloomFilter, WordBloomFilter,
};

use crate::support::{self, Subject};

fn assert_reached<F: Buildable + Subject>(builder: &Builder<F>, salt: u64) {
    let builder = builder.clone().salt(Salt::new(salt));
    let mut filter = builder.build().unwrap();
    let capacity = filter.stats().capacity;
    for key in support::Shape::Random.members(capacity) {
        if let Err(full) = filter.insert_hash(key) {
            panic!("salt {salt}, {:?}: {full}", builder.plan());
        }
    }
}

fn sized<F: Buildable>(builder: Builder<F>, keys: u64, rate: f64) -> Builder<F> {
    builder.capacity(keys).false_positive_rate(rate)
}

/// Small tables fill unevenly: every size, at the shortest fingerprints and at common ones.
#[test]
fn cuckoo_reaches_every_planned_capacity() {
    for keys in 1..=2_000 {
        let salts = if keys <= 60 { 40 } else { 2 };
        for salt in 0..salts {
            let shortest = sized(CuckooFilter::builder(), keys, 0.9);
            assert_reached(&shortest, salt);
            assert_reached(&sized(CuckooFilter::builder(), keys, 0.001), salt ^ keys);
        }
    }
}

#[test]
fn cuckoo_reaches_planned_capacities_of_large_tables() {
    for (keys, salts) in [(5_000, 40), (5_001, 20), (50_000, 6), (500_000, 2), (1_500_000, 1)] {
        for salt in 0..salts {
            // 0.9: as few bits as the plan takes.
            assert_reached(&sized(CuckooFilter::builder(), keys, 0.9), salt);
            assert_reached(&sized(CuckooFilter::builder(), keys, 0.001), salt);
        }
    }
}

/// Tables planned by bytes have odd and even numbers of buckets of every size.
#[test]
fn cuckoo_reaches_capacities_planned_by_bytes() {
    for bytes in (40..3_000).step_by(8) {
        for rate in [0.5, 0.01] {
            let builder = CuckooFilter::builder().byte_len(bytes).false_positive_rate(rate);
            match builder.plan() {
                Ok(_) => assert_reached(&builder, bytes),
                Err(BuildError::TooFewBytes { .. }) => assert!(bytes < 64),
                Err(error) => panic!("{bytes} bytes: {error}"),
            }
        }
    }
}

#[test]
fn bloom_and_counting_reach_every_planned_capacity() {
    for keys in (1..=60).chain((61..=2_000).step_by(97)).chain([50_000]) {
        assert_reached(&sized(BloomFilter::builder(), keys, 0.01), keys);
        assert_reached(&sized(BlockedBloomFilter::builder(), keys, 0.01), keys);
        assert_reached(&sized(WordBloomFilter::builder(), keys, 0.01), keys);
        assert_reached(&sized(SharedBloomFilter::builder(), keys, 0.01), keys);
        assert_reached(&sized(CountingBloomFilter::builder(), keys, 0.01), keys);
    }
}

/// Checks that bytes for (keys, rate) give at least the keys and at most the rate back.
fn assert_doors_agree<F: Buildable>(start: &Builder<F>, keys: u64, rate: f64) -> [Plan; 3] {
    let by_rate = sized(start.clone(), keys, rate).plan().unwrap();
    let bytes = by_rate.byte_len();
    let by_bytes = start.clone().byte_len(bytes).capacity(keys).plan().unwrap();
    let by_both = start.clone().byte_len(bytes).false_positive_rate(rate).plan().unwrap();
    assert_eq!((by_rate.capacity, by_bytes.capacity), (keys, keys));
    assert!(by_both.capacity >= keys, "{by_rate:?} {by_both:?}");
    for plan in [by_rate, by_bytes, by_both] {
        assert!(plan.false_positive_rate <= rate && plan.false_positive_rate > 0.0, "{plan:?}");
        assert!(plan.byte_len() <= bytes, "{plan:?} in {bytes} bytes");
    }
    assert!(by_bytes.false_positive_rate <= by_rate.false_positive_rate, "{by_bytes:?}");
    [by_rate, by_bytes, by_both]
}

#[test]
fn three_ways_to_size_agree() {
    let sizes = [1, 2, 3, 10, 99, 1_000, 12_345, 1_000_000, 3_000_000_000];
    for (keys, rate) in
        sizes.iter().flat_map(|&keys| [0.9, 0.3, 0.01, 1e-4, 1e-7].map(|rate| (keys, rate)))
    {
        let [by_rate, by_bytes, by_both] = assert_doors_agree(&BloomFilter::builder(), keys, rate);
        assert_eq!(by_rate, by_bytes);
        // The capacity found is one that those bytes are planned for.
        let again = sized(BloomFilter::builder(), by_both.capacity, rate).plan().unwrap();
        assert_eq!(again, by_both);
        for bits in [4, 8] {
            let start = CountingBloomFilter::builder().counter_bits(bits);
            let [by_rate, by_bytes, _] = assert_doors_agree(&start, keys, rate);
            assert_eq!(by_rate, by_bytes);
        }
        assert_doors_agree(&CuckooFilter::builder(), keys, rate);
        assert_doors_agree(&RetiringCuckooFilter::builder(), keys, rate);
        assert_doors_agree(&RetiringCuckooFilter::builder().epochs(200), keys, rate);
        if rate > 1e-6 {
            let [by_rate, by_bytes, _] =
                assert_doors_agree(&BlockedBloomFilter::builder(), keys, rate);
            assert_eq!(by_rate, by_bytes);
        }
    }
}

#[test]
fn built_filter_has_the_planned_shape() {
    let plan = |f: &dyn Fn() -> Result<Plan, BuildError>| f().unwrap();
    let builder = sized(BloomFilter::builder(), 1_000, 0.001);
    let filter = builder.build().unwrap();
    let planned = plan(&|| builder.plan());
    assert_eq!(planned.shape, Shape::Bloom { num_probes: filter.num_probes() });
    assert_eq!(planned.bit_len, filter.stats().bit_len);
    assert_eq!(planned.byte_len(), filter.stats().byte_len());

    let builder = sized(BlockedBloomFilter::builder(), 1_000, 0.001);
    let filter = builder.build().unwrap();
    let planned = plan(&|| builder.plan());
    let shape = Shape::Blocked { num_probes: filter.num_probes() };
    assert_eq!((planned.shape, planned.bit_len), (shape, filter.stats().bit_len));

    let builder = sized(CountingBloomFilter::builder(), 1_000, 0.001).counter_bits(8);
    let filter = builder.build().unwrap();
    let planned = plan(&|| builder.plan());
    let shape = Shape::Counting { num_probes: filter.num_probes(), counter_bits: 8 };
    assert_eq!((planned.shape, planned.bit_len), (shape, filter.stats().bit_len));

    let builder = sized(CuckooFilter::builder(), 1_000, 0.001);
    let filter = builder.build().unwrap();
    let planned = plan(&|| builder.plan());
    let shape =
        Shape::Cuckoo { fingerprint_bits: filter.fingerprint_bits(), buckets: filter.buckets() };
    assert_eq!((planned.shape, planned.bit_len), (shape, filter.stats().bit_len));

    let builder = sized(RetiringCuckooFilter::builder(), 1_000, 0.001).epochs(31);
    let filter = builder.build().unwrap();
    let planned = plan(&|| builder.plan());
    let shape = Shape::Retiring {
        fingerprint_bits: filter.fingerprint_bits(),
        tag_bits: filter.tag_bits(),
        buckets: filter.buckets(),
        epochs: filter.epochs(),
    };
    assert_eq!((planned.shape, planned.bit_len), (shape, filter.stats().bit_len));
}

/// A request, and whether an error is the one it must give.
type Row<F> = (Builder<F>, fn(&BuildError) -> bool);

/// What no filter can be built for.
fn impossible<F: Buildable>(new: fn() -> Builder<F>) -> Vec<Row<F>> {
    use BuildError as E;
    let mut rows: Vec<Row<F>> = vec![
        (new(), |e| *e == E::Sizing { given: 0 }),
        (new().capacity(10), |e| *e == E::Sizing { given: 1 }),
        (new().false_positive_rate(0.1), |e| *e == E::Sizing { given: 1 }),
        (new().byte_len(1_000), |e| *e == E::Sizing { given: 1 }),
        (sized(new(), 10, 0.1).byte_len(1_000), |e| *e == E::Sizing { given: 3 }),
        (sized(new(), 0, 0.1), |e| matches!(e, E::Capacity { found: 0, .. })),
        (new().capacity(0).byte_len(1_000), |e| matches!(e, E::Capacity { found: 0, .. })),
        (sized(new(), u64::MAX, 0.1), |e| matches!(e, E::Capacity { found: u64::MAX, .. })),
        (new().capacity(u64::MAX).byte_len(9), |e| matches!(e, E::Capacity { .. })),
        (
            new().capacity(10).byte_len(0),
            |e| matches!(e, E::TooFewBytes { found: 0, needed } if (1..1_000).contains(needed)),
        ),
        (new().capacity(10).byte_len(7), |e| matches!(e, E::TooFewBytes { found: 7, .. })),
        (new().false_positive_rate(0.1).byte_len(7), |e| {
            matches!(e, E::TooFewBytes { found: 7, .. })
        }),
        (
            new().capacity(1 << 48).byte_len(1 << 20),
            |e| matches!(e, E::TooFewBytes { needed, .. } if *needed > 1 << 40),
        ),
        (
            sized(new(), 1_000, 1e-300),
            |e| matches!(e, E::RateUnreachable { wanted: 1e-300, reachable } if *reachable < 2e-5),
        ),
        (sized(new(), 1_000, f64::from_bits(1)), |e| matches!(e, E::RateUnreachable { .. })),
        (new().false_positive_rate(1e-300).byte_len(4_096), |e| {
            matches!(e, E::RateUnreachable { .. })
        }),
    ];
    let rates = [0.0, -0.0, 1.0, 1.5, -0.1, f64::NAN, -f64::NAN, f64::INFINITY, f64::NEG_INFINITY];
    for rate in rates {
        rows.push((sized(new(), 10, rate), |e| matches!(e, E::FalsePositiveRate { .. })));
        let by_bytes = new().byte_len(1_000).false_positive_rate(rate);
        rows.push((by_bytes, |e| matches!(e, E::FalsePositiveRate { .. })));
    }
    rows
}

fn assert_all_refused<F: Buildable + std::fmt::Debug>(rows: Vec<Row<F>>) {
    for (builder, expected) in rows {
        let error = builder.plan().unwrap_err();
        assert!(expected(&error), "{builder:?}: {error:?}");
        // NaN is not equal to itself.
        let built = builder.build().unwrap_err();
        assert_eq!(format!("{built:?}"), format!("{error:?}"));
        assert!(error.to_string().len() > 20, "{error}");
    }
}

#[test]
fn impossible_requests_are_refused_by_name() {
    assert_all_refused(impossible(BloomFilter::builder));
    assert_all_refused(impossible(BlockedBloomFilter::builder));
    assert_all_refused(impossible(WordBloomFilter::builder));
    assert_all_refused(impossible(CountingBloomFilter::builder));
    assert_all_refused(impossible(CuckooFilter::builder));
    assert_all_refused(impossible(RetiringCuckooFilter::builder));
}

#[test]
fn options_out_of_range_are_refused_by_name() {
    for bits in [0, 1, 3, 5, 16, u32::MAX] {
        let builder = sized(CountingBloomFilter::builder(), 10, 0.1).counter_bits(bits);
        let name = "counter_bits";
        let error = BuildError::Option { name, expected: "4 or 8", found: bits.into() };
        assert_eq!(builder.plan(), Err(error));
    }
    for bits in [0, 3, 33, u32::MAX] {
        let builder = sized(CuckooFilter::builder(), 10, 0.1).fingerprint_bits(bits);
        let name = "fingerprint_bits";
        let error = BuildError::Option { name, expected: "4 to 32", found: bits.into() };
        assert_eq!(builder.plan(), Err(error));
    }
}

/// More than any machine has is an error (or lazily mapped, where the system overcommits), never
/// an abort.
#[test]
fn sizes_beyond_memory_are_refused_without_an_abort() {
    fn check<F: Buildable + std::fmt::Debug>(new: fn() -> Builder<F>) {
        for builder in [
            new().capacity(10).byte_len(u64::MAX),
            new().false_positive_rate(0.01).byte_len(u64::MAX),
            sized(new(), 1 << 44, 0.01),
        ] {
            let plan = builder.plan().unwrap();
            assert!(plan.byte_len() > 1 << 40, "{plan:?}");
            match builder.build() {
                Ok(_) => {}
                Err(error) => {
                    assert_eq!(error, BuildError::OutOfMemory { byte_len: plan.byte_len() });
                }
            }
        }
    }
    check(BloomFilter::builder);
    check(BlockedBloomFilter::builder);
    check(WordBloomFilter::builder);
    check(CountingBloomFilter::builder);
    check(CuckooFilter::builder);
    check(RetiringCuckooFilter::builder);
}

/// The table in the documentation of the `filter` module, recomputed.
#[test]
fn documented_bits_per_key_are_those_of_the_plan() {
    const KEYS: u64 = 1_000_000;
    let text = include_str!("../../src/filter/mod.rs");
    let rows: Vec<Vec<f64>> = text
        .lines()
        .filter_map(|line| line.strip_prefix("//! | ")?.strip_suffix(" |"))
        .filter_map(|row| row.split(" | ").map(|cell| cell.parse().ok()).collect())
        .collect();
    assert_eq!(rows.len(), 5, "{rows:?}");
    for row in rows {
        let rate = row[0];
        let plans = [
            sized(BloomFilter::builder(), KEYS, rate).plan().unwrap(),
            sized(BlockedBloomFilter::builder(), KEYS, rate).plan().unwrap(),
            sized(WordBloomFilter::builder(), KEYS, rate).plan().unwrap(),
            sized(CountingBloomFilter::builder(), KEYS, rate).plan().unwrap(),
            sized(CuckooFilter::builder(), KEYS, rate).plan().unwrap(),
        ];
        let found = plans.map(|plan| format!("{:.1}", plan.bits_per_key()));
        let documented: Vec<_> = row[1..].iter().map(|bits| format!("{bits:.1}")).collect();
        assert_eq!(found.as_slice(), documented, "at {rate}");
    }
}
