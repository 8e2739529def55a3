//! Asking a filter about a password.

use std::fmt;
use std::path::Path;

use super::digest::{NT_LEN, NotUtf8, PasswordDigest, SHA1_LEN, nt_key, sha1_key};
use crate::any::AnyFilter;
use crate::codec::{Artefact, DecodeError, FileError};
use crate::hash::{Digest, HashError, HashIdentity, KeyHash};
use crate::membership::Membership;

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
/// It holds nothing but the filter: any number of threads may ask one `Screen` at once, and a
/// query costs the hash and one lookup.
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
        Self { filter }
    }

    /// The filter asked.
    pub const fn filter(&self) -> &F {
        &self.filter
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
    /// or if its secret key is missing, or if it holds NT hashes and the password is not UTF-8.
    pub fn check(&self, password: &[u8]) -> Result<Verdict, ScreenError> {
        let key = match self.identity() {
            HashIdentity::Uniform(Digest::Sha1) => PasswordDigest::Sha1.key_of(password)?,
            HashIdentity::Uniform(Digest::Nt) => PasswordDigest::Nt.key_of(password)?,
            HashIdentity::Xxh3(_) | HashIdentity::Siphash(_) => {
                self.filter.seed().hash(password)?
            }
            HashIdentity::Uniform(Digest::Unspecified) => {
                return Err(self.unanswerable(PasswordForm::Plain));
            }
        };
        Ok(self.verdict(key))
    }

    /// Looks up the SHA-1 of a password.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Unanswerable`] if the filter's keys are not SHA-1.
    pub fn check_sha1(&self, sha1: &[u8; SHA1_LEN]) -> Result<Verdict, ScreenError> {
        match self.identity() {
            HashIdentity::Uniform(Digest::Sha1) => Ok(self.verdict(sha1_key(sha1))),
            _ => Err(self.unanswerable(PasswordForm::Sha1)),
        }
    }

    /// Looks up the NT hash of a password.
    ///
    /// # Errors
    ///
    /// [`ScreenError::Unanswerable`] if the filter's keys are not NT hashes.
    pub fn check_nt(&self, nt: &[u8; NT_LEN]) -> Result<Verdict, ScreenError> {
        match self.identity() {
            HashIdentity::Uniform(Digest::Nt) => Ok(self.verdict(nt_key(nt))),
            _ => Err(self.unanswerable(PasswordForm::Nt)),
        }
    }

    fn identity(&self) -> HashIdentity {
        self.filter.seed().identity()
    }

    fn verdict(&self, key: KeyHash) -> Verdict {
        if self.filter.contains_hash(key) { Verdict::Listed } else { Verdict::NotListed }
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
            .finish_non_exhaustive()
    }
}

/// What a [`Screen`] found. There is no third value: what is unknown is a [`ScreenError`].
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The password is **probably** in the list.
    ///
    /// A stranger gets this verdict with the filter's
    /// [`false_positive_rate`](Membership::false_positive_rate), and gets it every time: its
    /// owner is refused a good password and cannot know why. At 2⁻¹⁶ that is 1.5 in 100,000
    /// password changes. Before accusing anyone (an audit of accounts), look the hash up in the
    /// list itself.
    Listed,
    /// The password is not in the list. **Certain.** It says nothing of how good it is otherwise.
    NotListed,
}

/// How a password was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PasswordForm {
    /// Its bytes.
    Plain,
    /// Its SHA-1.
    Sha1,
    /// Its NT hash.
    Nt,
}

impl fmt::Display for PasswordForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "a plain password",
            Self::Sha1 => "a SHA-1 hash",
            Self::Nt => "an NT hash",
        })
    }
}

/// Why a password could not be looked up: it is neither listed nor not listed, it is *unknown*.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ScreenError {
    /// The filter's keys are of another kind.
    Unanswerable {
        /// How the password was given.
        asked: PasswordForm,
        /// What the filter's keys are.
        holds: HashIdentity,
    },
    /// The filter holds NT hashes, and the password is not UTF-8.
    NotUtf8(NotUtf8),
    /// The filter cannot hash passwords now; its secret key is missing.
    Hash(HashError),
}

impl From<NotUtf8> for ScreenError {
    fn from(error: NotUtf8) -> Self {
        Self::NotUtf8(error)
    }
}

impl From<HashError> for ScreenError {
    fn from(error: HashError) -> Self {
        Self::Hash(error)
    }
}

impl fmt::Display for ScreenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unanswerable { asked, holds } => {
                let (keys, advice) = match holds {
                    HashIdentity::Uniform(Digest::Sha1) => {
                        ("SHA-1 hashes", "ask with plain passwords or SHA-1 hashes")
                    }
                    HashIdentity::Uniform(Digest::Nt) => {
                        ("NT hashes", "ask with plain passwords or NT hashes")
                    }
                    HashIdentity::Uniform(Digest::Unspecified) => (
                        "hashes of an unnamed kind",
                        "build it again from the list, naming the digest",
                    ),
                    HashIdentity::Xxh3(_) | HashIdentity::Siphash(_) => {
                        ("keys hashed by the filter itself", "ask with plain passwords")
                    }
                };
                write!(f, "{asked} cannot be looked up in a filter of {keys}: {advice}")
            }
            Self::NotUtf8(error) => error.fmt(f),
            Self::Hash(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ScreenError {}

#[cfg(test)]
mod tests {
    use super::super::digest::{nt_of, sha1_of};
    use super::*;
    use crate::codec::Persist;
    use crate::filter::{BloomFilter, CuckooFilter};
    use crate::hash::{SecretKey, Seed};
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

    #[test]
    fn threads_sharing_a_screen_agree_with_one() {
        let screen = uniform(PasswordDigest::Sha1);
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let screen = &screen;
                scope.spawn(move || {
                    for i in 0..2_000 {
                        let stranger = format!("{thread} {i}");
                        assert_eq!(screen.check(stranger.as_bytes()), Ok(Verdict::NotListed));
                        assert_eq!(screen.check(PASSWORD), Ok(Verdict::Listed));
                    }
                });
            }
        });
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
