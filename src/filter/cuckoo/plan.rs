//! The shape of a table for the keys, rate and bytes that are asked for.

use super::{CuckooFilter, CuckooOptions, load_factor};
use crate::error::BuildError;
use crate::filter::builder::{Buildable, Plan, Shape, Target, sealed};
use crate::math::cuckoo::{
    MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS, SLOTS_PER_BUCKET, buckets_for, keys_in,
    least_fingerprint_bits, load_at_rate, rate_at_load,
};
use crate::store::{Slots, Words, words_for};

impl Buildable for CuckooFilter {
    type Options = CuckooOptions;

    fn plan(target: Target, options: &CuckooOptions) -> Result<Plan, BuildError> {
        let wanted = options.fingerprint_bits;
        if let Some(found) = wanted
            && !(MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS).contains(&found)
        {
            return Err(BuildError::Option {
                name: "fingerprint_bits",
                expected: "4 to 32",
                found: found.into(),
            });
        }
        let at_least = wanted.unwrap_or(MIN_FINGERPRINT_BITS);
        match target {
            Target::CapacityAndRate(keys, rate) => {
                let buckets = buckets_for(keys);
                let load = load_factor(keys, buckets);
                let floor = at_least.max(wanted.unwrap_or_else(|| least_fingerprint_bits(keys)));
                let bits = (floor..=MAX_FINGERPRINT_BITS)
                    .find(|&bits| rate_at_load(bits, load) <= rate)
                    .ok_or(BuildError::RateUnreachable {
                        wanted: rate,
                        reachable: rate_at_load(MAX_FINGERPRINT_BITS, load),
                    })?;
                plan_table(keys, buckets, bits)
            }
            Target::BytesAndCapacity(bytes, keys) => {
                let floor = at_least.max(wanted.unwrap_or_else(|| least_fingerprint_bits(keys)));
                let bits = (floor..=MAX_FINGERPRINT_BITS)
                    .rev()
                    .find(|&bits| buckets_within(bytes, bits) >= buckets_for(keys))
                    .ok_or(BuildError::TooFewBytes {
                        found: bytes,
                        needed: words_for(buckets_for(keys), floor).map_or(u64::MAX, |w| w * 8),
                    })?;
                plan_table(keys, buckets_within(bytes, bits), bits)
            }
            Target::BytesAndRate(bytes, rate) => {
                let mut best: Option<Plan> = None;
                for bits in at_least..=MAX_FINGERPRINT_BITS {
                    let buckets = buckets_within(bytes, bits);
                    let keys = keys_in(buckets).min(keys_at_rate(bits, buckets, rate));
                    let narrow = wanted.is_none() && bits < least_fingerprint_bits(keys);
                    let more = best.is_none_or(|best| keys > best.capacity);
                    if keys > 0 && more && !narrow {
                        best = Some(plan_table(keys, buckets, bits)?);
                    }
                }
                if let Some(plan) = best {
                    return Ok(plan);
                }
                let widest = buckets_within(bytes, MAX_FINGERPRINT_BITS);
                if keys_in(widest) == 0 {
                    let needed = words_for(buckets_for(1), MAX_FINGERPRINT_BITS);
                    let needed = needed.map_or(u64::MAX, |words| words * 8);
                    return Err(BuildError::TooFewBytes { found: bytes, needed });
                }
                let reachable = rate_at_load(MAX_FINGERPRINT_BITS, load_factor(1, widest));
                Err(BuildError::RateUnreachable { wanted: rate, reachable })
            }
        }
    }

    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError> {
        let Shape::Cuckoo { fingerprint_bits, buckets } = plan.shape else {
            unreachable!("planned above")
        };
        let words = words_for(buckets, fingerprint_bits)
            .and_then(Words::zeroed)
            .ok_or(BuildError::OutOfMemory { byte_len: plan.byte_len() })?;
        Ok(Self { settings: settings.0, slots: Slots::new(words, buckets, fingerprint_bits) })
    }
}

/// Most buckets of a width whose words fit into so many bytes; an even number, as `buckets_for`.
fn buckets_within(bytes: u64, bits: u32) -> u64 {
    let padding = words_for(0, bits).unwrap_or(0);
    let usable = (bytes / 8).saturating_sub(padding);
    // Not past 2⁴⁸ bits, as for every filter.
    usable.min(1 << 42) * 64 / (SLOTS_PER_BUCKET * u64::from(bits)) / 2 * 2
}

/// The most keys that such a table holds within the rate.
fn keys_at_rate(bits: u32, buckets: u64, rate: f64) -> u64 {
    let slots = buckets * SLOTS_PER_BUCKET;
    let mut keys = (load_at_rate(bits, rate).min(1.0) * slots as f64) as u64;
    while keys > 0 && rate_at_load(bits, load_factor(keys, buckets)) > rate {
        keys -= 1;
    }
    keys
}

fn plan_table(keys: u64, buckets: u64, bits: u32) -> Result<Plan, BuildError> {
    let words = words_for(buckets, bits).ok_or(BuildError::OutOfMemory { byte_len: u64::MAX })?;
    let rate = rate_at_load(bits, load_factor(keys, buckets));
    let shape = Shape::Cuckoo { fingerprint_bits: bits, buckets };
    Ok(Plan::new(keys, rate, words * 64, shape))
}
