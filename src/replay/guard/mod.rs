//! The guard: what an operator asks about each tuple.

mod accounts;
mod acks;
mod admit;
mod budget;
mod builder;
mod clock;
mod delivery;
mod epochs;
mod error;
mod guard;
mod log;

mod recovery;
mod ticket;
mod verdict;
mod windows;

pub use accounts::{Accounts, Snapshot};
pub use admit::{Confirm, ConfirmError};
pub use builder::{GuardPlan, ReplayGuardBuilder};
pub use clock::{Clock, SystemClock};
pub use delivery::{Delivery, Tuple};
pub use error::{AdmitError, Backpressure, GuardError};
pub use guard::ReplayGuard;
pub use ticket::{Batch, Ticket, Unconfirmed};
pub use verdict::{
    Action, Fate, Judged, OnFull, OnMissingId, OnProbable, OnStale, Placement, Verdict,
};
