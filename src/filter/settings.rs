//! What every filter keeps beside its bits.

use crate::error::{Full, FullReason, Incompatible, require_equal};
use crate::hash::{Salt, Seed};

/// What a filter does with a new key when it holds as many as it was built for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PastCapacity {
    /// Refuse it with [`Full`]: the promised rate holds. The default.
    #[default]
    Refuse,
    /// Take it and let the rate rise; `false_positive_rate()` and `stats()` tell how far. At twice
    /// its capacity a Bloom filter planned for 0.1 % is at 5.8 %.
    Degrade,
}

/// Hash, salt, capacity, policy and number of keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    pub(crate) seed: Seed,
    pub(crate) salt: Salt,
    pub(crate) capacity: u64,
    pub(crate) past_capacity: PastCapacity,
    pub(crate) len: u64,
}

impl Settings {
    /// The same, but for the hash function: for work on hashes alone.
    pub(crate) fn unkeyed(&self) -> Self {
        let Self { salt, capacity, past_capacity, len, .. } = *self;
        Self { seed: Seed::default(), salt, capacity, past_capacity, len }
    }

    /// `Some(Full)` if one more key would break the promise.
    #[inline]
    pub(crate) fn refusal(&self) -> Option<Full> {
        let full = self.len >= self.capacity && self.past_capacity == PastCapacity::Refuse;
        full.then(|| self.full(FullReason::Capacity))
    }

    pub(crate) fn full(&self, reason: FullReason) -> Full {
        Full::new(reason, self.len, self.capacity)
    }

    /// How many keys can be inserted without a refusal, were all of them new.
    #[inline]
    pub(crate) fn room(&self) -> u64 {
        match self.past_capacity {
            PastCapacity::Refuse => self.capacity.saturating_sub(self.len),
            PastCapacity::Degrade => u64::MAX,
        }
    }

    /// Number of keys of a union of two filters of the Bloom family, from how many bits are set in
    /// each and in the union, and the estimate that follows from the latter.
    pub(crate) fn merged_len(
        &self,
        other: &Self,
        [mine, theirs, union]: [u64; 3],
        estimated_len: impl Fn(u64) -> f64,
    ) -> Result<u64, Incompatible> {
        // A replica that lags behind adds nothing; the estimate, which is off by chance, would
        // refuse every second such merge of full filters.
        let len = if union == mine {
            self.len
        } else if union == theirs {
            other.len
        } else {
            // Infinite when every bit is set: `as` saturates, and the sum bounds it.
            let estimate = estimated_len(union).round() as u64;
            estimate.clamp(self.len.max(other.len), self.len.saturating_add(other.len))
        };
        if len > self.capacity && self.past_capacity == PastCapacity::Refuse {
            return Err(Incompatible::OverCapacity {
                estimated_len: len as f64,
                capacity: self.capacity,
            });
        }
        Ok(len)
    }

    /// Checks that a key sits at the same places in both filters, shape aside.
    pub(crate) fn require_mergeable(&self, other: &Self) -> Result<(), Incompatible> {
        require_equal("seed", &self.seed.identity(), &other.seed.identity())?;
        require_equal("salt", &self.salt, &other.salt)?;
        require_equal("capacity", &self.capacity, &other.capacity)
    }
}

/// A filter cannot be put together from these parts: what is wrong, expected, found.
#[derive(Debug)]
pub(crate) struct InvalidParts {
    pub(crate) what: &'static str,
    pub(crate) expected: String,
    pub(crate) found: String,
}

impl InvalidParts {
    /// `Err` unless `holds`.
    pub(crate) fn unless(
        holds: bool,
        what: &'static str,
        expected: impl ToString,
        found: impl ToString,
    ) -> Result<(), Self> {
        if holds {
            return Ok(());
        }
        Err(Self { what, expected: expected.to_string(), found: found.to_string() })
    }
}
