//! What is written to: standard output and the file of diverted lines.

use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::trouble::{Trouble, shown};

/// Lines on their way out.
pub(super) struct Output {
    out: BufWriter<File>,
    /// `None` for standard output.
    path: Option<PathBuf>,
    /// Whether it is a file, which can be made durable.
    is_file: bool,
}

impl Output {
    /// Standard output, without the line buffer of the standard library: lines are flushed when input
    /// is waited for.
    ///
    /// # Errors
    ///
    /// If it is closed.
    pub(super) fn stdout() -> Result<Self, Trouble> {
        let stdout = io::stdout().as_fd().try_clone_to_owned().map(File::from);
        stdout.and_then(|file| Self::new(file, None)).map_err(|error| Trouble::stdout(&error))
    }

    /// A file to append to.
    ///
    /// # Errors
    ///
    /// If it cannot be opened.
    pub(super) fn append(path: &Path) -> Result<Self, Trouble> {
        let opened = File::options().read(true).append(true).create(true).open(path);
        opened
            .and_then(|file| Self::new(file, Some(path.to_owned())))
            .map_err(|error| Trouble::reading(shown(path), &error))
    }

    fn new(file: File, path: Option<PathBuf>) -> io::Result<Self> {
        let is_file = file.metadata()?.is_file();
        Ok(Self { out: BufWriter::with_capacity(1 << 16, file), path, is_file })
    }

    /// Ends a line that a killed run has left unfinished at the end of the file: what is appended must
    /// not be glued to it. Says whether there was one.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub(super) fn end_torn_line(&mut self) -> Result<bool, Trouble> {
        let torn = self.is_file && self.readable().is_some_and(|file| is_torn(&file));
        if torn {
            self.write(b"\n")?;
        }
        Ok(torn)
    }

    /// Takes such a line out of the file. Says whether there was one.
    ///
    /// # Errors
    ///
    /// If the file cannot be read and cut.
    pub(super) fn cut_torn_line(&mut self) -> Result<bool, Trouble> {
        let Some(file) = self.readable() else { return Ok(false) };
        let cut = whole_len(&file).and_then(|len| {
            let torn = len < file.metadata()?.len();
            if torn {
                self.out.get_ref().set_len(len)?;
            }
            Ok(torn)
        });
        cut.map_err(|error| self.trouble(&error))
    }

    /// Standard output is open for writing; this opens it again for reading, where that is possible.
    fn readable(&self) -> Option<File> {
        match &self.path {
            Some(_) => self.out.get_ref().try_clone().ok(),
            None => File::open("/proc/self/fd/1").ok(),
        }
    }

    /// Whether it is this file.
    pub(super) fn is(&self, file: &Metadata) -> bool {
        let own = self.out.get_ref().metadata();
        own.is_ok_and(|own| (own.dev(), own.ino()) == (file.dev(), file.ino()))
    }

    /// In one piece, so that the buffer is written out at line ends only.
    pub(super) fn write(&mut self, line: &[u8]) -> Result<(), Trouble> {
        self.out.write_all(line).map_err(|error| self.trouble(&error))
    }

    pub(super) fn flush(&mut self) -> Result<(), Trouble> {
        self.out.flush().map_err(|error| self.trouble(&error))
    }

    /// Flushes, and makes what was written durable where it is a file; a pipe has nothing to sync.
    pub(super) fn sync(&mut self) -> Result<(), Trouble> {
        self.flush()?;
        if self.is_file {
            self.out.get_ref().sync_data().map_err(|error| self.trouble(&error))?;
        }
        Ok(())
    }

    /// The length of the file, if it is one. What is not flushed does not count.
    pub(super) fn len(&self) -> Option<u64> {
        let metadata = self.out.get_ref().metadata().ok().filter(|_| self.is_file);
        metadata.map(|metadata| metadata.len())
    }

    fn trouble(&self, error: &io::Error) -> Trouble {
        match &self.path {
            None => Trouble::stdout(error),
            Some(path) => Trouble::new(format_args!("{}: cannot be written: {error}", shown(path))),
        }
    }
}

fn is_torn(file: &File) -> bool {
    let last = |metadata: Metadata| {
        let mut byte = [0];
        file.read_exact_at(&mut byte, metadata.len().checked_sub(1)?).ok()?;
        Some(byte)
    };
    file.metadata().ok().and_then(last).is_some_and(|byte| byte != *b"\n")
}

/// The length of a file without a line at its end that has no line end.
pub(super) fn whole_len(file: &File) -> io::Result<u64> {
    const STEP: u64 = 1 << 16;
    let mut end = file.metadata()?.len();
    let mut buffer = vec![0; STEP as usize];
    while end > 0 {
        let start = end.saturating_sub(STEP);
        let part = &mut buffer[..(end - start) as usize];
        file.read_exact_at(part, start)?;
        if let Some(at) = memchr::memrchr(b'\n', part) {
            return Ok(start + at as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn torn_lines_are_ended_or_cut() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("out");
        let long = "x".repeat(200_000);
        for (before, whole) in [("", ""), ("a\n", "a\n"), ("a\nb", "a\n"), ("torn", "")] {
            for (before, whole) in [(before.to_owned(), whole), (format!("{whole}{long}"), whole)] {
                std::fs::write(&path, &before).unwrap();
                let torn = before != whole;
                let mut output = Output::append(&path).unwrap();
                assert_eq!(whole_len(&File::open(&path).unwrap()).unwrap(), whole.len() as u64);
                assert_eq!(output.end_torn_line().unwrap(), torn);
                output.sync().unwrap();
                let ended = if torn { format!("{before}\n") } else { before.clone() };
                assert_eq!(std::fs::read_to_string(&path).unwrap(), ended);

                std::fs::write(&path, &before).unwrap();
                assert_eq!(output.cut_torn_line().unwrap(), torn);
                output.write(b"next\n").unwrap();
                output.sync().unwrap();
                assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{whole}next\n"));
            }
        }
    }
}
