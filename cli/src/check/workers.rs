//! Batches answered by several threads, and printed in their order.
//!
//! ```text
//!  input ──▶ this thread ──batch 1, 2, 3...──▶ workers ──▶ each waits for its turn ──▶ report
//!              ▲                                                                         │
//!              └───────────────────────── empty batches ◀────────────────────────────────┘
//! ```
//!
//! There are twice as many batches as workers, so memory is bounded, and reading waits when all of
//! them are on their way. A worker prints what it answered when everything before is printed: the
//! reading thread may be waiting for input that comes only when answers have gone out.
//!
//! A small batch is answered where it was read, if nothing is before it: one row needs no thread.

use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;

use hapax::screen::PasswordDigest;
use hapax::screen::list::ListFormat;

use super::ask::{Answers, Asked};
use super::batch::Batch;
use super::lines::{Shape, Source};
use super::report::Report;
use crate::progress::Progress;
use crate::trouble::Trouble;

/// Batches of less are not worth waking another thread: about 800 rows of hashes.
const PARALLEL_LEN: u64 = 32 * 1024;

/// What batches are answered with.
#[derive(Clone, Copy)]
pub(super) struct Work<'a> {
    pub(super) asked: &'a Asked,
    pub(super) shape: &'a Shape,
    pub(super) progress: &'a Progress,
    /// What the input is called in results.
    pub(super) name: &'a str,
}

/// A batch and its place in the order.
struct Job {
    place: u64,
    batch: Batch,
}

/// Who prints next.
struct Turn<'a, 'b> {
    next: u64,
    report: &'a mut Report<'b>,
    failed: Option<Trouble>,
    /// A worker has gone, and its turn will never come.
    broken: bool,
}

struct Order<'a, 'b> {
    turn: Mutex<Turn<'a, 'b>>,
    changed: Condvar,
}

impl<'a, 'b> Order<'a, 'b> {
    fn turn(&self) -> MutexGuard<'_, Turn<'a, 'b>> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until everything before a place is printed.
    fn wait(&self, place: u64) -> MutexGuard<'_, Turn<'a, 'b>> {
        let waiting = |turn: &mut Turn<'_, '_>| turn.next != place && !turn.broken;
        self.changed.wait_while(self.turn(), waiting).unwrap_or_else(PoisonError::into_inner)
    }

    /// Cuts and answers a batch, and prints it in its turn.
    fn work(&self, work: Work<'_>, job: &mut Job, answers: &mut Answers) {
        work.shape.cut(&mut job.batch);
        work.asked.answer(&job.batch, answers);
        let mut turn = self.wait(job.place);
        if turn.failed.is_none() && !turn.broken {
            let printed = turn.report.batch(work.name, &job.batch, answers, work.progress);
            turn.failed = printed.err();
        }
        turn.next += 1;
        drop(turn);
        self.changed.notify_all();
    }
}

/// Answers all rows of an input and gives them to the report, with at most so many threads.
///
/// # Errors
///
/// If standard output cannot be written. That the input cannot be read is reported, and no error.
pub(super) fn check_all<R: Read>(
    input: R,
    work: Work<'_>,
    threads: impl FnOnce() -> usize,
    report: &mut Report<'_>,
) -> Result<(), Trouble> {
    let turn = Mutex::new(Turn { next: 0, report, failed: None, broken: false });
    let order = Order { turn, changed: Condvar::new() };
    let mut source = Source::new(input, work.shape);
    let read = thread::scope(|scope| {
        let mut threads = Some(threads);
        let mut pool: Option<Pool> = None;
        let mut own = Answers::default();
        let mut idle = vec![Batch::new()];
        for place in 0.. {
            let batch = idle.pop().or_else(|| pool.as_mut()?.empty_batch());
            // Without a batch, all workers are gone; the panic of one is passed on by the scope.
            let Some(mut batch) = batch else { return Ok(()) };
            let filled = source.fill(&mut batch, work.name);
            if place == 0 {
                refuse_foreign(&source, &batch, work)?;
            }
            if !filled? || order.turn().failed.is_some() {
                return Ok(());
            }
            let many = batch.byte_len >= PARALLEL_LEN && !matches!(work.shape, Shape::One);
            if many && let Some(threads) = threads.take() {
                let threads = threads();
                if threads > 1 {
                    pool = Some(Pool::start(scope, &order, work, threads));
                }
            }
            let mut job = Job { place, batch };
            match &mut pool {
                Some(pool) if job.batch.byte_len >= PARALLEL_LEN || order.turn().next != place => {
                    pool.send(job);
                }
                _ => {
                    order.work(work, &mut job, &mut own);
                    idle.push(job.batch);
                }
            }
        }
        Ok(())
    });
    if let Some(doubt) = source.doubt() {
        work.progress.note(&format!("hapax: {}: note: {doubt}", work.name));
    }
    let Turn { report, failed, .. } =
        order.turn.into_inner().unwrap_or_else(PoisonError::into_inner);
    match (failed, read) {
        (Some(failed), _) => Err(failed),
        (None, Err(trouble)) => report.source_failed(work.name, &trouble, work.progress),
        (None, Ok(())) => Ok(()),
    }
}

/// Refuses input in which every row would be "not listed", and none is a candidate.
fn refuse_foreign<R: Read>(
    source: &Source<R>,
    batch: &Batch,
    work: Work<'_>,
) -> Result<(), Trouble> {
    if work.shape.is_text()
        && let Err(error) = ListFormat::detect(source.head(batch), PasswordDigest::Sha1)
        && error.is_foreign()
    {
        return Err(Trouble::new(format_args!("{}: {error}", work.name)));
    }
    Ok(())
}

/// The threads that answer.
struct Pool {
    jobs: Sender<Job>,
    done: Receiver<Batch>,
    /// Batches that may still be made.
    left: usize,
}

impl Pool {
    fn start<'scope, 'env: 'scope>(
        scope: &'scope thread::Scope<'scope, 'env>,
        order: &'scope Order<'_, '_>,
        work: Work<'scope>,
        threads: usize,
    ) -> Self {
        let (jobs, todo) = channel();
        let (finished, done) = channel();
        let todo = std::sync::Arc::new(Mutex::new(todo));
        for _ in 0..threads {
            let (todo, finished) = (todo.clone(), finished.clone());
            scope.spawn(move || run(order, work, &todo, &finished));
        }
        Self { jobs, done, left: 2 * threads }
    }

    /// A batch that is done with, or a new one as long as there may be more.
    fn empty_batch(&mut self) -> Option<Batch> {
        if let Ok(batch) = self.done.try_recv() {
            return Some(batch);
        }
        if self.left > 0 {
            self.left -= 1;
            return Some(Batch::new());
        }
        self.done.recv().ok()
    }

    fn send(&self, job: Job) {
        // If no worker is left, the scope passes on why.
        let _ = self.jobs.send(job);
    }
}

/// Answers batches until there are no more.
fn run(
    order: &Order<'_, '_>,
    work: Work<'_>,
    todo: &Mutex<Receiver<Job>>,
    finished: &Sender<Batch>,
) {
    /// Nobody may wait for the turn of a worker that is gone.
    struct Alarm<'a, 'b, 'c>(&'a Order<'b, 'c>);

    impl Drop for Alarm<'_, '_, '_> {
        fn drop(&mut self) {
            if thread::panicking() {
                self.0.turn().broken = true;
                self.0.changed.notify_all();
            }
        }
    }

    let _alarm = Alarm(order);
    let mut answers = Answers::default();
    loop {
        let job = todo.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let Ok(mut job) = job else { return };
        order.work(work, &mut job, &mut answers);
        // At the end of the input nobody takes it back.
        let _ = finished.send(job.batch);
    }
}
