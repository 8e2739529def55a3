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

use std::collections::HashSet;

use super::builder::{Buildable, Builder, Plan, Shape, Target, sealed};
use super::{InvalidParts, Settings};
use crate::error::{BuildError, Full, FullReason};
use crate::hash::{HashError, KeyHash, Salt, SecretKey, Seed, reduce};
use crate::math::cuckoo::{
    MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS, SLOTS_PER_BUCKET, buckets_for, keys_in,
    least_fingerprint_bits, load_at_rate, rate_at_load,
};
use crate::membership::{Insert, Membership, Remove, Removed, Restart, Seen, Stats, Unlock};
use crate::store::{Slots, Words, words_for};

/// Buckets looked at before an insert gives up. Rarely more than a hundred are, up to a load of
/// 0.95; the long tail is what lifts the load at the first refusal by about 0.01 over a limit of
/// 2,048. It bounds what a refusal costs.
const MAX_SEARCH: usize = 16_384;

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

fn load_factor(keys: u64, buckets: u64) -> f64 {
    keys as f64 / (buckets * SLOTS_PER_BUCKET) as f64
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

/// Where a key lives.
#[derive(Clone, Copy)]
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

/// A bucket reached by the search for a free slot.
struct Reached {
    bucket: u64,
    /// From which earlier one, and by moving which of its slots; `None` for the key's own buckets.
    by: Option<(usize, usize)>,
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
        if sum >= bucket { sum - bucket } else { sum + (buckets - bucket) }
    }

    fn copies(&self, home: &Home) -> usize {
        let copies_in = |&bucket: &u64| {
            self.slots.bucket(bucket).iter().filter(|&&slot| slot == home.fingerprint).count()
        };
        home.distinct().iter().map(copies_in).sum()
    }

    fn free_slot(&self, bucket: u64) -> Option<usize> {
        self.slots.bucket(bucket).iter().position(|&slot| slot == 0)
    }

    /// Breadth-first search for a free slot: the buckets reached, and the free slot next to the
    /// last of them (which of its slots moves, to which bucket and slot).
    fn search(&self, home: &Home) -> Option<(Vec<Reached>, usize, (u64, usize))> {
        let mut reached: Vec<Reached> = Vec::with_capacity(64);
        reached.extend(home.distinct().iter().map(|&bucket| Reached { bucket, by: None }));
        // Each bucket once: a path that passed a bucket twice would find its slots moved, and in a
        // small table the paths that differ only in their middle would use the limit up.
        let mut seen: HashSet<u64> = home.distinct().iter().copied().collect();
        let mut next = 0;
        while let Some(&Reached { bucket, .. }) = reached.get(next) {
            for (slot, fingerprint) in self.slots.bucket(bucket).into_iter().enumerate() {
                let target = self.other_bucket(bucket, fingerprint);
                if !seen.insert(target) {
                    continue;
                }
                if let Some(free) = self.free_slot(target) {
                    reached.truncate(next + 1);
                    return Some((reached, slot, (target, free)));
                }
                if reached.len() >= MAX_SEARCH {
                    return None;
                }
                reached.push(Reached { bucket: target, by: Some((next, slot)) });
            }
            next += 1;
        }
        None
    }
}

/// The buckets from one reached back to the key's own, each with the slot by which its child was
/// reached.
fn path(reached: &[Reached], from: usize) -> impl Iterator<Item = (u64, Option<usize>)> {
    let mut step = reached.get(from).map(|last| (last, None));
    std::iter::from_fn(move || {
        let (node, moved_slot) = step?;
        step = node.by.and_then(|(parent, slot)| Some((reached.get(parent)?, Some(slot))));
        Some((node.bucket, moved_slot))
    })
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
        let home = self.home(hash);
        home.buckets.iter().any(|&bucket| self.slots.bucket(bucket).contains(&home.fingerprint))
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

    /// Puts the fingerprint into one of its buckets, moving others if need be.
    fn place(&mut self, home: &Home) -> Result<(), FullReason> {
        for &bucket in home.distinct() {
            if let Some(slot) = self.free_slot(bucket) {
                self.slots.set(bucket, slot, home.fingerprint);
                return Ok(());
            }
        }
        let (reached, slot, mut free) = self.search(home).ok_or(FullReason::Evictions)?;
        // From the free slot back to the key's own bucket; each move frees the slot before it.
        for (bucket, by) in path(&reached, reached.len() - 1) {
            let moved_slot = by.unwrap_or(slot);
            let fingerprint = self.slots.bucket(bucket)[moved_slot];
            self.slots.set(free.0, free.1, fingerprint);
            free = (bucket, moved_slot);
        }
        self.slots.set(free.0, free.1, home.fingerprint);
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
        if let Some(full) = self.settings.refusal() {
            return Err(full);
        }
        let home = self.home(hash);
        let copies = self.copies(&home);
        if copies as u64 == SLOTS_PER_BUCKET * home.distinct().len() as u64 {
            return Err(self.settings.full(FullReason::Copies));
        }
        self.place(&home).map_err(|reason| self.settings.full(reason))?;
        self.settings.len += 1;
        Ok(if copies == 0 { Seen::Never } else { Seen::Maybe })
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Remove for CuckooFilter<S> {
    fn remove_hash(&mut self, hash: KeyHash) -> Removed {
        let home = self.home(hash);
        for &bucket in home.distinct() {
            let slots = self.slots.bucket(bucket);
            if let Some(slot) = slots.iter().position(|&slot| slot == home.fingerprint) {
                self.slots.set(bucket, slot, 0);
                self.settings.len -= 1;
                return Removed::Removed;
            }
        }
        Removed::Absent
    }
}
