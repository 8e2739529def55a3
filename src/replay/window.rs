//! Two generations that take turns, so that memory stays bounded on an endless stream.
//!
//! ```text
//!  inserts ──▶ current (filling)      asked: current or previous
//!              previous (full)
//!  current full:  previous is emptied, takes a new salt and becomes current
//!
//!  tuples      ...........|----previous----|--current--▶
//!  remembered             at least `capacity`, at most twice that
//! ```
//!
//! A hit does not extend a tuple's life: an event that repeats for ever comes out once a window
//! instead of never again. The new salt means that a tuple dropped by a false positive is judged
//! afresh in the next generation.

use super::Window;
use crate::any::GrowingFilter;
use crate::codec::invalid;
use crate::codec::{
    Decode, DecodeError, Encode, Fields, Kind, Params, Section, SectionType, Sections,
};
use crate::error::{BuildError, Full};
use crate::filter::{Buildable, Builder, Plan};
use crate::hash::{HashError, HashIdentity, KeyHash, Salt, SecretKey, Seed};
use crate::membership::{Insert, Membership, Restart, Seen, Stats, Unlock};

/// A sliding window of two filters: remembers the last `capacity` keys at least, twice as many at
/// most, in memory that never grows.
///
/// It is an [`Insert`] filter without a capacity to fill; only over cuckoo filters may it refuse a
/// key that no slot can be freed for, which hardly ever happens at the planned load. The false
/// positive rate asked for is that of the whole window at its fullest, and so is `byte_len`: each
/// generation gets half.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// use hapax::replay::GenerationWindow;
///
/// let builder = BloomFilter::builder().capacity(1_000).false_positive_rate(0.001);
/// let mut window = GenerationWindow::new(&builder)?;
/// for id in 0..100_000u64 {
///     let _ = window.insert(&id)?;
/// }
/// assert!(window.contains(&99_999u64)?); // one of the last thousand
/// assert!(window.stats().byte_len() < 4_000);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct GenerationWindow<F> {
    current: F,
    previous: F,
    /// Keys in `current`; at `capacity` the generations change places.
    filled: u64,
    capacity: u64,
    /// How many times they have, and the salt of generation 0.
    generation: u64,
    first_salt: u64,
}

impl<F: Buildable + Restart> GenerationWindow<F> {
    /// Works the size of the whole window out without allocating anything.
    ///
    /// # Errors
    ///
    /// As [`Builder::plan`].
    pub fn plan(builder: &Builder<F>) -> Result<Plan, BuildError> {
        let half = builder.halved()?.plan().map_err(of_window)?;
        let false_positive_rate = combined_rate(half.false_positive_rate, half.false_positive_rate);
        Ok(Plan { bit_len: 2 * half.bit_len, false_positive_rate, ..half })
    }

    /// Allocates both generations. `capacity` of the builder is the number of keys that the window
    /// remembers at least.
    ///
    /// # Errors
    ///
    /// As [`Builder::build`].
    pub fn new(builder: &Builder<F>) -> Result<Self, BuildError> {
        let half = builder.halved()?;
        let mut current = half.build().map_err(of_window)?;
        let mut previous = half.build().map_err(of_window)?;
        let first_salt = current.salt().value();
        current.restart(Salt::new(first_salt));
        previous.restart(Salt::new(first_salt.wrapping_sub(1)));
        let capacity = current.stats().capacity;
        Ok(Self { current, previous, filled: 0, capacity, generation: 0, first_salt })
    }
}

/// What is wrong with one generation, in the quantities of the window that was asked for.
fn of_window(error: BuildError) -> BuildError {
    match error {
        BuildError::RateUnreachable { wanted, reachable } => {
            BuildError::RateUnreachable { wanted: 2.0 * wanted, reachable: 2.0 * reachable }
        }
        BuildError::TooFewBytes { found, needed } => BuildError::TooFewBytes {
            found: found.saturating_mul(2),
            needed: needed.saturating_mul(2),
        },
        BuildError::OutOfMemory { byte_len } => {
            BuildError::OutOfMemory { byte_len: byte_len.saturating_mul(2) }
        }
        other => other,
    }
}

impl<F> GenerationWindow<F> {
    /// Keys that are remembered at least.
    #[must_use]
    pub const fn capacity(&self) -> u64 {
        self.capacity
    }

    /// How many times a full generation was retired from filling.
    #[must_use]
    pub const fn generation(&self) -> u64 {
        self.generation
    }

    /// The same window over filters of any kind, for a kind chosen at run time.
    #[must_use]
    pub fn into_any(self) -> GenerationWindow<GrowingFilter>
    where
        F: Into<GrowingFilter>,
    {
        GenerationWindow {
            current: self.current.into(),
            previous: self.previous.into(),
            filled: self.filled,
            capacity: self.capacity,
            generation: self.generation,
            first_salt: self.first_salt,
        }
    }
}

/// The rate of two independent filters asked together: 1 − (1 − a)(1 − b), written so that small
/// rates are not lost to rounding.
fn combined_rate(a: f64, b: f64) -> f64 {
    a + b - a * b
}

impl<F: Restart> GenerationWindow<F> {
    fn rotate(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        std::mem::swap(&mut self.current, &mut self.previous);
        self.current.restart(Salt::new(self.first_salt.wrapping_add(self.generation)));
        self.filled = 0;
    }
}

impl<F: Unlock> Unlock for GenerationWindow<F> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.current.unlock(key.clone())?;
        self.previous.unlock(key)
    }
}

impl<F: Membership> Membership for GenerationWindow<F> {
    fn seed(&self) -> &Seed {
        self.current.seed()
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.current.contains_hash(hash) || self.previous.contains_hash(hash)
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.current.prefetch_hash(hash);
        self.previous.prefetch_hash(hash);
    }

    fn false_positive_rate(&self) -> f64 {
        combined_rate(self.current.false_positive_rate(), self.previous.false_positive_rate())
    }

    fn stats(&self) -> Stats {
        let (current, previous) = (self.current.stats(), self.previous.stats());
        Stats {
            capacity: self.capacity,
            len: current.len.saturating_add(previous.len),
            estimated_len: current.estimated_len + previous.estimated_len,
            fill_ratio: f64::midpoint(current.fill_ratio, previous.fill_ratio),
            false_positive_rate: self.false_positive_rate(),
            bit_len: current.bit_len + previous.bit_len,
            saturated: current.saturated + previous.saturated,
        }
    }
}

impl<F: Restart> Insert for GenerationWindow<F> {
    /// Keeps one copy of a key, as [`insert_unique_hash`](Insert::insert_unique_hash) does: a
    /// window forgets by age.
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        if self.previous.contains_hash(hash) {
            return Ok(Seen::Maybe);
        }
        if self.filled >= self.capacity {
            if self.current.contains_hash(hash) {
                return Ok(Seen::Maybe);
            }
            self.rotate();
        }
        let seen = self.current.insert_unique_hash(hash)?;
        self.filled += u64::from(seen == Seen::Never);
        Ok(seen)
    }

    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.insert_hash(hash)
    }
}

impl<F: Restart> Window for GenerationWindow<F> {
    fn epoch(&self) -> u64 {
        self.generation
    }

    fn horizon(&self) -> u64 {
        self.generation.saturating_sub(1)
    }

    fn guaranteed(&self) -> u64 {
        self.capacity
    }

    /// O(capacity): the older generation is emptied.
    fn advance(&mut self) {
        self.rotate();
    }
}

impl<F: Encode> Encode for GenerationWindow<F> {
    fn kind(&self) -> Kind {
        Kind::Window
    }

    fn identity(&self) -> HashIdentity {
        self.current.identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let mut sections = self.current.encode(index);
        sections.extend(self.previous.encode(index + 1));
        let mut state = self.generation.to_le_bytes().to_vec();
        state.extend_from_slice(&self.first_salt.to_le_bytes());
        sections.push(Section::small(SectionType::Window, index, state));
        sections
    }
}

impl<S: AsRef<[u64]>, F: Decode<S> + Restart> Decode<S> for GenerationWindow<F> {
    const KINDS: &'static [Kind] = &[Kind::Window];
    const EXPECTED: &'static str = "a window of generations";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Params::require_alike(sections, index, index + 1)?;
        let current = F::decode(sections, index)?;
        let previous = F::decode(sections, index + 1)?;
        let state = sections.take_small(SectionType::Window, index)?;
        let mut fields = Fields::new("window", &state);
        let (generation, first_salt) = (fields.u64()?, fields.u64()?);
        fields.finish()?;

        let salt = Salt::new(first_salt.wrapping_add(generation));
        let before = Salt::new(first_salt.wrapping_add(generation).wrapping_sub(1));
        if (current.salt(), previous.salt()) != (salt, before) {
            let found = format!("{:?}, {:?}", current.salt(), previous.salt());
            return Err(invalid(
                "salts of the generations",
                format!("{salt:?}, {before:?}"),
                found,
            ));
        }
        let Stats { len: filled, capacity, .. } = current.stats();
        Ok(Self { current, previous, filled, capacity, generation, first_salt })
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        self.current.check_body()?;
        self.previous.check_body()
    }
}
