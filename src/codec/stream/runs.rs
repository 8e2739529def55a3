//! Sorting more keys than memory holds: sorted runs in one temporary file, and their merge.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::StreamError;
use crate::hash::KeyHash;

/// Bytes of a key in the file.
const KEY_LEN: usize = 16;

/// Sorted runs of distinct keys, one after the other.
#[derive(Debug)]
pub(super) struct Runs {
    folder: PathBuf,
    file: Option<File>,
    /// Where each run ends, in keys.
    ends: Vec<u64>,
}

/// Sorts keys, drops the repeated ones and says how many they were.
pub(super) fn sort(keys: &mut Vec<KeyHash>) -> u64 {
    let given = keys.len();
    keys.sort_unstable();
    keys.dedup();
    (given - keys.len()) as u64
}

impl Runs {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), file: None, ends: Vec::new() }
    }

    /// Writes keys as one run, empties them, and says how many were repeated.
    pub(super) fn flush(&mut self, keys: &mut Vec<KeyHash>) -> Result<u64, StreamError> {
        let duplicates = sort(keys);
        self.write(keys).map_err(|error| StreamError::temporary(&self.folder, error))?;
        keys.clear();
        Ok(duplicates)
    }

    fn write(&mut self, keys: &[KeyHash]) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            // Without a name where the system can: it vanishes with the process, however that ends.
            none => none.insert(tempfile::tempfile_in(&self.folder)?),
        };
        let mut out = BufWriter::with_capacity(1 << 18, file);
        for key in keys {
            out.write_all(&key.to_bytes())?;
        }
        out.flush()?;
        self.ends.push(self.ends.last().unwrap_or(&0) + keys.len() as u64);
        Ok(())
    }

    /// Whether nothing was written yet.
    pub(super) const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Gives all keys in order, those that are in several runs repeatedly. Reads through buffers of
    /// `memory` bytes in all.
    ///
    /// # Errors
    ///
    /// [`StreamError::Temporary`], and what `take` returns.
    pub(super) fn merge(
        self,
        memory: u64,
        mut take: impl FnMut(KeyHash) -> Result<(), StreamError>,
    ) -> Result<(), StreamError> {
        let Some(mut file) = self.file else { return Ok(()) };
        let failed = |error| StreamError::temporary(&self.folder, error);
        let buffer = memory as usize / self.ends.len().max(1) / KEY_LEN;
        let buffer = buffer.clamp(1 << 8, 1 << 16) * KEY_LEN;
        let starts = [0].into_iter().chain(self.ends.iter().copied());
        let mut runs: Vec<Run> = starts
            .zip(&self.ends)
            .map(|(next, &end)| Run { next, end, buffer: vec![0; buffer], at: 0, filled: 0 })
            .collect();
        let mut heads = BinaryHeap::with_capacity(runs.len());
        for (number, run) in runs.iter_mut().enumerate() {
            if let Some(key) = run.next(&mut file).map_err(failed)? {
                heads.push(Reverse((key, number)));
            }
        }
        while let Some(mut head) = heads.peek_mut() {
            let Reverse((key, number)) = *head;
            match runs[number].next(&mut file).map_err(failed)? {
                Some(next) => *head = Reverse((next, number)),
                None => drop(PeekMut::pop(head)),
            }
            take(key)?;
        }
        Ok(())
    }
}

/// A run that is being read.
struct Run {
    /// The next key to be read from the file, and the end of the run, in keys.
    next: u64,
    end: u64,
    buffer: Vec<u8>,
    at: usize,
    filled: usize,
}

impl Run {
    fn next(&mut self, file: &mut File) -> io::Result<Option<KeyHash>> {
        if self.at == self.filled {
            let bytes = (self.end - self.next).saturating_mul(KEY_LEN as u64);
            self.filled = usize::try_from(bytes).unwrap_or(usize::MAX).min(self.buffer.len());
            self.at = 0;
            file.seek(SeekFrom::Start(self.next * KEY_LEN as u64))?;
            file.read_exact(&mut self.buffer[..self.filled])?;
            self.next += (self.filled / KEY_LEN) as u64;
        }
        let Some(key) = self.buffer[self.at..self.filled].first_chunk::<KEY_LEN>() else {
            return Ok(None);
        };
        self.at += KEY_LEN;
        Ok(Some(KeyHash::from_uniform(key)))
    }
}
