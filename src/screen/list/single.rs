//! A line that was found in a list, rather than read with all lines before it.

use super::error::RowFault;
use super::format::ListFormat;
use super::row::{is_etag, parse, strip_line_end, strip_mark};
use crate::hash::KeyHash;

/// Reads a line without its newline; `None` for a blank one. A count of 0 is a row like others here:
/// whether it is padding is for whoever counts rows to say, and a list may mean it.
pub(in crate::screen) fn parse_line(
    format: ListFormat,
    line: &[u8],
) -> Result<Option<(KeyHash, Option<u64>)>, RowFault> {
    let row = strip_mark(strip_line_end(line)).0;
    if row.is_empty() {
        return Ok(None);
    }
    let (hash, .., count) = parse(format, row)?;
    Ok(Some((hash, count)))
}

/// Whether a line is the entity tag of a range; it may be the first one.
pub(in crate::screen) fn is_etag_line(line: &[u8]) -> bool {
    is_etag(strip_mark(strip_line_end(line)).0)
}
