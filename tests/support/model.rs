//! Operations on a filter against a map of counts. The property tests, the unit tests of the
//! crate and the fuzz targets share it.
//!
//! The model holds two filters built alike, so that merging meets every state:
//!
//! ```text
//!  op ──▶ current filter ──▶ compare with its counts      Merge: current ∪= spare
//!         spare filter                                    Swap:  current ⇄ spare
//! ```

use std::collections::BTreeMap;
use std::fmt::Debug;

use super::hapax::codec::{Artefact, Encode, Persist, Provenance};
use super::hapax::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, Incompatible, Insert,
    KeyHash, Membership, Merge, Remove, Removed, RetiringCuckooFilter, Seed, Seen,
    SharedBloomFilter, WordBloomFilter,
};

/// A filter under test. What a kind cannot do is `None`.
pub trait Subject: Insert + Clone + Debug {
    /// Whether each insert stores a copy, so that `len` counts copies.
    const MULTISET: bool;

    /// The whole state, to the bit.
    fn bytes(&self) -> Vec<u8>;

    /// Panics if what the filter keeps about its words is not what the words say.
    fn assert_valid(&self) {}

    fn clear(&mut self);

    fn try_remove(&mut self, _: KeyHash) -> Option<Removed> {
        None
    }

    fn try_merge(&mut self, _: &Self) -> Option<Result<(), Incompatible>> {
        None
    }
}

/// The file of a filter, which holds every field and every word.
fn file_of(filter: &impl Encode) -> Vec<u8> {
    Artefact { filter, provenance: Provenance::default() }.to_bytes()
}

/// Reads a filter's file back, which compares what it keeps about its words with the words.
fn assert_valid<F: Persist>(filter: &F) {
    let bytes = file_of(filter);
    match Artefact::<F>::from_bytes(&bytes) {
        Ok(back) => assert!(file_of(&back.filter) == bytes, "it comes back changed"),
        Err(error) => panic!("it cannot be read back: {error}"),
    }
}

/// What every kind that can be stored has alike.
macro_rules! stored {
    () => {
        fn bytes(&self) -> Vec<u8> {
            file_of(self)
        }

        fn assert_valid(&self) {
            assert_valid(self);
        }

        fn clear(&mut self) {
            self.clear();
        }
    };
}

/// What every kind that merges has alike.
macro_rules! merges {
    () => {
        fn try_merge(&mut self, other: &Self) -> Option<Result<(), Incompatible>> {
            Some(self.merge(other))
        }
    };
}

/// What every kind that removes has alike.
macro_rules! removes {
    () => {
        fn try_remove(&mut self, hash: KeyHash) -> Option<Removed> {
            Some(self.remove_hash(hash))
        }
    };
}

impl Subject for BloomFilter {
    const MULTISET: bool = false;
    stored!();
    merges!();
}

impl Subject for BlockedBloomFilter {
    const MULTISET: bool = false;
    stored!();
    merges!();
}

impl Subject for WordBloomFilter {
    const MULTISET: bool = false;
    stored!();
    merges!();
}

impl Subject for SharedBloomFilter {
    const MULTISET: bool = false;

    fn bytes(&self) -> Vec<u8> {
        file_of(&self.snapshot().unwrap())
    }

    fn assert_valid(&self) {
        let snapshot = self.snapshot().unwrap();
        assert_valid(&snapshot);
        assert_eq!(snapshot.stats(), self.stats(), "a snapshot knows what its filter knows");
        assert_eq!(Self::try_from(&snapshot).unwrap().bytes(), self.bytes());
    }

    fn clear(&mut self) {
        self.clear();
    }
}

impl Subject for CountingBloomFilter {
    const MULTISET: bool = true;
    stored!();
    removes!();
    merges!();
}

impl Subject for CuckooFilter {
    const MULTISET: bool = true;
    stored!();
    removes!();
}

impl Subject for RetiringCuckooFilter {
    const MULTISET: bool = false;

    fn bytes(&self) -> Vec<u8> {
        file_of(self)
    }

    fn assert_valid(&self) {
        assert_valid(self);
    }

    fn clear(&mut self) {
        self.clear();
    }
}

/// One operation. Keys are one byte, so that sequences meet the same key again.
#[derive(Clone, Copy, Debug)]
pub enum Op {
    /// Insert a key so many times.
    Insert { key: u8, times: u8 },
    /// Insert it unless it may be there.
    InsertUnique { key: u8 },
    /// Take it back so many times, but no more often than it is there.
    Remove { key: u8, times: u8 },
    /// Ask for it.
    Contains { key: u8 },
    /// Add the spare filter to the current one.
    Merge,
    /// Go on with the spare filter.
    Swap,
    /// Forget everything.
    Clear,
}

/// Runs operations on copies of an empty filter and panics where filter and model part.
pub fn run<F: Subject>(empty: &F, ops: &[Op]) {
    let mut current = Modelled::new(empty);
    let mut spare = Modelled::new(empty);
    for &op in ops {
        match op {
            Op::Insert { key, times } => (0..times).for_each(|_| current.insert(key)),
            Op::InsertUnique { key } => current.insert_unique(key),
            Op::Remove { key, times } => (0..times).for_each(|_| current.remove(key)),
            Op::Contains { key } => current.contains(key),
            Op::Merge => current.merge(&spare),
            Op::Swap => std::mem::swap(&mut current, &mut spare),
            Op::Clear => current.clear(),
        }
        current.check();
    }
}

/// A filter and what is in it.
struct Modelled<'a, F> {
    empty: &'a F,
    filter: F,
    /// Copies of each key; no zeros.
    counts: BTreeMap<u8, u64>,
}

fn hash(key: u8) -> KeyHash {
    Seed::default().hash(&key).unwrap()
}

impl<'a, F: Subject> Modelled<'a, F> {
    fn new(empty: &'a F) -> Self {
        Self { empty, filter: empty.clone(), counts: BTreeMap::new() }
    }

    fn bytes(&self) -> Vec<u8> {
        self.filter.bytes()
    }

    fn stored(&mut self, key: u8, seen: Seen) {
        if seen == Seen::Never {
            assert_eq!(self.counts.get(&key), None, "{key} was inserted before: Never is certain");
        }
        *self.counts.entry(key).or_default() += 1;
    }

    fn insert(&mut self, key: u8) {
        let before = self.bytes();
        let present = self.filter.contains_hash(hash(key));
        match self.filter.insert_hash(hash(key)) {
            Ok(seen) => {
                assert_eq!(seen == Seen::Maybe, present, "{key}: insert and contains agree");
                self.stored(key, seen);
            }
            Err(full) => assert!(self.bytes() == before, "{key} was refused: {full}"),
        }
    }

    fn insert_unique(&mut self, key: u8) {
        let before = self.bytes();
        match self.filter.insert_unique_hash(hash(key)) {
            Ok(Seen::Never) => self.stored(key, Seen::Never),
            Ok(Seen::Maybe) => assert!(self.bytes() == before, "{key}: Maybe stores nothing"),
            Err(full) => assert!(self.bytes() == before, "{key} was refused: {full}"),
        }
    }

    fn remove(&mut self, key: u8) {
        let Some(count) = self.counts.get_mut(&key) else { return };
        let before = self.filter.bytes();
        match self.filter.try_remove(hash(key)) {
            None => {}
            Some(Removed::Removed) => {
                *count -= 1;
                if *count == 0 {
                    self.counts.remove(&key);
                }
            }
            Some(Removed::Absent) => panic!("{key} is there {count} times, found absent"),
            Some(Removed::Pinned) => {
                assert!(self.filter.stats().saturated > 0, "{key} is pinned by no counter");
                assert!(self.bytes() == before, "{key} is pinned: nothing changes");
            }
        }
    }

    fn contains(&self, key: u8) {
        let known = self.counts.contains_key(&key);
        assert!(self.filter.contains_hash(hash(key)) || !known, "{key} is a member, found denied");
    }

    fn merge(&mut self, spare: &Self) {
        let before = self.bytes();
        match self.filter.try_merge(&spare.filter) {
            None => {}
            Some(Ok(())) => {
                for (key, count) in &spare.counts {
                    *self.counts.entry(*key).or_default() += count;
                }
            }
            Some(Err(error)) => assert!(self.bytes() == before, "refused: {error}"),
        }
    }

    fn clear(&mut self) {
        self.filter.clear();
        self.counts.clear();
    }

    /// What holds after every operation.
    fn check(&self) {
        for &key in self.counts.keys() {
            self.contains(key);
        }
        self.filter.assert_valid();
        let stats = self.filter.stats();
        assert!((0.0..=1.0).contains(&stats.fill_ratio), "{stats:?}");
        assert!((0.0..=1.0).contains(&stats.false_positive_rate), "{stats:?}");
        if F::MULTISET {
            assert_eq!(stats.len, self.counts.values().sum::<u64>(), "len counts copies");
        } else {
            assert!(stats.len <= self.counts.values().sum(), "{stats:?}");
        }
        // Nothing in, nothing pinned: not a bit is left behind.
        if self.counts.is_empty() && stats.saturated == 0 {
            assert!(self.bytes() == self.empty.bytes(), "empty, but not as new");
        }
    }
}
