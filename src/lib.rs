//! Probabilistic membership filters, for two jobs in which a hash table is too big and a wrong "no"
//! is forbidden: dropping tuples that an upstream replays after a failure ([`replay`]), and
//! screening passwords against lists of compromised ones (`screen`).
//!
//! ```
//! use hapax::prelude::*;
//!
//! let mut filter = BloomFilter::builder().capacity(1_000_000).false_positive_rate(0.001).build()?;
//! assert_eq!(filter.insert("alice")?, Seen::Never); // certain
//! assert!(filter.contains("alice")?); // maybe
//! assert!(!filter.contains("bob")?); // certain
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The path of a key
//!
//! ```text
//!  key bytes ──Key──▶ KeyHash (128 bit) ──Salt──▶ positions ──▶ bits, counters, slots
//! ```
//!
//! A key is hashed once. The traits of [`membership`] work on the hash, so that one hash serves many
//! filters; [`MembershipExt`], [`InsertExt`] and [`RemoveExt`] take keys.
//!
//! # What will surprise a user of `HashSet`
//!
//! - `contains` is *maybe* when it is true, at the false positive rate, and certain when it is false.
//! - It returns a `Result`: a filter made from SHA-1 hashes, or opened without its secret key,
//!   cannot hash a string, and "no" would be a lie.
//! - A filter has a capacity, and refuses new keys beyond it ([`Full`]).
//! - `len` counts what was accepted as new; `stats().estimated_len` estimates distinct keys.
//! - There is no iteration. Only what was inserted may be removed.
//! - Keys are canonical bytes: `"abc"` and `b"abc"` are one key, `5u32` and `5u64` are two ([`Key`]).
//!
//! # Features
//!
//! `screen` (default): passwords, with SHA-1 and MD4. `serde`: filters inside other structures.
//! `rayon`: blocked filters filled by several threads. `object-store`: replay state in S3 and the like.

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
mod simd;
mod store;
mod sync;

pub use any::{AnyFilter, GrowingFilter};
pub use error::{BuildError, Full, FullReason, Incompatible};
pub use filter::{
    Advance, BinaryFuseFilter, BlockedBloomFilter, BloomFilter, Builder, CountingBloomFilter,
    CuckooFilter, FuseBuild, FuseBuilder, FuseReport, PastCapacity, Plan, RetiringCuckooFilter,
    Shape, SharedBloomFilter, WordBloomFilter,
};
pub use hash::{Digest, HashError, HashIdentity, Key, KeyHash, KeyId, Salt, SecretKey, Seed};
pub use membership::{
    BatchError, Insert, InsertError, InsertExt, Membership, MembershipExt, Merge, Remove,
    RemoveExt, Removed, Restart, Seen, SharedInsert, SharedInsertExt, Stats, Unlock,
};
#[cfg(feature = "screen")]
pub use screen::{Screen, Verdict};
pub use store::{Mapped, Words};

/// The traits and types that most programs need.
pub mod prelude {
    pub use crate::codec::Persist;
    pub use crate::replay::{DropReplaysExt, UniqueWithinExt};
    pub use crate::{
        AnyFilter, BinaryFuseFilter, BlockedBloomFilter, BloomFilter, CountingBloomFilter,
        CuckooFilter, GrowingFilter, Insert, InsertExt, Key, KeyHash, Membership, MembershipExt,
        Merge, PastCapacity, Remove, RemoveExt, Removed, RetiringCuckooFilter, Seed, Seen,
        SharedBloomFilter, SharedInsert, SharedInsertExt, Unlock, WordBloomFilter,
    };
}

/// The documents, so that their examples run.
#[cfg(doctest)]
mod documents {
    #[doc = include_str!("../README.md")]
    struct Readme;
    #[doc = include_str!("../FORMAT.md")]
    struct Format;
    #[doc = include_str!("../DESIGN.md")]
    struct Design;
    #[doc = include_str!("../CONTRIBUTING.md")]
    struct Contributing;
    #[doc = include_str!("../docs/recover-without-duplicates.md")]
    struct RecoverWithoutDuplicates;
    #[cfg(feature = "screen")]
    #[doc = include_str!("../docs/screen-passwords.md")]
    struct ScreenPasswords;
}
