//! Many keys at once: the buckets of later keys are on their way from memory while earlier keys
//! are answered.
//!
//! ```text
//!  key i + 32          its home computed, both buckets prefetched (16 ahead for questions)
//!  key i + 8           inserts into a filling table: if both are full, the first neighbours too
//!  key i               answered or inserted, from the cache
//! ```
//!
//! A prefetch changes nothing, so answers and tables are those of the loop over single keys.

use super::search::prefetch_way_out;
use super::{Home, Table, TableMut};
use crate::error::Full;
use crate::hash::KeyHash;
use crate::membership::{BatchError, Seen};
use crate::simd::{is_large, pipelined};

/// How many keys ahead an insert prefetches buckets.
const AHEAD: usize = 32;

/// How many keys ahead it prefetches the neighbours of full buckets. 6 to 16 make no difference.
const NEIGHBOURS_AHEAD: usize = 8;

/// The load at which neighbours begin to be worth it: below, hardly a key finds both buckets full.
const FILLING: f64 = 0.7;

/// `contains_batch`, for slices of one length.
pub(in crate::filter) fn contains_all<const B: u32, T: Table>(
    table: &T,
    hashes: &[KeyHash],
    present: &mut [bool],
) {
    contains_ahead::<B, T>(table, is_large(table.words()), hashes, present);
}

fn contains_ahead<const B: u32, T: Table>(
    table: &T,
    ahead: bool,
    hashes: &[KeyHash],
    present: &mut [bool],
) {
    let start = |i: usize| {
        let home = table.home(hashes[i]);
        if ahead {
            prefetch::<B, T>(table, &home);
        }
        home
    };
    pipelined(ahead, hashes.len(), start, |i, home| present[i] = table.finds::<B>(&home));
}

#[inline]
pub(super) fn prefetch<const B: u32, T: Table>(table: &T, home: &Home) {
    home.buckets.iter().for_each(|&bucket| table.prefetch::<B>(bucket));
}

/// `insert_batch`, for slices of one length.
pub(in crate::filter) fn insert_all<const B: u32, T: TableMut>(
    table: &mut T,
    hashes: &[KeyHash],
    seen: &mut [Seen],
) -> Result<(), BatchError> {
    if !is_large(table.words()) {
        for (inserted, (&hash, seen)) in hashes.iter().zip(seen).enumerate() {
            *seen = table.insert_home::<B>(&table.home(hash)).map_err(refused(inserted))?;
        }
        return Ok(());
    }
    insert_ahead::<B, T>(table, hashes, seen)
}

fn insert_ahead<const B: u32, T: TableMut>(
    table: &mut T,
    hashes: &[KeyHash],
    seen: &mut [Seen],
) -> Result<(), BatchError> {
    let mut ring = [Home::default(); AHEAD];
    let start = |table: &T, hash| {
        let home = table.home(hash);
        prefetch::<B, T>(table, &home);
        home
    };
    for (slot, &hash) in ring.iter_mut().zip(hashes) {
        *slot = start(table, hash);
    }
    let filling = table.load() > FILLING;
    for (i, seen) in seen.iter_mut().enumerate() {
        if filling {
            prefetch_way_out::<B, T>(table, &ring[(i + NEIGHBOURS_AHEAD) % AHEAD]);
        }
        *seen = table.insert_home::<B>(&ring[i % AHEAD]).map_err(refused(i))?;
        if let Some(&hash) = hashes.get(i + AHEAD) {
            ring[i % AHEAD] = start(table, hash);
        }
    }
    Ok(())
}

/// The end of a batch at a refusal.
fn refused(inserted: usize) -> impl Fn(Full) -> BatchError {
    move |cause| BatchError::Full { inserted, cause }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{CuckooFilter, PastCapacity, Settings};
    use crate::hash::{Salt, Seed};
    use crate::membership::{Insert, Membership};
    use crate::store::{ANY, Words, words_for};

    fn empty(bits: u32, buckets: u64) -> CuckooFilter {
        let settings = Settings {
            seed: Seed::default(),
            salt: Salt::new(buckets),
            capacity: 1 << 40,
            past_capacity: PastCapacity::Degrade,
            len: 0,
        };
        let words = Words::zeroed(words_for(buckets, bits).unwrap()).unwrap();
        CuckooFilter::from_parts(settings, words, bits, buckets).unwrap()
    }

    /// Batches of every length about the distances, with repeats, up to the first refusal, in tables
    /// that are all full buckets and evictions at the end.
    fn check<const B: u32>(bits: u32, buckets: u64) {
        let (mut ahead, mut plain) = (empty(bits, buckets), empty(bits, buckets));
        let hash = |index: u64| Seed::default().hash(&index).unwrap();
        let (mut next, mut full) = (0, false);
        for len in (0..).map(|i| i % (3 * AHEAD)) {
            let keys = (next..next + len as u64).map(|i| hash(if i % 5 == 4 { i - 3 } else { i }));
            let batch: Vec<_> = keys.collect();
            next += len as u64;
            let mut seen = vec![Seen::Maybe; len];
            let result = insert_ahead::<B, _>(&mut ahead, &batch, &mut seen);
            for (i, (&hash, &answer)) in batch.iter().zip(&seen).enumerate() {
                match plain.insert_hash(hash) {
                    Ok(expected) => assert_eq!(answer, expected, "{bits} bits {buckets} buckets"),
                    Err(cause) => {
                        assert_eq!(result, Err(BatchError::Full { inserted: i, cause }));
                        assert!(seen[i..].iter().all(|&seen| seen == Seen::Maybe));
                        full = true;
                        break;
                    }
                }
            }
            assert_eq!(full, result.is_err());
            assert_eq!(ahead.words(), plain.words(), "{bits} bits {buckets} buckets");
            assert_eq!(ahead.stats(), plain.stats());
            let mut present = vec![false; batch.len()];
            contains_ahead::<B, _>(&plain, true, &batch, &mut present);
            assert!(batch.iter().zip(present).all(|(&h, yes)| plain.contains_hash(h) == yes));
            if full {
                return;
            }
        }
    }

    #[test]
    fn batches_ahead_are_the_plain_loop() {
        for buckets in [1, 2, 7, 64, 1_001] {
            check::<8>(8, buckets);
            check::<16>(16, buckets);
            check::<32>(32, buckets);
            for bits in [4, 8, 13, 16, 17, 32] {
                check::<ANY>(bits, buckets);
            }
        }
    }
}
