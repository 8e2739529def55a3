//! Why a state could not be kept or found.

use std::fmt;

use super::names::SegmentId;
use super::storage::StorageError;
use crate::codec::DecodeError;

/// Why a state could not be kept or found. Nothing was taken for an empty state.
#[derive(Debug)]
#[non_exhaustive]
pub enum StateError {
    /// The place failed, or an object is not there.
    Storage(StorageError),
    /// An object is not what it must be.
    Damaged {
        /// The object.
        object: String,
        /// What is wrong with it.
        source: DecodeError,
    },
    /// The place is empty.
    Nothing,
    /// A state was to be created where there is one, or what is left of one.
    Occupied {
        /// Manifests that are there.
        manifests: u64,
        /// Segments that are there.
        segments: u64,
    },
    /// There are segments and no manifest.
    NoManifest {
        /// Segments that are there.
        segments: u64,
        /// One of them.
        example: SegmentId,
    },
    /// There are manifests, and none of them is whole with all that it names.
    NoneVerifies {
        /// Each of them and why not.
        skipped: Vec<Skipped>,
    },
    /// Another writer has taken the state over. This one can do nothing to it any more.
    Fenced {
        /// The fencing number of the other one.
        by: u64,
        /// The fencing number of this one.
        ours: u64,
    },
    /// Other writers were faster each time.
    Contended {
        /// How often it was tried.
        attempts: u32,
    },
    /// Somebody deleted the manifest that this writer had published last.
    Vanished {
        /// The object.
        object: String,
    },
    /// What was to be published contradicts itself or what is there.
    Invalid {
        /// Which part.
        what: &'static str,
        /// What it must be.
        expected: String,
        /// What it is.
        found: String,
    },
}

/// A manifest that was passed over.
#[derive(Debug)]
#[non_exhaustive]
pub struct Skipped {
    /// Its number.
    pub number: u64,
    /// Why it does not verify.
    pub why: Box<StateError>,
}

impl fmt::Display for Skipped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "manifest {}: {}", self.number, self.why)
    }
}

impl StateError {
    pub(super) fn damaged(object: impl Into<String>, source: DecodeError) -> Self {
        Self::Damaged { object: object.into(), source }
    }

    pub(super) fn invalid(
        what: &'static str,
        expected: impl fmt::Display,
        found: impl fmt::Display,
    ) -> Self {
        Self::Invalid { what, expected: expected.to_string(), found: found.to_string() }
    }

    /// Whether objects are missing or wrong, so that an older manifest is the best there is. A place
    /// that failed may answer the next time, and a newer format is not damage: both are no reason to go
    /// back.
    pub(super) fn is_damage(&self) -> bool {
        match self {
            Self::Storage(error) => matches!(
                error,
                StorageError::NotFound { .. }
                    | StorageError::TooLong { .. }
                    | StorageError::TooShort { .. }
            ),
            Self::Damaged { source, .. } => !matches!(
                source,
                DecodeError::NewerVersion { .. } | DecodeError::OutOfMemory { .. }
            ),
            _ => false,
        }
    }
}

impl From<StorageError> for StateError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Storage(error) => error.fmt(f),
            Self::Damaged { object, source } => write!(f, "{object}: {source}"),
            Self::Nothing => f.write_str(
                "expected a state, found nothing: create one, or look whether the place is the right \
                 one",
            ),
            Self::Occupied { manifests, segments } => write!(
                f,
                "expected an empty place, found {manifests} manifests and {segments} segments: open \
                 that state, or erase it by a reset, which forgets every tuple in it"
            ),
            Self::NoManifest { segments, example } => write!(
                f,
                "expected a manifest, found none beside {segments} segments, {example} among them: \
                 bring the manifest back from a copy, or erase the rest by a reset, which forgets \
                 every tuple in it"
            ),
            Self::NoneVerifies { skipped } => {
                write!(f, "expected a whole state, found none of {} manifests whole", skipped.len())?;
                for skipped in skipped {
                    write!(f, "; {skipped}")?;
                }
                f.write_str(
                    "; bring the objects back from a copy, or erase the rest by a reset, which forgets \
                     every tuple in it",
                )
            }
            Self::Fenced { by, ours } => write!(
                f,
                "writer {by} has taken the state over from this one, writer {ours}: stop, and \
                 acknowledge nothing that is not yet published"
            ),
            Self::Contended { attempts } => write!(
                f,
                "other writers published first, {attempts} times in a row: stop them before the \
                 state is taken over"
            ),
            Self::Vanished { object } => write!(
                f,
                "{object}, published by this writer, was deleted by somebody else: stop, and open \
                 the state anew"
            ),
            Self::Invalid { what, expected, found } => {
                write!(f, "invalid {what}: expected {expected}, found {found}")
            }
        }
    }
}

/// No `source()`: the message says all of it, and reporters that walk the chain would say it twice.
impl std::error::Error for StateError {}
