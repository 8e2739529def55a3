//! Uniform hashes in order, cell by cell.

use hapax::KeyHash;
use hapax::screen::PasswordDigest;

use crate::rows::Entry;

/// Rows of a cell, on average, at most: few enough that sorting them costs next to nothing, and
/// enough that a cell does not.
const ROWS_PER_CELL: f64 = 6.0;

/// Rows of most cells, at most: so few are sorted without a branch.
const FEW: usize = 8;

/// Leading bits of a draw that say where to start in the table of chances.
const GUIDE_BITS: u32 = 10;

/// Rows of a piece of work, on average: about a megabyte of text.
const ROWS_PER_PIECE: f64 = 24_000.0;

/// The largest count, a little more than the most frequent password has.
const MAX_COUNT: f64 = 1e8;

/// The cells of a list of so many rows.
#[derive(Debug)]
pub(super) struct Cells {
    /// There are 2 to this power of them.
    bits: u32,
    per_piece: u64,
    /// Chance of at most so many rows in a cell, in units of 2⁻⁶⁴.
    cumulative: Vec<u64>,
    /// For each value of the leading bits, the fewest rows that a draw with them can mean.
    guide: Vec<u8>,
    seed: u64,
    digest: PasswordDigest,
}

impl Cells {
    pub(super) fn new(rows: u64, seed: u64, digest: PasswordDigest) -> Self {
        // At least those of the ranges, so that a range file is made of whole cells.
        let mut bits = 20;
        while rows as f64 / f64::from(bits).exp2() > ROWS_PER_CELL {
            bits += 1;
        }
        let mean = rows as f64 / f64::from(bits).exp2();
        let cells = (ROWS_PER_PIECE / mean.max(1e-9)) as u64;
        let cumulative = poisson(mean);
        let fewest = |draw: u64| cumulative.partition_point(|&chance| chance <= draw) as u8;
        let guide = (0..1 << GUIDE_BITS).map(|lead: u64| fewest(lead << (64 - GUIDE_BITS)));
        Self {
            bits,
            per_piece: cells.clamp(1, 1 << bits),
            guide: guide.collect(),
            cumulative,
            seed: mix(seed ^ 0x6861_7061_7820_6765),
            digest,
        }
    }

    /// How many pieces of work there are.
    pub(super) fn pieces(&self) -> u64 {
        (1_u64 << self.bits).div_ceil(self.per_piece)
    }

    /// Makes the rows of one piece, in order.
    pub(super) fn piece(&self, piece: u64, mut row: impl FnMut(Entry)) {
        let first = piece * self.per_piece;
        let mut keys = Vec::new();
        for cell in first..(first + self.per_piece).min(1 << self.bits) {
            let state = mix(self.seed ^ mix(cell));
            let rows = self.draw(state);
            let key = |i: u64| mix(state.wrapping_add(i.wrapping_mul(GOLDEN)));
            if rows <= FEW as u64 {
                let mut few = [u64::MAX; FEW];
                for (to, i) in few.iter_mut().zip(1..=rows) {
                    *to = key(i);
                }
                for &key in &in_order(few)[..rows as usize] {
                    row(self.entry(cell, state, key));
                }
                continue;
            }
            keys.clear();
            keys.extend((1..=rows).map(key));
            keys.sort_unstable();
            for &key in &keys {
                row(self.entry(cell, state, key));
            }
        }
    }

    /// A Poisson number from a uniform one.
    fn draw(&self, uniform: u64) -> u64 {
        let mut rows = usize::from(self.guide[(uniform >> (64 - GUIDE_BITS)) as usize]);
        while self.cumulative.get(rows).is_some_and(|&chance| chance <= uniform) {
            rows += 1;
        }
        rows as u64
    }

    /// The row of these 64 bits of a cell: they follow the bits of the cell, and the rest follows
    /// from them.
    fn entry(&self, cell: u64, state: u64, key: u64) -> Entry {
        // Both halves of a product depend on all bits of the key, folded on each other.
        let product = u128::from(key ^ state) * u128::from(GOLDEN);
        let rest = (product >> 64) as u64 ^ product as u64;
        let more = (rest ^ state).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let hi = (cell << (64 - self.bits)) | (key >> self.bits);
        let lo = (key << (64 - self.bits)) | (rest >> self.bits);
        let word = (u128::from(hi) << 64) | u128::from(lo);
        Entry {
            hash: KeyHash::from_uniform(&word.to_be_bytes()),
            tail: if self.digest == PasswordDigest::Sha1 { (more >> 24) as u32 } else { 0 },
            // 1/u is Pareto with index 1 if u is uniform over (0, 1].
            count: (f64::from(u32::MAX) / f64::from((more >> 32) as u32)).min(MAX_COUNT) as u64,
        }
    }
}

/// Sorts by counting how many are less than each: 64 comparisons cost less than the one or two
/// mispredicted branches of a sort that stops early. Equal ones, which keys of a cell never are, can
/// only be those that fill up the end, with the largest value.
fn in_order(keys: [u64; FEW]) -> [u64; FEW] {
    let mut sorted = [u64::MAX; FEW];
    for key in keys {
        let less: usize = keys.iter().map(|&other| usize::from(other < key)).sum();
        // Without effect, but it spares the check of bounds.
        sorted[less % FEW] = key;
    }
    sorted
}

/// 2⁶⁴/φ, as in SplitMix64.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// The output function of SplitMix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014): a bijection.
const fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The chances of at most 0, 1, 2, … of a Poisson distribution, until they do not differ from 1.
fn poisson(mean: f64) -> Vec<u64> {
    let mut cumulative = Vec::new();
    let (mut term, mut sum) = ((-mean).exp(), 0.0);
    for next in 1_u32.. {
        sum += term;
        // 2⁶⁴ as a float; the conversion saturates.
        cumulative.push((sum * 18_446_744_073_709_551_616.0) as u64);
        term *= mean / f64::from(next);
        if term < f64::EPSILON * f64::EPSILON && f64::from(next) > mean {
            break;
        }
    }
    cumulative
}
