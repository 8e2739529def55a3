//! Files that appear whole or not at all.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tempfile::{Builder, NamedTempFile};

use super::artefact::{Existing, Readers, SaveOptions};
use super::error::FileError;

/// Writes any file as artefacts are written: by way of a temporary one in the same folder, synced
/// and renamed, so that there is the old file or the whole new one.
///
/// # Errors
///
/// [`FileError::Io`] if the file cannot be written, or with what `content` returns;
/// [`FileError::Exists`] if it exists and is not to be replaced.
pub fn write_file(
    path: &Path,
    options: SaveOptions,
    content: impl FnOnce(&mut BufWriter<&mut File>) -> io::Result<()>,
) -> Result<(), FileError> {
    let mut draft = Draft::create(path, options)?;
    let mut out = BufWriter::new(draft.file());
    let written = content(&mut out).and_then(|()| out.flush());
    drop(out);
    written.map_err(|error| draft.error(error))?;
    draft.publish()
}

/// A file that is being written, under a temporary name until it is whole. Dropped before that, it
/// leaves nothing.
#[derive(Debug)]
pub(super) struct Draft {
    path: PathBuf,
    target: PathBuf,
    existing: Existing,
    temporary: NamedTempFile,
    /// Opened before anything is written, so that what can fail does so while the old file stands.
    folder: File,
    /// What the file is opened to at the end. Until then it is its owner's alone.
    #[cfg(unix)]
    permissions: Option<std::fs::Permissions>,
}

impl Draft {
    pub(super) fn create(
        path: &Path,
        SaveOptions { existing, readers }: SaveOptions,
    ) -> Result<Self, FileError> {
        if existing == Existing::Refuse && path.symlink_metadata().is_ok() {
            return Err(FileError::exists(path));
        }
        let at_path = |error| FileError::io(path, error);
        let target = target_of(path).map_err(at_path)?;
        let folder_path = folder_of(&target);
        let folder = File::open(&folder_path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => {
                at_path(io::Error::new(error.kind(), "its folder does not exist: make it first"))
            }
            _ => at_path(error),
        })?;

        let temporary = temporary_file(&folder_path, readers).map_err(at_path)?;
        // Tells `remove_stale_temporaries` that somebody is at work. On a file system without locks
        // it fails, there as here, and stale files stay.
        let _ = temporary.as_file().try_lock();
        #[cfg(unix)]
        let permissions = match readers {
            Readers::Owner => None,
            Readers::Umask => Some(close(&target, temporary.as_file()).map_err(at_path)?),
        };
        Ok(Self {
            path: path.to_owned(),
            target,
            existing,
            temporary,
            folder,
            #[cfg(unix)]
            permissions,
        })
    }

    /// Closes the file to all but its owner.
    pub(super) fn restrict(&mut self) {
        #[cfg(unix)]
        {
            self.permissions = None;
        }
    }

    pub(super) fn file(&mut self) -> &mut File {
        self.temporary.as_file_mut()
    }

    /// What is wrong with writing this file.
    pub(super) fn error(&self, error: io::Error) -> FileError {
        FileError::io(&self.path, error)
    }

    /// Makes the file durable and gives it its name.
    pub(super) fn publish(self) -> Result<(), FileError> {
        #[cfg(unix)]
        let permissions = self.permissions.clone();
        let Self { path, target, existing, temporary, folder, .. } = self;
        let at_path = |error| FileError::io(&path, error);
        #[cfg(unix)]
        if let Some(permissions) = permissions {
            temporary.as_file().set_permissions(permissions).map_err(at_path)?;
        }
        temporary.as_file().sync_all().map_err(at_path)?;
        let persisted = match existing {
            Existing::Replace => temporary.persist(&target),
            // Another process may have made the file since it was looked for.
            Existing::Refuse => temporary.persist_noclobber(&target),
        };
        persisted.map_err(|error| match error.error.kind() {
            io::ErrorKind::AlreadyExists => FileError::exists(&path),
            _ => FileError::io(&path, error.error),
        })?;
        // Makes the rename durable.
        folder.sync_all().map_err(at_path)
    }
}

/// The file that a path names through symbolic links: the link stays, and what it points to is
/// replaced. A link that leads nowhere is itself replaced. Devices, pipes and folders are not.
fn target_of(path: &Path) -> io::Result<PathBuf> {
    let target = match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(path.to_owned()),
        target => target?,
    };
    if target.metadata()?.is_file() {
        return Ok(target);
    }
    let message = "expected a file to replace, found a folder, a device or a pipe";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

fn folder_of(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    }
}

/// Removes temporary files that killed processes left in a folder, and says how many: those that
/// nobody holds locked and that are older than a minute. One read of the folder.
///
/// # Errors
///
/// If the folder cannot be read. A file that cannot be removed is left and not counted.
pub fn remove_stale_temporaries(folder: impl AsRef<Path>) -> io::Result<u64> {
    let mut removed = 0;
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.as_encoded_bytes();
        if name.starts_with(PREFIX.as_bytes()) && name.ends_with(SUFFIX.as_bytes()) {
            removed +=
                u64::from(is_stale(&entry.path()) && std::fs::remove_file(entry.path()).is_ok());
        }
    }
    Ok(removed)
}

fn is_stale(path: &Path) -> bool {
    const YOUNG: Duration = Duration::from_mins(1);
    let Ok(file) = File::open(path) else { return false };
    let age = file.metadata().and_then(|metadata| metadata.modified());
    let old = age.is_ok_and(|modified| modified.elapsed().is_ok_and(|age| age > YOUNG));
    old && file.try_lock().is_ok()
}

/// How temporary files are called: `.hapax-XXXXXX.tmp`.
const PREFIX: &str = ".hapax-";
const SUFFIX: &str = ".tmp";

/// A temporary file with the permissions of any new file; the crate's default would be 0600.
fn temporary_file(folder: &Path, readers: Readers) -> io::Result<NamedTempFile> {
    let mut builder = Builder::new();
    builder.prefix(PREFIX).suffix(SUFFIX);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = match readers {
            Readers::Umask => 0o666,
            Readers::Owner => 0o600,
        };
        builder.permissions(std::fs::Permissions::from_mode(mode));
    }
    #[cfg(not(unix))]
    let _ = readers;
    builder.tempfile_in(folder).map_err(|error| match error.kind() {
        // Without the made-up name, which means nothing to anybody.
        io::ErrorKind::PermissionDenied => {
            io::Error::new(error.kind(), "its folder may not be written to by this user")
        }
        kind @ (io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded) => kind.into(),
        _ => error,
    })
}

/// Closes the new file to all but its owner while it is written, and says what it is to be opened to: as
/// the one that it replaces, so that a file closed to others is not opened to them by the next save, or
/// as any new file.
#[cfg(unix)]
fn close(replaced: &Path, new: &File) -> io::Result<std::fs::Permissions> {
    use std::os::unix::fs::PermissionsExt;
    let of_any_new_file = new.metadata()?.permissions();
    new.set_permissions(std::fs::Permissions::from_mode(0o600))?;
    Ok(match std::fs::metadata(replaced) {
        Ok(old) if old.is_file() => old.permissions(),
        _ => of_any_new_file,
    })
}
