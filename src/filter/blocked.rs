//! The blocked Bloom filter: all bits of a key in one cache line.
//!
//! ```text
//!  line = reduce(a, lines)           8 lanes of 64 bits; k = 6: one bit in each of 6 lanes
//!  ┌──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────┬──────────┐
//!  │ ..1..... │ .....1.. │          │ 1....... │ ...1.... │          │ .......1 │ .1...... │
//!  └──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────┴──────────┘
//! ```
//!
//! A lookup is one cache miss instead of two to k, and has no branch that a stranger makes
//! unpredictable: hits, misses and mixes cost the same. The price is in bits: some lines get more
//! keys than others. [`math::blocked`](crate::math::blocked) has the exact model.
//!
//! The line comes from `a` of the mixed hash, the bits in it from `b`.
//!
//! Sources: as in the model; lanes of a full round are the scheme of Apache Parquet's split-block
//! filter, doubled to 64 bits, which is worth 4 % of the bits at 1 % and 7 % at 0.1 %.

use std::sync::OnceLock;

use super::blocks::Blocks;
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, Settings};
use crate::error::{BuildError, Full, Incompatible, require_equal};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed, reduce};
use crate::math::blocked::{
    LINE_BITS, LOWEST_RATE, MAX_PROBES, RateCurve, best_probes, estimated_len, expected_rate,
    least_lines, most_keys,
};
use crate::math::bloom::MAX_BITS;
use crate::membership::{
    BatchError, Insert, Membership, Merge, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::simd::{LINE_WORDS, Probe};
use crate::store::{Lines, Words};

/// A blocked Bloom filter: k bits per key in one line of 512.
///
/// Bits per key at 1 % / 0.1 % / 2⁻¹⁶: 9.95 / 15.6 / 28.3; the lowest rate is 2⁻²⁰. Any operation
/// touches one cache line. It can be merged and cannot forget.
///
/// `S` holds the words: [`Words`] owns them, `&[u64]` reads a file's body in place.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let mut filter =
///     BlockedBloomFilter::builder().capacity(10_000).false_positive_rate(0.01).build()?;
/// let hashes: Vec<KeyHash> =
///     (0..10_000u32).map(|id| filter.seed().hash(&id)).collect::<Result<_, _>>()?;
/// let mut seen = vec![Seen::Maybe; hashes.len()];
/// filter.insert_batch(&hashes, &mut seen)?;
/// assert!(filter.contains(&5u32)?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BlockedBloomFilter<S = Words> {
    settings: Settings,
    lines: Lines<S>,
    ones: u64,
    /// Made when the rate is first asked for.
    curve: OnceLock<RateCurve>,
}

impl BlockedBloomFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl sealed::Sealed for BlockedBloomFilter {}

impl Buildable for BlockedBloomFilter {
    type Options = ();

    fn plan(target: Target, (): &()) -> Result<Plan, BuildError> {
        let found = Blocks {
            byte_len: LINE_BITS / 8,
            max: MAX_BITS as u64 / LINE_BITS,
            lowest_rate: LOWEST_RATE,
            expected_rate,
            best_probes,
            least: least_lines,
            most_keys,
        }
        .plan(target)?;
        let shape = Shape::Blocked { num_probes: found.num_probes };
        Ok(Plan::new(found.capacity, found.rate, found.blocks * LINE_BITS, shape))
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Blocked { num_probes } = plan.shape else { unreachable!("planned above") };
        let words = Words::zeroed(plan.bit_len / 64)
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        Ok(Self::new(settings.0, words, num_probes, 0))
    }
}

/// Makes a key's probe from its hash.
///
/// A copy of what it needs, so that it can be used while the lines are being changed.
#[derive(Clone, Copy)]
pub(super) struct Prober {
    salt: Salt,
    pub(super) lines: u64,
}

/// What some inserts changed.
#[derive(Clone, Copy, Default)]
pub(super) struct Inserted {
    keys: u64,
    ones: u64,
}

impl Inserted {
    /// Counts an insert that set so many bits.
    #[inline]
    pub(super) fn add_key(&mut self, new_bits: u32) {
        self.keys += u64::from(new_bits != 0);
        self.ones += u64::from(new_bits);
    }

    #[cfg(feature = "rayon")]
    pub(super) const fn plus(self, other: Self) -> Self {
        Self { keys: self.keys + other.keys, ones: self.ones + other.ones }
    }
}

impl Prober {
    #[inline]
    pub(super) fn probe(self, hash: KeyHash) -> Probe {
        let mixed = hash.mix(self.salt);
        Probe { line: reduce(mixed.a, self.lines) as usize, bits: mixed.b }
    }
}

impl<S: AsRef<[u64]>> BlockedBloomFilter<S> {
    fn new(settings: Settings, words: S, num_probes: u32, ones: u64) -> Self {
        Self { settings, lines: Lines::new(words, num_probes), ones, curve: OnceLock::new() }
    }

    /// Bits set per key (k).
    #[must_use]
    pub const fn num_probes(&self) -> u32 {
        self.lines.num_probes()
    }

    /// Size of the bit array (m), a multiple of 512.
    #[must_use]
    pub fn bit_len(&self) -> u64 {
        self.lines.len() * LINE_BITS
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) const fn ones(&self) -> u64 {
        self.ones
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.lines.words()
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
        let found = words.as_ref().len();
        InvalidParts::unless(
            found > 0 && found.is_multiple_of(LINE_WORDS),
            "number of words",
            "a multiple of 8, and not 0",
            found,
        )?;
        let len = found as u64 * 64;
        InvalidParts::unless(ones <= len, "number of set bits", format_args!("0 to {len}"), ones)?;
        Ok(Self::new(settings, words, num_probes, ones))
    }

    /// Compares what is stored about the bits with the bits. O(m).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let counted = self.lines.count_ones();
        InvalidParts::unless(counted == self.ones, "number of set bits", self.ones, counted)
    }

    pub(super) fn prober(&self) -> Prober {
        Prober { salt: self.settings.salt, lines: self.lines.len() }
    }

    fn fill_ratio(&self) -> f64 {
        self.ones as f64 / self.bit_len() as f64
    }

    fn estimated_len(&self, ones: u64) -> f64 {
        let fill = ones as f64 / self.bit_len() as f64;
        estimated_len(self.lines.len() as f64, self.num_probes(), fill)
    }
}

impl<S> Unlock for BlockedBloomFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for BlockedBloomFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.lines.contains(self.prober().probe(hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let prober = self.prober();
        let probe = |i: usize| prober.probe(hashes[i]);
        self.lines.contains_all(hashes.len(), probe, |i, found| present[i] = found);
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.lines.prefetch(self.prober().probe(hash));
    }

    fn false_positive_rate(&self) -> f64 {
        let curve = || RateCurve::new(self.lines.len() as f64, self.num_probes());
        self.curve.get_or_init(curve).rate_at(self.fill_ratio())
    }

    fn stats(&self) -> Stats {
        Stats {
            capacity: self.settings.capacity,
            len: self.settings.len,
            estimated_len: self.estimated_len(self.ones),
            fill_ratio: self.fill_ratio(),
            false_positive_rate: self.false_positive_rate(),
            bit_len: self.bit_len(),
            saturated: 0,
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> BlockedBloomFilter<S> {
    #[cfg(feature = "rayon")]
    pub(super) const fn lines_mut(&mut self) -> &mut Lines<S> {
        &mut self.lines
    }

    /// Enters inserts into the accounts.
    pub(super) const fn account(&mut self, inserted: Inserted) {
        self.ones += inserted.ones;
        // A file may hold any count; one that has reached the end stays there.
        self.settings.len = self.settings.len.saturating_add(inserted.keys);
    }

    /// Forgets every key. O(m).
    pub fn clear(&mut self) {
        self.lines.clear();
        self.ones = 0;
        self.settings.len = 0;
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for BlockedBloomFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for BlockedBloomFilter<S> {
    #[inline]
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        let probe = self.prober().probe(hash);
        if let Some(full) = self.settings.refusal() {
            // A key that sets no new bit costs nothing and is never refused.
            return if self.lines.contains(probe) { Ok(Seen::Maybe) } else { Err(full) };
        }
        let new_bits = self.lines.insert(probe);
        let mut inserted = Inserted::default();
        inserted.add_key(new_bits);
        self.account(inserted);
        Ok(if new_bits == 0 { Seen::Maybe } else { Seen::Never })
    }

    #[inline]
    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        // Setting bits twice changes nothing: one pass does both.
        self.insert_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        let prober = self.prober();
        let mut done = 0;
        while done < hashes.len() {
            let room = usize::try_from(self.settings.room()).unwrap_or(usize::MAX);
            let chunk = room.min(hashes.len() - done);
            if chunk == 0 {
                seen[done] = self
                    .insert_hash(hashes[done])
                    .map_err(|cause| BatchError::Full { inserted: done, cause })?;
                done += 1;
                continue;
            }
            let (hashes, seen) = (&hashes[done..done + chunk], &mut seen[done..done + chunk]);
            let mut inserted = Inserted::default();
            let probe = |i: usize| prober.probe(hashes[i]);
            self.lines.insert_all(chunk, probe, |i, new_bits| {
                seen[i] = if new_bits == 0 { Seen::Maybe } else { Seen::Never };
                inserted.add_key(new_bits);
            });
            self.account(inserted);
            done += chunk;
        }
        Ok(())
    }
}

impl<S, T> Merge<BlockedBloomFilter<T>> for BlockedBloomFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &BlockedBloomFilter<T>) -> Result<(), Incompatible> {
        self.settings.require_mergeable(&other.settings)?;
        require_equal("number of probes", &self.num_probes(), &other.num_probes())?;
        require_equal("size", &self.bit_len(), &other.bit_len())?;

        let pairs = self.words().iter().zip(other.words());
        let ones = pairs.map(|(mine, theirs)| u64::from((mine | theirs).count_ones())).sum();
        let counts = [self.ones, other.ones, ones];
        let len =
            self.settings.merged_len(&other.settings, counts, |ones| self.estimated_len(ones))?;
        self.lines.union_with(other.words());
        self.ones = ones;
        self.settings.len = len;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::Digest;
    use crate::simd::Path;

    /// Keys with structure: in order, in order from the top bit, alike but for their end.
    const SHAPES: [fn(u64) -> KeyHash; 4] = [
        |i| Seed::default().hash(&i).unwrap(),
        |i| KeyHash::from_uniform(&u128::from(i).to_be_bytes()),
        |i| KeyHash::from_uniform(&u128::from(i.reverse_bits()).to_le_bytes()),
        |i| KeyHash::from_uniform(&((u128::MAX / 3) ^ u128::from(i)).to_be_bytes()),
    ];

    /// Small enough to go without asking ahead, and large enough to ask ahead.
    const BYTE_LENS: [u64; 2] = [40_000, 2 << 20];

    #[test]
    fn every_path_makes_the_same_filter_one_by_one_and_in_batches() {
        const KEYS: u64 = 3_000;
        for (shape, byte_len) in SHAPES.iter().flat_map(|s| BYTE_LENS.map(|len| (s, len))) {
            for capacity in [byte_len * 8 / 9, byte_len * 8 / 16, byte_len * 8 / 20, byte_len / 5] {
                let builder = BlockedBloomFilter::builder().byte_len(byte_len).capacity(capacity);
                let builder = builder.seed(Seed::uniform(Digest::Unspecified));
                let hashes: Vec<KeyHash> = (0..KEYS).map(shape).collect();
                let mut portable = builder.build().unwrap();
                portable.lines = portable.lines.by(Path::Portable);
                let seen: Vec<Seen> =
                    hashes.iter().map(|&hash| portable.insert_hash(hash).unwrap()).collect();
                let asked: Vec<KeyHash> = (0..3 * KEYS).map(shape).collect();
                let expected: Vec<bool> =
                    asked.iter().map(|&hash| portable.contains_hash(hash)).collect();

                for path in Path::available() {
                    let mut single = builder.build().unwrap();
                    single.lines = single.lines.by(path);
                    let mut batch = single.clone();
                    for (&hash, &seen) in hashes.iter().zip(&seen) {
                        assert_eq!(single.insert_hash(hash), Ok(seen), "{path:?}");
                    }
                    let mut answers = vec![Seen::Maybe; hashes.len()];
                    batch.insert_batch(&hashes, &mut answers).unwrap();
                    assert_eq!(answers, seen, "{path:?}, {} probes", batch.num_probes());
                    for filter in [&single, &batch] {
                        assert_eq!(filter.words(), portable.words(), "{path:?}");
                        assert_eq!(filter.stats(), portable.stats(), "{path:?}");
                        let mut present = vec![false; asked.len()];
                        filter.contains_batch(&asked, &mut present).unwrap();
                        assert_eq!(present, expected, "{path:?}");
                        let alone = asked.iter().map(|&hash| filter.contains_hash(hash));
                        assert!(alone.eq(expected.iter().copied()), "{path:?}");
                    }
                }
            }
        }
    }
}
