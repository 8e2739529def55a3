//! What the guard answers, and the policies that decide where evidence does not.

use super::ticket::{Ticket, Unconfirmed};

/// The guard's answer for one tuple.
///
/// | | what is known | what to do |
/// |---|---|---|
/// | `First` | not processed since the horizon, given the rules of order; or passed by policy | process, then commit the ticket |
/// | `Replay` | processed before, for certain | drop and acknowledge |
/// | `Probable` | the filter has it: processed before, or a false positive | see its [`Action`] |
/// | `InFlight` | another copy is being processed right now | neither process nor acknowledge: let it come again |
/// | `Stale` | from before the horizon: what was processed there is forgotten | see its [`Action`] |
///
/// What is dropped is given out by [`ackable`](super::ReplayGuard::ackable), or upstream would wait
/// for it for ever.
#[derive(Debug)]
#[must_use = "a tuple that is neither processed nor acknowledged comes again"]
pub enum Verdict {
    /// To be processed.
    First(Ticket),
    /// Certainly processed before.
    Replay,
    /// Probably processed before.
    Probable(Action),
    /// Being processed.
    InFlight,
    /// Older than what the guard remembers.
    Stale(Action),
}

/// What is to be done with a tuple that was probably processed before.
#[derive(Debug)]
#[must_use]
pub enum Action {
    /// Drop it. If it was new, it is lost; the estimate counts it.
    Drop,
    /// Put it into the side output, and commit the ticket when that is durable.
    Divert(Ticket),
    /// Look the id up where all processed ids are, and say what was found.
    Confirm(Unconfirmed),
}

/// The verdict of one tuple of a batch, whose ticket is that of the batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Judged {
    /// To be processed.
    First,
    /// Certainly processed before: drop.
    Replay,
    /// Probably processed before.
    Probable(Fate),
    /// Being processed: neither process nor acknowledge.
    InFlight,
    /// Older than what the guard remembers.
    Stale(Fate),
}

impl Judged {
    /// Whether the tuple takes part in the batch's ticket.
    pub(super) const fn holds_ticket(self) -> bool {
        match self {
            Self::First => true,
            Self::Replay | Self::InFlight => false,
            Self::Probable(fate) | Self::Stale(fate) => !matches!(fate, Fate::Drop),
        }
    }
}

/// What is to be done with a tuple of a batch that was probably processed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fate {
    /// Drop it.
    Drop,
    /// Put it into the side output.
    Divert,
    /// Look the id up and call [`Batch::confirm`](super::Batch::confirm).
    Confirm,
}

/// What is done with a tuple that the filter has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnProbable {
    /// Drop it, charged to the loss budget; when that is spent, divert. The default while tuples may
    /// be replays. Outside of that it needs [`always_on`](super::ReplayGuardBuilder::always_on).
    Drop,
    /// Send it to a side output.
    Divert,
    /// Look it up in an exact store.
    Confirm,
    /// Let it pass, and count it. The default where tuples cannot be replays.
    Pass,
}

/// What is done with a tuple that has no id. A missing id, an empty one and a null are three things;
/// only the first comes here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnMissingId {
    /// [`AdmitError::MissingId`](super::AdmitError::MissingId).
    #[default]
    Error,
    /// Pass it on; its position alone can tell a replay.
    Pass,
}

/// What is done with a tuple from before the horizon, when time or a watermark moved that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnStale {
    /// Judge it as any other: what was forgotten passes again.
    #[default]
    Pass,
    /// Send it to a side output.
    Divert,
    /// Drop it. It may have been new; the count of dropped stale tuples says how many.
    Drop,
}

/// What is done when the window is full and nothing in it may retire yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OnFull {
    /// [`AdmitError::Backpressure`](super::AdmitError::Backpressure): stop pulling until upstream
    /// confirms that it truncated, or time passes.
    #[default]
    Backpressure,
    /// Send tuples to the side output, unrecorded.
    Divert,
    /// Retire the oldest epoch: a window of the last tuples.
    Rotate,
}

/// Which side of the operator's crash the guard is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Placement {
    /// At the input of the operator that recovers: the filter holds what is folded into the operator's
    /// state, is part of the same snapshot and rolls back with it. Gives exactly-once *state*. What was
    /// committed may be acknowledged after
    /// [`state_durable`](super::ReplayGuard::state_durable).
    WithState,
    /// At a sink, or at the input of a consumer behind the operator that recovers: the filter does not
    /// roll back, the newest state counts, and the output's tail fills the gap
    /// ([`catch_up`](super::ReplayGuard::catch_up)). Gives exactly-once *output*, if what is upstream
    /// repeats its ids.
    AfterOutput,
}
