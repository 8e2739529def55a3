//! What can go wrong when filters are sized, filled and merged. (Reading files has its own errors
//! in [`codec`](crate::codec).)

use std::fmt;

/// An insert that was refused. The filter is exactly as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Full {
    /// What ran out.
    pub reason: FullReason,
    /// Keys the filter holds.
    pub len: u64,
    /// Keys it was built for.
    pub capacity: u64,
}

/// What ran out when an insert was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FullReason {
    /// As many keys as promised are in; one more would break the promised rate.
    Capacity,
    /// No room could be made near the key's two buckets. Happens to cuckoo filters filled past
    /// their capacity.
    Evictions,
    /// The key has as many copies as its two buckets can hold. The filter is not full.
    Copies,
}

impl Full {
    pub(crate) const fn new(reason: FullReason, len: u64, capacity: u64) -> Self {
        Self { reason, len, capacity }
    }
}

impl fmt::Display for Full {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { len, capacity, .. } = self;
        match self.reason {
            FullReason::Capacity => write!(
                f,
                "the filter holds {len} of {capacity} keys and refuses more, to keep its false \
                 positive rate: build it for a larger capacity, rotate it, or let it degrade with \
                 PastCapacity::Degrade"
            ),
            FullReason::Evictions => write!(
                f,
                "no slot can be freed for this key at {len} keys (capacity {capacity}): build the \
                 filter for a larger capacity"
            ),
            FullReason::Copies => write!(
                f,
                "this key already fills its two buckets (8 copies at most, {len} keys held): \
                 insert each key once, or use insert_unique"
            ),
        }
    }
}

impl std::error::Error for Full {}

/// Why a filter cannot be built as asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum BuildError {
    /// Not exactly two of capacity, false positive rate and bytes were given.
    Sizing {
        /// How many of the three were given.
        given: u32,
    },
    /// The capacity is 0, or more than can be addressed.
    Capacity {
        /// What was asked for.
        found: u64,
        /// The largest that can be built.
        max: u64,
    },
    /// The rate is not within (0, 1), or not a number.
    FalsePositiveRate {
        /// What was asked for.
        found: f64,
    },
    /// The filter cannot reach this rate.
    RateUnreachable {
        /// What was asked for.
        wanted: f64,
        /// The lowest this kind can reach with the capacity and bytes given.
        reachable: f64,
    },
    /// Too few bytes for what was asked.
    TooFewBytes {
        /// What was given.
        found: u64,
        /// The least that works.
        needed: u64,
    },
    /// An option is out of its range.
    Option {
        /// The builder method.
        name: &'static str,
        /// What it takes.
        expected: &'static str,
        /// What it was given.
        found: u64,
    },
    /// The memory could not be had.
    OutOfMemory {
        /// The bytes asked for.
        byte_len: u64,
    },
    /// Too many keys share their first 16 bits: they are no uniform hashes.
    NotUniform {
        /// How many do.
        keys: u64,
        /// How many may.
        max: u64,
    },
    /// No attempt at a static filter succeeded. Nothing was built.
    Construction {
        /// Distinct keys of the part that failed.
        keys: u64,
        /// How often it was tried, each time with another salt and more room.
        attempts: u32,
    },
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sizing { given } => write!(
                f,
                "give exactly two of capacity, false_positive_rate and byte_len, found {given}: the \
                 third follows from them"
            ),
            Self::Capacity { found, max } => {
                write!(f, "the capacity must be from 1 to {max} keys, found {found}")
            }
            Self::FalsePositiveRate { found } => write!(
                f,
                "the false positive rate must lie between 0 and 1, both excluded, found {found}"
            ),
            Self::RateUnreachable { wanted, reachable } => write!(
                f,
                "a false positive rate of {wanted:e} is out of reach here, the lowest possible is \
                 {reachable:e}: give more bytes, fewer keys, or another kind of filter"
            ),
            Self::TooFewBytes { found, needed } => {
                write!(f, "{found} bytes are too few, at least {needed} are needed")
            }
            Self::Option { name, expected, found } => {
                write!(f, "{name} must be {expected}, found {found}")
            }
            Self::OutOfMemory { byte_len } => write!(
                f,
                "{byte_len} bytes of memory could not be had: lower the capacity or raise the false \
                 positive rate"
            ),
            Self::NotUniform { keys, max } => write!(
                f,
                "{keys} keys share their first 16 bits, expected at most {max}: these are no \
                 uniform hashes; hash the keys with a Seed"
            ),
            Self::Construction { keys, attempts } => write!(
                f,
                "{attempts} attempts to place {keys} keys failed, expected one of the first few to \
                 succeed, and nothing was built: try another salt"
            ),
        }
    }
}

impl std::error::Error for BuildError {}

/// Why two filters cannot be merged.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Incompatible {
    /// A parameter differs, so that the same key sits at different places.
    Parameter {
        /// Which one.
        name: &'static str,
        /// Its value in the filter merged into.
        expected: String,
        /// Its value in the other.
        found: String,
    },
    /// Filters of this kind cannot be merged at all.
    Kind {
        /// What they are called.
        name: &'static str,
    },
    /// The union would hold more keys than the promised rate allows.
    OverCapacity {
        /// Keys the union would hold, estimated from its fill.
        estimated_len: f64,
        /// Keys the filter was built for.
        capacity: u64,
    },
}

impl fmt::Display for Incompatible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Parameter { name, expected, found } => write!(
                f,
                "filters of different {name} cannot be merged ({expected} here, {found} in the \
                 other): build both alike, or keep both and ask each"
            ),
            Self::Kind { name } => {
                write!(f, "{name} cannot be merged with another: keep both and ask each")
            }
            Self::OverCapacity { estimated_len, capacity } => write!(
                f,
                "the union would hold about {estimated_len:.0} keys, more than the capacity of \
                 {capacity}: build both for the size of the union, or let it degrade with \
                 PastCapacity::Degrade"
            ),
        }
    }
}

impl std::error::Error for Incompatible {}

/// Returns an error if a parameter differs.
pub(crate) fn require_equal<T: PartialEq + fmt::Debug>(
    name: &'static str,
    expected: &T,
    found: &T,
) -> Result<(), Incompatible> {
    if expected == found {
        return Ok(());
    }
    Err(Incompatible::Parameter {
        name,
        expected: format!("{expected:?}"),
        found: format!("{found:?}"),
    })
}
