//! What one row says.
//!
//! ```text
//!  5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:3861493\r\n
//!  └────────────── digits ────────────────┘ └count┘└end
//! ```
//!
//! Two ways lead to a row, and the first leaves to the second whatever it does not expect, so that
//! only one of them decides what is a fault: [`ordinary`] takes the row above, at a fixed place in a
//! window of 64 bytes, with its end found on the way; [`parse`] takes any row, once its end is known.

use std::fmt;

use super::super::digest::{PasswordDigest, nt_key, nt_of, sha1_key, sha1_of};
use super::super::hex;
use super::error::RowFault;
use super::format::ListFormat;
use super::prefix::RangePrefix;
use crate::hash::KeyHash;

/// One row of a list.
#[derive(Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Row {
    /// The key: the head of the row's SHA-1, or its NT hash.
    pub hash: KeyHash,
    /// What the SHA-1 has beyond the key, its last four bytes, read big-endian; 0 for an NT hash,
    /// which has no more. With it, the row can be written again.
    pub tail: u32,
    /// How often the password was seen, up to 2⁶⁴ - 2; `None` if the row does not say.
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

/// What the content of a row says: key, tail and count.
pub(super) type Content = (KeyHash, u32, Option<u64>);

/// Bytes in which an ordinary row and its end find room: 40 digits, a colon, 19 digits, two for the
/// end, and one spare.
pub(super) const WINDOW: usize = 64;

/// Decimal digits that 64 bits hold whatever they are.
const SAFE_DIGITS: usize = 19;

/// Reads an ordinary row at the start of a window, its end included, and says how long it is. `None`
/// for one that needs a closer look: it may be right, blank, padding, or bad.
///
/// `SKIP` digits of the hash are in `prefix` and not in the row.
#[inline]
pub(super) fn ordinary<const WORDS: usize, const SKIP: usize>(
    window: &[u8; WINDOW],
    prefix: [u8; RangePrefix::DIGITS],
) -> Option<(Content, usize)> {
    let mut digits = [[0; 8]; WORDS];
    let flat = digits.as_flattened_mut();
    flat[..SKIP].copy_from_slice(&prefix[..SKIP]);
    flat[SKIP..].copy_from_slice(&window[..8 * WORDS - SKIP]);
    let words = hex::words(&digits)?;

    let mut at = 8 * WORDS - SKIP;
    let mut count = None;
    if window[at] == b':' {
        let first = at + 1;
        let mut number = 0;
        at = first;
        while window[at].is_ascii_digit() && at < first + SAFE_DIGITS {
            number = 10 * number + u64::from(window[at] - b'0');
            at += 1;
        }
        if number == 0 {
            return None;
        }
        count = Some(number);
    }
    at += usize::from(window[at] == b'\r');
    (window[at] == b'\n').then(|| ((key_of(&words), tail_of(&words), count), at + 1))
}

fn key_of<const WORDS: usize>(words: &[u32; WORDS]) -> KeyHash {
    let half = |at: usize| (u64::from(words[at]) << 32) | u64::from(words[at + 1]);
    KeyHash::from_halves(half(0), half(2))
}

fn tail_of<const WORDS: usize>(words: &[u32; WORDS]) -> u32 {
    words.get(4).copied().unwrap_or_default()
}

/// Reads a row from which line end and mark are gone, and which is not blank.
pub(super) fn parse(format: ListFormat, row: &[u8]) -> Result<Content, RowFault> {
    match format {
        ListFormat::Plain(PasswordDigest::Sha1) => {
            let sha1 = sha1_of(row);
            let tail = sha1.last_chunk().map_or(0, |tail| u32::from_be_bytes(*tail));
            Ok((sha1_key(&sha1), tail, None))
        }
        ListFormat::Plain(PasswordDigest::Nt) => {
            let nt = nt_of(row).map_err(|_| RowFault::NotUtf8)?;
            Ok((nt_key(&nt), 0, None))
        }
        ListFormat::Hashes(digest) => {
            let (digits, count) = split_hash(row);
            let (key, tail) =
                hash_of(digest, &[], digits).ok_or_else(|| no_hash(digest, digits))?;
            Ok((key, tail, count.transpose()?))
        }
        ListFormat::Range(digest, prefix) => {
            let (digits, count) = split_hash(row);
            let (key, tail) = hash_of(digest, &prefix.digits(), digits)
                .ok_or_else(|| no_suffix(digest, digits))?;
            Ok((key, tail, count.transpose()?))
        }
    }
}

/// The hash of these digits, which are in two pieces.
fn hash_of(digest: PasswordDigest, head: &[u8], digits: &[u8]) -> Option<(KeyHash, u32)> {
    fn joined<const WORDS: usize>(head: &[u8], digits: &[u8]) -> Option<(KeyHash, u32)> {
        if head.len() + digits.len() != 8 * WORDS {
            return None;
        }
        let mut all = [[0; 8]; WORDS];
        let (first, second) = all.as_flattened_mut().split_at_mut(head.len());
        first.copy_from_slice(head);
        second.copy_from_slice(digits);
        hex::words(&all).map(|words| (key_of(&words), tail_of(&words)))
    }
    match digest {
        PasswordDigest::Sha1 => joined::<5>(head, digits),
        PasswordDigest::Nt => joined::<4>(head, digits),
    }
}

const fn other(digest: PasswordDigest) -> PasswordDigest {
    match digest {
        PasswordDigest::Sha1 => PasswordDigest::Nt,
        PasswordDigest::Nt => PasswordDigest::Sha1,
    }
}

/// Says whether the digits are those of the other digest.
fn no_hash(expected: PasswordDigest, digits: &[u8]) -> RowFault {
    let found = other(expected);
    if hash_of(found, &[], digits).is_some() {
        RowFault::OtherDigest { expected, found }
    } else {
        RowFault::NoHash { expected }
    }
}

/// The same for rows of range files.
fn no_suffix(expected: PasswordDigest, digits: &[u8]) -> RowFault {
    let found = other(expected);
    if hash_of(found, &RangePrefix::default().digits(), digits).is_some() {
        RowFault::OtherSuffix { expected, found }
    } else {
        RowFault::NoSuffix { expected }
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

/// Whether a row is the entity tag that some downloaders keep in front of a range: in quotes, as
/// HTTP has it, perhaps marked weak, or the bare number that the service puts in the quotes.
pub(super) fn is_etag(row: &[u8]) -> bool {
    let strong = row.strip_prefix(b"W/").unwrap_or(row);
    let quoted = strong.len() >= 2 && strong.starts_with(b"\"") && strong.ends_with(b"\"");
    let bare = row.strip_prefix(b"0x").is_some_and(|digits| {
        !digits.is_empty() && digits.len() <= 16 && digits.iter().all(u8::is_ascii_hexdigit)
    });
    quoted || bare
}

/// Takes off one carriage return. (The newline is gone, or was never there.)
pub(super) fn strip_line_end(row: &[u8]) -> &[u8] {
    row.strip_suffix(b"\r").unwrap_or(row)
}

/// Takes off a UTF-8 byte order mark, and says whether there was one.
pub(super) fn strip_mark(row: &[u8]) -> (&[u8], bool) {
    row.strip_prefix(b"\xef\xbb\xbf").map_or((row, false), |rest| (rest, true))
}
