//! An operator whose guard is part of its state: every order is folded into the state once.
//!
//! ```text
//!  receive ─▶ admit ─▶ fold, commit
//!                        └─ every k tuples ─▶ checkpoint N of the guard ─▶ state with N durable
//!                               ─▶ acknowledge ─▶ upstream truncates ─▶ truncated
//! ```
//!
//! What is folded in memory is gone after a crash, and the guard must have forgotten it too. So state
//! and guard roll back together: the saved state names the checkpoint that knows the orders in it.

use hapax::replay::state::{LocalDirectory, reset};
use hapax::replay::{Action, ReplayGuard, Verdict};

use super::Error;
use super::job::{CHECKPOINT_EVERY, Job};
use super::link::{Incoming, Link};
use super::step::Step;
use super::sums::Sums;

pub(crate) fn run(job: &Job, link: &mut Link) -> Result<(), Error> {
    let (mut sums, mut guard) = open(job)?;
    job.fence(&mut guard, link)?;

    let mut received = 0;
    loop {
        let tuple = match link.next()? {
            Incoming::Tuple(tuple) => tuple,
            Incoming::Wait => {
                settle(job, &sums, &mut guard, link)?;
                continue;
            }
            Incoming::End => break,
        };
        link.reached(Step::Receive)?;

        let verdict = guard.admit(&tuple.order.customer, &tuple.order.id, tuple.delivery())?;
        link.reached(Step::Test)?;
        match verdict {
            Verdict::First(ticket) => {
                // Committed where it is folded: one checkpoint covers both or neither.
                sums.add(&tuple.order);
                ticket.commit();
                link.reached(Step::Process)?;
            }
            Verdict::Replay | Verdict::Probable(Action::Drop) => {}
            other => return Err(format!("not expected here: {other:?}").into()),
        }

        received += 1;
        if received % CHECKPOINT_EVERY == 0 {
            settle(job, &sums, &mut guard, link)?;
        }
    }
    let counts = guard.snapshot().counts;
    link.finished(counts.estimated_lost, counts.retired + counts.rotated)
}

/// The saved state and the guard of the checkpoint that it names, or a beginning.
pub(crate) fn open(job: &Job) -> Result<(Sums, ReplayGuard), Error> {
    let storage = LocalDirectory::create(job.folder.join("guard"))?;
    if let Some((sums, checkpoint)) = Sums::load(&job.folder)? {
        return Ok((sums, job.guard().open_at(storage, checkpoint)?));
    }
    // No state was ever saved, so nothing was acknowledged and all of it comes again. What a guard may
    // have saved before a crash knows orders that no state has.
    reset(&storage)?;
    let (guard, _) = job.guard().open(storage)?;
    Ok((Sums::default(), guard))
}

fn settle(job: &Job, sums: &Sums, guard: &mut ReplayGuard, link: &mut Link) -> Result<(), Error> {
    let checkpoint = guard.checkpoint()?.number;
    link.reached(Step::Filter)?;
    sums.save(&job.folder, checkpoint)?;
    link.reached(Step::Output)?;
    // Now the state names the checkpoint, so older ones may go and what it covers be acknowledged.
    guard.state_durable(checkpoint)?;
    for at in guard.ackable() {
        link.ack(at)?;
    }
    link.reached(Step::Ack)?;
    let truncated = link.confirm()?;
    link.reached(Step::Truncate)?;
    for through in truncated {
        guard.truncated(through);
    }
    link.reached(Step::Retire)
}
