//! What a state is kept in: named objects that never change.

use std::fmt;
use std::io;

/// A place for immutable objects with names: a folder, a bucket, memory.
///
/// An object appears whole or not at all, never changes, and can be deleted. Nothing else is asked
/// for: no renaming, no appending, no locks. That a name is given **once** is what keeps two writers
/// apart, so [`put_new`](Self::put_new) must be decided by the place itself and not by a look before.
///
/// Names have 1 to 64 characters of `a` to `z`, `0` to `9`, `.` and `-`, and begin with a letter or a
/// digit ([`check_name`]). Listing is consistent: it shows what was put before it began.
pub trait Storage: Send {
    /// Writes an object under a name that is free. On return it survives a power failure.
    ///
    /// An error other than [`AlreadyExists`](StorageError::AlreadyExists) may leave the object there
    /// all the same, as when the answer of a server is lost.
    ///
    /// # Errors
    ///
    /// [`StorageError::AlreadyExists`] if the name is taken, and the object stays as it was.
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError>;

    /// Reads an object of at most `max_len` bytes. Takes memory only for bytes that are there.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`]; [`StorageError::TooLong`], before anything is read.
    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError>;

    /// Reads `len` bytes from `offset` on. Takes memory only for bytes that are there.
    ///
    /// # Errors
    ///
    /// [`StorageError::NotFound`]; [`StorageError::TooShort`] if the object ends before them.
    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError>;

    /// All objects with their lengths, in no particular order. Files whose names are not those of
    /// objects are left out.
    ///
    /// # Errors
    ///
    /// If the place cannot be read.
    fn list(&self) -> Result<Vec<StoredObject>, StorageError>;

    /// Deletes an object. On return it stays deleted after a power failure.
    ///
    /// # Errors
    ///
    /// If it cannot be deleted. One that is not there is deleted already.
    fn delete(&self, name: &str) -> Result<(), StorageError>;
}

impl<S: Storage + ?Sized> Storage for Box<S> {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        (**self).put_new(name, bytes)
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        (**self).get(name, max_len)
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        (**self).get_range(name, offset, len)
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        (**self).list()
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        (**self).delete(name)
    }
}

/// One row of a listing.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct StoredObject {
    /// The name.
    pub name: String,
    /// The length in bytes.
    pub len: u64,
}

/// Longest name of an object.
const MAX_NAME_LEN: usize = 64;

/// Checks that a name may be given to an object. For those who write a [`Storage`].
///
/// # Errors
///
/// [`StorageError::InvalidName`].
pub fn check_name(name: &str) -> Result<(), StorageError> {
    let first = name.as_bytes().first();
    let starts = first.is_some_and(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    let allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-');
    if starts && name.len() <= MAX_NAME_LEN && name.bytes().all(allowed) {
        return Ok(());
    }
    Err(StorageError::InvalidName { name: name.to_owned() })
}

/// Why a place did not do what was asked. Objects are called by their path or address, where they have
/// one.
#[derive(Debug)]
#[non_exhaustive]
pub enum StorageError {
    /// The name is not one for an object.
    InvalidName {
        /// The name.
        name: String,
    },
    /// There is no such object.
    NotFound {
        /// The object.
        object: String,
    },
    /// The name is taken.
    AlreadyExists {
        /// The object.
        object: String,
    },
    /// The object is longer than the reader takes.
    TooLong {
        /// The object.
        object: String,
        /// Bytes that the reader takes at most.
        max_len: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// The object ends before the bytes that were asked for.
    TooShort {
        /// The object.
        object: String,
        /// Bytes that are needed from its start on.
        expected: u64,
        /// Bytes that are there.
        found: u64,
    },
    /// Another writer holds the place.
    Locked {
        /// The file that is locked.
        path: String,
        /// Who holds it, as far as it says.
        holder: String,
    },
    /// The place was opened for reading.
    ReadOnly {
        /// The place.
        place: String,
    },
    /// The operating system, the network or the service failed.
    Io {
        /// The object or the place.
        object: String,
        /// What it said.
        source: io::Error,
    },
}

impl StorageError {
    pub(super) fn io(object: impl Into<String>, source: io::Error) -> Self {
        Self::Io { object: object.into(), source }
    }
}

impl fmt::Display for StorageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidName { name } => write!(
                f,
                "{name:?} is not a name for an object: expected 1 to {MAX_NAME_LEN} characters of \
                 a-z, 0-9, . and -, a letter or digit first"
            ),
            Self::NotFound { object } => write!(f, "{object}: not there"),
            Self::AlreadyExists { object } => {
                write!(f, "{object}: exists, and objects are never replaced")
            }
            Self::TooLong { object, max_len, found } => {
                write!(f, "{object}: expected at most {max_len} bytes, found {found}")
            }
            Self::TooShort { object, expected, found } => {
                write!(f, "{object}: expected at least {expected} bytes, found {found}")
            }
            Self::Locked { path, holder } => write!(
                f,
                "{path} is locked by {holder}: stop that one first, or open the folder for reading"
            ),
            Self::ReadOnly { place } => {
                write!(f, "{place} was opened for reading: open it for writing to change it")
            }
            Self::Io { object, source } => write!(f, "{object}: {source}"),
        }
    }
}

/// No `source()`: the message says all of it, and reporters that walk the chain would say it twice.
impl std::error::Error for StorageError {}
