//! Building a filter in memory: sort, cut, build the shards in parallel, put them together.

use std::num::NonZero;
use std::panic::resume_unwind;
use std::sync::Mutex;
use std::thread;

use super::shard::{BuiltShard, ShardBuilder};
use super::shards::{Shards, cut, prefix};
use super::{BinaryFuseFilter, Row};
use crate::error::BuildError;
use crate::hash::{KeyHash, Salt, Seed};
use crate::math::fuse::{MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS, rate};
use crate::store::Words;

/// Builds a [`BinaryFuseFilter`] from all of its keys.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let seed = Seed::new(7);
/// let hashes = (0..10_000u64).map(|id| seed.hash(&id)).collect::<Result<Vec<_>, _>>()?;
/// let builder = BinaryFuseFilter::builder().false_positive_rate(0.001).seed(seed);
/// let filter = builder.build_from(hashes)?.filter;
/// assert_eq!(filter.fingerprint_bits(), 10);
/// assert!((0..10_000u64).all(|id| filter.contains(&id).is_ok_and(|maybe| maybe)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until `build_from`"]
#[derive(Clone, Debug, Default)]
pub struct FuseBuilder {
    fingerprint_bits: Option<u32>,
    false_positive_rate: Option<f64>,
    seed: Seed,
    salt: Salt,
    threads: Option<NonZero<usize>>,
}

/// A filter and what was counted while it was built.
#[derive(Clone, Debug)]
pub struct FuseBuild {
    /// The filter.
    pub filter: BinaryFuseFilter,
    /// What was counted.
    pub report: FuseReport,
}

/// What was counted while a filter was built.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct FuseReport {
    /// Distinct keys: all of them are in the filter, and it was asked for each.
    pub keys: u64,
    /// Keys that were given again.
    pub duplicates: u64,
    /// Sum of the distinct `KeyHash` values, modulo 2¹²⁸: the same for the same set in any order.
    pub set_digest: u128,
    /// Parts that were built each on its own.
    pub shards: u64,
    /// Keys of the largest of them.
    pub largest_shard: u64,
}

impl FuseReport {
    /// Counts what another part counted.
    pub(crate) fn merge(&mut self, part: &Self) {
        self.keys += part.keys;
        self.duplicates += part.duplicates;
        self.set_digest = self.set_digest.wrapping_add(part.set_digest);
        self.shards += part.shards;
        self.largest_shard = self.largest_shard.max(part.largest_shard);
    }

    /// Counts the distinct keys of a shard.
    pub(crate) fn add(&mut self, hashes: &[KeyHash]) {
        self.keys += hashes.len() as u64;
        self.shards += 1;
        self.largest_shard = self.largest_shard.max(hashes.len() as u64);
        let words = hashes.iter().map(|hash| u128::from_be_bytes(hash.to_bytes()));
        self.set_digest = words.fold(self.set_digest, u128::wrapping_add);
    }
}

impl FuseBuilder {
    pub(super) fn new() -> Self {
        Self::default()
    }

    /// Bits in a fingerprint, 4 to 32. Those of 8, 16 and 32 bits are read a little faster.
    pub const fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.fingerprint_bits = Some(bits);
        self
    }

    /// Probability that a key not among those given is reported present; between 0 and 1, both
    /// excluded. The fewest bits that keep it are taken: the rate becomes 2⁻ᶠ. If
    /// [`fingerprint_bits`](Self::fingerprint_bits) are given as well, they are at least this wide.
    pub const fn false_positive_rate(mut self, rate: f64) -> Self {
        self.false_positive_rate = Some(rate);
        self
    }

    /// What hashed the keys. The default is `Seed::new(0)`.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The filter's own value. The default is 0.
    pub const fn salt(mut self, salt: Salt) -> Self {
        self.salt = salt;
        self
    }

    /// How many threads build. The default is as many as the process may use. The filter is the
    /// same for any number.
    pub const fn threads(mut self, threads: NonZero<usize>) -> Self {
        self.threads = Some(threads);
        self
    }

    /// Builds the filter of these keys, hashed by the [`seed`](Self::seed), in any order. Those
    /// given again are counted and left out.
    ///
    /// Takes 16 bytes a key for the hashes, and 20 MB a thread and the filter beside them; about
    /// 100 ns a key and core, and the time of a sort unless they come sorted.
    ///
    /// # Errors
    ///
    /// [`BuildError::Option`] or [`BuildError::FalsePositiveRate`] if an option is out of range or
    /// neither bits nor rate are given, [`BuildError::RateUnreachable`] below 2⁻³²,
    /// [`BuildError::OutOfMemory`], [`BuildError::NotUniform`] if the keys cannot be hashes, and
    /// [`BuildError::Construction`] if a shard failed in every attempt, which hashes do not cause.
    pub fn build_from(
        &self,
        hashes: impl IntoIterator<Item = KeyHash>,
    ) -> Result<FuseBuild, BuildError> {
        let fingerprint_bits = self.planned_bits()?;
        let mut hashes: Vec<KeyHash> = hashes.into_iter().collect();
        let given = hashes.len();
        if !hashes.is_sorted() {
            hashes.sort_unstable();
        }
        hashes.dedup();
        let mut report =
            FuseReport { duplicates: (given - hashes.len()) as u64, ..FuseReport::default() };

        let mut parts = Vec::new();
        let mut rest = &hashes[..];
        while !rest.is_empty() {
            let (part, after) = rest.split_at(cut(rest).unwrap_or(rest.len()));
            report.add(part);
            parts.push(part);
            rest = after;
        }
        let built = self.build_shards(fingerprint_bits, &parts)?;

        let rows: Vec<Row> = built.iter().map(|shard| shard.row).collect();
        let filter = self.assemble(&rows, fingerprint_bits, &built)?;
        Ok(FuseBuild { filter, report })
    }

    /// The fewest bits that keep what was asked for.
    pub(crate) fn planned_bits(&self) -> Result<u32, BuildError> {
        let given = match (self.fingerprint_bits, self.false_positive_rate) {
            (None, Some(_)) => MIN_FINGERPRINT_BITS,
            (bits, _) => bits.unwrap_or(0),
        };
        if !(MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS).contains(&given) {
            return Err(BuildError::Option {
                name: "fingerprint_bits",
                expected: "4 to 32, unless a false_positive_rate is given",
                found: given.into(),
            });
        }
        let Some(wanted) = self.false_positive_rate else { return Ok(given) };
        if !(wanted > 0.0 && wanted < 1.0) {
            return Err(BuildError::FalsePositiveRate { found: wanted });
        }
        (given..=MAX_FINGERPRINT_BITS)
            .find(|&bits| rate(bits) <= wanted)
            .ok_or(BuildError::RateUnreachable { wanted, reachable: rate(MAX_FINGERPRINT_BITS) })
    }

    /// How many threads are to build.
    pub(crate) fn planned_threads(&self) -> usize {
        let threads = self.threads.or_else(|| thread::available_parallelism().ok());
        threads.map_or(1, NonZero::get)
    }

    pub(crate) const fn planned_salt(&self) -> Salt {
        self.salt
    }

    pub(crate) const fn planned_seed(&self) -> &Seed {
        &self.seed
    }

    /// Builds each part, in order; threads take the next one as they become free.
    fn build_shards(
        &self,
        fingerprint_bits: u32,
        parts: &[&[KeyHash]],
    ) -> Result<Vec<BuiltShard>, BuildError> {
        let next = Mutex::new(parts.iter().enumerate());
        let work = || {
            let mut builder = ShardBuilder::new(fingerprint_bits, self.salt);
            let mut built = Vec::new();
            loop {
                let Some((number, part)) = next.lock().ok().and_then(|mut next| next.next()) else {
                    return Ok(built);
                };
                let start =
                    if number == 0 { 0 } else { part.first().map_or(0, |&hash| prefix(hash)) };
                built.push((number, builder.build(start, part.to_vec())?.0));
            }
        };
        let helpers = self.planned_threads().min(parts.len()).saturating_sub(1);
        let mut built = thread::scope(|scope| {
            // Where a thread cannot be had, the others do its work.
            let spawn = || thread::Builder::new().spawn_scoped(scope, work).ok();
            let helpers: Vec<_> = (0..helpers).filter_map(|_| spawn()).collect();
            let mut built = work()?;
            for helper in helpers {
                built.extend(helper.join().unwrap_or_else(|panic| resume_unwind(panic))?);
            }
            Ok::<_, BuildError>(built)
        })?;
        built.sort_unstable_by_key(|&(number, _)| number);
        Ok(built.into_iter().map(|(_, shard)| shard).collect())
    }

    fn assemble(
        &self,
        rows: &[Row],
        fingerprint_bits: u32,
        built: &[BuiltShard],
    ) -> Result<BinaryFuseFilter, BuildError> {
        let total: u64 = built.iter().map(|shard| shard.words.len() as u64).sum();
        let out_of_memory = BuildError::OutOfMemory { byte_len: total.saturating_mul(8) };
        let mut words = Words::zeroed(total).ok_or(out_of_memory)?;
        let mut place = 0;
        for shard in built {
            words.as_mut()[place..place + shard.words.len()].copy_from_slice(&shard.words);
            place += shard.words.len();
        }
        let failed = |_| BuildError::Construction { keys: 0, attempts: 0 };
        let shards = Shards::new(rows, self.salt, fingerprint_bits).map_err(failed)?;
        BinaryFuseFilter::from_parts(self.seed.clone(), self.salt, shards, words).map_err(failed)
    }
}
