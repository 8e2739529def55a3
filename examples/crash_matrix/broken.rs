//! Operators that break one rule each, to see that it costs what it is said to cost.

use hapax::replay::state::LocalDirectory;
use hapax::replay::{Action, Placement, Position, ReplayGuard, Verdict};

use super::Error;
use super::job::{CHECKPOINT_EVERY, Job};
use super::link::{Incoming, Link};
use super::output::Output;
use super::step::Step;
use super::sums::Sums;
use super::tuple::Order;
use super::upstream::Kind;
use super::{after_output, with_state};

/// The rule that is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rule {
    /// The checkpoint is made before the output that it covers is durable.
    FilterBeforeOutput,
    /// The output's tail is not read after a crash.
    NoCatchUp,
    /// The guard's state is in memory alone.
    InMemory,
    /// Tuples are acknowledged when they are folded, before the state is durable.
    AckBeforeState,
    /// The window is smaller than what upstream keeps: it forgets what is not truncated yet.
    ForgetsEarly,
    /// What is dropped is not acknowledged.
    DropsNotAcked,
}

/// What breaking a rule costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cost {
    /// Every tuple that was exposed when the operator died is lost.
    Lost,
    /// Every such tuple comes out twice.
    Duplicated,
    /// Tuples come out twice: at most those in flight, for each crash.
    SomeDuplicated,
    /// Upstream waits for ever.
    Stall,
}

impl Rule {
    pub(crate) const ALL: [Self; 6] = [
        Self::FilterBeforeOutput,
        Self::NoCatchUp,
        Self::InMemory,
        Self::AckBeforeState,
        Self::ForgetsEarly,
        Self::DropsNotAcked,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::FilterBeforeOutput => "filter before output",
            Self::NoCatchUp => "no catch-up",
            Self::InMemory => "filter in memory only",
            Self::AckBeforeState => "ack before state",
            Self::ForgetsEarly => "forgets before truncation",
            Self::DropsNotAcked => "drops not acknowledged",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.name() == name)
    }

    pub(crate) const fn placement(self) -> Placement {
        match self {
            Self::AckBeforeState => Placement::WithState,
            _ => Placement::AfterOutput,
        }
    }

    /// The upstreams where it shows. Positions are remembered exactly beyond any window.
    pub(crate) const fn kinds(self) -> &'static [Kind] {
        match self {
            Self::ForgetsEarly => &[Kind::Flagged, Kind::IdsOnly],
            _ => &Kind::ALL,
        }
    }

    /// Where a crash costs most.
    pub(crate) const fn worst_step(self) -> Step {
        match self {
            Self::FilterBeforeOutput | Self::ForgetsEarly => Step::Filter,
            Self::NoCatchUp | Self::InMemory | Self::DropsNotAcked => Step::Output,
            Self::AckBeforeState => Step::Truncate,
        }
    }

    pub(crate) const fn cost(self) -> Cost {
        match self {
            Self::FilterBeforeOutput | Self::AckBeforeState => Cost::Lost,
            Self::NoCatchUp => Cost::Duplicated,
            Self::InMemory | Self::ForgetsEarly => Cost::SomeDuplicated,
            Self::DropsNotAcked => Cost::Stall,
        }
    }
}

/// The window of the guard that forgets early.
const SMALL_WINDOW: u64 = CHECKPOINT_EVERY;

pub(crate) fn run(rule: Rule, job: &Job, link: &mut Link) -> Result<(), Error> {
    match rule {
        Rule::AckBeforeState => ack_before_state(job, link),
        _ => Sink::open(rule, job, link)?.run(link),
    }
}

/// An operator with its guard at the output, as in `after_output`, but for the rule.
struct Sink {
    rule: Rule,
    guard: ReplayGuard,
    output: Output,
    /// Results that are not written: the filter was first.
    unwritten: Vec<Order>,
    /// Results that came out after the last checkpoint.
    uncovered: u64,
    /// What is committed and not acknowledged.
    committed: Vec<Position>,
}

impl Sink {
    fn open(rule: Rule, job: &Job, link: &mut Link) -> Result<Self, Error> {
        let storage = || LocalDirectory::create(job.folder.join("guard"));
        let mut guard = match rule {
            Rule::InMemory => job.guard().build()?,
            Rule::ForgetsEarly => {
                let small = job.guard().window(SMALL_WINDOW).epochs(2);
                small.max_in_flight(SMALL_WINDOW).open(storage()?)?.0
            }
            // A window that does not fill, or the guard would stop before upstream does.
            Rule::DropsNotAcked => job.guard().window(100_000).open(storage()?)?.0,
            _ => job.guard().open(storage()?)?.0,
        };
        let output = Output::open(&job.folder)?;
        if !matches!(rule, Rule::NoCatchUp | Rule::InMemory) {
            after_output::catch_up(&mut guard, &output)?;
        }
        job.fence(&mut guard, link)?;
        Ok(Self { rule, guard, output, unwritten: Vec::new(), uncovered: 0, committed: Vec::new() })
    }

    fn run(mut self, link: &mut Link) -> Result<(), Error> {
        let mut received = 0;
        loop {
            let tuple = match link.next()? {
                Incoming::Tuple(tuple) => tuple,
                Incoming::Wait => {
                    self.settle(link, true)?;
                    continue;
                }
                Incoming::End => return link.finished(0.0, 0),
            };
            let verdict =
                self.guard.admit(&tuple.order.customer, &tuple.order.id, tuple.delivery())?;
            match verdict {
                Verdict::First(ticket) if self.rule == Rule::FilterBeforeOutput => {
                    ticket.commit();
                    self.unwritten.push(tuple.order);
                }
                Verdict::First(ticket) => {
                    self.output.append(&tuple.order)?;
                    self.uncovered += 1;
                    link.reached_exposed(Step::Output, self.uncovered)?;
                    ticket.commit();
                    self.committed.push(tuple.at);
                }
                Verdict::Replay | Verdict::Probable(Action::Drop) => {}
                other => return Err(format!("not expected here: {other:?}").into()),
            }
            received += 1;
            if received % CHECKPOINT_EVERY == 0 {
                // The one that forgets early acknowledges as late as it can, so that as much as can be
                // is in flight.
                self.settle(link, self.rule != Rule::ForgetsEarly)?;
            }
        }
    }

    fn settle(&mut self, link: &mut Link, acknowledge: bool) -> Result<(), Error> {
        if self.rule != Rule::InMemory {
            self.guard.checkpoint()?;
        }
        self.uncovered = 0;
        link.reached_exposed(Step::Filter, self.unwritten.len() as u64)?;
        for order in self.unwritten.drain(..) {
            self.output.append(&order)?;
        }
        if !acknowledge {
            return Ok(());
        }
        if self.rule == Rule::DropsNotAcked {
            self.committed.drain(..).try_for_each(|at| link.ack(at))?;
        } else {
            self.guard.ackable().try_for_each(|at| link.ack(at))?;
        }
        for through in link.confirm()? {
            self.guard.truncated(through);
        }
        Ok(())
    }
}

/// An operator with a state, as in `with_state`, that acknowledges what it has folded at once.
fn ack_before_state(job: &Job, link: &mut Link) -> Result<(), Error> {
    let (mut sums, mut guard) = with_state::open(job)?;
    job.fence(&mut guard, link)?;
    let mut unsaved = 0;
    loop {
        let tuple = match link.next()? {
            Incoming::Tuple(tuple) => tuple,
            Incoming::Wait => return Err("everything was acknowledged".into()),
            Incoming::End => break,
        };
        let verdict = guard.admit(&tuple.order.customer, &tuple.order.id, tuple.delivery())?;
        if let Verdict::First(ticket) = verdict {
            sums.add(&tuple.order);
            ticket.commit();
            unsaved += 1;
        }
        link.ack(tuple.at)?;
        for through in link.confirm()? {
            guard.truncated(through);
        }
        link.reached_exposed(Step::Truncate, unsaved)?;
        if unsaved == CHECKPOINT_EVERY {
            save(job, &sums, &mut guard)?;
            unsaved = 0;
        }
    }
    save(job, &sums, &mut guard)?;
    link.finished(0.0, 0)
}

fn save(job: &Job, sums: &Sums, guard: &mut ReplayGuard) -> Result<(), Error> {
    let checkpoint = guard.checkpoint()?.number;
    sums.save(&job.folder, checkpoint)?;
    guard.state_durable(checkpoint)?;
    Ok(())
}
