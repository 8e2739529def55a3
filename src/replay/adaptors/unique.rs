//! The iterator adaptor.

use std::fmt;
use std::iter::FusedIterator;

use crate::hash::Key;
use crate::membership::{Insert, InsertError, Seen};
use crate::replay::ReplayFilter;

/// Adds [`unique_within`](Self::unique_within) to iterators.
///
/// (It is not called `dedup`, which in Rust means neighbouring equals only, as in `Vec::dedup`.)
pub trait UniqueWithinExt: Iterator + Sized {
    /// Yields the first sighting of each id, in order, and drops replays.
    ///
    /// A tuple that cannot be judged, because the filter is full, is not lost: it is inside the
    /// error. A [`GenerationWindow`](crate::replay::GenerationWindow) of Bloom filters is never full.
    ///
    /// Save the filter only when everything that was yielded is durable; between two calls of
    /// `next` it is at hand as [`UniqueWithin::replay_filter`]. See the [order of
    /// steps](crate::replay#order-of-steps).
    fn unique_within<W, K, I>(
        self,
        filter: &mut ReplayFilter<W>,
        id: I,
    ) -> UniqueWithin<'_, Self, W, I>
    where
        W: Insert,
        K: Key,
        I: FnMut(&Self::Item) -> K,
    {
        UniqueWithin { tuples: self, filter, id }
    }
}

impl<T: Iterator> UniqueWithinExt for T {}

/// The iterator of [`unique_within`](UniqueWithinExt::unique_within).
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct UniqueWithin<'a, T, W, I> {
    tuples: T,
    filter: &'a mut ReplayFilter<W>,
    id: I,
}

impl<T, W, I> UniqueWithin<'_, T, W, I> {
    /// The filter, with its accounts as of the last tuple yielded. (Not `filter`: every iterator has
    /// a method of that name.)
    pub const fn replay_filter(&self) -> &ReplayFilter<W> {
        self.filter
    }
}

impl<T, W, K, I> Iterator for UniqueWithin<'_, T, W, I>
where
    T: Iterator,
    W: Insert,
    K: Key,
    I: FnMut(&T::Item) -> K,
{
    type Item = Result<T::Item, Refused<T::Item>>;

    fn next(&mut self) -> Option<Self::Item> {
        for tuple in self.tuples.by_ref() {
            match self.filter.admit(&(self.id)(&tuple)) {
                Ok(Seen::Never) => return Some(Ok(tuple)),
                Ok(Seen::Maybe) => {}
                Err(cause) => return Some(Err(Refused { tuple, cause })),
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.tuples.size_hint().1)
    }
}

impl<T, W, K, I> FusedIterator for UniqueWithin<'_, T, W, I>
where
    T: FusedIterator,
    W: Insert,
    K: Key,
    I: FnMut(&T::Item) -> K,
{
}

impl<T: fmt::Debug, W: fmt::Debug, I> fmt::Debug for UniqueWithin<'_, T, W, I> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UniqueWithin")
            .field("tuples", &self.tuples)
            .field("filter", &self.filter)
            .finish_non_exhaustive()
    }
}

/// A tuple that could not be judged, and why. Whether it is new is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused<T> {
    /// The tuple.
    pub tuple: T,
    /// Why the filter gave no answer.
    pub cause: InsertError,
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tuple could not be judged: {}", self.cause)
    }
}

impl<T: fmt::Debug> std::error::Error for Refused<T> {}
