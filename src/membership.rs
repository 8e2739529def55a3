//! The contract of every filter: object-safe traits over [`KeyHash`], and extension traits for
//! keys.
//!
//! | Trait | Promise |
//! |---|---|
//! | [`Membership`] | a member is never denied; a stranger is admitted at the stated rate |
//! | [`Insert`] | says of each key whether it was *never* seen (certain) or *maybe* (not certain) |
//! | [`SharedInsert`] | the same from many threads at once: of one key exactly one insert is the first |
//! | [`Remove`] | takes back what was inserted, and only that |
//! | [`Merge`] | the union of filters built alike |
//! | [`Restart`] | emptied and used again under another salt |
//! | [`Unlock`] | given the secret key that it was opened without |
//!
//! The traits work on hashes, so that one hash serves many filters and a filter chosen at run time
//! is a `dyn Membership`. [`MembershipExt`], [`InsertExt`] and [`RemoveExt`] add the methods that
//! take keys; `use hapax::prelude::*` brings them all.
//!
//! (`fastbloom-rs` has a trait of the name `Membership` too, over byte slices. They do not meet.)

use std::fmt;

use crate::error::{Full, Incompatible};
use crate::hash::{HashError, Key, KeyHash, Salt, SecretKey, Seed};

/// The read side: is this key in the set?
///
/// `true` means *maybe*, at the filter's false positive rate; `false` is certain. An empty filter
/// answers `false` to everything.
pub trait Membership {
    /// What hashes keys for this filter.
    fn seed(&self) -> &Seed;

    /// Whether the key of this hash may be a member. `false` is certain.
    #[must_use]
    fn contains_hash(&self, hash: KeyHash) -> bool;

    /// Answers many hashes at once: `present[i]` becomes `contains_hash(hashes[i])`.
    ///
    /// # Errors
    ///
    /// [`BatchError::LengthMismatch`], before anything is written, if the two slices differ in
    /// length.
    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), present.len())?;
        for (hash, present) in hashes.iter().zip(present) {
            *present = self.contains_hash(*hash);
        }
        Ok(())
    }

    /// Asks for the memory that a question about this hash, or its insert, will look at. A hint
    /// without effect on any answer.
    ///
    /// For those who ask many filters in turn, which [`contains_batch`](Self::contains_batch) of one
    /// filter does not help: call it some 16 questions ahead. It costs a few nanoseconds, so it does
    /// not pay where the filters lie in the cache. A kind without it does nothing.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    ///
    /// let builder = CuckooFilter::builder().capacity(1_000).false_positive_rate(0.001);
    /// let shards = [builder.build()?, builder.build()?];
    /// let hashes: Vec<_> =
    ///     (0..100u64).map(|id| shards[0].seed().hash(&id)).collect::<Result<_, _>>()?;
    /// for (i, &hash) in hashes.iter().enumerate() {
    ///     if let Some(&later) = hashes.get(i + 16) {
    ///         shards[(i + 16) % 2].prefetch_hash(later);
    ///     }
    ///     assert!(!shards[i % 2].contains_hash(hash));
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn prefetch_hash(&self, _hash: KeyHash) {}

    /// The probability that a key never inserted is reported present *now*, from the current
    /// fill. O(1): the fill is kept up to date by every change.
    #[must_use]
    fn false_positive_rate(&self) -> f64;

    /// What the filter knows of itself. O(1).
    #[must_use]
    fn stats(&self) -> Stats;
}

/// Filters whose secret key can be added after they were opened without it.
pub trait Unlock {
    /// Adds the secret key of a filter that was opened locked.
    ///
    /// # Errors
    ///
    /// As [`Seed::unlock`].
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError>;
}

/// Filters that grow. Insertion is all or nothing: a refused insert leaves the filter unchanged.
pub trait Insert: Membership {
    /// Adds the key of this hash and says whether it was there before.
    ///
    /// Filters that support [`Remove`] add one more copy each time, so that every insert can be
    /// taken back; use [`insert_unique_hash`](Self::insert_unique_hash) to keep one.
    ///
    /// # Errors
    ///
    /// [`Full`] if the key cannot be added within what was promised; it says why.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full>;

    /// Adds the key unless it may be there already: the operation for dropping duplicates.
    ///
    /// After [`Seen::Maybe`] nothing was stored, so there is nothing to remove either.
    ///
    /// # Errors
    ///
    /// [`Full`] as for [`insert_hash`](Self::insert_hash).
    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        if self.contains_hash(hash) { Ok(Seen::Maybe) } else { self.insert_hash(hash) }
    }

    /// Inserts many hashes in order: `seen[i]` becomes the answer of `insert_hash(hashes[i])`,
    /// also for hashes repeated within the batch.
    ///
    /// # Errors
    ///
    /// [`BatchError::LengthMismatch`], before anything is inserted, if the slices differ in
    /// length. [`BatchError::Full`] at the first refusal: everything before it is inserted and
    /// answered, nothing after it is.
    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(hashes.len(), seen.len())?;
        for (inserted, (hash, seen)) in hashes.iter().zip(seen).enumerate() {
            *seen =
                self.insert_hash(*hash).map_err(|cause| BatchError::Full { inserted, cause })?;
        }
        Ok(())
    }
}

/// Filters that many threads fill at once, by a shared reference.
///
/// Of any number of threads that insert the same key at the same time **exactly one** is told
/// [`Seen::Never`]: whoever passes on what is new passes each key on once. The exceptions are those
/// of every filter, and go to the safe side for the promise of uniqueness: no thread is told so if
/// the key is a false positive, or if the filter refuses.
///
/// What the thread that was told `Never` did before its insert is visible to every thread that is
/// told [`Seen::Maybe`] on account of it.
pub trait SharedInsert: Membership + Sync {
    /// Adds the key of this hash and says whether it was there before.
    ///
    /// # Errors
    ///
    /// [`Full`] if the key cannot be added within what was promised. The capacity is never
    /// exceeded; within as many keys of it as there are threads an insert may be refused although
    /// another one, which held the last place for a moment, gives it back. A refused insert leaves
    /// the filter unchanged.
    fn insert_shared_hash(&self, hash: KeyHash) -> Result<Seen, Full>;
}

/// Filters that can be emptied and used again, as the generations of a window are.
pub trait Restart: Insert {
    /// Forgets every key and takes another salt, so that what was a false positive before is
    /// judged afresh. O(size), and no allocation.
    fn restart(&mut self, salt: Salt);

    /// The salt in use.
    fn salt(&self) -> Salt;
}

/// Filters that can forget a key.
///
/// **Only remove what was inserted, and as many times as it was inserted.** Removing a stranger
/// that happens to be a false positive takes a real member with it: from then on the filter denies
/// that member. No compact filter can notice; [`Removed::Absent`] catches only those strangers
/// that the filter can tell apart.
pub trait Remove: Insert {
    /// Takes one copy of the key back.
    fn remove_hash(&mut self, hash: KeyHash) -> Removed;
}

/// Union in place of filters built alike; the other may keep its words elsewhere, in a mapped file.
pub trait Merge<Other = Self> {
    /// Adds every member of `other`. Answers then equal those of a filter given both sets of keys.
    ///
    /// # Errors
    ///
    /// [`Incompatible`], naming what differs, unless both have the
    /// same seed, salt and shape; or if the union exceeds the capacity and the filter's policy is
    /// to refuse. `self` is unchanged then.
    fn merge(&mut self, other: &Other) -> Result<(), Incompatible>;
}

macro_rules! membership_through_pointers {
    ($($pointer:ty),*) => {$(
        impl<F: Membership + ?Sized> Membership for $pointer {
            fn seed(&self) -> &Seed {
                (**self).seed()
            }

            fn contains_hash(&self, hash: KeyHash) -> bool {
                (**self).contains_hash(hash)
            }

            fn contains_batch(
                &self,
                hashes: &[KeyHash],
                present: &mut [bool],
            ) -> Result<(), BatchError> {
                (**self).contains_batch(hashes, present)
            }

            fn prefetch_hash(&self, hash: KeyHash) {
                (**self).prefetch_hash(hash);
            }

            fn false_positive_rate(&self) -> f64 {
                (**self).false_positive_rate()
            }

            fn stats(&self) -> Stats {
                (**self).stats()
            }
        }
    )*};
}
membership_through_pointers!(&F, Box<F>, std::sync::Arc<F>);

/// What an insert found.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Seen {
    /// The key was never inserted before. Certain.
    Never,
    /// The key may have been inserted before; a false positive looks the same.
    Maybe,
}

/// What a removal did.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Removed {
    /// One copy was taken back.
    Removed,
    /// The key was not there; nothing changed.
    Absent,
    /// Every counter of the key is saturated and stays: the key will be reported present for
    /// good. Nothing changed.
    Pinned,
}

/// What a filter knows of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Distinct keys for which the rate was promised.
    pub capacity: u64,
    /// Keys accepted so far: those answered [`Seen::Never`], or, for filters with [`Remove`],
    /// all copies inserted less those removed.
    pub len: u64,
    /// Distinct keys, estimated from the fill.
    pub estimated_len: f64,
    /// Share of bits, counters or slots in use, 0 to 1.
    pub fill_ratio: f64,
    /// Probability that a stranger is reported present now.
    pub false_positive_rate: f64,
    /// Size of the bit array, counters or slots.
    pub bit_len: u64,
    /// Counters that are full and stay so.
    pub saturated: u64,
}

impl Stats {
    /// Payload bytes.
    #[must_use]
    pub const fn byte_len(&self) -> u64 {
        self.bit_len.div_ceil(8)
    }

    /// `bit_len / capacity`.
    #[must_use]
    pub fn bits_per_key(&self) -> f64 {
        self.bit_len as f64 / self.capacity as f64
    }
}

/// Why a batch stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BatchError {
    /// Hashes and answers differ in number; nothing was done.
    LengthMismatch {
        /// How many hashes were given.
        hashes: usize,
        /// How many places for answers were given.
        answers: usize,
    },
    /// An insert was refused.
    Full {
        /// How many hashes from the front were inserted.
        inserted: usize,
        /// Why the next one was not.
        cause: Full,
    },
    /// The keys cannot be hashed; nothing was done.
    Hash(HashError),
}

impl BatchError {
    /// The same for a batch that so many inserts came before.
    pub(crate) fn after(self, before: usize) -> Self {
        match self {
            Self::Full { inserted, cause } => Self::Full { inserted: before + inserted, cause },
            other => other,
        }
    }
}

impl fmt::Display for BatchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LengthMismatch { hashes, answers } => write!(
                f,
                "{hashes} hashes need {hashes} places for answers, found {answers}: pass slices of \
                 equal length"
            ),
            Self::Full { inserted, cause } => {
                write!(f, "the batch stopped after {inserted} inserts: {cause}")
            }
            Self::Hash(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BatchError {}

/// The guard of every batch method.
pub(crate) fn check_lengths(hashes: usize, answers: usize) -> Result<(), BatchError> {
    if hashes == answers { Ok(()) } else { Err(BatchError::LengthMismatch { hashes, answers }) }
}

/// [`Membership`] by key, on `dyn Membership` too.
pub trait MembershipExt: Membership {
    /// Whether the key may be a member. `false` is certain.
    ///
    /// # Errors
    ///
    /// [`HashError`] if this filter cannot hash keys (see [`Seed::hash`]).
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    /// let mut filter = BloomFilter::builder().capacity(1_000).false_positive_rate(0.01).build()?;
    /// let _ = filter.insert("alice")?;
    /// assert!(filter.contains("alice")?);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn contains<K: Key + ?Sized>(&self, key: &K) -> Result<bool, HashError> {
        Ok(self.contains_hash(self.seed().hash(key)?))
    }

    /// Answers many keys at once: `present[i]` becomes `contains(&keys[i])`.
    ///
    /// # Errors
    ///
    /// [`BatchError::LengthMismatch`], before anything is written, if the two slices differ in
    /// length; [`BatchError::Hash`] as for [`contains`](Self::contains).
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    /// let mut filter =
    ///     BlockedBloomFilter::builder().capacity(1_000).false_positive_rate(1e-6).build()?;
    /// let mut seen = [Seen::Maybe; 2];
    /// filter.insert_keys(&["alice", "bob"], &mut seen)?;
    /// let mut present = [false; 3];
    /// filter.contains_keys(&["alice", "bob", "carol"], &mut present)?;
    /// assert_eq!(present, [true, true, false]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn contains_keys<K: Key>(&self, keys: &[K], present: &mut [bool]) -> Result<(), BatchError> {
        check_lengths(keys.len(), present.len())?;
        let mut hashes = [NO_HASH; HASHED_AT_ONCE];
        for (keys, present) in keys.chunks(HASHED_AT_ONCE).zip(present.chunks_mut(HASHED_AT_ONCE)) {
            self.contains_batch(hash_all(self.seed(), keys, &mut hashes)?, present)?;
        }
        Ok(())
    }
}

/// Keys hashed before the filter is asked: their hashes lie in the first-level cache, and a batch is
/// long enough that filling and draining it does not count.
const HASHED_AT_ONCE: usize = 256;

const NO_HASH: KeyHash = KeyHash::from_uniform(&[0; 16]);

/// Hashes the keys into the front of `hashes`.
#[inline]
fn hash_all<'a, K: Key>(
    seed: &Seed,
    keys: &[K],
    hashes: &'a mut [KeyHash; HASHED_AT_ONCE],
) -> Result<&'a [KeyHash], BatchError> {
    seed.hash_all(keys, hashes).map_err(BatchError::Hash)?;
    Ok(hashes.get(..keys.len()).unwrap_or(&[]))
}

impl<F: Membership + ?Sized> MembershipExt for F {}

/// [`Insert`] by key.
pub trait InsertExt: Insert {
    /// Adds a key; see [`Insert::insert_hash`].
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] if the filter refuses, [`InsertError::Hash`] if it cannot hash keys.
    fn insert<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen, InsertError> {
        let hash = self.seed().hash(key)?;
        Ok(self.insert_hash(hash)?)
    }

    /// Adds a key unless it may be there already; see [`Insert::insert_unique_hash`].
    ///
    /// # Errors
    ///
    /// As for [`insert`](Self::insert).
    fn insert_unique<K: Key + ?Sized>(&mut self, key: &K) -> Result<Seen, InsertError> {
        let hash = self.seed().hash(key)?;
        Ok(self.insert_unique_hash(hash)?)
    }

    /// Adds many keys in order: `seen[i]` becomes the answer of `insert(&keys[i])`, also for keys
    /// repeated within the batch.
    ///
    /// # Errors
    ///
    /// As [`insert_batch`](Insert::insert_batch), and [`BatchError::Hash`] if the filter cannot
    /// hash keys; nothing was inserted then.
    fn insert_keys<K: Key>(&mut self, keys: &[K], seen: &mut [Seen]) -> Result<(), BatchError> {
        check_lengths(keys.len(), seen.len())?;
        let (mut before, mut hashes) = (0, [NO_HASH; HASHED_AT_ONCE]);
        for (keys, seen) in keys.chunks(HASHED_AT_ONCE).zip(seen.chunks_mut(HASHED_AT_ONCE)) {
            let hashes = hash_all(self.seed(), keys, &mut hashes)?;
            self.insert_batch(hashes, seen).map_err(|error| error.after(before))?;
            before += keys.len();
        }
        Ok(())
    }
}

impl<F: Insert + ?Sized> InsertExt for F {}

/// [`SharedInsert`] by key.
pub trait SharedInsertExt: SharedInsert {
    /// Adds a key; see [`SharedInsert::insert_shared_hash`].
    ///
    /// # Errors
    ///
    /// [`InsertError::Full`] if the filter refuses, [`InsertError::Hash`] if it cannot hash keys.
    fn insert_shared<K: Key + ?Sized>(&self, key: &K) -> Result<Seen, InsertError> {
        let hash = self.seed().hash(key)?;
        Ok(self.insert_shared_hash(hash)?)
    }
}

impl<F: SharedInsert + ?Sized> SharedInsertExt for F {}

/// [`Remove`] by key.
pub trait RemoveExt: Remove {
    /// Takes one copy of a key back. Read the precondition of [`Remove`] first.
    ///
    /// # Errors
    ///
    /// [`HashError`] if this filter cannot hash keys.
    fn remove<K: Key + ?Sized>(&mut self, key: &K) -> Result<Removed, HashError> {
        let hash = self.seed().hash(key)?;
        Ok(self.remove_hash(hash))
    }
}

impl<F: Remove + ?Sized> RemoveExt for F {}

/// Why a key was not inserted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum InsertError {
    /// The filter refused.
    Full(Full),
    /// The key could not be hashed.
    Hash(HashError),
}

impl From<Full> for InsertError {
    fn from(full: Full) -> Self {
        Self::Full(full)
    }
}

impl From<HashError> for InsertError {
    fn from(error: HashError) -> Self {
        Self::Hash(error)
    }
}

impl fmt::Display for InsertError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Full(full) => full.fmt(f),
            Self::Hash(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for InsertError {}
