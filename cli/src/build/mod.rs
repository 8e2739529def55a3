//! `hapax build`: from lists to a filter.
//!
//! ```text
//!  lists ──rows──▶ 16-byte keys ──sort, dedup──▶ n distinct ──plan──▶ filter ──▶ every key asked
//!                                                                                    │
//!                          old file, or none ◀── any error or crash      new file ◀──┘ atomically
//! ```
//!
//! The keys are kept (16 bytes a row) until the filter stands, for three things that need them all:
//! the size follows from the exact number of distinct keys, so the promised rate is met and not
//! undercut; every key is asked for before anything is written, so no false negative can leave this
//! program; and the digest of the set tells whether two lists hold the same passwords.

mod args;
mod card;
mod request;

use std::path::Path;
use std::time::Instant;

use hapax::codec::{Artefact, Existing, Provenance, Readers, SaveOptions};
use hapax::{
    AnyFilter, BloomFilter, Builder, CountingBloomFilter, CuckooFilter, Full, FullReason, Insert,
    KeyHash, Membership, Salt, Seed,
};
use rayon::prelude::*;

pub(crate) use self::args::BuildArgs;
pub(crate) use self::card::{Card, grouped};
pub(crate) use self::request::{BuildRequest, FilterKind, Size};
use crate::lists::{self, OpenList, ReadLists, Reading};
use crate::memory;
use crate::rows::{Entry, Order, Sorter};
use crate::trouble::{Trouble, shown};

/// Salts tried before a cuckoo filter is given up: its planned load is refused so seldom that a
/// second one is hardly ever needed.
const SALTS: u64 = 8;

/// Builds a filter from lists and writes it.
///
/// `progress` is told the bytes read since it was last told. Give it what
/// [`lists::total_len`] says is to come.
///
/// # Errors
///
/// Whatever kept the whole filter from being written; then nothing was, and an older file is
/// untouched.
pub(crate) fn run(
    request: &BuildRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
) -> Result<Card, Trouble> {
    let start = Instant::now();
    check_output(request, &lists)?;

    let mut keys: Vec<KeyHash> = Vec::new();
    let mut take = |hashes: &[KeyHash]| {
        reserve(&mut keys, hashes.len())?;
        keys.extend_from_slice(hashes);
        Ok(())
    };
    let read = match request.top {
        None => {
            lists::read_all(lists, request.reading, progress, |rows| take(rows.batch.hashes()))?
        }
        Some(top) => read_top(top, request.reading, lists, progress, &mut take)?,
    };
    if request.require_complete {
        require_complete(&read)?;
    }
    let rows_used = keys.len() as u64;
    keys.par_sort_unstable();
    keys.dedup();
    let len = keys.len() as u64;
    if len == 0 {
        return Err(Trouble::new(
            "no row is left to build from: a filter of nothing would find every password unlisted",
        ));
    }

    let (filter, promised_rate) = make(request, &read, &keys)?;
    let missed = keys.par_iter().filter(|key| !filter.contains_hash(**key)).count();
    if missed > 0 {
        return Err(Trouble::new(format_args!(
            "the filter misses {missed} of its own {len} keys, so it was not written: this is a \
             fault of this program or of the machine's memory"
        )));
    }

    let provenance = Provenance {
        name: request.name.clone(),
        source: request.source.clone(),
        date: request.date.clone(),
        tool: concat!("hapax ", env!("CARGO_PKG_VERSION")).into(),
        min_count: if request.reading.min_count > 1 { request.reading.min_count } else { 0 },
        rows_read: read.counts.rows,
        rows_added: len,
        rows_duplicate: rows_used - len,
        rows_skipped: read.counts.skipped(),
        set_digest: set_digest(&keys),
    };
    drop(keys);
    // Whoever holds a filter of passwords can test guesses against it. Lists of hashes are public.
    let readers = if read.any_plain { Readers::Owner } else { Readers::Umask };
    let artefact = Artefact { filter, provenance };
    artefact
        .save(&request.output, SaveOptions { existing: request.existing, readers })
        .map_err(|error| Trouble::file(&error))?;
    Ok(Card::new(request, read, &artefact, promised_rate, start.elapsed()))
}

/// Looks for what would make the result unwritable, before hours are spent on it.
fn check_output(request: &BuildRequest, lists: &[OpenList]) -> Result<(), Trouble> {
    let output = &request.output;
    let name = shown(output);
    if output.as_os_str() == "-" {
        return Err(Trouble::new(
            "a filter is written to a file, not to standard output: name one with --output",
        ));
    }
    if let Ok(metadata) = output.metadata() {
        if lists.iter().any(|list| list.holds(&metadata, output)) {
            return Err(Trouble::new(format_args!(
                "{name}: the output is one of the lists: give another name"
            )));
        }
        if !metadata.is_file() {
            return Err(Trouble::new(format_args!(
                "{name}: expected a file to write to, found a folder or a device"
            )));
        }
        if request.existing == Existing::Refuse {
            return Err(Trouble::new(format_args!(
                "{name}: the file exists: give another name, or --force to replace it"
            )));
        }
    }
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.unwrap_or(Path::new(".")).metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Trouble::new(format_args!("{name}: cannot be written: not in a folder"))),
        Err(error) => Err(Trouble::new(format_args!("{name}: cannot be written: {error}"))),
    }
}

/// Memory in which rows are sorted to find those counted most often.
const TOP_MEMORY: u64 = 256 << 20;

/// Reads all lists, and hands on the keys of the rows counted most often, by batches.
fn read_top(
    top: u64,
    reading: Reading,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
    take: &mut dyn FnMut(&[KeyHash]) -> Result<(), Trouble>,
) -> Result<ReadLists, Trouble> {
    let reading = Reading { needs_counts: true, ..reading };
    let mut sorter = Sorter::new(Order::Count, TOP_MEMORY, std::env::temp_dir());
    let mut read = lists::read_all(lists, reading, progress, |rows| {
        rows.batch.rows().try_for_each(|row| sorter.push(Entry::of(row)))
    })?;
    let mut batch = Vec::new();
    for (place, entry) in (0..).zip(sorter.finish()?) {
        let entry = entry?;
        if place >= top {
            read.counts.beyond_top += 1;
            continue;
        }
        batch.push(entry.hash);
        if batch.len() == BATCH {
            take(&batch)?;
            batch.clear();
        }
    }
    take(&batch)?;
    Ok(read)
}

/// Keys handed on at once.
const BATCH: usize = 8 * 1024;

/// Refuses lists that seem to lack rows, or that nothing can be said of.
fn require_complete(read: &ReadLists) -> Result<(), Trouble> {
    match &read.coverage {
        Some(coverage) if coverage.is_complete() => Ok(()),
        Some(coverage) => Err(Trouble::new(format_args!(
            "the lists are not complete: {coverage}\nget what is missing, or build without \
             --require-complete"
        ))),
        None => Err(Trouble::new(
            "whether lists of plain passwords are complete cannot be told: leave --require-complete \
             out",
        )),
    }
}

/// Makes room for more keys: twice as many, as long as the machine has that much.
fn reserve(keys: &mut Vec<KeyHash>, more: usize) -> Result<(), Trouble> {
    if keys.capacity() - keys.len() >= more {
        return Ok(());
    }
    let more = keys.capacity().max(1 << 16);
    let bytes = (more * size_of::<KeyHash>()) as u64;
    require_memory(bytes, "for the keys of the lists")?;
    keys.try_reserve_exact(more).map_err(|_| no_memory(bytes, "for the keys of the lists", None))
}

/// Refuses what the machine does not have: the system would grant it, and kill the process later.
fn require_memory(bytes: u64, what: &str) -> Result<(), Trouble> {
    match memory::available() {
        Some(available) if bytes > available => Err(no_memory(bytes, what, Some(available))),
        _ => Ok(()),
    }
}

fn no_memory(bytes: u64, what: &str, available: Option<u64>) -> Trouble {
    let available = available.map(|bytes| format!(", {bytes} are available")).unwrap_or_default();
    Trouble::new(format_args!(
        "{bytes} bytes of memory are needed {what}{available}: use a machine with more memory, a \
         higher rate, or fewer rows (--min-count)"
    ))
}

/// Builds the filter of these distinct keys, and says which rate it promises.
fn make(
    request: &BuildRequest,
    read: &ReadLists,
    keys: &[KeyHash],
) -> Result<(AnyFilter, f64), Trouble> {
    match request.kind {
        FilterKind::Bloom => fill(BloomFilter::builder(), request, read, keys),
        FilterKind::Counting => fill(CountingBloomFilter::builder(), request, read, keys),
        FilterKind::Cuckoo => fill(CuckooFilter::builder(), request, read, keys),
    }
}

fn fill<F>(
    builder: Builder<F>,
    request: &BuildRequest,
    read: &ReadLists,
    keys: &[KeyHash],
) -> Result<(AnyFilter, f64), Trouble>
where
    F: hapax::filter::Buildable + Insert + Into<AnyFilter>,
{
    let builder = builder.capacity(keys.len() as u64).seed(Seed::uniform(read.digest.into()));
    let builder = match request.size {
        Size::Rate(rate) => builder.false_positive_rate(rate),
        Size::Bytes(bytes) => builder.byte_len(bytes),
    };
    let plan = builder.plan().map_err(Trouble::new)?;
    require_memory(plan.byte_len(), "for the filter")?;
    let mut salt = 0;
    loop {
        let mut filter = builder.clone().salt(Salt::new(salt)).build().map_err(Trouble::new)?;
        match insert_all(&mut filter, keys) {
            Ok(()) => return Ok((filter.into(), plan.false_positive_rate)),
            // Another salt places the keys otherwise.
            Err(full) if full.reason != FullReason::Capacity && salt + 1 < SALTS => salt += 1,
            Err(full) => return Err(Trouble::new(full)),
        }
    }
}

fn insert_all(filter: &mut impl Insert, keys: &[KeyHash]) -> Result<(), Full> {
    for key in keys {
        // The keys are distinct; one that seems to be there already is a false positive.
        let _ = filter.insert_hash(*key)?;
    }
    Ok(())
}

/// The sum of the distinct keys modulo 2¹²⁸: the same for the same set, however it came.
fn set_digest(keys: &[KeyHash]) -> u128 {
    keys.iter().fold(0, |sum, key| sum.wrapping_add(u128::from_be_bytes(key.to_bytes())))
}

#[cfg(test)]
mod tests;
