//! The word-blocked Bloom filter with atomic words: many threads insert, and each key has one first.
//!
//! ```text
//!  thread 1:  fetch_or(mask) ──▶ old lacks a bit of the mask     Never
//!  thread 2:  fetch_or(mask) ──▶ old has all of them             Maybe
//! ```
//!
//! **One winner.** The processor puts all changes of one word into one order, whatever the
//! orderings asked for. The first `fetch_or` of that order after which the mask is complete finds a bit
//! missing, and every later one finds none. No lock, no loop, no second word.
//!
//! **The capacity** is a place that is taken before the word is touched and given back if the race is
//! lost, so more keys than places can never be in. The other way round, counting afterwards, lets
//! as many keys too many in as there are threads. The price is at the other end: while a loser holds
//! the last place, a third thread may be refused.
//!
//! ```text
//!  load word ── all bits there ──▶ Maybe            repeats touch nothing but the word
//!      │
//!  take a place ── none left ──▶ load word again ── all bits there ──▶ Maybe
//!      │                                        └── else ──▶ Full
//!  fetch_or ── a bit was missing ──▶ Never, the place is kept
//!      └────── none was ──▶ Maybe, the place is given back
//! ```
//!
//! **Memory ordering.** The counts are relaxed: each is one variable that is only added to,
//! compared and subtracted from, and nothing else is read on the strength of them. The words are read
//! with *acquire* and changed with *acquire* and *release*, for the users' sake: what the thread that
//! inserted a key wrote before is visible to whoever finds the key's bits. (On x86 that costs
//! nothing.) `tests/loom.rs` runs the races through all interleavings.

use std::fmt;

use super::Settings;
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::settings::PastCapacity;
use super::word::{Probe, Prober, WordBloomFilter, stats};
use crate::error::{BuildError, Full, FullReason};
use crate::hash::{HashError, KeyHash, SecretKey, Seed};
use crate::membership::{Insert, Membership, Seen, SharedInsert, Stats, Unlock};
use crate::simd::prefetch;
use crate::store::Words;
use crate::sync::{AtomicU64, Ordering};

/// A Bloom filter into which many threads insert at once, by `&self`.
///
/// Of the threads that insert a key at the same time exactly one is told [`Seen::Never`]. For that
/// a key lives in one word of 64 bits, which costs 11.8 bits per key at 1 % and 23.1 at 0.1 %; an
/// insert of a new key is one `fetch_or` and two counters.
///
/// To save, merge or map it, take a [`snapshot`](Self::snapshot); `try_from` makes a shared filter of
/// a [`WordBloomFilter`] again.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let seen = SharedBloomFilter::builder().capacity(10_000).false_positive_rate(0.001).build()?;
/// let firsts = std::thread::scope(|scope| {
///     let count = || (0..1_000u32).filter(|id| seen.insert_shared(id) == Ok(Seen::Never)).count();
///     let threads = [scope.spawn(count), scope.spawn(count)];
///     threads.into_iter().map(|thread| thread.join().unwrap()).sum::<usize>()
/// });
/// assert!(firsts <= 1_000 && firsts > 990);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedBloomFilter {
    /// Its `len` is not in use.
    settings: Settings,
    words: Box<[AtomicU64]>,
    num_probes: u32,
    /// Places taken: keys inserted, and those being inserted.
    len: AtomicU64,
    ones: AtomicU64,
}

impl SharedBloomFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }

    /// Bits set per key (k), all different.
    #[must_use]
    pub const fn num_probes(&self) -> u32 {
        self.num_probes
    }

    /// A copy to save, merge or read from, also while threads insert. O(m).
    ///
    /// Keys inserted before the call are in it. Of those inserted meanwhile each is in it as a whole
    /// or not at all.
    ///
    /// # Errors
    ///
    /// [`BuildError::OutOfMemory`].
    pub fn snapshot(&self) -> Result<WordBloomFilter, BuildError> {
        let mut words = Words::zeroed(self.words.len() as u64).ok_or_else(|| self.no_memory())?;
        let mut ones = 0;
        for (copy, word) in words.as_mut().iter_mut().zip(&self.words) {
            *copy = word.load(Ordering::Acquire);
            ones += u64::from(copy.count_ones());
        }
        Ok(WordBloomFilter::of_parts(self.settings_now(), words, self.num_probes, ones))
    }

    /// Forgets every key. O(m).
    pub fn clear(&mut self) {
        for count in self.words.iter().chain([&self.len, &self.ones]) {
            count.store(0, Ordering::Relaxed);
        }
    }

    fn new<'a>(
        settings: Settings,
        words: impl ExactSizeIterator<Item = &'a u64>,
        num_probes: u32,
        ones: u64,
    ) -> Option<Self> {
        let mut atomic = Vec::new();
        atomic.try_reserve_exact(words.len()).ok()?;
        atomic.extend(words.map(|&word| AtomicU64::new(word)));
        let len = AtomicU64::new(settings.len);
        let ones = AtomicU64::new(ones);
        Some(Self { settings, words: atomic.into(), num_probes, len, ones })
    }

    fn no_memory(&self) -> BuildError {
        BuildError::OutOfMemory { byte_len: self.words.len() as u64 * 8 }
    }

    fn settings_now(&self) -> Settings {
        Settings { len: self.len.load(Ordering::Relaxed), ..self.settings.clone() }
    }

    #[inline]
    fn probe(&self, hash: KeyHash) -> Probe {
        let (salt, words) = (self.settings.salt, self.words.len());
        Prober { salt, words, num_probes: self.num_probes }.probe(hash)
    }

    /// The word of a key. It is there: the probe was reduced to the number of words.
    #[inline]
    fn word(&self, probe: Probe) -> Option<&AtomicU64> {
        self.words.get(probe.word)
    }

    #[inline]
    fn holds(&self, probe: Probe) -> bool {
        self.word(probe).is_some_and(|word| probe.mask & !word.load(Ordering::Acquire) == 0)
    }

    /// Takes a place for one more key, if there is one.
    fn take_place(&self) -> Result<(), Full> {
        let next = |len: u64| match self.settings.past_capacity {
            PastCapacity::Refuse if len >= self.settings.capacity => None,
            // A file may hold any count; one that has reached the end stays there.
            _ => Some(len.saturating_add(1)),
        };
        match self.len.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Ok(()),
            Err(len) => Err(Full::new(FullReason::Capacity, len, self.settings.capacity)),
        }
    }
}

impl sealed::Sealed for SharedBloomFilter {}

impl Buildable for SharedBloomFilter {
    type Options = ();

    fn plan(target: Target, options: &()) -> Result<Plan, BuildError> {
        WordBloomFilter::plan(target, options)
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Word { num_probes } = plan.shape else { unreachable!("planned above") };
        let out_of_memory = || BuildError::OutOfMemory { byte_len: plan.byte_len() };
        let words = usize::try_from(plan.bit_len / 64).map_err(|_| out_of_memory())?;
        Self::new(settings.0, std::iter::repeat_n(&0, words), num_probes, 0)
            .ok_or_else(out_of_memory)
    }
}

/// A copy as [`snapshot`](SharedBloomFilter::snapshot) takes it.
impl Clone for SharedBloomFilter {
    fn clone(&self) -> Self {
        let words = self.words.iter().map(|word| word.load(Ordering::Acquire));
        let words: Box<[_]> = words.collect();
        let ones = words.iter().map(|word| u64::from(word.count_ones())).sum();
        Self {
            settings: self.settings.clone(),
            words: words.iter().map(|&word| AtomicU64::new(word)).collect(),
            num_probes: self.num_probes,
            len: AtomicU64::new(self.len.load(Ordering::Relaxed)),
            ones: AtomicU64::new(ones),
        }
    }
}

/// The same members. Fails only for want of memory.
impl<S: AsRef<[u64]>> TryFrom<&WordBloomFilter<S>> for SharedBloomFilter {
    type Error = BuildError;

    fn try_from(filter: &WordBloomFilter<S>) -> Result<Self, BuildError> {
        let (words, settings) = (filter.words(), filter.settings().clone());
        Self::new(settings, words.iter(), filter.num_probes(), filter.ones())
            .ok_or(BuildError::OutOfMemory { byte_len: words.len() as u64 * 8 })
    }
}

impl Unlock for SharedBloomFilter {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl Membership for SharedBloomFilter {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.holds(self.probe(hash))
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        prefetch(&self.words, self.probe(hash).word);
    }

    fn false_positive_rate(&self) -> f64 {
        self.stats().false_positive_rate
    }

    /// While threads insert, each of them may be counted one key early.
    fn stats(&self) -> Stats {
        let ones = self.ones.load(Ordering::Relaxed);
        stats(&self.settings_now(), self.words.len(), self.num_probes, ones)
    }
}

impl SharedInsert for SharedBloomFilter {
    fn insert_shared_hash(&self, hash: KeyHash) -> Result<Seen, Full> {
        let probe = self.probe(hash);
        if self.holds(probe) {
            // A key that sets no new bit costs nothing and is never refused.
            return Ok(Seen::Maybe);
        }
        if let Err(full) = self.take_place() {
            // The last place may have gone to this very key.
            return if self.holds(probe) { Ok(Seen::Maybe) } else { Err(full) };
        }
        let old =
            self.word(probe).map_or(u64::MAX, |word| word.fetch_or(probe.mask, Ordering::AcqRel));
        let new_bits = probe.mask & !old;
        if new_bits == 0 {
            self.len.fetch_sub(1, Ordering::Relaxed);
            return Ok(Seen::Maybe);
        }
        self.ones.fetch_add(u64::from(new_bits.count_ones()), Ordering::Relaxed);
        Ok(Seen::Never)
    }
}

impl Insert for SharedBloomFilter {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.insert_shared_hash(hash)
    }

    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.insert_shared_hash(hash)
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl fmt::Debug for SharedBloomFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedBloomFilter")
            .field("settings", &self.settings_now())
            .field("num_probes", &self.num_probes)
            .finish_non_exhaustive()
    }
}
