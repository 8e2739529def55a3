//! What upstream says of a delivery, and a tuple ready to be judged.

use crate::hash::KeyHash;
use crate::replay::Position;

/// What upstream says of one delivery: where in the log the tuple stands, whether it was delivered
/// before, when it happened. Each is optional; the more is known, the less is left to the filter.
///
/// # Examples
///
/// ```
/// use hapax::replay::{Delivery, Position};
///
/// let log = Delivery::from(Position::new(0, 1_017)); // a partitioned log
/// let queue = Delivery::redelivered(true); // a queue that flags what it sends again
/// let bare = Delivery::default(); // ids only
/// assert_eq!(log.position, Some(Position::new(0, 1_017)));
/// assert_ne!(queue, bare);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Delivery {
    /// Channel and sequence number, the same when the tuple is sent again.
    pub position: Option<Position>,
    /// Upstream's flag: `Some(false)` is its word that this tuple was never delivered before.
    pub redelivered: Option<bool>,
    /// Event time, in the unit of the watermark.
    pub event_time: Option<u64>,
}

impl Delivery {
    /// A delivery of which upstream says only whether it is a repeated one.
    #[must_use]
    pub const fn redelivered(flag: bool) -> Self {
        Self { position: None, redelivered: Some(flag), event_time: None }
    }

    /// The same with the flag of a repeated delivery.
    #[must_use]
    pub const fn with_redelivered(mut self, flag: bool) -> Self {
        self.redelivered = Some(flag);
        self
    }

    /// The same with an event time.
    #[must_use]
    pub const fn with_event_time(mut self, time: u64) -> Self {
        self.event_time = Some(time);
        self
    }
}

impl From<Position> for Delivery {
    fn from(position: Position) -> Self {
        Self { position: Some(position), ..Self::default() }
    }
}

/// A tuple ready to be judged: its key group, the hash of its id, and its delivery. Made by
/// [`ReplayGuard::tuple`](super::ReplayGuard::tuple).
#[derive(Clone, Copy, Debug)]
pub struct Tuple {
    /// The key group of its route.
    pub group: u16,
    /// The hash of its id under the guard's seed; `None` if the tuple has no id.
    pub id: Option<KeyHash>,
    /// What upstream says.
    pub delivery: Delivery,
}
