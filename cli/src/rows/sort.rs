//! Sorting more rows than fit into memory.
//!
//! ```text
//!  rows ──▶ memory ──full: sort──▶ run ┐
//!                                  run ├──▶ merge ──▶ rows in order
//!                                  run ┘
//! ```
//!
//! A run is a temporary file without a name, of 28 bytes a row: nothing is left behind however the
//! program ends. What fits into memory never sees a disk.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use hapax::KeyHash;
use rayon::slice::ParallelSliceMut;

use super::{Entry, Order};
use crate::trouble::{Trouble, shown};

/// Bytes of a row in a run.
pub(crate) const RECORD: usize = 28;

/// Runs that are merged at once: each is an open file and a buffer.
const MAX_RUNS: usize = 128;

/// Bytes of the buffer of a run.
const RUN_BUFFER: usize = 64 * 1024;

/// Fewest rows that are sorted in memory, whatever was asked for.
const MIN_ROWS: usize = 1 << 16;

/// Sorts rows, in memory of a given size and, beyond that, in temporary files.
pub(crate) struct Sorter {
    order: Order,
    most: usize,
    folder: PathBuf,
    rows: Vec<Entry>,
    runs: Vec<Run>,
}

impl Sorter {
    /// Sorts within `memory` bytes, and in files in `folder` if that is not enough.
    pub(crate) fn new(order: Order, memory: u64, folder: PathBuf) -> Self {
        // The runs that are merged have their buffers beside the rows.
        let buffers = (MAX_RUNS * RUN_BUFFER) as u64;
        let rows = memory.saturating_sub(buffers) / size_of::<Entry>() as u64;
        let most = usize::try_from(rows).unwrap_or(usize::MAX).max(MIN_ROWS);
        Self { order, most, folder, rows: Vec::new(), runs: Vec::new() }
    }

    /// Takes a row.
    ///
    /// # Errors
    ///
    /// If memory or the disk is full.
    pub(crate) fn push(&mut self, entry: Entry) -> Result<(), Trouble> {
        if self.rows.len() == self.rows.capacity() {
            self.grow()?;
        }
        self.rows.push(entry);
        Ok(())
    }

    /// Makes room: by twice as much memory while it is allowed, then by a run.
    fn grow(&mut self) -> Result<(), Trouble> {
        let left = self.most.saturating_sub(self.rows.len());
        let more = self.rows.len().max(MIN_ROWS).min(left);
        if more > 0 && self.rows.try_reserve_exact(more).is_ok() {
            return Ok(());
        }
        if self.rows.is_empty() {
            return Err(Trouble::new("no memory is left to sort in: give less with --memory"));
        }
        self.spill()
    }

    /// Writes what is in memory to a run.
    fn spill(&mut self) -> Result<(), Trouble> {
        if self.runs.len() == MAX_RUNS {
            let runs = std::mem::take(&mut self.runs);
            let file = self.file()?;
            let merged = Merge::new(self.order, runs).and_then(|mut merge| {
                write_run(file, std::iter::from_fn(|| merge.next().transpose()))
            });
            self.runs.push(merged.map_err(|error| self.failed(&error))?);
        }
        self.sort();
        let file = self.file()?;
        let run = write_run(file, self.rows.drain(..).map(Ok));
        self.runs.push(run.map_err(|error| self.failed(&error))?);
        Ok(())
    }

    fn sort(&mut self) {
        let order = self.order;
        self.rows.par_sort_unstable_by(|first, second| order.compare(first, second));
    }

    fn file(&self) -> Result<File, Trouble> {
        tempfile::tempfile_in(&self.folder).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> Trouble {
        Trouble::new(format_args!(
            "{}: rows cannot be kept in a temporary file: {error}: they take {RECORD} bytes each: \
             name another folder with --tmp, or more memory with --memory",
            shown(&self.folder)
        ))
    }

    /// The rows in order.
    ///
    /// # Errors
    ///
    /// If a temporary file cannot be written or read.
    pub(crate) fn finish(mut self) -> Result<Sorted, Trouble> {
        if self.runs.is_empty() {
            self.sort();
            return Ok(Sorted { from: From::Memory(self.rows.into_iter()), folder: self.folder });
        }
        if !self.rows.is_empty() {
            self.spill()?;
        }
        self.rows = Vec::new();
        let runs = std::mem::take(&mut self.runs);
        let merge = Merge::new(self.order, runs).map_err(|error| self.failed(&error))?;
        Ok(Sorted { from: From::Runs(merge), folder: self.folder })
    }
}

/// Rows in order.
pub(crate) struct Sorted {
    from: From,
    folder: PathBuf,
}

enum From {
    Memory(std::vec::IntoIter<Entry>),
    Runs(Merge),
}

impl Iterator for Sorted {
    type Item = Result<Entry, Trouble>;

    fn next(&mut self) -> Option<Self::Item> {
        match &mut self.from {
            From::Memory(rows) => rows.next().map(Ok),
            From::Runs(merge) => merge.next().transpose().map(|row| {
                row.map_err(|error| {
                    Trouble::new(format_args!(
                        "{}: a temporary file cannot be read: {error}",
                        shown(&self.folder)
                    ))
                })
            }),
        }
    }
}

/// Sorted rows in a file of their own.
struct Run {
    file: File,
    rows: u64,
}

fn write_run(mut file: File, rows: impl Iterator<Item = io::Result<Entry>>) -> io::Result<Run> {
    let mut out = BufWriter::with_capacity(RUN_BUFFER, &mut file);
    let mut written = 0;
    for entry in rows {
        written += 1;
        let entry = entry?;
        let mut record = [0; RECORD];
        record[..16].copy_from_slice(&entry.hash.to_bytes());
        record[16..20].copy_from_slice(&entry.tail.to_le_bytes());
        record[20..].copy_from_slice(&entry.count.to_le_bytes());
        out.write_all(&record)?;
    }
    out.flush()?;
    drop(out);
    Ok(Run { file, rows: written })
}

/// Several runs as one.
struct Merge {
    heads: BinaryHeap<Head>,
}

struct Head {
    order: Order,
    entry: Entry,
    /// Rows after this one.
    left: u64,
    run: BufReader<File>,
}

impl Merge {
    fn new(order: Order, runs: Vec<Run>) -> io::Result<Self> {
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for Run { mut file, rows } in runs {
            file.seek(SeekFrom::Start(0))?;
            let mut run = BufReader::with_capacity(RUN_BUFFER, file);
            if let Some(left) = rows.checked_sub(1) {
                heads.push(Head { order, entry: read_record(&mut run)?, left, run });
            }
        }
        Ok(Self { heads })
    }

    fn next(&mut self) -> io::Result<Option<Entry>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let entry = head.entry;
        match head.left.checked_sub(1) {
            Some(left) => {
                head.entry = read_record(&mut head.run)?;
                head.left = left;
            }
            None => drop(PeekMut::pop(head)),
        }
        Ok(Some(entry))
    }
}

/// Reads a record that was written; a run cut short is an error.
fn read_record(run: &mut BufReader<File>) -> io::Result<Entry> {
    let mut record = [0; RECORD];
    run.read_exact(&mut record)?;
    let [hash @ .., _, _, _, _, _, _, _, _, _, _, _, _] = record;
    let mut tail = [0; 4];
    tail.copy_from_slice(&record[16..20]);
    let mut count = [0; 8];
    count.copy_from_slice(&record[20..]);
    Ok(Entry {
        hash: KeyHash::from_uniform(&hash),
        tail: u32::from_le_bytes(tail),
        count: u64::from_le_bytes(count),
    })
}

/// The heap gives its greatest, and the first row in order is wanted.
impl Ord for Head {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order.compare(&other.entry, &self.entry)
    }
}

impl PartialOrd for Head {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Head {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Head {}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(len: u64) -> Vec<Entry> {
        (0..len)
            .map(|i| {
                let word = u128::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835);
                let hash = KeyHash::from_uniform(&word.to_be_bytes());
                Entry { hash, tail: i as u32, count: (word >> 100) as u64 % 50 + 1 }
            })
            .collect()
    }

    fn sorted(order: Order, most: usize, rows: &[Entry]) -> (Vec<Entry>, usize) {
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(order, 0, folder.path().to_owned());
        sorter.most = most;
        for row in rows {
            sorter.push(*row).unwrap();
        }
        let runs = sorter.runs.len();
        let sorted = sorter.finish().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "files have no names");
        (sorted.map(Result::unwrap).collect(), runs)
    }

    #[test]
    fn rows_are_sorted_in_memory_and_on_disk_alike() {
        let rows = entries(200_000);
        for order in [Order::Hash, Order::Count] {
            let mut expected = rows.clone();
            expected.sort_by(|first, second| order.compare(first, second));
            for (most, on_disk) in [(1 << 20, false), (1 << 16, true)] {
                let (found, runs) = sorted(order, most, &rows);
                assert!(found == expected, "{order:?} {most}");
                assert_eq!(runs > 0, on_disk);
            }
        }
        assert!(sorted(Order::Hash, 1 << 16, &[]).0.is_empty());
    }

    #[test]
    fn more_runs_than_can_be_open_are_merged_on_the_way() {
        let rows = entries(3_000);
        let folder = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(Order::Hash, 0, folder.path().to_owned());
        for (index, row) in rows.iter().enumerate() {
            sorter.push(*row).unwrap();
            if index % 10 == 9 {
                sorter.spill().unwrap();
            }
        }
        assert!(sorter.runs.len() <= MAX_RUNS, "{}", sorter.runs.len());
        let mut expected = rows;
        expected.sort_by(|first, second| Order::Hash.compare(first, second));
        let found: Vec<_> = sorter.finish().unwrap().map(Result::unwrap).collect();
        assert!(found == expected);
    }

    #[test]
    fn a_folder_that_cannot_be_written_to_is_an_error() {
        let mut sorter = Sorter::new(Order::Hash, 0, "/surely/not/there".into());
        sorter.push(entries(1)[0]).unwrap();
        let Err(Trouble::Message(message)) = sorter.spill() else { panic!("no error") };
        assert!(message.contains("/surely/not/there") && message.contains("--tmp"), "{message}");
    }
}
