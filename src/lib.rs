//! Probabilistic membership filters for two jobs where a hash table is too big and a wrong "no" is
//! forbidden.

mod any;
pub mod codec;
pub mod error;
pub mod filter;
pub mod hash;
pub mod math;
pub mod membership;
pub mod replay;
#[cfg(feature = "screen")]
pub mod screen;
#[cfg(feature = "serde")]
mod serde;
mod store;

pub use any::AnyFilter;
pub use error::{BuildError, Full, FullReason, Incompatible};
pub use filter::{
    BloomFilter, Builder, CountingBloomFilter, CuckooFilter, PastCapacity, Plan, Shape,
};
pub use hash::{Digest, HashError, HashIdentity, Key, KeyHash, KeyId, Salt, SecretKey, Seed};
pub use membership::{
    BatchError, Insert, InsertError, InsertExt, Membership, MembershipExt, Merge, Remove,
    RemoveExt, Removed, Restart, Seen, Stats,
};
#[cfg(feature = "screen")]
pub use screen::{Screen, Verdict};
pub use store::Words;

/// The traits and types that most programs need.
pub mod prelude {
    pub use crate::codec::Persist;
    pub use crate::replay::DropReplaysExt;
    pub use crate::{
        AnyFilter, BloomFilter, CountingBloomFilter, CuckooFilter, Insert, InsertExt, Key, KeyHash,
        Membership, MembershipExt, Merge, PastCapacity, Remove, RemoveExt, Removed, Seed, Seen,
    };
}

/// The code blocks of `FORMAT.md`, run as doctests.
#[cfg(doctest)]
#[doc = include_str!("../FORMAT.md")]
struct FormatDoctests;
