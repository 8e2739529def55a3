//! A line that was found in a list, rather than read with all lines before it.

use super::error::RowFault;
use super::format::ListFormat;
use super::row::{parse, strip_line_end, strip_mark};
use crate::hash::KeyHash;

/// Reads a line without its newline; `None` for what holds no password: a blank one, and padding (a
/// count of 0).
pub(in crate::screen) fn parse_line(
    format: ListFormat,
    line: &[u8],
) -> Result<Option<(KeyHash, Option<u64>)>, RowFault> {
    let row = strip_mark(strip_line_end(line)).0;
    if row.is_empty() {
        return Ok(None);
    }
    let (hash, .., count) = parse(format, row)?;
    Ok((count != Some(0)).then_some((hash, count)))
}
