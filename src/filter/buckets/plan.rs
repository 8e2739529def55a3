//! The shape of a table for the keys, rate and bytes that are asked for.

use crate::error::BuildError;
use crate::filter::builder::Target;
use crate::math::cuckoo::{SLOTS_PER_BUCKET, buckets_at, keys_at};
use crate::store::words_for;

/// What a kind of table leaves open.
pub(in crate::filter) struct Sizes<R, L, M> {
    /// Bits in a slot beside the fingerprint.
    pub(in crate::filter) tag_bits: u32,
    /// Share of the slots to fill, at most.
    pub(in crate::filter) max_load: f64,
    /// The fingerprints to choose from, in bits.
    pub(in crate::filter) bits: std::ops::RangeInclusive<u32>,
    /// The rate of so many bits at a load factor.
    pub(in crate::filter) rate: R,
    /// Its inverse: the load factor at which a rate is reached.
    pub(in crate::filter) load: L,
    /// The fewest bits for so many keys to fit.
    pub(in crate::filter) least: M,
}

/// A table that does what is asked.
#[derive(Clone, Copy, Debug)]
pub(in crate::filter) struct Layout {
    pub(in crate::filter) keys: u64,
    pub(in crate::filter) buckets: u64,
    pub(in crate::filter) fingerprint_bits: u32,
    pub(in crate::filter) words: u64,
    pub(in crate::filter) rate: f64,
}

impl<R, L, M> Sizes<R, L, M>
where
    R: Fn(u32, f64) -> f64,
    L: Fn(u32, f64) -> f64,
    M: Fn(u64) -> u32,
{
    /// Finds the third quantity of the two that are given.
    pub(in crate::filter) fn find(&self, target: Target) -> Result<Layout, BuildError> {
        let (at_least, at_most) = (*self.bits.start(), *self.bits.end());
        match target {
            Target::CapacityAndRate(keys, rate) => {
                let buckets = buckets_at(keys, self.max_load);
                let load = load_factor(keys, buckets);
                let floor = at_least.max((self.least)(keys));
                let bits = (floor..=at_most).find(|&bits| (self.rate)(bits, load) <= rate).ok_or(
                    BuildError::RateUnreachable {
                        wanted: rate,
                        reachable: (self.rate)(at_most, load),
                    },
                )?;
                self.layout(keys, buckets, bits)
            }
            Target::BytesAndCapacity(bytes, keys) => {
                let floor = at_least.max((self.least)(keys));
                let bits = (floor..=at_most)
                    .rev()
                    .find(|&bits| {
                        self.buckets_within(bytes, bits) >= buckets_at(keys, self.max_load)
                    })
                    .ok_or(BuildError::TooFewBytes {
                        found: bytes,
                        needed: self.bytes_for(buckets_at(keys, self.max_load), floor),
                    })?;
                self.layout(keys, self.buckets_within(bytes, bits), bits)
            }
            Target::BytesAndRate(bytes, rate) => {
                let mut best: Option<Layout> = None;
                for bits in at_least..=at_most {
                    let buckets = self.buckets_within(bytes, bits);
                    let keys =
                        keys_at(buckets, self.max_load).min(self.keys_at_rate(bits, buckets, rate));
                    let narrow = bits < (self.least)(keys);
                    let more = best.is_none_or(|best| keys > best.keys);
                    if keys > 0 && more && !narrow {
                        best = Some(self.layout(keys, buckets, bits)?);
                    }
                }
                if let Some(layout) = best {
                    return Ok(layout);
                }
                let widest = self.buckets_within(bytes, at_most);
                if keys_at(widest, self.max_load) == 0 {
                    let needed = self.bytes_for(buckets_at(1, self.max_load), at_most);
                    return Err(BuildError::TooFewBytes { found: bytes, needed });
                }
                let reachable = (self.rate)(at_most, load_factor(1, widest));
                Err(BuildError::RateUnreachable { wanted: rate, reachable })
            }
        }
    }

    fn bytes_for(&self, buckets: u64, bits: u32) -> u64 {
        words_for(buckets, bits + self.tag_bits).map_or(u64::MAX, |words| words * 8)
    }

    /// Most buckets of a width whose words fit into so many bytes; an even number, as `buckets_at`.
    fn buckets_within(&self, bytes: u64, bits: u32) -> u64 {
        let width = bits + self.tag_bits;
        let padding = words_for(0, width).unwrap_or(0);
        let usable = (bytes / 8).saturating_sub(padding);
        // Not past 2⁴⁸ bits, as for every filter.
        usable.min(1 << 42) * 64 / (SLOTS_PER_BUCKET * u64::from(width)) / 2 * 2
    }

    /// The most keys that such a table holds within the rate.
    fn keys_at_rate(&self, bits: u32, buckets: u64, rate: f64) -> u64 {
        let slots = buckets * SLOTS_PER_BUCKET;
        let mut keys = ((self.load)(bits, rate).min(1.0) * slots as f64) as u64;
        while keys > 0 && (self.rate)(bits, load_factor(keys, buckets)) > rate {
            keys -= 1;
        }
        keys
    }

    fn layout(&self, keys: u64, buckets: u64, bits: u32) -> Result<Layout, BuildError> {
        let words = words_for(buckets, bits + self.tag_bits)
            .ok_or(BuildError::OutOfMemory { byte_len: u64::MAX })?;
        let rate = (self.rate)(bits, load_factor(keys, buckets));
        Ok(Layout { keys, buckets, fingerprint_bits: bits, words, rate })
    }
}

/// Keys / slots.
fn load_factor(keys: u64, buckets: u64) -> f64 {
    keys as f64 / (buckets * SLOTS_PER_BUCKET) as f64
}
