//! Folders of range files, as downloaders leave them.
//!
//! ```text
//!  07F07.txt   07F07   07/07F07   sha1/07/f0/07f07.gz   0/7/F/07F07.bz2   07/F07.zst
//!  └─ the official one ┘  by batches   hibp-downloader     lcn2             go-hibp-sync
//! ```
//!
//! Nothing but the names is looked at. What is not named like a range (an index, metadata, a note) is
//! passed over and counted.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::{fmt, fs, io};

use super::super::naming;
use super::prefix::RangePrefix;

/// Folders in folders beyond which nobody keeps ranges: a loop of links ends here.
const MAX_DEPTH: usize = 8;

/// A folder of range files, one for each prefix, in the order of their prefixes.
///
/// Keeps about 24 bytes a file: 25 MB for the whole of 1,048,576.
pub struct RangeFolder {
    folders: Vec<PathBuf>,
    /// The names of all files, one after the other.
    names: Vec<u8>,
    files: Vec<RangeFile>,
    passed_over: u64,
}

#[derive(Clone, Copy)]
struct RangeFile {
    prefix: RangePrefix,
    folder: u32,
    name: u32,
    name_len: u32,
}

/// Why a folder is none of range files.
#[derive(Debug)]
#[non_exhaustive]
pub enum FolderError {
    /// It, or a folder in it, cannot be read.
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// No file in it is named like a range.
    Empty {
        /// How many files there are.
        files: u64,
    },
    /// Two files hold the same range: an older download beside a newer one, or SHA-1 beside NT.
    Twice {
        /// The first file.
        first: PathBuf,
        /// The second one.
        second: PathBuf,
    },
    /// Folders lie in folders deeper than any downloader puts them: what is in them would go unread.
    TooDeep {
        /// The folder that has another in it.
        path: PathBuf,
        /// How many folders deep ranges may lie.
        limit: usize,
    },
    /// What is named like a range is a pipe, a socket or a device: to read it could wait for ever.
    NotAFile {
        /// Which.
        path: PathBuf,
    },
    /// A file holds six bytes of each hash, which is too little to tell passwords apart as the rest
    /// of this library does.
    Truncated {
        /// The file.
        path: PathBuf,
    },
}

impl RangeFolder {
    /// Looks through a folder and the folders in it. Reads no file.
    ///
    /// # Errors
    ///
    /// [`FolderError`] if it cannot be read, or is not a folder with one file for each of some
    /// ranges.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FolderError> {
        let mut found =
            Self { folders: Vec::new(), names: Vec::new(), files: Vec::new(), passed_over: 0 };
        found.look_into(path.as_ref().to_owned(), 0)?;
        if found.files.is_empty() {
            return Err(FolderError::Empty { files: found.passed_over });
        }
        found.files.sort_by_key(|file| file.prefix);
        let twice = found.files.windows(2).find(|pair| pair[0].prefix == pair[1].prefix);
        if let Some(&[first, second]) = twice {
            return Err(FolderError::Twice {
                first: found.path_of(first),
                second: found.path_of(second),
            });
        }
        Ok(found)
    }

    /// How many ranges there are.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "one without ranges cannot be opened")]
    pub fn len(&self) -> usize {
        self.files.len()
    }

    /// Files that are not named like a range.
    #[must_use]
    pub const fn passed_over(&self) -> u64 {
        self.passed_over
    }

    /// The prefix and the file of each range, in the order of the prefixes.
    #[must_use]
    pub fn ranges(&self) -> impl ExactSizeIterator<Item = (RangePrefix, PathBuf)> + '_ {
        self.files.iter().map(|&file| (file.prefix, self.path_of(file)))
    }

    /// The prefixes that have a file, in order.
    #[must_use]
    pub fn prefixes(&self) -> impl ExactSizeIterator<Item = RangePrefix> + '_ {
        self.files.iter().map(|file| file.prefix)
    }

    /// The file of one range. Costs a binary search.
    #[must_use]
    pub fn file_of(&self, prefix: RangePrefix) -> Option<PathBuf> {
        let at = self.files.binary_search_by_key(&prefix, |file| file.prefix).ok()?;
        Some(self.path_of(self.files[at]))
    }

    fn path_of(&self, file: RangeFile) -> PathBuf {
        let name = &self.names[file.name as usize..(file.name + file.name_len) as usize];
        // Only names of ASCII are kept.
        self.folders[file.folder as usize].join(String::from_utf8_lossy(name).as_ref())
    }

    fn look_into(&mut self, folder: PathBuf, depth: usize) -> Result<(), FolderError> {
        let failed = |source| FolderError::Read { path: folder.clone(), source };
        let mut folders = Vec::new();
        let index = self.folders.len() as u32;
        for entry in fs::read_dir(&folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            let mut kind = entry.file_type().map_err(failed)?;
            if kind.is_symlink() {
                // A link that leads nowhere may be the file of a range: it must not go unnoticed.
                kind = fs::metadata(entry.path())
                    .map_err(|source| FolderError::Read { path: entry.path(), source })?
                    .file_type();
            }
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                let ranges = self.files.len();
                self.take(index, folder.file_name(), &name, || entry.path())?;
                if self.files.len() > ranges && !kind.is_file() {
                    return Err(FolderError::NotAFile { path: entry.path() });
                }
            }
        }
        if depth == MAX_DEPTH && !folders.is_empty() {
            return Err(FolderError::TooDeep { path: folder, limit: MAX_DEPTH });
        }
        self.folders.push(folder);
        for folder in folders {
            self.look_into(folder, depth + 1)?;
        }
        Ok(())
    }

    /// Takes a file if its name is that of a range.
    fn take(
        &mut self,
        folder: u32,
        folder_name: Option<&OsStr>,
        name: &OsStr,
        path: impl FnOnce() -> PathBuf,
    ) -> Result<(), FolderError> {
        if naming::is_truncated(folder_name, name) {
            return Err(FolderError::Truncated { path: path() });
        }
        match naming::prefix_of(folder_name, name) {
            Some(prefix) => {
                let name = name.as_encoded_bytes();
                let (start, name_len) = (self.names.len() as u32, name.len() as u32);
                self.names.extend_from_slice(name);
                self.files.push(RangeFile { prefix, folder, name: start, name_len });
            }
            None => self.passed_over += 1,
        }
        Ok(())
    }
}

impl fmt::Debug for RangeFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RangeFolder")
            .field("folder", &self.folders.first())
            .field("len", &self.len())
            .field("passed_over", &self.passed_over)
            .finish_non_exhaustive()
    }
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read { path, source } => {
                write!(f, "{}: cannot be read: {source}", path.display())
            }
            Self::Empty { files } => write!(
                f,
                "expected a folder of range files such as 07F07.txt or 0/7/F/07F07.bz2, found none \
                 among {files} files: name the lists in it"
            ),
            Self::Twice { first, second } => write!(
                f,
                "expected one file for each range, found two, {} and {}: name the folder of one \
                 download",
                first.display(),
                second.display()
            ),
            Self::TooDeep { path, limit } => write!(
                f,
                "{}: expected ranges at most {limit} folders deep, found another folder in it: name \
                 the folder of one download, without links that lead back",
                path.display()
            ),
            Self::NotAFile { path } => write!(
                f,
                "{}: expected the file of a range, found a pipe, a socket or a device: remove it, or \
                 put the file in its place",
                path.display()
            ),
            Self::Truncated { path } => write!(
                f,
                "{}: expected the text of a range, found a file of shortened hashes (6 bytes of \
                 each): give the list that it was made from",
                path.display()
            ),
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Read { source, .. } => Some(source),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder_of(files: &[impl AsRef<Path>]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for file in files {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "").unwrap();
        }
        folder
    }

    /// Every layout of a known downloader, with what lies beside the ranges.
    #[test]
    fn every_layout_is_found_in_the_order_of_its_prefixes() {
        for (files, passed_over) in [
            (&["FFFFF.txt", "07F07.txt", "sha1.index", "00000.txt"][..], 1),
            (&["FFFFF", "07F07", "00000"], 0),
            (&["FF/FFFFF", "07/07F07", "00/00000", "README.md"], 1),
            (&["sha1/07/f0/07f07.gz", "sha1/00/00/00000.gz", "sha1/ff/ff/fffff.gz"], 0),
            (&["f/f/f/fffff.gz", "0/7/F/07F07.bz2", "0/0/0/00000", "0/0/0/00000.meta"], 1),
            (&["07/F07", "00/000", "FF/FFF", "etag.txt"], 1),
            (&["07/F07.zst", "00/000.zst", "FF/FFF.zst", "FF/FFFF.zst"], 1),
            (&["07F07.txt.gz", "00000.txt.zst", "FFFFF.txt.bz2", "07F07.json", "7F07.txt"], 2),
        ] {
            let folder = folder_of(files);
            let ranges = RangeFolder::open(folder.path()).unwrap();
            let prefixes: Vec<_> = ranges.prefixes().map(RangePrefix::value).collect();
            assert_eq!(prefixes, [0, 0x07f07, 0xf_ffff], "{files:?}");
            assert_eq!((ranges.len(), ranges.passed_over()), (3, passed_over), "{files:?}");
            for (prefix, path) in ranges.ranges() {
                assert!(path.is_file(), "{path:?}");
                assert_eq!(ranges.file_of(prefix), Some(path));
            }
            assert_eq!(ranges.file_of(RangePrefix::new(1).unwrap()), None);
        }
    }

    #[test]
    fn folders_that_are_not_of_one_download_are_refused() {
        let twice = folder_of(&["sha1/07F07", "ntlm/07f07.gz"]);
        let error = RangeFolder::open(twice.path()).unwrap_err();
        assert!(matches!(error, FolderError::Twice { .. }), "{error}");
        let none = folder_of(&["rockyou.txt", "a/b/list"]);
        let error = RangeFolder::open(none.path()).unwrap_err();
        assert!(error.to_string().contains("none among 2 files"), "{error}");
        let short = folder_of(&["07F07.bin"]);
        let error = RangeFolder::open(short.path()).unwrap_err();
        assert!(error.to_string().contains("6 bytes"), "{error}");
        let error = RangeFolder::open(none.path().join("rockyou.txt")).unwrap_err();
        assert!(matches!(error, FolderError::Read { .. }), "{error}");
    }

    #[test]
    fn ranges_too_deep_to_be_read_are_told() {
        let deep =
            |folders: usize| folder_of(&["07F07".to_owned(), "d/".repeat(folders) + "07F08"]);
        let ranges = RangeFolder::open(deep(MAX_DEPTH).path()).unwrap();
        assert_eq!(ranges.len(), 2);
        let error = RangeFolder::open(deep(MAX_DEPTH + 1).path()).unwrap_err();
        assert!(matches!(error, FolderError::TooDeep { .. }), "{error}");
    }

    #[cfg(unix)]
    #[test]
    fn a_loop_of_links_ends_and_a_link_to_nowhere_is_told() {
        let folder = folder_of(&["a/07F07"]);
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
        let error = RangeFolder::open(folder.path()).unwrap_err();
        assert!(matches!(error, FolderError::TooDeep { limit: MAX_DEPTH, .. }), "{error}");
        let folder = folder_of(&["07F07"]);
        std::os::unix::fs::symlink("nowhere", folder.path().join("07F08")).unwrap();
        let error = RangeFolder::open(folder.path()).unwrap_err();
        assert!(error.to_string().contains("07F08: cannot be read"), "{error}");
    }

    /// A socket can be made without a tool, and is no regular file as a pipe is none.
    #[cfg(unix)]
    #[test]
    fn what_is_named_like_a_range_and_is_no_file_is_refused() {
        use std::os::unix::fs::symlink;
        use std::os::unix::net::UnixListener;
        let folder = folder_of(&["07F07", "elsewhere/list"]);
        let _socket = UnixListener::bind(folder.path().join("socket")).unwrap();
        symlink("elsewhere/list", folder.path().join("07F08")).unwrap();
        let ranges = RangeFolder::open(folder.path()).unwrap();
        assert_eq!((ranges.len(), ranges.passed_over()), (2, 2), "other names are passed over");
        symlink("socket", folder.path().join("07F09.txt")).unwrap();
        let error = RangeFolder::open(folder.path()).unwrap_err();
        assert!(matches!(error, FolderError::NotAFile { .. }), "{error}");
        assert!(error.to_string().contains("07F09.txt: expected the file"), "{error}");
    }
}
