//! Building one shard, and proving that it holds its keys.

use super::geometry::Geometry;
use super::peel::{Peeler, others};
use super::query::Query;
use super::shards::{MAX_SHARD_KEYS, Row, prefix, salt_of};
use crate::error::BuildError;
use crate::hash::{KeyHash, Mixed, Salt};
use crate::math::fuse::{MAX_ATTEMPTS, shard_layout};
use crate::store::{Cells, lines_for};

/// Builds shards, one after the other, in the same memory.
#[derive(Debug)]
pub(crate) struct ShardBuilder {
    fingerprint_bits: u32,
    salt: Salt,
    peeler: Peeler,
}

/// A shard that has answered for every key of its own.
#[derive(Debug)]
pub(crate) struct BuiltShard {
    pub(crate) row: Row,
    pub(crate) words: Vec<u64>,
}

impl ShardBuilder {
    pub(crate) fn new(fingerprint_bits: u32, salt: Salt) -> Self {
        Self { fingerprint_bits, salt, peeler: Peeler::default() }
    }

    /// Builds the shard of these hashes, which are sorted and distinct, and asks it for each of
    /// them. `start` is the first prefix that belongs to the shard. Gives the hashes' memory back,
    /// with the hashes in some order.
    ///
    /// About 100 ns a key on one core.
    pub(crate) fn build(
        &mut self,
        start: u16,
        hashes: Vec<KeyHash>,
    ) -> Result<(BuiltShard, Vec<KeyHash>), BuildError> {
        let keys = hashes.len();
        if keys > MAX_SHARD_KEYS {
            return Err(BuildError::NotUniform { keys: keys as u64, max: MAX_SHARD_KEYS as u64 });
        }
        debug_assert!(hashes.is_sorted() && hashes.first().is_some_and(|&h| prefix(h) >= start));
        let keys = keys as u32;
        let mut hashes = hashes;
        for attempt in 0..MAX_ATTEMPTS {
            let (segment_log2, segments) = shard_layout(keys.into(), attempt);
            let Some(geometry) =
                u32::try_from(segments).ok().and_then(|s| Geometry::new(s, segment_log2))
            else {
                break;
            };
            let salt = salt_of(self.salt, attempt);
            // The two words of a key take the place of its hash, from which they can be told.
            let mut mixed: Vec<Mixed> = hashes.into_iter().map(|hash| hash.mix(salt)).collect();
            group(&mut mixed);
            let peeled = self
                .peeler
                .peel(keys, geometry.cells(), |key| geometry.edge(mixed[key as usize].a));
            let cells = peeled.then(|| self.assign(geometry, &mixed));
            hashes = mixed.into_iter().map(|mixed| KeyHash::unmix(mixed, salt)).collect();
            let Some(cells) = cells else { continue };
            let proven = hashes.iter().all(|hash| {
                Query::new(0, geometry, hash.mix(salt), self.fingerprint_bits).holds(&cells)
            });
            if proven {
                let row = Row { start, attempt: attempt as u8, keys, geometry };
                return Ok((BuiltShard { row, words: cells.into_words() }, hashes));
            }
        }
        Err(BuildError::Construction { keys: keys.into(), attempts: MAX_ATTEMPTS })
    }

    /// Gives each key's own cell the value that makes the three add up to its fingerprint.
    fn assign(&self, geometry: Geometry, mixed: &[Mixed]) -> Cells<Vec<u64>> {
        let bits = self.fingerprint_bits;
        let words = lines_for(geometry.cells().into(), bits).unwrap_or(0);
        let mut cells = Cells::new(vec![0; words as usize], bits);
        for (key, cell) in self.peeler.assignments() {
            let query = Query::new(0, geometry, mixed[key as usize], bits);
            let [second, third] = others(query.cells, cell);
            let value = query.fingerprint ^ cells.get(0, second) ^ cells.get(0, third);
            cells.fill(cell, value);
        }
        cells
    }
}

/// Brings keys with near first cells together, by the top eight bits of the word for positions and
/// in place (an American flag sort of one digit: P. McIlroy, K. Bostic, M. D. McIlroy, *Engineering
/// radix sort*, 1993). Peeling then works its way along the array rather than all over it.
fn group(mixed: &mut [Mixed]) {
    const DIGITS: usize = 256;
    let digit = |mixed: &Mixed| (mixed.a >> 56) as usize;
    let mut ends = [0; DIGITS];
    for mixed in mixed.iter() {
        ends[digit(mixed)] += 1;
    }
    let mut next = [0; DIGITS];
    let mut sum = 0;
    for (end, next) in ends.iter_mut().zip(&mut next) {
        *next = sum;
        sum += *end;
        *end = sum;
    }
    for group in 0..DIGITS {
        while next[group] < ends[group] {
            let place = next[group];
            let home = digit(&mixed[place]);
            if home != group {
                mixed.swap(place, next[home]);
            }
            next[home] += 1;
        }
    }
}
