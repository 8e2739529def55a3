//! The first five digits of a hash.

use std::fmt;
use std::path::Path;

use super::super::{hex, naming};
use crate::hash::KeyHash;

/// The first five hexadecimal digits (20 bits) of a hash: what range queries ask for, and what range
/// files are named after.
///
/// ```
/// use hapax::screen::PasswordDigest::Sha1;
/// use hapax::screen::list::RangePrefix;
/// let prefix = RangePrefix::parse(b"5baa6").expect("five digits");
/// assert_eq!(prefix, RangePrefix::of(Sha1.key_of(b"password")?));
/// assert_eq!((prefix.to_string().as_str(), prefix.value()), ("5BAA6", 0x5_baa6));
/// # Ok::<(), hapax::screen::NotUtf8>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RangePrefix(u32);

impl RangePrefix {
    /// Digits of a prefix.
    pub const DIGITS: usize = 5;

    /// How many prefixes there are: 1,048,576.
    pub const COUNT: u32 = 1 << 20;

    /// The prefix of this number; `None` from [`COUNT`](Self::COUNT) on.
    #[must_use]
    pub const fn new(value: u32) -> Option<Self> {
        if value < Self::COUNT { Some(Self(value)) } else { None }
    }

    /// The prefix of a hash.
    #[must_use]
    pub const fn of(hash: KeyHash) -> Self {
        Self((hash.hi() >> 44) as u32)
    }

    /// Reads exactly five digits, in either case.
    #[must_use]
    pub fn parse(digits: &[u8]) -> Option<Self> {
        let digits: &[u8; Self::DIGITS] = digits.try_into().ok()?;
        let mut padded = [b'0'; 8];
        padded[8 - Self::DIGITS..].copy_from_slice(digits);
        let (value, faults) = hex::word(padded);
        (faults == 0).then_some(Self(value))
    }

    /// The prefix that the file of a range is named after, such as `07F07.txt`, or `F07` in a folder
    /// `07`. `None` for other names.
    #[must_use]
    pub fn of_file(path: &Path) -> Option<Self> {
        naming::prefix_of(path.parent().and_then(Path::file_name), path.file_name()?)
    }

    /// The five digits as a number.
    #[must_use]
    pub const fn value(self) -> u32 {
        self.0
    }

    /// The five digits, in upper case.
    pub(in crate::screen) fn digits(self) -> [u8; Self::DIGITS] {
        let mut shift = 20;
        [0; Self::DIGITS].map(|_: u8| {
            shift -= 4;
            b"0123456789ABCDEF"[((self.0 >> shift) & 0xf) as usize]
        })
    }
}

impl fmt::Display for RangePrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:05X}", self.0)
    }
}
