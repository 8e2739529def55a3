//! Threads that build shards, and give them back in order.

use std::any::Any;
use std::collections::BTreeMap;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::error::BuildError;
use crate::filter::{BuiltShard, FuseReport, ShardBuilder};
use crate::hash::{KeyHash, Salt};

/// Keys of a shard to be built.
struct Job {
    number: u64,
    start: u16,
    hashes: Vec<KeyHash>,
}

/// A shard that was built, what was counted, and the memory of its keys.
pub(super) struct Done {
    pub(super) shard: BuiltShard,
    pub(super) report: FuseReport,
    pub(super) memory: Vec<KeyHash>,
}

type Outcome = Result<Result<Done, BuildError>, Box<dyn Any + Send>>;

/// A few threads with a shard each. They end with this value, which waits for them: of a writer that is
/// dropped no thread remains, nor the memory of a shard.
pub(super) struct Workers {
    fingerprint_bits: u32,
    salt: Salt,
    threads: usize,
    running: Vec<JoinHandle<()>>,
    jobs: Option<Sender<Job>>,
    results: Option<Receiver<(u64, Outcome)>>,
    /// Jobs given and not yet taken back.
    in_work: usize,
    /// Numbers of the next job to be given and to be taken back.
    next: u64,
    oldest: u64,
    /// Shards that are ready before an older one.
    early: BTreeMap<u64, Done>,
}

/// The numbers.
impl std::fmt::Debug for Workers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (given, taken) = (self.next, self.oldest);
        f.debug_struct("Workers")
            .field("given", &given)
            .field("taken", &taken)
            .finish_non_exhaustive()
    }
}

impl Workers {
    pub(super) const fn new(fingerprint_bits: u32, salt: Salt, threads: usize) -> Self {
        Self {
            fingerprint_bits,
            salt,
            threads,
            running: Vec::new(),
            jobs: None,
            results: None,
            in_work: 0,
            next: 0,
            oldest: 0,
            early: BTreeMap::new(),
        }
    }

    /// Whether as many shards are in memory as there are threads: then one is to be taken first.
    pub(super) fn are_busy(&self) -> bool {
        self.in_work + self.early.len() >= self.threads
    }

    /// Gives a shard to be built.
    ///
    /// # Errors
    ///
    /// If no thread can be started, or none is left.
    pub(super) fn give(&mut self, start: u16, hashes: Vec<KeyHash>) -> io::Result<()> {
        if self.jobs.is_none() {
            self.start()?;
        }
        let job = Job { number: self.next, start, hashes };
        let given = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if !given {
            return Err(io::Error::other("no thread is left to build a shard"));
        }
        self.in_work += 1;
        self.next += 1;
        Ok(())
    }

    /// Whether every shard that was given was taken back.
    pub(super) const fn gave_all_back(&self) -> bool {
        self.oldest == self.next
    }

    /// Waits for the next shard in order; `None` if none is in work, or no thread is left.
    pub(super) fn take(&mut self) -> Option<Result<Done, BuildError>> {
        loop {
            if let Some(done) = self.early.remove(&self.oldest) {
                self.oldest += 1;
                return Some(Ok(done));
            }
            if self.in_work == 0 {
                return None;
            }
            let (number, outcome) = self.results.as_ref()?.recv().ok()?;
            self.in_work -= 1;
            match outcome {
                Ok(Ok(done)) => drop(self.early.insert(number, done)),
                Ok(Err(error)) => return Some(Err(error)),
                Err(panic) => resume_unwind(panic),
            }
        }
    }

    /// Starts the threads, or as many as there can be.
    fn start(&mut self) -> io::Result<()> {
        let (jobs, receiver) = channel();
        let (sender, results) = channel();
        let receiver = Arc::new(Mutex::new(receiver));
        for number in 0..self.threads {
            let (receiver, sender) = (Arc::clone(&receiver), sender.clone());
            let builder = ShardBuilder::new(self.fingerprint_bits, self.salt);
            let thread = thread::Builder::new().name("hapax-shard".to_owned());
            match thread.spawn(move || work(builder, &receiver, &sender)) {
                Ok(thread) => self.running.push(thread),
                Err(error) if number == 0 => return Err(error),
                Err(_) => {}
            }
        }
        (self.jobs, self.results) = (Some(jobs), Some(results));
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        // Without either end, a thread gives up after the shard in its hands.
        (self.jobs, self.results) = (None, None);
        for thread in self.running.drain(..) {
            // It has passed its panics on, and there is nobody left to pass one to.
            let _ = thread.join();
        }
    }
}

/// Builds shards until there are no more jobs.
fn work(mut builder: ShardBuilder, jobs: &Mutex<Receiver<Job>>, results: &Sender<(u64, Outcome)>) {
    loop {
        let job = jobs.lock().ok().and_then(|jobs| jobs.recv().ok());
        let Some(Job { number, start, hashes }) = job else { return };
        // A panic is passed on: lost, it would leave the other side waiting.
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut report = FuseReport::default();
            report.add(&hashes);
            let (shard, memory) = builder.build(start, hashes)?;
            Ok(Done { shard, report, memory })
        }));
        if results.send((number, outcome)).is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::TryRecvError;

    use super::*;

    #[test]
    fn no_thread_outlives_them() {
        let mut workers = Workers::new(8, Salt::default(), 3);
        for start in [0, 1_000, 2_000] {
            let hashes = (0..100_000).map(|i| KeyHash::from_halves(u64::from(start) << 48, i));
            workers.give(start, hashes.collect()).unwrap();
        }
        // Each thread holds the other end until it ends.
        let results = workers.results.take().unwrap();
        drop(workers);
        assert_eq!(results.try_iter().count(), 3);
        assert_eq!(results.try_recv().err(), Some(TryRecvError::Disconnected));
    }
}
