//! The replay filter of a run and the file it is kept in.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hapax::codec::{
    Artefact, Existing, Provenance, Readers, SaveOptions, remove_stale_temporaries,
};
use hapax::replay::{Counts, GenerationWindow, ReplayFilter};
use hapax::{Builder, CuckooFilter, InsertError, Membership, Seen};

use super::lines::Id;
use crate::trouble::{Trouble, shown};

type Filter = ReplayFilter<GenerationWindow<CuckooFilter>>;

/// What a state file holds.
pub(crate) type SavedState = Artefact<Filter>;

/// What the user said of the size; a restored state decides what was not said.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sizing {
    pub(super) capacity: Option<u64>,
    pub(super) rate: Option<f64>,
}

const DEFAULT_CAPACITY: u64 = 1_000_000;
const DEFAULT_RATE: f64 = 1e-8;

/// The filter, and where it is kept.
pub(super) struct State {
    artefact: Artefact<Filter>,
    kept: Option<Kept>,
}

/// A state file, as this run last saw it.
struct Kept {
    path: PathBuf,
    /// `None` before the first save.
    file: Option<Identity>,
}

/// Inode and time it was written: every save makes a new file, and inodes are used again.
type Identity = (u64, i64, i64);

impl Kept {
    /// The file that is there now.
    fn seen(path: &Path) -> Result<Option<Identity>, Trouble> {
        match path.metadata() {
            Ok(metadata) => Ok(Some((metadata.ino(), metadata.mtime(), metadata.mtime_nsec()))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Trouble::reading(shown(path), &error)),
        }
    }
}

impl State {
    /// Restores the state from its file, or starts anew where there is none.
    ///
    /// # Errors
    ///
    /// If the file is there and is not a whole, undamaged state: it is never taken for an empty
    /// one. If the state was made with other keys or another size than asked for.
    pub(super) fn open(path: Option<&Path>, sizing: Sizing, id: &Id) -> Result<Self, Trouble> {
        let Some(path) = path else { return Self::new(None, sizing, id) };
        tidy(path);
        // Only "not found" means a first run; whatever else hinders reading is an error.
        match path.try_exists() {
            Ok(false) => Self::new(Some(path), sizing, id),
            _ => Self::restore(path, sizing, id),
        }
    }

    fn new(path: Option<&Path>, sizing: Sizing, id: &Id) -> Result<Self, Trouble> {
        let capacity = sizing.capacity.unwrap_or(DEFAULT_CAPACITY);
        let rate = sizing.rate.unwrap_or(DEFAULT_RATE);
        let window = GenerationWindow::new(&builder(capacity, rate)).map_err(Trouble::new)?;
        let filter = ReplayFilter::new(window);
        let provenance = Provenance {
            source: id.to_string(),
            tool: concat!("hapax ", env!("CARGO_PKG_VERSION"), " dedup").to_owned(),
            ..Provenance::default()
        };
        let kept = path.map(|path| Kept { path: path.to_owned(), file: None });
        Ok(Self { artefact: Artefact { filter, provenance }, kept })
    }

    fn restore(path: &Path, sizing: Sizing, id: &Id) -> Result<Self, Trouble> {
        let file = Kept::seen(path)?;
        let artefact = Artefact::<Filter>::load(path).map_err(|error| Trouble::file(&error))?;
        let mismatch = |what: &str, expected: &str, found: &str| {
            Trouble::new(format_args!(
                "{}: the state was made with {what} {found}, and {expected} is asked for: run with \
                 what it was made with, or start another state",
                shown(path)
            ))
        };
        let source = artefact.provenance.source.as_str();
        if source != id.to_string() {
            let source = source.escape_debug().to_string();
            return Err(mismatch("keys that are", &id.to_string(), &source));
        }
        let window = artefact.filter.window();
        if let Some(expected) = sizing.capacity
            && expected != window.capacity()
        {
            let (expected, found) = (expected.to_string(), window.capacity().to_string());
            return Err(mismatch("a capacity of", &expected, &found));
        }
        if let Some(rate) = sizing.rate {
            let found = window.stats().bit_len;
            let builder = builder(window.capacity(), rate);
            let expected = GenerationWindow::plan(&builder).map_err(Trouble::new)?.bit_len;
            if expected != found {
                let expected = format!("{expected} bits (for a rate of {rate:e})");
                return Err(mismatch("a size of", &expected, &format!("{found} bits")));
            }
        }
        let kept = Kept { path: path.to_owned(), file };
        Ok(Self { artefact, kept: Some(kept) })
    }

    /// Says what it starts from.
    pub(super) fn announce(&self) {
        let Some(Kept { path, .. }) = &self.kept else { return };
        let counts = self.counts();
        crate::note(&if counts.judged() == 0 {
            format!("{}: starts empty", shown(path))
        } else {
            format!("{}: restored, {} lines read before", shown(path), counts.judged())
        });
    }

    pub(super) fn admit(&mut self, key: &[u8]) -> Result<Seen, InsertError> {
        self.artefact.filter.admit(key)
    }

    pub(super) fn counts(&self) -> Counts {
        self.artefact.filter.counts()
    }

    /// Whether there is a file to save it in.
    pub(super) const fn is_saved(&self) -> bool {
        self.kept.is_some()
    }

    /// Replaces the file atomically. It is a membership oracle of the lines: for the owner alone.
    ///
    /// # Errors
    ///
    /// If it cannot be written, or is no longer the one that this run read or wrote: then another
    /// run uses the same state, and one would forget what the other has seen.
    pub(super) fn save(&mut self) -> Result<(), Trouble> {
        let Some(Kept { path, file }) = &mut self.kept else { return Ok(()) };
        if Kept::seen(path)? != *file {
            return Err(Trouble::new(format_args!(
                "{}: another run has replaced this state meanwhile; it was left, and does not cover \
                 what this run has read since it last saved: give each run a state of its own",
                shown(path)
            )));
        }
        let options = SaveOptions { existing: Existing::Replace, readers: Readers::Owner };
        self.artefact.save(&*path, options).map_err(|error| Trouble::file(&error))?;
        *file = Kept::seen(path)?;
        Ok(())
    }
}

/// Removes what killed runs have left beside the state. A matter of disk space only, so what cannot
/// be removed stays.
fn tidy(state: &Path) {
    let folder = state.parent().filter(|folder| !folder.as_os_str().is_empty());
    let _ = remove_stale_temporaries(folder.unwrap_or(Path::new(".")));
}

fn builder(capacity: u64, rate: f64) -> Builder<CuckooFilter> {
    CuckooFilter::builder().capacity(capacity).false_positive_rate(rate)
}
