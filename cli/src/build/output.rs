//! Where a filter is to be written: whether it can be, before hours are spent on it.

use std::io::ErrorKind;
use std::path::Path;

use hapax::codec::{Existing, FileError, remove_stale_temporaries};
use rustix::fs::Access;

use super::{BuildRequest, grouped};
use crate::lists::OpenList;
use crate::trouble::{Trouble, shown};

/// Looks for what would make the result unwritable. Changes nothing.
///
/// # Errors
///
/// Why the output cannot be written.
pub(super) fn check(request: &BuildRequest, lists: &[OpenList]) -> Result<(), Trouble> {
    let output = &request.output;
    let name = shown(output);
    if output.as_os_str() == "-" {
        return Err(Trouble::new(
            "a filter is written to a file, not to standard output: name one with --output",
        ));
    }
    if let Ok(metadata) = output.metadata() {
        if lists.iter().any(|list| list.holds(&metadata, output)) {
            return Err(Trouble::new(format_args!(
                "{name}: the output is one of the lists: give another name"
            )));
        }
        if !metadata.is_file() {
            return Err(Trouble::new(format_args!(
                "{name}: expected a file to write to, found a folder or a device"
            )));
        }
        if request.existing == Existing::Refuse {
            return Err(Trouble::new(format_args!(
                "{name}: the file exists: give another name, or --force to replace it"
            )));
        }
    }
    let folder = folder_of(output);
    let cannot = |why: std::fmt::Arguments<'_>| {
        let folder = shown(folder);
        Err(Trouble::new(format_args!("{name}: cannot be written: the folder {folder} {why}")))
    };
    match folder.metadata() {
        Ok(metadata) if metadata.is_dir() => {}
        Ok(_) => return cannot(format_args!("is a file: name another one")),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return cannot(format_args!("does not exist: make it, or name another one"));
        }
        Err(error) => return cannot(format_args!("cannot be looked at: {error}")),
    }
    match rustix::fs::access(folder, Access::WRITE_OK | Access::EXEC_OK) {
        Err(rustix::io::Errno::ROFS) => {
            cannot(format_args!("is on a file system that is read-only: name another one"))
        }
        Err(rustix::io::Errno::ACCESS) => {
            cannot(format_args!("may not be written to by this user: name another one"))
        }
        // What else may be wrong is found when the file is made.
        _ => Ok(()),
    }
}

/// Why the filter could not be written. `needed` is how large it would have been, if that can be told.
pub(super) fn failed(
    request: &BuildRequest,
    error: &FileError,
    needed: impl FnOnce() -> Option<u64>,
) -> Trouble {
    match error {
        FileError::Io { path, source }
            if matches!(source.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) =>
        {
            let needed = needed().map(|bytes| format!("about {} bytes are needed", grouped(bytes)));
            let free =
                free(&request.output).map(|bytes| format!("{} bytes are free", grouped(bytes)));
            let [needed, free] = [needed, free].map(Option::unwrap_or_default);
            let link = if needed.is_empty() || free.is_empty() { "" } else { ", " };
            Trouble::new(format_args!(
                "{}: the disk is full: {needed}{link}{free}: make room, or name an --output on another \
                 disk (a higher --false-positive-rate takes less)",
                shown(path)
            ))
        }
        error => Trouble::file(error),
    }
}

/// Bytes that the disk of the output has left, for who does not administrate it; `None` if the system
/// does not say.
pub(super) fn free(output: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(folder_of(output)).ok()?;
    disk.f_bavail.checked_mul(disk.f_frsize)
}

/// Removes what killed builds left, each as large as a filter. What cannot be removed stays.
pub(super) fn tidy(output: &Path) {
    let _ = remove_stale_temporaries(folder_of(output));
}

/// The folder that a file lies in.
fn folder_of(output: &Path) -> &Path {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
