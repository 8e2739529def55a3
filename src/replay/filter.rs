//! A filter that keeps accounts: what passed, what was dropped, what was probably lost.

use crate::error::Full;
use crate::hash::{HashError, Key, KeyHash, SecretKey};
use crate::membership::{Insert, InsertError, Membership, Seen};

/// Tells first sightings from replays, and keeps accounts.
///
/// It works over any [`Insert`] filter: a [`GenerationWindow`](super::GenerationWindow) for an
/// endless stream, or a filter as large as the whole run, which refuses when it is full.
///
/// The estimate of lost tuples needs no knowledge of which hits were real. A new tuple is lost with
/// the probability fᵢ that the filter has at that moment, and passes with 1 − fᵢ; adding
/// fᵢ/(1 − fᵢ) for each tuple that *passes* has the expectation fᵢ either way. So the sum over
/// passed tuples is an unbiased estimate of the number lost, and `dropped` minus it one of the
/// replays removed. The number truly lost is about Poisson with that mean.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// use hapax::replay::{ReplayFilter, Verdict};
///
/// let filter = BloomFilter::builder().capacity(1_000).false_positive_rate(1e-6).build()?;
/// let mut filter = ReplayFilter::new(filter);
/// assert_eq!(filter.admit("order 17")?, Verdict::First);
/// assert_eq!(filter.admit("order 17")?, Verdict::Probable);
/// assert!(filter.counts().estimated_lost < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReplayFilter<W> {
    window: W,
    counts: Counts,
}

/// What a tuple is.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Verdict {
    /// Seen for the first time, within the window. Certain. Pass it on.
    First,
    /// Probably a replay: a filter hit. Drop it, and acknowledge it to upstream.
    Probable,
}

/// The accounts of a [`ReplayFilter`]; they are part of its saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Counts {
    /// Tuples answered [`Verdict::First`].
    pub passed: u64,
    /// Tuples answered [`Verdict::Probable`].
    pub dropped: u64,
    /// How many of the dropped were new, estimated without bias.
    pub estimated_lost: f64,
}

impl Counts {
    pub(super) const fn new(passed: u64, dropped: u64, estimated_lost: f64) -> Self {
        Self { passed, dropped, estimated_lost }
    }

    /// Tuples that were judged: the position in the stream.
    #[must_use]
    pub const fn judged(&self) -> u64 {
        self.passed.saturating_add(self.dropped)
    }

    /// An upper bound on the probability that any tuple was lost: 1 − exp(−estimate).
    #[must_use]
    pub fn probability_of_loss(&self) -> f64 {
        -(-self.estimated_lost).exp_m1()
    }
}

impl<W> ReplayFilter<W> {
    /// Starts with empty accounts.
    pub const fn new(window: W) -> Self {
        Self::with_counts(window, Counts::new(0, 0, 0.0))
    }

    pub(super) const fn with_counts(window: W, counts: Counts) -> Self {
        Self { window, counts }
    }

    /// The accounts so far.
    #[must_use]
    pub const fn counts(&self) -> Counts {
        self.counts
    }

    /// The filter underneath.
    #[must_use]
    pub const fn window(&self) -> &W {
        &self.window
    }
}

impl<W: Membership> ReplayFilter<W> {
    /// Adds the secret key after a restore of a keyed filter.
    ///
    /// # Errors
    ///
    /// As [`Seed::unlock`](crate::Seed::unlock).
    pub fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.window.unlock(key)
    }
}

impl<W: Insert> ReplayFilter<W> {
    /// Judges a tuple by its id, and remembers the id.
    ///
    /// # Errors
    ///
    /// [`InsertError`] if the filter is full or cannot hash keys. The tuple was neither passed nor
    /// dropped, and nothing has changed.
    pub fn admit<K: Key + ?Sized>(&mut self, id: &K) -> Result<Verdict, InsertError> {
        let hash = self.window.seed().hash(id)?;
        Ok(self.admit_hash(hash)?)
    }

    /// As [`admit`](Self::admit), for an id that was hashed before.
    ///
    /// # Errors
    ///
    /// [`Full`] if the filter refuses; nothing has changed.
    pub fn admit_hash(&mut self, hash: KeyHash) -> Result<Verdict, Full> {
        let rate = self.window.false_positive_rate();
        Ok(match self.window.insert_unique_hash(hash)? {
            Seen::Never => {
                self.counts.passed = self.counts.passed.saturating_add(1);
                self.counts.estimated_lost += rate / (1.0 - rate);
                Verdict::First
            }
            Seen::Maybe => {
                self.counts.dropped = self.counts.dropped.saturating_add(1);
                Verdict::Probable
            }
        })
    }
}
