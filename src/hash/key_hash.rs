//! The hashed key and its remix under a filter's salt.

use std::fmt;

/// A hashed key: 128 uniform bits.
///
/// It comes from [`Seed::hash`](crate::Seed::hash), or from bytes that are already a uniform hash
/// through [`KeyHash::from_uniform`]. There is no way to it from a bare integer: a counter taken
/// for a hash destroys every filter's accuracy.
///
/// 128 bits, because a 64-bit hash has a loss floor of n·2⁻⁶⁴ per lookup (5·10⁻¹¹ at a billion
/// keys), and because shard, position and fingerprint each need bits of their own.
///
/// # Examples
///
/// ```
/// use hapax::{KeyHash, Seed};
/// let hash = Seed::default().hash("alice")?;
/// // A `KeyHash` can be logged and come back.
/// assert_eq!(KeyHash::from_uniform(&hash.to_bytes()), hash);
/// # Ok::<(), hapax::HashError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct KeyHash {
    hi: u64,
    lo: u64,
}

impl KeyHash {
    pub(crate) const fn from_halves(hi: u64, lo: u64) -> Self {
        Self { hi, lo }
    }

    /// Takes 16 bytes that **already are** a uniform hash: the head of a SHA-1 digest, an NT hash,
    /// or what [`to_bytes`](Self::to_bytes) gave.
    ///
    /// Both halves are read big-endian, so hashes sorted as bytes are sorted as `KeyHash`, and a
    /// sorted list can be cut into shards as it streams by.
    ///
    /// Bytes that are not uniform (text, counters, addresses) make false positives certain rather
    /// than rare, and nothing can notice. Hash such keys with [`Seed::hash`](crate::Seed::hash).
    #[must_use]
    #[inline]
    pub const fn from_uniform(bytes: &[u8; 16]) -> Self {
        let word = u128::from_be_bytes(*bytes);
        Self { hi: (word >> 64) as u64, lo: word as u64 }
    }

    /// The 16 bytes, big-endian: the inverse of [`from_uniform`](Self::from_uniform).
    #[must_use]
    #[inline]
    pub const fn to_bytes(self) -> [u8; 16] {
        (((self.hi as u128) << 64) | self.lo as u128).to_be_bytes()
    }

    /// The first half. Its top bits choose key groups and shards, and nothing else.
    #[must_use]
    #[inline]
    pub const fn hi(self) -> u64 {
        self.hi
    }

    /// The second half.
    #[must_use]
    #[inline]
    pub const fn lo(self) -> u64 {
        self.lo
    }

    /// Remixes the hash under a filter's salt into the two words that filters draw positions and
    /// fingerprints from. Costs two multiplications.
    ///
    /// It is a bijection of the 128 bits (a Feistel network of two rounds), so no two keys
    /// collide here that did not collide before. Filters with different salts see unrelated
    /// words: the false positives of two generations of a window are independent. And neither
    /// word is a plain copy of `hi`, so the bits that chose a shard are not used again inside it;
    /// with them reused, a blocked filter goes from 0.24 % to 100 % false positives.
    #[must_use]
    #[inline]
    pub const fn mix(self, salt: Salt) -> Mixed {
        let a = self.lo ^ fold(self.hi ^ salt.round_1, MULTIPLIER_1);
        let b = self.hi ^ fold(a ^ salt.round_2, MULTIPLIER_2);
        Mixed { a, b }
    }

    /// The hash that was mixed under this salt: the inverse of [`mix`](Self::mix).
    #[must_use]
    #[inline]
    pub(crate) const fn unmix(Mixed { a, b }: Mixed, salt: Salt) -> Self {
        let hi = b ^ fold(a ^ salt.round_2, MULTIPLIER_2);
        let lo = a ^ fold(hi ^ salt.round_1, MULTIPLIER_1);
        Self { hi, lo }
    }
}

/// The first 32 bits: enough to tell keys apart in a report. The whole of an NT hash is as good as
/// the password; [`to_bytes`](KeyHash::to_bytes) gives it to whoever asks for it.
impl fmt::Debug for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyHash({:08x}…)", self.hi >> 32)
    }
}

/// For buffers of hashes that stand for secrets.
impl zeroize::Zeroize for KeyHash {
    fn zeroize(&mut self) {
        self.hi.zeroize();
        self.lo.zeroize();
    }
}

/// Odd multipliers with about half of their bits set: 2⁶⁴/φ, and the first one of SplitMix64.
const MULTIPLIER_1: u64 = 0x9e37_79b9_7f4a_7c15;
const MULTIPLIER_2: u64 = 0xbf58_476d_1ce4_e5b9;

/// Folds the 128-bit product of two words to 64 bits (the mixing step of wyhash and MuseAir).
const fn fold(x: u64, y: u64) -> u64 {
    let product = x as u128 * y as u128;
    (product >> 64) as u64 ^ product as u64
}

/// A filter's own value, mixed into every [`KeyHash`] it sees.
///
/// Two filters with different salts make unrelated mistakes; filters that are to be merged share
/// one. It is public and stored in the file; what selects the hash function is the
/// [`Seed`](crate::Seed).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Salt {
    value: u64,
    round_1: u64,
    round_2: u64,
}

impl Salt {
    /// The salt of this value. The round keys are two outputs of SplitMix64 seeded with it, so
    /// that neighbouring values (generation 7 and 8 of a window) act as unrelated ones.
    #[must_use]
    pub const fn new(value: u64) -> Self {
        Self {
            value,
            round_1: split_mix(value.wrapping_add(MULTIPLIER_1)),
            round_2: split_mix(value.wrapping_add(MULTIPLIER_1.wrapping_mul(2))),
        }
    }

    /// The value it was made from.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.value
    }
}

impl Default for Salt {
    fn default() -> Self {
        Self::new(0)
    }
}

impl fmt::Debug for Salt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Salt({:#x})", self.value)
    }
}

/// The output function of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014).
const fn split_mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(MULTIPLIER_2);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Two words that depend on all 128 bits of a [`KeyHash`] and on a filter's salt.
///
/// Filters take positions from `a` and what must be independent of the position (fingerprints,
/// the stride of further probes) from `b`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mixed {
    /// The word for positions.
    pub a: u64,
    /// The word for everything else.
    pub b: u64,
}
