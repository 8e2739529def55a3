//! Sizes in bytes, as people write them: `4096`, `64M`, `2GiB`.

use std::fmt;

/// Reads a size: a whole number of bytes, or with K, M, G or T (also KiB, MiB, …) of powers of
/// 1024.
///
/// # Errors
///
/// [`InvalidSize`] if it is not written like this, or has more than 64 bits.
pub(crate) fn parse(text: &str) -> Result<u64, InvalidSize> {
    let text = text.trim().to_ascii_lowercase();
    let (number, unit) = text.split_at(text.trim_end_matches(|c: char| !c.is_ascii_digit()).len());
    let shift = match unit.trim_start() {
        "" | "b" => 0,
        "k" | "kib" => 10,
        "m" | "mib" => 20,
        "g" | "gib" => 30,
        "t" | "tib" => 40,
        _ => return Err(InvalidSize),
    };
    let number: u64 = number.parse().map_err(|_| InvalidSize)?;
    number.checked_mul(1 << shift).ok_or(InvalidSize)
}

/// A text that is no size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidSize;

impl fmt::Display for InvalidSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("expected a number of bytes such as 4096, 64M or 2GiB (powers of 1024)")
    }
}

impl std::error::Error for InvalidSize {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("4096B", 4096),
            ("64k", 65_536),
            ("64 KiB", 65_536),
            ("2G", 2 << 30),
            ("2gib", 2 << 30),
            ("16777215T", 16_777_215 << 40),
        ] {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn what_is_no_size_is_refused() {
        for text in
            ["", "M", "-1", "1.5G", "1MB", "1e3", "16777216T", "99999999999999999999", "1 2"]
        {
            assert_eq!(parse(text), Err(InvalidSize), "{text}");
        }
    }
}
