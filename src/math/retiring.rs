//! Cuckoo filters whose slots carry an epoch: rates and sizes of a window.
//!
//! ```text
//!  epochs        e − 14 … e − 1        e              E = 15
//!  tuples        g      …  g        0 … g             all of them live: E · g at most
//!  guaranteed    the last (E − 1) · g
//! ```
//!
//! Source: the slot of B. Fan et al., *Cuckoo filter: practically better than Bloom*, CoNEXT 2014,
//! with a tag of t bits beside it; that such a tag costs what it must, about log₂ of one over the
//! slack, is the lower bound of M. Naor, E. Yogev, *Sliding Bloom filters*, ISAAC 2013.

use super::cuckoo::SLOTS_PER_BUCKET;

/// Rate at a load factor α of live slots: 8α / (2^f − 1), exactly, for an even number of buckets.
///
/// A stranger is one of C = buckets · (2^f − 1) / 2 combinations of a fingerprint and its two
/// buckets, all equally likely. Since a key is stored only if its combination is not, each of the
/// live slots, 4α · buckets of them, is another one. (A filter that stores copies has fewer
/// combinations for as many slots: [`cuckoo::rate_at_load`](super::cuckoo::rate_at_load).)
#[must_use]
pub fn rate_at_load(fingerprint_bits: u32, load_factor: f64) -> f64 {
    (2.0 * SLOTS_PER_BUCKET as f64 * load_factor / fingerprints(fingerprint_bits)).min(1.0)
}

/// The load factor at which the rate is reached, which may be more than 1: the inverse of
/// [`rate_at_load`].
#[must_use]
pub fn load_at_rate(fingerprint_bits: u32, rate: f64) -> f64 {
    rate * fingerprints(fingerprint_bits) / (2.0 * SLOTS_PER_BUCKET as f64)
}

fn fingerprints(bits: u32) -> f64 {
    2f64.powi(bits.cast_signed()) - 1.0
}

/// The most epochs that can be live at once.
pub const MAX_EPOCHS: u32 = 255;

/// The widest slot, fingerprint and tag together.
pub const MAX_SLOT_BITS: u32 = 64;

/// The narrowest slot.
pub const MIN_SLOT_BITS: u32 = 8;

/// Bits of a tag for E live epochs: E ≤ 2^t − 1, so that one tag is always free to be swept before
/// it is used again.
#[must_use]
pub const fn tag_bits(epochs: u32) -> u32 {
    u32::BITS - epochs.leading_zeros()
}

/// The fewest bits of a fingerprint beside a tag.
#[must_use]
pub fn min_fingerprint_bits(tag_bits: u32) -> u32 {
    super::cuckoo::MIN_FINGERPRINT_BITS.max(MIN_SLOT_BITS.saturating_sub(tag_bits))
}

/// Tuples of an epoch, if as many live ones as `capacity` are shared out alike.
#[must_use]
pub fn epoch_len(capacity: u64, epochs: u32) -> u64 {
    capacity / u64::from(epochs.max(1))
}

/// Tuples that are remembered at least when epochs are [`epoch_len`] long: all but one epoch.
#[must_use]
pub fn guaranteed(capacity: u64, epochs: u32) -> u64 {
    epoch_len(capacity, epochs) * u64::from(epochs.saturating_sub(1))
}

/// The least capacity that guarantees so many tuples with so many epochs, 2 or more.
#[must_use]
pub fn capacity_for(guaranteed: u64, epochs: u32) -> u64 {
    let each = guaranteed.div_ceil(u64::from(epochs.saturating_sub(1).max(1)));
    each.saturating_mul(epochs.max(1).into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::math::cuckoo::{MAX_LOAD, buckets_for};

    #[test]
    fn load_at_rate_inverts_rate_at_load() {
        for bits in [4, 8, 13, 33, 60] {
            for load in [1e-6, 0.3, 0.95] {
                let found = load_at_rate(bits, rate_at_load(bits, load));
                assert!((found / load - 1.0).abs() < 1e-9, "{bits} bits at {load}: {found}");
            }
        }
    }

    /// Bits per guaranteed tuple of slots with whole bits: widths 17, 23, 27 and 37 for 0.1 %,
    /// 2⁻¹⁶, 10⁻⁶ and 10⁻⁹.
    #[test]
    fn fifteen_epochs_cost_what_is_stated() {
        const GUARANTEED: u64 = 14_000_000;
        let capacity = capacity_for(GUARANTEED, 15);
        assert_eq!((capacity, guaranteed(capacity, 15)), (15_000_000, GUARANTEED));
        let slots = buckets_for(capacity) * SLOTS_PER_BUCKET;
        for (rate, width, most) in
            [(1e-3, 17, 19.2), (2f64.powi(-16), 23, 26.0), (1e-6, 27, 30.5), (1e-9, 37, 41.8)]
        {
            let bits = width - tag_bits(15);
            assert!(rate_at_load(bits, MAX_LOAD) <= rate, "{width}");
            assert!(rate_at_load(bits - 1, MAX_LOAD) > rate, "{width}");
            let cost = (slots * u64::from(width)) as f64 / GUARANTEED as f64;
            assert!(cost <= most && cost > most - 0.1, "{width}: {cost}");
        }
    }

    #[test]
    fn tags_leave_one_free() {
        for epochs in 1..=MAX_EPOCHS {
            let tags = 1 << tag_bits(epochs);
            assert!(epochs < tags && 2 * epochs >= tags, "{epochs} of {tags}");
        }
        for (guaranteed_tuples, epochs) in [(1, 2), (14, 15), (15, 15), (1_000_003, 31)] {
            let capacity = capacity_for(guaranteed_tuples, epochs);
            let found = guaranteed(capacity, epochs);
            assert!(found >= guaranteed_tuples, "{found}");
            let less = guaranteed(capacity - u64::from(epochs), epochs);
            assert!(less < guaranteed_tuples, "{less}");
        }
    }
}
