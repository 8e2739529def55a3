//! Building one shard, and proving that it holds its keys.

use super::geometry::Geometry;
use super::peel::{MAX_KEYS, Peeler, others};
use super::query::Query;
use super::shards::{Row, prefix, salt_of};
use crate::error::BuildError;
use crate::hash::{KeyHash, Mixed, Salt};
use crate::math::fuse::{MAX_ATTEMPTS, shard_layout};
use crate::simd::{pipelined, prefetch};
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
    /// empty.
    ///
    /// About 100 ns a key on one core.
    pub(crate) fn build(
        &mut self,
        start: u16,
        hashes: Vec<KeyHash>,
    ) -> Result<(BuiltShard, Vec<KeyHash>), BuildError> {
        let keys = hashes.len();
        if keys > MAX_KEYS {
            return Err(BuildError::NotUniform { keys: keys as u64, max: MAX_KEYS as u64 });
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
            let peeled = self.peeler.peel(
                keys,
                geometry.cells(),
                |key| geometry.edge(mixed[key as usize].a),
                |key| prefetch(&mixed, key as usize),
            );
            if peeled {
                let cells = self.assign(geometry, &mixed);
                // Asked as they will be: from the hash on.
                let proven = mixed.iter().all(|&mixed| {
                    let mixed = KeyHash::unmix(mixed, salt).mix(salt);
                    Query::new(0, geometry, mixed, self.fingerprint_bits).holds(&cells)
                });
                if proven {
                    let row = Row { start, attempt: attempt as u8, keys, geometry };
                    mixed.clear();
                    let memory = mixed.into_iter().map(|mixed| KeyHash::unmix(mixed, salt));
                    return Ok((BuiltShard { row, words: cells.into_words() }, memory.collect()));
                }
            }
            hashes = mixed.into_iter().map(|mixed| KeyHash::unmix(mixed, salt)).collect();
        }
        Err(BuildError::Construction { keys: keys.into(), attempts: MAX_ATTEMPTS })
    }

    /// Gives each key's own cell the value that makes the three add up to its fingerprint.
    fn assign(&self, geometry: Geometry, mixed: &[Mixed]) -> Cells<Vec<u64>> {
        let bits = self.fingerprint_bits;
        let words = lines_for(geometry.cells().into(), bits).unwrap_or(0);
        let mut cells = Cells::new(vec![0; words as usize], bits);
        // Where a key's words and cells are is known long before its turn: nothing waits for memory.
        let order = self.peeler.peeled();
        let start = |i: usize| {
            let cell = order[i];
            let key = self.peeler.key_of(cell);
            let query = Query::new(0, geometry, mixed[key as usize], bits);
            (cell, query)
        };
        pipelined(true, order.len(), start, |_, (cell, query)| {
            cells.fill(cell, query.fingerprint ^ cells.xor(0, others(query.cells, cell)));
        });
        cells
    }
}

/// Brings keys with near first cells together, by the top eight bits of the word for positions and
/// in place (an American flag sort of one digit: `McIlroy`, Bostic, `McIlroy`, *Engineering radix
/// sort*, 1993). Peeling then works its way along the array rather than all over it.
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
