//! Time that never steps back.

use std::fmt;
use std::time::{Duration, Instant};

/// A monotonic clock: what retires by time and counts hours. Never the time of day, which steps.
/// Tickets read it, too, on whichever thread they are committed.
pub trait Clock: Send + Sync + fmt::Debug {
    /// Time since some fixed moment; never less than it was.
    fn now(&self) -> Duration;
}

/// The clock of the machine, from [`Instant`]. It may stand still while the machine sleeps, which
/// makes tuples live longer, not shorter.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock(Instant);

impl SystemClock {
    /// Begins at zero.
    #[must_use]
    pub fn start() -> Self {
        Self(Instant::now())
    }
}

impl Clock for SystemClock {
    fn now(&self) -> Duration {
        self.0.elapsed()
    }
}
