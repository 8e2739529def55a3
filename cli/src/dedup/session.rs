//! A run: lines in, verdicts, lines out, checkpoints.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::io::Read;
use std::time::{Duration, Instant};

use hapax::replay::{
    Accounts, AdmitError, Backpressure, Batch, ChannelKind, Delivery, Fate, Judged, Position,
    ReplayGuard, Tuple,
};

use super::acks;
use super::args::{Every, Plan, Retire};
use super::columns::Unreadable;
use super::lines::{Line, Lines};
use super::outputs::Output;
use super::state::{Attached, Ready, explain};
use super::summary::{Counted, Summary};
use crate::trouble::{Trouble, escaped, shown};

/// Lines are not partitioned: one route, one key group.
pub(super) const ROUTE: &[u8] = b"";

/// What became of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// Lines were judged.
    Taken,
    /// There is no room until upstream truncates: to be called again.
    Full,
    /// The run was stopped.
    Closed,
}

/// The guard and all that is written. One thread at a time works with it: the one that reads, or the
/// one that ends the run when it is told to stop.
pub(super) struct Session {
    plan: Plan,
    guard: ReplayGuard,
    /// Lines of a batch at most.
    most: u64,
    fences: BTreeMap<u32, u64>,
    out: Output,
    divert: Option<Output>,
    /// Lines of the batch, and what they are to the guard.
    lines: Vec<Line>,
    tuples: Vec<Tuple>,
    judged: Vec<Judged>,
    /// Of which so many are judged.
    done: usize,
    /// Ids of the batch.
    ids: HashSet<u64>,
    /// Why the batch ends where it does, if the next line cannot be judged.
    unreadable: Option<(u64, Unreadable)>,
    channels: BTreeSet<u32>,
    counted: Counted,
    /// Counts of the guard when the run began.
    before: Accounts,
    since_checkpoint: u64,
    checkpoint_at: Instant,
    closed: bool,
}

impl Session {
    pub(super) fn new(
        plan: Plan,
        Ready { mut guard, most, fences, .. }: Ready,
        out: Output,
        divert: Option<Output>,
    ) -> Self {
        let channels = guard.channels().iter().map(|channel| channel.channel).collect();
        let before = guard.snapshot().counts;
        Self {
            plan,
            guard,
            most,
            fences,
            out,
            divert,
            lines: Vec::new(),
            tuples: Vec::new(),
            judged: Vec::new(),
            done: 0,
            ids: HashSet::new(),
            unreadable: None,
            channels,
            counted: Counted::default(),
            before,
            since_checkpoint: 0,
            checkpoint_at: Instant::now(),
            closed: false,
        }
    }

    /// Judges a batch of the lines that are there, and writes what passes.
    ///
    /// # Errors
    ///
    /// If a line has no id, output fails, the guard refuses, or the loss budget is spent and there is no
    /// file for what it diverts. Lines before the one at fault are written and remembered.
    pub(super) fn take(&mut self, lines: &mut Lines<impl Read>) -> Result<Step, Trouble> {
        if self.closed {
            return Ok(Step::Closed);
        }
        if self.done == self.tuples.len() {
            self.gather(lines)?;
        }
        while self.done < self.tuples.len() {
            let (batch, outcome) =
                self.guard.admit_batch(&self.tuples[self.done..], &mut self.judged);
            self.write_out(lines, batch)?;
            match outcome {
                Ok(()) => {}
                Err(AdmitError::Backpressure(Backpressure::Checkpoint { .. })) => {
                    self.checkpoint()?;
                }
                Err(AdmitError::Backpressure(Backpressure::Window { .. })) => {
                    // Tells upstream what it may truncate.
                    if self.since_checkpoint > 0 {
                        self.checkpoint()?;
                    }
                    self.read_truncated()?;
                    return Ok(Step::Full);
                }
                Err(error) => return Err(Trouble::new(error)),
            }
        }
        if let Some((number, why)) = self.unreadable.take() {
            return Err(Trouble::new(format_args!("line {number}: {why}")));
        }
        if self.is_due() {
            self.checkpoint()?;
        }
        Ok(Step::Taken)
    }

    /// Takes lines for the next batch, up to one whose id is in it: only when the first of them is
    /// committed can the guard tell the second.
    fn gather(&mut self, lines: &mut Lines<impl Read>) -> Result<(), Trouble> {
        self.lines.clear();
        self.tuples.clear();
        self.ids.clear();
        self.done = 0;
        let most = match self.plan.checkpoint_every {
            Every::Lines(every) => self.most.min(every.saturating_sub(self.since_checkpoint)),
            Every::Time(_) => self.most,
        };
        while (self.tuples.len() as u64) < most
            && let Some(line) = lines.next()
        {
            match self.tuple(lines.content(&line)) {
                Ok(tuple) => {
                    if !tuple.id.is_none_or(|id| self.ids.insert(id.hi())) {
                        lines.back(&line);
                        break;
                    }
                    self.begin_channel(tuple.delivery.position);
                    self.tuples.push(tuple);
                    self.lines.push(line);
                }
                Err(Refused::Line(why)) => {
                    self.unreadable = Some((line.number, why));
                    break;
                }
                Err(Refused::Hash(error)) => return Err(Trouble::new(error)),
            }
        }
        Ok(())
    }

    /// Makes a tuple of a line.
    fn tuple(&self, line: &[u8]) -> Result<Tuple, Refused> {
        let columns = &self.plan.columns;
        let id = columns.id(line).map_err(Refused::Line)?;
        let position = columns.position(line).map_err(Refused::Line)?;
        let delivery = position.map_or_else(Delivery::default, Delivery::from);
        self.guard.tuple(ROUTE, Some(&*id), delivery).map_err(Refused::Hash)
    }

    /// The log of a channel begins where the user said, or at its first line.
    fn begin_channel(&mut self, position: Option<Position>) {
        if let Some(Position { channel, sequence }) = position
            && self.channels.insert(channel)
        {
            let first = self.plan.first.unwrap_or(sequence);
            self.guard.start(Position::new(channel, first));
        }
    }

    /// Writes what passes, and commits it. It is not durable yet; what is committed becomes durable by
    /// [`checkpoint`](Self::checkpoint) alone, which makes the output durable first.
    fn write_out(&mut self, lines: &Lines<impl Read>, batch: Batch) -> Result<(), Trouble> {
        let (judged, from) = (std::mem::take(&mut self.judged), self.done);
        for (index, verdict) in judged.iter().enumerate() {
            let line = lines.whole(&self.lines[from + index]);
            match verdict {
                Judged::First => {
                    self.out.write(line)?;
                    self.counted.passed += 1;
                }
                // No id is twice in a batch, and none is in flight between two.
                Judged::Replay | Judged::InFlight => self.counted.certain += 1,
                Judged::Probable(Fate::Drop) | Judged::Stale(Fate::Drop) => {
                    self.counted.probable += 1;
                }
                Judged::Probable(_) | Judged::Stale(_) => {
                    let Some(divert) = &mut self.divert else {
                        batch.commit_where(|later| later < index);
                        return Err(self.spent(self.lines[from + index].number));
                    };
                    divert.write(line)?;
                    self.counted.diverted += 1;
                }
            }
            self.counted.read += 1;
            self.since_checkpoint += 1;
            self.done += 1;
        }
        batch.commit();
        self.judged = judged;
        Ok(())
    }

    fn spent(&self, number: u64) -> Trouble {
        Trouble::new(format_args!(
            "line {number} looks repeated, and the loss budget of {} is spent, so it was neither passed \
             nor dropped: give --divert a file for such lines, raise --loss-budget, or begin a state with \
             a lower rate; run again, and the budget is whole again",
            self.plan.sizing.budget.unwrap_or(0.0)
        ))
    }

    /// Whoever follows the output sees what came of the input so far before it is waited for.
    pub(super) fn flush(&mut self) -> Result<(), Trouble> {
        self.out.flush()?;
        self.divert.iter_mut().try_for_each(Output::flush)
    }

    /// Time until a checkpoint is due that does not wait for more lines.
    pub(super) fn time_left(&self) -> Option<Duration> {
        match self.plan.checkpoint_every {
            Every::Time(every) if self.since_checkpoint > 0 && self.plan.state.is_some() => {
                Some(every.saturating_sub(self.checkpoint_at.elapsed()))
            }
            _ => None,
        }
    }

    fn is_due(&self) -> bool {
        match self.plan.checkpoint_every {
            Every::Lines(every) => self.since_checkpoint >= every,
            Every::Time(_) => self.time_left().is_some_and(|left| left.is_zero()),
        }
    }

    /// Output first, then the state that covers it, and last what upstream may be told.
    ///
    /// # Errors
    ///
    /// If one of them fails: then those after it are as they were.
    pub(super) fn checkpoint(&mut self) -> Result<(), Trouble> {
        self.since_checkpoint = 0;
        self.checkpoint_at = Instant::now();
        let Some(folder) = &self.plan.state else { return self.flush() };
        self.out.sync()?;
        self.divert.iter_mut().try_for_each(Output::sync)?;
        let attached = Attached {
            lines: self.plan.columns.to_string(),
            output: self.out.len(),
            fences: self.fences.clone(),
        };
        let attached = serde_json::to_vec(&attached).map_err(Trouble::new)?;
        let saved = self.guard.attach(&attached).and_then(|()| self.guard.checkpoint());
        let saved = saved.map_err(|fault| explain(folder, &fault))?;
        if let Err(error) = saved.collected {
            crate::note(&format!(
                "{}: old checkpoints could not be removed, which is tried again: {}",
                shown(folder),
                escaped(&error.to_string())
            ));
        }
        // Upstream is told by the file, up to a position.
        self.guard.ackable().for_each(drop);
        self.write_acks()?;
        self.read_truncated()
    }

    fn write_acks(&mut self) -> Result<(), Trouble> {
        let Some(path) = &self.plan.ack_file else { return Ok(()) };
        let columns = &self.plan.columns;
        if !columns.have_positions() {
            let before = self.plan.first.map_or(0, |first| first.saturating_sub(1));
            let last = Position::new(0, before.saturating_add(self.counted.read));
            return acks::write(path, &[last], false);
        }
        let kind = self.plan.kind;
        let marks = self.guard.channels().into_iter().filter_map(|channel| {
            let through = match kind {
                ChannelKind::Dense => channel.watermark,
                // Holes are never filled, and everything that came is covered.
                _ => channel.highest,
            };
            Some(Position::new(channel.channel, through?))
        });
        acks::write(path, &marks.collect::<Vec<_>>(), columns.have_channels())
    }

    /// Retires what upstream has truncated.
    fn read_truncated(&mut self) -> Result<(), Trouble> {
        if self.plan.retire == Retire::Truncated
            && let Some(path) = &self.plan.truncated
        {
            for mark in acks::read(path, self.plan.columns.have_channels())? {
                self.guard.truncated(mark);
            }
        }
        Ok(())
    }

    /// Whether a state is kept.
    pub(super) const fn is_kept(&self) -> bool {
        self.plan.state.is_some()
    }

    /// Ends the run with a checkpoint, and sums it up; `None` if it has ended before.
    ///
    /// # Errors
    ///
    /// As [`checkpoint`](Self::checkpoint).
    pub(super) fn close(&mut self) -> Result<Option<Summary>, Trouble> {
        if std::mem::replace(&mut self.closed, true) {
            return Ok(None);
        }
        self.checkpoint()?;
        Ok(Some(Summary::of(self.counted, self.before, &self.guard.snapshot())))
    }

    /// What is to be said at the end.
    pub(super) const fn wants_json(&self) -> bool {
        self.plan.json
    }
}

/// Why a line is no tuple.
enum Refused {
    Line(Unreadable),
    Hash(hapax::HashError),
}
