//! Why a list could not be asked. No error carries content of a row, and none that follows from a hash
//! asked for says where in the list it was looked for: in a sorted list, a place is as good as the
//! first digits of the hash.

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::super::digest::PasswordDigest;
use super::super::list::{DetectError, RowFault};

/// A list that cannot answer: the question is open, neither "listed" nor "not listed".
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConfirmError {
    /// The file, or the folder.
    pub path: PathBuf,
    /// What is wrong with it.
    pub fault: ConfirmFault,
}

/// What is wrong with a list that should confirm.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfirmFault {
    /// It could not be read.
    Read(ReadFault),
    /// It is a pipe, a socket or a device, or a folder in the place of a range file.
    NotAFile,
    /// It is shorter than it was when it was opened.
    Shrunk,
    /// It is no list of hashes at all.
    Foreign(DetectError),
    /// It is compressed, and cut short or damaged.
    Damaged,
    /// It has no row.
    Empty,
    /// A row is malformed, or of another hash.
    Row {
        /// Where the row starts, in bytes; `None` if it was met when a hash was looked up.
        offset: Option<u64>,
        /// What is wrong with it.
        fault: RowFault,
    },
    /// Rows are not sorted by hash.
    NotSorted {
        /// A row whose hash is less than that of a row before it; `None` if it was met when a hash was
        /// looked up.
        offset: Option<u64>,
    },
    /// Rows must be missing: two neighbours are too far apart.
    Gap,
    /// This is wrong with the file of the range in which a hash was looked up. Its name would be the
    /// first digits of the hash.
    Range(Box<Self>),
    /// A folder has no file named after a range of hashes.
    NoRanges,
    /// A range file is longer than any can be.
    TooLarge {
        /// The most bytes it may have.
        limit: u64,
    },
    /// A least count was asked for, and the row has none.
    NoCount {
        /// The least count asked for.
        min_count: u64,
    },
    /// It is of other hashes than the filter.
    OtherDigest {
        /// What the filter holds.
        expected: PasswordDigest,
        /// What the list is of.
        found: PasswordDigest,
    },
    /// It has far fewer rows than the filter has keys.
    TooFewRows {
        /// Keys of the filter.
        keys: u64,
        /// Rows of the list, about.
        rows: u64,
    },
    /// The filter's keys are not those of a list of hashes.
    NotOfHashes,
}

/// An I/O error that can be copied and compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadFault {
    kind: io::ErrorKind,
    code: Option<i32>,
}

impl ConfirmFault {
    /// The same fault without its place, which tells what was looked for.
    pub(super) fn without_place(self) -> Self {
        match self {
            Self::Row { fault, .. } => Self::Row { offset: None, fault },
            Self::NotSorted { .. } => Self::NotSorted { offset: None },
            fault => fault,
        }
    }
}

impl From<io::Error> for ConfirmFault {
    fn from(error: io::Error) -> Self {
        Self::Read(ReadFault { kind: error.kind(), code: error.raw_os_error() })
    }
}

impl fmt::Display for ReadFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => io::Error::from_raw_os_error(code).fmt(f),
            None => self.kind.fmt(f),
        }
    }
}

impl fmt::Display for ConfirmError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.fault)
    }
}

impl std::error::Error for ConfirmError {}

impl fmt::Display for ConfirmFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(fault) => write!(f, "cannot be read: {fault}"),
            Self::NotAFile => f.write_str(
                "expected a regular file, found a pipe, a socket, a device or a folder: rows are \
                 looked up at any place of a list, so write it to a file first",
            ),
            Self::Shrunk => f.write_str(
                "expected the file as long as when it was opened, found it shorter: replace a list \
                 by renaming a new one over it",
            ),
            Self::Foreign(error) => error.fmt(f),
            Self::Damaged => f.write_str(
                "expected a whole compressed file, found it damaged or cut short: get it again",
            ),
            Self::Empty => f.write_str("expected rows, found none: a list is needed to confirm"),
            Self::Row { offset: Some(offset), fault } => {
                write!(f, "the row at byte {offset}: {fault}")
            }
            Self::Row { offset: None, fault } => write!(f, "a row near the hash: {fault}"),
            Self::NotSorted { offset } => {
                f.write_str("expected rows sorted by hash, found ")?;
                match offset {
                    Some(offset) => write!(f, "the row at byte {offset} out of order")?,
                    None => f.write_str("rows near the hash out of order")?,
                }
                f.write_str(
                    ": sort the list by hash; one that is sorted by count cannot be searched",
                )
            }
            Self::Gap => write!(
                f,
                "rows are missing around the hash: its two neighbours are more than {} times as far \
                 apart as rows are on average, which does not happen by chance: the list is only a \
                 part; get it again",
                super::rows::MAX_DISTANCES
            ),
            Self::Range(fault) => write!(
                f,
                "the range file of the hash (not named: it is called after the first digits): {fault}"
            ),
            Self::NoRanges => f.write_str(
                "expected a folder of range files, named after the first 5 digits of their hashes \
                 (07F07, 07F07.txt, 07/07F07, 0/7/F/07F07), found none: name the folder that holds \
                 them, or a single sorted file",
            ),
            Self::TooLarge { limit } => write!(
                f,
                "expected a range file of at most {limit} bytes, found a longer one: this is no \
                 range of a list"
            ),
            Self::NoCount { min_count } => write!(
                f,
                "expected a count, since only passwords seen at least {min_count} times are \
                 wanted, found a row without: use a list with counts, or leave the least count out"
            ),
            Self::OtherDigest { expected, found } => write!(
                f,
                "expected a list of {expected} hashes, as in the filter, found one of {found}"
            ),
            Self::TooFewRows { keys, rows } => write!(
                f,
                "expected the list that the filter of {keys} keys was built from, found one of \
                 about {rows} rows: it would refute passwords that are listed"
            ),
            Self::NotOfHashes => f.write_str(
                "a list of hashes can confirm a filter of SHA-1 or NT hashes only; this filter \
                 hashes its keys itself: build it again with a digest",
            ),
        }
    }
}
