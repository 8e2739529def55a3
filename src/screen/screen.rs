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
pub struct Screen<F = AnyFilter> {
    filter: F,
    confirm: Option<ConfirmList>,
    /// Positives of the filter that the list refuted.
    false_alarms: AtomicU64,
}

impl Screen {
    /// Opens a `.hapax` file made from a list, checking everything. Costs one pass over the file.
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
        let filter = Artefact::<AnyFilter>::load(path)?.filter;
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
mod tests {
    use super::super::digest::{NotUtf8, nt_of, sha1_of};
    use super::*;
    use crate::codec::Persist;
    use crate::filter::{BloomFilter, CuckooFilter};
    use crate::hash::{HashError, SecretKey, Seed};
    use crate::membership::Insert;

    const PASSWORD: &[u8] = "mañana".as_bytes();

    /// A screen of one password.
    fn screen(seed: Seed, key: Option<KeyHash>) -> Screen<BloomFilter> {
        let builder = BloomFilter::builder().capacity(100).false_positive_rate(1e-9).seed(seed);
        let mut filter = builder.build().unwrap();
        let key = key.unwrap_or_else(|| filter.seed().hash(PASSWORD).unwrap());
        let _ = filter.insert_hash(key).unwrap();
        Screen::new(filter)
    }

    fn uniform(digest: PasswordDigest) -> Screen<BloomFilter> {
        screen(Seed::uniform(digest.into()), digest.key_of(PASSWORD).ok())
    }

    #[test]
    fn each_kind_of_key_answers_what_it_can_and_refuses_the_rest() {
        use PasswordForm::{Nt, Plain, Sha1};
        let (sha1, nt) = (sha1_of(PASSWORD), nt_of(PASSWORD).unwrap());
        let unspecified = Seed::uniform(Digest::Unspecified);
        for (screen, answers) in [
            (uniform(PasswordDigest::Sha1), &[Plain, Sha1][..]),
            (uniform(PasswordDigest::Nt), &[Plain, Nt]),
            (screen(Seed::new(7), None), &[Plain]),
            (screen(Seed::secret(SecretKey::new([1; 16])), None), &[Plain]),
            (screen(unspecified, Some(sha1_key(&sha1))), &[]),
        ] {
            for (form, found) in [
                (Plain, screen.check(PASSWORD)),
                (Sha1, screen.check_sha1(&sha1)),
                (Nt, screen.check_nt(&nt)),
            ] {
                let holds = screen.filter().seed().identity();
                let unanswerable = ScreenError::Unanswerable { asked: form, holds };
                let expected =
                    if answers.contains(&form) { Ok(Verdict::Listed) } else { Err(unanswerable) };
                assert_eq!(found, expected, "{form} asked of {holds:?}");
            }
            if answers.contains(&Plain) {
                assert_eq!(screen.check(b"a stranger"), Ok(Verdict::NotListed));
            }
        }
    }

    #[test]
    fn bytes_without_an_nt_hash_are_unknown_not_unlisted() {
        let screen = uniform(PasswordDigest::Nt);
        assert_eq!(screen.check(b"ma\xf1ana"), Err(ScreenError::NotUtf8(NotUtf8)));
    }

    #[test]
    fn a_locked_filter_is_unknown_not_unlisted() {
        let seed = Seed::secret(SecretKey::new([1; 16]));
        let locked = Seed::from_identity(seed.identity());
        let screen = screen(locked, Some(sha1_key(&sha1_of(PASSWORD))));
        assert!(matches!(screen.check(PASSWORD), Err(ScreenError::Hash(HashError::Locked { .. }))));
    }

    #[test]
    fn a_password_is_neither_trimmed_nor_folded_nor_taken_for_a_hash() {
        let screen =
            screen(Seed::uniform(Digest::Sha1), PasswordDigest::Sha1.key_of(b"Password1").ok());
        assert_eq!(screen.check(b"Password1"), Ok(Verdict::Listed));
        for other in ["password1", "Password1 ", " Password1", "Password1\n", "Password1\0", ""] {
            assert_eq!(screen.check(other.as_bytes()), Ok(Verdict::NotListed), "{other:?}");
        }
        let digits = b"70CCD9007338D6D81DD3B6271621B9CF9A97EA00";
        assert_eq!(screen.check(digits), Ok(Verdict::NotListed));
        let sha1 = super::super::digest::bytes_from_hex(digits).unwrap();
        assert_eq!(screen.check_sha1(&sha1), Ok(Verdict::Listed));
    }

    /// A list of the numbers below this, with counts, and a screen that confirms with it.
    fn confirming(folder: &tempfile::TempDir, numbers: u32) -> Screen<BloomFilter> {
        let mut rows: Vec<_> =
            (0..numbers).map(|number| (sha1_of(number.to_string().as_bytes()), number)).collect();
        rows.sort_unstable();
        let row = |(sha1, count): &([u8; 20], u32)| {
            let digits: Vec<String> = sha1.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}:{}\n", digits.concat(), count + 1)
        };
        let path = folder.path().join("list.txt");
        std::fs::write(&path, rows.iter().map(row).collect::<Vec<_>>().concat()).unwrap();
        let builder = BloomFilter::builder().capacity(u64::from(numbers)).false_positive_rate(0.1);
        let mut filter = builder.seed(Seed::uniform(Digest::Sha1)).build().unwrap();
        for (sha1, _) in rows {
            let _ = filter.insert_hash(sha1_key(&sha1)).unwrap();
        }
        let list = ConfirmList::open(path, PasswordDigest::Sha1).unwrap();
        Screen::new(filter).with_confirm(list).unwrap()
    }

    #[test]
    fn threads_sharing_a_screen_agree_with_one() {
        let folder = tempfile::tempdir().unwrap();
        let screen = confirming(&folder, 2_000);
        let ask = |i: u32| screen.find((i % 4_000).to_string().as_bytes());
        let serial: Vec<_> = (0..4_000).map(ask).collect();
        let alarms = screen.false_alarms();
        // 2,000 strangers at 1 in 10.
        assert!((150..250).contains(&alarms), "{alarms}");
        std::thread::scope(|scope| {
            for thread in 0..64 {
                let (serial, ask) = (&serial, &ask);
                scope.spawn(move || {
                    for i in 0..1_000 {
                        let i = (i * 7 + thread * 61) % 4_000;
                        assert_eq!(ask(i), serial[i as usize]);
                    }
                });
            }
        });
        assert!(screen.false_alarms() > alarms);
    }

    #[test]
    fn what_is_confirmed_is_exact() {
        let folder = tempfile::tempdir().unwrap();
        let screen = confirming(&folder, 2_000);
        let keys: Vec<_> =
            (0..4_000).map(|i: u32| screen.key_of(i.to_string().as_bytes()).unwrap()).collect();
        let (mut findings, mut scratch) = (Vec::new(), Scratch::default());
        screen.find_batch(&keys, &mut findings, &mut scratch).unwrap();
        for ((number, key), finding) in (0..).zip(&keys).zip(&findings) {
            assert_eq!(screen.find_key(*key), Ok(*finding));
            if number < 2_000 {
                let count = Some(number + 1);
                assert_eq!(*finding, Finding::Confirmed { count });
                assert_eq!((finding.verdict(), finding.count()), (Verdict::Listed, count));
            } else {
                assert!(matches!(finding, Finding::NotListed | Finding::Refuted));
                assert_eq!(finding.verdict(), Verdict::NotListed);
            }
        }
    }

    #[test]
    fn a_list_that_fails_makes_the_answer_unknown() {
        let folder = tempfile::tempdir().unwrap();
        let screen = confirming(&folder, 20_000);
        std::fs::write(folder.path().join("list.txt"), "").unwrap();
        let error = screen.find(b"7").unwrap_err();
        assert!(error.to_string().contains("found it shorter"), "{error}");
        assert_eq!(screen.check(b"7"), Err(error.clone()));
        let keys = [screen.key_of(b"7").unwrap()];
        let mut findings = vec![Finding::NotListed];
        let found = screen.find_batch(&keys, &mut findings, &mut Scratch::default());
        assert_eq!((found, findings.len()), (Err(error), 0));
        // What the filter denies is certain without the list.
        assert!((0..1_000).any(|i| screen.check(format!("x{i}").as_bytes()).is_ok()));
    }

    #[test]
    fn a_list_of_other_hashes_or_too_few_rows_confirms_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let hundred = confirming(&folder, 100).into_inner();
        let path = folder.path().join("few.txt");
        std::fs::write(&path, format!("{}:1\n", "AB".repeat(20))).unwrap();
        let fault = |screen: Screen<BloomFilter>, digest| {
            let list = ConfirmList::open(&path, digest).unwrap();
            screen.with_confirm(list).unwrap_err().fault
        };
        let too_few = fault(Screen::new(hundred), PasswordDigest::Sha1);
        assert_eq!(too_few, ConfirmFault::TooFewRows { keys: 100, rows: 1 });
        let (expected, found) = (PasswordDigest::Nt, PasswordDigest::Sha1);
        let other = fault(uniform(PasswordDigest::Nt), PasswordDigest::Sha1);
        assert_eq!(other, ConfirmFault::OtherDigest { expected, found });
        let own = fault(screen(Seed::new(7), None), PasswordDigest::Sha1);
        assert_eq!(own, ConfirmFault::NotOfHashes);
    }

    #[test]
    fn a_file_without_keys_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("empty.hapax");
        let builder = CuckooFilter::builder().capacity(100).false_positive_rate(0.01);
        builder.seed(Seed::uniform(Digest::Sha1)).build().unwrap().save(&path).unwrap();
        let error = Screen::open(&path).unwrap_err().to_string();
        assert!(error.contains("invalid number of keys: expected at least 1, found 0"), "{error}");
        // Named as the file that was really tried, whatever the working directory.
        let here = std::env::current_dir().unwrap();
        let up = "../".repeat(here.components().count());
        let relative = format!("{up}{}", path.display());
        let Err(FileError::Decode { path, .. }) = Screen::open(&relative) else { panic!("opened") };
        assert_eq!(path, here.join(relative));
        assert!(matches!(Screen::open(folder.path().join("none")), Err(FileError::Io { .. })));
    }

    #[test]
    fn debug_shows_neither_bits_nor_hashes() {
        let shown = format!("{:?}", uniform(PasswordDigest::Sha1));
        assert!(shown.starts_with("Screen { identity: Uniform(Sha1), stats: Stats {"), "{shown}");
        assert!(shown.len() < 400, "{shown}");
    }
}
