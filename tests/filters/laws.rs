//! The laws of the contract, each once, run on every filter and on the exact oracle.

use std::collections::BTreeSet;

use hapax::{
    BatchError, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, FullReason,
    Incompatible, KeyHash, Membership, MembershipExt, Merge, PastCapacity, Removed,
    RetiringCuckooFilter, Salt, SecretKey, Seed, Seen, SharedBloomFilter, WordBloomFilter,
};

use crate::cases::{self, Case};
use crate::support::keys::shuffled;
use crate::support::{Oracle, Shape, Subject};

fn bytes(filter: &impl Subject) -> Vec<u8> {
    filter.bytes()
}

/// A filter at its capacity, and its members.
fn filled<F: Subject>(case: &Case<F>, shape: Shape) -> (F, Vec<KeyHash>) {
    let mut filter = case.empty();
    let members: Vec<_> = shape.members(case.capacity).collect();
    for &member in &members {
        let _ = filter.insert_hash(member).unwrap();
    }
    (filter, members)
}

/// A member is never denied, at any moment.
fn no_member_is_denied<F: Subject>(case: &Case<F>, shape: Shape) {
    let (filter, members) = filled(case, shape);
    assert!(members.iter().all(|&member| filter.contains_hash(member)), "{}", case.name);
    let mut growing = case.empty();
    for (i, &member) in members.iter().enumerate().take(100) {
        let _ = growing.insert_hash(member).unwrap();
        assert!(members[..=i].iter().all(|&member| growing.contains_hash(member)));
    }
}

/// An empty filter answers no to everything, and knows that its rate is 0.
fn empty_answers_no<F: Subject>(case: &Case<F>, shape: Shape) {
    let filter = case.empty();
    assert!(shape.members(1_000).all(|key| !filter.contains_hash(key)), "{}", case.name);
    let stats = filter.stats();
    assert_eq!((stats.len, stats.saturated, stats.capacity), (0, 0, case.capacity));
    for zero in [stats.estimated_len, stats.fill_ratio, filter.false_positive_rate()] {
        assert!(zero.abs() < f64::MIN_POSITIVE, "{}: {stats:?}", case.name);
    }
}

/// `Never` is certain: it is said at most once of each key. An inserted key is `Maybe`.
fn never_is_certain<F: Subject>(case: &Case<F>, shape: Shape) {
    let mut filter = case.empty_with(PastCapacity::Degrade);
    let mut known = BTreeSet::new();
    // Every key twice, the second time some keys later.
    for key in (0..case.capacity).flat_map(|i| [i, i / 2]).map(|i| shape.hash(i)) {
        let before = filter.contains_hash(key);
        // Copies of a short fingerprint may be refused; the law is about what is accepted.
        let Ok(seen) = filter.insert_hash(key) else { continue };
        assert_eq!(before, seen == Seen::Maybe, "{}: insert and contains agree", case.name);
        assert!(seen == Seen::Maybe || !known.contains(&key), "{}", case.name);
        assert!(filter.contains_hash(key), "{}: Maybe after an insert", case.name);
        known.insert(key);
    }
    assert!(known.len() as u64 > case.capacity / 4, "{}", case.name);
}

/// `insert_unique` inserts what is new, and stores nothing when it says `Maybe`.
fn insert_unique_keeps_one<F: Subject>(case: &Case<F>, shape: Shape) {
    let mut filter = case.empty();
    let first = shape.hash(0);
    assert_eq!(filter.insert_unique_hash(first), Ok(Seen::Never));
    let after_first = bytes(&filter);
    for _ in 0..20 {
        assert_eq!(filter.insert_unique_hash(first), Ok(Seen::Maybe));
    }
    assert!(bytes(&filter) == after_first, "{}", case.name);
    for key in shape.members(case.capacity) {
        let before = bytes(&filter);
        match filter.insert_unique_hash(key).unwrap() {
            Seen::Never => assert!(filter.contains_hash(key)),
            Seen::Maybe => assert!(bytes(&filter) == before, "{}", case.name),
        }
        if filter.stats().len > 50 {
            break;
        }
    }
}

/// At its capacity a filter refuses new keys, says why, and is exactly as it was.
fn refused_insert_changes_nothing<F: Subject>(case: &Case<F>, shape: Shape) {
    let mut filter = case.empty();
    // False positives are not counted by a filter that is no multiset: fill with what counts.
    let mut fresh = shape.members(case.capacity * 100);
    while filter.stats().len < case.capacity {
        let _ = filter.insert_unique_hash(fresh.next().unwrap()).unwrap();
    }
    let (before, stats) = (bytes(&filter), filter.stats());
    let probes: Vec<_> = shape.strangers(2_000).collect();
    let answers: Vec<_> = probes.iter().map(|&key| filter.contains_hash(key)).collect();
    let mut refused = 0;
    for &key in probes.iter().take(200) {
        match filter.insert_hash(key) {
            Ok(seen) => {
                assert!(!F::MULTISET, "{}: a copy past the capacity", case.name);
                assert_eq!(seen, Seen::Maybe, "{}", case.name);
            }
            Err(full) => {
                assert_eq!(full.reason, FullReason::Capacity, "{}", case.name);
                assert_eq!((full.len, full.capacity), (case.capacity, case.capacity));
                refused += 1;
            }
        }
    }
    assert!(refused > 0, "{}", case.name);
    assert!(bytes(&filter) == before, "{}", case.name);
    assert_eq!(filter.stats(), stats, "{}", case.name);
    assert!(probes.iter().zip(answers).all(|(&key, answer)| filter.contains_hash(key) == answer));
}

/// With `Degrade` the capacity is no reason to refuse, and no member is lost past it.
fn degrade_goes_past_the_capacity<F: Subject>(case: &Case<F>, shape: Shape) {
    let mut filter = case.empty_with(PastCapacity::Degrade);
    let mut members = Vec::new();
    let mut refused = 0;
    for key in shape.members(case.capacity * 2 + 50) {
        match filter.insert_hash(key) {
            Ok(_) => members.push(key),
            Err(full) => {
                assert_ne!(full.reason, FullReason::Capacity, "{}: {full}", case.name);
                refused += 1;
            }
        }
        if refused > 100 {
            break;
        }
    }
    assert!(members.len() as u64 > case.capacity, "{}", case.name);
    assert!(members.iter().all(|&member| filter.contains_hash(member)), "{}", case.name);
}

/// A batch of questions is answered as one by one, repeats too; wrong lengths do nothing.
fn contains_batch_equals_one_by_one<F: Subject>(case: &Case<F>, shape: Shape) {
    let (filter, members) = filled(case, shape);
    let mut batch: Vec<_> = members.iter().copied().chain(shape.strangers(300)).collect();
    batch.extend_from_within(..batch.len().min(70));
    let batch = shuffled(&batch);
    for batch in [&batch[..], &batch[..1], &[]] {
        let mut present = vec![false; batch.len()];
        filter.contains_batch(batch, &mut present).unwrap();
        let expected: Vec<_> = batch.iter().map(|&key| filter.contains_hash(key)).collect();
        assert_eq!(present, expected, "{}", case.name);
    }
    for wrong in [batch.len() - 1, batch.len() + 1] {
        let mut present = vec![false; wrong];
        let error = BatchError::LengthMismatch { hashes: batch.len(), answers: wrong };
        assert_eq!(filter.contains_batch(&batch, &mut present), Err(error));
        assert!(present.iter().all(|&written| !written), "{}", case.name);
    }
}

/// Asking for memory changes neither answers nor state, for members and strangers, empty or full.
fn prefetching_changes_nothing<F: Subject>(case: &Case<F>, shape: Shape) {
    let (full, members) = filled(case, shape);
    for filter in [full, case.empty()] {
        let before = bytes(&filter);
        let behind: &dyn Membership = &filter;
        for key in members.iter().copied().chain(shape.strangers(300)) {
            let answer = filter.contains_hash(key);
            filter.prefetch_hash(key);
            behind.prefetch_hash(key);
            assert_eq!(filter.contains_hash(key), answer, "{}", case.name);
        }
        assert!(bytes(&filter) == before, "{}", case.name);
    }
}

/// A batch of inserts does and says what inserts one by one do and say, repeats within it too,
/// and stops at the first refusal.
fn insert_batch_equals_one_by_one<F: Subject>(case: &Case<F>, shape: Shape) {
    // Each key up to three times in a row or apart, past the capacity.
    let keys: Vec<_> = shape.members(case.capacity + 2).collect();
    let mut batch: Vec<_> = keys.iter().flat_map(|&key| [key, key]).collect();
    batch.extend(&keys);
    let mut one_by_one = case.empty();
    let answers: Result<Vec<Seen>, _> =
        batch.iter().map(|&key| one_by_one.insert_hash(key)).collect();
    let full = answers.err();

    let mut batched = case.empty();
    let mut seen = vec![Seen::Maybe; batch.len()];
    let result = batched.insert_batch(&batch, &mut seen);
    assert!(bytes(&batched) == bytes(&one_by_one), "{}", case.name);
    let done = match (result, full) {
        (Ok(()), None) => batch.len(),
        (Err(BatchError::Full { inserted, cause }), Some(full)) => {
            assert_eq!(cause, full, "{}", case.name);
            inserted
        }
        (result, full) => panic!("{}: {result:?} but {full:?}", case.name),
    };
    let mut again = case.empty();
    for (&key, &seen) in batch.iter().zip(&seen).take(done) {
        assert_eq!(again.insert_hash(key), Ok(seen), "{}", case.name);
    }
    assert!(bytes(&again) == bytes(&batched), "{}: `inserted` counts inserts", case.name);

    for wrong in [done - 1, done + 1] {
        let mut fresh = case.empty();
        let before = bytes(&fresh);
        let error = BatchError::LengthMismatch { hashes: done, answers: wrong };
        assert_eq!(fresh.insert_batch(&batch[..done], &mut vec![Seen::Maybe; wrong]), Err(error));
        assert!(bytes(&fresh) == before, "{}", case.name);
    }
}

/// After `clear` a filter is as new.
fn clear_forgets_everything<F: Subject>(case: &Case<F>, shape: Shape) {
    let (mut filter, _) = filled(case, shape);
    filter.clear();
    assert!(bytes(&filter) == bytes(&case.empty()), "{}", case.name);
}

/// The same inserts give the same filter.
fn equal_inserts_give_equal_filters<F: Subject>(case: &Case<F>, shape: Shape) {
    let ((one, _), (other, _)) = (filled(case, shape), filled(case, shape));
    assert!(bytes(&one) == bytes(&other), "{}", case.name);
}

/// The read side works behind `dyn`, by hash and by key.
fn dyn_membership_answers_alike<F: Subject>(case: &Case<F>, shape: Shape) {
    let (filter, members) = filled(case, shape);
    let behind: &dyn Membership = &filter;
    assert!(members.iter().all(|&member| behind.contains_hash(member)));
    for key in ["alice", "bob", ""] {
        let hash = filter.seed().hash(key).unwrap();
        assert_eq!(behind.contains(key), Ok(filter.contains_hash(hash)), "{}", case.name);
    }
    assert_eq!(behind.stats(), filter.stats());
    let mut present = vec![false; members.len()];
    behind.contains_batch(&members, &mut present).unwrap();
    assert!(present.iter().all(|&answer| answer), "{}", case.name);
}

/// What was inserted and removed again leaves nothing behind, in whatever order.
fn remove_mirrors_insert<F: Subject>(case: &Case<F>, shape: Shape) {
    let (mut filter, members) = filled(case, shape);
    let (stay, go) = members.split_at(members.len() / 3);
    for &key in &shuffled(go) {
        assert_eq!(filter.try_remove(key), Some(Removed::Removed), "{}", case.name);
    }
    assert!(stay.iter().all(|&key| filter.contains_hash(key)), "{}: took others along", case.name);
    assert_eq!(filter.stats().len, stay.len() as u64, "{}", case.name);
    for &key in stay {
        assert_eq!(filter.try_remove(key), Some(Removed::Removed), "{}", case.name);
    }
    assert!(bytes(&filter) == bytes(&case.empty()), "{}", case.name);
}

/// Copies are taken back one by one; what is not there is absent and changes nothing.
fn remove_takes_one_copy<F: Subject>(case: &Case<F>, shape: Shape) {
    let mut filter = case.empty();
    let key = shape.hash(0);
    let copies = case.capacity.min(3);
    assert_eq!(filter.try_remove(key), Some(Removed::Absent), "{}", case.name);
    for _ in 0..copies {
        let _ = filter.insert_hash(key).unwrap();
    }
    for left in (0..copies).rev() {
        assert_eq!(filter.try_remove(key), Some(Removed::Removed), "{}", case.name);
        assert_eq!(filter.contains_hash(key), left > 0, "{}", case.name);
    }
    assert_eq!(filter.try_remove(key), Some(Removed::Absent), "{}", case.name);
    assert!(bytes(&filter) == bytes(&case.empty()), "{}", case.name);
}

/// The union of two filters answers as one that was given both sets of keys.
fn merge_is_the_union<F: Subject>(case: &Case<F>, shape: Shape) {
    let keys: Vec<_> = shape.members(case.capacity).collect();
    let (left, right) = keys.split_at(keys.len() / 2);
    let built = |keys: &[KeyHash]| {
        let mut filter = case.empty();
        for &key in keys {
            let _ = filter.insert_hash(key).unwrap();
        }
        filter
    };
    let (mut one, mut other, both) = (built(left), built(right), built(&keys));
    let right_alone = other.clone();
    one.try_merge(&other).unwrap().unwrap();
    other.try_merge(&built(left)).unwrap().unwrap();
    for key in keys.iter().copied().chain(shape.strangers(3_000)) {
        assert_eq!(one.contains_hash(key), both.contains_hash(key), "{}", case.name);
    }
    assert!(bytes(&one) == bytes(&other), "{}: merging commutes", case.name);
    assert!((one.stats().fill_ratio - both.stats().fill_ratio).abs() < 1e-12, "{}", case.name);
    // A multiset knows how many copies it holds; others estimate, within what is possible.
    let (one, right, left) = (one.stats().len, right_alone.stats().len, built(left).stats().len);
    let most = left + right;
    let least = if F::MULTISET { most } else { left.max(right) };
    assert!((least..=most).contains(&one), "{}: {least} to {most}, found {one}", case.name);

    // An empty filter adds nothing.
    let mut unchanged = right_alone.clone();
    unchanged.try_merge(&case.empty()).unwrap().unwrap();
    assert!(bytes(&unchanged) == bytes(&right_alone), "{}", case.name);
}

/// A union over the capacity is refused and changes nothing, unless the policy is to degrade.
fn merge_over_capacity_is_refused<F: Subject>(case: &Case<F>, shape: Shape) {
    let (mut filter, members) = filled(case, shape);
    let mut other = case.empty_with(PastCapacity::Degrade);
    let strangers: Vec<_> = shape.strangers(case.capacity * 2 + 20).collect();
    for &key in &strangers {
        let _ = other.insert_hash(key).unwrap();
    }
    let before = bytes(&filter);
    match filter.try_merge(&other).unwrap() {
        Err(Incompatible::OverCapacity { estimated_len, capacity }) => {
            assert_eq!(capacity, case.capacity);
            assert!(estimated_len > capacity as f64, "{}: {estimated_len}", case.name);
        }
        result => panic!("{}: {result:?}", case.name),
    }
    assert!(bytes(&filter) == before, "{}", case.name);

    // The policy of the one merged into decides.
    other.try_merge(&filter).unwrap().unwrap();
    assert!(members.iter().chain(&strangers).all(|&key| other.contains_hash(key)), "{}", case.name);
}

/// Instantiates laws for a kind of filter.
macro_rules! laws {
    ($kind:ident: $filter:ty; $($law:ident)*) => {
        mod $kind {
            use super::*;
            $(
                #[test]
                fn $law() {
                    for case in cases::$kind() {
                        for shape in Shape::ALL {
                            super::$law::<$filter>(&case, shape);
                        }
                    }
                }
            )*
        }
    };
}

macro_rules! laws_of_insert {
    ($kind:ident: $filter:ty; $($more:ident)*) => {
        laws! { $kind: $filter;
            no_member_is_denied empty_answers_no never_is_certain insert_unique_keeps_one
            refused_insert_changes_nothing degrade_goes_past_the_capacity
            contains_batch_equals_one_by_one prefetching_changes_nothing insert_batch_equals_one_by_one
            clear_forgets_everything equal_inserts_give_equal_filters dyn_membership_answers_alike
            $($more)*
        }
    };
}

laws_of_insert! { oracle: Oracle;
remove_mirrors_insert remove_takes_one_copy merge_is_the_union merge_over_capacity_is_refused }
laws_of_insert! { bloom: BloomFilter; merge_is_the_union merge_over_capacity_is_refused }
laws_of_insert! { blocked: BlockedBloomFilter;
merge_is_the_union merge_over_capacity_is_refused }
laws_of_insert! { word: WordBloomFilter; merge_is_the_union merge_over_capacity_is_refused }
laws_of_insert! { shared: SharedBloomFilter; }
laws_of_insert! { counting: CountingBloomFilter;
remove_mirrors_insert remove_takes_one_copy merge_is_the_union merge_over_capacity_is_refused }
laws_of_insert! { cuckoo: CuckooFilter; remove_mirrors_insert remove_takes_one_copy }
laws_of_insert! { retiring: RetiringCuckooFilter; }

/// Asserts that a merge is refused over one named parameter and leaves the filter as it was.
fn assert_refused<F: Merge + Subject>(mut filter: F, other: &F, parameter: &str) {
    let before = bytes(&filter);
    match filter.merge(other) {
        Err(error @ Incompatible::Parameter { .. }) => {
            let Incompatible::Parameter { name, expected, found } = &error else { unreachable!() };
            assert_eq!(*name, parameter);
            assert_ne!(expected, found);
            let text = error.to_string();
            assert!(text.contains(name) && text.contains(expected) && text.contains(found));
        }
        result => panic!("{parameter}: {result:?}"),
    }
    assert!(bytes(&filter) == before);
}

#[test]
fn merge_of_bloom_filters_names_the_parameter_that_differs() {
    let base = || BloomFilter::builder().capacity(1_000).false_positive_rate(0.01);
    let filter = || base().build().unwrap();
    let secret = Seed::secret(SecretKey::new([1; 16]));
    for (parameter, builder) in [
        ("seed", base().seed(Seed::new(1))),
        ("seed", base().seed(secret)),
        ("salt", base().salt(Salt::new(1))),
        ("capacity", base().capacity(1_001)),
        ("number of probes", base().false_positive_rate(0.001)),
        ("size", base().false_positive_rate(0.0095)),
    ] {
        assert_refused(filter(), &builder.build().unwrap(), parameter);
    }
}

#[test]
fn merge_of_blocked_filters_names_the_parameter_that_differs() {
    let base = || BlockedBloomFilter::builder().capacity(1_000).false_positive_rate(0.01);
    let filter = || base().build().unwrap();
    for (parameter, builder) in [
        ("seed", base().seed(Seed::new(1))),
        ("salt", base().salt(Salt::new(1))),
        ("capacity", base().capacity(1_001)),
        ("number of probes", base().false_positive_rate(0.001)),
        ("size", base().false_positive_rate(0.0085)),
    ] {
        assert_refused(filter(), &builder.build().unwrap(), parameter);
    }
}

#[test]
fn merge_of_word_filters_names_the_parameter_that_differs() {
    let base = || WordBloomFilter::builder().capacity(1_000).false_positive_rate(0.01);
    let filter = || base().build().unwrap();
    for (parameter, builder) in [
        ("seed", base().seed(Seed::new(1))),
        ("salt", base().salt(Salt::new(1))),
        ("capacity", base().capacity(1_001)),
        ("number of probes", base().false_positive_rate(0.001)),
        ("size", base().false_positive_rate(0.0085)),
    ] {
        assert_refused(filter(), &builder.build().unwrap(), parameter);
    }
}

#[test]
fn merge_of_counting_filters_names_the_parameter_that_differs() {
    let base = || CountingBloomFilter::builder().capacity(1_000).false_positive_rate(0.01);
    let filter = || base().build().unwrap();
    for (parameter, builder) in [
        ("seed", base().seed(Seed::new(1))),
        ("salt", base().salt(Salt::new(1))),
        ("capacity", base().capacity(1_001)),
        ("number of probes", base().false_positive_rate(0.001)),
        ("size", base().false_positive_rate(0.0095)),
        ("bits in a counter", base().counter_bits(8)),
    ] {
        assert_refused(filter(), &builder.build().unwrap(), parameter);
    }
}

/// Replicas of one state are merged without a loss of capacity, also at the capacity, where an
/// estimate of the union's size may come out above it.
#[test]
fn merge_of_a_bloom_filter_with_a_part_of_itself_changes_nothing() {
    for salt in 0..50 {
        let builder = BloomFilter::builder().capacity(400).false_positive_rate(0.01);
        let mut full = builder.salt(Salt::new(salt)).build().unwrap();
        let mut part = full.clone();
        for (i, key) in Shape::Random.members(400).enumerate() {
            use hapax::Insert;
            let _ = full.insert_hash(key).unwrap();
            if i < 300 {
                let _ = part.insert_hash(key).unwrap();
            }
        }
        let before = bytes(&full);
        for other in [full.clone(), part.clone()] {
            full.merge(&other).unwrap();
            assert!(bytes(&full) == before, "salt {salt}");
        }
        part.merge(&full).unwrap();
        assert!(bytes(&part) == before, "salt {salt}");
    }
}
