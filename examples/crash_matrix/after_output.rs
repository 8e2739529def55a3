//! An operator whose guard stands at its output: every order comes out once.
//!
//! ```text
//!  receive ─▶ admit ─▶ process ─▶ output durable ─▶ commit
//!                                                     └─ every k tuples ─▶ checkpoint ─▶ acknowledge
//!                                                            ─▶ upstream truncates ─▶ truncated
//! ```
//!
//! The output never rolls back, so neither does the guard: after a crash the newest checkpoint counts,
//! and what came out after it is read from the output's tail.

use hapax::replay::state::LocalDirectory;
use hapax::replay::{Action, ReplayGuard, Verdict};

use super::Error;
use super::job::{CHECKPOINT_EVERY, Job};
use super::link::{Incoming, Link};
use super::output::Output;
use super::step::Step;

pub(crate) fn run(job: &Job, link: &mut Link) -> Result<(), Error> {
    // Restore: the guard's newest checkpoint, then the ids that came out after it, then the heads of
    // the logs, and only then the first tuple.
    let storage = LocalDirectory::create(job.folder.join("guard"))?;
    let (mut guard, _) = job.guard().open(storage)?;
    let mut output = Output::open(&job.folder)?;
    catch_up(&mut guard, &output)?;
    job.fence(&mut guard, link)?;

    let mut received = 0;
    loop {
        let tuple = match link.next()? {
            Incoming::Tuple(tuple) => tuple,
            Incoming::Wait => {
                settle(&mut guard, link)?;
                continue;
            }
            Incoming::End => break,
        };
        link.reached(Step::Receive)?;

        let verdict = guard.admit(&tuple.order.customer, &tuple.order.id, tuple.delivery())?;
        link.reached(Step::Test)?;
        match verdict {
            Verdict::First(ticket) => {
                // The work of this operator is to pass the order on.
                let result = tuple.order;
                link.reached(Step::Process)?;
                output.append(&result)?;
                link.reached(Step::Output)?;
                // Not before the output is durable: else a crash between the two loses the order.
                ticket.commit();
            }
            // Dropped. The guard gives them out to be acknowledged.
            Verdict::Replay | Verdict::Probable(Action::Drop) => {}
            other => return Err(format!("not expected here: {other:?}").into()),
        }

        received += 1;
        if received % CHECKPOINT_EVERY == 0 {
            settle(&mut guard, link)?;
        }
    }
    let counts = guard.snapshot().counts;
    link.finished(counts.estimated_lost, counts.retired + counts.rotated)
}

/// Tells the guard of what came out after its checkpoint; without it those orders would come out twice.
///
/// A record of the output is one that the guard has committed or one that it was told of here, so these
/// two counts, which the checkpoint brings back, say how many records it covers.
pub(crate) fn catch_up(guard: &mut ReplayGuard, output: &Output) -> Result<(), Error> {
    let counts = guard.snapshot().counts;
    let covered = counts.committed + counts.caught_up;
    let tail = output.found().iter().skip(covered as usize);
    guard.catch_up(tail.map(|order| (order.customer.as_str(), order.id.as_str())))?;
    Ok(())
}

/// Makes durable what the guard knows, lets upstream truncate, and then forgets what it may.
fn settle(guard: &mut ReplayGuard, link: &mut Link) -> Result<(), Error> {
    guard.checkpoint()?;
    link.reached(Step::Filter)?;
    // What is dropped is among them, or upstream would wait for it.
    for at in guard.ackable() {
        link.ack(at)?;
    }
    link.reached(Step::Ack)?;
    let truncated = link.confirm()?;
    link.reached(Step::Truncate)?;
    // An acknowledgement that was sent is not one that has arrived: only what upstream confirms is
    // forgotten.
    for through in truncated {
        guard.truncated(through);
    }
    link.reached(Step::Retire)
}
