//! What selects the hash function: its identity, its seed and, for keyed hashing, its secret.

use std::fmt;

use siphasher::sip128::{Hasher128, SipHasher13};
use xxhash_rust::xxh3::xxh3_128_with_seed;
use zeroize::Zeroizing;

use super::{Key, KeyHash};

/// Selects the hash function of a filter. Only filters of the same identity can be merged, whether or
/// not the secret is at hand.
///
/// | Constructor | Function | For |
/// |---|---|---|
/// | [`Seed::new`], `default` | XXH3-128 under a public 64-bit seed | keys nobody crafts |
/// | [`Seed::uniform`] | none: the key was already a hash | lists of SHA-1 or NT hashes |
/// | [`Seed::secret`] | SipHash-1-3-128 under a secret key | keys an adversary can choose |
///
/// A public or even hidden XXH3 seed is no defence against chosen keys: collisions that hold for
/// every seed can be constructed. `secret` is the defence, together with a capacity that refuses.
///
/// A file names the identity and, for a secret, only the key's id. A filter opened without its key
/// has a *locked* seed: it can be verified and merged, while [`Seed::hash`] returns an error.
///
/// # Examples
///
/// ```
/// use hapax::Seed;
/// let seed = Seed::new(42);
/// assert_eq!(seed.hash("abc")?, seed.hash(b"abc")?);
/// assert_ne!(seed.hash("abc")?, Seed::new(43).hash("abc")?);
/// // A list of hashes is asked with hashes; anything else is an error, not a "no".
/// assert!(Seed::uniform(hapax::Digest::Sha1).hash("password").is_err());
/// # Ok::<(), hapax::HashError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed(Kind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    Xxh3(u64),
    Uniform(Digest),
    Siphash(SecretKey),
    Locked(KeyId),
}

/// What a file says of its hash function; everything of a [`Seed`] but the secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashIdentity {
    /// XXH3-128 of the canonical key bytes under this seed.
    Xxh3(u64),
    /// The key was already a uniform hash, made by this digest.
    Uniform(Digest),
    /// SipHash-1-3-128 under the secret key of this id.
    Siphash(KeyId),
}

/// Which digest the keys of a [uniform](Seed::uniform) filter came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Digest {
    /// Some uniform hash, not said which.
    Unspecified,
    /// The first 16 of the 20 bytes of SHA-1.
    Sha1,
    /// The NT hash: MD4 of the password in UTF-16LE.
    Nt,
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unspecified => "unspecified",
            Self::Sha1 => "SHA-1",
            Self::Nt => "NT",
        })
    }
}

impl Default for Seed {
    fn default() -> Self {
        Self::new(0)
    }
}

impl Seed {
    /// XXH3-128 under a public seed. Two jobs that must not share false positives take two seeds.
    #[must_use]
    pub const fn new(seed: u64) -> Self {
        Self(Kind::Xxh3(seed))
    }

    /// No hash function: every key comes as a [`KeyHash`] made by [`KeyHash::from_uniform`].
    #[must_use]
    pub const fn uniform(digest: Digest) -> Self {
        Self(Kind::Uniform(digest))
    }

    /// SipHash-1-3-128 under a secret key, for keys that an adversary can choose.
    #[must_use]
    pub fn secret(key: SecretKey) -> Self {
        Self(Kind::Siphash(key))
    }

    /// The seed a file describes; a secret one comes back locked.
    #[must_use]
    pub fn from_identity(identity: HashIdentity) -> Self {
        Self(match identity {
            HashIdentity::Xxh3(seed) => Kind::Xxh3(seed),
            HashIdentity::Uniform(digest) => Kind::Uniform(digest),
            HashIdentity::Siphash(id) => Kind::Locked(id),
        })
    }

    /// What a file may say of this seed.
    #[must_use]
    pub fn identity(&self) -> HashIdentity {
        match &self.0 {
            Kind::Xxh3(seed) => HashIdentity::Xxh3(*seed),
            Kind::Uniform(digest) => HashIdentity::Uniform(*digest),
            Kind::Siphash(key) => HashIdentity::Siphash(key.id()),
            Kind::Locked(id) => HashIdentity::Siphash(*id),
        }
    }

    /// Adds the secret key to a locked seed.
    ///
    /// # Errors
    ///
    /// [`HashError::WrongKey`] if the id of `key` is not the one that the seed names, and
    /// [`HashError::NotKeyed`] if this seed takes no key.
    pub fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        match self.identity() {
            HashIdentity::Siphash(id) if id == key.id() => {
                self.0 = Kind::Siphash(key);
                Ok(())
            }
            HashIdentity::Siphash(expected) => {
                Err(HashError::WrongKey { expected, found: key.id() })
            }
            HashIdentity::Xxh3(_) | HashIdentity::Uniform(_) => Err(HashError::NotKeyed),
        }
    }

    /// Hashes a key. Costs one pass over its bytes; SipHash is several times slower than
    /// XXH3.
    ///
    /// # Errors
    ///
    /// [`HashError::AlreadyHashed`] for a uniform seed, [`HashError::Locked`] for a seed whose
    /// secret key is missing: an answer would be a guess.
    #[inline]
    pub fn hash<K: Key + ?Sized>(&self, key: &K) -> Result<KeyHash, HashError> {
        let bytes = key.canonical_bytes();
        match &self.0 {
            Kind::Xxh3(seed) => Ok(xxh3(bytes.as_ref(), *seed)),
            Kind::Siphash(key) => Ok(key.hash(bytes.as_ref())),
            other => Err(other.refusal()),
        }
    }

    /// Hashes many keys: `hashes[i]` becomes the hash of `keys[i]`, for as many as there are of both.
    /// Half the cost of one by one for short keys, since the hash function is chosen once.
    ///
    /// # Errors
    ///
    /// As [`hash`](Self::hash).
    ///
    /// # Examples
    ///
    /// ```
    /// use hapax::{KeyHash, Seed};
    /// let mut hashes = [KeyHash::from_uniform(&[0; 16]); 2];
    /// Seed::new(42).hash_all(&["abc", "xyz"], &mut hashes)?;
    /// assert_eq!(hashes[1], Seed::new(42).hash("xyz")?);
    /// # Ok::<(), hapax::HashError>(())
    /// ```
    #[inline]
    pub fn hash_all<K: Key>(&self, keys: &[K], hashes: &mut [KeyHash]) -> Result<(), HashError> {
        let pairs = keys.iter().zip(hashes);
        match &self.0 {
            Kind::Xxh3(seed) => {
                pairs.for_each(|(key, hash)| *hash = xxh3(key.canonical_bytes().as_ref(), *seed));
            }
            Kind::Siphash(secret) => {
                pairs.for_each(|(key, hash)| *hash = secret.hash(key.canonical_bytes().as_ref()));
            }
            other => return Err(other.refusal()),
        }
        Ok(())
    }
}

impl Kind {
    /// Why this kind hashes no keys, if it does not.
    #[cold]
    fn refusal(&self) -> HashError {
        match self {
            Self::Uniform(digest) => HashError::AlreadyHashed { digest: *digest },
            Self::Locked(id) => HashError::Locked { key_id: *id },
            Self::Xxh3(_) | Self::Siphash(_) => unreachable!("these do"),
        }
    }
}

#[inline]
fn xxh3(bytes: &[u8], seed: u64) -> KeyHash {
    let word = xxh3_128_with_seed(bytes, seed);
    KeyHash::from_halves((word >> 64) as u64, word as u64)
}

/// A 128-bit secret for keyed hashing. Wiped when dropped; `Debug` shows only its id.
#[derive(Clone)]
pub struct SecretKey(Zeroizing<[u8; 16]>);

impl SecretKey {
    /// Takes 16 bytes from a secure random source, such as `/dev/urandom` or a key store.
    #[must_use]
    pub fn new(bytes: [u8; 16]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// The public name of this key: 64 bits of its SipHash of a fixed text. It tells keys apart
    /// and does not help to find one.
    #[must_use]
    pub fn id(&self) -> KeyId {
        KeyId(self.hash(b"hapax key id").hi())
    }

    fn hash(&self, bytes: &[u8]) -> KeyHash {
        let mut hasher = SipHasher13::new_with_key(&self.0);
        std::hash::Hasher::write(&mut hasher, bytes);
        let word = hasher.finish128().as_u128();
        KeyHash::from_halves((word >> 64) as u64, word as u64)
    }
}

impl fmt::Debug for SecretKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SecretKey(id {})", self.id())
    }
}

/// Equal ids are taken as equal keys, so that no comparison reads the secret bytes.
impl PartialEq for SecretKey {
    fn eq(&self, other: &Self) -> bool {
        self.id() == other.id()
    }
}

impl Eq for SecretKey {}

/// Names a [`SecretKey`] without revealing it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyId(pub u64);

impl fmt::Display for KeyId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Why a key cannot be hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum HashError {
    /// The filter holds hashes; a key must come as a `KeyHash` from the same digest.
    AlreadyHashed {
        /// The digest its keys came from.
        digest: Digest,
    },
    /// The filter is keyed, and its key was not given.
    Locked {
        /// The key that is needed.
        key_id: KeyId,
    },
    /// The key that was given is another one.
    WrongKey {
        /// The key the file names.
        expected: KeyId,
        /// The key that was given.
        found: KeyId,
    },
    /// A key was given, and the filter takes none.
    NotKeyed,
}

impl fmt::Display for HashError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AlreadyHashed { digest } => write!(
                f,
                "this filter holds keys that were already hashes ({digest}): pass a KeyHash made by \
                 KeyHash::from_uniform from the same digest, or use Screen for passwords"
            ),
            Self::Locked { key_id } => write!(
                f,
                "this filter is keyed and its secret key {key_id} was not given: unlock its seed \
                 with that key before hashing keys"
            ),
            Self::WrongKey { expected, found } => write!(
                f,
                "wrong secret key: the filter was made with key {expected}, the key given is {found}"
            ),
            Self::NotKeyed => f.write_str("this filter takes no secret key: open it without one"),
        }
    }
}

impl std::error::Error for HashError {}
