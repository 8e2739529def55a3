//! The iterator adaptor over a guard.

use std::fmt;
use std::iter::FusedIterator;

use crate::hash::{HashError, Key};
use crate::replay::{
    Action, AdmitError, Delivery, ReplayGuard, Ticket, Tuple, Unconfirmed, Verdict,
};

/// Adds [`drop_replays`](Self::drop_replays) to iterators.
///
/// (It is not called `dedup`, which in Rust means neighbouring equals only, as in `Vec::dedup`.)
pub trait DropReplaysExt: Iterator + Sized {
    /// Yields the tuples that the guard does not drop, in order, each with its ticket.
    ///
    /// Lazy. A tuple that cannot be judged is inside the error; nothing is lost, and the next call goes
    /// on with the next tuple. Between two calls the guard is at hand as [`DropReplays::guard`], for
    /// checkpoints and acknowledgements.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::prelude::*;
    /// use hapax::replay::{Admitted, OnFull, Placement, ReplayGuard};
    ///
    /// let mut guard = ReplayGuard::builder(Placement::AfterOutput)
    ///     .window(100_000)
    ///     .always_on(1e-3, 1_000_000)
    ///     .on_full(OnFull::Rotate)
    ///     .build()?;
    /// let mut output = Vec::new();
    /// for admitted in [17u64, 4, 17, 5].into_iter().drop_replays(&mut guard, |id| *id) {
    ///     if let Admitted::First(tuple, ticket) = admitted? {
    ///         output.push(tuple);
    ///         ticket.commit(); // the output is durable
    ///     }
    /// }
    /// assert_eq!(output, [17, 4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    fn drop_replays<K: Key>(
        self,
        guard: &mut ReplayGuard,
        mut id: impl FnMut(&Self::Item) -> K,
    ) -> DropReplays<'_, Self, impl FnMut(&ReplayGuard, &Self::Item) -> Result<Tuple, HashError>>
    {
        self.drop_replays_by(guard, move |guard, tuple| {
            let id = id(tuple);
            guard.tuple(&id, Some(&id), Delivery::default())
        })
    }

    /// As [`drop_replays`](Self::drop_replays), for tuples with a route, a position or a flag:
    /// `hash` makes of each what the guard judges, with [`ReplayGuard::tuple`].
    fn drop_replays_by<H>(self, guard: &mut ReplayGuard, hash: H) -> DropReplays<'_, Self, H>
    where
        H: FnMut(&ReplayGuard, &Self::Item) -> Result<Tuple, HashError>,
    {
        DropReplays { tuples: self, guard, hash }
    }
}

impl<T: Iterator> DropReplaysExt for T {}

/// A tuple that was not dropped.
#[derive(Debug)]
pub enum Admitted<T> {
    /// To be processed; commit the ticket when the output is durable.
    First(T, Ticket),
    /// To be put into the side output; commit the ticket when that is durable.
    Diverted(T, Ticket),
    /// To be looked up in an exact store.
    Unconfirmed(T, Unconfirmed),
    /// Another copy is being processed: neither process nor acknowledge it.
    InFlight(T),
}

impl<T> Admitted<T> {
    /// What becomes of a tuple; `None` if it is dropped.
    pub(super) fn of(tuple: T, verdict: Verdict) -> Option<Self> {
        match verdict {
            Verdict::First(ticket) => Some(Self::First(tuple, ticket)),
            Verdict::InFlight => Some(Self::InFlight(tuple)),
            Verdict::Replay => None,
            Verdict::Probable(action) | Verdict::Stale(action) => match action {
                Action::Drop => None,
                Action::Divert(ticket) => Some(Self::Diverted(tuple, ticket)),
                Action::Confirm(unconfirmed) => Some(Self::Unconfirmed(tuple, unconfirmed)),
            },
        }
    }
}

/// The iterator of [`drop_replays`](DropReplaysExt::drop_replays).
#[must_use = "iterators are lazy and do nothing unless consumed"]
pub struct DropReplays<'a, T, H> {
    tuples: T,
    guard: &'a mut ReplayGuard,
    hash: H,
}

impl<T, H> DropReplays<'_, T, H> {
    /// The guard, between two tuples.
    pub const fn guard(&mut self) -> &mut ReplayGuard {
        self.guard
    }
}

impl<T, H> Iterator for DropReplays<'_, T, H>
where
    T: Iterator,
    H: FnMut(&ReplayGuard, &T::Item) -> Result<Tuple, HashError>,
{
    type Item = Result<Admitted<T::Item>, NotAdmitted<T::Item>>;

    fn next(&mut self) -> Option<Self::Item> {
        let Self { tuples, guard, hash } = self;
        tuples.find_map(|tuple| {
            let hashed = hash(guard, &tuple).map_err(AdmitError::from);
            match hashed.and_then(|hashed| guard.admit_tuple(&hashed)) {
                Ok(verdict) => Admitted::of(tuple, verdict).map(Ok),
                Err(cause) => Some(Err(NotAdmitted { tuple, cause })),
            }
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.tuples.size_hint().1)
    }
}

impl<T, H> FusedIterator for DropReplays<'_, T, H>
where
    T: FusedIterator,
    H: FnMut(&ReplayGuard, &T::Item) -> Result<Tuple, HashError>,
{
}

impl<T: fmt::Debug, H> fmt::Debug for DropReplays<'_, T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropReplays")
            .field("tuples", &self.tuples)
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}

/// A tuple that the guard did not judge, and why. It is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAdmitted<T> {
    /// The tuple.
    pub tuple: T,
    /// Why.
    pub cause: AdmitError,
}

impl<T> fmt::Display for NotAdmitted<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a tuple was not judged: {}", self.cause)
    }
}

impl<T: fmt::Debug> std::error::Error for NotAdmitted<T> {}
