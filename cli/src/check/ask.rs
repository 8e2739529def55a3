//! From a batch of rows to their answers.
//!
//! ```text
//!  rows ──▶ keys, once for all filters that hash alike ──▶ each filter, all keys at once
//!   │        └ and of the other forms                          └──▶ its list, what it did not deny
//!   └ faults ──────────────────────▶ answers ◀──── the strongest of all ──┘
//! ```

use std::path::PathBuf;

use hapax::screen::{
    ConfirmList, Finding, PasswordDigest, PasswordForm, Scratch, Screen, ScreenError,
};
use hapax::{Digest, HashIdentity, KeyHash, Membership};
use zeroize::Zeroizing;

use super::answer::{Answer, By, Reason};
use super::args::Form;
use super::batch::Batch;
use super::forms::{Also, FormBuffer};
use crate::filters::{Filter, Opened};
use crate::trouble::{Trouble, escaped};

/// The filters to ask, and what rows are.
pub(super) struct Asked {
    filters: Vec<Listing>,
    /// Filters that hash alike, by their numbers.
    groups: Vec<Vec<u16>>,
    form: Form,
    also: Vec<Also>,
}

struct Listing {
    screen: Screen<Filter>,
    /// What the list calls itself.
    list: String,
}

/// Room for one batch, to be used again.
#[derive(Default)]
pub(super) struct Answers {
    /// One for each row.
    pub(super) rows: Vec<Answer>,
    /// What [`Reason::Told`] refers to.
    pub(super) told: Vec<ScreenError>,
    /// What was refuted, by the number of the filter.
    pub(super) refuted: Vec<(u16, KeyHash)>,
    keys: Zeroizing<Vec<KeyHash>>,
    owners: Vec<Owner>,
    findings: Vec<Finding>,
    scratch: Scratch,
    form: FormBuffer,
}

/// The row, and the form of it, that a key was made of.
#[derive(Clone, Copy)]
struct Owner {
    row: u32,
    form: Option<Also>,
}

impl Asked {
    /// Takes filters that can answer rows of this form, the first of them with lists to confirm.
    ///
    /// # Errors
    ///
    /// If one of them cannot (an answer of the others alone would be no answer), or a list cannot
    /// confirm its filter, or a filter does not hold what `min_count` asks for.
    pub(super) fn new(
        opened: Vec<Opened>,
        confirm: &[PathBuf],
        min_count: Option<u64>,
        form: Form,
        also: Vec<Also>,
    ) -> Result<Self, Trouble> {
        if confirm.len() > opened.len() {
            return Err(Trouble::new("--confirm was given more often than there are filters"));
        }
        let mut asked = Self { filters: Vec::new(), groups: Vec::new(), form, also };
        for (index, Opened { name, filter, provenance }) in opened.into_iter().enumerate() {
            let refused = |error: &dyn std::fmt::Display| {
                Trouble::new(format_args!("{name}: {}", escaped(&error.to_string())))
            };
            let mut screen = Screen::new(filter);
            screen.answers(form.into()).map_err(|error| refused(&error))?;
            if let Some(min_count) = min_count
                && provenance.min_count > min_count
            {
                return Err(refused(&format_args!(
                    "expected passwords seen at least {min_count} times, found a filter made of \
                     those seen at least {}: it does not know the others",
                    provenance.min_count
                )));
            }
            if let Some(path) = confirm.get(index) {
                crate::filters::existing_len("--confirm", index, path)?;
                let digest = match screen.filter().seed().identity() {
                    HashIdentity::Uniform(Digest::Nt) => PasswordDigest::Nt,
                    _ => PasswordDigest::Sha1,
                };
                let list = ConfirmList::open(path, digest)
                    .map_err(|error| Trouble::new(escaped(&error.to_string())))?;
                screen = screen
                    .with_confirm(list.with_min_count(min_count.unwrap_or(0)))
                    .map_err(|error| Trouble::new(escaped(&error.to_string())))?;
            } else if min_count.is_some() {
                return Err(refused(
                    &"expected a list to take counts from, since --min-count was given, found \
                      none: give one with --confirm",
                ));
            }
            let list = if provenance.name.is_empty() { name } else { escaped(&provenance.name) };
            asked.add(Listing { screen, list });
        }
        Ok(asked)
    }

    fn add(&mut self, listing: Listing) {
        let number = self.filters.len() as u16;
        let alike = |group: &&mut Vec<u16>| {
            let first = &self.filters[usize::from(group[0])];
            first.screen.filter().seed() == listing.screen.filter().seed()
        };
        match self.groups.iter_mut().find(alike) {
            Some(group) => group.push(number),
            None => self.groups.push(vec![number]),
        }
        self.filters.push(listing);
    }

    /// The probability that a stranger is listed by at least one filter.
    pub(super) fn false_positive_rate(&self) -> f64 {
        // 1 - (1 - r)(1 - r')..., in a form that keeps the digits of small rates.
        -self.rates().map(|rate| (-rate).ln_1p()).sum::<f64>().exp_m1()
    }

    /// The rate of each filter.
    pub(super) fn rates(&self) -> impl Iterator<Item = f64> {
        self.filters.iter().map(|listing| listing.screen.filter().false_positive_rate())
    }

    /// Whether a filter has a list that confirms.
    pub(super) fn confirms_any(&self) -> bool {
        self.filters.iter().any(|listing| listing.screen.confirm().is_some())
    }

    /// What the list of a filter calls itself.
    pub(super) fn list(&self, filter: u16) -> &str {
        &self.filters[usize::from(filter)].list
    }

    /// How many forms of each row are asked for.
    pub(super) fn forms(&self) -> usize {
        1 + self.also.len()
    }

    /// Answers all rows of a batch. Allocates nothing once the room is as large as it needs to be.
    pub(super) fn answer(&self, batch: &Batch, answers: &mut Answers) {
        answers.rows.clear();
        answers.told.clear();
        answers.refuted.clear();
        answers.rows.extend(batch.cuts.iter().map(|cut| match cut.fault {
            Some(fault) => Answer::Unknown(Reason::Fault(fault)),
            None if batch.candidate(cut).is_empty() => Answer::Blank,
            None => Answer::NotListed,
        }));
        for group in &self.groups {
            self.make_keys(&self.filters[usize::from(group[0])].screen, batch, answers);
            for filter in group {
                self.ask(*filter, answers);
            }
        }
    }

    /// The keys of all candidates, for filters that hash as this one does.
    fn make_keys(&self, screen: &Screen<Filter>, batch: &Batch, answers: &mut Answers) {
        answers.keys.clear();
        answers.owners.clear();
        let digest = match self.form {
            Form::Plain => return self.hash(screen, batch, answers),
            Form::Sha1 => PasswordDigest::Sha1,
            Form::Nt => PasswordDigest::Nt,
        };
        for ((row, cut), answer) in (0..).zip(&batch.cuts).zip(&mut answers.rows) {
            if !matches!(answer, Answer::NotListed) {
                continue;
            }
            match digest.key_from_hex(batch.candidate(cut)) {
                Some(key) => {
                    answers.keys.push(key);
                    answers.owners.push(Owner { row, form: None });
                }
                None => *answer = Answer::Unknown(Reason::NotHex { digest }),
            }
        }
    }

    fn hash(&self, screen: &Screen<Filter>, batch: &Batch, answers: &mut Answers) {
        for (row, cut) in (0..).zip(&batch.cuts) {
            if cut.fault.is_some() {
                continue;
            }
            let candidate = batch.candidate(cut);
            if candidate.is_empty() {
                continue;
            }
            let mut push = |form: Option<Also>, candidate: &[u8]| match screen.key_of(candidate) {
                Ok(key) => {
                    answers.keys.push(key);
                    answers.owners.push(Owner { row, form });
                }
                Err(error) => {
                    // One for all rows of a kind; there are few kinds.
                    let known = answers.told.iter().position(|told| *told == error);
                    let index = known.unwrap_or(answers.told.len());
                    if known.is_none() {
                        answers.told.push(error);
                    }
                    let unknown = Answer::Unknown(Reason::Told(index as u32));
                    answers.rows[row as usize].add(unknown);
                }
            };
            push(None, candidate);
            for also in &self.also {
                if let Some(form) = also.of(candidate, &mut answers.form) {
                    push(Some(*also), form);
                }
            }
        }
    }

    /// Asks one filter for all keys, and its list for those that it does not deny.
    fn ask(&self, filter: u16, answers: &mut Answers) {
        let screen = &self.filters[usize::from(filter)].screen;
        let Answers { rows, told, refuted, keys, owners, findings, scratch, .. } = answers;
        if screen.find_batch(keys, findings, scratch).is_ok() {
            for ((finding, owner), key) in findings.iter().zip(owners).zip(keys.iter()) {
                if *finding == Finding::NotListed {
                    continue;
                }
                if *finding == Finding::Refuted {
                    refuted.push((filter, *key));
                }
                let by = By { filter, form: owner.form };
                rows[owner.row as usize].add(Answer::new(*finding, by));
            }
            return;
        }
        // The list cannot tell of at least one of them: only that one is unknown.
        for (key, owner) in keys.iter().zip(owners) {
            let answer = match screen.find_key(*key) {
                Ok(finding) => {
                    if finding == Finding::Refuted {
                        refuted.push((filter, *key));
                    }
                    Answer::new(finding, By { filter, form: owner.form })
                }
                Err(error) => {
                    told.push(error);
                    Answer::Unknown(Reason::Told(told.len() as u32 - 1))
                }
            };
            rows[owner.row as usize].add(answer);
        }
    }
}

impl From<Form> for PasswordForm {
    fn from(form: Form) -> Self {
        match form {
            Form::Plain => Self::Plain,
            Form::Sha1 => Self::Sha1,
            Form::Nt => Self::Nt,
        }
    }
}

#[cfg(test)]
mod tests {
    use hapax::codec::Provenance;
    use hapax::prelude::*;

    use super::*;
    use crate::check::lines::{Shape, Source};

    /// A filter of one password.
    fn filter(digest: PasswordDigest, password: &str) -> Opened {
        filter_of(digest, &[password.as_bytes()])
    }

    fn filter_of(digest: PasswordDigest, passwords: &[&[u8]]) -> Opened {
        let mut filter = BloomFilter::builder()
            .capacity(10)
            .false_positive_rate(1e-6)
            .seed(Seed::uniform(Digest::from(digest)))
            .build()
            .unwrap();
        for password in passwords {
            let _ = filter.insert_hash(digest.key_of(password).unwrap()).unwrap();
        }
        let first = String::from_utf8_lossy(passwords[0]);
        let name = format!("{digest} of {first}");
        Opened { name, filter: Box::new(filter), provenance: Provenance::default() }
    }

    fn asked(filters: Vec<Opened>, form: Form) -> Result<Asked, Trouble> {
        Asked::new(filters, &[], None, form, Vec::new())
    }

    /// The answers for these rows.
    fn answers(asked: &Asked, rows: &[u8]) -> Vec<Answer> {
        let shape = Shape::Lines { end: b'\n' };
        let (mut batch, mut answers) = (Batch::new(), Answers::default());
        assert!(Source::new(rows, &shape).fill(&mut batch, "test").unwrap());
        shape.cut(&mut batch);
        asked.answer(&batch, &mut answers);
        answers.rows
    }

    fn by(filter: u16) -> Answer {
        Answer::Maybe(By { filter, form: None })
    }

    #[test]
    fn a_row_is_listed_if_any_filter_lists_it() {
        let filters = vec![
            filter(PasswordDigest::Sha1, "alpha"),
            filter(PasswordDigest::Nt, "beta"),
            filter(PasswordDigest::Sha1, "gamma"),
        ];
        let asked = asked(filters, Form::Plain).unwrap();
        assert_eq!(
            answers(&asked, b"alpha\nbeta\nbeta \n\ngamma\n"),
            [by(0), by(1), Answer::NotListed, Answer::Blank, by(2)]
        );
    }

    #[test]
    fn a_row_that_one_filter_cannot_answer_is_unknown_unless_another_lists_it() {
        const NOT_UTF8: &[u8] = b"ma\xf1ana\nbeta\nma\xf1\n";
        let unknown = Answer::Unknown(Reason::Told(0));
        let filters = vec![filter(PasswordDigest::Nt, "beta"), filter(PasswordDigest::Sha1, "x")];
        let found = answers(&asked(filters, Form::Plain).unwrap(), NOT_UTF8);
        assert_eq!(found, [unknown, by(0), unknown]);

        let listing = filter_of(PasswordDigest::Sha1, &[b"x", b"ma\xf1ana"]);
        let filters = vec![filter(PasswordDigest::Nt, "beta"), listing];
        let found = answers(&asked(filters, Form::Plain).unwrap(), NOT_UTF8);
        assert_eq!(found, [by(1), by(0), unknown]);
    }

    #[test]
    fn hashes_are_read_in_either_case_and_nothing_else_is() {
        let asked = asked(vec![filter(PasswordDigest::Nt, "password")], Form::Nt).unwrap();
        let rows = b"8846F7EAEE8FB117AD06BDD830B7586C\n8846f7eaee8fb117ad06bdd830b7586c\n\
            0046f7eaee8fb117ad06bdd830b7586c\n8846f7eaee8fb117ad06bdd830b7586\npassword\n";
        let bad = Answer::Unknown(Reason::NotHex { digest: PasswordDigest::Nt });
        assert_eq!(answers(&asked, rows), [by(0), by(0), Answer::NotListed, bad, bad]);
    }

    #[test]
    fn a_filter_that_cannot_answer_the_form_is_refused_by_name() {
        let filters = || vec![filter(PasswordDigest::Sha1, "a"), filter(PasswordDigest::Nt, "b")];
        for (form, name) in [(Form::Sha1, "NT of b"), (Form::Nt, "SHA-1 of a")] {
            let Err(Trouble::Message(message)) = asked(filters(), form) else { panic!("accepted") };
            assert!(message.starts_with(name), "{message}");
        }
    }

    #[test]
    fn the_rates_of_several_filters_add_up() {
        let (first, second) = (filter(PasswordDigest::Sha1, "a"), filter(PasswordDigest::Nt, "a"));
        let rate = |opened: &Opened| opened.filter.false_positive_rate();
        let sum = rate(&first) + rate(&second);
        let found = asked(vec![first, second], Form::Plain).unwrap().false_positive_rate();
        // Rates of 1e-23: the digits would be lost in 1 - (1 - r).
        assert!(sum > 0.0 && (found / sum - 1.0).abs() < 1e-9, "{found} {sum}");
    }
}
