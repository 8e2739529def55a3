//! One builder for every filter: sizing, hash, salt and policy.

use std::fmt;
use std::marker::PhantomData;

use super::settings::{PastCapacity, Settings};
use crate::error::BuildError;
use crate::hash::{Salt, Seed};

/// Plans and builds a filter.
///
/// Give exactly two of three, and the third follows:
///
/// | given | follows |
/// |---|---|
/// | [`capacity`](Self::capacity), [`false_positive_rate`](Self::false_positive_rate) | bytes |
/// | [`byte_len`](Self::byte_len), `capacity` | the rate |
/// | `byte_len`, `false_positive_rate` | the capacity |
///
/// [`plan`](Self::plan) tells the outcome before anything is allocated.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
///
/// let builder = BloomFilter::builder().capacity(1_000_000).false_positive_rate(0.01);
/// let plan = builder.plan()?;
/// assert!(plan.bits_per_key() < 9.6 && plan.false_positive_rate <= 0.01);
/// let filter = builder.build()?;
/// assert!(!filter.contains("anything")?);
///
/// // What do 64 KiB give for 50,000 keys?
/// let plan = CuckooFilter::builder().byte_len(65_536).capacity(50_000).plan()?;
/// assert!(plan.false_positive_rate < 0.02);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use = "a builder does nothing until `build`"]
pub struct Builder<F: Buildable> {
    sizing: Sizing,
    seed: Seed,
    salt: Salt,
    past_capacity: PastCapacity,
    pub(crate) options: F::Options,
    filter: PhantomData<fn() -> F>,
}

/// The three quantities of which two are given.
#[derive(Clone, Copy, Debug, Default)]
struct Sizing {
    capacity: Option<u64>,
    false_positive_rate: Option<f64>,
    byte_len: Option<u64>,
}

/// Two given quantities, each within its range.
#[derive(Clone, Copy, Debug)]
pub enum Target {
    /// Find the bytes.
    CapacityAndRate(u64, f64),
    /// Find the rate.
    BytesAndCapacity(u64, u64),
    /// Find the capacity.
    BytesAndRate(u64, f64),
}

/// Filters that a [`Builder`] makes. Sealed: the methods are for this crate.
pub trait Buildable: Sized + sealed::Sealed {
    /// Options beyond the common ones.
    #[doc(hidden)]
    type Options: Clone + fmt::Debug + Default;

    /// Finds the shape.
    #[doc(hidden)]
    fn plan(target: Target, options: &Self::Options) -> Result<Plan, BuildError>;

    /// Allocates the planned shape.
    #[doc(hidden)]
    fn allocate(plan: &Plan, settings: sealed::Opaque) -> Result<Self, BuildError>;

    /// Takes over options that are no part of the shape.
    #[doc(hidden)]
    #[must_use]
    fn configure(self, _options: &Self::Options) -> Self {
        self
    }
}

pub(crate) mod sealed {
    /// Keeps [`Buildable`](super::Buildable) to this crate.
    pub trait Sealed {}

    /// Crate-private settings in a public signature.
    #[derive(Debug)]
    pub struct Opaque(pub(crate) super::Settings);
}

/// What a filter will be, known before it is allocated.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Plan {
    /// Distinct keys it holds at the rate below.
    pub capacity: u64,
    /// The exact expected false positive rate when it holds that many.
    pub false_positive_rate: f64,
    /// Size of the bit array, counters or slots.
    pub bit_len: u64,
    /// The shape particular to the kind.
    pub shape: Shape,
}

/// The shape particular to a kind of filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// A Bloom filter.
    Bloom {
        /// Bits set per key.
        num_probes: u32,
    },
    /// A blocked Bloom filter.
    Blocked {
        /// Bits set per key.
        num_probes: u32,
    },
    /// A word-blocked Bloom filter.
    Word {
        /// Bits set per key.
        num_probes: u32,
    },
    /// A counting Bloom filter.
    Counting {
        /// Counters raised per key.
        num_probes: u32,
        /// Bits in a counter.
        counter_bits: u32,
    },
    /// A cuckoo filter.
    Cuckoo {
        /// Bits in a fingerprint.
        fingerprint_bits: u32,
        /// Buckets of four slots.
        buckets: u64,
    },
    /// A retiring cuckoo filter.
    Retiring {
        /// Bits in a fingerprint.
        fingerprint_bits: u32,
        /// Bits in the tag beside it.
        tag_bits: u32,
        /// Buckets of four slots.
        buckets: u64,
        /// Epochs that can be live at once.
        epochs: u32,
    },
    /// A binary fuse filter.
    Fuse {
        /// Bits in a fingerprint.
        fingerprint_bits: u32,
        /// Parts that are built each on its own.
        shards: u64,
    },
}

impl Plan {
    pub(crate) const fn new(
        capacity: u64,
        false_positive_rate: f64,
        bit_len: u64,
        shape: Shape,
    ) -> Self {
        Self { capacity, false_positive_rate, bit_len, shape }
    }

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

impl<F: Buildable> Builder<F> {
    pub(crate) fn new() -> Self {
        Self {
            sizing: Sizing::default(),
            seed: Seed::default(),
            salt: Salt::default(),
            past_capacity: PastCapacity::default(),
            options: F::Options::default(),
            filter: PhantomData,
        }
    }

    /// Distinct keys for which the rate is promised; 1 or more.
    pub const fn capacity(mut self, keys: u64) -> Self {
        self.sizing.capacity = Some(keys);
        self
    }

    /// Probability that a key never inserted is reported present when the filter is at its
    /// capacity; between 0 and 1, both excluded.
    pub const fn false_positive_rate(mut self, rate: f64) -> Self {
        self.sizing.false_positive_rate = Some(rate);
        self
    }

    /// Most bytes the payload may take.
    pub const fn byte_len(mut self, bytes: u64) -> Self {
        self.sizing.byte_len = Some(bytes);
        self
    }

    /// What hashes the keys. The default is `Seed::new(0)`.
    pub fn seed(mut self, seed: Seed) -> Self {
        self.seed = seed;
        self
    }

    /// The filter's own value; filters that are to be merged share one. The default is 0.
    pub const fn salt(mut self, salt: Salt) -> Self {
        self.salt = salt;
        self
    }

    /// What to do with a new key when the filter is at its capacity. The default is to refuse.
    pub const fn past_capacity(mut self, policy: PastCapacity) -> Self {
        self.past_capacity = policy;
        self
    }

    /// The builder for one of two filters that are asked together: half of the bytes and half of
    /// the rate each, and the whole capacity.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if what was asked of both is contradictory or out of range.
    pub(crate) fn halved(&self) -> Result<Self, BuildError> {
        self.sizing.target()?;
        let mut half = self.clone();
        half.sizing.byte_len = self.sizing.byte_len.map(|bytes| bytes / 2);
        half.sizing.false_positive_rate = self.sizing.false_positive_rate.map(|rate| rate / 2.0);
        Ok(half)
    }

    /// Works the shape out without allocating anything. Costs microseconds.
    ///
    /// # Errors
    ///
    /// [`BuildError`] if the request is contradictory, out of range or out of reach.
    pub fn plan(&self) -> Result<Plan, BuildError> {
        F::plan(self.sizing.target()?, &self.options)
    }

    /// Allocates the filter, empty. The pages are zeroed lazily.
    ///
    /// # Errors
    ///
    /// As [`plan`](Self::plan), and [`BuildError::OutOfMemory`].
    pub fn build(&self) -> Result<F, BuildError> {
        let plan = self.plan()?;
        let settings = Settings {
            seed: self.seed.clone(),
            salt: self.salt,
            capacity: plan.capacity,
            past_capacity: self.past_capacity,
            len: 0,
        };
        Ok(F::allocate(&plan, sealed::Opaque(settings))?.configure(&self.options))
    }
}

impl Sizing {
    /// The two quantities given, checked.
    fn target(self) -> Result<Target, BuildError> {
        /// Above this, planning in `f64` would lose whole keys.
        const MAX_CAPACITY: u64 = 1 << 48;
        if let Some(found) = self.capacity
            && !(1..=MAX_CAPACITY).contains(&found)
        {
            return Err(BuildError::Capacity { found, max: MAX_CAPACITY });
        }
        if let Some(found) = self.false_positive_rate
            && !(found > 0.0 && found < 1.0)
        {
            return Err(BuildError::FalsePositiveRate { found });
        }
        match (self.capacity, self.false_positive_rate, self.byte_len) {
            (Some(keys), Some(rate), None) => Ok(Target::CapacityAndRate(keys, rate)),
            (Some(keys), None, Some(bytes)) => Ok(Target::BytesAndCapacity(bytes, keys)),
            (None, Some(rate), Some(bytes)) => Ok(Target::BytesAndRate(bytes, rate)),
            (capacity, rate, bytes) => {
                let given = u32::from(capacity.is_some())
                    + u32::from(rate.is_some())
                    + u32::from(bytes.is_some());
                Err(BuildError::Sizing { given })
            }
        }
    }
}

impl<F: Buildable> Clone for Builder<F> {
    fn clone(&self) -> Self {
        Self {
            sizing: self.sizing,
            seed: self.seed.clone(),
            salt: self.salt,
            past_capacity: self.past_capacity,
            options: self.options.clone(),
            filter: PhantomData,
        }
    }
}

impl<F: Buildable> fmt::Debug for Builder<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("sizing", &self.sizing)
            .field("seed", &self.seed)
            .field("salt", &self.salt)
            .field("past_capacity", &self.past_capacity)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}
