//! What the filters of the Bloom family share: planning an array of cells, and probing it.

use super::builder::Target;
use crate::error::BuildError;
use crate::hash::{Mixed, reduce};
use crate::math::bloom::{MAX_BITS, best_probes, hash_floor, least_bits, most_keys};

/// A multiplier with good spectral properties for 64-bit linear congruential generators
/// (G. Steele, S. Vigna, *Computationally easy, spectrally good multipliers*, 2021).
const MULTIPLIER: u64 = 0xd134_2543_de82_ef95;

/// The k positions of a key in `0..range`, with replacement.
///
/// x₀ = a, xᵢ₊₁ = xᵢ·M + b: a linear congruential generator of which the key gives both the start
/// and the increment, each reduced by its top bits. Plain double hashing a + i·b is one addition
/// cheaper and has an error floor: when b is small all its probes fall together, and with
/// reduction by top bits the usual cure (adding i to the stride) changes nothing. Here two keys
/// share all their probes only if they share 128 bits.
#[inline]
pub(crate) fn probes(mixed: Mixed, num_probes: u32, range: u64) -> impl Iterator<Item = u64> {
    let mut word = mixed.a;
    (0..num_probes).map(move |_| {
        let position = reduce(word, range);
        word = word.wrapping_mul(MULTIPLIER).wrapping_add(mixed.b);
        position
    })
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
