//! What one row says.

use std::fmt;

use super::super::digest::PasswordDigest;
use super::error::RowFault;
use super::format::ListFormat;
use crate::hash::KeyHash;

/// One row of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The key: the head of the row's SHA-1, or its NT hash.
    pub hash: KeyHash,
    /// How often the password was seen; `None` if the row does not say.
    pub count: Option<u64>,
    /// The row's number, from 1, blank rows included.
    pub number: u64,
    /// Where it starts, in bytes from the start of the input.
    pub offset: u64,
}

/// Everything but the hash, which is as good as the password to whoever can guess.
impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Row")
            .field("count", &self.count)
            .field("number", &self.number)
            .field("offset", &self.offset)
            .finish_non_exhaustive()
    }
}

/// Reads a row from which line end and mark are gone, and which is not blank.
pub(super) fn parse(format: ListFormat, row: &[u8]) -> Result<(KeyHash, Option<u64>), RowFault> {
    match format {
        ListFormat::Plain(digest) => {
            digest.key_of(row).map(|hash| (hash, None)).map_err(|_| RowFault::NotUtf8)
        }
        ListFormat::Hashes(digest) => {
            let (digits, count) = split_hash(row);
            let hash = digest.key_from_hex(digits).ok_or_else(|| no_hash(digest, digits))?;
            Ok((hash, count.transpose()?))
        }
    }
}

/// Says whether the digits are those of the other digest.
fn no_hash(expected: PasswordDigest, digits: &[u8]) -> RowFault {
    let found = match expected {
        PasswordDigest::Sha1 => PasswordDigest::Nt,
        PasswordDigest::Nt => PasswordDigest::Sha1,
    };
    if found.key_from_hex(digits).is_some() {
        RowFault::OtherDigest { expected, found }
    } else {
        RowFault::NoHash { expected }
    }
}

/// Parts a row at its first colon: what should be digits, and the count if there is one.
pub(super) fn split_hash(row: &[u8]) -> (&[u8], Option<Result<u64, RowFault>>) {
    match memchr::memchr(b':', row) {
        Some(colon) => (&row[..colon], Some(parse_count(&row[colon + 1..]))),
        None => (row, None),
    }
}

/// A count: digits, or digits in groups of three parted by commas. Saturates.
fn parse_count(text: &[u8]) -> Result<u64, RowFault> {
    let mut groups = text.split(|&byte| byte == b',');
    let first = groups.next().unwrap_or_default();
    let mut count = append_digits(0, first)?;
    let mut grouped = false;
    for group in groups {
        if group.len() != 3 {
            return Err(RowFault::Count);
        }
        grouped = true;
        count = append_digits(count, group)?;
    }
    if first.is_empty() || (grouped && first.len() > 3) {
        return Err(RowFault::Count);
    }
    Ok(count)
}

/// Appends decimal digits to a number. Saturates.
fn append_digits(number: u64, digits: &[u8]) -> Result<u64, RowFault> {
    digits.iter().try_fold(number, |number, digit| {
        if !digit.is_ascii_digit() {
            return Err(RowFault::Count);
        }
        Ok(number.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    })
}

/// Takes off one carriage return. (The newline is gone, or was never there.)
pub(super) fn strip_line_end(row: &[u8]) -> &[u8] {
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// Takes off a UTF-8 byte order mark, and says whether there was one.
pub(super) fn strip_mark(row: &[u8]) -> (&[u8], bool) {
    row.strip_prefix(b"\xef\xbb\xbf").map_or((row, false), |rest| (rest, true))
}
