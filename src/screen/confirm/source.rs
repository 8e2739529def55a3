//! The list that confirms, whatever its shape.

use std::fmt;
use std::fs::File;
use std::path::{Path, PathBuf};

use super::error::{ConfirmError, ConfirmFault};
use super::ranges::{self, RangeFolder};
use super::rows::Seen;
use super::sorted::{self, SortedFile};
use crate::hash::KeyHash;
use crate::screen::PasswordDigest;

/// A list of hashes on disk, to look single hashes up in: one file sorted by hash, or a folder of
/// range files.
///
/// Opening it reads some 16 pages (of a folder: four files). A look-up reads three or four pages of
/// a file of any size, or one range file of about 75 kB. Nothing is kept in memory, and any number
/// of threads may ask at once.
///
/// Whole lists only: what a part of a list does not hold may be in the rest. Range files may be
/// compressed with gzip, bzip2 or zstd (feature `compressed`), which makes a look-up several times as
/// slow; a single file must be plain text, since no place in the middle of a compressed one can be
/// looked at.
///
/// # Examples
///
/// ```
/// use hapax::screen::{Confirmation, ConfirmList, PasswordDigest::Sha1};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("list.txt");
/// std::fs::write(
///     &path,
///     "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:10434004\r\n\
///      7C4A8D09CA3762AF61E59520943DC26494F8941B:37359195\r\n",
/// )?;
/// let list = ConfirmList::open(&path, Sha1)?;
/// let seen = Confirmation::Listed { count: Some(10_434_004) };
/// assert_eq!(list.find(Sha1.key_of(b"password")?)?, seen);
/// assert_eq!(list.find(Sha1.key_of(b"correct horse")?)?, Confirmation::NotListed);
///
/// // Only what was seen often enough.
/// let list = list.with_min_count(20_000_000);
/// let rare = Confirmation::Rare { count: 10_434_004 };
/// assert_eq!(list.find(Sha1.key_of(b"password")?)?, rare);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ConfirmList {
    path: PathBuf,
    digest: PasswordDigest,
    source: Source,
    min_count: u64,
}

enum Source {
    File(SortedFile),
    Folder(RangeFolder),
}

/// What a list says of a hash. Certain either way.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Confirmation {
    /// It is in the list.
    Listed {
        /// How often the password was seen; `None` if the list does not say.
        count: Option<u64>,
    },
    /// It is in the list, and was seen less often than asked for.
    Rare {
        /// How often.
        count: u64,
    },
    /// It is not in the list.
    NotListed,
}

impl ConfirmList {
    /// Opens a list of hashes of this kind: a file that is sorted by hash, or a folder of range
    /// files in one of the layouts that downloaders make (`07F07`, `07F07.txt`, `07/07F07`,
    /// `07/F07`, `07/f0/07f07`, `0/7/F/07F07`).
    ///
    /// # Errors
    ///
    /// [`ConfirmError`] if it cannot be read, is no such list, is not sorted, is of other hashes,
    /// or holds nothing. Not all of a list is read, so later look-ups can fail too.
    pub fn open(path: impl AsRef<Path>, digest: PasswordDigest) -> Result<Self, ConfirmError> {
        let path = path.as_ref();
        let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
        let failed = |fault| ConfirmError { path: path.clone(), fault };
        let source = if path.is_dir() {
            Source::Folder(RangeFolder::open(&path, digest)?)
        } else {
            // A pipe can be read once, and a list is looked up at many places.
            let metadata = path.metadata().map_err(|error| failed(error.into()))?;
            if !metadata.is_file() {
                return Err(failed(ConfirmFault::NotAFile));
            }
            // The length is that of the open file: another may be renamed over it at any time.
            let file = File::open(&path).map_err(|error| failed(error.into()))?;
            Source::File(SortedFile::open(file, digest).map_err(failed)?)
        };
        Ok(Self { path, digest, source, min_count: 0 })
    }

    /// Takes only passwords seen at least so many times for listed. 0 and 1 take all.
    #[must_use]
    pub fn with_min_count(mut self, min_count: u64) -> Self {
        self.min_count = min_count;
        self
    }

    /// Which hashes it is of.
    #[must_use]
    pub const fn digest(&self) -> PasswordDigest {
        self.digest
    }

    /// About how many rows it has, from their mean length: within some percent.
    #[must_use]
    pub fn estimate_rows(&self) -> u64 {
        let rows = match &self.source {
            Source::File(file) => file.rows(),
            Source::Folder(folder) => folder.rows(),
        };
        rows.round() as u64
    }

    /// Looks a hash up. Costs three or four reads of a page from a file, one read of a range file.
    ///
    /// # Errors
    ///
    /// [`ConfirmError`] if the list cannot tell; see [`confirm`](crate::screen::confirm) for what is noticed.
    pub fn find(&self, hash: KeyHash) -> Result<Confirmation, ConfirmError> {
        self.cursor(1).find(hash)
    }

    /// Looks many hashes up in one forward pass: `found[i]` becomes the answer for `hashes[i]`, in
    /// whatever order they are.
    ///
    /// # Errors
    ///
    /// For the first hash, in ascending order, for which [`find`](Self::find) fails. What is in `found`
    /// then is of no use.
    pub fn find_batch(
        &self,
        hashes: &[KeyHash],
        found: &mut [Confirmation],
    ) -> Result<(), ConfirmError> {
        let mut asked: Vec<_> = hashes.iter().zip(found).collect();
        asked.sort_unstable_by_key(|(hash, _)| **hash);
        let mut cursor = self.cursor(asked.len());
        for (hash, found) in asked {
            *found = cursor.find(*hash)?;
        }
        Ok(())
    }

    /// This list cannot confirm.
    pub(in crate::screen) fn refused(&self, fault: ConfirmFault) -> ConfirmError {
        ConfirmError { path: self.path.clone(), fault }
    }

    fn cursor(&self, asked: usize) -> Cursor<'_> {
        let place = match &self.source {
            Source::File(file) => Place::File(file.cursor(asked)),
            Source::Folder(folder) => Place::Folder(folder.cursor()),
        };
        Cursor { list: self, place }
    }
}

/// Path, digest and size; nothing of the content.
impl fmt::Debug for ConfirmList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ConfirmList")
            .field("path", &self.path)
            .field("digest", &self.digest)
            .field("estimate_rows", &self.estimate_rows())
            .field("min_count", &self.min_count)
            .finish_non_exhaustive()
    }
}

struct Cursor<'a> {
    list: &'a ConfirmList,
    place: Place<'a>,
}

enum Place<'a> {
    File(sorted::Cursor<'a>),
    Folder(ranges::Cursor<'a>),
}

impl Cursor<'_> {
    fn find(&mut self, hash: KeyHash) -> Result<Confirmation, ConfirmError> {
        let failed = |fault| self.list.refused(fault);
        let found = match &mut self.place {
            Place::File(cursor) => cursor.find(hash),
            Place::Folder(cursor) => cursor.find(hash),
        };
        let found = found.map_err(|fault| failed(fault.without_place()))?;
        let min_count = self.list.min_count;
        match found {
            None => Ok(Confirmation::NotListed),
            Some(Seen(None)) if min_count > 1 => Err(failed(ConfirmFault::NoCount { min_count })),
            // A count of 0 is taken too where all are.
            Some(Seen(Some(count))) if min_count > 1 && count < min_count => {
                Ok(Confirmation::Rare { count })
            }
            Some(Seen(count)) => Ok(Confirmation::Listed { count }),
        }
    }
}
