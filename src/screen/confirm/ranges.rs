//! A folder of range files: the rows of each share the first five digits, which name the file.

use std::cmp::Ordering;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use super::super::digest::PasswordDigest;
use super::super::list::{
    DetectError, ListFormat, RangePrefix, RowFault, is_etag_line, parse_line,
};
use super::super::naming::{self, Layout};
use super::error::{ConfirmError, ConfirmFault};
use super::rows::{MAX_LINE_LEN, Seen, refuse_gap};
use crate::hash::KeyHash;

const PREFIX_DIGITS: usize = RangePrefix::DIGITS;

/// The longest range file that is read. Today's have 75 kB.
const MAX_LEN: u64 = 16 << 20;

/// What is enough to tell compressed data by.
const SNIFFED: usize = 64;

/// Ranges looked at when a folder is opened, far from `00000`, which is over-full.
const SAMPLES: [u32; 4] = [0x2_aaaa, 0x5_5555, 0xa_aaaa, 0xd_5555];

/// A folder of range files, all laid out alike.
pub(super) struct RangeFolder {
    root: PathBuf,
    digest: PasswordDigest,
    layout: Layout,
    /// How many rows all files have together, about.
    rows: f64,
}

impl RangeFolder {
    /// Finds out how the files of a folder are named, and how many rows they have.
    pub(super) fn open(folder: &Path, digest: PasswordDigest) -> Result<Self, ConfirmError> {
        let failed = |fault| ConfirmError { path: folder.to_owned(), fault };
        let root = naming::root_of(folder, digest);
        let samples = SAMPLES.into_iter().filter_map(RangePrefix::new);
        let layout = Layout::find(&root, samples.clone());
        let layout = layout.ok_or_else(|| failed(ConfirmFault::NoRanges))?;
        let mut ranges = Self { root, digest, layout, rows: f64::from(RangePrefix::COUNT) };
        let mut rows = 0;
        for range in samples {
            rows += ranges.count(range)?;
        }
        ranges.rows = rows as f64 / SAMPLES.len() as f64 * f64::from(RangePrefix::COUNT);
        Ok(ranges)
    }

    pub(super) const fn rows(&self) -> f64 {
        self.rows
    }

    /// A cursor for hashes in ascending order.
    pub(super) const fn cursor(&self) -> Cursor<'_> {
        Cursor { ranges: self, range: None, bytes: Vec::new() }
    }

    fn path(&self, range: RangePrefix) -> PathBuf {
        self.layout.path(&self.root, range)
    }

    /// How many rows a range has, all of them read.
    fn count(&self, range: RangePrefix) -> Result<u64, ConfirmError> {
        let path = self.path(range);
        let failed = |fault| ConfirmError { path: path.clone(), fault };
        let bytes = read(&path).map_err(failed)?;
        let mut rows = 0;
        let counted =
            each_row(&bytes, range, self.digest, |_, count| rows += u64::from(count != PADDING));
        counted.and(if rows == 0 { Err(ConfirmFault::Empty) } else { Ok(rows) }).map_err(failed)
    }
}

/// Finds hashes, reading the file of a range once if they come in ascending order.
pub(super) struct Cursor<'a> {
    ranges: &'a RangeFolder,
    range: Option<RangePrefix>,
    bytes: Vec<u8>,
}

impl Cursor<'_> {
    /// The row of this hash: its count, or `None` if there is no such row.
    ///
    /// # Errors
    ///
    /// [`ConfirmFault::Range`], which does not say which range it was.
    pub(super) fn find(&mut self, hash: KeyHash) -> Result<Option<Seen>, ConfirmFault> {
        self.look_up(hash).map_err(|fault| ConfirmFault::Range(Box::new(fault.without_place())))
    }

    fn look_up(&mut self, hash: KeyHash) -> Result<Option<Seen>, ConfirmFault> {
        let range = RangePrefix::of(hash);
        if self.range != Some(range) {
            self.range = None;
            self.bytes = read(&self.ranges.path(range))?;
            self.range = Some(range);
        }
        look_up(&self.bytes, range, self.ranges, hash)
    }
}

/// Looks at all rows of a range, in whatever order they are.
fn look_up(
    bytes: &[u8],
    range: RangePrefix,
    ranges: &RangeFolder,
    hash: KeyHash,
) -> Result<Option<Seen>, ConfirmFault> {
    let mut near = Near::new(range);
    let found = if let Some(found) = find_plain(bytes, ranges.digest, range, hash, &mut near) {
        found?
    } else {
        near = Near::new(range);
        find_any(bytes, ranges.digest, range, hash, &mut near)?
    };
    if found.is_none() {
        if near.rows == 0 {
            return Err(ConfirmFault::Empty);
        }
        refuse_gap(Some(near.below), Some(near.above), ranges.rows)?;
    }
    Ok(found)
}

/// The count of rows that may be made up, to hide how long a range is. They prove nothing of the rows
/// around them.
const PADDING: Option<u64> = Some(0);

/// What is around a hash in its range, padding left out.
struct Near {
    below: u64,
    above: u64,
    rows: u64,
}

impl Near {
    /// Nothing but the ends of the range.
    const fn new(range: RangePrefix) -> Self {
        let below = (range.value() as u64) << (64 - 4 * PREFIX_DIGITS);
        Self { below, above: below | (u64::MAX >> (4 * PREFIX_DIGITS)), rows: 0 }
    }
}

/// Looks at the rows of a file of any shape.
fn find_any(
    bytes: &[u8],
    digest: PasswordDigest,
    range: RangePrefix,
    hash: KeyHash,
    near: &mut Near,
) -> Result<Option<Seen>, ConfirmFault> {
    let mut found: Option<Seen> = None;
    each_row(bytes, range, digest, |row, count| {
        near.rows += u64::from(count != PADDING);
        match row.cmp(&hash) {
            // A hash may have several rows; the largest count is the one. What is asked for is in
            // the list even if its count is 0.
            Ordering::Equal => found = found.max(Some(Seen(count))),
            // Padding is no neighbour.
            _ if count == PADDING => {}
            Ordering::Less => near.below = near.below.max(row.hi()),
            Ordering::Greater => near.above = near.above.min(row.hi()),
        }
    })?;
    Ok(found)
}

/// Looks at the rows of a file as it is served: digits, a colon, a count, a line end, and nothing
/// else. `None` for a file that is not like that, which takes ten times as long.
///
/// That every byte before a colon is a digit follows from counts over the whole file, which cost
/// less than looking at each: there are as many colons as rows that have one where it belongs, and
/// as many carriage returns and newlines as rows that end in them.
fn find_plain(
    bytes: &[u8],
    digest: PasswordDigest,
    range: RangePrefix,
    hash: KeyHash,
    near: &mut Near,
) -> Option<Result<Option<Seen>, ConfirmFault>> {
    let digits = digest.hex_digits() - PREFIX_DIGITS;
    if bytes.iter().fold(false, |foreign, &byte| foreign | !is_plain(byte)) {
        return None;
    }
    // Of the eleven digits in the first word of the hash that are not in the name of the file,
    // eight are compared: as letters of one case, which sort as the digits do.
    let mut text = [0; 8];
    for (digit, shift) in text.iter_mut().zip([40, 36, 32, 28, 24, 20, 16, 12]) {
        *digit = b"0123456789abcdef"[(hash.hi() >> shift) as usize & 0xf];
    }
    let wanted = u64::from_be_bytes(text);
    let (mut below, mut above) = (0, u64::MAX);
    let (mut rows, mut colons, mut returns, mut newlines) = (0, 0, 0, 0);
    let mut found: Option<Seen> = None;
    let mut start = 0;
    while start < bytes.len() {
        let rest = &bytes[start..];
        let head: &[u8; 8] = rest.first_chunk()?;
        if *rest.get(digits)? != b':' {
            return None;
        }
        // Counts are short: looking at each digit is less than a search costs.
        let mut len = digits + 1;
        let mut padding = true;
        while let Some(digit @ b'0'..=b'9') = rest.get(len) {
            padding &= *digit == b'0';
            len += 1;
        }
        if len == digits + 1 {
            return None;
        }
        let end_len = match rest.get(len..) {
            Some([]) => 0,
            Some([b'\n', ..]) => 1,
            Some([b'\r', b'\n', ..]) => 2,
            _ => return None,
        };
        let row = &rest[..len];
        start += len + end_len;
        colons += 1;
        returns += usize::from(end_len == 2);
        newlines += usize::from(end_len > 0);
        rows += u64::from(!padding);
        let head = u64::from_be_bytes(*head) | u64::from_be_bytes([0x20; 8]);
        match head.cmp(&wanted) {
            Ordering::Less if !padding => below = below.max(head),
            Ordering::Greater if !padding => above = above.min(head),
            Ordering::Less | Ordering::Greater => {}
            Ordering::Equal => {
                // All digits, and the count, of one row in 4,000 million.
                match find_any(row, digest, range, hash, near) {
                    Ok(seen) => found = found.max(seen),
                    Err(fault) => return Some(Err(fault)),
                }
            }
        }
    }
    let count = |byte| memchr::memchr_iter(byte, bytes).count();
    if count(b':') != colons || count(b'\r') != returns || count(b'\n') != newlines {
        return None;
    }
    near.rows = rows;
    if below > 0 {
        near.below = near.below.max(hi_of(range, below));
    }
    if above < u64::MAX {
        near.above = near.above.min(hi_of(range, above));
    }
    Some(Ok(found))
}

/// Whether a byte occurs in a file as it is served.
///
/// Without branches, so that many bytes are looked at together.
#[expect(clippy::needless_bitwise_bool, reason = "a branch for each would be taken byte by byte")]
const fn is_plain(byte: u8) -> bool {
    let digit = byte.wrapping_sub(b'0') <= b':' - b'0';
    let letter = (byte | 0x20).wrapping_sub(b'a') < 6;
    digit | letter | (byte == b'\r') | (byte == b'\n')
}

/// The first word of a hash in a range, from the eight digits that follow the name of the file.
fn hi_of(range: RangePrefix, digits: u64) -> u64 {
    let value = digits.to_be_bytes().iter().fold(0, |value: u64, digit| {
        let nibble = if digit.is_ascii_digit() { digit - b'0' } else { digit - b'a' + 10 };
        (value << 4) | u64::from(nibble)
    });
    (u64::from(range.value()) << 44) | (value << 12)
}

/// Gives every row of a range file: its whole hash, and its count.
fn each_row(
    bytes: &[u8],
    range: RangePrefix,
    digest: PasswordDigest,
    mut found: impl FnMut(KeyHash, Option<u64>),
) -> Result<(), ConfirmFault> {
    let format = ListFormat::Range(digest, range);
    let mut start = 0;
    for (number, row) in bytes.split(|&byte| byte == b'\n').enumerate() {
        let offset = start;
        start += row.len() as u64 + 1;
        let bad = |fault| ConfirmFault::Row { offset: Some(offset), fault };
        if row.len() > MAX_LINE_LEN {
            return Err(bad(RowFault::TooLong { limit: MAX_LINE_LEN }));
        }
        match parse_line(format, row) {
            Ok(Some((hash, count))) => found(hash, count),
            Ok(None) => {}
            // Some downloaders keep the version of a range, as the server named it, in front of it.
            Err(_) if number == 0 && is_etag_line(row) => {}
            Err(fault) => return Err(bad(fault)),
        }
    }
    Ok(())
}

/// Reads a range file.
fn read(path: &Path) -> Result<Vec<u8>, ConfirmFault> {
    // Before it is opened: to open a pipe waits for who writes to it.
    if !path.metadata()?.is_file() {
        return Err(ConfirmFault::NotAFile);
    }
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    decompressed(read_all(file, len)?)
}

/// Reads a range to its end, which is about so many bytes away.
fn read_all(range: impl Read, len: u64) -> Result<Vec<u8>, ConfirmFault> {
    if len > MAX_LEN {
        return Err(ConfirmFault::TooLarge { limit: MAX_LEN });
    }
    // One read to the end that the file has, and one to see that it is the end.
    let mut bytes = Vec::with_capacity(len as usize + 1);
    range.take(MAX_LEN + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_LEN {
        return Err(ConfirmFault::TooLarge { limit: MAX_LEN });
    }
    Ok(bytes)
}

/// The rows of a range file that may be compressed.
fn decompressed(bytes: Vec<u8>) -> Result<Vec<u8>, ConfirmFault> {
    #[cfg(feature = "compressed")]
    if super::super::list::Compression::detect(&bytes).is_some() {
        return decompress(&bytes);
    }
    match ListFormat::detect(&bytes[..bytes.len().min(SNIFFED)], PasswordDigest::Sha1) {
        Err(error @ DetectError::Compressed { .. }) => Err(ConfirmFault::Foreign(error)),
        _ => Ok(bytes),
    }
}

#[cfg(feature = "compressed")]
fn decompress(bytes: &[u8]) -> Result<Vec<u8>, ConfirmFault> {
    use super::super::list::Decompressed;

    let rows = Decompressed::new(bytes).map_err(|_| ConfirmFault::Damaged)?;
    // Digits and counts are packed into about half.
    match read_all(rows, (2 * bytes.len() as u64).min(MAX_LEN)) {
        // Nothing but the decoder can fail on bytes in memory.
        Err(ConfirmFault::Read(_)) => Err(ConfirmFault::Damaged),
        rows => rows,
    }
}
