//! What the filters of the Bloom family share: planning an array of cells, and probing it.

use super::builder::Target;
use crate::error::BuildError;
use crate::hash::{KeyHash, Salt, reduce};
use crate::math::bloom::{MAX_BITS, best_probes, hash_floor, least_bits, most_keys};

/// A multiplier with good spectral properties for 64-bit linear congruential generators
/// (G. Steele, S. Vigna, *Computationally easy, spectrally good multipliers*, 2021).
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// Where the keys of a filter have their cells: the k positions of each in `0..range`, with
/// replacement.
///
/// Words w₀ = a, w₁ = b, wᵢ₊₂ = wᵢ·M + wᵢ₊₁. Each gives two positions, reduced by its top bits and by
/// those of its halves exchanged, so that a probe costs little more than the multiplication of its
/// reduction. Plain double hashing a + i·b has an error floor: when b is small all its probes fall
/// together, and with reduction by top bits the usual cure (adding i to the stride) changes nothing.
/// Here two keys share all their probes only if they share 128 bits.
///
/// A copy of what it needs, so that it can be used while the cells are being changed.
#[derive(Clone, Copy)]
pub(crate) struct Prober {
    pub(crate) salt: Salt,
    pub(crate) num_probes: u32,
    pub(crate) range: u64,
}

/// The generator of one key's positions: the next two words.
#[derive(Clone, Copy, Default)]
struct Words(u64, u64);

impl Words {
    /// The next two positions.
    #[inline]
    const fn pair(&mut self, range: u64) -> [u64; 2] {
        let word = self.0;
        *self = Self(self.1, word.wrapping_mul(MULTIPLIER).wrapping_add(self.1));
        [reduce(word, range), reduce(word.rotate_left(32), range)]
    }
}

/// Keys of a batch that are in work together: the memory of all is asked for before the first is
/// looked at.
const BATCH: usize = 64;

impl Prober {
    #[inline]
    fn words(self, hash: KeyHash) -> Words {
        let mixed = hash.mix(self.salt);
        Words(mixed.a, mixed.b)
    }

    /// The positions of a key.
    #[inline]
    pub(crate) fn positions(self, hash: KeyHash) -> impl Iterator<Item = u64> {
        let mut words = self.words(hash);
        let mut second = None;
        (0..self.num_probes).map(move |_| {
            second.take().unwrap_or_else(|| {
                let pair = words.pair(self.range);
                second = Some(pair[1]);
                pair[0]
            })
        })
    }

    /// Whether `test` holds at every position of the key; its answer is the lowest bit, since the
    /// compiler makes branches of `bool`s.
    ///
    /// Half of the bits are set in a filter at its best, so leaving at the first clear one is a branch
    /// that strangers make unpredictable: it costs more than three more probes. After four, one
    /// stranger in sixteen goes on.
    #[inline]
    pub(crate) fn all(self, hash: KeyHash, test: impl Fn(u64) -> u64) -> bool {
        let mut words = self.words(hash);
        let mut left = self.num_probes;
        while left >= 4 {
            let ([p, q], [r, s]) = (words.pair(self.range), words.pair(self.range));
            if test(p) & test(q) & test(r) & test(s) & 1 == 0 {
                return false;
            }
            left -= 4;
        }
        let mut all = 1;
        while left > 0 {
            let [p, q] = words.pair(self.range);
            all &= test(p) & if left > 1 { test(q) } else { 1 };
            left = left.saturating_sub(2);
        }
        all & 1 == 1
    }

    /// [`all`](Self::all) for each key, with the memory of the positions asked for by `fetch` before
    /// it is looked at.
    ///
    /// Two positions at a time: three of four strangers are gone before their other lines are asked
    /// for.
    pub(crate) fn all_of_batch(
        self,
        hashes: &[KeyHash],
        present: &mut [bool],
        fetch: impl Fn(u64),
        test: impl Fn(u64) -> u64,
    ) {
        for (hashes, present) in hashes.chunks(BATCH).zip(present.chunks_mut(BATCH)) {
            let mut keys = [(Words::default(), 0); BATCH];
            for (index, (slot, hash)) in keys.iter_mut().zip(hashes).enumerate() {
                *slot = (self.words(*hash), index);
            }
            present.fill(false);
            let mut alive = hashes.len();
            for done in (0..self.num_probes).step_by(2) {
                let both = self.num_probes - done > 1;
                for (words, _) in keys.iter().take(alive) {
                    let mut words = *words;
                    let [p, q] = words.pair(self.range);
                    fetch(p);
                    if both {
                        fetch(q);
                    }
                }
                let mut passed = 0;
                for i in 0..alive {
                    let (mut words, index) = keys[i];
                    let [p, q] = words.pair(self.range);
                    let all = test(p) & if both { test(q) } else { 1 };
                    // Kept, or overwritten by the next one that passes, without a branch.
                    keys[passed] = (words, index);
                    passed += (all & 1) as usize;
                }
                alive = passed;
            }
            for (_, index) in keys.iter().take(alive) {
                if let Some(present) = present.get_mut(*index) {
                    *present = true;
                }
            }
        }
    }
}

/// Cells of `cell_bits` bits, probes and capacity of a Bloom-type array that fills whole words.
pub(super) fn plan_array(target: Target, cell_bits: u32) -> Result<(u64, u32, u64), BuildError> {
    let cells_per_word = u64::from(64 / cell_bits);
    let cells_in = |bytes: u64| {
        let cells = (bytes / 8).saturating_mul(cells_per_word);
        if cells == 0 {
            return Err(BuildError::TooFewBytes { found: bytes, needed: 8 });
        }
        Ok(cells.min(MAX_BITS as u64))
    };
    match target {
        Target::CapacityAndRate(keys, rate) => {
            let (cells, num_probes) = least_bits(keys as f64, rate, cells_per_word).ok_or(
                BuildError::RateUnreachable { wanted: rate, reachable: lowest_rate(keys as f64) },
            )?;
            Ok((cells, num_probes, keys))
        }
        Target::BytesAndCapacity(bytes, keys) => {
            let cells = cells_in(bytes)?;
            let (num_probes, rate) = best_probes(cells as f64, keys as f64);
            if rate >= 1.0 {
                let (needed, _) =
                    least_bits(keys as f64, 0.9, cells_per_word).unwrap_or((cells, 1));
                return Err(BuildError::TooFewBytes {
                    found: bytes,
                    needed: needed / cells_per_word * 8,
                });
            }
            Ok((cells, num_probes, keys))
        }
        Target::BytesAndRate(bytes, rate) => {
            let cells = cells_in(bytes)?;
            let (keys, num_probes) = most_keys(cells as f64, rate);
            if keys == 0 {
                let (_, reachable) = best_probes(cells as f64, 1.0);
                return Err(BuildError::RateUnreachable { wanted: rate, reachable });
            }
            Ok((cells, num_probes, keys))
        }
    }
}

/// The lowest rate that the largest array gives so many keys.
fn lowest_rate(keys: f64) -> f64 {
    best_probes(MAX_BITS, keys).1.max(hash_floor(keys))
}
