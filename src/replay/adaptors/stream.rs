//! The stream adaptor over a guard.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::{FusedStream, Stream};

use super::replays::{Admitted, NotAdmitted};
use crate::hash::{HashError, Key};
use crate::replay::{AdmitError, Backpressure, Delivery, ReplayGuard, Tuple};

/// Adds [`drop_replays`](Self::drop_replays) to streams.
pub trait DropReplaysStreamExt: Stream + Sized {
    /// Yields the tuples that the guard does not drop, in order, each with its ticket.
    ///
    /// While as many tickets are out as the guard allows, it is pending, and wakes when one comes back.
    /// Any other refusal is an error with the tuple inside.
    ///
    /// # Examples
    ///
    /// ```
    /// use futures_util::{StreamExt, stream};
    /// use hapax::replay::{Admitted, DropReplaysStreamExt, OnFull, Placement, ReplayGuard};
    ///
    /// # futures_executor::block_on(async {
    /// let mut guard = ReplayGuard::builder(Placement::AfterOutput)
    ///     .window(100_000)
    ///     .always_on(1e-3, 1_000_000)
    ///     .on_full(OnFull::Rotate)
    ///     .build()?;
    /// let deliveries = stream::iter([17u64, 4, 17, 5]);
    /// let mut admitted = deliveries.drop_replays(&mut guard, |id| *id);
    /// let mut output = Vec::new();
    /// while let Some(admitted) = admitted.next().await {
    ///     if let Admitted::First(tuple, ticket) = admitted? {
    ///         output.push(tuple);
    ///         ticket.commit();
    ///     }
    /// }
    /// assert_eq!(output, [17, 4, 5]);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) }).unwrap();
    /// ```
    fn drop_replays<K: Key>(
        self,
        guard: &mut ReplayGuard,
        mut id: impl FnMut(&Self::Item) -> K,
    ) -> DropReplaysStream<
        '_,
        Self,
        impl FnMut(&ReplayGuard, &Self::Item) -> Result<Tuple, HashError>,
    > {
        self.drop_replays_by(guard, move |guard, tuple| {
            let id = id(tuple);
            guard.tuple(&id, Some(&id), Delivery::default())
        })
    }

    /// As [`drop_replays`](Self::drop_replays), for tuples with a route, a position or a flag:
    /// `hash` makes of each what the guard judges, with [`ReplayGuard::tuple`].
    fn drop_replays_by<H>(self, guard: &mut ReplayGuard, hash: H) -> DropReplaysStream<'_, Self, H>
    where
        H: FnMut(&ReplayGuard, &Self::Item) -> Result<Tuple, HashError>,
    {
        DropReplaysStream { tuples: self, guard, hash, waiting: None }
    }
}

impl<T: Stream> DropReplaysStreamExt for T {}

pin_project_lite::pin_project! {
    /// The stream of [`drop_replays`](DropReplaysStreamExt::drop_replays).
    #[must_use = "streams do nothing unless polled"]
    pub struct DropReplaysStream<'a, T: Stream, H> {
        #[pin]
        tuples: T,
        guard: &'a mut ReplayGuard,
        hash: H,
        // A tuple that came while no more tickets could be out.
        waiting: Option<T::Item>,
    }
}

impl<T: Stream, H> DropReplaysStream<'_, T, H> {
    /// The guard, between two tuples.
    pub const fn guard(&mut self) -> &mut ReplayGuard {
        self.guard
    }
}

impl<T, H> Stream for DropReplaysStream<'_, T, H>
where
    T: Stream,
    H: FnMut(&ReplayGuard, &T::Item) -> Result<Tuple, HashError>,
{
    type Item = Result<Admitted<T::Item>, NotAdmitted<T::Item>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        loop {
            let tuple = match this.waiting.take() {
                Some(tuple) => tuple,
                None => match ready!(this.tuples.as_mut().poll_next(cx)) {
                    Some(tuple) => tuple,
                    None => return Poll::Ready(None),
                },
            };
            let hashed = (this.hash)(this.guard, &tuple).map_err(AdmitError::from);
            // Before the guard looks: a ticket that comes back afterwards wakes this task.
            this.guard.wake_on_return(cx.waker());
            match hashed.and_then(|hashed| this.guard.admit_tuple(&hashed)) {
                Ok(verdict) => {
                    if let Some(admitted) = Admitted::of(tuple, verdict) {
                        return Poll::Ready(Some(Ok(admitted)));
                    }
                }
                Err(AdmitError::Backpressure(Backpressure::Tickets { .. })) => {
                    *this.waiting = Some(tuple);
                    return Poll::Pending;
                }
                Err(cause) => return Poll::Ready(Some(Err(NotAdmitted { tuple, cause }))),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let waiting = usize::from(self.waiting.is_some());
        let most = self.tuples.size_hint().1.and_then(|most| most.checked_add(waiting));
        (0, most)
    }
}

impl<T, H> FusedStream for DropReplaysStream<'_, T, H>
where
    T: FusedStream,
    H: FnMut(&ReplayGuard, &T::Item) -> Result<Tuple, HashError>,
{
    fn is_terminated(&self) -> bool {
        self.waiting.is_none() && self.tuples.is_terminated()
    }
}

impl<T: Stream + fmt::Debug, H> fmt::Debug for DropReplaysStream<'_, T, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DropReplaysStream")
            .field("tuples", &self.tuples)
            .field("guard", &self.guard)
            .finish_non_exhaustive()
    }
}
