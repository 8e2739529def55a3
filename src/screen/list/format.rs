//! The two shapes of lists, and telling them apart.

use std::fmt;

use super::super::digest::PasswordDigest;
use super::error::DetectError;
use super::prefix::RangePrefix;
use super::row::{is_etag, split_hash, strip_line_end, strip_mark};

/// How many bytes from the start [`ListFormat::detect`] should be shown.
pub const SAMPLE_LEN: usize = 64 * 1024;

/// What the rows of a list are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ListFormat {
    /// A row is a password: bytes, not text. It is hashed with this digest.
    Plain(PasswordDigest),
    /// A row is the hash of a password in hexadecimal, with or without `:count`.
    Hashes(PasswordDigest),
    /// A row is the hash of a password less its first five digits, which are those of the file, with
    /// or without `:count`: the answer to a range query, saved. The first row may be an entity tag.
    Range(PasswordDigest, RangePrefix),
}

impl ListFormat {
    /// Which hash the keys are.
    #[must_use]
    pub const fn digest(self) -> PasswordDigest {
        match self {
            Self::Plain(digest) | Self::Hashes(digest) | Self::Range(digest, _) => digest,
        }
    }

    /// Tells the shape of a list from its beginning, the first [`SAMPLE_LEN`] bytes or all.
    ///
    /// All rows hashes of one length: hashes. No row with a hash in it: plain, to be hashed with
    /// `plain`. Blank rows do not count, nor does the last row of a full sample, which may be cut.
    ///
    /// # Errors
    ///
    /// [`DetectError`] for anything else. A guess could lose every row: hashes read as passwords
    /// give a filter that knows no password at all. [`DetectError::is_foreign`] tells what no
    /// choice of a format makes readable.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::screen::PasswordDigest::{Nt, Sha1};
    /// use hapax::screen::list::ListFormat;
    /// let sample = b"8846F7EAEE8FB117AD06BDD830B7586C:10434004\r\n";
    /// assert_eq!(ListFormat::detect(sample, Sha1)?, ListFormat::Hashes(Nt));
    /// assert_eq!(ListFormat::detect(b"123456\npassword\n", Sha1)?, ListFormat::Plain(Sha1));
    /// # Ok::<(), hapax::screen::list::DetectError>(())
    /// ```
    pub fn detect(sample: &[u8], plain: PasswordDigest) -> Result<Self, DetectError> {
        refuse_foreign(sample)?;
        let mut first_hash: Option<(u64, PasswordDigest)> = None;
        let mut first_plain: Option<u64> = None;
        for (number, row) in (1..).zip(whole_rows(sample)) {
            let row = strip_mark(strip_line_end(row)).0;
            if row.is_empty() {
                continue;
            }
            match (digest_of_shape(row), first_hash) {
                (Some(digest), None) => first_hash = Some((number, digest)),
                (Some(digest), Some((_, first))) if digest == first => {}
                (Some(_), Some((hash_row, digest))) => {
                    return Err(DetectError::Mixed { hash_row, digest, other_row: number });
                }
                (None, _) => {
                    first_plain = first_plain.or(Some(number));
                    if let Some(digits) = digits_of_hash(row) {
                        return Err(DetectError::HashShape { row: number, digits });
                    }
                }
            }
            if let (Some((hash_row, digest)), Some(other_row)) = (first_hash, first_plain) {
                return Err(DetectError::Mixed { hash_row, digest, other_row });
            }
        }
        match (first_hash, first_plain) {
            (Some((_, digest)), _) => Ok(Self::Hashes(digest)),
            (None, Some(_)) => Ok(Self::Plain(plain)),
            (None, None) => Err(DetectError::Empty),
        }
    }

    /// Tells which hash the rows of a range file are made of from its beginning. Its first row
    /// decides, so that rows of two kinds in one file are a fault of the other rows.
    ///
    /// # Errors
    ///
    /// [`DetectError`] if the first row is none of a range, or there is none.
    pub fn detect_range(sample: &[u8], prefix: RangePrefix) -> Result<Self, DetectError> {
        refuse_foreign(sample)?;
        for (number, row) in (1..).zip(whole_rows(sample)) {
            let row = strip_mark(strip_line_end(row)).0;
            if row.is_empty() || (number == 1 && is_etag(row)) {
                continue;
            }
            let digits = split_hash(row).0;
            let of_length = |digest: &PasswordDigest| {
                digits.len() + RangePrefix::DIGITS == digest.hex_digits()
                    && digits.iter().all(u8::is_ascii_hexdigit)
            };
            let digest = [PasswordDigest::Sha1, PasswordDigest::Nt].into_iter().find(of_length);
            return match digest {
                Some(digest) => Ok(Self::Range(digest, prefix)),
                None => Err(DetectError::NoRange { row: number }),
            };
        }
        Err(DetectError::Empty)
    }
}

impl fmt::Display for ListFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Plain(digest) => write!(f, "plain passwords, hashed with {digest}"),
            Self::Hashes(digest) => write!(f, "{digest} hashes"),
            Self::Range(digest, prefix) => write!(f, "{digest} hashes of the range {prefix}"),
        }
    }
}

/// The rows of a sample, without the last one if it may be cut (unless it is the only one).
fn whole_rows(sample: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = match sample.iter().rposition(|&byte| byte == b'\n') {
        Some(end) if sample.len() >= SAMPLE_LEN => &sample[..end],
        _ => sample,
    };
    whole.split(|&byte| byte == b'\n')
}

/// The digest whose rows look like this one: its number of digits, and nothing but a count after.
fn digest_of_shape(row: &[u8]) -> Option<PasswordDigest> {
    let (digits, count) = split_hash(row);
    let of_length = |digest: &PasswordDigest| digits.len() == digest.hex_digits();
    let digest = [PasswordDigest::Sha1, PasswordDigest::Nt].into_iter().find(of_length)?;
    (digits.iter().all(u8::is_ascii_hexdigit) && count.is_none_or(|count| count.is_ok()))
        .then_some(digest)
}

/// The digits of a hash somewhere in a row: as many as a common hash function gives, and no letter
/// or digit next to them.
fn digits_of_hash(row: &[u8]) -> Option<usize> {
    /// MD5 and NT, the rows of a range file (SHA-1 less the five digits of its name), SHA-1, and the
    /// lengths of SHA-2 and SHA-3.
    const DIGITS: [usize; 7] = [32, 35, 40, 56, 64, 96, 128];

    /// The row of a range of NT hashes. Alone it may be a number, with a count after it hardly.
    const NT_SUFFIX: usize = 27;

    let (digits, count) = split_hash(row);
    let counted = matches!(count, Some(Ok(_)));
    if counted && digits.len() == NT_SUFFIX && digits.iter().all(u8::is_ascii_hexdigit) {
        return Some(NT_SUFFIX);
    }
    let words = row.split(|byte| !byte.is_ascii_alphanumeric());
    words
        .filter(|word| DIGITS.contains(&word.len()) && word.iter().all(u8::is_ascii_hexdigit))
        .map(<[u8]>::len)
        .next()
}

/// Refuses what would read as a list of nonsense passwords.
fn refuse_foreign(sample: &[u8]) -> Result<(), DetectError> {
    const COMPRESSED: [(&str, &[u8]); 5] = [
        ("gzip", &[0x1f, 0x8b, 0x08]),
        ("zstd", &[0x28, 0xb5, 0x2f, 0xfd]),
        ("xz", &[0xfd, b'7', b'z', b'X', b'Z', 0]),
        ("zip", b"PK\x03\x04"),
        ("7z", &[b'7', b'z', 0xbc, 0xaf, 0x27, 0x1c]),
    ];
    /// Follows `BZh` and the level: π, as the format has it.
    const BZIP2_BLOCK: &[u8] = &[0x31, 0x41, 0x59, 0x26, 0x53, 0x59];

    if let Some((format, _)) = COMPRESSED.iter().find(|(_, magic)| sample.starts_with(magic)) {
        return Err(DetectError::Compressed { format });
    }
    if sample.starts_with(b"BZh") && sample.get(4..).is_some_and(|s| s.starts_with(BZIP2_BLOCK)) {
        return Err(DetectError::Compressed { format: "bzip2" });
    }
    if sample.starts_with(b"\x89HAPAX") {
        return Err(DetectError::Filter);
    }
    if is_utf16(sample) {
        return Err(DetectError::Utf16);
    }
    if ends_lines_in_carriage_returns(sample) {
        return Err(DetectError::CarriageReturns);
    }
    Ok(())
}

/// Whether this is UTF-16, with a mark or without: then the other byte of a newline is 0, and so is
/// the other byte of every letter up to U+00FF.
fn is_utf16(sample: &[u8]) -> bool {
    if sample.starts_with(&[0xff, 0xfe]) || sample.starts_with(&[0xfe, 0xff]) {
        return true;
    }
    let most_units = |little: bool| {
        let (mut units, mut latin, mut newlines) = (0, 0, 0);
        for pair in sample.chunks_exact(2) {
            let (low, high) = if little { (pair[0], pair[1]) } else { (pair[1], pair[0]) };
            units += 1;
            latin += usize::from(high == 0 && low != 0);
            newlines += usize::from(high == 0 && low == b'\n');
        }
        let all_newlines = memchr::memchr_iter(b'\n', sample).count();
        2 * latin > units || 2 * newlines > all_newlines
    };
    most_units(true) || most_units(false)
}

/// Whether carriage returns without a newline are as frequent as newlines: lines end in `\r`, with
/// a stray `\n` or none, or in `\r\r\n`.
fn ends_lines_in_carriage_returns(sample: &[u8]) -> bool {
    // What follows the last byte is not known, or is the end of the list, where one is taken off.
    let lone = sample.windows(2).filter(|pair| pair[0] == b'\r' && pair[1] != b'\n').count();
    lone > 0 && lone >= memchr::memchr_iter(b'\n', sample).count()
}
