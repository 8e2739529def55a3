//! A restored filter continues as one that was never saved.

use std::fs;
use std::path::Path;

use hapax::codec::Persist;
use hapax::filter::Builder;
use hapax::replay::ReplayFilter;
use hapax::{BloomFilter, HashError, Insert, InsertError, SecretKey, Seed, Unlock};

use crate::random::Rng;
use crate::subject::{Generation, Windowed, bloom, counting, cuckoo, fill, passes, windowed};

fn saved_bytes(filter: &impl Persist, path: &Path) -> Vec<u8> {
    filter.save(path).unwrap();
    fs::read(path).unwrap()
}

/// Goes on with both, replays mixed in, and compares.
fn check_continues<W: Insert>(
    original: &mut ReplayFilter<W>,
    restored: &mut ReplayFilter<W>,
    ids: std::ops::Range<u64>,
) {
    let mut rng = Rng(ids.start);
    for id in ids {
        for id in [id, id - rng.below(id.min(50) + 1)] {
            assert_eq!(original.admit(&id), restored.admit(&id), "{id}");
        }
    }
    let (one, other) = (original.counts(), restored.counts());
    assert_eq!(one, other);
    assert_eq!(one.estimated_lost.to_bits(), other.estimated_lost.to_bits());
}

/// Saves when `moment` tuples have passed; the rate is high, so that verdicts are no foregone
/// conclusion.
fn check_moment<F: Generation>(builder: &Builder<F>, moment: u64) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut original = windowed(builder);
    let mut next = 0;
    fill(&mut original, &mut next, moment);

    let bytes = saved_bytes(&original, &path);
    let mut restored = Windowed::<F>::load(&path).unwrap();
    assert_eq!(saved_bytes(&restored, &path), bytes, "at {moment}");
    let (before, after) = (original.window(), restored.window());
    assert_eq!((before.generation(), before.capacity()), (after.generation(), after.capacity()));

    let capacity = before.capacity();
    check_continues(&mut original, &mut restored, next..next + 3 * capacity);
    assert_eq!(saved_bytes(&restored, &path), saved_bytes(&original, &path), "after {moment}");
}

#[test]
fn a_window_restored_at_any_moment_continues_identically() {
    const CAPACITY: u64 = 60;
    let turns = [1, 2, 5].map(|turn| turn * CAPACITY);
    let moments = turns.into_iter().flat_map(|turn| [turn - 1, turn, turn + 1]);
    for moment in [0, 1, CAPACITY / 2].into_iter().chain(moments) {
        check_moment(&bloom(CAPACITY, 0.1), moment);
        check_moment(&counting(CAPACITY, 0.1), moment);
        check_moment(&cuckoo(CAPACITY, 0.1), moment);
    }
    for moment in 0..9 {
        check_moment(&bloom(1, 0.1), moment);
        check_moment(&cuckoo(2, 0.1), moment);
    }
}

#[test]
fn a_plain_filter_continues_identically_up_to_the_refusal() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    for moment in [0, 150, 299, 300] {
        let mut original = ReplayFilter::new(bloom(300, 0.1).build().unwrap());
        let mut next = 0;
        fill(&mut original, &mut next, moment);
        let bytes = saved_bytes(&original, &path);
        let mut restored = ReplayFilter::<BloomFilter>::load(&path).unwrap();
        assert_eq!(saved_bytes(&restored, &path), bytes);
        check_continues(&mut original, &mut restored, next..next + 1_000);
        assert_eq!(original.counts().passed, 300, "the run must reach the refusal");
        assert_eq!(saved_bytes(&restored, &path), saved_bytes(&original, &path));
    }
}

#[test]
fn a_keyed_filter_comes_back_locked_and_works_with_its_key_only() {
    const SECRET: [u8; 16] = *b"sixteen bytes ..";
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let mut original = windowed(&bloom(100, 1e-6).seed(Seed::secret(SecretKey::new(SECRET))));
    for id in 0..150 {
        assert!(passes(&mut original, id));
    }
    original.save(&path).unwrap();

    let mut restored = Windowed::<BloomFilter>::load(&path).unwrap();
    let bytes = fs::read(&path).unwrap();
    let key_id = SecretKey::new(SECRET).id();
    let locked = || Err(InsertError::Hash(HashError::Locked { key_id }));
    let check_locked = |restored: &mut Windowed<BloomFilter>| {
        for id in [0, 149, 1_000] {
            assert_eq!(restored.admit(&id), locked());
        }
        assert_eq!(restored.counts(), original.counts());
        let copy = folder.path().join("copy");
        assert_eq!(saved_bytes(restored, &copy), bytes, "a refusal must change nothing");
    };
    check_locked(&mut restored);

    let wrong = SecretKey::new([7; 16]);
    let error = HashError::WrongKey { expected: key_id, found: wrong.id() };
    assert_eq!(restored.unlock(wrong), Err(error));
    check_locked(&mut restored);

    restored.unlock(SecretKey::new(SECRET)).unwrap();
    assert!((0..150).all(|id| !passes(&mut restored, id)));
    assert!(passes(&mut restored, 1_000));
    // And through turns, after which both generations must have the key.
    for id in 2_000..2_500 {
        assert!(passes(&mut restored, id) && !passes(&mut restored, id));
    }

    let mut public = windowed(&bloom(100, 1e-6));
    assert_eq!(public.unlock(SecretKey::new(SECRET)), Err(HashError::NotKeyed));
    assert!(passes(&mut public, 1));
}
