//! Hexadecimal digits, eight at a time.
//!
//! ```text
//!  8 digits       '5' 'B' 'A' 'A' '6' '1' 'E' '4'      one word, one digit a byte
//!  8 nibbles       05  0b  0a  0a  06  01  0e  04      low four bits, and 9 more for letters
//!  4 bytes           5b      aa      61      e4        neighbours pushed together, three times
//! ```
//!
//! All in ordinary 64-bit arithmetic (SIMD within a register), with the faults of all eight digits
//! gathered in one word: a table costs a load a digit, and a branch a digit costs more than that.

/// Every byte of a word.
const fn each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// The value of eight digits of either case, and 0 if they all are digits.
#[inline]
pub(super) const fn word(digits: [u8; 8]) -> (u32, u64) {
    let text = u64::from_be_bytes(digits);
    // Sums below stay within their byte, since the top bit is cleared first.
    let low = text & each(0x7f);
    let digit = (low + each(0x80 - b'0')) & !(low + each(0x80 - b'9' - 1));
    let lower = low | each(0x20);
    let letter = (lower + each(0x80 - b'a')) & !(lower + each(0x80 - b'f' - 1));
    let faults = (!(digit | letter) | text) & each(0x80);

    let nibbles = (low & each(0x0f)) + ((low >> 6) & each(1)) * 9;
    let pairs = (nibbles | (nibbles >> 4)) & 0x00ff_00ff_00ff_00ff;
    let fours = (pairs | (pairs >> 8)) & 0x0000_ffff_0000_ffff;
    ((fours | (fours >> 16)) as u32, faults)
}

/// The words of `8 * WORDS` digits; `None` if one is no digit.
#[inline]
pub(super) fn words<const WORDS: usize>(digits: &[[u8; 8]; WORDS]) -> Option<[u32; WORDS]> {
    let mut faults = 0;
    let words = digits.map(|eight| {
        let (value, fault) = word(eight);
        faults |= fault;
        value
    });
    (faults == 0).then_some(words)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every byte at every place, against the standard library.
    #[test]
    fn every_byte_at_every_place_is_a_digit_or_a_fault() {
        for place in 0..8 {
            for byte in 0..=u8::MAX {
                let mut digits = *b"5BaA61e4";
                digits[place] = byte;
                let expected = std::str::from_utf8(&digits)
                    .ok()
                    .filter(|_| byte.is_ascii_hexdigit())
                    .and_then(|text| u32::from_str_radix(text, 16).ok());
                let (value, faults) = word(digits);
                assert_eq!((faults == 0).then_some(value), expected, "{byte:#x} at {place}");
                assert_eq!(words(&[digits, *b"00000000"]), expected.map(|value| [value, 0]));
            }
        }
    }
}
