//! A filter that keeps accounts: what passed, what was dropped, what was probably lost.

use crate::error::Full;
use crate::hash::{HashError, Key, KeyHash, SecretKey};
use crate::membership::{Insert, InsertError, Seen, Unlock};

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
/// The rate of a cuckoo filter is computed for random keys, and one that keeps a single copy of
/// each differs from that: its estimate is low by about half of the rate, 0.5 % of itself at a rate
/// of 1 %, and nothing to be seen below.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// use hapax::replay::ReplayFilter;
///
/// let filter = BloomFilter::builder().capacity(1_000).false_positive_rate(1e-6).build()?;
/// let mut filter = ReplayFilter::new(filter);
/// assert_eq!(filter.admit("order 17")?, Seen::Never);
/// assert_eq!(filter.admit("order 17")?, Seen::Maybe);
/// assert!(filter.counts().estimated_lost < 1e-6);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ReplayFilter<W> {
    window: W,
    counts: Counts,
}

/// The accounts of a [`ReplayFilter`]; they are part of its saved state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Counts {
    /// Tuples answered [`Seen::Never`].
    pub passed: u64,
    /// Tuples answered [`Seen::Maybe`].
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

impl<W: Unlock> Unlock for ReplayFilter<W> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        self.window.unlock(key)
    }
}

impl<W: Insert> ReplayFilter<W> {
    /// Judges a tuple by its id, and remembers the id: [`Seen::Never`] is a first sighting, certain
    /// within the window, to be passed on; [`Seen::Maybe`] is probably a replay, to be dropped and
    /// acknowledged to upstream.
    ///
    /// # Errors
    ///
    /// [`InsertError`] if the filter is full or cannot hash keys. The tuple was neither passed nor
    /// dropped, and nothing has changed.
    pub fn admit<K: Key + ?Sized>(&mut self, id: &K) -> Result<Seen, InsertError> {
        let hash = self.window.seed().hash(id)?;
        Ok(self.admit_hash(hash)?)
    }

    /// As [`admit`](Self::admit), for an id that was hashed before.
    ///
    /// # Errors
    ///
    /// [`Full`] if the filter refuses; nothing has changed.
    pub fn admit_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        let rate = self.window.false_positive_rate();
        let seen = self.window.insert_unique_hash(hash)?;
        match seen {
            Seen::Never => {
                self.counts.passed = self.counts.passed.saturating_add(1);
                self.counts.estimated_lost += rate / (1.0 - rate);
            }
            Seen::Maybe => self.counts.dropped = self.counts.dropped.saturating_add(1),
        }
        Ok(seen)
    }
}
