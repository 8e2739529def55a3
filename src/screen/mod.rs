//! Screening passwords against a list of compromised ones, offline.
//!
//! ```text
//!  list  ──rows──▶ SHA-1 or NT ──16 bytes──▶ KeyHash ──▶ filter      once, by whoever has the list
//!  (plain, or hashes with counts)                          │
//!                                                          ▼
//!  password ─────▶ SHA-1 or NT ──16 bytes──▶ KeyHash ──▶ Screen ──▶ Listed │ NotListed
//! ```
//!
//! The filter's keys are the hashes that breach lists are traded in, so one artefact answers plain
//! passwords and hashes alike, and a list of hashes never has to be cracked to be used.
//!
//! - [`Screen`] asks a filter about a password, a SHA-1 or an NT hash.
//! - [`list`] reads lists, in every shape they are found in, and loses no row in silence.
//! - [`digest`] has the two hash functions.
//!
//! # What a mistake costs
//!
//! | | | |
//! |---|---|---|
//! | false negative | a breached password is accepted, and nobody learns of it | never happens |
//! | false positive | one good password is refused, to everyone who picks it, until the next build | at the filter's rate: at 2⁻¹⁶, 1.5 in 100,000 changes |
//!
//! What cannot be answered (an NT hash asked of a SHA-1 list, bytes that have no NT hash) is a
//! [`ScreenError`], never "not listed". Treat it as *unknown*: neither accept nor refuse on it.
//!
//! # Secrets
//!
//! No error and no `Debug` of this module shows a password, a part of one, or its hash. Buffers
//! that held passwords are wiped when dropped. Not covered: the caller's own copies, the 16 bytes
//! of a [`KeyHash`](crate::KeyHash) on the stack, swap, and the kernel's buffers.
//!
//! SHA-1 and NT serve here as lookup keys, because the lists are made of them. They are not a way
//! to store passwords.

pub mod confirm;
pub mod digest;
mod error;
mod hex;
pub mod list;
mod naming;
#[expect(clippy::module_inception, reason = "`Screen` in `screen::screen`, re-exported here")]
mod screen;
mod verdict;

pub use confirm::{ConfirmError, ConfirmList, Confirmation};
pub use digest::{NotUtf8, PasswordDigest};
pub use error::ScreenError;
pub use screen::{Scratch, Screen};
pub use verdict::{Finding, PasswordForm, Verdict};
