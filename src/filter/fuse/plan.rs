//! How large a filter will be, before its keys are there.
//!
//! Keys are hashes, so each prefix has n/2¹⁶ of them, give or take its square root, and a shard takes
//! as many whole prefixes as fit. Which attempt at a shard succeeds is not known, and need not be: the
//! first two, of which one does in 98 shards of a hundred, have the same layout.

use super::FuseBuilder;
use super::shards::{PREFIXES, SHARD_KEYS};
use crate::error::BuildError;
use crate::filter::{Plan, Shape};
use crate::math::fuse::{array_len, rate, shard_layout};
use crate::store::lines_for;

/// The most keys: 2³¹ a prefix, whose cells are counted in 32 bits.
const MAX_KEYS: u64 = (PREFIXES as u64) << 31;

impl FuseBuilder {
    /// Works out what the filter of so many distinct keys will be, without a key. Costs a
    /// microsecond.
    ///
    /// The rate is exact. The size is, up to half a million keys, what 98 filters of a hundred have,
    /// and beyond that within 1 %: where shards end depends on the keys.
    ///
    /// # Errors
    ///
    /// [`BuildError::Capacity`] for no key or more than 2⁴⁷, and what
    /// [`build_from`](Self::build_from) says of options and rates.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::BinaryFuseFilter;
    /// let plan = BinaryFuseFilter::builder().fingerprint_bits(16).plan(2_068_408_781)?;
    /// assert_eq!(plan.false_positive_rate, 1.0 / 65_536.0);
    /// assert!((18.0..18.3).contains(&plan.bits_per_key()));
    /// # Ok::<(), hapax::BuildError>(())
    /// ```
    pub fn plan(&self, keys: u64) -> Result<Plan, BuildError> {
        let fingerprint_bits = self.planned_bits()?;
        let out_of_range = BuildError::Capacity { found: keys, max: MAX_KEYS };
        if !(1..=MAX_KEYS).contains(&keys) {
            return Err(out_of_range);
        }
        let bits = |keys| bits_of_shard(keys, fingerprint_bits).ok_or_else(|| out_of_range.clone());
        let (shards, bit_len) = if keys <= SHARD_KEYS as u64 {
            (1, bits(keys)?)
        } else {
            let all = PREFIXES as u64;
            let of_shard = (SHARD_KEYS as u64 * all / keys).clamp(1, all);
            let keys_of = |prefixes: u64| (keys as f64 * prefixes as f64 / all as f64) as u64;
            let (whole, rest) = (all / of_shard, all % of_shard);
            let last = if rest > 0 { bits(keys_of(rest))? } else { 0 };
            (whole + u64::from(rest > 0), whole * bits(keys_of(of_shard))? + last)
        };
        let shape = Shape::Fuse { fingerprint_bits, shards };
        Ok(Plan::new(keys, rate(fingerprint_bits), bit_len, shape))
    }
}

/// Bits of the array of a shard; `None` if it has more cells than can be counted.
fn bits_of_shard(keys: u64, fingerprint_bits: u32) -> Option<u64> {
    let (segment_log2, segments) = shard_layout(keys, 0);
    let cells = u32::try_from(array_len(segments, segment_log2)?).ok()?;
    lines_for(cells.into(), fingerprint_bits).map(|words| words * 64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::BinaryFuseFilter;
    use crate::hash::Seed;
    use crate::membership::Membership;

    /// Sizes at which there is one shard, the same cut in two, and several that differ.
    #[test]
    fn filters_are_as_large_as_they_were_planned() {
        let exactly = [1, 2, 1_000, 37_440, 524_288].map(|keys| (keys, 0.0));
        let nearly = [524_289, 700_000, 1_500_000, 3_000_000].map(|keys| (keys, 0.01));
        for (keys, off) in exactly.into_iter().chain(nearly) {
            for bits in [8, 13] {
                let builder = BinaryFuseFilter::builder().fingerprint_bits(bits);
                let plan = builder.plan(keys).unwrap();
                let seed = Seed::default();
                let hashes = (0..keys).map(|id| seed.hash(&id).unwrap());
                let built = builder.build_from(hashes).unwrap();
                let stats = built.filter.stats();
                let ratio = stats.bit_len as f64 / plan.bit_len as f64;
                assert!((ratio - 1.0).abs() <= off, "{keys} keys of {bits} bits: {ratio}");
                assert_eq!(plan.false_positive_rate.to_bits(), stats.false_positive_rate.to_bits());
                assert_eq!(plan.capacity, keys);
                let Shape::Fuse { fingerprint_bits, shards } = plan.shape else {
                    panic!("{:?}", plan.shape)
                };
                assert_eq!((fingerprint_bits, shards), (bits, built.report.shards), "{keys}");
            }
        }
    }

    #[test]
    fn what_cannot_be_built_is_not_planned() {
        let builder = BinaryFuseFilter::builder();
        assert!(matches!(builder.plan(9), Err(BuildError::Option { .. })));
        let builder = builder.false_positive_rate(1e-3);
        for keys in [0, MAX_KEYS + 1, u64::MAX] {
            let refused = builder.plan(keys);
            assert_eq!(refused, Err(BuildError::Capacity { found: keys, max: MAX_KEYS }));
        }
        assert!(builder.plan(MAX_KEYS).unwrap().bits_per_key() > 11.0);
        let unreachable = builder.false_positive_rate(1e-12).plan(9);
        assert!(matches!(unreachable, Err(BuildError::RateUnreachable { .. })));
    }
}
