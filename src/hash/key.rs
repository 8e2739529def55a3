//! Canonical bytes of keys.

use std::borrow::Cow;

/// A value with canonical bytes: the same bytes on every platform, in every release.
///
/// | Type | Canonical bytes |
/// |---|---|
/// | `str`, `String`, `[u8]`, `Vec<u8>`, `[u8; N]`, `Cow` and `Box` of these | the bytes themselves |
/// | `u8` to `u128`, `i8` to `i128` | fixed width, little-endian, two's complement |
/// | tuples of 2 to 4 keys | for each part its length as a `u64` (little-endian), then its bytes |
///
/// Equal bytes are the same key: `"abc"`, `b"abc"` and `String::from("abc")` are one key, and so
/// are `5u32` and `[5u8, 0, 0, 0]`; `5u32` and `5u64` are two. The length prefix keeps
/// `("ab", "c")` apart from `("a", "bc")`. `usize` is left out because its width differs between
/// platforms, floats because equal numbers can have different bits.
///
/// `std::hash::Hash` is not used: what it feeds to a hasher differs between platforms, compiler
/// releases and types (`str` and `[u8]` differ), so it must not decide what a file contains.
///
/// # Examples
///
/// ```
/// use hapax::Key;
/// assert_eq!("abc".canonical_bytes().as_ref(), b"abc");
/// assert_eq!(258u32.canonical_bytes().as_ref(), [2, 1, 0, 0]);
/// assert_ne!(("ab", "c").canonical_bytes().as_ref(), ("a", "bc").canonical_bytes().as_ref());
/// ```
pub trait Key {
    /// The canonical bytes. Costs nothing for strings and integers, one allocation for tuples.
    fn canonical_bytes(&self) -> impl AsRef<[u8]>;
}

impl Key for [u8] {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        self
    }
}

impl Key for str {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

impl Key for String {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        self.as_bytes()
    }
}

impl Key for Vec<u8> {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        self.as_slice()
    }
}

impl<const N: usize> Key for [u8; N] {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        self.as_slice()
    }
}

impl<K: Key + ?Sized> Key for &K {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        (**self).canonical_bytes()
    }
}

impl<K: Key + ?Sized> Key for Box<K> {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        (**self).canonical_bytes()
    }
}

impl<K: Key + ToOwned + ?Sized> Key for Cow<'_, K> {
    fn canonical_bytes(&self) -> impl AsRef<[u8]> {
        (**self).canonical_bytes()
    }
}

macro_rules! integer_keys {
    ($($int:ty),*) => {$(
        impl Key for $int {
            fn canonical_bytes(&self) -> impl AsRef<[u8]> {
                self.to_le_bytes()
            }
        }
    )*};
}
integer_keys!(u8, u16, u32, u64, u128, i8, i16, i32, i64, i128);

/// Appends one part of a tuple: its length as a `u64`, then its bytes.
fn push_part(out: &mut Vec<u8>, part: &(impl Key + ?Sized)) {
    let bytes = part.canonical_bytes();
    let bytes = bytes.as_ref();
    out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
    out.extend_from_slice(bytes);
}

macro_rules! tuple_keys {
    ($(($($part:ident . $index:tt),*))*) => {$(
        impl<$($part: Key),*> Key for ($($part,)*) {
            fn canonical_bytes(&self) -> impl AsRef<[u8]> {
                let mut out = Vec::new();
                $(push_part(&mut out, &self.$index);)*
                out
            }
        }
    )*};
}
tuple_keys! { (A.0, B.1) (A.0, B.1, C.2) (A.0, B.1, C.2, D.3) }
