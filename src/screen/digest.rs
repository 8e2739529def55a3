//! The two hashes that password lists are made of.
//!
//! ```text
//!  SHA-1  bytes as typed ───────────────────────▶ 20 bytes ─┐
//!                                                           ├─ first 16 ─▶ KeyHash
//!  NT     UTF-8 ─▶ UTF-16LE ─▶ MD4 ─────────────▶ 16 bytes ─┘
//! ```
//!
//! Nothing is normalised: the lists hold hashes of the bytes that were in the dump, so a password
//! is hashed as it was typed. The NT hash is one of text, so bytes that are not UTF-8 have none;
//! to guess an encoding would be to answer for another password.

use std::fmt;

use sha1::Digest as _;
use zeroize::Zeroizing;

use super::hex;
use crate::hash::{Digest, KeyHash};

/// Bytes of a SHA-1 digest.
pub const SHA1_LEN: usize = 20;

/// Bytes of an NT hash.
pub const NT_LEN: usize = 16;

/// Which hash a list of passwords is made of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PasswordDigest {
    /// SHA-1 of the bytes; its first 16 bytes are the key. The default.
    #[default]
    Sha1,
    /// The NT hash (often called NTLM): MD4 of the text in UTF-16LE.
    Nt,
}

impl PasswordDigest {
    /// The key of a password. Costs one pass over its bytes.
    ///
    /// # Errors
    ///
    /// [`NotUtf8`] if this is [`Nt`](Self::Nt) and the password is not UTF-8.
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::screen::PasswordDigest;
    /// assert!(PasswordDigest::Sha1.key_of(b"ma\xf1ana").is_ok());
    /// assert!(PasswordDigest::Nt.key_of(b"ma\xf1ana").is_err());
    /// # Ok::<(), hapax::screen::NotUtf8>(())
    /// ```
    pub fn key_of(self, password: &[u8]) -> Result<KeyHash, NotUtf8> {
        match self {
            Self::Sha1 => Ok(sha1_key(&sha1_of(password))),
            Self::Nt => nt_of(password).map(|nt| nt_key(&nt)),
        }
    }

    /// Hexadecimal digits of one hash: 40 or 32.
    #[must_use]
    pub const fn hex_digits(self) -> usize {
        match self {
            Self::Sha1 => 2 * SHA1_LEN,
            Self::Nt => 2 * NT_LEN,
        }
    }

    /// The key of a hash written in hexadecimal, in either case. `None` unless it is exactly
    /// [`hex_digits`](Self::hex_digits) digits.
    ///
    /// ```
    /// use hapax::screen::PasswordDigest;
    /// let key = PasswordDigest::Nt.key_from_hex(b"8846F7EAEE8FB117AD06BDD830b7586c");
    /// assert_eq!(key, PasswordDigest::Nt.key_of(b"password").ok());
    /// assert_eq!(PasswordDigest::Sha1.key_from_hex(b"8846F7EAEE8FB117AD06BDD830B7586C"), None);
    /// ```
    #[must_use]
    pub fn key_from_hex(self, digits: &[u8]) -> Option<KeyHash> {
        match self {
            Self::Sha1 => bytes_from_hex(digits).map(|sha1| sha1_key(&sha1)),
            Self::Nt => bytes_from_hex(digits).map(|nt| nt_key(&nt)),
        }
    }
}

impl From<PasswordDigest> for Digest {
    fn from(digest: PasswordDigest) -> Self {
        match digest {
            PasswordDigest::Sha1 => Self::Sha1,
            PasswordDigest::Nt => Self::Nt,
        }
    }
}

impl fmt::Display for PasswordDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Digest::from(*self).fmt(f)
    }
}

/// SHA-1 of the bytes as they are.
///
/// ```
/// use hapax::screen::digest::{bytes_from_hex, sha1_of};
/// let expected = bytes_from_hex(b"5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8");
/// assert_eq!(Some(sha1_of(b"password")), expected);
/// ```
#[must_use]
pub fn sha1_of(password: &[u8]) -> [u8; SHA1_LEN] {
    sha1::Sha1::digest(password).into()
}

/// The NT hash: MD4 of the text in UTF-16LE, with surrogate pairs for characters beyond U+FFFF.
///
/// # Errors
///
/// [`NotUtf8`] if the bytes are not UTF-8: they are no text, and have no NT hash.
///
/// ```
/// use hapax::screen::digest::{bytes_from_hex, nt_of};
/// let expected = bytes_from_hex(b"717a593e7919d6e00182561812c2b621");
/// assert_eq!(nt_of("mañana".as_bytes()).ok(), expected);
/// ```
pub fn nt_of(password: &[u8]) -> Result<[u8; NT_LEN], NotUtf8> {
    /// Holds most passwords whole; a longer one goes through in pieces.
    const UNITS: usize = 64;

    let text = std::str::from_utf8(password).map_err(|_| NotUtf8)?;
    let mut hasher = md4::Md4::new();
    let mut buffer = Zeroizing::new([0u8; 2 * UNITS]);
    let mut units = text.encode_utf16();
    loop {
        let mut filled = 0;
        for (pair, unit) in buffer.chunks_exact_mut(2).zip(&mut units) {
            pair.copy_from_slice(&unit.to_le_bytes());
            filled += 2;
        }
        hasher.update(&buffer[..filled]);
        if filled < buffer.len() {
            return Ok(hasher.finalize().into());
        }
    }
}

/// The key of a SHA-1 digest: its first 16 bytes.
#[must_use]
pub fn sha1_key(sha1: &[u8; SHA1_LEN]) -> KeyHash {
    let mut head = [0; 16];
    head.copy_from_slice(&sha1[..16]);
    KeyHash::from_uniform(&head)
}

/// The key of an NT hash: all of it.
#[must_use]
pub const fn nt_key(nt: &[u8; NT_LEN]) -> KeyHash {
    KeyHash::from_uniform(nt)
}

/// Reads exactly `2 * N` hexadecimal digits, in either case; `None` for anything else.
#[must_use]
pub fn bytes_from_hex<const N: usize>(digits: &[u8]) -> Option<[u8; N]> {
    if digits.len() != 2 * N {
        return None;
    }
    let mut bytes = [0; N];
    let mut faults = 0;
    for (four, eight) in bytes.chunks_mut(4).zip(digits.chunks(8)) {
        // The last word may be short; what fills it up is left out again.
        let mut padded = [b'0'; 8];
        padded[..eight.len()].copy_from_slice(eight);
        let (value, fault) = hex::word(padded);
        faults |= fault;
        four.copy_from_slice(&value.to_be_bytes()[..four.len()]);
    }
    (faults == 0).then_some(bytes)
}

/// The password is not UTF-8, so it has no NT hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotUtf8;

impl fmt::Display for NotUtf8 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "expected a password in UTF-8, found other bytes, and the NT hash is one of text: \
             convert the input to UTF-8, or use a SHA-1 list, which takes any bytes",
        )
    }
}

impl std::error::Error for NotUtf8 {}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn digit(nibble: u8) -> char {
        char::from(b"0123456789abcdef"[usize::from(nibble)])
    }

    fn hex(bytes: &[u8]) -> String {
        bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).map(digit).collect()
    }

    #[test]
    fn sha1_matches_published_values() {
        // FIPS 180-4 examples, and the password everyone looks up first.
        for (input, digest) in [
            ("", "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
            ("abc", "a9993e364706816aba3e25717850c26c9cd0d89d"),
            ("password", "5baa61e4c9b93f3f0682250b6cf8331b7ee68fd8"),
        ] {
            assert_eq!(hex(&sha1_of(input.as_bytes())), digest, "{input}");
        }
    }

    #[test]
    fn nt_matches_published_values() {
        for (input, digest) in [
            ("", "31d6cfe0d16ae931b73c59d7e0c089c0"),
            ("password", "8846f7eaee8fb117ad06bdd830b7586c"),
            ("mañana", "717a593e7919d6e00182561812c2b621"),
        ] {
            assert_eq!(nt_of(input.as_bytes()).as_ref().map(|nt| hex(nt)), Ok(digest.to_owned()));
        }
        assert_eq!(nt_of(b"ma\xf1ana"), Err(NotUtf8));
    }

    #[test]
    fn sha1_key_is_the_head_of_the_digest_and_sorts_alike() {
        let (low, high) = (sha1_of(b"abc"), [0xff; SHA1_LEN]);
        assert_eq!(sha1_key(&low).to_bytes(), low[..16]);
        assert!(sha1_key(&low) < sha1_key(&high));
    }

    proptest! {
        #[test]
        fn nt_equals_md4_of_the_whole_utf16(text in "\\PC{0,200}") {
            let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let expected: [u8; 16] = md4::Md4::digest(utf16).into();
            prop_assert_eq!(nt_of(text.as_bytes()), Ok(expected));
        }

        #[test]
        fn hex_of_either_case_round_trips(bytes: [u8; 20], upper: bool) {
            let digits = if upper { hex(&bytes).to_uppercase() } else { hex(&bytes) };
            prop_assert_eq!(bytes_from_hex(digits.as_bytes()), Some(bytes));
        }

        #[test]
        fn hex_with_any_foreign_byte_is_refused(
            bytes: [u8; 16],
            at in 0..32usize,
            foreign in any::<u8>().prop_filter("no digit", |byte| !byte.is_ascii_hexdigit()),
        ) {
            let mut digits = hex(&bytes).into_bytes();
            digits[at] = foreign;
            prop_assert_eq!(bytes_from_hex::<16>(&digits), None);
        }
    }
}
