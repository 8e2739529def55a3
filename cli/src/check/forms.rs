//! Other forms of a candidate: a site may have stored a password normalised, and a list hold it as
//! it was typed.

use clap::ValueEnum;
use unicode_normalization::{UnicodeNormalization, is_nfc, is_nfkc};
use zeroize::Zeroizing;

/// A form of a candidate that is asked for too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Also {
    /// Composed (Unicode NFC)
    Nfc,
    /// Composed, and compatible characters folded into one (Unicode NFKC)
    Nfkc,
    /// In lower case
    Lower,
    /// Without white space at either end
    Trim,
}

/// The most bytes that one byte of a text can become: three bytes of U+FDFA are 33 in NFKC.
const MAX_GROWTH: usize = 11;

/// A buffer for one form. It is replaced, not grown, so that no copy stays behind.
#[derive(Default)]
pub(super) struct FormBuffer(Zeroizing<Vec<u8>>);

impl Also {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Nfc => "nfc",
            Self::Nfkc => "nfkc",
            Self::Lower => "lower",
            Self::Trim => "trim",
        }
    }

    /// The form of a candidate, if it has one and it differs.
    pub(super) fn of<'a>(self, candidate: &[u8], buffer: &'a mut FormBuffer) -> Option<&'a [u8]> {
        let text = std::str::from_utf8(candidate);
        match (self, text) {
            (Self::Trim, Ok(text)) => buffer.set(text.len(), text.trim().bytes()),
            (Self::Trim, Err(_)) => {
                buffer.set(candidate.len(), candidate.trim_ascii().iter().copied());
            }
            (Self::Lower, Ok(text)) => {
                buffer.set(text.len(), utf8(text.chars().flat_map(char::to_lowercase)));
            }
            (Self::Lower, Err(_)) => {
                buffer.set(candidate.len(), candidate.iter().map(u8::to_ascii_lowercase));
            }
            (Self::Nfc, Ok(text)) if !is_nfc(text) => buffer.set(text.len(), utf8(text.nfc())),
            (Self::Nfkc, Ok(text)) if !is_nfkc(text) => buffer.set(text.len(), utf8(text.nfkc())),
            (Self::Nfc | Self::Nfkc, _) => return None,
        }
        let form = buffer.0.as_slice();
        (!form.is_empty() && form != candidate).then_some(form)
    }
}

fn utf8(chars: impl Iterator<Item = char>) -> impl Iterator<Item = u8> {
    chars.flat_map(|c| {
        let mut bytes = [0; 4];
        let len = c.encode_utf8(&mut bytes).len();
        bytes.into_iter().take(len)
    })
}

impl FormBuffer {
    fn set(&mut self, len: usize, bytes: impl Iterator<Item = u8>) {
        let needed = len * MAX_GROWTH;
        if self.0.capacity() < needed {
            // The old one is wiped as it goes.
            self.0 = Zeroizing::new(Vec::with_capacity(needed));
        }
        self.0.clear();
        self.0.extend(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_made_of_the_candidate_as_it_came() {
        let mut buffer = FormBuffer::default();
        for (also, candidate, form) in [
            (Also::Nfc, "man\u{303}ana", Some("mañana")),
            (Also::Nfc, "mañana", None),
            (Also::Nfc, "plain", None),
            (Also::Nfkc, "ｐａｓｓ", Some("pass")),
            (Also::Nfkc, "man\u{303}ana", Some("mañana")),
            (Also::Nfc, "ｐａｓｓ", None),
            (Also::Lower, "PassWÖRD", Some("passwörd")),
            (Also::Lower, "password", None),
            (Also::Lower, "İ", Some("i\u{307}")),
            (Also::Trim, " pass word\t", Some("pass word")),
            (Also::Trim, "\u{a0}pass\u{3000}", Some("pass")),
            (Also::Trim, " ", None),
            (Also::Trim, "pass", None),
        ] {
            let found = also.of(candidate.as_bytes(), &mut buffer);
            assert_eq!(found, form.map(str::as_bytes), "{also:?} of {candidate:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_have_the_forms_that_need_none() {
        let mut buffer = FormBuffer::default();
        let candidate = b" Ma\xf1ana";
        assert_eq!(Also::Nfc.of(candidate, &mut buffer), None);
        assert_eq!(Also::Nfkc.of(candidate, &mut buffer), None);
        assert_eq!(Also::Lower.of(candidate, &mut buffer), Some(&b" ma\xf1ana"[..]));
        assert_eq!(Also::Trim.of(candidate, &mut buffer), Some(&b"Ma\xf1ana"[..]));
    }

    #[test]
    fn no_character_grows_beyond_the_buffer() {
        let mut buffer = FormBuffer::default();
        for c in '\0'..=char::MAX {
            let text = c.to_string();
            for also in [Also::Nfc, Also::Nfkc, Also::Lower, Also::Trim] {
                let len = also.of(text.as_bytes(), &mut buffer).map_or(0, <[u8]>::len);
                assert!(len <= text.len() * MAX_GROWTH, "{c:?}: {len}");
            }
        }
    }
}
