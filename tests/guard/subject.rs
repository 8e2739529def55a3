//! What the tests share: a small guard, one way to ask, a clock that is told the time.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use hapax::Key;
use hapax::replay::{
    Action, AdmitError, Clock, Delivery, Fate, Judged, Placement, Position, ReplayGuard,
    ReplayGuardBuilder, Unconfirmed, Verdict,
};

/// So low that no false positive occurs in a test.
pub const NEVER: f64 = 1e-9;

/// A guard of 1,400 tuples in 15 epochs of 100 that retires on truncation and asks its filter about
/// flagged tuples alone.
pub fn small() -> ReplayGuardBuilder {
    sized(1_400).false_positive_rate(NEVER).tested_after_recovery(0).retire_on_truncation()
}

/// The same, asking about every tuple.
pub fn small_always_on() -> ReplayGuardBuilder {
    sized(1_400).always_on(1.0, (1.0 / NEVER) as u64).retire_on_truncation()
}

/// A window and nothing else that matters.
pub fn sized(window: u64) -> ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput).window(window).max_in_flight(100.min(window))
}

/// A verdict and what it holds.
pub enum Held {
    Nothing,
    Ticket(hapax::replay::Ticket),
    Unconfirmed(Unconfirmed),
}

impl Held {
    /// Commits a ticket; what is unconfirmed is aborted.
    pub fn commit(self) {
        if let Self::Ticket(ticket) = self {
            ticket.commit();
        }
    }
}

/// Takes a verdict apart.
pub fn parts(verdict: Verdict) -> (Judged, Held) {
    let of = |action| match action {
        Action::Drop => (Fate::Drop, Held::Nothing),
        Action::Divert(ticket) => (Fate::Divert, Held::Ticket(ticket)),
        Action::Confirm(unconfirmed) => (Fate::Confirm, Held::Unconfirmed(unconfirmed)),
    };
    match verdict {
        Verdict::First(ticket) => (Judged::First, Held::Ticket(ticket)),
        Verdict::Replay => (Judged::Replay, Held::Nothing),
        Verdict::InFlight => (Judged::InFlight, Held::Nothing),
        Verdict::Probable(action) => {
            let (fate, held) = of(action);
            (Judged::Probable(fate), held)
        }
        Verdict::Stale(action) => {
            let (fate, held) = of(action);
            (Judged::Stale(fate), held)
        }
    }
}

/// Judges a tuple that is its own route, and keeps what the verdict holds.
pub fn judge<K: Key + ?Sized>(
    guard: &mut ReplayGuard,
    id: &K,
    delivery: impl Into<Delivery>,
) -> Result<(Judged, Held), AdmitError> {
    guard.admit(id, id, delivery).map(parts)
}

/// Judges a tuple, processes it if that is the verdict, and commits.
pub fn process<K: Key + ?Sized>(
    guard: &mut ReplayGuard,
    id: &K,
    delivery: impl Into<Delivery>,
) -> Judged {
    let (judged, held) = judge(guard, id, delivery).unwrap();
    held.commit();
    judged
}

/// As [`process`], for a delivery that upstream flags as repeated.
pub fn redeliver<K: Key + ?Sized>(guard: &mut ReplayGuard, id: &K) -> Judged {
    process(guard, id, Delivery::redelivered(true))
}

/// The hit of a filter that is dropped.
pub const DROPPED: Judged = Judged::Probable(Fate::Drop);

/// Everything that may be acknowledged now.
pub fn acks(guard: &mut ReplayGuard) -> Vec<u64> {
    guard.ackable().map(|at| at.sequence).collect()
}

/// A place in the channel that most tests have.
pub const fn at(sequence: u64) -> Position {
    Position::new(0, sequence)
}

/// That nothing was judged outside of the accounts, and no ticket is unaccounted for.
#[track_caller]
pub fn assert_accounts(guard: &mut ReplayGuard) {
    let snapshot = guard.snapshot();
    let of = snapshot.counts;
    let verdicts = of.first + of.replay + of.probable + of.diverted + of.unconfirmed;
    let verdicts = verdicts + of.in_flight + of.stale_diverted + of.stale_dropped;
    assert_eq!(of.judged, verdicts, "{of:?}");
    let given = of.first + of.diverted + of.unconfirmed + of.stale_diverted;
    let back = of.committed + of.aborted + of.confirmed_replay;
    assert_eq!(given, back + snapshot.in_flight, "{of:?}");
    assert!(of.suspect + of.missing_id <= of.first && of.stale_passed <= of.first, "{of:?}");
    assert!(of.confirmed_replay <= of.unconfirmed, "{of:?}");
}

/// A clock that is told the time, in milliseconds.
#[derive(Clone, Debug, Default)]
pub struct Time(Arc<AtomicU64>);

impl Time {
    /// Lets seconds pass.
    pub fn pass(&self, seconds: u64) {
        self.pass_ms(seconds * 1_000);
    }

    pub fn pass_ms(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// Sets the time in milliseconds, backwards too.
    pub fn set(&self, milliseconds: u64) {
        self.0.store(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for Time {
    fn now(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}
