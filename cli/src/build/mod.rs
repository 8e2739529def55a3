//! `hapax build`: from lists to a filter.
//!
//! ```text
//!  lists ──rows──▶ 16-byte keys ──▶ shards, built while more rows come ──▶ every key asked ──▶ file
//!                        └ of filters that grow: sort, dedup ──▶ n distinct ──plan──▶ filter ──┘
//!
//!  old file, or none ◀── any error or crash      new file ◀── atomically
//! ```
//!
//! A fuse filter is built in bounded memory ([`stream`]). For the others the keys are kept, 16 bytes
//! a row, until the filter stands: the size follows from the exact number of distinct keys, so the
//! promised rate is met and not undercut. Either way every key is asked for before the file has its
//! name, so no false negative can leave this program, and the digest of the set tells whether two
//! lists hold the same passwords.

mod args;
mod card;
mod forecast;
mod output;
mod request;
mod stream;

use std::time::Instant;

use hapax::codec::{Artefact, Provenance, Readers, SaveOptions};
use hapax::screen::PasswordDigest;
use hapax::{
    AnyFilter, BlockedBloomFilter, BloomFilter, Builder, CountingBloomFilter, CuckooFilter, Full,
    FullReason, Insert, KeyHash, Membership, Salt, Seed,
};
use rayon::prelude::*;

pub(crate) use self::args::BuildArgs;
pub(crate) use self::card::{Card, grouped};
pub(crate) use self::forecast::forecast;
pub(crate) use self::request::{BuildRequest, FilterKind, Size};
use crate::lists::{self, OpenList, ReadLists, Reading};
use crate::memory;
use crate::rows::{Entry, Order, Sorter};
use crate::trouble::Trouble;

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
    if let Size::Rate(rate) = request.size {
        request.allow(rate)?;
    }
    output::check(request, &lists)?;
    output::tidy(&request.output);
    if request.kind == FilterKind::Fuse {
        return stream::run(request, lists, progress);
    }
    let mut keys: Vec<KeyHash> = Vec::new();
    let read = read_keys(request, lists, progress, &mut |_, _, hashes| {
        reserve(&mut keys, hashes.len())?;
        keys.extend_from_slice(hashes);
        Ok(())
    })?;
    if request.require_complete {
        require_complete(&read)?;
    }
    let rows_used = keys.len() as u64;
    keys.par_sort_unstable();
    keys.dedup();
    let len = keys.len() as u64;
    if len == 0 {
        return Err(nothing_left());
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
        rows_added: len,
        rows_duplicate: rows_used - len,
        set_digest: set_digest(&keys),
        ..provenance_of(request, &read)
    };
    drop(keys);
    // Whoever holds a filter of passwords can test guesses against it. Lists of hashes are public.
    let readers = if read.any_plain { Readers::Owner } else { Readers::Umask };
    let artefact = Artefact { filter, provenance };
    artefact.save(&request.output, SaveOptions { existing: request.existing, readers }).map_err(
        |error| output::failed(request, &error, || Some(artefact.filter.stats().byte_len())),
    )?;
    let Artefact { filter, provenance } = artefact;
    Ok(Card::new(request, read, provenance, filter.stats(), promised_rate, start.elapsed()))
}

fn nothing_left() -> Trouble {
    Trouble::new(
        "no row is left to build from: a filter of nothing would find every password unlisted",
    )
}

/// Where the keys are from; how many there are is for the filter to say.
fn provenance_of(request: &BuildRequest, read: &ReadLists) -> Provenance {
    Provenance {
        name: request.name.clone(),
        source: request.source.clone(),
        date: request.date.clone(),
        tool: concat!("hapax ", env!("CARGO_PKG_VERSION")).into(),
        min_count: if request.reading.min_count > 1 { request.reading.min_count } else { 0 },
        rows_read: read.counts.rows,
        rows_skipped: read.counts.skipped(),
        ..Provenance::default()
    }
}

/// Takes keys: which hash they are, whether they were passwords, and the keys.
type TakeKeys<'a> = dyn FnMut(PasswordDigest, bool, &[KeyHash]) -> Result<(), Trouble> + 'a;

/// Reads all lists, and hands on the keys of the rows that are wanted.
fn read_keys(
    request: &BuildRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
    take: &mut TakeKeys<'_>,
) -> Result<ReadLists, Trouble> {
    match request.top {
        None => lists::read_all(lists, request.reading, progress, |rows| {
            // All rows of a batch may be under the minimum count.
            match rows.batch.hashes() {
                [] => Ok(()),
                hashes => take(rows.digest, rows.plain, hashes),
            }
        }),
        Some(top) => read_top(top, request, lists, progress, take),
    }
}

/// Reads all lists, and hands on the keys of the rows counted most often, by batches.
fn read_top(
    top: u64,
    request: &BuildRequest,
    lists: Vec<OpenList>,
    progress: &dyn Fn(u64),
    take: &mut TakeKeys<'_>,
) -> Result<ReadLists, Trouble> {
    let reading = Reading { needs_counts: true, ..request.reading };
    let mut sorter = Sorter::new(Order::Count, request.memory, request.tmp.clone());
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
            take(read.digest, read.any_plain, &batch)?;
            batch.clear();
        }
    }
    if !batch.is_empty() {
        take(read.digest, read.any_plain, &batch)?;
    }
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
        FilterKind::Blocked => fill(BlockedBloomFilter::builder(), request, read, keys),
        FilterKind::Fuse => unreachable!("built while its keys stream by"),
    }
}

/// A builder for so many keys.
fn sized<F: hapax::filter::Buildable>(builder: Builder<F>, size: Size, keys: u64) -> Builder<F> {
    let builder = builder.capacity(keys);
    match size {
        Size::Rate(rate) => builder.false_positive_rate(rate),
        Size::Bytes(bytes) => builder.byte_len(bytes),
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
    let builder = sized(builder, request.size, keys.len() as u64);
    let builder = builder.seed(Seed::uniform(read.digest.into()));
    let plan = builder.plan().map_err(Trouble::new)?;
    request.allow(plan.false_positive_rate)?;
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
