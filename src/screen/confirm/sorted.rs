//! One file, sorted by hash.

use std::fs::File;
use std::io;
use std::ops::Range;

use super::super::digest::PasswordDigest;
use super::super::list::{ListFormat, RowFault};
use super::error::ConfirmFault;
use super::rows::{Entry, MAX_LINE_LEN, Seen, entries, refuse_gap};
use crate::hash::KeyHash;

/// Bytes read for one guess: a page, about 90 rows.
const BLOCK: usize = 4 << 10;

/// Bytes read at once where hashes asked for lie close to each other.
const DENSE_BLOCK: usize = 64 << 10;

/// So many bytes of blank rows are no list.
const MAX_BLANK: u64 = 1 << 20;

/// Blocks looked at when a file is opened.
const SAMPLES: u64 = 16;

/// Guesses before every other one halves the window instead.
const GUESSES: u32 = 8;

/// A file that can be read at any position.
pub(super) struct SortedFile {
    file: Positioned,
    len: u64,
    format: ListFormat,
    /// How many rows it has, about.
    rows: f64,
}

impl SortedFile {
    /// Takes a file and looks at the beginning, the end, and some places between.
    pub(super) fn open(file: File, digest: PasswordDigest) -> Result<Self, ConfirmFault> {
        let len = file.metadata()?.len();
        let format = ListFormat::Hashes(digest);
        let mut list = Self { file: Positioned::new(file), len, format, rows: 0.0 };
        let mut head = vec![0; BLOCK.min(usize::try_from(len).unwrap_or(BLOCK))];
        list.file.read_exact_at(&mut head, 0)?;
        if let Err(error) = ListFormat::detect(&head, digest)
            && error.is_foreign()
        {
            return Err(ConfirmFault::Foreign(error));
        }
        let mut cursor = Cursor::new(&list, BLOCK);
        let (mut rows, mut bytes) = (0, 0);
        let mut last: Option<KeyHash> = None;
        let whole = len <= SAMPLES * BLOCK as u64;
        if whole {
            cursor.block = DENSE_BLOCK;
        }
        for sample in 0..if whole { 1 } else { SAMPLES } {
            // The last sample ends with the file.
            let start = (len.saturating_sub(BLOCK as u64)) / (SAMPLES - 1) * sample;
            let start = if sample == SAMPLES - 1 { len - BLOCK as u64 } else { start };
            let end = if whole { len } else { start + BLOCK as u64 };
            cursor.load(start, end)?;
            if let Some((first, of_last)) = cursor.ends() {
                if last.is_some_and(|last| first.hash < last) {
                    return Err(ConfirmFault::NotSorted { offset: Some(first.start) });
                }
                last = Some(of_last.hash);
                rows += cursor.entries.len();
                bytes += of_last.end - first.start;
            }
        }
        if rows == 0 {
            return Err(ConfirmFault::Empty);
        }
        list.rows = rows as f64 / bytes as f64 * len as f64;
        Ok(list)
    }

    pub(super) const fn rows(&self) -> f64 {
        self.rows
    }

    /// A cursor for `asked` hashes in ascending order.
    pub(super) fn cursor(&self, asked: usize) -> Cursor<'_> {
        let apart = self.len / (asked as u64).max(1);
        Cursor::new(self, if apart <= DENSE_BLOCK as u64 { DENSE_BLOCK } else { BLOCK })
    }
}

/// Where rows of greater, or of smaller hashes begin.
#[derive(Clone, Copy)]
struct Edge {
    offset: u64,
    hash: Option<KeyHash>,
}

/// Finds hashes in ascending order, going forward only.
pub(super) struct Cursor<'a> {
    list: &'a SortedFile,
    block: usize,
    /// All rows before it have smaller hashes than what is asked for next.
    low: Edge,
    /// What was read last, and the rows in it.
    loaded: Range<u64>,
    buffer: Vec<u8>,
    entries: Vec<Entry>,
}

impl<'a> Cursor<'a> {
    fn new(list: &'a SortedFile, block: usize) -> Self {
        let low = Edge { offset: 0, hash: None };
        Self { list, block, low, loaded: 0..0, buffer: Vec::new(), entries: Vec::new() }
    }

    /// The row of this hash: its count, or `None` if there is no such row. Hashes must be asked
    /// for in ascending order.
    pub(super) fn find(&mut self, hash: KeyHash) -> Result<Option<Seen>, ConfirmFault> {
        if let Some((first, last)) = self.ends()
            && first.hash < hash
        {
            if hash <= last.hash {
                return self.decide(hash);
            }
            self.low = Edge { offset: last.end, hash: Some(last.hash) };
        }
        let mut high = Edge { offset: self.list.len, hash: None };
        let mut block = self.block as u64;
        for guess in 0.. {
            let window = high.offset - self.low.offset;
            let whole = window <= block;
            let (start, end) = if whole {
                (self.low.offset, high.offset)
            } else {
                let start = self.low.offset + self.guess(hash, high, guess).min(window - block);
                (start, start + block)
            };
            self.load(start, end)?;
            let Some((first, last)) = self.ends() else {
                if whole {
                    break;
                }
                // Nothing but blank rows.
                if block >= MAX_BLANK {
                    let fault = RowFault::NoHash { expected: self.list.format.digest() };
                    return Err(ConfirmFault::Row { offset: Some(start), fault });
                }
                block *= 2;
                continue;
            };
            if self.low.hash.is_some_and(|low| first.hash < low) {
                return Err(ConfirmFault::NotSorted { offset: Some(first.start) });
            }
            if high.hash.is_some_and(|high| last.hash > high) {
                return Err(ConfirmFault::NotSorted { offset: Some(high.offset) });
            }
            if hash < first.hash {
                high = Edge { offset: first.start, hash: Some(first.hash) };
            } else if hash > last.hash {
                self.low = Edge { offset: last.end, hash: Some(last.hash) };
            } else {
                return self.decide(hash);
            }
            if high.offset <= self.low.offset {
                break;
            }
        }
        self.absent(self.low.hash, high.hash)
    }

    /// Where to look, in bytes from `low`.
    fn guess(&self, hash: KeyHash, high: Edge, guess: u32) -> u64 {
        let window = (high.offset - self.low.offset) as f64;
        let below = self.low.hash.map_or(0, KeyHash::hi);
        let above = high.hash.map_or(u64::MAX, KeyHash::hi);
        let share = if (guess >= GUESSES && guess.is_multiple_of(2)) || above <= below {
            0.5
        } else {
            hash.hi().saturating_sub(below) as f64 / (above - below) as f64
        };
        (window * share - self.block as f64 / 2.0) as u64
    }

    /// Answers for a hash between the first and the last row of the block.
    fn decide(&mut self, hash: KeyHash) -> Result<Option<Seen>, ConfirmFault> {
        let at = self.entries.partition_point(|entry| entry.hash < hash);
        let above = self.entries[at];
        if above.hash != hash {
            // The first row is less than the hash, so there is one before.
            let below = at.checked_sub(1).map(|at| self.entries[at].hash);
            return self.absent(below, Some(above.hash));
        }
        // A hash may have several rows, and some of them may lie beyond the block, or blank rows may.
        let mut block = self.block as u64;
        while self.may_go_on_beyond(hash) {
            if block > MAX_BLANK {
                // As many rows of one hash, or blank ones: no list is like that.
                return Err(ConfirmFault::NotSorted { offset: Some(above.start) });
            }
            let start = above.start.saturating_sub(block / 2);
            let end = (start + block).min(self.list.len);
            self.load(start, end)?;
            block *= 2;
        }
        let rows = self.entries.iter().filter(|entry| entry.hash == hash);
        Ok(rows.map(|entry| Seen(entry.count)).max())
    }

    /// Whether the first or the last row of the block has this hash, and there are more rows beyond.
    fn may_go_on_beyond(&self, hash: KeyHash) -> bool {
        self.ends().is_some_and(|(first, last)| {
            (first.hash == hash && self.loaded.start > 0)
                || (last.hash == hash && self.loaded.end < self.list.len)
        })
    }

    /// Answers for a hash between two neighbours.
    fn absent(
        &self,
        below: Option<KeyHash>,
        above: Option<KeyHash>,
    ) -> Result<Option<Seen>, ConfirmFault> {
        let (below, above) = (below.map(KeyHash::hi), above.map(KeyHash::hi));
        refuse_gap(below, above, self.list.rows).map(|()| None)
    }

    fn ends(&self) -> Option<(Entry, Entry)> {
        Some((*self.entries.first()?, *self.entries.last()?))
    }

    /// Reads the rows that start within a piece of the file and end in it, and checks their order.
    fn load(&mut self, start: u64, end: u64) -> Result<(), ConfirmFault> {
        self.entries.clear();
        self.loaded = start..end;
        // The byte before tells whether a row starts at `start`.
        let from = start.saturating_sub(1);
        let len = usize::try_from(end - from).unwrap_or(usize::MAX);
        self.buffer.resize(len, 0);
        self.list.file.read_exact_at(&mut self.buffer, from)?;

        let head = if start == 0 {
            0
        } else {
            memchr::memchr(b'\n', &self.buffer).map_or(len, |newline| newline + 1)
        };
        let tail = if end == self.list.len {
            len
        } else {
            memchr::memrchr(b'\n', &self.buffer).map_or(head, |newline| newline + 1).max(head)
        };
        // What is cut off at either end is a part of one row.
        for (offset, cut) in [(from, head), (from + tail as u64, len - tail)] {
            if cut > MAX_LINE_LEN + 1 {
                let fault = RowFault::TooLong { limit: MAX_LINE_LEN };
                return Err(ConfirmFault::Row { offset: Some(offset), fault });
            }
        }
        let mut last: Option<KeyHash> = None;
        let found = &mut self.entries;
        entries(&self.buffer[head..tail], from + head as u64, self.list.format, |entry| {
            if last.is_some_and(|last| entry.hash < last) {
                return Err(ConfirmFault::NotSorted { offset: Some(entry.start) });
            }
            last = Some(entry.hash);
            found.push(entry);
            Ok(())
        })
    }
}

/// A file read at positions, by any number of threads.
struct Positioned {
    #[cfg(unix)]
    file: File,
    #[cfg(not(unix))]
    file: std::sync::Mutex<File>,
}

impl Positioned {
    #[cfg(unix)]
    fn new(file: File) -> Self {
        Self { file }
    }

    #[cfg(unix)]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset)
    }

    #[cfg(not(unix))]
    fn new(file: File) -> Self {
        Self { file: std::sync::Mutex::new(file) }
    }

    #[cfg(not(unix))]
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        use std::io::{Read, Seek, SeekFrom};
        // Whoever panicked while holding it left no more than a position behind.
        let mut file = self.file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        file.seek(SeekFrom::Start(offset))?;
        file.read(buffer)
    }

    fn read_exact_at(&self, buffer: &mut [u8], offset: u64) -> Result<(), ConfirmFault> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.read_at(&mut buffer[filled..], offset + filled as u64) {
                Ok(0) => return Err(ConfirmFault::Shrunk),
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}
