//! Why a filter could not be written while its keys streamed by.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use crate::codec::FileError;
use crate::error::BuildError;

/// Why a filter could not be written while its keys streamed by. No file was left.
#[derive(Debug)]
#[non_exhaustive]
pub enum StreamError {
    /// The file could not be made or written.
    File(FileError),
    /// The filter could not be built.
    Build(BuildError),
    /// The temporary file of unsorted keys could not be made, written or read.
    Temporary {
        /// Its folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The keys came sorted, and then one that belongs to a part already built. With
    /// [`Order::Unsorted`](super::Order::Unsorted) they can come again.
    Disorder {
        /// Keys taken before it, without those repeated.
        keys: u64,
    },
    /// An error was returned before; what was written lacks keys, and is dropped.
    Failed,
}

impl StreamError {
    pub(super) fn temporary(folder: &Path, source: io::Error) -> Self {
        Self::Temporary { folder: folder.to_owned(), source }
    }
}

impl From<FileError> for StreamError {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

impl From<BuildError> for StreamError {
    fn from(error: BuildError) -> Self {
        Self::Build(error)
    }
}

impl fmt::Display for StreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(error) => error.fmt(f),
            Self::Build(error) => error.fmt(f),
            Self::Temporary { folder, source } => write!(
                f,
                "temporary file in {}: {source}; unsorted keys need 16 bytes each there: name \
                 another folder, or sort the list",
                folder.display()
            ),
            Self::Failed => f.write_str(
                "the filter is not whole, because an error came before: drop the writer and start again",
            ),
            Self::Disorder { keys } => write!(
                f,
                "{keys} keys came sorted, and the next one belongs before them, where the filter is \
                 already built: start again with Order::Unsorted, or sort the list"
            ),
        }
    }
}

impl std::error::Error for StreamError {}
