//! Why bytes are not a filter.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use super::header::Kind;
use crate::filter::InvalidParts;

/// Why bytes were refused. Nothing was answered from them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DecodeError {
    /// There are no bytes.
    Empty,
    /// The bytes do not start like a `.hapax` file. (What they start with is not said: a list of
    /// passwords may have been taken for a filter.)
    NotHapax,
    /// The bytes end too early.
    Truncated {
        /// Bytes that are needed, as far as is known.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// There are bytes after the end.
    TrailingBytes {
        /// The length the header states.
        expected: u64,
    },
    /// The file was written by a newer release.
    NewerVersion {
        /// The newest version this release reads.
        supported: u16,
        /// The version of the file.
        found: u16,
    },
    /// The kind is not one of this version.
    UnknownKind {
        /// Its code.
        found: u16,
    },
    /// A filter, and of another kind than was asked for.
    WrongKind {
        /// What was asked for.
        expected: &'static str,
        /// What the file holds.
        found: Kind,
    },
    /// The end mark is missing: the writer did not finish.
    Incomplete,
    /// A checksum does not match its bytes.
    Checksum {
        /// Which part is damaged.
        part: &'static str,
        /// The stored checksum.
        expected: u64,
        /// The checksum of the bytes.
        found: u64,
    },
    /// Bytes that must be 0 are not.
    Reserved {
        /// Where they are.
        part: &'static str,
    },
    /// A field contradicts the others.
    Invalid {
        /// Which field.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
    /// Bytes to be read in place do not start at a multiple of 8.
    Unaligned,
    /// Words cannot be read in place on a big-endian machine.
    BigEndian,
    /// The memory for the body could not be had.
    OutOfMemory {
        /// Bytes asked for.
        byte_len: u64,
    },
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const REMAKE: &str = "restore it from a copy or build it again";
        match self {
            Self::Empty => f.write_str("not a .hapax file: it is empty"),
            Self::NotHapax => f.write_str(
                "not a .hapax file: expected it to start with \\x89HAPAX\\r\\n, found something else",
            ),
            Self::Truncated { expected, found } => {
                write!(f, "truncated: expected at least {expected} bytes, found {found}; {REMAKE}")
            }
            Self::TrailingBytes { expected } => {
                write!(f, "expected {expected} bytes, found more: something was appended; {REMAKE}")
            }
            Self::NewerVersion { supported, found } => write!(
                f,
                "format version {found}, and this release reads up to version {supported}: update \
                 hapax"
            ),
            Self::UnknownKind { found } => write!(
                f,
                "unknown kind of filter {found}: expected a kind of format version 1; update hapax, \
                 or the file is damaged"
            ),
            Self::WrongKind { expected, found } => write!(
                f,
                "expected {expected}, found {found}: open it as that, or as AnyFilter for any filter"
            ),
            Self::Incomplete => {
                write!(f, "the end mark is missing, so the file was never finished; {REMAKE}")
            }
            Self::Checksum { part, expected, found } => write!(
                f,
                "damaged: the checksum of the {part} is {found:016x}, expected {expected:016x}; \
                 {REMAKE}"
            ),
            Self::Reserved { part } => write!(
                f,
                "reserved bytes in the {part} are set, expected 0: written by a newer release, or \
                 damaged"
            ),
            Self::Invalid { what, expected, found } => {
                write!(f, "invalid {what}: expected {expected}, found {found}; {REMAKE}")
            }
            Self::Unaligned => f.write_str(
                "bytes read in place must start at a multiple of 8: map the file, or copy it with \
                 from_bytes",
            ),
            Self::BigEndian => f.write_str(
                "files cannot be read in place on a big-endian machine: copy with from_bytes",
            ),
            Self::OutOfMemory { byte_len } => {
                write!(f, "{byte_len} bytes of memory could not be had")
            }
        }
    }
}

impl std::error::Error for DecodeError {}

impl From<InvalidParts> for DecodeError {
    fn from(InvalidParts { what, expected, found }: InvalidParts) -> Self {
        Self::Invalid { what, expected, found }
    }
}

/// Why a stream gave no filter.
#[derive(Debug)]
#[non_exhaustive]
pub enum ReadError {
    /// The stream failed.
    Io(io::Error),
    /// What it gave is not a filter.
    Decode(DecodeError),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<DecodeError> for ReadError {
    fn from(error: DecodeError) -> Self {
        Self::Decode(error)
    }
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => error.fmt(f),
            Self::Decode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Why a file could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum FileError {
    /// The operating system refused.
    Io {
        /// The file, as an absolute path where it can be told.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// The file is not what was expected.
    Decode {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// The file exists and was not to be replaced.
    Exists {
        /// The file.
        path: PathBuf,
    },
}

impl FileError {
    pub(super) fn io(path: &Path, source: io::Error) -> Self {
        Self::Io { path: absolute(path), source }
    }

    pub(super) fn decode(path: &Path, source: DecodeError) -> Self {
        Self::Decode { path: absolute(path), source }
    }

    pub(super) fn exists(path: &Path) -> Self {
        Self::Exists { path: absolute(path) }
    }
}

/// Names the file that was really tried, whatever the working directory.
fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

impl fmt::Display for FileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, source } => {
                write!(f, "{}: {source}", path.display())?;
                match source.kind() {
                    io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                        f.write_str(": make room, or name a file on another disk")
                    }
                    io::ErrorKind::ReadOnlyFilesystem => f.write_str(": name a file elsewhere"),
                    _ => Ok(()),
                }
            }
            Self::Decode { path, source } => write!(f, "{}: {source}", path.display()),
            Self::Exists { path } => {
                write!(f, "{}: the file exists and is not to be replaced", path.display())
            }
        }
    }
}

/// No `source()`: the message says all of it, and reporters that walk the chain would say it twice.
impl std::error::Error for FileError {}
