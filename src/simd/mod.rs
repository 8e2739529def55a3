//! The one place with unsafe code: prefetching, mapping files, and lines of 512 bits by vector
//! instructions.
//!
//! A *line* is sixteen words of 32 bits, in two halves of eight. A probe sets or asks for one bit in
//! each of eight *lanes* (a full round), or in some of them (the last, partial round); a lane is a
//! word of the low half together with its twin in the high half, 64 bits.
//!
//! ```text
//!  a round's word w ──× odd constant of lane j──▶ |half|  bit  |     rest      |
//!                                                  31   30...26
//!          lane      0    1    2    3    4    5    6    7
//!  low half      | w0 | w1 | w2 | w3 | w4 | w5 | w6 | w7 |   half = 0
//!  high half     | w8 | w9 | w10| w11| w12| w13| w14| w15|   half = 1
//! ```
//!
//! So bit p = 256·half + 32·j + bit of the line, where bit 0 is the lowest of word 0. A multiplication
//! of eight lanes and one shift by a variable amount is what a vector unit is good at; lanes of 64 bits
//! by one word each need twice as many of those shifts.
//!
//! Every path gives the same bits, so files move between machines. A value of a path's type exists
//! only where the processor has the instructions: having one is the proof that calls are sound.

mod map;
mod pipeline;
mod portable;
// A build with `--cfg hapax_portable` is what one for another architecture is; tests use it.
#[cfg(all(target_arch = "x86_64", not(hapax_portable)))]
#[path = "x86.rs"]
mod vector;
#[cfg(not(all(target_arch = "x86_64", not(hapax_portable))))]
#[path = "elsewhere.rs"]
mod vector;

pub(crate) use map::map;
pub(crate) use pipeline::{is_large, pipelined};

use std::sync::OnceLock;

use vector::{Avx2, Avx512};

/// Words of 64 bits in a line.
pub(crate) const LINE_WORDS: usize = 8;

/// Lanes in a line.
const LANES: usize = 8;

/// How many bits a key has in its line, as rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rounds {
    /// Rounds of one bit in every lane.
    full: usize,
    /// Lanes of a last round; 0 for none.
    partial: usize,
}

impl Rounds {
    /// The rounds of `num_probes` bits, 1 to 24.
    pub(crate) const fn new(num_probes: u32) -> Self {
        Self { full: num_probes as usize / LANES, partial: num_probes as usize % LANES }
    }

    pub(crate) const fn num_probes(self) -> u32 {
        (self.full * LANES + self.partial) as u32
    }

    /// The sets of lanes that a partial round takes one of.
    #[inline]
    fn lane_sets(self) -> &'static LaneSets {
        &LANE_SETS[self.partial % LANES]
    }
}

/// What one key asks: its line, and what its bits follow from.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Probe {
    pub(crate) line: usize,
    pub(crate) bits: u64,
}

/// What remixes a probe's bits for the choice of lanes and the third round: 2⁶⁴/φ.
const REMIX: u64 = 0x9e37_79b9_7f4a_7c15;

/// The word of a round: the low half of the bits, the high half, or the middle of their product.
#[inline]
const fn word_of_round(bits: u64, round: usize) -> u32 {
    match round {
        0 => bits as u32,
        1 => (bits >> 32) as u32,
        _ => (bits.wrapping_mul(REMIX) >> 16) as u32,
    }
}

/// Odd multipliers of the lanes: the fractional parts of the square roots of the first eight primes,
/// as SHA-256 has them, with the lowest bit set.
const MULTIPLIERS: [u32; LANES] = [
    0x6a09_e667,
    0xbb67_ae85,
    0x3c6e_f373,
    0xa54f_f53b,
    0x510e_527f,
    0x9b05_688d,
    0x1f83_d9ab,
    0x5be0_cd19,
];

/// The sets of so many lanes, as a mask a lane.
struct LaneSets {
    masks: [[u32; LANES]; 70],
    len: usize,
}

impl LaneSets {
    /// The lanes of a partial round after so many full ones. Chosen by 16 bits that no round has used:
    /// the top ones, or those of the product if round 1 has them. All sets are equally likely to
    /// within 1/900 of their probability.
    #[inline]
    fn choose(&self, bits: u64, full: usize) -> &[u32; LANES] {
        let bits = if full == 0 { bits } else { bits.wrapping_mul(REMIX) };
        let choice = ((bits >> 48) as u32 * self.len as u32) >> 16;
        // Never past the end: there are at most 70 sets.
        self.masks.get(choice as usize).unwrap_or(&self.masks[0])
    }
}

/// All sets of 0 to 7 lanes, by size; sets in ascending order of their bits.
static LANE_SETS: [LaneSets; LANES] = {
    let mut all = [const { LaneSets { masks: [[0; LANES]; 70], len: 0 } }; LANES];
    let mut set = 0u32;
    while set < 255 {
        let sets = &mut all[set.count_ones() as usize];
        let mut lane = 0;
        while lane < LANES {
            sets.masks[sets.len][lane] = 0u32.wrapping_sub(set >> lane & 1);
            lane += 1;
        }
        sets.len += 1;
        set += 1;
    }
    all
};

/// A way to work on lines.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Path {
    /// Plain Rust.
    Portable,
    /// A register for each half.
    Avx2(Avx2),
    /// One register a line.
    Avx512(Avx512),
}

impl Path {
    /// The best path of this processor; looked up once.
    pub(crate) fn best() -> Self {
        static BEST: OnceLock<Path> = OnceLock::new();
        *BEST.get_or_init(|| Self::available().last().copied().unwrap_or(Self::Portable))
    }

    /// All paths of this processor, slowest first.
    pub(crate) fn available() -> Vec<Self> {
        let vector = [Avx2::detect().map(Self::Avx2), Avx512::detect().map(Self::Avx512)];
        [Some(Self::Portable)].into_iter().chain(vector).flatten().collect()
    }

    /// Whether the line has all bits of the probe. A line past the end has none.
    #[inline]
    pub(crate) fn contains(self, words: &[u64], rounds: Rounds, probe: Probe) -> bool {
        match self {
            Self::Portable => portable::contains(words, rounds, probe),
            Self::Avx2(path) => path.contains(words, rounds, probe),
            Self::Avx512(path) => path.contains(words, rounds, probe),
        }
    }

    /// Sets all bits of the probe, and says how many were clear. A line past the end stays as it is.
    #[inline]
    pub(crate) fn insert(self, words: &mut [u64], rounds: Rounds, probe: Probe) -> u32 {
        match self {
            Self::Portable => portable::insert(words, rounds, probe),
            Self::Avx2(path) => path.insert(words, rounds, probe),
            Self::Avx512(path) => path.insert(words, rounds, probe),
        }
    }

    /// [`contains`](Self::contains) for `len` probes, made by `probe` and answered to `answer`, in
    /// order, with the lines fetched ahead.
    #[inline]
    pub(crate) fn contains_all(
        self,
        words: &[u64],
        rounds: Rounds,
        len: usize,
        probe: impl Fn(usize) -> Probe,
        answer: impl FnMut(usize, bool),
    ) {
        match self {
            Self::Portable => portable::contains_all(words, rounds, len, probe, answer),
            Self::Avx2(path) => path.contains_all(words, rounds, len, probe, answer),
            Self::Avx512(path) => path.contains_all(words, rounds, len, probe, answer),
        }
    }

    /// [`insert`](Self::insert) for `len` probes, in order, with the lines fetched ahead.
    #[inline]
    pub(crate) fn insert_all(
        self,
        words: &mut [u64],
        rounds: Rounds,
        len: usize,
        probe: impl Fn(usize) -> Probe,
        answer: impl FnMut(usize, u32),
    ) {
        match self {
            Self::Portable => portable::insert_all(words, rounds, len, probe, answer),
            Self::Avx2(path) => path.insert_all(words, rounds, len, probe, answer),
            Self::Avx512(path) => path.insert_all(words, rounds, len, probe, answer),
        }
    }
}

/// The place of some words, from which lines can be asked for while the words are being changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Prefetch(*const u64);

impl Prefetch {
    pub(crate) const fn of(words: &[u64]) -> Self {
        Self(words.as_ptr())
    }

    /// Asks the processor to fetch the cache line of a word; a hint, without effect past the end.
    #[inline]
    pub(crate) fn word(self, index: usize) {
        vector::prefetch(self.0.wrapping_add(index).cast());
    }

    /// Asks for the line of a probe.
    #[inline]
    pub(crate) fn line(self, probe: Probe) -> Probe {
        self.word(probe.line.wrapping_mul(LINE_WORDS));
        probe
    }
}

/// Asks the processor to fetch the cache line of an item; a hint, without effect past the end.
#[inline]
pub(crate) fn prefetch<T>(items: &[T], index: usize) {
    vector::prefetch(items.as_ptr().wrapping_add(index).cast());
}

#[cfg(test)]
mod tests;
