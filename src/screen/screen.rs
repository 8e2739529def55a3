//! Asking a filter about a password.

use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use zeroize::Zeroizing;

use super::confirm::{ConfirmError, ConfirmFault, ConfirmList, Confirmation};
use super::digest::{NT_LEN, PasswordDigest, SHA1_LEN, nt_key, sha1_key};
use super::error::ScreenError;
use super::verdict::{Finding, PasswordForm, Verdict};
use crate::any::AnyFilter;
use crate::codec::{Artefact, DecodeError, FileError};
use crate::hash::{Digest, HashIdentity, KeyHash};
use crate::membership::{BatchError, Membership};
use crate::store::Mapped;

/// Looks passwords up in a filter made from a list of compromised ones.
///
/// What it can be asked follows from what the filter's keys are, which the filter's
/// [`Seed`](crate::Seed) says:
///
/// | keys of the filter | plain password | SHA-1 | NT hash |
/// |---|---|---|---|
/// | `Seed::uniform(Digest::Sha1)` | hashed, asked | asked | error |
/// | `Seed::uniform(Digest::Nt)` | hashed, asked (UTF-8 only) | error | asked |
/// | `Seed::new`, `Seed::secret` | hashed, asked | error | error |
/// | `Seed::uniform(Digest::Unspecified)` | error | error | error |
///
/// It holds nothing but the filter and, with [`with_confirm`](Self::with_confirm), the open list:
/// any number of threads may ask one `Screen` at once, and a query costs the hash and one lookup.
///
/// # Examples
///
/// ```
/// use hapax::prelude::*;
/// use hapax::screen::{PasswordDigest, Screen, Verdict};
/// use hapax::{Digest, Seed};
///
/// let mut filter = BloomFilter::builder()
///     .capacity(1_000)
///     .false_positive_rate(1e-5)
///     .seed(Seed::uniform(Digest::Sha1))
///     .build()?;
/// let _ = filter.insert_hash(PasswordDigest::Sha1.key_of(b"password1")?)?;
///
/// let screen = Screen::new(filter);
/// match screen.check(b"password1")? {
///     Verdict::Listed => println!("This password is in lists of stolen ones. Choose another."),
///     Verdict::NotListed => unreachable!("a listed password is never missed"),
/// }
/// assert_eq!(screen.check(b"password1 ")?, Verdict::NotListed);
/// // The filter knows SHA-1 hashes; no NT hash can be looked up in it.
/// assert!(screen.check_nt(&[0; 16]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Screen<F = AnyFilter<Mapped>> {
    filter: F,
    confirm: Option<ConfirmList>,
    /// Positives of the filter that the list refuted.
    false_alarms: AtomicU64,
}

/// Bytes of a file that are read when it is opened: a few milliseconds.
const CHECKED_LEN: u64 = 16 << 20;

impl Screen {
    /// Opens a `.hapax` file made from a list, in place: it is mapped, and stays with the operating
    /// system. Costs a millisecond or two.
    ///
    /// A file of up to 16 MiB is checked to the last byte. Of a larger one all is checked but the
    /// body, which would have to be read: run [`verify_path`](crate::codec::verify_path) on it once,
    /// after it was copied.
    ///
    /// # Errors
    ///
    /// [`FileError`] if the file cannot be read, is not a whole and undamaged filter, or holds no
    /// key at all: it would find every password unlisted, which is never what a list was for.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::prelude::*;
    /// # use hapax::{Digest, Seed, screen::PasswordDigest};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("listed.hapax");
    /// # let mut filter = BloomFilter::builder().capacity(10).false_positive_rate(1e-5)
    /// #     .seed(Seed::uniform(Digest::Sha1)).build()?;
    /// # let _ = filter.insert_hash(PasswordDigest::Sha1.key_of(b"password1")?)?;
    /// # filter.save(&path)?;
    /// use hapax::{Screen, Verdict};
    /// let screen = Screen::open(path)?;
    /// assert_eq!(screen.check(b"password1")?, Verdict::Listed);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn open(path: impl AsRef<Path>) -> Result<Self, FileError> {
        let path = path.as_ref();
        let filter = Artefact::<AnyFilter<Mapped>>::open_path_checked(path, CHECKED_LEN)?.filter;
        if filter.stats().len == 0 {
            return Err(FileError::Decode {
                path: std::path::absolute(path).unwrap_or_else(|_| path.to_owned()),
                source: DecodeError::Invalid {
                    what: "number of keys",
                    expected: "at least 1".into(),
                    found: "0".into(),
                },
            });
        }
        Ok(Self::new(filter))
    }
}

impl<F: Membership> Screen<F> {
    /// Asks this filter, owned or borrowed from elsewhere.
    pub const fn new(filter: F) -> Self {
        Self { filter, confirm: None, false_alarms: AtomicU64::new(0) }
    }

    /// Looks every positive of the filter up in the list that it was built from, which makes the
    /// answer certain and tells how often the password was seen. What the filter denies is
    /// answered without the list. With it, a filter of 2⁻⁸ in half the memory serves as well as
    /// one of 2⁻¹⁶.
    ///
    /// # Errors
    ///
    /// [`ConfirmError`] if the list is of other hashes than the filter, or has not half as many
    /// rows as the filter has keys: then it is another list, or a part of one, and would refute
    /// passwords that are listed.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::prelude::*;
    /// # use hapax::{Digest, Seed};
    /// use hapax::screen::{ConfirmList, Finding, PasswordDigest::Sha1, Screen};
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("list.txt");
    /// # std::fs::write(&path, "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8:10434004\n")?;
    /// # let mut filter = BloomFilter::builder().capacity(10).false_positive_rate(1e-9)
    /// #     .seed(Seed::uniform(Digest::Sha1)).build()?;
    /// # let _ = filter.insert_hash(Sha1.key_of(b"password")?)?;
    /// let screen = Screen::new(filter).with_confirm(ConfirmList::open(path, Sha1)?)?;
    /// let found = screen.find(b"password")?;
    /// assert_eq!(found, Finding::Confirmed { count: Some(10_434_004) });
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn with_confirm(self, list: ConfirmList) -> Result<Self, ConfirmError> {
        let of_filter = match self.identity() {
            HashIdentity::Uniform(Digest::Sha1) => Some(PasswordDigest::Sha1),
            HashIdentity::Uniform(Digest::Nt) => Some(PasswordDigest::Nt),
            _ => None,
        };
        let Some(expected) = of_filter else {
            return Err(list.refused(ConfirmFault::NotOfHashes));
        };
        let found = list.digest();
        if found != expected {
            return Err(list.refused(ConfirmFault::OtherDigest { expected, found }));
        }
        let (keys, rows) = (self.filter.stats().len, list.estimate_rows());
        if rows < keys / 2 {
            return Err(list.refused(ConfirmFault::TooFewRows { keys, rows }));
        }
        Ok(Self { confirm: Some(list), ..self })
    }

    /// The filter asked.
    pub const fn filter(&self) -> &F {
        &self.filter
    }

    /// The list that confirms, if there is one.
    pub const fn confirm(&self) -> Option<&ConfirmList> {
        self.confirm.as_ref()
    }

    /// How many positives of the filter the list has refuted so far: against the number of
    /// queries, a measurement of the filter's rate. Far more than the rate promises mean that the
    /// list is not the one that the filter was built from.
    pub fn false_alarms(&self) -> u64 {
        self.false_alarms.load(Ordering::Relaxed)
    }

    /// Gives the filter back.
    pub fn into_inner(self) -> F {
        self.filter
    }

    /// Looks up a password: its bytes as they were typed, without a line end.
    ///
    /// Nothing is trimmed, folded or normalised. A site that normalises passwords before it
    /// stores them should ask both forms.
    ///
    /// # Errors
    ///
    /// [`ScreenError`] if the filter cannot be asked for a plain password (see the table above),
    /// or if its secret key is missing, or if it holds NT hashes and the password is not UTF-8, or
    /// if the list that should confirm cannot tell.
    pub fn check(&self, password: &[u8]) -> Result<Verdict, ScreenError> {
        self.find(password).map(Finding::verdict)
    }

    /// Looks up the SHA-1 of a password.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Unanswerable`] if the filter's keys are not SHA-1, [`ScreenError::Confirm`]
    /// if the list that should confirm cannot tell.
    pub fn check_sha1(&self, sha1: &[u8; SHA1_LEN]) -> Result<Verdict, ScreenError> {
        self.find_sha1(sha1).map(Finding::verdict)
    }

    /// Looks up the NT hash of a password.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Unanswerable`] if the filter's keys are not NT hashes,
    /// [`ScreenError::Confirm`] if the list that should confirm cannot tell.
    pub fn check_nt(&self, nt: &[u8; NT_LEN]) -> Result<Verdict, ScreenError> {
        self.find_nt(nt).map(Finding::verdict)
    }

    /// As [`check`](Self::check), and says what the answer rests on.
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check).
    pub fn find(&self, password: &[u8]) -> Result<Finding, ScreenError> {
        self.find_key(self.key_of(password)?)
    }

    /// As [`check_sha1`](Self::check_sha1), and says what the answer rests on.
    ///
    /// # Errors
    ///
    /// As for [`check_sha1`](Self::check_sha1).
    pub fn find_sha1(&self, sha1: &[u8; SHA1_LEN]) -> Result<Finding, ScreenError> {
        self.answers(PasswordForm::Sha1)?;
        self.find_key(sha1_key(sha1))
    }

    /// As [`check_nt`](Self::check_nt), and says what the answer rests on.
    ///
    /// # Errors
    ///
    /// As for [`check_nt`](Self::check_nt).
    pub fn find_nt(&self, nt: &[u8; NT_LEN]) -> Result<Finding, ScreenError> {
        self.answers(PasswordForm::Nt)?;
        self.find_key(nt_key(nt))
    }

    /// Whether the filter can be asked for passwords given like this.
    ///
    /// # Errors
    ///
    /// [`ScreenError`] if it cannot, as for every password.
    pub fn answers(&self, form: PasswordForm) -> Result<(), ScreenError> {
        let asked = match (form, self.identity()) {
            (PasswordForm::Plain, _) => return self.key_of(b"").map(|_| ()),
            (PasswordForm::Sha1, HashIdentity::Uniform(Digest::Sha1))
            | (PasswordForm::Nt, HashIdentity::Uniform(Digest::Nt)) => return Ok(()),
            (asked, _) => asked,
        };
        Err(self.unanswerable(asked))
    }

    /// The key of a password in this filter, for [`find_batch`](Self::find_batch).
    ///
    /// # Errors
    ///
    /// As for [`check`](Self::check), but for what the list may say.
    pub fn key_of(&self, password: &[u8]) -> Result<KeyHash, ScreenError> {
        match self.identity() {
            HashIdentity::Uniform(Digest::Sha1) => Ok(PasswordDigest::Sha1.key_of(password)?),
            HashIdentity::Uniform(Digest::Nt) => Ok(PasswordDigest::Nt.key_of(password)?),
            HashIdentity::Xxh3(_) | HashIdentity::Siphash(_) => {
                Ok(self.filter.seed().hash(password)?)
            }
            HashIdentity::Uniform(Digest::Unspecified) => {
                Err(self.unanswerable(PasswordForm::Plain))
            }
        }
    }

    /// Looks up many keys: from [`key_of`](Self::key_of), or from hashes of the filter's kind
    /// ([`PasswordDigest::key_from_hex`]). The filter is asked for all of them at once, and the
    /// list, in one forward pass, for those that the filter did not deny.
    ///
    /// Afterwards `findings` has as many elements as `keys`. The buffers of `scratch` are used again.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Confirm`] if the list cannot tell of one of them; `findings` is empty then.
    ///
    /// # Examples
    ///
    /// ```
    /// # use hapax::prelude::*;
    /// # use hapax::{Digest, Seed};
    /// use hapax::screen::{Finding, Scratch, Screen};
    /// # let mut filter = BloomFilter::builder().capacity(10).false_positive_rate(1e-9)
    /// #     .seed(Seed::uniform(Digest::Sha1)).build()?;
    /// # let sha1 = hapax::screen::PasswordDigest::Sha1;
    /// # let _ = filter.insert_hash(sha1.key_of(b"password")?)?;
    /// let screen = Screen::new(filter);
    /// let keys = [screen.key_of(b"password")?, screen.key_of(b"correct horse")?];
    /// let (mut findings, mut scratch) = (Vec::new(), Scratch::default());
    /// screen.find_batch(&keys, &mut findings, &mut scratch)?;
    /// assert_eq!(findings, [Finding::Maybe, Finding::NotListed]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn find_batch(
        &self,
        keys: &[KeyHash],
        findings: &mut Vec<Finding>,
        scratch: &mut Scratch,
    ) -> Result<(), ScreenError> {
        findings.clear();
        scratch.present.clear();
        scratch.present.resize(keys.len(), false);
        let answered: Result<(), BatchError> =
            self.filter.contains_batch(keys, &mut scratch.present);
        debug_assert!(answered.is_ok(), "the slices have one length");
        let present = scratch.present.iter();
        findings
            .extend(present.map(|&maybe| if maybe { Finding::Maybe } else { Finding::NotListed }));
        if let Some(list) = &self.confirm
            && let Err(error) = self.confirm_batch(list, keys, findings, scratch)
        {
            findings.clear();
            return Err(error.into());
        }
        Ok(())
    }

    fn confirm_batch(
        &self,
        list: &ConfirmList,
        keys: &[KeyHash],
        findings: &mut [Finding],
        scratch: &mut Scratch,
    ) -> Result<(), ConfirmError> {
        scratch.maybe.clear();
        let maybe = keys.iter().zip(&scratch.present).filter(|(_, present)| **present);
        scratch.maybe.extend(maybe.map(|(key, _)| *key));
        scratch.confirmations.clear();
        scratch.confirmations.resize(scratch.maybe.len(), Confirmation::NotListed);
        list.find_batch(&scratch.maybe, &mut scratch.confirmations)?;
        let maybe = findings.iter_mut().filter(|finding| **finding == Finding::Maybe);
        let mut refuted = 0;
        for (finding, confirmation) in maybe.zip(&scratch.confirmations) {
            *finding = Finding::from(*confirmation);
            refuted += u64::from(*finding == Finding::Refuted);
        }
        self.false_alarms.fetch_add(refuted, Ordering::Relaxed);
        Ok(())
    }

    fn identity(&self) -> HashIdentity {
        self.filter.seed().identity()
    }

    /// Looks up a key from [`key_of`](Self::key_of), or from a hash of the filter's kind.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Confirm`] if the list that should confirm cannot tell.
    pub fn find_key(&self, key: KeyHash) -> Result<Finding, ScreenError> {
        if !self.filter.contains_hash(key) {
            return Ok(Finding::NotListed);
        }
        let Some(list) = &self.confirm else { return Ok(Finding::Maybe) };
        let finding = Finding::from(list.find(key)?);
        if finding == Finding::Refuted {
            self.false_alarms.fetch_add(1, Ordering::Relaxed);
        }
        Ok(finding)
    }

    fn unanswerable(&self, asked: PasswordForm) -> ScreenError {
        ScreenError::Unanswerable { asked, holds: self.identity() }
    }
}

/// What the filter knows of itself; none of its bits, from which guesses could be tested.
impl<F: Membership> fmt::Debug for Screen<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Screen")
            .field("identity", &self.identity())
            .field("stats", &self.filter.stats())
            .field("confirm", &self.confirm)
            .finish_non_exhaustive()
    }
}

/// Buffers of [`Screen::find_batch`], to be used again for the next batch; wiped when dropped.
#[derive(Default)]
pub struct Scratch {
    present: Vec<bool>,
    maybe: Zeroizing<Vec<KeyHash>>,
    confirmations: Vec<Confirmation>,
}

/// Nothing of the content.
impl fmt::Debug for Scratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Scratch").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
