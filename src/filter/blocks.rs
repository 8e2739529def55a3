//! What filters of equal blocks share: planning their size.

use super::builder::Target;
use crate::error::BuildError;

/// The formulas of a filter whose keys each lie in one of many equal blocks; the number of blocks and
/// of keys are `f64` where they are only counted with.
pub(super) struct Blocks {
    /// Bytes in a block.
    pub(super) byte_len: u64,
    /// Most blocks of a filter.
    pub(super) max: u64,
    /// Lowest rate that can be planned.
    pub(super) lowest_rate: f64,
    /// The rate of so many blocks, probes and keys.
    pub(super) expected_rate: fn(f64, u32, f64) -> f64,
    /// The probes with the lowest rate for so many blocks and keys, and the rate.
    pub(super) best_probes: fn(f64, f64) -> (u32, f64),
    /// The least blocks for so many keys and a rate, and the probes.
    pub(super) least: fn(f64, f64) -> Option<(u64, u32)>,
    /// The most keys of so many blocks and a rate, and the probes.
    pub(super) most_keys: fn(f64, f64) -> (u64, u32),
}

/// What [`Blocks::plan`] found.
pub(super) struct BlockPlan {
    pub(super) blocks: u64,
    pub(super) num_probes: u32,
    pub(super) capacity: u64,
    pub(super) rate: f64,
}

impl Blocks {
    /// Size, probes, capacity and rate for what was asked.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the rate cannot be reached or the bytes are too few.
    pub(super) fn plan(&self, target: Target) -> Result<BlockPlan, BuildError> {
        let (blocks, num_probes, capacity) = match target {
            Target::CapacityAndRate(keys, rate) => {
                let (blocks, num_probes) =
                    (self.least)(keys as f64, rate).ok_or(BuildError::RateUnreachable {
                        wanted: rate,
                        reachable: self.lowest_rate,
                    })?;
                (blocks, num_probes, keys)
            }
            Target::BytesAndCapacity(bytes, keys) => {
                let blocks = self.blocks_in(bytes)?;
                let (num_probes, rate) = (self.best_probes)(blocks as f64, keys as f64);
                if rate > 0.999 {
                    let needed = (self.least)(keys as f64, 0.9).map_or(blocks, |least| least.0);
                    let needed = needed * self.byte_len;
                    return Err(BuildError::TooFewBytes { found: bytes, needed });
                }
                (blocks, num_probes, keys)
            }
            Target::BytesAndRate(bytes, rate) => {
                let blocks = self.blocks_in(bytes)?;
                let (keys, num_probes) = (self.most_keys)(blocks as f64, rate);
                if keys == 0 || rate < self.lowest_rate {
                    let reachable = (self.best_probes)(blocks as f64, 1.0).1.max(self.lowest_rate);
                    return Err(BuildError::RateUnreachable { wanted: rate, reachable });
                }
                (blocks, num_probes, keys)
            }
        };
        let rate = (self.expected_rate)(blocks as f64, num_probes, capacity as f64);
        Ok(BlockPlan { blocks, num_probes, capacity, rate })
    }

    fn blocks_in(&self, bytes: u64) -> Result<u64, BuildError> {
        match bytes / self.byte_len {
            0 => Err(BuildError::TooFewBytes { found: bytes, needed: self.byte_len }),
            blocks => Ok(blocks.min(self.max)),
        }
    }
}
