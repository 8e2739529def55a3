//! Drop the tuples that an upstream sends again after a failure.
//!
//! ```text
//!  upstream ──log──▶ a b c d e   ──crash, replay of what was not acknowledged──▶   c d e f g
//!                    │ │ │ │ │                                                     ✗ ✗ ✗ │ │
//!  guard             processed                                   replays are dropped     processed
//! ```
//!
//! | | |
//! |---|---|
//! | [`ReplayGuard`] | judges each tuple by exact evidence first and by a filter last, within a loss budget |
//! | [`Ticket`] | says when a tuple's output is durable |
//! | [`Position`], [`ChannelKind`] | where a tuple stands in upstream's log, and what that is worth |
//! | [`KeyGroups`], [`GroupRange`] | how state is shared out among workers |
//! | [`state`] | the state in a folder or a bucket: immutable objects, manifests, one writer |
//! | [`Window`] | what the windows of a stream share: [`GenerationWindow`], [`RetiringCuckooFilter`](crate::RetiringCuckooFilter) |
//! | [`ReplayFilter`] | a window with accounts, without the guard's rules |
//! | [`DropReplaysExt`], [`UniqueWithinExt`] | iterators (and streams) over a guard and over a filter |
//!
//! Which to take, how to size it and in which order to do things is a guide of its own,
//! `docs/recover-without-duplicates.md` in the repository.
//!
//! # What it costs
//!
//! A false positive drops a **new** tuple. With a window of rate ε, N new tuples lose N·ε on
//! average at full windows: one in a million at ε = 10⁻⁶. A tuple is remembered for at least
//! `capacity` first sightings after its own; a replay that comes later passes a second time.
//!
//! # Order of steps
//!
//! Three rules keep a crash from losing tuples. *Output before state*: save the filter only when
//! the output of every tuple it has passed is durable. *State before acknowledgement*: tell
//! upstream that it may forget a tuple only when the saved filter covers it. *Acknowledge what was
//! dropped*, too, or upstream waits for it for ever. Then a crash costs at most the tuples between
//! the last saved state and the crash coming out twice, and none lost beyond false positives.
//!
//! # Examples
//!
//! A filter alone, for an iterator; [`ReplayGuard`] has an example of the guard.
//!
//! ```
//! use hapax::prelude::*;
//! use hapax::replay::{GenerationWindow, ReplayFilter};
//!
//! let window = CuckooFilter::builder().capacity(100_000).false_positive_rate(1e-6);
//! let mut filter = ReplayFilter::new(GenerationWindow::new(&window)?);
//!
//! let log = [1u64, 2, 3, 2, 3, 4];
//! let passed: Result<Vec<u64>, _> = log.into_iter().unique_within(&mut filter, |id| *id).collect();
//! assert_eq!(passed?, [1, 2, 3, 4]);
//! assert_eq!((filter.counts().passed, filter.counts().dropped), (4, 2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod adaptors;
mod checkpoint;
mod contract;
mod filter;
mod groups;
mod guard;
mod positions;
pub mod state;
mod window;

pub use adaptors::{
    Admitted, DropReplays, DropReplaysExt, NotAdmitted, Refused, UniqueWithin, UniqueWithinExt,
};
#[cfg(feature = "stream")]
pub use adaptors::{DropReplaysStream, DropReplaysStreamExt};
pub use contract::Window;
pub use filter::{Counts, ReplayFilter};
pub use groups::{GroupRange, GroupsError, KeyGroups};
pub use guard::{
    Accounts, Action, AdmitError, Backpressure, Batch, ChannelReport, Checkpoint, Clock, Confirm,
    ConfirmError, Delivery, EpochReport, Fate, GuardError, GuardPlan, Judged, OnFull, OnMissingId,
    OnProbable, OnStale, Opened, Placement, ReplayGuard, ReplayGuardBuilder, Snapshot, StateFault,
    StateReport, SystemClock, Ticket, Tuple, Unconfirmed, Verdict,
};
pub use positions::{ChannelKind, Evidence, Position};
pub use window::GenerationWindow;
