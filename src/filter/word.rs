//! The word-blocked Bloom filter: all bits of a key in one word of 64.
//!
//! ```text
//!  word = reduce(a, words)           k = 5 different bits of it, from b
//!  ┌────────────────────────────────────────────────────────────────┐
//!  │ .......1....1.......................1.....1.................1.. │
//!  └────────────────────────────────────────────────────────────────┘
//!  insert:    old = word;  word = old | mask      never seen if old lacks a bit of the mask
//! ```
//!
//! It is the Bloom filter for threads. An insert is one `or` of one word, and a processor does that
//! as one step (`fetch_or`): of all threads that insert a key at the same time exactly one finds a bit
//! missing. A filter whose bits lie in k words cannot say which thread came first: of two that set
//! the bits in turns each finds one missing, and both are told *never seen*.
//! [`SharedBloomFilter`](crate::SharedBloomFilter) is the filter whose words are atomic.
//!
//! The price is bits: 11.8 per key at 1 % and 23.1 at 0.1 %, where a line of 512 bits takes 9.95 and
//! 15.6. [`math::word`](crate::math::word) has the exact model.
//!
//! **Bits without replacement** (R. Floyd, in J. Bentley, *Programming pearls: a sample of
//! brilliance*, CACM 30, 1987): for j from 64 − k to 63 draw t in 0..=j and take t, or j if t is
//! taken already. Every set of k bits is equally likely. The draws come from `b` like digits of
//! changing base: the high half of b·(j + 1) is t, and the low half is what is left for the next;
//! ten draws use 60 of the 64 bits.

use std::fmt;

use super::blocks::Blocks;
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, Settings};
use crate::error::{BuildError, Full, Incompatible, require_equal};
use crate::hash::{HashError, KeyHash, Mixed, Salt, SecretKey, Seed, reduce};
use crate::math::bloom::MAX_BITS;
use crate::math::word::{
    LOWEST_RATE, MAX_PROBES, WORD_BITS, best_probes, estimated_len, expected_rate, least_words,
    most_keys,
};
use crate::membership::{
    BatchError, Insert, Membership, Merge, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::simd::{is_large, pipelined, prefetch};
use crate::store::Words;

/// A word-blocked Bloom filter: k different bits per key in one word of 64.
///
/// Bits per key at 1 % / 0.1 % / 2⁻¹⁶: 11.8 / 23.1 / 70.8; the lowest rate is 2⁻¹⁶. Any operation
/// touches one word. It can be merged and cannot forget. Take it where threads insert, as a
/// [`SharedBloomFilter`](crate::SharedBloomFilter), of which this is the form that is saved, opened
/// and merged; a [`BlockedBloomFilter`](crate::BlockedBloomFilter) needs fewer bits.
///
/// `S` holds the words: [`Words`] owns them, `&[u64]` reads a file's body in place.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let mut filter = WordBloomFilter::builder().capacity(10_000).false_positive_rate(0.01).build()?;
/// assert_eq!(filter.insert("alice")?, Seen::Never);
/// assert_eq!(filter.insert("alice")?, Seen::Maybe);
/// assert!(filter.contains("alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct WordBloomFilter<S = Words> {
    settings: Settings,
    words: S,
    num_probes: u32,
    ones: u64,
}

impl WordBloomFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl sealed::Sealed for WordBloomFilter {}

impl Buildable for WordBloomFilter {
    type Options = ();

    fn plan(target: Target, (): &()) -> Result<Plan, BuildError> {
        let found = Blocks {
            byte_len: u64::from(WORD_BITS) / 8,
            max: MAX_BITS as u64 / u64::from(WORD_BITS),
            lowest_rate: LOWEST_RATE,
            expected_rate,
            best_probes,
            least: least_words,
            most_keys,
        }
        .plan(target)?;
        let shape = Shape::Word { num_probes: found.num_probes };
        Ok(Plan::new(found.capacity, found.rate, found.blocks * u64::from(WORD_BITS), shape))
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Word { num_probes } = plan.shape else { unreachable!("planned above") };
        let words = Words::zeroed(plan.bit_len / u64::from(WORD_BITS))
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        Ok(Self { settings: settings.0, words, num_probes, ones: 0 })
    }
}

/// A key's word, and its bits there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) word: usize,
    pub(super) mask: u64,
}

/// Makes a key's probe from its hash.
///
/// A copy of what it needs, so that it can be used while the words are being changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prober {
    pub(super) salt: Salt,
    pub(super) words: usize,
    pub(super) num_probes: u32,
}

impl Prober {
    #[inline]
    pub(super) fn probe(self, hash: KeyHash) -> Probe {
        let Mixed { a, b } = hash.mix(self.salt);
        let (mut mask, mut rest) = (0u64, b);
        for last in WORD_BITS - self.num_probes..WORD_BITS {
            let drawn = u128::from(rest) * u128::from(last + 1);
            rest = drawn as u64;
            let bit = 1u64 << (drawn >> 64);
            mask |= if mask & bit == 0 { bit } else { 1 << last };
        }
        Probe { word: reduce(a, self.words as u64) as usize, mask }
    }
}

/// What every form of the filter says of itself.
pub(super) fn stats(settings: &Settings, words: usize, num_probes: u32, ones: u64) -> Stats {
    let bit_len = words as u64 * u64::from(WORD_BITS);
    let fill_ratio = ones as f64 / bit_len as f64;
    let estimated_len = estimated_len(words as f64, num_probes, fill_ratio);
    Stats {
        capacity: settings.capacity,
        len: settings.len,
        estimated_len,
        fill_ratio,
        false_positive_rate: expected_rate(words as f64, num_probes, estimated_len),
        bit_len,
        saturated: 0,
    }
}

impl<S: AsRef<[u64]>> WordBloomFilter<S> {
    /// Bits set per key (k), all different.
    #[must_use]
    pub const fn num_probes(&self) -> u32 {
        self.num_probes
    }

    /// Size of the bit array (m), a multiple of 64.
    #[must_use]
    pub fn bit_len(&self) -> u64 {
        self.words().len() as u64 * u64::from(WORD_BITS)
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn ones(&self) -> u64 {
        self.ones
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Puts a filter together from stored parts, checking what can be checked in O(1).
    pub(crate) fn from_parts(
        settings: Settings,
        words: S,
        num_probes: u32,
        ones: u64,
    ) -> Result<Self, InvalidParts> {
        InvalidParts::unless(
            (1..=MAX_PROBES).contains(&num_probes),
            "number of probes",
            format_args!("1 to {MAX_PROBES}"),
            num_probes,
        )?;
        let len = words.as_ref().len() as u64 * u64::from(WORD_BITS);
        InvalidParts::unless(len > 0, "size of the bit array", "at least 64", len)?;
        InvalidParts::unless(ones <= len, "number of set bits", format_args!("0 to {len}"), ones)?;
        Ok(Self::of_parts(settings, words, num_probes, ones))
    }

    /// Parts of which the same is known.
    pub(super) const fn of_parts(settings: Settings, words: S, num_probes: u32, ones: u64) -> Self {
        Self { settings, words, num_probes, ones }
    }

    /// Compares what is stored about the bits with the bits. O(m).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let counted: u64 = self.words().iter().map(|word| u64::from(word.count_ones())).sum();
        InvalidParts::unless(self.ones == counted, "number of set bits", self.ones, counted)
    }

    #[inline]
    fn prober(&self) -> Prober {
        let words = self.words().len();
        Prober { salt: self.settings.salt, words, num_probes: self.num_probes }
    }

    #[inline]
    fn holds(&self, probe: Probe) -> bool {
        self.words().get(probe.word).is_some_and(|word| probe.mask & !word == 0)
    }
}

impl<S> Unlock for WordBloomFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for WordBloomFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.holds(self.prober().probe(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let (prober, words) = (self.prober(), self.words());
        let start = |i: usize| {
            let probe = prober.probe(hashes[i]);
            prefetch(words, probe.word);
            probe
        };
        pipelined(is_large(words), hashes.len(), start, |i, probe| present[i] = self.holds(probe));
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        prefetch(self.words(), self.prober().probe(hash).word);
    }

    fn false_positive_rate(&self) -> f64 {
        self.stats().false_positive_rate
    }

    fn stats(&self) -> Stats {
        stats(&self.settings, self.words().len(), self.num_probes, self.ones)
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> WordBloomFilter<S> {
    /// Forgets every key. O(m).
    pub fn clear(&mut self) {
        self.words.as_mut().fill(0);
        self.ones = 0;
        self.settings.len = 0;
    }

    #[inline]
    fn insert_probe(&mut self, probe: Probe) -> Result<Seen, Full> {
        if self.holds(probe) {
            // A key that sets no new bit costs nothing and is never refused.
            return Ok(Seen::Maybe);
        }
        if let Some(full) = self.settings.refusal() {
            return Err(full);
        }
        if let Some(word) = self.words.as_mut().get_mut(probe.word) {
            self.ones += u64::from((probe.mask & !*word).count_ones());
            *word |= probe.mask;
        }
        // A file may hold any count; one that has reached the end stays there.
        self.settings.len = self.settings.len.saturating_add(1);
        Ok(Seen::Never)
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for WordBloomFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for WordBloomFilter<S> {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.insert_probe(self.prober().probe(hash))
    }

    #[inline]
    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        // Setting bits twice changes nothing: one pass does both.
        self.insert_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        let prober = self.prober();
        let mut probes = [Probe::default(); INSERTED_AT_ONCE];
        let mut inserted = 0;
        for (hashes, seen) in hashes.chunks(INSERTED_AT_ONCE).zip(seen.chunks_mut(INSERTED_AT_ONCE))
        {
            for (probe, &hash) in probes.iter_mut().zip(hashes) {
                *probe = prober.probe(hash);
                prefetch(self.words(), probe.word);
            }
            for (probe, seen) in probes.iter().zip(seen) {
                *seen = self
                    .insert_probe(*probe)
                    .map_err(|cause| BatchError::Full { inserted, cause })?;
                inserted += 1;
            }
        }
        Ok(())
    }
}

/// Keys whose words are asked for together.
const INSERTED_AT_ONCE: usize = 32;

impl<S, T> Merge<WordBloomFilter<T>> for WordBloomFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &WordBloomFilter<T>) -> Result<(), Incompatible> {
        self.settings.require_mergeable(&other.settings)?;
        require_equal("number of probes", &self.num_probes, &other.num_probes)?;
        require_equal("size", &self.bit_len(), &other.bit_len())?;

        let (words, bit_len) = (self.words().len() as f64, self.bit_len() as f64);
        let pairs = self.words().iter().zip(other.words());
        let ones = pairs.map(|(mine, theirs)| u64::from((mine | theirs).count_ones())).sum();
        let counts = [self.ones, other.ones, ones];
        let len = self.settings.merged_len(&other.settings, counts, |ones| {
            estimated_len(words, self.num_probes, ones as f64 / bit_len)
        })?;
        for (mine, theirs) in self.words.as_mut().iter_mut().zip(other.words()) {
            *mine |= theirs;
        }
        self.ones = ones;
        self.settings.len = len;
        Ok(())
    }
}

/// The shape; bits of a filter are not for logs, since guesses can be tested against them.
impl<S> fmt::Debug for WordBloomFilter<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WordBloomFilter")
            .field("settings", &self.settings)
            .field("num_probes", &self.num_probes)
            .finish_non_exhaustive()
    }
}
