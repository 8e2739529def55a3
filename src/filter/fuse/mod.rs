//! The binary fuse filter: the smallest of the filters here, for a set that does not change.
//!
//! ```text
//!  "alice" ── first 16 bits ──▶ shard ┌────┬────┬────┬────┬────┬────┬────┬────┐
//!     │                               │    │ 3f │    │ 91 │    │ c4 │    │ 0a │
//!     └── mix ─┬─ a ── three cells ──▶└────┴─┬──┴────┴─┬──┴────┴─┬──┴────┴────┘
//!              └─ b ── fingerprint      3f  xor   91  xor   c4  =  fingerprint ?
//! ```
//!
//! Every key has one cell in each of three neighbouring segments, and their xor is its fingerprint.
//! That the equations of all keys can be met at once is arranged when the filter is built, by
//! *peeling*. A stranger's three cells give its fingerprint by chance, 2⁻ᶠ.
//!
//! **Departures** from the published filter:
//!
//! 1. *Shards.* The list is cut by the first bits of the hash into shards of half a million keys,
//!    each an array of its own at a cache line of its own. They are built one by one as a sorted
//!    list streams by, in parallel, in memory that does not grow with the list; and the three cells
//!    of a key lie within a megabyte. Where to cut follows from the keys alone, so one set gives one
//!    filter, however many threads build it.
//! 2. *Words.* Positions and fingerprint come from the two words that [`KeyHash::mix`] makes of all
//!    128 bits, so that neither uses again the bits that chose the shard, nor those of the other.
//!    Two keys that meet in one word part in the next attempt, which mixes with another salt.
//! 3. *Duplicates* are removed by their whole hash before anything is built. (Found by the cells
//!    they share, as published, a hundred of them in a hundred thousand keys are enough to fail.)
//! 4. *Layouts* are chosen anew, see [`shard_layout`](crate::math::fuse::shard_layout).
//! 5. *Proof.* A shard counts as built when it has answered for each of its keys.
//!
//! Source: T. M. Graf, D. Lemire, *Binary fuse filters: fast and smaller than xor filters*, ACM JEA
//! 27 (2022).

mod builder;
mod geometry;
mod peel;
mod plan;
mod query;
mod shard;
mod shards;

#[cfg(test)]
mod tests;

pub use builder::{FuseBuild, FuseBuilder, FuseReport};

pub(crate) use geometry::Geometry;
pub(crate) use shard::{BuiltShard, ShardBuilder};
use shards::Shard;
pub(crate) use shards::{Row, SHARD_KEYS, Shards, cut, prefix};

use self::query::Query;
use super::InvalidParts;
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed};
use crate::math::fuse::rate;
use crate::membership::{BatchError, Membership, Stats, Unlock, check_lengths};
use crate::simd::{is_large, pipelined, prefetch};
use crate::store::{Cells, Words};

/// A binary fuse filter: a fixed set of keys in 9.1 bits each at 2⁻⁸, 18.2 at 2⁻¹⁶.
///
/// 1.13 · f bits a key for f-bit fingerprints, 4 to 32, at half a million keys and more; 1.28 · f at
/// ten thousand. The rate is 2⁻ᶠ. A lookup touches three cache lines within a megabyte. It is built
/// at once by [`builder`](Self::builder), takes no further keys, and cannot be merged.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let seed = Seed::default();
/// let names = ["alice", "bob", "carol", "alice"];
/// let hashes = names.map(|name| seed.hash(name)).into_iter().collect::<Result<Vec<_>, _>>()?;
/// let built = BinaryFuseFilter::builder().fingerprint_bits(16).build_from(hashes)?;
///
/// assert_eq!((built.report.keys, built.report.duplicates), (3, 1));
/// assert!(built.filter.contains("alice")? && !built.filter.contains("dave")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct BinaryFuseFilter<S = Words> {
    seed: Seed,
    salt: Salt,
    shards: Shards,
    cells: Cells<S>,
}

impl BinaryFuseFilter {
    /// Starts a builder.
    pub fn builder() -> FuseBuilder {
        FuseBuilder::new()
    }
}

impl<S: AsRef<[u64]>> BinaryFuseFilter<S> {
    /// Bits in a fingerprint (f).
    #[must_use]
    pub const fn fingerprint_bits(&self) -> u32 {
        self.shards.fingerprint_bits()
    }

    /// Parts that were built each on its own.
    #[must_use]
    pub fn shards(&self) -> usize {
        self.shards.iter().len()
    }

    /// The filter's own value.
    #[must_use]
    pub const fn salt(&self) -> Salt {
        self.salt
    }

    pub(crate) const fn table(&self) -> &Shards {
        &self.shards
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.cells.words()
    }

    /// What a key asks; `None` if the filter has no keys.
    #[inline]
    fn query(&self, hash: KeyHash) -> Option<Query> {
        let Shard { row, first_word, salt } = self.shards.locate(hash)?;
        Some(Query::new(*first_word, row.geometry, hash.mix(*salt), self.cells.bits()))
    }

    #[inline]
    fn answer(&self, query: Query) -> bool {
        query.holds(&self.cells)
    }

    /// Puts a filter together from stored parts, checking everything but the cells.
    pub(crate) fn from_parts(
        seed: Seed,
        salt: Salt,
        shards: Shards,
        words: S,
    ) -> Result<Self, InvalidParts> {
        let (expected, found) = (shards.words(), words.as_ref().len() as u64);
        InvalidParts::unless(expected == found, "number of words", expected, found)?;
        let cells = Cells::new(words, shards.fingerprint_bits());
        Ok(Self { seed, salt, shards, cells })
    }

    /// Checks what must be 0 around the cells. O(shards).
    pub(crate) fn check_padding(&self) -> Result<(), InvalidParts> {
        let ends = self.shards.iter().skip(1).map(|shard| shard.first_word);
        let ends = ends.chain([self.shards.words()]);
        let clear = self.shards.iter().zip(ends).all(|(shard, end)| {
            let cells = shard.row.geometry.cells();
            self.cells.padding_is_clear(shard.first_word, cells, end - shard.first_word)
        });
        InvalidParts::unless(clear, "padding after the cells of a shard", 0, "1 bits")
    }
}

impl<S> Unlock for BinaryFuseFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for BinaryFuseFilter<S> {
    fn seed(&self) -> &Seed {
        &self.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.query(hash).is_some_and(|query| self.answer(query))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        let words = self.words();
        let start = |i: usize| {
            let query = self.query(hashes[i]);
            if let Some(query) = &query {
                for cell in query.cells {
                    prefetch(words, self.cells.word_of(query.first_word, cell));
                }
            }
            query
        };
        pipelined(is_large(words), hashes.len(), start, |i, query| {
            present[i] = query.is_some_and(|query| self.answer(query));
        });
        Ok(())
    }

    fn false_positive_rate(&self) -> f64 {
        if self.shards.keys() == 0 { 0.0 } else { rate(self.fingerprint_bits()) }
    }

    /// The capacity of a filter without keys is given as 1.
    fn stats(&self) -> Stats {
        let keys = self.shards.keys();
        Stats {
            capacity: keys.max(1),
            len: keys,
            estimated_len: keys as f64,
            fill_ratio: keys as f64 / self.shards.cells().max(1) as f64,
            false_positive_rate: self.false_positive_rate(),
            bit_len: self.words().len() as u64 * 64,
            saturated: 0,
        }
    }
}
