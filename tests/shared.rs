//! Threads that insert at once: of each key one is the first, and the capacity holds.
#![expect(clippy::unwrap_used, reason = "a premise that fails is a test that fails")]

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;

use hapax::Full;
use hapax::codec::{Artefact, Provenance};
use hapax::prelude::*;

const THREADS: u64 = 4;

/// Runs `work` with the number of the thread, on all threads.
fn on_threads<T: Send>(work: impl Fn(u64) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let work = &work;
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

/// A line at which threads wait for one another; they leave it together, within nanoseconds.
struct Lockstep(AtomicU64);

impl Lockstep {
    /// Waits for all threads, for the `step`-th time.
    fn wait(&self, step: u64) {
        self.0.fetch_add(1, Ordering::AcqRel);
        let mut tries = 0u32;
        while self.0.load(Ordering::Acquire) < (step + 1) * THREADS {
            tries += 1;
            // On fewer cores than threads the others may not be running.
            if tries.is_multiple_of(64) { thread::yield_now() } else { std::hint::spin_loop() }
        }
    }
}

fn hash(index: u64) -> KeyHash {
    Seed::default().hash(&index).unwrap()
}

/// Every thread inserts every key, all at the same moment: exactly one is told `Never`.
#[test]
fn each_of_100_000_keys_has_exactly_one_winner() {
    const KEYS: u64 = 100_000;
    let builder = SharedBloomFilter::builder().capacity(KEYS).false_positive_rate(2e-5);
    let filter = builder.build().unwrap();
    let lockstep = Lockstep(AtomicU64::new(0));
    let winners: Vec<_> = (0..KEYS).map(|_| AtomicU64::new(0)).collect();
    let won = on_threads(|_| {
        let mut won = 0u64;
        for index in 0..KEYS {
            let hash = hash(index);
            lockstep.wait(index);
            if filter.insert_shared_hash(hash) == Ok(Seen::Never) {
                winners[index as usize].fetch_add(1, Ordering::Relaxed);
                won += 1;
            }
        }
        won
    });
    // Keys follow one another, so a false positive is one for a single thread as well.
    let builder = WordBloomFilter::builder().capacity(KEYS).false_positive_rate(2e-5);
    let mut alone = builder.build().unwrap();
    let mut strangers_taken_for_members = 0;
    for (index, winners) in (0..).zip(&winners) {
        let expected = u64::from(alone.insert_hash(hash(index)) == Ok(Seen::Never));
        assert_eq!(winners.load(Ordering::Relaxed), expected, "key {index}");
        strangers_taken_for_members += 1 - expected;
    }
    assert!(strangers_taken_for_members < 5, "{strangers_taken_for_members}");
    assert_eq!(filter.stats().len, won.iter().sum::<u64>());
    assert_eq!(filter.stats(), alone.stats(), "threads leave what one leaves");
    assert_eq!(filter.snapshot().unwrap().stats(), alone.stats());
}

/// Threads with keys of their own, many more than fit: the filter is filled to its capacity, and never
/// by one more.
#[test]
fn the_capacity_is_a_hard_bound_among_threads() {
    for capacity in [1, 2, 50, 3_000] {
        let builder = SharedBloomFilter::builder().capacity(capacity).false_positive_rate(2e-5);
        let filter = builder.build().unwrap();
        let lockstep = Lockstep(AtomicU64::new(0));
        let outcomes = on_threads(|thread| {
            lockstep.wait(0);
            let (mut never, mut refused) = (0, 0);
            for index in 0..2 * capacity {
                // Half of the keys are every thread's, half its own.
                let key = if index % 2 == 0 { index } else { index | thread << 40 };
                match filter.insert_shared_hash(hash(key)) {
                    Ok(Seen::Never) => never += 1,
                    Ok(Seen::Maybe) => {}
                    Err(Full { len, capacity: stated, .. }) => {
                        assert_eq!((len, stated), (capacity, capacity));
                        refused += 1;
                    }
                }
                assert!(filter.stats().len <= capacity);
            }
            (never, refused)
        });
        let never: u64 = outcomes.iter().map(|outcome| outcome.0).sum();
        assert_eq!(never, capacity, "nobody was refused for good while places were left");
        assert_eq!(filter.stats().len, capacity);
        assert!(outcomes.iter().any(|outcome| outcome.1 > 0));
    }
}

/// Snapshots during inserts hold what was inserted before them, and are sound.
#[test]
fn a_snapshot_holds_whole_keys() {
    let builder = SharedBloomFilter::builder().capacity(40_000).false_positive_rate(0.001);
    let filter = builder.build().unwrap();
    let inserted = AtomicU64::new(0);
    on_threads(|thread| {
        if thread > 0 {
            for index in 0..10_000 {
                let _ = filter.insert_shared_hash(hash(index | thread << 40)).unwrap();
                if thread == 1 {
                    inserted.store(index + 1, Ordering::Release);
                }
            }
            return;
        }
        for _ in 0..50 {
            let before = inserted.load(Ordering::Acquire);
            let snapshot = filter.snapshot().unwrap();
            assert!((0..before).all(|index| snapshot.contains_hash(hash(index | 1 << 40))));
            // Reading it back compares its counts with its bits.
            let file = Artefact { filter: snapshot, provenance: Provenance::default() };
            Artefact::<WordBloomFilter>::from_bytes(&file.to_bytes()).unwrap();
        }
    });
}
