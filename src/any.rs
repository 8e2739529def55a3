//! A filter of whatever kind a file holds.

use crate::codec::{Decode, DecodeError, Encode, Kind, Params, Section, SectionType, Sections};
use crate::error::{Full, Incompatible};
use crate::filter::{
    BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter, RetiringCuckooFilter,
    WordBloomFilter,
};
use crate::hash::{HashError, HashIdentity, KeyHash, Salt, SecretKey, Seed};
use crate::membership::{BatchError, Insert, Membership, Merge, Restart, Seen, Stats, Unlock};
use crate::store::Words;

/// A filter of whatever kind a file holds.
///
/// # Examples
///
/// ```
/// use hapax::codec::Artefact;
/// use hapax::{AnyFilter, prelude::*};
/// # let filter = CuckooFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
/// # let bytes = Artefact { filter, provenance: Default::default() }.to_bytes();
/// let filter = Artefact::<AnyFilter>::from_bytes(&bytes)?.filter;
/// assert!(matches!(filter, AnyFilter::Cuckoo(_)));
/// assert!(!filter.contains("alice")?);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyFilter<S = Words> {
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

impl<S: AsRef<[u64]>> AnyFilter<S> {
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

impl<S> Unlock for AnyFilter<S> {
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

impl<S: AsRef<[u64]>> Membership for AnyFilter<S> {
    fn seed(&self) -> &Seed {
        self.as_membership().seed()
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.as_membership().contains_hash(hash)
    }

    fn contains_batch(&self, hashes: &[KeyHash], present: &mut [bool]) -> Result<(), BatchError> {
        self.as_membership().contains_batch(hashes, present)
    }

    fn false_positive_rate(&self) -> f64 {
        self.as_membership().false_positive_rate()
    }

    fn stats(&self) -> Stats {
        self.as_membership().stats()
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> AnyFilter<S> {
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

impl<S: AsRef<[u64]> + AsMut<[u64]>> Insert for AnyFilter<S> {
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

impl<S, T> Merge<AnyFilter<T>> for AnyFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &AnyFilter<T>) -> Result<(), Incompatible> {
        match (self, other) {
            (Self::Bloom(mine), AnyFilter::Bloom(theirs)) => mine.merge(theirs),
            (Self::Counting(mine), AnyFilter::Counting(theirs)) => mine.merge(theirs),
            (Self::Blocked(mine), AnyFilter::Blocked(theirs)) => mine.merge(theirs),
            (Self::Word(mine), AnyFilter::Word(theirs)) => mine.merge(theirs),
            (Self::Cuckoo(_), AnyFilter::Cuckoo(_)) => {
                Err(Incompatible::Kind { name: "a cuckoo filter" })
            }
            (Self::Retiring(_), AnyFilter::Retiring(_)) => {
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

impl<S: AsRef<[u64]> + AsMut<[u64]>> Restart for AnyFilter<S> {
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
        match self {
            Self::Bloom(filter) => filter.salt(),
            Self::Counting(filter) => filter.salt(),
            Self::Cuckoo(filter) => filter.salt(),
            Self::Blocked(filter) => filter.salt(),
            Self::Word(filter) => filter.salt(),
            Self::Retiring(filter) => filter.salt(),
        }
    }
}

impl<S: AsRef<[u64]>> Encode for AnyFilter<S> {
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

impl<S: AsRef<[u64]>> Decode<S> for AnyFilter<S> {
    const KINDS: &'static [Kind] =
        &[Kind::Bloom, Kind::Counting, Kind::Cuckoo, Kind::Blocked, Kind::Word, Kind::Retiring];
    const EXPECTED: &'static str = "a filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        let params = Params::take(sections, index)?;
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
            found @ (Kind::Window | Kind::Replay) => {
                Err(DecodeError::WrongKind { expected: <Self as Decode<S>>::EXPECTED, found })
            }
        }
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

macro_rules! into_any {
    ($($filter:ident => $variant:ident),*) => {$(
        impl<S> From<$filter<S>> for AnyFilter<S> {
            fn from(filter: $filter<S>) -> Self {
                Self::$variant(filter)
            }
        }
    )*};
}
into_any!(
    BloomFilter => Bloom,
    CountingBloomFilter => Counting,
    CuckooFilter => Cuckoo,
    BlockedBloomFilter => Blocked,
    WordBloomFilter => Word,
    RetiringCuckooFilter => Retiring
);
