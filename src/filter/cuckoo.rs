//! The cuckoo filter: short fingerprints in one of two buckets, which can be taken out again.
//!
//! ```text
//!             bucket i₁ = reduce(a)         bucket i₂ = (r(fp) − i₁) mod buckets
//!             ┌────┬────┬────┬────┐         ┌────┬────┬────┬────┐
//!  "alice" ──▶│ 3f │ 91 │ 0a │ 77 │   or ──▶│ c4 │    │ 1e │    │     fp = 1e
//!             └────┴────┴────┴────┘         └────┴────┴────┴────┘     0 = empty
//! ```
//!
//! Either bucket follows from the other and the fingerprint alone, so a stored fingerprint can be
//! moved without its key: i₁ + i₂ ≡ r(fp), which is its own inverse for *any* number of buckets.
//! (The xor of the original paper needs a power of two and wastes up to half of the memory.) For
//! an even number of buckets r is made odd, so that the two differ.
//!
//! **Insertion** with both buckets full looks for the nearest free slot breadth first and moves
//! the fingerprints on the way, the last one first. The path is known before anything is moved, so
//! a failed insert has nothing to undo: the table is as it was. A breadth-first path is about
//! log₄ of the buckets looked at, three moves where a random walk makes dozens, and it needs no
//! random numbers: equal inserts give equal tables.
//!
//! **Copies.** Inserting a key again stores another copy, since each insert may be taken back. The
//! two buckets hold eight of them; the ninth is refused with [`FullReason::Copies`].
//!
//! Source: B. Fan et al., *Cuckoo filter: practically better than Bloom*, CoNEXT 2014.

mod batch;
mod plan;
mod search;

use super::builder::{Builder, sealed};
use super::{InvalidParts, Settings};
use crate::error::{Full, FullReason};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed, reduce};
use crate::math::cuckoo::{
    MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS, SLOTS_PER_BUCKET, rate_at_load,
};
use crate::membership::{
    BatchError, Insert, Membership, Remove, Removed, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::store::{ANY, Slots, Words, words_for};
use search::Frontier;

/// Calls a method for slots of 8, 16 or 32 bits, for which all shifts and masks are constants, or for
/// slots of any width.
macro_rules! by_width {
    ($filter:ident.$method:ident($($argument:expr),*)) => {
        match $filter.slots.bits() {
            8 => $filter.$method::<8>($($argument),*),
            16 => $filter.$method::<16>($($argument),*),
            32 => $filter.$method::<32>($($argument),*),
            _ => $filter.$method::<ANY>($($argument),*),
        }
    };
}

/// A cuckoo filter: 4 slots a bucket, fingerprints of 4 to 32 bits, any number of buckets.
///
/// (log₂(1/ε) + 3) / 0.95 bits per key: 10.5 at 1 % (10 bits), 13.7 at 0.1 %, 20 at 2⁻¹⁶. Lookups
/// and removals touch two cache lines. It cannot be merged. It is a multiset: `len` counts copies,
/// and at most 8 copies of a key fit.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let mut filter = CuckooFilter::builder().capacity(10_000).false_positive_rate(0.001).build()?;
/// let _ = filter.insert("alice")?;
/// assert!(filter.contains("alice")?);
/// assert_eq!(filter.remove("alice")?, Removed::Removed);
/// assert!(!filter.contains("alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct CuckooFilter<S = Words> {
    pub(super) settings: Settings,
    pub(super) slots: Slots<S>,
}

/// Options of the builder.
#[doc(hidden)]
#[derive(Clone, Debug, Default)]
pub struct CuckooOptions {
    fingerprint_bits: Option<u32>,
}

impl CuckooFilter {
    /// Starts a builder.
    pub fn builder() -> Builder<Self> {
        Builder::new()
    }
}

impl Builder<CuckooFilter> {
    /// Bits in a fingerprint, 4 to 32. Without it the builder takes the fewest that keep the rate;
    /// with it the fingerprints are at least this wide, so that slots of 8, 16 or 32 bits can be
    /// had for their alignment.
    pub const fn fingerprint_bits(mut self, bits: u32) -> Self {
        self.options.fingerprint_bits = Some(bits);
        self
    }
}

impl sealed::Sealed for CuckooFilter {}

fn load_factor(keys: u64, buckets: u64) -> f64 {
    keys as f64 / (buckets * SLOTS_PER_BUCKET) as f64
}

/// Where a key lives.
#[derive(Clone, Copy, Default)]
pub(super) struct Home {
    pub(super) fingerprint: u32,
    pub(super) buckets: [u64; 2],
}

impl Home {
    /// The buckets to look into: one if both are the same, as an odd table makes possible.
    pub(super) fn distinct(&self) -> &[u64] {
        if self.buckets[0] == self.buckets[1] { &self.buckets[..1] } else { &self.buckets }
    }
}

/// Scatters a fingerprint over 64 bits; the *top* bits matter (the step of `MurmurHash3`'s
/// finaliser between two multiplications).
///
/// One multiplication is not enough. Being linear, it sends fingerprint f to f·δ mod buckets, and
/// i ↔ f·δ − i ties bucket j·δ only to the few buckets near −j·δ: a chain, not a random graph, when
/// fingerprints are short. Filters of 4 bits then refused keys at a load of 0.86 where the number
/// of buckets was a Fibonacci number.
#[inline]
fn scatter(fingerprint: u32) -> u64 {
    let word = u64::from(fingerprint).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (word ^ word >> 32).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

impl<S: AsRef<[u64]>> CuckooFilter<S> {
    /// Bits in a fingerprint (f).
    #[must_use]
    pub const fn fingerprint_bits(&self) -> u32 {
        self.slots.bits()
    }

    /// Buckets of four slots.
    #[must_use]
    pub const fn buckets(&self) -> u64 {
        self.slots.buckets()
    }

    /// Occupied slots / slots.
    #[must_use]
    pub fn load_factor(&self) -> f64 {
        load_factor(self.settings.len, self.slots.buckets())
    }

    pub(crate) const fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(crate) fn words(&self) -> &[u64] {
        self.slots.words()
    }

    /// Puts a filter together from stored parts, checking what can be checked in O(1).
    pub(crate) fn from_parts(
        settings: Settings,
        words: S,
        fingerprint_bits: u32,
        buckets: u64,
    ) -> Result<Self, InvalidParts> {
        InvalidParts::unless(
            (MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS).contains(&fingerprint_bits),
            "bits in a fingerprint",
            "4 to 32",
            fingerprint_bits,
        )?;
        InvalidParts::unless(buckets > 0, "number of buckets", "at least 1", buckets)?;
        let found = words.as_ref().len() as u64;
        let expected = words_for(buckets, fingerprint_bits);
        InvalidParts::unless(
            expected == Some(found),
            "number of words",
            expected.map_or_else(|| "fewer buckets".to_owned(), |words| words.to_string()),
            found,
        )?;
        // `words_for` gave a value, so four slots a bucket cannot overflow.
        let slots = buckets * SLOTS_PER_BUCKET;
        let len = settings.len;
        InvalidParts::unless(len <= slots, "number of keys", format_args!("0 to {slots}"), len)?;
        Ok(Self { settings, slots: Slots::new(words, buckets, fingerprint_bits) })
    }

    /// Compares what is stored about the slots with the slots. O(slots).
    pub(crate) fn check_counts(&self) -> Result<(), InvalidParts> {
        let counted = self.slots.count();
        let len = self.settings.len;
        InvalidParts::unless(counted == len, "number of occupied slots", len, counted)?;
        InvalidParts::unless(self.slots.padding_is_clear(), "padding after the slots", 0, "1 bits")
    }

    #[inline]
    pub(super) fn home(&self, hash: KeyHash) -> Home {
        let mixed = hash.mix(self.settings.salt);
        let fingerprint = reduce(mixed.b, (1 << self.slots.bits()) - 1) as u32 + 1;
        let first = reduce(mixed.a, self.slots.buckets());
        Home { fingerprint, buckets: [first, self.other_bucket(first, fingerprint)] }
    }

    /// The other bucket of a fingerprint: (r − bucket) mod buckets, its own inverse.
    #[inline]
    pub(super) fn other_bucket(&self, bucket: u64, fingerprint: u32) -> u64 {
        let buckets = self.slots.buckets();
        let sum = reduce(scatter(fingerprint), buckets);
        // An odd sum for an even table: then the two buckets have different parity.
        let sum = sum | u64::from(buckets.is_multiple_of(2));
        // Without a branch: it would be mispredicted every other time.
        let (difference, below) = sum.overflowing_sub(bucket);
        difference.wrapping_add(buckets & 0u64.wrapping_sub(below.into()))
    }

    /// Whether the fingerprint is in one of its buckets. Both are compared whatever the first one
    /// says: a branch between them that cannot be foreseen costs more than a comparison.
    #[inline]
    fn finds<const B: u32>(&self, home: &Home) -> bool {
        let [first, second] = home.buckets;
        self.slots.holds::<B>(first, home.fingerprint)
            | self.slots.holds::<B>(second, home.fingerprint)
    }

    #[inline]
    fn copies<const B: u32>(&self, home: &Home) -> u64 {
        let buckets = home.distinct().iter();
        buckets.map(|&bucket| u64::from(self.slots.count_of::<B>(bucket, home.fingerprint))).sum()
    }
}

impl<S> Unlock for CuckooFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.settings.seed.unlock(key)
    }
}

impl<S: AsRef<[u64]>> Membership for CuckooFilter<S> {
    fn seed(&self) -> &Seed {
        &self.settings.seed
    }

    #[inline]
    fn contains_hash(&self, hash: KeyHash) -> bool {
        by_width!(self.finds(&self.home(hash)))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        by_width!(self.contains_all(hashes, present));
        Ok(())
    }

    fn false_positive_rate(&self) -> f64 {
        rate_at_load(self.slots.bits(), self.load_factor())
    }

    fn stats(&self) -> Stats {
        Stats {
            capacity: self.settings.capacity,
            len: self.settings.len,
            estimated_len: self.settings.len as f64,
            fill_ratio: self.load_factor(),
            false_positive_rate: self.false_positive_rate(),
            bit_len: self.words().len() as u64 * 64,
            saturated: 0,
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> CuckooFilter<S> {
    /// Forgets every key. O(slots).
    pub fn clear(&mut self) {
        self.slots.clear();
        self.settings.len = 0;
    }

    /// Adds a key whose place is known.
    #[inline]
    fn insert_home<const B: u32>(&mut self, home: &Home) -> Result<Seen, Full> {
        if let Some(full) = self.settings.refusal() {
            return Err(full);
        }
        let copies = self.copies::<B>(home);
        if copies == SLOTS_PER_BUCKET * home.distinct().len() as u64 {
            return Err(self.settings.full(FullReason::Copies));
        }
        if !self.place::<B>(home) {
            self.make_room::<B>(home).map_err(|reason| self.settings.full(reason))?;
        }
        self.settings.len += 1;
        Ok(if copies == 0 { Seen::Never } else { Seen::Maybe })
    }

    /// Puts the fingerprint into a free slot of its buckets; `false` if there is none.
    #[inline]
    fn place<const B: u32>(&mut self, home: &Home) -> bool {
        for &bucket in home.distinct() {
            if let Some(slot) = self.slots.first_of::<B>(bucket, 0) {
                self.slots.set::<B>(bucket, slot, home.fingerprint);
                return true;
            }
        }
        false
    }

    /// Frees a slot by moving others, and puts the fingerprint there.
    fn make_room<const B: u32>(&mut self, home: &Home) -> Result<(), FullReason> {
        let mut frontier = Frontier::default();
        let route = frontier.search::<B, _>(self, home).ok_or(FullReason::Evictions)?;
        // From the free slot back to the key's own bucket; each move frees the slot before it.
        let mut free = route.free;
        for (bucket, slot) in frontier.moves(route) {
            self.slots.set::<B>(free.0, free.1, self.slots.slot::<B>(bucket, slot));
            free = (bucket, slot);
        }
        self.slots.set::<B>(free.0, free.1, home.fingerprint);
        Ok(())
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for CuckooFilter<S> {
    fn restart(&mut self, salt: Salt) {
        self.clear();
        self.settings.salt = salt;
    }

    fn salt(&self) -> Salt {
        self.settings.salt
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for CuckooFilter<S> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        by_width!(self.insert_home(&self.home(hash)))
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        by_width!(self.insert_all(hashes, seen))
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Remove for CuckooFilter<S> {
    fn remove_hash(&mut self, hash: KeyHash) -> Removed {
        let home = self.home(hash);
        for &bucket in home.distinct() {
            if let Some(slot) = self.slots.first_of::<ANY>(bucket, home.fingerprint) {
                self.slots.set::<ANY>(bucket, slot, 0);
                self.settings.len -= 1;
                return Removed::Removed;
            }
        }
        Removed::Absent
    }
}
