//! A filter of whatever kind a file holds: one that grows, or one that was built once.

mod growing;

pub use growing::GrowingFilter;

use crate::codec::{Decode, DecodeError, Encode, Kind, Params, Section, Sections};
use crate::error::Incompatible;
use crate::filter::{
    BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter, CuckooFilter,
    RetiringCuckooFilter, WordBloomFilter,
};
use crate::hash::{HashError, HashIdentity, KeyHash, Salt, SecretKey, Seed};
use crate::membership::{BatchError, Membership, Merge, Stats, Unlock};
use crate::store::Words;

/// A filter of whatever kind a file holds, to be asked.
///
/// Only the filters that grow take keys, so it is [`GrowingFilter`] that is
/// [`Insert`](crate::Insert): inserting into a static filter does not compile.
///
/// # Examples
///
/// ```
/// use hapax::codec::Artefact;
/// use hapax::{AnyFilter, GrowingFilter, prelude::*};
/// # let filter = CuckooFilter::builder().capacity(100).false_positive_rate(0.01).build()?;
/// # let bytes = Artefact { filter, provenance: Default::default() }.to_bytes();
/// let filter = Artefact::<AnyFilter>::from_bytes(&bytes)?.filter;
/// assert!(!filter.contains("alice")?);
/// let AnyFilter::Growing(mut filter) = filter else { unreachable!("a cuckoo filter grows") };
/// assert!(matches!(filter, GrowingFilter::Cuckoo(_)));
/// assert_eq!(filter.insert("alice")?, Seen::Never);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum AnyFilter<S = Words> {
    /// A filter that takes keys.
    Growing(GrowingFilter<S>),
    /// A binary fuse filter.
    BinaryFuse(BinaryFuseFilter<S>),
}

impl<S: AsRef<[u64]>> AnyFilter<S> {
    fn as_membership(&self) -> &dyn Membership {
        match self {
            Self::Growing(filter) => filter,
            Self::BinaryFuse(filter) => filter,
        }
    }

    fn as_encode(&self) -> &dyn Encode {
        match self {
            Self::Growing(filter) => filter,
            Self::BinaryFuse(filter) => filter,
        }
    }

    /// The filter's own value.
    #[must_use]
    pub fn salt(&self) -> Salt {
        match self {
            Self::Growing(filter) => filter.own_salt(),
            Self::BinaryFuse(filter) => filter.salt(),
        }
    }
}

impl<S> Unlock for AnyFilter<S> {
    fn unlock(&mut self, key: SecretKey) -> Result<(), HashError> {
        match self {
            Self::Growing(filter) => filter.unlock(key),
            Self::BinaryFuse(filter) => filter.unlock(key),
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

impl<S, T> Merge<AnyFilter<T>> for AnyFilter<S>
where
    S: AsRef<[u64]> + AsMut<[u64]>,
    T: AsRef<[u64]>,
{
    fn merge(&mut self, other: &AnyFilter<T>) -> Result<(), Incompatible> {
        match (self, other) {
            (Self::Growing(mine), AnyFilter::Growing(theirs)) => mine.merge(theirs),
            _ => Err(Incompatible::Kind { name: "a binary fuse filter" }),
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
    const KINDS: &'static [Kind] = &[
        Kind::Bloom,
        Kind::Counting,
        Kind::Cuckoo,
        Kind::Blocked,
        Kind::BinaryFuse,
        Kind::Word,
        Kind::Retiring,
    ];
    const EXPECTED: &'static str = "a filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        let params = Params::take(sections, index)?;
        match params.kind {
            Kind::BinaryFuse => {
                BinaryFuseFilter::from_params(&params, sections, index).map(Self::BinaryFuse)
            }
            _ => GrowingFilter::from_params(params, sections, index).map(Self::Growing),
        }
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        match self {
            Self::Growing(filter) => filter.check_body(),
            Self::BinaryFuse(filter) => filter.check_body(),
        }
    }
}

impl<S> From<GrowingFilter<S>> for AnyFilter<S> {
    fn from(filter: GrowingFilter<S>) -> Self {
        Self::Growing(filter)
    }
}

impl<S> From<BinaryFuseFilter<S>> for AnyFilter<S> {
    fn from(filter: BinaryFuseFilter<S>) -> Self {
        Self::BinaryFuse(filter)
    }
}

macro_rules! into_any {
    ($($filter:ident),*) => {$(
        impl<S> From<$filter<S>> for AnyFilter<S> {
            fn from(filter: $filter<S>) -> Self {
                Self::Growing(filter.into())
            }
        }
    )*};
}
into_any!(
    BlockedBloomFilter,
    BloomFilter,
    CountingBloomFilter,
    CuckooFilter,
    RetiringCuckooFilter,
    WordBloomFilter
);
