//! The guard: what an operator asks about each tuple.

mod accounts;
mod acks;
mod admit;
mod budget;
mod builder;
mod catch_up;
mod checkpoint;
mod clock;
mod delivery;
mod epochs;
mod error;
mod inspect;
mod log;
mod parts;
mod progress;
mod recovery;
mod replay_guard;
mod restore;
mod retire;
mod settle;
mod ticket;
mod verdict;
mod windows;

pub use accounts::{Accounts, Snapshot};
pub use admit::{Confirm, ConfirmError};
pub use builder::{GuardPlan, ReplayGuardBuilder};
pub use checkpoint::Checkpoint;
pub use clock::{Clock, SystemClock};
pub use delivery::{Delivery, Tuple};
pub use error::{AdmitError, Backpressure, GuardError, StateFault};
pub use inspect::{ChannelReport, EpochReport, StateReport};
pub use replay_guard::ReplayGuard;
pub use restore::Opened;
pub use ticket::{Batch, Ticket, Unconfirmed};
pub use verdict::{
    Action, Fate, Judged, OnFull, OnMissingId, OnProbable, OnStale, Placement, Verdict,
};
