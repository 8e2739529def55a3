//! Reading lists: one thread cuts and decodes rows, another does something with them.
//!
//! ```text
//!  files, folders ──▶ decompress ──▶ ListReader ──▶ coverage, minimum ──▶ [batch][batch] ──▶ sink
//!                                        ▲                                                     │
//!                                        └────────────── empty batches come back ──────────────┘
//! ```

use std::fs::File;
use std::io::{self, Chain, Cursor, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, channel, sync_channel};
use std::thread;

use hapax::screen::PasswordDigest;
use hapax::screen::list::{
    BadRow, Batch, Coverage, Decompressed, DetectError, ListError, ListFormat, ListReader,
    RangePrefix, SAMPLE_LEN, ZeroCount,
};
use zeroize::Zeroizing;

use super::format::{FormatChoice, format_of, format_of_range};
use super::open::{Input, OpenFile, OpenList, Source};
use super::{Counts, ReadLists};
use crate::trouble::Trouble;

/// Progress is reported at most once for so many bytes.
const PROGRESS_STEP: u64 = 256 * 1024;

/// Batches under way, so that neither thread waits for a hiccup of the other. 300 KB each.
const BATCHES: usize = 8;

/// Enough of a range file to see its first row; the sample of other lists costs more than the rest
/// of so small a file.
const RANGE_SAMPLE_LEN: usize = 512;

/// How lists are to be read.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Reading {
    /// What the rows are.
    pub(crate) format: FormatChoice,
    /// Which hash; by default the one of the list, or SHA-1 for plain lists.
    pub(crate) digest: Option<PasswordDigest>,
    /// Rows counted less often than this are left out; 0 and 1 leave none out.
    pub(crate) min_count: u64,
    /// Every row must have a count, as it must too if there is a minimum.
    pub(crate) needs_counts: bool,
    /// What to do with rows that have a count of 0.
    pub(crate) zero_count: ZeroCount,
    /// So many malformed rows are tolerated, over all lists.
    pub(crate) skip_bad: u64,
    /// Find out whether the lists are complete.
    pub(crate) coverage: bool,
}

/// Reads all lists, front to back, and gives every batch of rows that count to `sink`, with the file
/// they are from. `progress` is told how many bytes were read since it was last told.
///
/// # Errors
///
/// If a list cannot be read, has no row, is not of the shape asked for or of the same hash as the
/// others; if more rows are malformed than are tolerated; if a count is asked for and a row has
/// none; and what `sink` returns.
pub(crate) fn read_all(
    lists: Vec<OpenList>,
    reading: Reading,
    progress: &dyn Fn(u64),
    mut sink: impl FnMut(Rows<'_>) -> Result<(), Trouble>,
) -> Result<ReadLists, Trouble> {
    let (filled, arriving) = sync_channel::<Piece>(BATCHES);
    let (emptied, returning) = channel::<Batch>();
    thread::scope(|scope| {
        let reader = scope.spawn(move || Reader::new(reading, filled, returning).read_all(lists));
        let mut reported = 0;
        let mut taken = Ok(());
        for piece in arriving {
            if piece.bytes - reported >= PROGRESS_STEP {
                progress(piece.bytes - reported);
                reported = piece.bytes;
            }
            let Piece { name, digest, plain, batch, .. } = &piece;
            taken = sink(Rows { name, digest: *digest, plain: *plain, batch });
            if taken.is_err() {
                // The channel closes, and the reader stops.
                break;
            }
            // Nobody may be waiting for it any more.
            let _ = emptied.send(piece.batch);
        }
        let read = reader.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        taken?;
        let (read, bytes) = read?;
        progress(bytes - reported);
        Ok(read)
    })
}

/// Rows of one file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rows<'a> {
    /// The file.
    pub(crate) name: &'a Input,
    /// Which hash the keys are.
    pub(crate) digest: PasswordDigest,
    /// Whether the rows were passwords.
    pub(crate) plain: bool,
    /// The rows that count.
    pub(crate) batch: &'a Batch,
}

/// A batch on its way.
struct Piece {
    name: Arc<Input>,
    digest: PasswordDigest,
    plain: bool,
    batch: Batch,
    /// Bytes read from the disk so far, over all lists.
    bytes: u64,
}

/// The beginning of a list, and the rest of it.
type Text = Chain<Cursor<Zeroizing<Vec<u8>>>, Decompressed<Counted>>;

struct Reader {
    reading: Reading,
    filled: SyncSender<Piece>,
    returning: Receiver<Batch>,
    /// Made for the first file, and its buffer used for all.
    rows: Option<ListReader<Text>>,
    bytes: Arc<AtomicU64>,
    digest: Option<PasswordDigest>,
    any_plain: bool,
    counts: Counts,
    coverage: Option<Coverage>,
}

/// Whoever takes the batches has stopped: there is nobody to tell.
struct Gone;

impl Reader {
    fn new(reading: Reading, filled: SyncSender<Piece>, returning: Receiver<Batch>) -> Self {
        Self {
            reading,
            filled,
            returning,
            rows: None,
            bytes: Arc::default(),
            digest: reading.digest,
            any_plain: false,
            counts: Counts::default(),
            coverage: reading.coverage.then(Coverage::new),
        }
    }

    fn read_all(mut self, lists: Vec<OpenList>) -> Result<(ReadLists, u64), Trouble> {
        for OpenList { name, source } in lists {
            match source {
                Source::File(file) => {
                    if self.file(file, None)?.is_err() {
                        break;
                    }
                }
                Source::Folder(folder) => {
                    if let Some(coverage) = &mut self.coverage {
                        coverage.add_files(folder.prefixes());
                    }
                    self.counts.files_passed_over += folder.passed_over();
                    if self.reading.format == FormatChoice::Plain {
                        return Err(plain_folder(&name));
                    }
                    for (prefix, path) in folder.ranges() {
                        let file = OpenFile::open(Input::File(path))?;
                        if self.file(file, Some(prefix))?.is_err() {
                            break;
                        }
                    }
                }
            }
        }
        // What passwords hash to is spread evenly however few of them there are.
        let coverage = self.coverage.filter(|_| !self.any_plain).map(|coverage| coverage.report());
        let read = ReadLists {
            digest: self.digest.unwrap_or_default(),
            any_plain: self.any_plain,
            counts: self.counts,
            coverage,
        };
        Ok((read, self.bytes.load(Ordering::Relaxed)))
    }

    /// Reads one file. (The inner result says whether to go on.)
    fn file(
        &mut self,
        file: OpenFile,
        range: Option<RangePrefix>,
    ) -> Result<Result<(), Gone>, Trouble> {
        let (name, file) = file.into_parts();
        let failed = |error: &io::Error| Trouble::reading(&name, error);
        let counted = Counted { file, bytes: Arc::clone(&self.bytes) };
        let mut text = Decompressed::new(counted).map_err(|error| failed(&error))?;
        let len = if range.is_some() { RANGE_SAMPLE_LEN } else { SAMPLE_LEN };
        let sample = sample(&mut text, len).map_err(|error| failed(&error))?;
        let format = match range {
            Some(prefix) => format_of_range(&name, &sample, prefix, self.digest)?,
            None => format_of(&name, &sample, self.reading.format, self.digest)?,
        };
        self.digest = Some(format.digest());
        self.any_plain |= matches!(format, ListFormat::Plain(_));

        let text = Cursor::new(sample).chain(text);
        let mut rows = match self.rows.take() {
            Some(mut rows) => {
                rows.restart(text, format);
                rows
            }
            None => ListReader::new(text, format).zero_count(self.reading.zero_count),
        };
        let read = self.rows_of(&Arc::new(name), &mut rows);
        self.rows = Some(rows);
        read
    }

    fn rows_of(
        &mut self,
        name: &Arc<Input>,
        rows: &mut ListReader<Text>,
    ) -> Result<Result<(), Gone>, Trouble> {
        let Reading { min_count, skip_bad, .. } = self.reading;
        loop {
            let mut batch = self.returning.try_recv().unwrap_or_default();
            match rows.next_batch(&mut batch) {
                Ok(true) => {}
                Ok(false) => break,
                Err(ListError::Row(bad)) if self.counts.bad + rows.totals().bad > skip_bad => {
                    return Err(bad_row(name, bad, skip_bad));
                }
                Err(ListError::Row(_)) => continue,
                Err(error) => return Err(Trouble::new(format_args!("{name}: {error}"))),
            }
            if let Some(coverage) = &mut self.coverage {
                coverage.add(batch.hashes());
            }
            if self.reading.needs_counts || min_count > 1 {
                require_counts(name, &batch)?;
            }
            self.counts.under_minimum += batch.retain_counted(min_count) as u64;
            let piece = Piece {
                name: Arc::clone(name),
                digest: rows.format().digest(),
                plain: matches!(rows.format(), ListFormat::Plain(_)),
                batch,
                bytes: self.bytes.load(Ordering::Relaxed),
            };
            if self.filled.send(piece).is_err() {
                return Ok(Err(Gone));
            }
        }
        let totals = rows.totals();
        if totals.rows == totals.blank {
            return Err(Trouble::new(format_args!("{name}: {}", DetectError::Empty)));
        }
        self.counts.add(totals);
        Ok(Ok(()))
    }
}

/// Refuses a folder of ranges in the place of passwords.
pub(super) fn plain_folder(name: &Input) -> Trouble {
    Trouble::new(format_args!(
        "{name}: expected plain passwords, found a folder of ranges, which hold hashes: leave \
         --format plain out"
    ))
}

/// The beginning of a list.
pub(super) fn sample(input: &mut impl Read, len: usize) -> io::Result<Zeroizing<Vec<u8>>> {
    // Filled to its capacity and no further, so that it never moves and leaves a copy behind.
    let mut sample = Zeroizing::new(vec![0; len]);
    let mut filled = 0;
    while filled < len {
        match input.read(&mut sample[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    sample.truncate(filled);
    Ok(sample)
}

/// Refuses rows without a count.
fn require_counts(name: &Input, batch: &Batch) -> Result<(), Trouble> {
    match batch.rows().find(|row| row.count.is_none()) {
        None => Ok(()),
        Some(row) => Err(Trouble::new(format_args!(
            "{name}: row {} at byte {}: expected a count, since rows are chosen by their counts, \
             found none: leave --min-count and --top out for lists without counts",
            row.number, row.offset
        ))),
    }
}

fn bad_row(name: &Input, bad: BadRow, tolerated: u64) -> Trouble {
    if tolerated == 0 {
        return Trouble::new(format_args!(
            "{name}: {bad} (or tolerate such rows with --skip-bad N)"
        ));
    }
    Trouble::new(format_args!(
        "{name}: {bad} ({tolerated} such rows are tolerated, this is one more)"
    ))
}

/// A file, and how many bytes were read from it and others.
struct Counted {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}
