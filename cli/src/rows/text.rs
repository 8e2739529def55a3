//! The text of a row: digits, colon, count, line end.

use clap::ValueEnum;
use hapax::screen::PasswordDigest;

use super::Entry;

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum LineEnd {
    /// A newline
    #[default]
    Lf,
    /// A carriage return and a newline
    Crlf,
}

impl LineEnd {
    pub(crate) const fn bytes(self) -> &'static [u8] {
        match self {
            Self::Lf => b"\n",
            Self::Crlf => b"\r\n",
        }
    }
}

/// Digits of the largest count.
const COUNT_DIGITS: usize = 20;

/// Room for a row: 40 digits, a colon, a count, two bytes at the end; a whole cache line.
pub(crate) const MAX_ROW_TEXT: usize = 64;

/// How rows are written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowText {
    pub(crate) digest: PasswordDigest,
    /// Digits left out, which are in the name of the file.
    pub(crate) skip: usize,
    pub(crate) counts: bool,
    pub(crate) end: LineEnd,
}

impl RowText {
    /// Appends a row. Costs some 30 cycles, and no allocation if there is room for it.
    #[inline]
    pub(crate) fn append(self, out: &mut Vec<u8>, entry: Entry) {
        let (hi, lo) = (entry.hash.hi(), entry.hash.lo());
        let words = [(hi >> 32) as u32, hi as u32, (lo >> 32) as u32, lo as u32, entry.tail];
        let start = out.len();
        // The row is written where it stays: to put it together elsewhere and copy it stalls on the
        // bytes just written, for as long as all the rest takes.
        out.resize(start + MAX_ROW_TEXT, 0);
        let Some(row) = out.last_chunk_mut::<MAX_ROW_TEXT>() else { return };
        for (index, word) in words.into_iter().enumerate() {
            let digits = digits_of(word);
            match (8 * index).checked_sub(self.skip) {
                Some(at) => row[at..at + 8].copy_from_slice(&digits),
                None => row[..8 - self.skip].copy_from_slice(&digits[self.skip..]),
            }
        }
        let mut at = self.digest.hex_digits() - self.skip;
        if self.counts {
            row[at] = b':';
            at = append_count(row, at + 1, entry.count);
        }
        // Always two bytes: a copy of a length known only here is a call.
        let (end, len) = match self.end {
            LineEnd::Lf => (*b"\n\0", 1),
            LineEnd::Crlf => (*b"\r\n", 2),
        };
        row[at..at + 2].copy_from_slice(&end);
        out.truncate(start + at + len);
    }
}

/// Every byte of a word.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// Eight digits in upper case, all at once: nibbles are pulled apart in three steps, and those of 10
/// and more are letters.
const fn digits_of(word: u32) -> [u8; 8] {
    let mut nibbles = word as u64;
    nibbles = (nibbles | (nibbles << 16)) & 0x0000_ffff_0000_ffff;
    nibbles = (nibbles | (nibbles << 8)) & 0x00ff_00ff_00ff_00ff;
    nibbles = (nibbles | (nibbles << 4)) & each(0x0f);
    let letters = ((nibbles + each(6)) >> 4) & each(1);
    (nibbles + each(b'0') + letters * (b'A' - b'9' - 1) as u64).to_be_bytes()
}

/// Writes a number from this place on, and says where it ends.
fn append_count(row: &mut [u8; MAX_ROW_TEXT], at: usize, mut count: u64) -> usize {
    // Half of all counts are 1.
    if count < 10 {
        row[at] = b'0' + count as u8;
        return at + 1;
    }
    let mut digits = [0; COUNT_DIGITS];
    let mut first = COUNT_DIGITS;
    while count > 0 {
        first -= 1;
        digits[first] = b'0' + (count % 10) as u8;
        count /= 10;
    }
    let len = COUNT_DIGITS - first;
    row[at..at + len].copy_from_slice(&digits[first..]);
    at + len
}

#[cfg(test)]
mod tests {
    use hapax::KeyHash;
    use hapax::screen::list::{ListFormat, ListReader, RangePrefix};

    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let hash =
            KeyHash::from_uniform(&0x0123_4567_89ab_cdef_fedc_ba98_7654_3210_u128.to_be_bytes());
        for digest in [PasswordDigest::Sha1, PasswordDigest::Nt] {
            for count in [1, 9, 10, 99, 100, 12_345_678, u64::MAX - 1] {
                for (end, skip) in [(LineEnd::Lf, 0), (LineEnd::Crlf, 0), (LineEnd::Lf, 5)] {
                    let tail = if digest == PasswordDigest::Sha1 { 0xdead_beef } else { 0 };
                    let text = RowText { digest, skip, counts: true, end };
                    let mut out = Vec::new();
                    text.append(&mut out, Entry { hash, tail, count });
                    assert!(out.ends_with(end.bytes()));
                    assert_eq!(out.to_ascii_uppercase(), out);
                    let format = match skip {
                        0 => ListFormat::Hashes(digest),
                        _ => ListFormat::Range(digest, RangePrefix::of(hash)),
                    };
                    let row = ListReader::new(out.as_slice(), format).next_row();
                    let row = row.unwrap().unwrap();
                    assert_eq!((row.hash, row.tail, row.count), (hash, tail, Some(count)));
                }
            }
        }
    }

    #[test]
    fn every_byte_has_its_two_digits() {
        for byte in 0..=u8::MAX {
            let word = u32::from_be_bytes([byte, 0, 0xff, byte]);
            assert_eq!(digits_of(word), *format!("{word:08X}").as_bytes());
        }
    }
}
