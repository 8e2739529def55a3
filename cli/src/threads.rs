//! Numbers of threads, as people write them.

use std::fmt;
use std::num::NonZero;

/// Reads a number of threads.
///
/// # Errors
///
/// [`InvalidThreads`] if it is none from 1 to 65,535.
pub(crate) fn parse(text: &str) -> Result<NonZero<u16>, InvalidThreads> {
    text.trim().parse().map_err(|_| InvalidThreads)
}

/// A text that is no number of threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct InvalidThreads;

impl fmt::Display for InvalidThreads {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a number from 1 to 65535, or the option left out for one thread a processor",
        )
    }
}

impl std::error::Error for InvalidThreads {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_can_work_are_read() {
        for (text, threads) in [("1", 1), (" 4 ", 4), ("65535", 65_535)] {
            assert_eq!(parse(text).map(NonZero::get), Ok(threads), "{text}");
        }
        for text in ["", "0", "-1", "1.5", "65536", "many"] {
            assert_eq!(parse(text), Err(InvalidThreads), "{text}");
        }
    }
}
