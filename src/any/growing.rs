//! A filter of whatever kind takes keys.

use crate::codec::{Decode, DecodeError, Encode, Kind, Params, Section, SectionType, Sections};
use crate::error::{Full, Incompatible};
use crate::filter::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, RetiringCuckooFilter,
    WordBloomFilter,
};
use crate::hash::{HashError, HashIdentity, KeyHash, Salt, SecretKey, Seed};
use crate::membership::{BatchError, Insert, Membership, Merge, Restart, Seen, Stats, Unlock};
use crate::store::Words;

/// A filter of whatever kind takes keys.
///
/// # Examples
///
/// ```
/// use hapax::codec::Artefact;
/// use hapax::{GrowingFilter, prelude::*};
/// # let filter = CuckooFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
/// # let bytes = Artefact { filter, provenance: Default::default() }.to_bytes();
/// let mut filter = Artefact::<GrowingFilter>::from_bytes(&bytes)?.filter;
/// assert!(matches!(filter, GrowingFilter::Cuckoo(_)));
/// assert_eq!(filter.insert("alice")?, Seen::Never);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum GrowingFilter<S = Words> {
    /// A Bloom filter.
    Bloom(BloomFilter<S>),
    /// A counting Bloom filter.
    Counting(CountingBloomFilter<S>),
    /// A cuckoo filter.
    Cuckoo(CuckooFilter<S>),
    /// A blocked Bloom filter.
    Blocked(BlockedBloomFilter<S>),
    /// A word-blocked Bloom filter.
    Word(WordBloomFilter<S>),
    /// A retiring cuckoo filter.
    Retiring(RetiringCuckooFilter<S>),
}

impl<S: AsRef<[u64]>> GrowingFilter<S> {
    fn as_membership(&self) -> &dyn Membership {
        match self {
            Self::Bloom(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Cuckoo(filter) => filter,
            Self::Blocked(filter) => filter,
            Self::Word(filter) => filter,
            Self::Retiring(filter) => filter,
        }
    }

    pub(super) fn own_salt(&self) -> Salt {
        match self {
            Self::Bloom(filter) => filter.settings().salt,
            Self::Counting(filter) => filter.settings().salt,
            Self::Cuckoo(filter) => filter.settings().salt,
            Self::Blocked(filter) => filter.settings().salt,
            Self::Word(filter) => filter.settings().salt,
            Self::Retiring(filter) => filter.settings().salt,
        }
    }

    /// Takes the rest of the sections of a filter.
    pub(super) fn from_params(
        params: Params,
        sections: &mut Sections<S>,
        index: u16,
    ) -> Result<Self, DecodeError> {
        let words = sections.take_words(index)?;
        match params.kind {
            Kind::Bloom => BloomFilter::from_params(params, words).map(Self::Bloom),
            Kind::Counting => CountingBloomFilter::from_params(params, words).map(Self::Counting),
            Kind::Cuckoo => CuckooFilter::from_params(params, words).map(Self::Cuckoo),
            Kind::Blocked => BlockedBloomFilter::from_params(params, words).map(Self::Blocked),
            Kind::Word => WordBloomFilter::from_params(params, words).map(Self::Word),
            Kind::Retiring => {
                let epochs = sections.take_small(SectionType::Epochs, index)?;
                RetiringCuckooFilter::from_params(params, words, &epochs).map(Self::Retiring)
            }
            found @ (Kind::BinaryFuse | Kind::Window | Kind::Replay) => {
                Err(DecodeError::WrongKind { expected: <Self as Decode<S>>::EXPECTED, found })
            }
        }
    }

    fn as_encode(&self) -> &dyn Encode {
        match self {
            Self::Bloom(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Cuckoo(filter) => filter,
            Self::Blocked(filter) => filter,
            Self::Word(filter) => filter,
            Self::Retiring(filter) => filter,
        }
    }
}

impl<S> Unlock for GrowingFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        match self {
            Self::Bloom(filter) => filter.unlock(key),
            Self::Counting(filter) => filter.unlock(key),
            Self::Cuckoo(filter) => filter.unlock(key),
            Self::Blocked(filter) => filter.unlock(key),
            Self::Word(filter) => filter.unlock(key),
            Self::Retiring(filter) => filter.unlock(key),
        }
    }
}

impl<S: AsRef<[u64]>> Membership for GrowingFilter<S> {
    fn seed(&self) -> &Seed {
        self.as_membership().seed()
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.as_membership().contains_hash(hash)
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        self.as_membership().contains_batch(hashes, present)
    }

    fn prefetch_hash(&self, hash: KeyHash) {
        self.as_membership().prefetch_hash(hash);
    }

    fn false_positive_rate(&self) -> f64 {
        self.as_membership().false_positive_rate()
    }

    fn stats(&self) -> Stats {
        self.as_membership().stats()
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> GrowingFilter<S> {
    fn as_insert(&mut self) -> &mut dyn Insert {
        match self {
            Self::Bloom(filter) => filter,
            Self::Counting(filter) => filter,
            Self::Cuckoo(filter) => filter,
            Self::Blocked(filter) => filter,
            Self::Word(filter) => filter,
            Self::Retiring(filter) => filter,
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for GrowingFilter<S> {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.as_insert().insert_hash(hash)
    }

    fn insert_unique_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        self.as_insert().insert_unique_hash(hash)
    }

    fn insert_batch(&mut self, hashes: &[KeyHash], seen: &mut [Seen]) -> Result<(), BatchError> {
        self.as_insert().insert_batch(hashes, seen)
    }
}

impl<S, T> Merge<GrowingFilter<T>> for GrowingFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &GrowingFilter<T>) -> Result<(), Incompatible> {
        match (self, other) {
            (Self::Bloom(mine), GrowingFilter::Bloom(theirs)) => mine.merge(theirs),
            (Self::Counting(mine), GrowingFilter::Counting(theirs)) => mine.merge(theirs),
            (Self::Blocked(mine), GrowingFilter::Blocked(theirs)) => mine.merge(theirs),
            (Self::Word(mine), GrowingFilter::Word(theirs)) => mine.merge(theirs),
            (Self::Cuckoo(_), GrowingFilter::Cuckoo(_)) => {
                Err(Incompatible::Kind { name: "a cuckoo filter" })
            }
            (Self::Retiring(_), GrowingFilter::Retiring(_)) => {
                Err(Incompatible::Kind { name: "a retiring cuckoo filter" })
            }
            (mine, theirs) => Err(Incompatible::Parameter {
                name: "kind",
                expected: mine.kind().to_string(),
                found: theirs.kind().to_string(),
            }),
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for GrowingFilter<S> {
    fn restart(&mut self, salt: Salt) {
        match self {
            Self::Bloom(filter) => filter.restart(salt),
            Self::Counting(filter) => filter.restart(salt),
            Self::Cuckoo(filter) => filter.restart(salt),
            Self::Blocked(filter) => filter.restart(salt),
            Self::Word(filter) => filter.restart(salt),
            Self::Retiring(filter) => filter.restart(salt),
        }
    }

    fn salt(&self) -> Salt {
        self.own_salt()
    }
}

impl<S: AsRef<[u64]>> Encode for GrowingFilter<S> {
    fn kind(&self) -> Kind {
        self.as_encode().kind()
    }

    fn identity(&self) -> HashIdentity {
        self.as_encode().identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        self.as_encode().encode(index)
    }
}

impl<S: AsRef<[u64]>> Decode<S> for GrowingFilter<S> {
    const KINDS: &'static [Kind] =
        &[Kind::Bloom, Kind::Counting, Kind::Cuckoo, Kind::Blocked, Kind::Word, Kind::Retiring];
    const EXPECTED: &'static str = "a filter that takes keys";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(Params::take(sections, index)?, sections, index)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        match self {
            Self::Bloom(filter) => filter.check_body(),
            Self::Counting(filter) => filter.check_body(),
            Self::Cuckoo(filter) => filter.check_body(),
            Self::Blocked(filter) => filter.check_body(),
            Self::Word(filter) => filter.check_body(),
            Self::Retiring(filter) => filter.check_body(),
        }
    }
}

macro_rules! into_growing {
    ($($filter:ident => $variant:ident),*) => {$(
        impl<S> From<$filter<S>> for GrowingFilter<S> {
            fn from(filter: $filter<S>) -> Self {
                Self::$variant(filter)
            }
        }
    )*};
}
into_growing!(
    BloomFilter => Bloom,
    CountingBloomFilter => Counting,
    CuckooFilter => Cuckoo,
    BlockedBloomFilter => Blocked,
    WordBloomFilter => Word,
    RetiringCuckooFilter => Retiring
);
