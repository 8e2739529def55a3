//! What tables of buckets share, whatever else their slots carry: where a key lives, how room is
//! made for it, how many keys are answered at once, and what shape is planned.
//!
//! ```text
//!  CuckooFilter ─────────┐                       ┌─ search: the way to a free slot, breadth first
//!                        ├──▶ trait Table ──▶ ───┼─ batch:  prefetch ahead, then one by one
//!  RetiringCuckooFilter ─┘                       └─ plan:   buckets and bits for what is asked
//! ```
//!
//! A table says what a free slot is (an empty one, or one whose epoch is over) and how a slot is
//! copied; nothing here looks into a slot.

mod batch;
mod plan;
mod search;

use crate::error::Full;
use crate::hash::{KeyHash, Mixed, reduce};
use crate::membership::Seen;

pub(super) use batch::{contains_all, insert_all};
pub(super) use plan::Sizes;
pub(super) use search::{free_slot, make_room};

/// Calls a function for the slot widths listed, for which all shifts and masks are constants, or
/// for slots of any width.
macro_rules! by_width {
    ($bits:expr, [$($width:literal)*], $function:ident $arguments:tt) => {
        match $bits {
            $($width => $function::<$width, _> $arguments,)*
            _ => $function::<{ crate::store::ANY }, _> $arguments,
        }
    };
}
pub(super) use by_width;

/// Buckets of slots.
pub(super) trait Table {
    /// The words of the table.
    fn words(&self) -> &[u64];

    /// Where a key lives. It depends on nothing that an insert changes.
    fn home(&self, hash: KeyHash) -> Home;

    /// Whether the key is in one of its buckets.
    fn finds<const B: u32>(&self, home: &Home) -> bool;

    /// Share of the slots that are not free.
    fn load(&self) -> f64;

    /// The first free slot of a bucket.
    fn first_free<const B: u32>(&self, bucket: u64) -> Option<usize>;

    /// The other bucket of what is in a slot.
    fn neighbour<const B: u32>(&self, bucket: u64, slot: usize) -> u64;

    /// Starts to load the cache lines of a bucket.
    fn prefetch<const B: u32>(&self, bucket: u64);
}

/// Buckets whose slots can be moved.
pub(super) trait TableMut: Table {
    /// Adds a key whose place is known.
    fn insert_home<const B: u32>(&mut self, home: &Home) -> Result<Seen, Full>;

    /// Forgets what is left in a free slot, before something else is put there.
    fn vacate<const B: u32>(&mut self, _bucket: u64, _slot: usize) {}

    /// Puts a copy of one slot into another, given as bucket and slot.
    fn copy<const B: u32>(&mut self, from: (u64, usize), to: (u64, usize));
}

/// `contains_hash`.
#[inline]
pub(super) fn contains<const B: u32, T: Table>(table: &T, hash: KeyHash) -> bool {
    table.finds::<B>(&table.home(hash))
}

/// `prefetch_hash`.
#[inline]
pub(super) fn prefetch<const B: u32, T: Table>(table: &T, hash: KeyHash) {
    batch::prefetch::<B, T>(table, &table.home(hash));
}

/// `insert_hash`.
#[inline]
pub(super) fn insert<const B: u32, T: TableMut>(
    table: &mut T,
    hash: KeyHash,
) -> Result<Seen, Full> {
    table.insert_home::<B>(&table.home(hash))
}

/// Where a key lives.
#[derive(Clone, Copy, Default)]
pub(super) struct Home {
    pub(super) fingerprint: u64,
    pub(super) buckets: [u64; 2],
}

impl Home {
    /// The home in a table of so many buckets and fingerprints of so many bits.
    #[inline]
    pub(super) fn new(Mixed { a, b }: Mixed, buckets: u64, fingerprint_bits: u32) -> Self {
        let fingerprint = reduce(b, (1 << fingerprint_bits) - 1) + 1;
        let first = reduce(a, buckets);
        Self { fingerprint, buckets: [first, other_bucket(buckets, first, fingerprint)] }
    }

    /// The buckets to look into: one if both are the same, as an odd table makes possible.
    pub(super) fn distinct(&self) -> &[u64] {
        if self.buckets[0] == self.buckets[1] { &self.buckets[..1] } else { &self.buckets }
    }
}

/// The other bucket of a fingerprint: (r − bucket) mod buckets, its own inverse.
#[inline]
pub(super) fn other_bucket(buckets: u64, bucket: u64, fingerprint: u64) -> u64 {
    let sum = reduce(scatter(fingerprint), buckets);
    // An odd sum for an even table: then the two buckets have different parity.
    let sum = sum | u64::from(buckets.is_multiple_of(2));
    // Without a branch: it would be mispredicted every other time.
    let (difference, below) = sum.overflowing_sub(bucket);
    difference.wrapping_add(buckets & 0u64.wrapping_sub(below.into()))
}

/// Scatters a fingerprint over 64 bits; the *top* bits matter (the step of `MurmurHash3`'s
/// finaliser between two multiplications).
///
/// One multiplication is not enough. Being linear, it sends fingerprint f to f·δ mod buckets, and
/// i ↔ f·δ − i ties bucket j·δ only to the few buckets near −j·δ: a chain, not a random graph, when
/// fingerprints are short. Filters of 4 bits then refused keys at a load of 0.86 where the number
/// of buckets was a Fibonacci number.
#[inline]
fn scatter(fingerprint: u64) -> u64 {
    let word = fingerprint.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}
