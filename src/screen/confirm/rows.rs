//! The rows in a piece of a file.

use super::super::list::{ListFormat, RowFault, parse_line};
use super::error::ConfirmFault;
use crate::hash::KeyHash;

/// The longest line that is read, in bytes: a hash, a count, and much to spare.
pub(super) const MAX_LINE_LEN: usize = 256;

/// Neighbours that are so many mean distances apart do not occur by chance: e⁻⁶⁴ a row.
const MAX_DISTANCES: f64 = 64.0;

/// A row of a list.
#[derive(Clone, Copy)]
pub(super) struct Entry {
    pub(super) hash: KeyHash,
    pub(super) count: Option<u64>,
    /// Where it starts in the file.
    pub(super) start: u64,
    /// Where the next one starts.
    pub(super) end: u64,
}

/// Reads the rows of `bytes`, whole ones only, which start at `offset` of a file. Blank rows and
/// padding (a count of 0) are none.
///
/// # Errors
///
/// [`ConfirmFault::Row`] for what is no row, or none of this digest.
pub(super) fn entries(
    bytes: &[u8],
    offset: u64,
    format: ListFormat,
    mut found: impl FnMut(Entry) -> Result<(), ConfirmFault>,
) -> Result<(), ConfirmFault> {
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let len = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let end = (start + len + 1).min(bytes.len());
        let at = offset + start as u64;
        let bad = |fault| ConfirmFault::Row { offset: at, fault };
        if len > MAX_LINE_LEN {
            return Err(bad(RowFault::TooLong { limit: MAX_LINE_LEN }));
        }
        if let Some((hash, count)) = parse_line(format, &rest[..len]).map_err(bad)? {
            found(Entry { hash, count, start: at, end: offset + end as u64 })?;
        }
        start = end;
    }
    Ok(())
}

/// A row that was found, and its count if it has one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Seen(pub(super) Option<u64>);

/// Says of a hash between two neighbours whether it is really not in a list of so many rows, or
/// whether rows must be missing there. `None` stands for an end of the hash space.
pub(super) fn refuse_gap(
    below: Option<u64>,
    above: Option<u64>,
    rows: f64,
    offset: u64,
) -> Result<(), ConfirmFault> {
    let gap = above.unwrap_or(u64::MAX).saturating_sub(below.unwrap_or(0));
    let times = gap as f64 / 2f64.powi(64) * rows;
    if times > MAX_DISTANCES {
        return Err(ConfirmFault::Gap { offset, times: times as u64 });
    }
    Ok(())
}
