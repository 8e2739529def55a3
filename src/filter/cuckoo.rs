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

use super::buckets::{
    Home, Sizes, Table, TableMut, by_width, contains, contains_all, free_slot, insert, insert_all,
    other_bucket, prefetch,
};
use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, Settings};
use crate::error::{BuildError, Full, FullReason};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed};
use crate::math::cuckoo::{
    MAX_FINGERPRINT_BITS, MAX_LOAD, MIN_FINGERPRINT_BITS, SLOTS_PER_BUCKET, least_fingerprint_bits,
    load_at_rate, rate_at_load,
};
use crate::membership::{
    BatchError, Insert, Membership, Remove, Removed, Restart, Seen, Stats, Unlock, check_lengths,
};
use crate::store::{ANY, Slots, Words, words_for};

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
        let sizes = Sizes {
            tag_bits: 0,
            max_load: MAX_LOAD,
            bits: wanted.unwrap_or(MIN_FINGERPRINT_BITS)..=MAX_FINGERPRINT_BITS,
            rate: rate_at_load,
            load: load_at_rate,
            // Who asks for a width gets it.
            least: |keys| wanted.unwrap_or_else(|| least_fingerprint_bits(keys)),
        };
        let layout = sizes.find(target)?;
        let (fingerprint_bits, buckets) = (layout.fingerprint_bits, layout.buckets);
        let shape = Shape::Cuckoo { fingerprint_bits, buckets };
        Ok(Plan::new(layout.keys, layout.rate, layout.words * 64, shape))
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
        self.settings.len as f64 / (self.slots.buckets() * SLOTS_PER_BUCKET) as f64
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
    fn copies<const B: u32>(&self, home: &Home) -> u64 {
        let buckets = home.distinct().iter();
        buckets.map(|&bucket| u64::from(self.slots.count_of::<B>(bucket, home.fingerprint))).sum()
    }
}

impl<S: AsRef<[u64]>> Table for CuckooFilter<S> {
    fn words(&self) -> &[u64] {
        self.slots.words()
    }

    #[inline]
    fn home(&self, hash: KeyHash) -> Home {
        Home::new(hash.mix(self.settings.salt), self.slots.buckets(), self.slots.bits())
    }

    /// Both buckets are compared whatever the first one says: a branch between them that cannot be
    /// foreseen costs more than a comparison.
    #[inline]
    fn finds<const B: u32>(&self, home: &Home) -> bool {
        let [first, second] = home.buckets;
        self.slots.holds::<B>(first, home.fingerprint)
            | self.slots.holds::<B>(second, home.fingerprint)
    }

    #[inline]
    fn load(&self) -> f64 {
        self.load_factor()
    }

    #[inline]
    fn first_free<const B: u32>(&self, bucket: u64) -> Option<usize> {
        self.slots.first_of::<B>(bucket, 0)
    }

    #[inline]
    fn neighbour<const B: u32>(&self, bucket: u64, slot: usize) -> u64 {
        let fingerprint = self.slots.slot::<B>(bucket, slot);
        other_bucket(self.slots.buckets(), bucket, fingerprint)
    }

    #[inline]
    fn prefetch<const B: u32>(&self, bucket: u64) {
        self.slots.prefetch::<B>(bucket);
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> TableMut for CuckooFilter<S> {
    #[inline]
    fn insert_home<const B: u32>(&mut self, home: &Home) -> Result<Seen, Full> {
        if let Some(full) = self.settings.refusal() {
            return Err(full);
        }
        let copies = self.copies::<B>(home);
        if copies == SLOTS_PER_BUCKET * home.distinct().len() as u64 {
            return Err(self.settings.full(FullReason::Copies));
        }
        let (bucket, slot) = free_slot::<B, _>(self, home)
            .ok_or_else(|| self.settings.full(FullReason::Evictions))?;
        self.slots.set::<B>(bucket, slot, home.fingerprint);
        self.settings.len += 1;
        Ok(if copies == 0 { Seen::Never } else { Seen::Maybe })
    }

    #[inline]
    fn copy<const B: u32>(&mut self, from: (u64, usize), to: (u64, usize)) {
        let moved = self.slots.slot::<B>(from.0, from.1);
        self.slots.set::<B>(to.0, to.1, moved);
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
        by_width!(self.slots.bits(), [8 16 32], contains(self, hash))
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        by_width!(self.slots.bits(), [8 16 32], contains_all(self, hashes, present));
        Ok(())
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        by_width!(self.slots.bits(), [8 16 32], prefetch(self, hash));
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
        by_width!(self.slots.bits(), [8 16 32], insert(self, hash))
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        by_width!(self.slots.bits(), [8 16 32], insert_all(self, hashes, seen))
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
