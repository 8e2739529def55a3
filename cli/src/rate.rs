//! False positive rates, as people write them: `1e-5`, `0.01%`, `1/65536`, `2^-16`.

use std::fmt;

/// Reads a rate. Exponents bind first, then the slash, then the percent sign.
///
/// # Errors
///
/// [`InvalidRate`] if it is not written in one of these ways, or not between 0 and 1. The text is
/// not repeated, like no argument is.
pub(crate) fn parse(text: &str) -> Result<f64, InvalidRate> {
    let text = text.trim();
    let (text, unit) = match text.strip_suffix('%') {
        Some(percentage) => (percentage.trim_end(), 0.01),
        None => (text, 1.0),
    };
    let rate = match text.split_once('/') {
        Some((above, below)) => power(above)? / power(below)?,
        None => power(text)?,
    };
    let rate = rate * unit;
    if rate > 0.0 && rate < 1.0 { Ok(rate) } else { Err(InvalidRate::OutOfRange) }
}

/// A number, or a number to an integer power.
fn power(text: &str) -> Result<f64, InvalidRate> {
    match text.split_once('^') {
        Some((base, exponent)) => {
            let exponent = exponent.trim().parse().map_err(|_| InvalidRate::NotARate)?;
            Ok(number(base)?.powi(exponent))
        }
        None => number(text),
    }
}

fn number(text: &str) -> Result<f64, InvalidRate> {
    let number: f64 = text.trim().parse().map_err(|_| InvalidRate::NotARate)?;
    if number.is_finite() { Ok(number) } else { Err(InvalidRate::NotARate) }
}

/// Why a text is no rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InvalidRate {
    /// It is not written as one.
    NotARate,
    /// It is not between 0 and 1.
    OutOfRange,
}

impl fmt::Display for InvalidRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotARate => "expected a rate such as 1e-5, 0.01%, 1/65536 or 2^-16",
            Self::OutOfRange => {
                "expected a rate between 0 and 1, both excluded, such as 1e-5, 0.01%, 1/65536 or \
                 2^-16"
            }
        })
    }
}

impl std::error::Error for InvalidRate {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_of_writing_a_rate_is_read() {
        for (text, rate) in [
            ("1e-5", 1e-5),
            ("0.01", 0.01),
            (".5", 0.5),
            ("0.01%", 1e-4),
            ("1 %", 0.01),
            ("1/65536", 1.0 / 65_536.0),
            ("2^-16", 1.0 / 65_536.0),
            ("1/2^16", 1.0 / 65_536.0),
            (" 1 / 100 ", 0.01),
            ("10^-3%", 1e-5),
        ] {
            let found = parse(text).unwrap();
            assert!((found / rate - 1.0).abs() < 1e-12, "{text}: {found}");
        }
    }

    #[test]
    fn what_is_no_rate_is_refused() {
        use InvalidRate::{NotARate, OutOfRange};
        for (text, expected) in [
            ("", NotARate),
            ("%", NotARate),
            ("one", NotARate),
            ("1e-5x", NotARate),
            ("2^", NotARate),
            ("2^-1.5", NotARate),
            ("2^99999999999", NotARate),
            ("1/2/3", NotARate),
            ("1/", NotARate),
            ("nan", NotARate),
            ("inf", NotARate),
            ("0,01", NotARate),
            ("0", OutOfRange),
            ("1", OutOfRange),
            ("5", OutOfRange),
            ("100%", OutOfRange),
            ("-0.1", OutOfRange),
            ("1/0", OutOfRange),
            ("0/0", OutOfRange),
            ("2^16", OutOfRange),
            ("2^-2000", OutOfRange),
        ] {
            assert_eq!(parse(text), Err(expected), "{text:?}");
        }
    }
}
