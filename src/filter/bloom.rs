//! The classic Bloom filter: the reference, for any rate, and mergeable.
//!
//! ```text
//!  insert "alice": k = 3 probes, each sets one bit of m
//!                     │              │                    │
//!  bits  0 0 1 0 0 0 [1] 0 0 1 0 0 [1] 0 0 0 0 1 0 0 0 0 [1] 0
//!  contains: all k bits set → maybe;  any bit clear → never inserted, certain
//! ```
//!
//! m = −k·n / ln(1 − ε^(1/k)) bits hold n keys at rate ε; the best k is log₂(1/ε), and a key costs
//! 1.44·log₂(1/ε) bits. The formulas and their small-number corrections are in
//! [`math::bloom`](crate::math::bloom).
//!
//! Source: B. Bloom, *Space/time trade-offs in hash coding with allowable errors*, CACM 13 (1970).

use super::array::{Prober, plan_array};
use super::batch::insert_ahead;
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, Settings};
use crate::error::{BuildError, Full, Incompatible, require_equal};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed};
use crate::math::bloom::{MAX_PROBES, estimated_len, expected_rate, rate_at_fill};
use crate::membership::{
    BatchError, Insert, Membership, Merge, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::store::{Bits, Words};

/// A Bloom filter: k bits per key in an array of m.
///
/// Bits per key at 1 % / 0.1 % / 2⁻¹⁶: 9.6 / 14.4 / 23.1. An insert and a hit touch k cache
/// lines, a miss about two. It can be merged and cannot forget.
///
/// `S` holds the words: [`Words`] owns them, `&[u64]` reads a file's body in place.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let mut filter = BloomFilter::builder().capacity(10_000).false_positive_rate(0.001).build()?;
/// assert_eq!(filter.insert("alice")?, Seen::Never);
/// assert_eq!(filter.insert("alice")?, Seen::Maybe);
/// assert!(filter.contains("alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BloomFilter<S = Words> {
    settings: Settings,
    bits: Bits<S>,
    num_probes: u32,
    ones: u64,
}

impl BloomFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl sealed::Sealed for BloomFilter {}

impl Buildable for BloomFilter {
    type Options = ();

    fn plan(target: Target, (): &()) -> Result<Plan, BuildError> {
        let (bits, num_probes, capacity) = plan_array(target, 1)?;
        let rate = expected_rate(bits as f64, num_probes, capacity as f64);
        Ok(Plan::new(capacity, rate, bits, Shape::Bloom { num_probes }))
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Bloom { num_probes } = plan.shape else { unreachable!("planned above") };
        let words = Words::zeroed(plan.bit_len / 64)
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        Ok(Self { settings: settings.0, bits: Bits::new(words), num_probes, ones: 0 })
    }
}

impl<S: AsRef<[u64]>> BloomFilter<S> {
    /// Bits set per key (k).
    #[must_use]
    pub const fn num_probes(&self) -> u32 {
        self.num_probes
    }

    /// Size of the bit array (m).
    #[must_use]
    pub fn bit_len(&self) -> u64 {
        self.bits.len()
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn ones(&self) -> u64 {
        self.ones
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.bits.words()
    }

    /// Puts a filter together from stored parts, checking what can be checked in O(1).
    pub(crate) fn from_parts(
        settings: Settings,
        words: S,
        num_probes: u32,
        ones: u64,
    ) -> Result<Self, InvalidParts> {
        let bits = Bits::new(words);
        InvalidParts::unless(
            (1..=MAX_PROBES).contains(&num_probes),
            "number of probes",
            format_args!("1 to {MAX_PROBES}"),
            num_probes,
        )?;
        let len = bits.len();
        InvalidParts::unless(len > 0, "size of the bit array", "at least 64", len)?;
        InvalidParts::unless(ones <= len, "number of set bits", format_args!("0 to {len}"), ones)?;
        Ok(Self { settings, bits, num_probes, ones })
    }

    /// Compares what is stored about the bits with the bits. O(m).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let counted = self.bits.count_ones();
        InvalidParts::unless(counted == self.ones, "number of set bits", self.ones, counted)
    }

    #[inline]
    fn prober(&self) -> Prober {
        Prober { salt: self.settings.salt, num_probes: self.num_probes, range: self.bits.len() }
    }

    fn estimated_len(&self) -> f64 {
        estimated_len(self.bits.len() as f64, self.num_probes, self.ones as f64)
    }

    fn fill_ratio(&self) -> f64 {
        self.ones as f64 / self.bits.len() as f64
    }
}

impl<S> Unlock for BloomFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for BloomFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.prober().all(hash, self.bits.reader())
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let prober = self.prober();
        let test = self.bits.reader();
        if self.bits.is_large() {
            prober.all_of_batch(hashes, present, self.bits.fetcher(), test);
        } else {
            for (hash, present) in hashes.iter().zip(present) {
                *present = prober.all(*hash, test);
            }
        }
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.prober().positions(hash).for_each(self.bits.fetcher());
    }

    fn false_positive_rate(&self) -> f64 {
        rate_at_fill(self.fill_ratio(), self.num_probes)
    }

    fn stats(&self) -> Stats {
        Stats {
            capacity: self.settings.capacity,
            len: self.settings.len,
            estimated_len: self.estimated_len(),
            fill_ratio: self.fill_ratio(),
            false_positive_rate: self.false_positive_rate(),
            bit_len: self.bits.len(),
            saturated: 0,
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> BloomFilter<S> {
    /// Forgets every key. O(m).
    pub fn clear(&mut self) {
        self.bits.clear();
        self.ones = 0;
        self.settings.len = 0;
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for BloomFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for BloomFilter<S> {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        if let Some(full) = self.settings.refusal() {
            // A key that sets no new bit costs nothing and is never refused.
            return if self.contains_hash(hash) { Ok(Seen::Maybe) } else { Err(full) };
        }
        let mut new_bits = 0;
        for position in self.prober().positions(hash) {
            new_bits += u64::from(self.bits.set(position));
        }
        if new_bits == 0 {
            return Ok(Seen::Maybe);
        }
        self.ones += new_bits;
        // A file may hold any count; one that has reached the end stays there.
        self.settings.len = self.settings.len.saturating_add(1);
        Ok(Seen::Never)
    }

    #[inline]
    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        // Setting bits twice changes nothing: one pass does both.
        self.insert_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        let (prober, fetch) = (self.prober(), self.bits.fetcher());
        let ahead = self.bits.is_large();
        insert_ahead(self, ahead, hashes, seen, |hash| prober.positions(hash).for_each(fetch))
    }
}

impl<S, T> Merge<BloomFilter<T>> for BloomFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &BloomFilter<T>) -> Result<(), Incompatible> {
        self.settings.require_mergeable(&other.settings)?;
        require_equal("number of probes", &self.num_probes, &other.num_probes)?;
        require_equal("size", &self.bits.len(), &other.bits.len())?;

        let pairs = self.words().iter().zip(other.words());
        let ones = pairs.map(|(mine, theirs)| u64::from((mine | theirs).count_ones())).sum();
        let counts = [self.ones, other.ones, ones];
        let len = self.settings.merged_len(&other.settings, counts, |ones| {
            estimated_len(self.bits.len() as f64, self.num_probes, ones as f64)
        })?;
        self.bits.union_with(other.bits.words());
        self.ones = ones;
        self.settings.len = len;
        Ok(())
    }
}
