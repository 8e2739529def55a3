//! Objects as files of one folder.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::storage::{Storage, StorageError, StoredObject, check_name};
use crate::codec::{FileError, SaveOptions, remove_stale_temporaries, write_file};

/// A folder whose files are the objects.
///
/// An object is written to a temporary file, synced, given its name only if that is free, and the
/// folder is synced. One writer at a time holds the folder: it locks the file `.lock` in it until
/// it is dropped, and a second one, in this or another process, is told who that is. On a file
/// system without locks only the fencing of [`StateStore`](super::StateStore) keeps writers apart.
/// Reading needs no lock.
///
/// # Examples
///
/// ```
/// use hapax::replay::state::{LocalDirectory, Storage};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("state");
/// let writer = LocalDirectory::create(&path)?;
/// writer.put_new("greeting", b"hello")?;
/// assert!(LocalDirectory::open(&path).is_err()); // it is held
///
/// let reader = LocalDirectory::read_only(&path)?;
/// assert_eq!(reader.get("greeting", 100)?, b"hello");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct LocalDirectory {
    path: PathBuf,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Read,
    /// The locked file, unless the file system has no locks.
    Write {
        _lock: Option<File>,
    },
}

const LOCK_NAME: &str = ".lock";

impl LocalDirectory {
    /// Makes the folder if it is not there, in one that is, and opens it for writing.
    ///
    /// # Errors
    ///
    /// As [`open`](Self::open); if the folder cannot be made.
    pub fn create(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        let path = absolute(path.as_ref());
        let made = match fs::create_dir(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            Err(error) => Err(error),
            // Makes the folder's own name durable.
            Ok(()) => path.parent().map_or(Ok(()), sync_folder),
        };
        made.map_err(|error| StorageError::io(shown(&path), error))?;
        Self::open(path)
    }

    /// Opens a folder that is there for writing, and removes what killed writers have left half
    /// written.
    ///
    /// # Errors
    ///
    /// [`StorageError::Locked`] if a writer has it open; if it is not there or not a folder.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        let Self { path, .. } = Self::read_only(path)?;
        let lock = lock(&path.join(LOCK_NAME))?;
        remove_stale_temporaries(&path).map_err(|error| StorageError::io(shown(&path), error))?;
        Ok(Self { path, access: Access::Write { _lock: lock } })
    }

    /// Opens a folder that is there for reading, whoever writes to it.
    ///
    /// # Errors
    ///
    /// If it is not there or not a folder.
    pub fn read_only(path: impl AsRef<Path>) -> Result<Self, StorageError> {
        let path = absolute(path.as_ref());
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => Ok(Self { path, access: Access::Read }),
            Ok(_) => {
                let message = "expected a folder, found something else";
                let error = io::Error::new(io::ErrorKind::NotADirectory, message);
                Err(StorageError::io(shown(&path), error))
            }
            Err(error) => Err(StorageError::io(shown(&path), error)),
        }
    }

    /// The folder, as an absolute path where it can be told.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn file(&self, name: &str) -> Result<PathBuf, StorageError> {
        check_name(name)?;
        Ok(self.path.join(name))
    }

    fn require_writable(&self) -> Result<(), StorageError> {
        match self.access {
            Access::Write { .. } => Ok(()),
            Access::Read => Err(StorageError::ReadOnly { place: shown(&self.path) }),
        }
    }

    /// Opens an object and says how long it is.
    fn opened(&self, name: &str) -> Result<(String, File, u64), StorageError> {
        let path = self.file(name)?;
        let object = shown(&path);
        let opened = File::open(&path).and_then(|file| {
            let len = file.metadata()?.len();
            Ok((file, len))
        });
        match opened {
            Ok((file, len)) => Ok((object, file, len)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Err(StorageError::NotFound { object })
            }
            Err(error) => Err(StorageError::io(object, error)),
        }
    }
}

impl Storage for LocalDirectory {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.require_writable()?;
        let path = self.file(name)?;
        let written = write_file(&path, SaveOptions::default(), |out| out.write_all(bytes));
        written.map_err(|error| match error {
            FileError::Exists { .. } => StorageError::AlreadyExists { object: shown(&path) },
            FileError::Io { source, .. } => StorageError::io(shown(&path), source),
            FileError::Decode { source, .. } => {
                StorageError::io(shown(&path), io::Error::other(source))
            }
        })
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        let (object, file, found) = self.opened(name)?;
        if found > max_len {
            return Err(StorageError::TooLong { object, max_len, found });
        }
        read(object, file, 0, found)
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        let (object, file, found) = self.opened(name)?;
        let expected = offset.saturating_add(len);
        if expected > found {
            return Err(StorageError::TooShort { object, expected, found });
        }
        read(object, file, offset, len)
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        let rows = fs::read_dir(&self.path).and_then(|entries| {
            let mut rows = Vec::new();
            for entry in entries {
                let entry = entry?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                if check_name(&name).is_err() {
                    continue;
                }
                match fs::metadata(entry.path()) {
                    Ok(metadata) if metadata.is_file() => {
                        rows.push(StoredObject { name, len: metadata.len() });
                    }
                    Ok(_) => {}
                    // Deleted since the folder was read.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
            Ok(rows)
        });
        rows.map_err(|error| StorageError::io(shown(&self.path), error))
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.require_writable()?;
        let path = self.file(name)?;
        let deleted = match fs::remove_file(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => Err(error),
            Ok(()) => sync_folder(&self.path),
        };
        deleted.map_err(|error| StorageError::io(shown(&path), error))
    }
}

/// Reads bytes that the file's length covers; it may have been cut since it was asked.
fn read(object: String, mut file: File, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
    let mut bytes = Vec::new();
    let read = file
        .seek(SeekFrom::Start(offset))
        .and_then(|_| bytes.try_reserve_exact(len as usize).map_err(io::Error::other))
        .and_then(|()| file.take(len).read_to_end(&mut bytes));
    match read {
        Err(error) => Err(StorageError::io(object, error)),
        Ok(read) if read as u64 == len => Ok(bytes),
        Ok(read) => Err(StorageError::TooShort {
            object,
            expected: offset.saturating_add(len),
            found: offset.saturating_add(read as u64),
        }),
    }
}

/// Locks a file and writes into it who holds it. `None` on a file system without locks.
fn lock(path: &Path) -> Result<Option<File>, StorageError> {
    let at_path = |error| StorageError::io(shown(path), error);
    let mut options = OpenOptions::new();
    let mut file =
        options.read(true).write(true).create(true).truncate(false).open(path).map_err(at_path)?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(StorageError::Locked { path: shown(path), holder: holder(&mut file) });
        }
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => {
            return Ok(None);
        }
        Err(TryLockError::Error(error)) => return Err(at_path(error)),
    }
    // Only for the error of who comes second, so it need not be durable.
    let line = format!("process {}\n", std::process::id());
    file.set_len(0).and_then(|()| file.write_all(line.as_bytes())).map_err(at_path)?;
    Ok(Some(file))
}

/// Who wrote itself into a lock file. Its bytes are not repeated: it may not be ours.
fn holder(file: &mut File) -> String {
    const LONGEST: u64 = 64;
    let mut text = String::new();
    let process = match file.take(LONGEST).read_to_string(&mut text) {
        Ok(_) => text.trim_end().strip_prefix("process ").and_then(|id| id.parse::<u32>().ok()),
        Err(_) => None,
    };
    match process {
        Some(id) if id == std::process::id() => format!("this process, {id}"),
        Some(id) => format!("process {id}"),
        None => "another process".to_owned(),
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_written_once_listed_and_deleted() {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalDirectory::create(folder.path().join("state")).unwrap();
        storage.put_new("a-1.x", b"0123456789").unwrap();
        let again = storage.put_new("a-1.x", b"other").unwrap_err();
        assert!(matches!(again, StorageError::AlreadyExists { .. }), "{again}");
        assert_eq!(storage.get("a-1.x", 10).unwrap(), b"0123456789");
        assert_eq!(storage.get_range("a-1.x", 3, 4).unwrap(), b"3456");
        assert_eq!(storage.list().unwrap(), [StoredObject { name: "a-1.x".into(), len: 10 }]);

        let short = storage.get_range("a-1.x", 3, u64::MAX).unwrap_err().to_string();
        assert!(short.contains("found 10"), "{short}");
        let long = storage.get("a-1.x", 9).unwrap_err();
        assert!(matches!(long, StorageError::TooLong { max_len: 9, found: 10, .. }), "{long}");
        storage.delete("a-1.x").unwrap();
        storage.delete("a-1.x").unwrap();
        let gone = storage.get("a-1.x", 10).unwrap_err().to_string();
        assert!(gone.contains("a-1.x: not there"), "{gone}");
    }

    #[test]
    fn a_second_writer_is_told_who_is_first_and_a_reader_may_come() {
        let folder = tempfile::tempdir().unwrap();
        let first = LocalDirectory::open(folder.path()).unwrap();
        let second = LocalDirectory::open(folder.path()).unwrap_err().to_string();
        assert!(second.contains(".lock is locked by this process, "), "{second}");
        let reader = LocalDirectory::read_only(folder.path()).unwrap();
        let refused = [reader.put_new("a", b""), reader.delete("a")];
        for refused in refused {
            assert!(matches!(refused, Err(StorageError::ReadOnly { .. })), "{refused:?}");
        }
        drop(first);
        LocalDirectory::open(folder.path()).unwrap();
    }

    #[test]
    fn names_that_could_lead_elsewhere_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let storage = LocalDirectory::open(folder.path()).unwrap();
        for name in ["", ".", "..", "../a", "a/b", "A", "-a", ".lock", "ä", &"a".repeat(65)] {
            let refused =
                [storage.put_new(name, b""), storage.get(name, 1).map(drop), storage.delete(name)];
            for refused in refused {
                assert!(matches!(refused, Err(StorageError::InvalidName { .. })), "{name:?}");
            }
        }
        assert_eq!(storage.list().unwrap(), []);
    }

    #[test]
    fn a_folder_that_is_none_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, b"x").unwrap();
        for path in [file, folder.path().join("missing")] {
            assert!(LocalDirectory::open(&path).is_err());
            assert!(LocalDirectory::read_only(&path).is_err());
        }
        assert!(LocalDirectory::create(folder.path().join("missing/state")).is_err());
    }
}
