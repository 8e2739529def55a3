//! Where a filter is to be written: whether it can be, before hours are spent on it.

use std::path::Path;

use hapax::codec::{Existing, remove_stale_temporaries};

use super::BuildRequest;
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
    match folder_of(output).metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(Trouble::new(format_args!("{name}: cannot be written: not in a folder"))),
        Err(error) => Err(Trouble::new(format_args!("{name}: cannot be written: {error}"))),
    }
}

/// Removes what killed builds left, each as large as a filter. What cannot be removed stays.
pub(super) fn tidy(output: &Path) {
    let _ = remove_stale_temporaries(folder_of(output));
}

/// The folder that a file lies in.
pub(super) fn folder_of(output: &Path) -> &Path {
    let folder = output.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}
