//! Judging tuples.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use super::builder::Options;
use super::delivery::{Delivery, Tuple};
use super::error::{AdmitError, Backpressure};
use super::replay_guard::ReplayGuard;
use super::settle::Certainty;
use super::ticket::{Batch, Entry, EntryKind, InFlightId, Ticket, Unconfirmed};
use super::verdict::{Action, Fate, Judged, OnFull, OnMissingId, OnProbable, OnStale, Verdict};
use super::windows::Recorded;
use crate::hash::{HashError, Key};
use crate::replay::{ChannelKind, Evidence};

/// A store of all processed ids that is at least as durable as the output: a table with a unique key,
/// an index, a log.
pub trait Confirm<K: ?Sized> {
    /// Why the store could not answer.
    type Error;

    /// Whether the tuple of this id was processed.
    ///
    /// # Errors
    ///
    /// When the store does not know; never a guess.
    fn is_processed(&mut self, id: &K) -> Result<bool, Self::Error>;
}

impl<K: ?Sized, E, F: FnMut(&K) -> Result<bool, E>> Confirm<K> for F {
    type Error = E;

    fn is_processed(&mut self, id: &K) -> Result<bool, E> {
        self(id)
    }
}

/// Why a tuple was not judged with the help of a store. It is to come again.
#[derive(Debug)]
pub enum ConfirmError<E> {
    /// The guard refused.
    Admit(AdmitError),
    /// The store did.
    Store(E),
}

impl<E: fmt::Display> fmt::Display for ConfirmError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admit(error) => error.fmt(f),
            Self::Store(error) => write!(f, "the store of processed ids did not answer: {error}"),
        }
    }
}

impl<E: std::error::Error + 'static> std::error::Error for ConfirmError<E> {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Admit(error) => Some(error),
            Self::Store(error) => Some(error),
        }
    }
}

/// What becomes of a tuple, and how its ticket will be settled.
type Decision = (Judged, EntryKind);

impl ReplayGuard {
    /// Judges one tuple: by its route, its id, and what upstream says of the delivery.
    ///
    /// The route decides the key group, and the id within it whether it is a replay; where tuples are
    /// not partitioned by another key, they are the same.
    ///
    /// # Errors
    ///
    /// [`AdmitError`]; the tuple was neither passed nor dropped, and is not acknowledged. After
    /// [`AdmitError::Backpressure`] it may be admitted again.
    pub fn admit<R, K>(
        &mut self,
        route: &R,
        id: &K,
        delivery: impl Into<Delivery>,
    ) -> Result<Verdict, AdmitError>
    where
        R: Key + ?Sized,
        K: Key + ?Sized,
    {
        let tuple = self.tuple(route, Some(id), delivery)?;
        self.admit_tuple(&tuple)
    }

    /// As [`admit`](Self::admit), for a tuple that has no id.
    ///
    /// # Errors
    ///
    /// Also [`AdmitError::MissingId`], unless the policy is to pass.
    pub fn admit_without_id<R: Key + ?Sized>(
        &mut self,
        route: &R,
        delivery: impl Into<Delivery>,
    ) -> Result<Verdict, AdmitError> {
        let tuple = self.tuple(route, None::<&[u8]>, delivery)?;
        self.admit_tuple(&tuple)
    }

    /// As [`admit`](Self::admit), with a store that decides where the filter has the id and the policy
    /// is [`OnProbable::Confirm`].
    ///
    /// # Errors
    ///
    /// Also those of the store; the tuple is to come again.
    pub fn admit_confirmed<R, K, C>(
        &mut self,
        store: &mut C,
        route: &R,
        id: &K,
        delivery: impl Into<Delivery>,
    ) -> Result<Verdict, ConfirmError<C::Error>>
    where
        R: Key + ?Sized,
        K: Key + ?Sized,
        C: Confirm<K> + ?Sized,
    {
        let verdict = self.admit(route, id, delivery).map_err(ConfirmError::Admit)?;
        let Verdict::Probable(Action::Confirm(unconfirmed)) = verdict else {
            return Ok(verdict);
        };
        if store.is_processed(id).map_err(ConfirmError::Store)? {
            unconfirmed.is_replay();
            Ok(Verdict::Replay)
        } else {
            Ok(Verdict::First(unconfirmed.is_new()))
        }
    }

    /// Hashes a tuple, for [`admit_batch`](Self::admit_batch).
    ///
    /// # Errors
    ///
    /// [`HashError`] if the seed cannot hash keys.
    pub fn tuple<R, K>(
        &self,
        route: &R,
        id: Option<&K>,
        delivery: impl Into<Delivery>,
    ) -> Result<Tuple, HashError>
    where
        R: Key + ?Sized,
        K: Key + ?Sized,
    {
        let group = self.group_of(route)?;
        let id = id.map(|id| self.seed().hash(id)).transpose()?;
        Ok(Tuple { group, id, delivery: delivery.into() })
    }

    /// Judges a hashed tuple.
    ///
    /// # Errors
    ///
    /// As [`admit`](Self::admit).
    pub fn admit_tuple(&mut self, tuple: &Tuple) -> Result<Verdict, AdmitError> {
        let now = self.begin()?;
        let (judged, kind) = self.judge(tuple, now)?;
        let ticket = judged.holds_ticket().then(|| {
            let entry = self.entry(tuple, 0, kind);
            Ticket::new(entry, Arc::clone(&self.returns))
        });
        let action = |fate, ticket| match (fate, ticket) {
            (Fate::Divert, Some(ticket)) => Action::Divert(ticket),
            (Fate::Confirm, Some(ticket)) => Action::Confirm(Unconfirmed::new(ticket)),
            _ => Action::Drop,
        };
        Ok(match (judged, ticket) {
            (Judged::First, Some(ticket)) => Verdict::First(ticket),
            (Judged::InFlight, _) => Verdict::InFlight,
            (Judged::Probable(fate), ticket) => Verdict::Probable(action(fate, ticket)),
            (Judged::Stale(fate), ticket) => Verdict::Stale(action(fate, ticket)),
            (Judged::First | Judged::Replay, _) => Verdict::Replay,
        })
    }

    /// Judges tuples in order, as [`admit`](Self::admit) would one by one, with the memory of each
    /// asked for ahead of its test. `judged` gets their verdicts; those that are to be processed or
    /// diverted share the ticket.
    ///
    /// # Errors
    ///
    /// The second value says why it stopped: the tuple after the last one in `judged` is the one that
    /// was refused. Those before it are judged, and the ticket is theirs.
    pub fn admit_batch(
        &mut self,
        tuples: &[Tuple],
        judged: &mut Vec<Judged>,
    ) -> (Batch, Result<(), AdmitError>) {
        /// Tuples between asking for memory and the test.
        const AHEAD: usize = 16;
        judged.clear();
        judged.reserve(tuples.len());
        let mut entries = Vec::with_capacity(tuples.len());
        let outcome = self.begin().and_then(|now| {
            let ahead = self.may_test();
            if ahead {
                tuples.iter().take(AHEAD).for_each(|tuple| self.prefetch(tuple));
            }
            for (index, tuple) in tuples.iter().enumerate() {
                if ahead && let Some(later) = tuples.get(index + AHEAD) {
                    self.prefetch(later);
                }
                let (verdict, kind) = self.judge(tuple, now)?;
                judged.push(verdict);
                if verdict.holds_ticket() {
                    entries.push(self.entry(tuple, index as u32, kind));
                }
            }
            Ok(())
        });
        (Batch::new(entries, Arc::clone(&self.returns)), outcome)
    }

    fn prefetch(&self, tuple: &Tuple) {
        if let Some(hash) = tuple.id {
            self.windows.prefetch(Recorded::from(InFlightId { hash, group: tuple.group }));
        }
    }

    /// Whether tuples are tested now, or not one of them is.
    fn may_test(&self) -> bool {
        self.options.always_on
            || self.options.on_suspect != OnProbable::Pass
            || self.recovery.untold() > 0
            || !self.recovery.fences().is_empty()
    }

    /// Before tuples are judged: takes in what came back, and lets time pass.
    fn begin(&mut self) -> Result<Duration, AdmitError> {
        if self.fenced {
            return Err(AdmitError::Fenced);
        }
        self.drain();
        let now = self.now();
        self.budget.at(now);
        self.retire_due(now);
        Ok(now)
    }

    /// Hands the tuple out.
    fn entry(&mut self, tuple: &Tuple, index: u32, kind: EntryKind) -> Entry {
        let id = tuple.id.map(|hash| InFlightId { hash, group: tuple.group });
        let Delivery { position, event_time, .. } = tuple.delivery;
        self.tickets += 1;
        self.in_flight.extend(id);
        if let Some(position) = position {
            self.positions.seen(position);
        }
        Entry { id, position, event_time, index, kind }
    }

    fn judge(&mut self, tuple: &Tuple, now: Duration) -> Result<Decision, AdmitError> {
        self.check_owned(tuple.group)?;
        let decision = self.decide(tuple, now).inspect_err(|error| {
            self.counts.backpressure += u64::from(matches!(error, AdmitError::Backpressure(_)));
        })?;
        self.counts.judged += 1;
        let counts = &mut self.counts;
        let (count, dropped) = match decision.0 {
            Judged::First => (&mut counts.first, None),
            Judged::Replay => (&mut counts.replay, Some(Certainty::Certain)),
            Judged::InFlight => (&mut counts.in_flight, None),
            Judged::Probable(Fate::Drop) => (&mut counts.probable, Some(Certainty::Probable)),
            Judged::Probable(Fate::Divert) => (&mut counts.diverted, None),
            Judged::Probable(Fate::Confirm) | Judged::Stale(Fate::Confirm) => {
                (&mut counts.unconfirmed, None)
            }
            Judged::Stale(Fate::Divert) => (&mut counts.stale_diverted, None),
            Judged::Stale(Fate::Drop) => (&mut counts.stale_dropped, Some(Certainty::Probable)),
        };
        *count += 1;
        if let Some(certainty) = dropped {
            self.dropped(tuple.delivery.position, certainty);
        }
        Ok(decision)
    }

    fn decide(&mut self, tuple: &Tuple, now: Duration) -> Result<Decision, AdmitError> {
        let recorded = |judged| (judged, EntryKind::Recorded);
        let id = tuple.id.map(|hash| InFlightId { hash, group: tuple.group });
        if id.is_none() && self.options.on_missing_id == OnMissingId::Error {
            return Err(AdmitError::MissingId);
        }
        if let Some(id) = &id {
            if self.in_flight.contains(id) {
                return Ok(recorded(Judged::InFlight));
            }
            if !self.caught_up.is_empty() && self.caught_up.contains(id) {
                return Ok(recorded(Judged::Replay));
            }
        }
        let delivery = &tuple.delivery;
        let evidence = delivery.position.map(|position| self.positions.evidence(position));
        if evidence == Some(Evidence::Processed) {
            return Ok(recorded(Judged::Replay));
        }
        let stale = evidence == Some(Evidence::Expired) || self.is_late(delivery);
        if stale {
            match self.options.on_stale {
                OnStale::Pass => {}
                OnStale::Divert => {
                    let kind = self.kind_by_room(tuple.group, now)?;
                    return Ok((Judged::Stale(Fate::Divert), kind));
                }
                OnStale::Drop => return Ok(recorded(Judged::Stale(Fate::Drop))),
            }
        }
        let decision = if let Some(id) = id {
            self.ask_filter(tuple, id, evidence, now)?
        } else {
            let decision = self.first(tuple.group, now)?;
            self.counts.missing_id += u64::from(decision.0 == Judged::First);
            decision
        };
        self.counts.stale_passed += u64::from(stale && decision.0 == Judged::First);
        Ok(decision)
    }

    /// Whether its event is from before everything that the watermark has left.
    fn is_late(&self, delivery: &Delivery) -> bool {
        match (self.options.retirement.lateness, self.watermark, delivery.event_time) {
            (Some(lateness), Some(mark), Some(time)) => time.saturating_add(lateness) <= mark,
            _ => false,
        }
    }

    fn ask_filter(
        &mut self,
        tuple: &Tuple,
        id: InFlightId,
        evidence: Option<Evidence>,
        now: Duration,
    ) -> Result<Decision, AdmitError> {
        let Options { on_probable, on_suspect, always_on, .. } = self.options;
        let kind = tuple
            .delivery
            .position
            .map_or(ChannelKind::Unordered, |at| self.positions.kind(at.channel));
        let at_risk =
            always_on || self.recovery.covers(tuple.group, &tuple.delivery, evidence, kind);
        let policy = if at_risk { on_probable } else { on_suspect };
        if policy == OnProbable::Pass && !at_risk {
            // Nothing depends on what the filter would say.
            return self.first(tuple.group, now);
        }
        let rate = self.windows.rate(tuple.group);
        let cost = rate / (1.0 - rate);
        let drops = policy == OnProbable::Drop && self.budget.allows(cost);
        if !self.windows.contains(id.into()) {
            let decision = self.first(tuple.group, now)?;
            if at_risk {
                let last = self.recovery.passed(&tuple.delivery, kind);
                if last && self.recovery.is_over() {
                    // The filter has them, too.
                    self.forget_tail();
                }
            }
            if drops {
                self.counts.tested += 1;
                self.counts.estimated_lost += cost;
                self.budget.charge(cost);
            }
            return Ok(decision);
        }
        let (fate, kind) = match policy {
            OnProbable::Drop if drops => (Fate::Drop, EntryKind::Recorded),
            OnProbable::Drop | OnProbable::Divert => {
                (Fate::Divert, self.kind_by_room(tuple.group, now)?)
            }
            OnProbable::Confirm => {
                self.make_room(tuple.group, now)?;
                (Fate::Confirm, EntryKind::Unconfirmed)
            }
            OnProbable::Pass => {
                let decision = self.first(tuple.group, now)?;
                self.counts.suspect += u64::from(decision.0 == Judged::First);
                return Ok(decision);
            }
        };
        Ok((Judged::Probable(fate), kind))
    }

    /// A tuple passes, if there is room to remember it.
    fn first(&mut self, group: u16, now: Duration) -> Result<Decision, AdmitError> {
        Ok(match self.kind_by_room(group, now)? {
            EntryKind::Recorded => (Judged::First, EntryKind::Recorded),
            kind => (Judged::Probable(Fate::Divert), kind),
        })
    }

    /// How the ticket of a tuple is settled: recorded if there is room to remember it.
    fn kind_by_room(&mut self, group: u16, now: Duration) -> Result<EntryKind, AdmitError> {
        let room = self.make_room(group, now)?;
        Ok(if room { EntryKind::Recorded } else { EntryKind::Unrecorded })
    }

    /// Sees to it that one more tuple of the group can be recorded; `false` if it cannot and is to be
    /// diverted.
    #[inline]
    fn make_room(&mut self, group: u16, now: Duration) -> Result<bool, AdmitError> {
        if self.tickets >= self.options.max_in_flight {
            return Err(Backpressure::Tickets { in_flight: self.tickets }.into());
        }
        if let Some(log) = &self.log
            && log.len() >= self.dimensions.window
        {
            return Err(Backpressure::Checkpoint { uncheckpointed: log.len() }.into());
        }
        let over = self.epochs.current().len >= self.dimensions.epoch_len;
        if (!over || self.turn_epoch(now)) && !self.windows.is_full(group) {
            return Ok(true);
        }
        match self.options.on_full {
            // A group that has far more than its share: older epochs go until it has room.
            OnFull::Rotate => {
                while self.windows.is_full(group) && self.retire_oldest(now) {}
                Ok(true)
            }
            OnFull::Divert => Ok(false),
            OnFull::Backpressure => {
                Err(Backpressure::Window { remembered: self.windows.len() }.into())
            }
        }
    }
}
