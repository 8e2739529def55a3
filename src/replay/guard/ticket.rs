//! Tickets: the promise to say whether a tuple's output became durable.
//!
//! A ticket holds all that the guard needs to remember the tuple and gives it back through a queue
//! that the guard empties before it looks at anything. So a ticket can be committed on another thread
//! or after the guard has moved on, without a lock held for longer than a push.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
use std::time::Duration;

use super::clock::Clock;
use crate::hash::KeyHash;
use crate::replay::Position;

/// An id in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct InFlightId {
    pub(super) hash: KeyHash,
    pub(super) group: u16,
}

/// What a ticket is for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) id: Option<InFlightId>,
    pub(super) position: Option<Position>,
    pub(super) event_time: Option<u64>,
    /// Its place in the batch.
    pub(super) index: u32,
    pub(super) kind: EntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    /// To be recorded when it commits.
    Recorded,
    /// Diverted since the window is full: acknowledged when it commits, but not recorded.
    Unrecorded,
    /// Waits for what an exact store says.
    Unconfirmed,
}

/// How it ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// The output is durable.
    Committed,
    /// It is not, or nobody knows: the tuple is to come again.
    Aborted,
    /// The exact store knows the id: a replay.
    ConfirmedReplay,
}

/// What tickets give back.
#[derive(Debug)]
pub(super) enum Returned {
    One(Entry, Settled),
    Batch(Vec<Entry>, Settled),
    /// An exact store did not know an id that the filter had.
    FalsePositive,
}

/// How tickets ended, and when.
#[derive(Clone, Copy, Debug)]
pub(super) struct Settled {
    pub(super) outcome: Outcome,
    /// By the clock, for a guard that retires by time: a tuple lives from its commit on, whenever the
    /// guard next looks at what came back.
    pub(super) at: Option<Duration>,
}

/// The queue on which they do.
#[derive(Debug)]
pub(super) struct Returns {
    any: AtomicBool,
    queue: Mutex<Queue>,
    clock: Option<Arc<dyn Clock>>,
}

#[derive(Debug, Default)]
struct Queue {
    returned: Vec<Returned>,
    /// A task that waits for tickets.
    waker: Option<Waker>,
}

impl Returns {
    /// An empty queue; with a clock, what ends is marked with its time.
    pub(super) fn new(clock: Option<Arc<dyn Clock>>) -> Self {
        Self { any: AtomicBool::new(false), queue: Mutex::default(), clock }
    }

    fn settled(&self, outcome: Outcome) -> Settled {
        Settled { outcome, at: self.clock.as_ref().map(|clock| clock.now()) }
    }

    fn push(&self, returned: Returned) {
        let mut queue = self.lock();
        queue.returned.push(returned);
        self.any.store(true, Ordering::Release);
        let waker = queue.waker.take();
        drop(queue);
        waker.into_iter().for_each(Waker::wake);
    }

    fn lock(&self) -> MutexGuard<'_, Queue> {
        // A push cannot leave the queue half-changed, so a poisoned one is as good as any.
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the task at the next push.
    #[cfg(feature = "stream")]
    pub(super) fn wake_on_return(&self, waker: &Waker) {
        let slot = &mut self.lock().waker;
        if !slot.as_ref().is_some_and(|old| old.will_wake(waker)) {
            *slot = Some(waker.clone());
        }
    }

    /// Takes everything that has come back, oldest first, into `taken`, which is empty.
    pub(super) fn take(&self, taken: &mut Vec<Returned>) {
        if self.any.swap(false, Ordering::Acquire) {
            std::mem::swap(&mut self.lock().returned, taken);
        }
    }
}

/// A tuple that is being processed: [`commit`](Self::commit) when its output is durable, drop
/// otherwise.
///
/// Until then other copies of the tuple are [`InFlight`](super::Verdict::InFlight). A dropped ticket is
/// an abort: the tuple was not processed, is not acknowledged, and passes when it comes again.
///
/// It may be sent to another thread, and may outlive the guard, to which nothing is told then.
#[derive(Debug)]
#[must_use = "dropping a ticket says that the tuple was not processed"]
pub struct Ticket {
    entry: Option<Entry>,
    returns: Arc<Returns>,
}

impl Ticket {
    pub(super) const fn new(entry: Entry, returns: Arc<Returns>) -> Self {
        Self { entry: Some(entry), returns }
    }

    /// The output of the tuple is durable: remember it, and acknowledge it when the state is durable,
    /// too.
    ///
    /// Committing earlier loses the tuple if the output is lost after the guard's state was saved.
    pub fn commit(mut self) {
        self.give_back(Outcome::Committed);
    }

    fn give_back(&mut self, outcome: Outcome) {
        if let Some(entry) = self.entry.take() {
            self.returns.push(Returned::One(entry, self.returns.settled(outcome)));
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.give_back(Outcome::Aborted);
    }
}

/// A tuple that the filter has and an exact store must decide on. Dropped, it is an abort.
#[derive(Debug)]
#[must_use = "dropping it leaves the tuple undecided: it is to come again"]
pub struct Unconfirmed(Ticket);

impl Unconfirmed {
    pub(super) const fn new(ticket: Ticket) -> Self {
        Self(ticket)
    }

    /// The store has the id: the tuple is a replay, to be dropped; it is acknowledged.
    pub fn is_replay(mut self) {
        self.0.give_back(Outcome::ConfirmedReplay);
    }

    /// The store does not have the id: the tuple is new, to be processed. Counted as a confirmed
    /// false positive.
    pub fn is_new(mut self) -> Ticket {
        let returns = Arc::clone(&self.0.returns);
        returns.push(Returned::FalsePositive);
        let entry = self.0.entry.take().map(|entry| Entry { kind: EntryKind::Recorded, ..entry });
        Ticket { entry, returns }
    }
}

/// The ticket of all tuples of a batch that are to be processed.
///
/// Dropped, all of them are aborted.
#[derive(Debug)]
#[must_use = "dropping the ticket says that no tuple of the batch was processed"]
pub struct Batch {
    entries: Vec<Entry>,
    returns: Arc<Returns>,
}

impl Batch {
    pub(super) const fn new(entries: Vec<Entry>, returns: Arc<Returns>) -> Self {
        Self { entries, returns }
    }

    /// Tuples that wait for their output, diverted ones included.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What the exact store said of the tuple at `index` of the batch: whether it knows the id. A
    /// replay leaves the batch; a new tuple is committed with the others. Does nothing for an index
    /// that waits for no confirmation.
    pub fn confirm(&mut self, index: usize, known: bool) {
        // Entries are in the order of the batch.
        let found = self.entries.binary_search_by_key(&index, |entry| entry.index as usize);
        let Ok(found) = found else { return };
        let Some(entry) = self.entries.get_mut(found) else { return };
        if entry.kind != EntryKind::Unconfirmed {
            return;
        }
        if known {
            let entry = self.entries.remove(found);
            let settled = self.returns.settled(Outcome::ConfirmedReplay);
            self.returns.push(Returned::One(entry, settled));
        } else {
            entry.kind = EntryKind::Recorded;
            self.returns.push(Returned::FalsePositive);
        }
    }

    /// The outputs of all are durable. Tuples that were not confirmed are aborted.
    pub fn commit(self) {
        self.commit_where(|_| true);
    }

    /// The outputs of the tuples at these indices of the batch are durable; the others are aborted.
    pub fn commit_where(mut self, mut durable: impl FnMut(usize) -> bool) {
        // Everything is asked before anything is given back: if `durable` panics, all are aborted.
        let mut durable =
            |entry: &Entry| entry.kind != EntryKind::Unconfirmed && durable(entry.index as usize);
        let answers: Vec<_> = self.entries.iter().map(&mut durable).collect();
        let mut answers = answers.into_iter();
        let mut committed = std::mem::take(&mut self.entries);
        let aborted: Vec<_> = committed.extract_if(.., |_| answers.next() != Some(true)).collect();
        self.give_back(aborted, Outcome::Aborted);
        self.give_back(committed, Outcome::Committed);
    }

    fn give_back(&self, entries: Vec<Entry>, outcome: Outcome) {
        if !entries.is_empty() {
            self.returns.push(Returned::Batch(entries, self.returns.settled(outcome)));
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        let entries = std::mem::take(&mut self.entries);
        self.give_back(entries, Outcome::Aborted);
    }
}
