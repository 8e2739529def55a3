//! Why a screen has no answer.

use std::fmt;

use super::confirm::ConfirmError;
use super::digest::NotUtf8;
use super::verdict::PasswordForm;
use crate::hash::{Digest, HashError, HashIdentity};

/// Why a password could not be looked up: it is neither listed nor not listed, it is *unknown*.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScreenError {
    /// The filter's keys are of another kind.
    Unanswerable {
        /// How the password was given.
        asked: PasswordForm,
        /// What the filter's keys are.
        holds: HashIdentity,
    },
    /// The filter holds NT hashes, and the password is not UTF-8.
    NotUtf8(NotUtf8),
    /// The filter cannot hash passwords now; its secret key is missing.
    Hash(HashError),
    /// The filter says maybe, and the list that should confirm cannot tell.
    Confirm(Box<ConfirmError>),
}

impl From<NotUtf8> for ScreenError {
    fn from(error: NotUtf8) -> Self {
        Self::NotUtf8(error)
    }
}

impl From<HashError> for ScreenError {
    fn from(error: HashError) -> Self {
        Self::Hash(error)
    }
}

impl From<ConfirmError> for ScreenError {
    fn from(error: ConfirmError) -> Self {
        Self::Confirm(Box::new(error))
    }
}

impl fmt::Display for ScreenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswerable { asked, holds } => {
                let (keys, advice) = match holds {
                    HashIdentity::Uniform(Digest::Sha1) => {
                        ("SHA-1 hashes", "ask with plain passwords or SHA-1 hashes")
                    }
                    HashIdentity::Uniform(Digest::Nt) => {
                        ("NT hashes", "ask with plain passwords or NT hashes")
                    }
                    HashIdentity::Uniform(Digest::Unspecified) => (
                        "hashes of an unnamed kind",
                        "build it again from the list, naming the digest",
                    ),
                    HashIdentity::Xxh3(_) | HashIdentity::Siphash(_) => {
                        ("keys hashed by the filter itself", "ask with plain passwords")
                    }
                };
                write!(f, "{asked} cannot be looked up in a filter of {keys}: {advice}")
            }
            Self::NotUtf8(error) => error.fmt(f),
            Self::Hash(error) => error.fmt(f),
            Self::Confirm(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScreenError {}
