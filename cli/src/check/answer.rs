//! From a row to its answer.

use std::fmt;

use hapax::screen::digest::bytes_from_hex;
use hapax::screen::{PasswordDigest, Screen, ScreenError, Verdict};
use hapax::{AnyFilter, Membership};

use super::Form;
use crate::filters::Opened;
use crate::trouble::Trouble;

/// What there is to say of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing is in it.
    Blank,
    /// At least one filter lists it.
    Listed,
    /// No filter lists it; certain.
    NotListed,
    /// It could not be asked for.
    Unknown(Reason),
}

/// Why a row could not be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    TooLong { limit: usize },
    NotHex { digest: PasswordDigest },
    Screen(ScreenError),
}

impl Answer {
    pub(super) const fn too_long(limit: usize) -> Self {
        Self::Unknown(Reason::TooLong { limit })
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { limit } => {
                write!(f, "expected at most {limit} bytes, found a longer row")
            }
            Self::NotHex { digest } => write!(
                f,
                "expected {} hexadecimal digits ({digest}) and nothing else",
                digest.hex_digits()
            ),
            Self::Screen(error) => error.fmt(f),
        }
    }
}

/// The filters to ask, and what rows are.
pub(super) struct Asked {
    screens: Vec<Screen<AnyFilter>>,
    form: Form,
}

impl Asked {
    /// Takes filters that can answer rows of this form.
    ///
    /// # Errors
    ///
    /// If one of them cannot: an answer of the others alone would be no answer.
    pub(super) fn new(opened: Vec<Opened>, form: Form) -> Result<Self, Trouble> {
        let mut screens = Vec::with_capacity(opened.len());
        for Opened { name, artefact, .. } in opened {
            let screen = Screen::new(artefact.filter);
            let tried = match form {
                Form::Plain => screen.check(b""),
                Form::Sha1 => screen.check_sha1(&[0; 20]),
                Form::Nt => screen.check_nt(&[0; 16]),
            };
            let _ = tried.map_err(|error| Trouble::new(format_args!("{name}: {error}")))?;
            screens.push(screen);
        }
        Ok(Self { screens, form })
    }

    /// The probability that a stranger is listed by at least one filter.
    pub(super) fn false_positive_rate(&self) -> f64 {
        let rates = self.screens.iter().map(|screen| screen.filter().false_positive_rate());
        // 1 - (1 - r)(1 - r')..., in a form that keeps the digits of small rates.
        -rates.map(|rate| (-rate).ln_1p()).sum::<f64>().exp_m1()
    }

    /// Asks all filters. Costs a hash and a lookup for each, and allocates nothing.
    pub(super) fn answer(&self, row: &[u8]) -> Answer {
        if row.is_empty() {
            return Answer::Blank;
        }
        match self.form {
            Form::Plain => self.any(|screen| screen.check(row)),
            Form::Sha1 => match bytes_from_hex(row) {
                Some(sha1) => self.any(|screen| screen.check_sha1(&sha1)),
                None => Answer::Unknown(Reason::NotHex { digest: PasswordDigest::Sha1 }),
            },
            Form::Nt => match bytes_from_hex(row) {
                Some(nt) => self.any(|screen| screen.check_nt(&nt)),
                None => Answer::Unknown(Reason::NotHex { digest: PasswordDigest::Nt }),
            },
        }
    }

    /// Listed if any filter lists it; not listed only if every filter says so.
    fn any(&self, ask: impl Fn(&Screen<AnyFilter>) -> Result<Verdict, ScreenError>) -> Answer {
        let mut answer = Answer::NotListed;
        for screen in &self.screens {
            match ask(screen) {
                Ok(Verdict::Listed) => return Answer::Listed,
                Ok(Verdict::NotListed) => {}
                Err(error) => answer = Answer::Unknown(Reason::Screen(error)),
            }
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use hapax::codec::{Artefact, Provenance};
    use hapax::prelude::*;
    use hapax::{Digest, GrowingFilter, Seed};

    use super::*;

    /// A filter of one password.
    fn filter(digest: PasswordDigest, password: &str) -> Opened {
        let mut filter = BloomFilter::builder()
            .capacity(10)
            .false_positive_rate(1e-6)
            .seed(Seed::uniform(Digest::from(digest)))
            .build()
            .unwrap();
        let _ = filter.insert_hash(digest.key_of(password.as_bytes()).unwrap()).unwrap();
        let artefact = Artefact { filter: filter.into(), provenance: Provenance::default() };
        Opened { name: format!("{digest} of {password}"), artefact, file_len: 0 }
    }

    const NOT_UTF8: &[u8] = b"ma\xf1ana";

    #[test]
    fn a_row_is_listed_if_any_filter_lists_it() {
        let filters =
            vec![filter(PasswordDigest::Sha1, "alpha"), filter(PasswordDigest::Nt, "beta")];
        let asked = Asked::new(filters, Form::Plain).unwrap();
        assert_eq!(asked.answer(b"alpha"), Answer::Listed);
        assert_eq!(asked.answer(b"beta"), Answer::Listed);
        assert_eq!(asked.answer(b"beta "), Answer::NotListed);
        assert_eq!(asked.answer(b""), Answer::Blank);
    }

    #[test]
    fn a_row_that_one_filter_cannot_answer_is_unknown_unless_another_lists_it() {
        let filters = vec![filter(PasswordDigest::Nt, "beta"), filter(PasswordDigest::Sha1, "x")];
        let asked = Asked::new(filters, Form::Plain).unwrap();
        assert!(matches!(asked.answer(NOT_UTF8), Answer::Unknown(Reason::Screen(_))));

        let mut listing = filter(PasswordDigest::Sha1, "x");
        let AnyFilter::Growing(GrowingFilter::Bloom(bloom)) = &mut listing.artefact.filter else {
            panic!("not Bloom")
        };
        let _ = bloom.insert_hash(PasswordDigest::Sha1.key_of(NOT_UTF8).unwrap()).unwrap();
        let filters = vec![filter(PasswordDigest::Nt, "beta"), listing];
        let asked = Asked::new(filters, Form::Plain).unwrap();
        assert_eq!(asked.answer(NOT_UTF8), Answer::Listed);
    }

    #[test]
    fn hashes_are_read_in_either_case_and_nothing_else_is() {
        let asked = Asked::new(vec![filter(PasswordDigest::Nt, "password")], Form::Nt).unwrap();
        assert_eq!(asked.answer(b"8846F7EAEE8FB117AD06BDD830B7586C"), Answer::Listed);
        assert_eq!(asked.answer(b"8846f7eaee8fb117ad06bdd830b7586c"), Answer::Listed);
        assert_eq!(asked.answer(b"0046f7eaee8fb117ad06bdd830b7586c"), Answer::NotListed);
        let bad = Answer::Unknown(Reason::NotHex { digest: PasswordDigest::Nt });
        for row in [&b"8846f7eaee8fb117ad06bdd830b7586"[..], b"password", &[b'Z'; 32]] {
            assert_eq!(asked.answer(row), bad);
        }
    }

    #[test]
    fn a_filter_that_cannot_answer_the_form_is_refused_by_name() {
        let filters = || vec![filter(PasswordDigest::Sha1, "a"), filter(PasswordDigest::Nt, "b")];
        for (form, name) in [(Form::Sha1, "NT of b"), (Form::Nt, "SHA-1 of a")] {
            let Err(Trouble::Message(message)) = Asked::new(filters(), form) else {
                panic!("accepted")
            };
            assert!(message.starts_with(name), "{message}");
        }
    }

    #[test]
    fn the_rates_of_several_filters_add_up() {
        let (first, second) = (filter(PasswordDigest::Sha1, "a"), filter(PasswordDigest::Nt, "a"));
        let rate = |opened: &Opened| opened.artefact.filter.false_positive_rate();
        let sum = rate(&first) + rate(&second);
        let found = Asked::new(vec![first, second], Form::Plain).unwrap().false_positive_rate();
        // Rates of 1e-23: the digits would be lost in 1 - (1 - r).
        assert!(sum > 0.0 && (found / sum - 1.0).abs() < 1e-9, "{found} {sum}");
    }
}
