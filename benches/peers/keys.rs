//! Distinct keys, made from running indices, in every form a contestant wants.

use hapax::{KeyHash, Seed};

/// Members are the indices from 0; strangers start here.
const STRANGERS: u64 = 1 << 40;

/// A bijection of the 64-bit words (`SplitMix64`): random bits, no repeats.
fn word(index: u64) -> u64 {
    let mut z = index.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Keys of one burst; the same keys in each form.
#[derive(Default)]
pub(crate) struct Burst {
    pub(crate) words: Vec<u64>,
    pub(crate) hashes: Vec<KeyHash>,
    pub(crate) bytes: Vec<[u8; 24]>,
}

impl Burst {
    /// The keys of these indices.
    pub(crate) fn of(indices: impl Iterator<Item = u64>) -> Self {
        let seed = Seed::default();
        let mut burst = Self::default();
        for index in indices {
            let word = word(index);
            burst.words.push(word);
            burst.hashes.push(seed.hash(&word).unwrap());
            let mut bytes = [0; 24];
            bytes[..8].copy_from_slice(&word.to_le_bytes());
            bytes[8..16].copy_from_slice(b"-session");
            bytes[16..].copy_from_slice(&index.to_be_bytes());
            burst.bytes.push(bytes);
        }
        burst
    }

    pub(crate) fn len(&self) -> usize {
        self.words.len()
    }
}

/// What a burst asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ask {
    Hit,
    Miss,
    Mix,
}

impl Ask {
    pub(crate) const ALL: [Self; 3] = [Self::Hit, Self::Miss, Self::Mix];

    /// Burst number `round` of so many keys, against a filter of `n` members.
    ///
    /// Members come in an order that has nothing to do with that of their insertion; a mix is half
    /// and half, at random.
    pub(crate) fn burst(self, n: u64, round: u64, len: u64) -> Burst {
        let member = |i: u64| word(i ^ 0x5eed << 32) % n;
        let stranger = |i: u64| STRANGERS + i;
        let start = round * len;
        let indices = start..start + len;
        match self {
            Self::Hit => Burst::of(indices.map(member)),
            Self::Miss => Burst::of(indices.map(stranger)),
            Self::Mix => Burst::of(indices.map(|i| {
                let i = i + (1 << 38);
                if word(i) & 1 == 0 { member(i) } else { stranger(i) }
            })),
        }
    }
}
