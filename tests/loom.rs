//! Every interleaving of two and three threads on a shared filter: `scripts/loom`.
#![cfg(loom)]
#![expect(clippy::unwrap_used, reason = "a premise that fails is a test that fails")]

use hapax::prelude::*;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicU64, Ordering};
use loom::thread;

fn filter(capacity: u64) -> Arc<SharedBloomFilter> {
    let builder = SharedBloomFilter::builder().capacity(capacity).byte_len(8);
    Arc::new(builder.build().unwrap())
}

fn hash(index: u64) -> KeyHash {
    Seed::default().hash(&index).unwrap()
}

/// What each thread is told of its key, in a run for every interleaving.
fn insert_on_threads<const N: usize>(
    filter: &Arc<SharedBloomFilter>,
    keys: [u64; N],
) -> [Result<Seen, hapax::Full>; N] {
    let threads = keys.map(|key| {
        let filter = Arc::clone(filter);
        thread::spawn(move || filter.insert_shared_hash(hash(key)))
    });
    threads.map(|thread| thread.join().unwrap())
}

#[test]
fn one_of_two_threads_wins() {
    loom::model(|| {
        let filter = filter(4);
        let told = insert_on_threads(&filter, [1, 1]);
        assert_eq!(told.iter().filter(|&&told| told == Ok(Seen::Never)).count(), 1, "{told:?}");
        assert_eq!(told.iter().filter(|&&told| told == Ok(Seen::Maybe)).count(), 1, "{told:?}");
        assert_eq!(filter.stats().len, 1);
    });
}

#[test]
fn one_of_three_threads_wins() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let filter = filter(4);
        let told = insert_on_threads(&filter, [1, 1, 1]);
        assert_eq!(told.iter().filter(|&&told| told == Ok(Seen::Never)).count(), 1, "{told:?}");
        assert_eq!(filter.stats().len, 1);
        assert_eq!(filter.snapshot().unwrap().stats(), filter.stats());
    });
}

/// The last place: two keys race for it, and one gets it.
#[test]
fn the_last_place_is_given_once() {
    loom::model(|| {
        let filter = filter(1);
        let told = insert_on_threads(&filter, [1, 2]);
        assert_eq!(told.iter().filter(|&&told| told == Ok(Seen::Never)).count(), 1, "{told:?}");
        assert_eq!(told.iter().filter(|told| told.is_err()).count(), 1, "{told:?}");
        assert_eq!(filter.stats().len, 1);
    });
}

/// A loser may hold the last place for a moment: another key may be refused then, and nobody is ever
/// let in beyond the capacity.
#[test]
fn a_loser_gives_its_place_back() {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(2);
    model.check(|| {
        let filter = filter(2);
        let told = insert_on_threads(&filter, [1, 1, 2]);
        let never = told.iter().filter(|&&told| told == Ok(Seen::Never)).count() as u64;
        assert!((1..=2).contains(&never), "{told:?}");
        assert_eq!(filter.stats().len, never);
        // Afterwards the place is there again.
        assert!(filter.insert_shared_hash(hash(2)).is_ok());
        assert_eq!(filter.stats().len, 2);
    });
}

/// What the winner wrote before its insert is seen by whoever is told `Maybe` on its account.
#[test]
fn maybe_comes_after_what_the_winner_did() {
    loom::model(|| {
        let filter = filter(4);
        let written = Arc::new(AtomicU64::new(0));
        let winner = {
            let (filter, written) = (Arc::clone(&filter), Arc::clone(&written));
            thread::spawn(move || {
                written.store(7, Ordering::Relaxed);
                let _ = filter.insert_shared_hash(hash(1));
            })
        };
        if filter.contains_hash(hash(1)) || filter.insert_shared_hash(hash(1)) == Ok(Seen::Maybe) {
            assert_eq!(written.load(Ordering::Relaxed), 7);
        }
        winner.join().unwrap();
    });
}
