//! Keys of the shapes that weak hashing betrays itself on.

use hapax::{KeyHash, Seed};

/// How keys follow one another.
#[derive(Clone, Copy, Debug)]
pub enum Shape {
    /// 64 pseudo-random bits.
    Random,
    /// 0, 1, 2, …
    Sequential,
    /// The bits of a counter in reverse: only the top ones change.
    BitReversed,
    /// Long text that differs in its last digits.
    SharedPrefix,
}

impl Shape {
    pub const ALL: [Self; 4] =
        [Self::Random, Self::Sequential, Self::BitReversed, Self::SharedPrefix];

    /// The hash of key `index`. Different indices are different keys.
    pub fn hash(self, index: u64) -> KeyHash {
        let seed = Seed::default();
        let hash = match self {
            Self::Random => seed.hash(&scramble(index)),
            Self::Sequential => seed.hash(&index),
            Self::BitReversed => seed.hash(&index.reverse_bits()),
            Self::SharedPrefix => {
                seed.hash(&format!("https://example.org/archive/2024/measurements/station-{index}"))
            }
        };
        hash.unwrap()
    }

    /// The first `n` keys.
    pub fn members(self, n: u64) -> impl Iterator<Item = KeyHash> {
        (0..n).map(move |index| self.hash(index))
    }

    /// `n` keys that are not among the first 2⁴⁰.
    pub fn strangers(self, n: u64) -> impl Iterator<Item = KeyHash> {
        (0..n).map(move |index| self.hash(index | 1 << 40))
    }
}

/// A bijection of the 64-bit words without visible structure (`SplitMix64`).
pub fn scramble(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The same items in another, fixed order.
pub fn shuffled<T: Copy>(items: &[T]) -> Vec<T> {
    let mut order: Vec<(u64, T)> =
        items.iter().enumerate().map(|(i, &item)| (scramble(i as u64), item)).collect();
    order.sort_unstable_by_key(|&(rank, _)| rank);
    order.into_iter().map(|(_, item)| item).collect()
}
