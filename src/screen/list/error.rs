//! What can be wrong with a list. No error carries content of a row.

use std::{fmt, io};

use super::super::digest::{NotUtf8, PasswordDigest};
use super::prefix::RangePrefix;

/// Why a row could not be had.
#[derive(Debug)]
#[non_exhaustive]
pub enum ListError {
    /// The input could not be read. Rows before it came out; what follows is unknown.
    Read {
        /// Bytes read before it.
        offset: u64,
        /// Why.
        source: io::Error,
    },
    /// A row is malformed. Reading can go on with the next one.
    Row(BadRow),
}

/// A malformed row: where it is, and what is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BadRow {
    /// Its number, from 1, blank rows included.
    pub number: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
    /// What is wrong.
    pub fault: RowFault,
}

/// What is wrong with a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RowFault {
    /// It is longer than the limit.
    TooLong {
        /// The limit in bytes.
        limit: usize,
    },
    /// It does not start with a hash.
    NoHash {
        /// The hash expected.
        expected: PasswordDigest,
    },
    /// It has a hash of the other kind.
    OtherDigest {
        /// The hash expected.
        expected: PasswordDigest,
        /// The hash that has so many digits.
        found: PasswordDigest,
    },
    /// It does not start with a hash less its first five digits, as the rows of a range do.
    NoSuffix {
        /// The hash expected.
        expected: PasswordDigest,
    },
    /// It is the row of a range of the other kind.
    OtherSuffix {
        /// The hash expected.
        expected: PasswordDigest,
        /// The hash that has so many digits.
        found: PasswordDigest,
    },
    /// What follows the hash is not a colon and a count.
    Count,
    /// It is not UTF-8, so it has no NT hash.
    NotUtf8,
}

impl fmt::Display for ListError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { offset, source } => {
                write!(f, "the list could not be read beyond byte {offset}: {source}")
            }
            Self::Row(row) => row.fmt(f),
        }
    }
}

impl std::error::Error for ListError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            Self::Row(_) => None,
        }
    }
}

impl fmt::Display for BadRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "row {} at byte {}: {}", self.number, self.offset, self.fault)
    }
}

impl std::error::Error for BadRow {}

impl From<BadRow> for ListError {
    fn from(row: BadRow) -> Self {
        Self::Row(row)
    }
}

impl fmt::Display for RowFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => write!(
                f,
                "expected at most {limit} bytes, found more: remove the row if it is no password; \
                 its line end may be missing"
            ),
            Self::NoHash { expected } => write!(
                f,
                "expected {} hexadecimal digits ({expected}), found something else: correct the \
                 row, or read the list as plain passwords if it is one",
                expected.hex_digits()
            ),
            Self::OtherDigest { expected, found } => write!(
                f,
                "expected {} hexadecimal digits ({expected}), found {}: this is the length of \
                 {found}; a list holds hashes of one kind",
                expected.hex_digits(),
                found.hex_digits()
            ),
            Self::NoSuffix { expected } => write!(
                f,
                "expected {} hexadecimal digits ({expected} less the five of the file's name), found \
                 something else: get the range again",
                suffix_digits(*expected)
            ),
            Self::OtherSuffix { expected, found } => write!(
                f,
                "expected {} hexadecimal digits ({expected} less the five of the file's name), found \
                 {}: this is the length of {found}; a list holds hashes of one kind",
                suffix_digits(*expected),
                suffix_digits(*found)
            ),
            Self::Count => f.write_str(
                "expected a colon and a count after the hash, such as :3 or :2,203, found \
                 something else: correct the row",
            ),
            Self::NotUtf8 => NotUtf8.fmt(f),
        }
    }
}

const fn suffix_digits(digest: PasswordDigest) -> usize {
    digest.hex_digits() - RangePrefix::DIGITS
}

/// Why the shape of a list cannot be told from its beginning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum DetectError {
    /// There is no row but blank ones.
    Empty,
    /// Some rows are hashes and others are not, or hashes of another kind.
    Mixed {
        /// The first row that is a hash.
        hash_row: u64,
        /// The kind of that hash.
        digest: PasswordDigest,
        /// The first row that is not a hash of that kind.
        other_row: u64,
    },
    /// A row has a hash in it, and is neither one of the hashes that are read nor followed by a
    /// count: `hash:password`, a table, or hashes of another kind.
    HashShape {
        /// The first such row.
        row: u64,
        /// The digits of the hash.
        digits: usize,
    },
    /// A row is not one of a range file: a hash less its first five digits.
    NoRange {
        /// The row.
        row: u64,
    },
    /// It is text in UTF-16.
    Utf16,
    /// It is a `.hapax` file.
    Filter,
    /// It is compressed.
    Compressed {
        /// By what.
        format: &'static str,
    },
    /// Its lines end in a lone carriage return.
    CarriageReturns,
}

impl DetectError {
    /// Whether no format makes sense of the input: UTF-16, compressed data, carriage returns for line
    /// ends, a filter.
    #[must_use]
    pub const fn is_foreign(&self) -> bool {
        matches!(self, Self::Utf16 | Self::Filter | Self::Compressed { .. } | Self::CarriageReturns)
    }
}

impl fmt::Display for DetectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str(
                "expected rows, found none: a filter of an empty list would find every password \
                 unlisted",
            ),
            Self::Mixed { hash_row, digest, other_row } => write!(
                f,
                "row {hash_row} looks like a hash ({digest}) and row {other_row} does not: say \
                 whether the list holds plain passwords or hashes"
            ),
            Self::HashShape { row, digits } => write!(
                f,
                "row {row} has {digits} hexadecimal digits like a hash, and is not a SHA-1 or NT \
                 hash with or without a count; it looks like hash:password, a table, a range \
                 whose file has another name, or hashes of another kind: give a list of the hashes or of the passwords alone, or say that \
                 the list holds plain passwords if these really are passwords"
            ),
            Self::NoRange { row } => write!(
                f,
                "row {row}: expected the row of a range, which is 35 hexadecimal digits (SHA-1) or \
                 27 (NT) and a count, found something else: get the range again"
            ),
            Self::Utf16 => f.write_str(
                "expected bytes or UTF-8, found text in UTF-16: convert it, for example with \
                 iconv -f UTF-16 -t UTF-8",
            ),
            Self::Filter => f.write_str("expected a list, found a .hapax filter"),
            Self::Compressed { format } => {
                write!(f, "expected a text file, found {format} data: decompress it first")
            }
            Self::CarriageReturns => f.write_str(
                "expected lines that end in \\n or \\r\\n, found lone \\r: convert it, for example \
                 with tr '\\r' '\\n'",
            ),
        }
    }
}

impl std::error::Error for DetectError {}
