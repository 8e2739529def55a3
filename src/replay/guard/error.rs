//! What goes wrong when a guard is sized or asked.

use std::fmt;

use crate::codec::DecodeError;
use crate::error::BuildError;
use crate::hash::HashError;
use crate::replay::GroupRange;
use crate::replay::state::StateError;

/// Why a guard cannot be built as asked.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum GuardError {
    /// An option is missing or out of its range.
    Option {
        /// The builder method.
        name: &'static str,
        /// What it takes, and why.
        expected: &'static str,
        /// What it was given.
        found: String,
    },
    /// Nothing would ever retire, so the window fills up for good.
    NeverRetires,
    /// Epochs retire when upstream truncates, but positions of this kind cannot be compared.
    NoPositions,
    /// The budget is below what two ids with the same hash cost.
    BelowHashFloor {
        /// The false positive rate that the budget asks for.
        wanted: f64,
        /// The rate at which ids share a hash.
        floor: f64,
    },
    /// Fewer tuples in the window than may be in flight.
    WindowTooSmall {
        /// Tuples of the window.
        window: u64,
        /// Tuples in flight at most.
        in_flight: u64,
    },
    /// A filter of the window cannot be built.
    Filter(BuildError),
}

impl fmt::Display for GuardError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Option { name, expected, found } => {
                write!(f, "{name}: expected {expected}, found {found}")
            }
            Self::NeverRetires => f.write_str(
                "nothing ever retires from this window, so it would fill up for good: give \
                 retire_on_truncation, retire_after or retire_by_watermark, or on_full(Rotate) for a \
                 window of the last tuples",
            ),
            Self::NoPositions => f.write_str(
                "retire_on_truncation needs positions that can be compared, and this upstream's are \
                 mere tags (ChannelKind::Unordered): retire_after or on_full(Rotate) works without",
            ),
            Self::BelowHashFloor { wanted, floor } => write!(
                f,
                "the loss budget asks for a false positive rate of {wanted:e}, but two ids share a \
                 hash of 64 bits at a rate of {floor:e} in a window of this size: raise the budget, \
                 take more key groups, or allow a higher rate and confirm hits in an exact store \
                 (OnProbable::Confirm)"
            ),
            Self::WindowTooSmall { window, in_flight } => write!(
                f,
                "a window of {window} tuples is smaller than the {in_flight} that may be in flight: a \
                 replay could come after its tuple was forgotten; widen the window or lower \
                 max_in_flight"
            ),
            Self::Filter(error) => write!(f, "the window cannot be built: {error}"),
        }
    }
}

impl std::error::Error for GuardError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Filter(error) => Some(error),
            _ => None,
        }
    }
}

impl From<BuildError> for GuardError {
    fn from(error: BuildError) -> Self {
        Self::Filter(error)
    }
}

/// Why a state could not be opened or saved. A guard that could not be restored is not there: never
/// an empty one.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateFault {
    /// The guard cannot be built.
    Guard(GuardError),
    /// The state cannot be read or written.
    State(StateError),
    /// The guard has no state.
    InMemory,
    /// More was attached than a checkpoint takes.
    AttachedTooLong {
        /// Bytes.
        len: usize,
        /// Bytes at most.
        most: usize,
    },
    /// A whole state says what this guard cannot understand.
    Meaning {
        /// What is wrong.
        source: DecodeError,
    },
    /// Its epochs are not consecutive, or more than can be live.
    Epochs {
        /// The oldest.
        first: u64,
        /// The newest.
        last: u64,
    },
    /// The state was made with another parameter.
    Mismatch {
        /// Which.
        what: &'static str,
        /// That of the state.
        stored: String,
        /// That of the builder.
        given: String,
    },
    /// The state is older than what is known to exist.
    Stale {
        /// The checkpoint that must be covered.
        expected: u64,
        /// The newest one that is whole.
        found: u64,
    },
    /// No part has a key group.
    MissingGroup {
        /// The group.
        group: u16,
        /// The groups that were to be restored.
        owned: GroupRange,
    },
    /// Several parts have a key group.
    SharedGroup {
        /// The group.
        group: u16,
    },
    /// The union of states is more than the window holds.
    TooFull {
        /// Tuples without room.
        spilled: u64,
        /// Tuples of the window.
        window: u64,
    },
}

impl fmt::Display for StateFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Guard(error) => error.fmt(f),
            Self::State(error) => error.fmt(f),
            Self::InMemory => f.write_str(
                "this guard was built without a state: open it with a storage to make checkpoints",
            ),
            Self::AttachedTooLong { len, most } => write!(
                f,
                "expected at most {most} bytes to attach to checkpoints, found {len}: keep them elsewhere, \
                 and attach where they are"
            ),
            Self::Meaning { source } => write!(f, "the state is whole, but: {source}"),
            Self::Epochs { first, last } => write!(
                f,
                "the state names epochs {first} to {last}: expected consecutive ones, no more than \
                 can be live"
            ),
            Self::Mismatch { what, stored, given } => write!(
                f,
                "the state was made with another {what}: it has {stored}, and {given} was asked for; \
                 ask for what it has, or rebuild the window from the processed ids"
            ),
            Self::Stale { expected, found } => write!(
                f,
                "this state ends with checkpoint {found}, and checkpoint {expected} is known to \
                 exist: it is a stale copy; restore the newer one"
            ),
            Self::MissingGroup { group, owned } => write!(
                f,
                "no part has key group {group} of {owned}: the state is incomplete, give all parts"
            ),
            Self::SharedGroup { group } => write!(
                f,
                "several parts have key group {group}: give each group's owner alone, or join states \
                 that saw the same stream with open_union"
            ),
            Self::TooFull { spilled, window } => write!(
                f,
                "the union has {spilled} tuples more than filters for a window of {window} hold: \
                 let more of them retire before they are joined, or rebuild a wider window from the \
                 processed ids"
            ),
        }
    }
}

impl std::error::Error for StateFault {}

impl From<GuardError> for StateFault {
    fn from(error: GuardError) -> Self {
        Self::Guard(error)
    }
}

impl From<StateError> for StateFault {
    fn from(error: StateError) -> Self {
        Self::State(error)
    }
}

/// Why a tuple got no verdict. It was neither passed nor dropped, and is not acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AdmitError {
    /// The tuple has no id.
    MissingId,
    /// The id cannot be hashed.
    Hash(HashError),
    /// The tuple belongs to a key group that is owned by another.
    NotOwned {
        /// The group of the tuple.
        group: u16,
        /// The groups owned here.
        owned: GroupRange,
    },
    /// No more tuples can be taken now.
    Backpressure(Backpressure),
    /// Another has taken over the state of this guard.
    Fenced,
}

/// What is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Backpressure {
    /// As many tickets are out as were allowed.
    Tickets {
        /// How many.
        in_flight: u64,
    },
    /// The window is full and nothing in it may retire.
    Window {
        /// Tuples in it.
        remembered: u64,
    },
    /// Too many tuples were committed since the last checkpoint.
    Checkpoint {
        /// How many.
        uncheckpointed: u64,
    },
}

impl fmt::Display for Backpressure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tickets { in_flight } => write!(
                f,
                "{in_flight} tuples are being processed, as many as allowed: commit or drop their \
                 tickets, or raise max_in_flight"
            ),
            Self::Window { remembered } => write!(
                f,
                "the window is full with {remembered} tuples, and none may retire yet: tell the guard \
                 what upstream truncated, let time pass, or choose on_full"
            ),
            Self::Checkpoint { uncheckpointed } => write!(
                f,
                "{uncheckpointed} tuples were committed since the last checkpoint, as many as the \
                 window has: make a checkpoint"
            ),
        }
    }
}

impl fmt::Display for AdmitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MissingId => f.write_str(
                "the tuple has no id, so a replay of it cannot be told: give it one, or choose \
                 on_missing_id(Pass)",
            ),
            Self::Hash(error) => error.fmt(f),
            Self::NotOwned { group, owned } => write!(
                f,
                "the tuple belongs to key group {group}, and this guard owns {owned}: route it to \
                 its owner"
            ),
            Self::Backpressure(what) => what.fmt(f),
            Self::Fenced => f.write_str(
                "another guard has taken over this state: stop, and acknowledge nothing",
            ),
        }
    }
}

impl std::error::Error for AdmitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Hash(error) => Some(error),
            _ => None,
        }
    }
}

impl From<HashError> for AdmitError {
    fn from(error: HashError) -> Self {
        Self::Hash(error)
    }
}

impl From<Backpressure> for AdmitError {
    fn from(what: Backpressure) -> Self {
        Self::Backpressure(what)
    }
}
