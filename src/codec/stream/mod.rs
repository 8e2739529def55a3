//! A binary fuse filter written to its file while its keys stream by.
//!
//! ```text
//!  sorted:    keys ──▶ open shard ──cut──▶ threads that build ──in order──▶ file
//!
//!  unsorted:  keys ──▶ memory ──sort──▶ runs in a temporary file
//!                                         └─merge─▶ open shard ──cut──▶ ... as above
//! ```
//!
//! Sorted keys need no more memory than the shards in work, and no disk but for the file. Keys in
//! any other order are sorted first, by runs as large as the memory allows, and then are sorted
//! keys: both ways end in the same shards and the same bytes. (Runs rather than partitions by top
//! bits: they hold the memory whatever the keys are, repeated ones included, at the cost of a
//! merge.)
//!
//! Which way it is to be is seen from the first half million keys. From then on sorted keys may
//! still be out of order within the open shard; one that belongs to a shard already closed is an
//! error, because the keys of that shard are gone.

mod error;
mod runs;
mod sink;
mod workers;

pub use error::StreamError;

use std::path::{Path, PathBuf};

use self::runs::Runs;
use self::sink::Sink;
use super::artefact::SaveOptions;
use super::atomic::Draft;
use super::provenance::Provenance;
use crate::error::BuildError;
use crate::filter::{FuseBuilder, FuseReport, SHARD_KEYS, cut, prefix};
use crate::hash::KeyHash;

/// The least memory to write with: one shard that is filled, one that is built.
const MIN_MEMORY: u64 =
    if cfg!(fuzzing) { OTHER_MEMORY + FILLING_BYTES + BUILDING_BYTES } else { 32 << 20 };

/// What the memory is taken for beside keys and shards: buffers of files, the stacks of threads.
const OTHER_MEMORY: u64 = if cfg!(fuzzing) { 0 } else { 4 << 20 };

/// Bytes of a shard that is being filled.
const FILLING_BYTES: u64 = (SHARD_KEYS * size_of::<KeyHash>()) as u64;

/// Bytes of a shard that is being built: its keys, eight for each of 1.15 cells a key, and the cells.
const BUILDING_BYTES: u64 = FILLING_BYTES + (SHARD_KEYS * (8 + 4) * 115 / 100) as u64;

/// Bytes of a key in a shard that is larger than others: built, and in the next one's place while that
/// is filled.
const CROWDED_KEY_BYTES: u64 = 16 + BUILDING_BYTES.div_ceil(SHARD_KEYS as u64);

/// How a filter is written while its keys stream by.
#[derive(Clone, Debug)]
pub struct StreamOptions {
    /// What to do if the file exists, and who may read it.
    pub save: SaveOptions,
    /// Bytes to work in, 32 MiB at least; 256 MiB by default. Fewer threads build if it is too
    /// little for all of them. Unsorted keys are sorted by runs of this size.
    pub memory: u64,
    /// What is known of the order of the keys.
    pub order: Order,
    /// Folder for the temporary file of unsorted keys, 16 bytes a key, if they do not fit the
    /// memory. The system's by default. The file has no name where the system allows it, and
    /// vanishes with the process.
    pub folder: PathBuf,
}

impl StreamOptions {
    /// Checks what can be checked before a file is made.
    ///
    /// # Errors
    ///
    /// [`BuildError::Option`] if the memory is too little.
    pub const fn check(&self) -> Result<(), BuildError> {
        if self.memory >= MIN_MEMORY {
            return Ok(());
        }
        Err(BuildError::Option {
            name: "memory",
            expected: "33554432 bytes or more",
            found: self.memory,
        })
    }
}

impl Default for StreamOptions {
    fn default() -> Self {
        Self {
            save: SaveOptions::default(),
            memory: 256 << 20,
            order: Order::default(),
            folder: std::env::temp_dir(),
        }
    }
}

/// What is known of the order of keys that stream by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Order {
    /// Nothing: it is seen from the first half million keys. If these are sorted, all must be, or
    /// [`StreamError::Disorder`] says that they are not. The default.
    #[default]
    Detected,
    /// They may come in any order, however the first ones come.
    Unsorted,
}

/// Writes a [`BinaryFuseFilter`](crate::BinaryFuseFilter) to a file while its keys stream by, in any
/// order, in bounded memory.
///
/// The file is that of [`FuseBuilder::build_from`] of the same keys, byte for byte. It appears at
/// [`finish`](Self::finish), whole, after every shard was asked for each of its keys; dropped before
/// that, the writer leaves nothing.
///
/// # Examples
///
/// ```
/// use hapax::codec::{Artefact, FuseWriter, Provenance, StreamOptions};
/// use hapax::prelude::*;
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("list.hapax");
///
/// let seed = Seed::default();
/// let builder = BinaryFuseFilter::builder().fingerprint_bits(8);
/// let mut writer = FuseWriter::create(&path, &builder, &StreamOptions::default())?;
/// for name in ["carol", "alice", "bob", "alice"] {
///     writer.push(seed.hash(name)?)?;
/// }
/// let report = writer.finish(Provenance::default())?;
/// assert_eq!((report.keys, report.duplicates), (3, 1));
///
/// let artefact = Artefact::<BinaryFuseFilter>::load(&path)?;
/// assert!(artefact.filter.contains("bob")?);
/// assert_eq!(artefact.provenance.rows_added, 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct FuseWriter {
    sink: Sink,
    /// Keys of the shard that is being filled, or of the run.
    open: Vec<KeyHash>,
    /// Whether `open` is in order.
    in_order: bool,
    /// The largest key of `open`.
    last: Option<KeyHash>,
    /// When to look for the end of the shard again.
    full_at: usize,
    /// Keys before this one belong to shards that are closed.
    closed: Option<u16>,
    /// Keys that belong to closed shards, to say where in the input an error is.
    before: u64,
    runs: Option<Runs>,
    /// Keys of a run.
    run_keys: usize,
    /// Keys that may be left in memory while shards are built.
    rest_keys: usize,
    memory: u64,
    folder: PathBuf,
    /// An error was returned: there are keys that will not be in the file.
    failed: bool,
}

impl FuseWriter {
    /// Starts a file.
    ///
    /// # Errors
    ///
    /// [`StreamError::File`] if the file cannot be made or exists and is not to be replaced,
    /// [`StreamError::Build`] if the builder or the memory is out of range.
    pub fn create(
        path: impl AsRef<Path>,
        builder: &FuseBuilder,
        options: &StreamOptions,
    ) -> Result<Self, StreamError> {
        let StreamOptions { save, memory, order, folder } = options;
        let fingerprint_bits = builder.planned_bits()?;
        options.check()?;
        let room = (memory - OTHER_MEMORY - FILLING_BYTES) / BUILDING_BYTES;
        let threads = builder.planned_threads().min(room as usize).max(1);
        let left = memory - OTHER_MEMORY - FILLING_BYTES;
        let left = left.saturating_sub(BUILDING_BYTES * threads as u64);
        let keys_in = |bytes: u64| (bytes as usize / size_of::<KeyHash>()).max(SHARD_KEYS + 1);
        // No shard is built while runs are gathered.
        let (rest_keys, run_keys) = (keys_in(left), keys_in(memory - OTHER_MEMORY));
        let draft = Draft::create(path.as_ref(), *save)?;
        let runs = match order {
            Order::Detected => None,
            Order::Unsorted => Some(Runs::new(folder)),
        };
        Ok(Self {
            sink: Sink::new(draft, builder, fingerprint_bits, threads)?,
            open: Vec::new(),
            in_order: true,
            last: None,
            full_at: SHARD_KEYS + 1,
            closed: None,
            before: 0,
            runs,
            run_keys,
            rest_keys,
            memory: *memory,
            folder: folder.clone(),
            failed: false,
        })
    }

    /// Adds a key, or counts it if it was added before.
    ///
    /// Takes nanoseconds, and now and then waits until a thread has built its shard.
    ///
    /// # Errors
    ///
    /// [`StreamError::Disorder`] if the keys came sorted until they were half a million and more,
    /// and this one belongs before them; [`StreamError::File`], [`StreamError::Temporary`] or
    /// [`StreamError::Build`] if something written or built before has failed. After an error the
    /// writer can only be dropped.
    #[inline]
    pub fn push(&mut self, hash: KeyHash) -> Result<(), StreamError> {
        if self.failed {
            return Err(StreamError::Failed);
        }
        let taken = self.take(hash);
        self.failed = taken.is_err();
        taken
    }

    #[inline]
    fn take(&mut self, hash: KeyHash) -> Result<(), StreamError> {
        match self.last {
            Some(last) if hash == last => {
                self.sink.report.duplicates += 1;
                return Ok(());
            }
            Some(last) if hash < last => self.disorder(hash)?,
            _ => self.last = Some(hash),
        }
        self.open.push(hash);
        if self.open.len() >= self.full_at {
            return self.full();
        }
        Ok(())
    }

    /// Leaves the file to its owner alone, as [`Readers::Owner`](crate::codec::Readers::Owner) would
    /// have: for when it turns out on the way that keys are secrets. (Until it is finished it is closed
    /// to others in any case.)
    pub fn restrict_to_owner(&mut self) {
        self.sink.restrict();
    }

    /// Adds many keys, as [`push`](Self::push) does one after the other.
    ///
    /// # Errors
    ///
    /// As `push`, at the first key that is not taken.
    pub fn push_all(&mut self, hashes: &[KeyHash]) -> Result<(), StreamError> {
        hashes.iter().try_for_each(|&hash| self.push(hash))
    }

    /// Writes the rest, makes the file durable and gives it its name. `rows_added`,
    /// `rows_duplicate` and `set_digest` of the provenance are filled in.
    ///
    /// # Errors
    ///
    /// As [`push`](Self::push).
    pub fn finish(mut self, provenance: Provenance) -> Result<FuseReport, StreamError> {
        if self.failed {
            return Err(StreamError::Failed);
        }
        if let Some(runs) = self.runs.take() {
            let rest = std::mem::replace(&mut self.open, self.sink.spare());
            self.sort_rest(runs, rest)?;
        }
        self.sort();
        while !self.open.is_empty() {
            let end = cut(&self.open).unwrap_or(self.open.len());
            self.close(end)?;
        }
        self.sink.finish(provenance)
    }

    /// Takes a key that comes after a larger one.
    fn disorder(&mut self, hash: KeyHash) -> Result<(), StreamError> {
        if self.closed.is_some_and(|closed| prefix(hash) < closed) {
            let keys = self.before + self.open.len() as u64;
            return Err(StreamError::Disorder { keys });
        }
        self.in_order = false;
        Ok(())
    }

    /// Sorts the open shard.
    fn sort(&mut self) {
        if !self.in_order {
            self.sink.report.duplicates += runs::sort(&mut self.open);
            self.in_order = true;
        }
    }

    /// The shard may be full, or the memory for a run is.
    fn full(&mut self) -> Result<(), StreamError> {
        if self.runs.is_none() && !self.in_order && self.closed.is_none() {
            self.runs = Some(Runs::new(&self.folder));
        }
        if let Some(runs) = &mut self.runs {
            let keys = self.open.len();
            let more = keys.min(self.run_keys.saturating_sub(keys));
            // By twice as much, and with what there is if the machine has less than was allowed.
            if more > 0 && self.open.try_reserve_exact(more).is_ok() {
                self.full_at = keys + more;
                return Ok(());
            }
            self.sink.report.duplicates += runs.flush(&mut self.open)?;
            self.start_run();
            return Ok(());
        }
        self.sort();
        if let Some(end) = cut(&self.open) {
            return self.close(end);
        }
        // Repeated keys went, or one prefix has more keys than a shard.
        let keys = self.open.len();
        self.full_at = (SHARD_KEYS + 1).max(keys + keys / 8);
        let most = ((self.memory - OTHER_MEMORY) / CROWDED_KEY_BYTES).max(2 * SHARD_KEYS as u64);
        if keys as u64 > most {
            return Err(BuildError::NotUniform { keys: keys as u64, max: most }.into());
        }
        Ok(())
    }

    /// Gives the first keys of the open shard away to be built, and opens the next with the rest.
    fn close(&mut self, end: usize) -> Result<(), StreamError> {
        let mut next = self.sink.spare();
        next.extend_from_slice(&self.open[end..]);
        self.open.truncate(end);
        let shard = std::mem::replace(&mut self.open, next);
        let start = self.closed.unwrap_or(0);
        self.before += shard.len() as u64;
        self.closed = self.open.first().map(|&hash| prefix(hash)).or(self.closed);
        self.full_at = SHARD_KEYS + 1;
        self.sink.build(start, shard)
    }

    /// Has all keys come again, in order.
    fn sort_rest(&mut self, mut runs: Runs, mut rest: Vec<KeyHash>) -> Result<(), StreamError> {
        self.full_at = SHARD_KEYS + 1;
        self.start_run();
        if runs.is_empty() && rest.len() <= self.rest_keys {
            self.sink.report.duplicates += runs::sort(&mut rest);
            return rest.into_iter().try_for_each(|hash| self.push(hash));
        }
        self.sink.report.duplicates += runs.flush(&mut rest)?;
        drop(rest);
        runs.merge(self.memory / 16, |hash| self.push(hash))
    }

    /// Any key may follow.
    const fn start_run(&mut self) {
        self.last = None;
        self.in_order = true;
    }
}
