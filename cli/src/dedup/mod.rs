//! `hapax dedup`: pass the first sighting of each line, drop repeats, survive a crash.
//!
//! ```text
//!  stdin ──lines──▶ id, position ──▶ replay guard ──first sightings──▶ stdout
//!                                     │  │ └──hits──▶ --divert           │ 1. flushed, synced
//!                                     │  └──────▶ checkpoint ◀───────────┘ 2. published
//!                                     └─────────▶ --ack-file               3. replaced
//! ```
//!
//! The order of the steps is what keeps a crash from losing lines: a checkpoint never covers a line
//! that was not written out, and upstream is never told of a line that no checkpoint covers. After a
//! crash at most the lines between the last checkpoint and the crash come out twice, and none does if
//! the end of the output is read first.
//!
//! | File | Concern |
//! |---|---|
//! | `args`, `sizing` | what is asked for, and whether it can be |
//! | `columns`, `lines` | what a line says, and reading many |
//! | `state` | the guard and its state: begun, restored, refused, erased |
//! | `catch_up` | the end of the output |
//! | `session` | judging, writing, checkpoints |
//! | `outputs`, `acks` | the files around it |
//! | `summary`, `info` | what is said |

mod acks;
mod args;
mod catch_up;
mod columns;
mod info;
mod lines;
mod outputs;
mod session;
mod sizing;
mod state;
mod summary;

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

pub(crate) use self::args::DedupArgs;
use self::args::Plan;
pub(crate) use self::info::{StateInfo, verify};
use self::lines::Lines;
use self::outputs::Output;
use self::session::{Session, Step};
use self::summary::Summary;
use crate::args::Global;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::signals::Undo;
use crate::trouble::{Trouble, shown};

/// Time between two looks at what upstream has truncated, when there is no room without it.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Time for the last checkpoint when the run is stopped; whoever reads the output may be stuck.
const LAST_CHECKPOINT: Duration = Duration::from_secs(10);

/// Copies first sightings.
///
/// # Errors
///
/// If options contradict each other, the state cannot be restored, a line has no id, input or output
/// fails, or the guard refuses. Everything before the offending line was written, and the state covers
/// none that was not.
pub(crate) fn run(args: &DedupArgs, global: Global) -> Result<Exit, Trouble> {
    if let Some(asked) = args.reset() {
        return state::reset(&asked);
    }
    let session = begin(args.plan()?, global)?;
    let session = Arc::new(Mutex::new(session));

    let stopped = Arc::clone(&session);
    // Struck off when the session is free again, which the action may be waiting for.
    let _undo = Undo::register(move || stop(stopped, global));
    let stdin = io::stdin().as_fd().try_clone_to_owned().map(File::from);
    let stdin = stdin.map_err(|error| Trouble::reading("standard input", &error))?;
    let progress = Progress::new(global.progress(), input_len(&stdin));
    let copied = copy(&session, &stdin, &progress);
    drop(progress);

    let mut session = locked(&session);
    let closed = session.close();
    // What went wrong first is what is told.
    copied?;
    tell(&session, closed?.as_ref(), global)?;
    Ok(Exit::Yes)
}

/// Opens the state and the outputs, and catches up.
fn begin(plan: Plan, global: Global) -> Result<Session, Trouble> {
    let mut ready = state::open(&plan)?;
    let mut out = Output::stdout()?;
    let mut divert = plan.divert.as_deref().map(Output::append).transpose()?;
    let mut caught_up = 0;
    if let (Some(folder), Some(path)) = (&plan.state, &plan.catch_up) {
        caught_up = catch_up::catch_up(path, folder, &plan, &mut ready, &mut out)?;
    }
    if plan.state.is_some() {
        if out.end_torn_line()? {
            crate::note(
                "standard output ends in mid-line, as a killed run may leave it: it was ended",
            );
        }
        divert.iter_mut().try_for_each(|divert| divert.end_torn_line().map(drop))?;
    }
    if let Some(folder) = plan.state.as_deref().filter(|_| !global.quiet) {
        let counts = ready.guard.snapshot().counts;
        let mut text = match ready.restored {
            None => "starts empty".to_owned(),
            Some(_) => format!("restored, {} lines read before", counts.judged - counts.aborted),
        };
        if plan.catch_up.is_some() {
            // Writing to a String cannot fail.
            let _ = write!(text, ", {caught_up} caught up");
        }
        crate::note(&format!("{}: {text}", shown(folder)));
    }
    let mut session = Session::new(plan, ready, out, divert);
    // Before anything is passed: a place where nothing can be saved is told at once.
    session.checkpoint()?;
    Ok(session)
}

/// Copies lines until the input ends.
fn copy(session: &Mutex<Session>, stdin: &File, progress: &Progress) -> Result<(), Trouble> {
    let mut lines = Lines::new(progress.wrap(stdin));
    loop {
        take_all(session, &mut lines)?;
        let wait = {
            let mut session = locked(session);
            session.flush()?;
            session.time_left()
        };
        if let Some(wait) = wait
            && !comes_within(stdin, wait)
        {
            locked(session).checkpoint()?;
            continue;
        }
        let filled = lines.fill();
        if !filled.map_err(|error| Trouble::reading("standard input", &error))? {
            break;
        }
    }
    let Some(number) = lines.cut() else { return Ok(()) };
    if locked(session).is_kept() {
        return Err(Trouble::new(format_args!(
            "line {number}: the last line has no line end and may be cut short, so it was neither passed \
             nor remembered: send it again, whole"
        )));
    }
    lines.end_cut();
    take_all(session, &mut lines)
}

/// Judges all whole lines that have been read.
fn take_all(session: &Mutex<Session>, lines: &mut Lines<impl Read>) -> Result<(), Trouble> {
    loop {
        // Bound to a name, the lock would be kept while this waits.
        let step = locked(session).take(lines)?;
        match step {
            Step::Taken if lines.has_next() => {}
            Step::Taken => return Ok(()),
            Step::Full => thread::sleep(LOOK_AGAIN),
            // The process is about to end.
            Step::Closed => thread::park(),
        }
    }
}

/// Whether input comes within a time, its end included.
fn comes_within(stdin: &File, wait: Duration) -> bool {
    let Ok(timeout) = Timespec::try_from(wait) else { return true };
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], Some(&timeout)) {
        Ok(ready) => ready > 0,
        // Interrupted: what is due is made a little early.
        Err(_) => false,
    }
}

/// Ends the run when it is told to stop: what was read is written and covered by a checkpoint.
fn stop(session: Arc<Mutex<Session>>, global: Global) {
    let (done, is_done) = mpsc::channel();
    thread::spawn(move || {
        let mut session = locked(&session);
        let closed = session.close();
        let told = closed.and_then(|summary| tell(&session, summary.as_ref(), global));
        if let Err(Trouble::Message(message)) = told {
            crate::note(&format!("hapax: {message}"));
        }
        // Nobody waits any more if it took too long.
        let _ = done.send(());
    });
    if is_done.recv_timeout(LAST_CHECKPOINT).is_err() {
        crate::note("hapax: stopped without a last checkpoint: the output takes no more lines");
    }
}

fn tell(session: &Session, summary: Option<&Summary>, global: Global) -> Result<(), Trouble> {
    let Some(summary) = summary else { return Ok(()) };
    if session.wants_json() {
        crate::note(&serde_json::to_string(summary).map_err(Trouble::new)?);
    } else if !global.quiet {
        crate::note(&summary.to_string());
    }
    Ok(())
}

/// A panic while it was held has ended that thread's part in it.
fn locked(session: &Mutex<Session>) -> MutexGuard<'_, Session> {
    session.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Bytes of standard input, if it is a file.
fn input_len(stdin: &File) -> Option<u64> {
    stdin.metadata().ok().filter(std::fs::Metadata::is_file).map(|metadata| metadata.len())
}
