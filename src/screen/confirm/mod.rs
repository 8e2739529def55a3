//! Looking hashes up in the list itself: exact answers, with counts.
//!
//! A filter's "no" is certain and its "maybe" is not. Whoever still has the list on disk can have
//! both certain: the filter answers nearly everything from memory, and only its few positives cost
//! a look into the list.
//!
//! ```text
//!  one sorted file                                    a folder of range files
//!
//!  0 ───────────── hash space ──────────── 2^64       first 5 digits ──▶ name of a file
//!  │ low      guess = low + (h - low)·bytes/keys      its ~2,000 rows are all looked at,
//!  ├──────────[ 4 KiB ]───────────────────┤           sorted or not
//!             first ≤ h ≤ last: decided here
//!             h < first: high = first; h > last: low = last; guess again
//! ```
//!
//! Hashes are uniform, so a guess by interpolation lands within √n rows of the right place, and
//! the next one within √√n: three or four reads find a row among two billion ([Perl, Itai and
//! Avni, 1978], log log n probes). Should a list not be uniform, every other guess after the
//! eighth halves the window.
//!
//! # Never "not found" where it is "cannot tell"
//!
//! Tools that search a sorted file report "not found" for everything if the file is sorted by
//! count, is of other hashes, or stops in the middle. Here each is a [`ConfirmError`]:
//!
//! | wrong | noticed |
//! |---|---|
//! | not sorted by hash | every block read must be in order, and lie between those left and right of it; 16 blocks are compared when it is opened |
//! | hashes of the other kind, rows cut or damaged | every row read must be whole |
//! | a part of the list is missing | a hash between two rows that are 64 times as far apart as rows are on average is not "not listed": among uniform hashes such a gap does not occur (e⁻⁶⁴ a row) |
//! | a range file is missing or empty | it stands for some 2,000 passwords, not for none |
//! | another list than the filter was built from | [`Screen::with_confirm`](crate::Screen::with_confirm) compares the numbers of rows |
//!
//! What stays unnoticed: a few rows out of place or missing in the middle of a file whose
//! neighbourhood is otherwise in order.
//!
//! [Perl, Itai and Avni, 1978]: https://doi.org/10.1145/359545.359557

mod error;
mod ranges;
mod rows;
mod sorted;
mod source;

pub use error::{ConfirmError, ConfirmFault, ReadFault};
pub use source::{ConfirmList, Confirmation};

#[cfg(test)]
mod tests;
