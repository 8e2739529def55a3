//! The counting Bloom filter: a Bloom filter that can forget, by counters that stick when full.
//!
//! ```text
//!  insert: +1 on the key's distinct counters     remove: −1 on those that are not full
//!  4-bit counters  0 0 2 0 1 15 0 1 …            15 = saturated: stays 15 for good
//! ```
//!
//! A counter that is full has lost count, so it is never lowered again: it becomes a permanent 1
//! bit, which costs false positives and never a member. With distinct keys 4 bits suffice: the
//! counters are about Poisson(ln 2), and P(≥ 15) is 2·10⁻¹⁵ each. Repeats of one key are what fills
//! them: fifteen inserts of the same key pin its counters.
//!
//! A key's positions may coincide. Each *distinct* position is raised once and lowered once, so
//! that insert and remove are mirror images.
//!
//! Source: L. Fan et al., *Summary cache*, IEEE/ACM Trans. Networking 8 (2000); the sticking
//! counters are in their section V.C.

use super::array::{Prober, plan_array};
use super::batch::insert_ahead;
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, PastCapacity, Settings};
use crate::error::{BuildError, Full, Incompatible, require_equal};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed};
use crate::math::bloom::{MAX_PROBES, estimated_len, expected_rate, rate_at_fill};
use crate::membership::{
    BatchError, Insert, Membership, Merge, Remove, Removed, Restart, Seen, Stats, Unlock,
    check_lengths,
};
use crate::store::{Counters, Words};

/// A counting Bloom filter: k counters of 4 or 8 bits per key.
///
/// Four (or eight) times the bits of a [`BloomFilter`](super::BloomFilter) at the same rate. It
/// can remove and merge. It is a multiset: `len` counts copies, and the capacity bounds copies.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let mut filter =
///     CountingBloomFilter::builder().capacity(10_000).false_positive_rate(0.01).build()?;
/// let _ = filter.insert("alice")?;
/// assert_eq!(filter.remove("alice")?, Removed::Removed);
/// assert!(!filter.contains("alice")?);
/// assert_eq!(filter.remove("alice")?, Removed::Absent);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CountingBloomFilter<S = Words> {
    settings: Settings,
    counters: Counters<S>,
    num_probes: u32,
    used: u64,
    saturated: u64,
}

/// Options of the builder.
#[doc(hidden)]
#[derive(Clone, Debug)]
pub struct CountingOptions {
    counter_bits: u32,
}

impl Default for CountingOptions {
    fn default() -> Self {
        Self { counter_bits: 4 }
    }
}

impl CountingBloomFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl Builder<CountingBloomFilter> {
    /// Bits in a counter: 4 (the default), or 8 for keys that are inserted many times at once.
    pub const fn counter_bits(mut self, bits: u32) -> Self {
        self.options.counter_bits = bits;
        self
    }
}

impl sealed::Sealed for CountingBloomFilter {}

impl Buildable for CountingBloomFilter {
    type Options = CountingOptions;

    fn plan(target: Target, options: &CountingOptions) -> Result<Plan, BuildError> {
        let counter_bits = options.counter_bits;
        if !matches!(counter_bits, 4 | 8) {
            return Err(BuildError::Option {
                name: "counter_bits",
                expected: "4 or 8",
                found: counter_bits.into(),
            });
        }
        let (counters, num_probes, capacity) = plan_array(target, counter_bits)?;
        let rate = expected_rate(counters as f64, num_probes, capacity as f64);
        let bit_len = counters * u64::from(counter_bits);
        Ok(Plan::new(capacity, rate, bit_len, Shape::Counting { num_probes, counter_bits }))
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Counting { num_probes, counter_bits } = plan.shape else {
            unreachable!("planned above")
        };
        let words = Words::zeroed(plan.bit_len / 64)
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        let counters = Counters::new(words, counter_bits);
        Ok(Self { settings: settings.0, counters, num_probes, used: 0, saturated: 0 })
    }
}

/// The distinct positions of one key.
struct Positions {
    all: [u64; MAX_PROBES as usize],
    len: usize,
}

impl Positions {
    fn as_slice(&self) -> &[u64] {
        self.all.get(..self.len).unwrap_or(&[])
    }
}

impl<S: AsRef<[u64]>> CountingBloomFilter<S> {
    /// Counters raised per key (k).
    #[must_use]
    pub const fn num_probes(&self) -> u32 {
        self.num_probes
    }

    /// Bits in a counter.
    #[must_use]
    pub const fn counter_bits(&self) -> u32 {
        self.counters.bits()
    }

    /// Counters that are full and stay so. Each costs a little rate for good; a filter in which
    /// they are more than a few has seen keys repeated and should be rebuilt.
    #[must_use]
    pub const fn saturated(&self) -> u64 {
        self.saturated
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn used(&self) -> u64 {
        self.used
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.counters.words()
    }

    /// Puts a filter together from stored parts, checking what can be checked in O(1).
    pub(crate) fn from_parts(
        settings: Settings,
        words: S,
        counter_bits: u32,
        num_probes: u32,
        (used, saturated): (u64, u64),
    ) -> Result<Self, InvalidParts> {
        InvalidParts::unless(
            matches!(counter_bits, 4 | 8),
            "bits in a counter",
            "4 or 8",
            counter_bits,
        )?;
        InvalidParts::unless(
            (1..=MAX_PROBES).contains(&num_probes),
            "number of probes",
            format_args!("1 to {MAX_PROBES}"),
            num_probes,
        )?;
        let counters = Counters::new(words, counter_bits);
        let len = counters.len();
        InvalidParts::unless(len > 0, "number of counters", "at least 8", len)?;
        InvalidParts::unless(
            saturated <= used && used <= len,
            "number of counters in use",
            format_args!("{saturated} to {len}"),
            used,
        )?;
        Ok(Self { settings, counters, num_probes, used, saturated })
    }

    /// Compares what is stored about the counters with the counters. O(m).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let (used, saturated) = self.counters.count();
        InvalidParts::unless(used == self.used, "number of counters in use", self.used, used)?;
        InvalidParts::unless(
            saturated == self.saturated,
            "number of saturated counters",
            self.saturated,
            saturated,
        )
    }

    #[inline]
    fn prober(&self) -> Prober {
        Prober { salt: self.settings.salt, num_probes: self.num_probes, range: self.counters.len() }
    }

    fn positions(&self, hash: KeyHash) -> Positions {
        let mut positions = Positions { all: [0; MAX_PROBES as usize], len: 0 };
        for position in self.prober().positions(hash) {
            // k is small and coincidences are rare: a scan beats any set.
            if !positions.as_slice().contains(&position) {
                positions.all[positions.len] = position;
                positions.len += 1;
            }
        }
        positions
    }

    fn fill_ratio(&self) -> f64 {
        self.used as f64 / self.counters.len() as f64
    }
}

impl<S> Unlock for CountingBloomFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for CountingBloomFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.prober().all(hash, |position| u64::from(self.counters.get(position) != 0))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let prober = self.prober();
        let test = |position| u64::from(self.counters.get(position) != 0);
        if self.counters.is_large() {
            prober.all_of_batch(hashes, present, self.counters.fetcher(), test);
        } else {
            for (hash, present) in hashes.iter().zip(present) {
                *present = prober.all(*hash, test);
            }
        }
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.prober().positions(hash).for_each(self.counters.fetcher());
    }

    fn false_positive_rate(&self) -> f64 {
        rate_at_fill(self.fill_ratio(), self.num_probes)
    }

    fn stats(&self) -> Stats {
        let counters = self.counters.len();
        Stats {
            capacity: self.settings.capacity,
            len: self.settings.len,
            estimated_len: estimated_len(counters as f64, self.num_probes, self.used as f64),
            fill_ratio: self.fill_ratio(),
            false_positive_rate: self.false_positive_rate(),
            bit_len: counters * u64::from(self.counters.bits()),
            saturated: self.saturated,
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> CountingBloomFilter<S> {
    /// Forgets every key, pinned ones too. O(m).
    pub fn clear(&mut self) {
        self.counters.clear();
        self.used = 0;
        self.saturated = 0;
        self.settings.len = 0;
    }

    /// Stores a counter and keeps the totals right.
    #[inline]
    fn store(&mut self, position: u64, old: u64, new: u64) {
        self.counters.set(position, new);
        self.used = self.used + u64::from(old == 0) - u64::from(new == 0);
        self.saturated += u64::from(old < new && new == self.counters.max());
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for CountingBloomFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for CountingBloomFilter<S> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        if let Some(full) = self.settings.refusal() {
            return Err(full);
        }
        let max = self.counters.max();
        let mut seen = Seen::Maybe;
        for &position in self.positions(hash).as_slice() {
            let old = self.counters.get(position);
            if old == 0 {
                seen = Seen::Never;
            }
            if old < max {
                self.store(position, old, old + 1);
            }
        }
        // A file may hold any count; one that has reached the end stays there.
        self.settings.len = self.settings.len.saturating_add(1);
        Ok(seen)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        let (prober, fetch) = (self.prober(), self.counters.fetcher());
        let ahead = self.counters.is_large();
        insert_ahead(self, ahead, hashes, seen, |hash| prober.positions(hash).for_each(fetch))
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Remove for CountingBloomFilter<S> {
    fn remove_hash(&mut self, hash: KeyHash) -> Removed {
        let positions = self.positions(hash);
        let max = self.counters.max();
        let counters = &self.counters;
        if positions.as_slice().iter().any(|&position| counters.get(position) == 0) {
            return Removed::Absent;
        }
        let mut removed = Removed::Pinned;
        for &position in positions.as_slice() {
            let old = self.counters.get(position);
            if old < max {
                self.store(position, old, old - 1);
                removed = Removed::Removed;
            }
        }
        if removed == Removed::Removed {
            self.settings.len = self.settings.len.saturating_sub(1);
        }
        removed
    }
}

impl<S, T> Merge<CountingBloomFilter<T>> for CountingBloomFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &CountingBloomFilter<T>) -> Result<(), Incompatible> {
        self.settings.require_mergeable(&other.settings)?;
        require_equal("number of probes", &self.num_probes, &other.num_probes)?;
        require_equal("bits in a counter", &self.counters.bits(), &other.counters.bits())?;
        require_equal("size", &self.counters.len(), &other.counters.len())?;

        let len = self.settings.len.saturating_add(other.settings.len);
        if len > self.settings.capacity && self.settings.past_capacity == PastCapacity::Refuse {
            return Err(Incompatible::OverCapacity {
                estimated_len: len as f64,
                capacity: self.settings.capacity,
            });
        }
        let max = self.counters.max();
        for position in 0..self.counters.len() {
            let (mine, theirs) = (self.counters.get(position), other.counters.get(position));
            if theirs > 0 && mine < max {
                self.store(position, mine, (mine + theirs).min(max));
            }
        }
        self.settings.len = len;
        Ok(())
    }
}
