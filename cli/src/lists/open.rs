//! Lists by their names: opened once, before anything is made of them.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use hapax::screen::PasswordDigest;
use hapax::screen::list::{Decompressed, ListFormat, RangeFolder, SAMPLE_LEN};
use zeroize::Zeroizing;

use super::FormatChoice;
use crate::trouble::{Trouble, escaped_lines, shown};

/// Where a list comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// Standard input, given as `-`.
    Stdin,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// Whether the same rows come when it is opened again: it is a file or a folder, and no pipe.
    pub(crate) fn can_be_read_again(&self) -> bool {
        match self {
            Self::Stdin => false,
            Self::File(path) => {
                path.metadata().is_ok_and(|metadata| metadata.is_file() || metadata.is_dir())
            }
        }
    }
}

impl From<PathBuf> for Input {
    fn from(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Stdin } else { Self::File(path) }
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stdin => f.write_str("standard input"),
            Self::File(path) => f.write_str(&shown(path)),
        }
    }
}

/// A list, opened and not read.
#[derive(Debug)]
pub(crate) struct OpenList {
    pub(super) name: Input,
    pub(super) source: Source,
}

/// What a list is read from.
#[derive(Debug)]
pub(super) enum Source {
    /// One file.
    File(OpenFile),
    /// A folder of ranges.
    Folder(RangeFolder),
}

/// A file, opened and not read.
#[derive(Debug)]
pub(crate) struct OpenFile {
    name: Input,
    file: File,
    metadata: Metadata,
}

impl OpenFile {
    /// Opens a file.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or is a folder.
    pub(crate) fn open(name: Input) -> Result<Self, Trouble> {
        let opened = match &name {
            Input::Stdin => stdin(),
            Input::File(path) => File::open(path),
        };
        let cannot = |error: io::Error| {
            let place = match &name {
                // The place that was really tried, whatever the working directory.
                Input::File(path) => shown(&std::path::absolute(path).unwrap_or(path.clone())),
                Input::Stdin => name.to_string(),
            };
            Trouble::new(format_args!("{place}: cannot be opened: {error}"))
        };
        let file = opened.map_err(cannot)?;
        let metadata = file.metadata().map_err(cannot)?;
        if metadata.is_dir() {
            return Err(Trouble::new(format_args!(
                "{name}: expected a file, found a folder: name the files in it"
            )));
        }
        Ok(Self { name, file, metadata })
    }

    /// What it was named.
    pub(super) const fn name(&self) -> &Input {
        &self.name
    }

    /// The file, whose place must not be moved.
    pub(super) const fn file(&self) -> &File {
        &self.file
    }

    /// What it was named, and the file to be read.
    pub(crate) fn into_parts(self) -> (Input, File) {
        (self.name, self.file)
    }

    /// Its size, if that is known before it is read.
    pub(crate) fn len(&self) -> Option<u64> {
        self.metadata.is_file().then_some(self.metadata.len())
    }

    /// Whether it begins as a list of hashes does. Nothing is taken from what is to be read.
    fn starts_with_hashes(&self) -> bool {
        use std::os::unix::fs::FileExt;
        let mut head = Zeroizing::new(vec![0; SAMPLE_LEN]);
        // A pipe has no place to read at.
        let Ok(len) = self.file.read_at(&mut head, 0) else { return false };
        let mut sample = Zeroizing::new(Vec::with_capacity(SAMPLE_LEN));
        let Ok(text) = Decompressed::new(&head[..len]) else { return false };
        // The head of what is compressed ends too early, and is enough.
        let _ = text.take(SAMPLE_LEN as u64).read_to_end(&mut sample);
        let format = ListFormat::detect(&sample, PasswordDigest::default());
        matches!(format, Ok(ListFormat::Hashes(_)))
    }

    fn is_same_file(&self, other: &Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        (self.metadata.dev(), self.metadata.ino()) == (other.dev(), other.ino())
    }
}

impl OpenList {
    /// What it is called.
    pub(crate) const fn name(&self) -> &Input {
        &self.name
    }

    /// Opens a file, or looks through a folder of ranges.
    ///
    /// # Errors
    ///
    /// If it cannot be opened, or is a folder of something else.
    pub(crate) fn open(name: Input) -> Result<Self, Trouble> {
        let source = match &name {
            Input::File(path) if path.is_dir() => {
                let folder = RangeFolder::open(path).map_err(|error| {
                    // Paths in it are whatever the file system allows.
                    let error = escaped_lines(&error.to_string());
                    Trouble::new(format_args!("{name}: {error}"))
                })?;
                Source::Folder(folder)
            }
            _ => Source::File(OpenFile::open(name.clone())?),
        };
        Ok(Self { name, source })
    }

    /// Whether it is the file of this metadata, or a folder that this path lies in.
    pub(crate) fn holds(&self, other: &Metadata, path: &Path) -> bool {
        match &self.source {
            Source::File(file) => file.is_same_file(other),
            Source::Folder(_) => match (&self.name, path.canonicalize()) {
                (Input::File(folder), Ok(path)) => {
                    folder.canonicalize().is_ok_and(|folder| path.starts_with(folder))
                }
                _ => false,
            },
        }
    }
}

/// Whether one of the lists may be of passwords: it looks like one, or it cannot be looked at before
/// it is read.
pub(crate) fn may_hold_passwords(lists: &[OpenList], format: FormatChoice) -> bool {
    format != FormatChoice::Hashes
        && lists.iter().any(|list| match &list.source {
            Source::Folder(_) => false,
            Source::File(file) => !file.starts_with_hashes(),
        })
}

/// Standard input without the buffer of the standard library, which would keep passwords.
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Opens all lists.
///
/// # Errors
///
/// As [`OpenList::open`], and if standard input is named twice.
pub(crate) fn open_all(inputs: &[Input]) -> Result<Vec<OpenList>, Trouble> {
    refuse_stdin_twice(inputs)?;
    inputs.iter().cloned().map(OpenList::open).collect()
}

/// Opens all files; a folder is none.
///
/// # Errors
///
/// As [`OpenFile::open`], and if standard input is named twice.
pub(crate) fn open_files(inputs: &[Input]) -> Result<Vec<OpenFile>, Trouble> {
    refuse_stdin_twice(inputs)?;
    inputs.iter().cloned().map(OpenFile::open).collect()
}

fn refuse_stdin_twice(inputs: &[Input]) -> Result<(), Trouble> {
    if inputs.iter().filter(|input| **input == Input::Stdin).count() > 1 {
        return Err(Trouble::new("standard input was given twice, and can be read once"));
    }
    Ok(())
}

/// The size of all lists, if it is known before they are read. That of a folder is not: to ask for
/// it takes as long as to read a good part.
pub(crate) fn total_len(lists: &[OpenList]) -> Option<u64> {
    let len = |list: &OpenList| match &list.source {
        Source::File(file) => file.len(),
        Source::Folder(_) => None,
    };
    lists.iter().map(len).sum()
}
