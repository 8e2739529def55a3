//! Filters whose hash is secret: without the key they are verified, written and merged, not asked.

use hapax::codec::{Artefact, verify};
use hapax::prelude::*;
use hapax::{HashError, InsertError, KeyId, SecretKey};

use crate::samples::{SECRET, file, fill, key, sample};

fn locked() -> CuckooFilter {
    Artefact::from_bytes(&(sample("cuckoo-keyed").make)()).unwrap().filter
}

fn id() -> KeyId {
    SecretKey::new(SECRET).id()
}

#[test]
fn a_locked_filter_gives_an_error_instead_of_an_answer() {
    let mut filter = locked();
    assert_eq!(filter.contains(&key(0)), Err(HashError::Locked { key_id: id() }));
    let error = InsertError::Hash(HashError::Locked { key_id: id() });
    assert_eq!(filter.insert(&key(0)), Err(error));
    assert_eq!(filter.remove(&key(0)), Err(HashError::Locked { key_id: id() }));
}

#[test]
fn a_locked_filter_is_verified_and_written_back() {
    let bytes = (sample("cuckoo-keyed").make)();
    assert_eq!(verify(&bytes), Ok(()));
    assert_eq!(file(locked()), bytes);
}

#[test]
fn the_right_key_unlocks_and_no_other() {
    let mut filter = locked();
    let mut wrong = SECRET;
    wrong[15] ^= 1;
    let wrong = SecretKey::new(wrong);
    let error = HashError::WrongKey { expected: id(), found: wrong.id() };
    assert_eq!(filter.unlock(wrong), Err(error));
    assert!(filter.contains(&key(0)).is_err(), "a wrong key must not unlock");

    filter.unlock(SecretKey::new(SECRET)).unwrap();
    assert!((0..40).all(|index| filter.contains(&key(index)).unwrap()));
    assert!((40..240).any(|index| !filter.contains(&key(index)).unwrap()));
}

#[test]
fn a_filter_without_secret_takes_no_key() {
    for name in ["bloom", "bloom-sha1"] {
        let mut filter =
            Artefact::<BloomFilter>::from_bytes(&(sample(name).make)()).unwrap().filter;
        assert_eq!(filter.unlock(SecretKey::new(SECRET)), Err(HashError::NotKeyed), "{name}");
    }
}

#[test]
fn the_key_is_not_in_the_file() {
    let bytes = (sample("cuckoo-keyed").make)();
    assert!(!bytes.windows(8).any(|window| window == &SECRET[..8] || window == &SECRET[8..]));
    assert!(bytes.windows(8).any(|window| window == id().0.to_le_bytes()));
}

#[test]
fn locked_filters_are_merged() {
    let seed = Seed::secret(SecretKey::new(SECRET));
    let builder = BloomFilter::builder().capacity(100).false_positive_rate(0.01).seed(seed.clone());
    let make = |keys| {
        let mut filter = builder.build().unwrap();
        fill(&mut filter, |i| Seed::secret(SecretKey::new(SECRET)).hash(&key(i)).unwrap(), keys);
        Artefact::<BloomFilter>::from_bytes(&file(filter)).unwrap().filter
    };
    let (mut first, second) = (make(0..30), make(30..60));
    first.merge(&second).unwrap();
    let mut merged = Artefact::<BloomFilter>::from_bytes(&file(first)).unwrap().filter;
    assert!(merged.contains(&key(0)).is_err());
    merged.unlock(SecretKey::new(SECRET)).unwrap();
    assert!((0..60).all(|index| merged.contains(&key(index)).unwrap()));
}
