//! From a key to the 128 bits that every filter works on.
//!
//! ```text
//!  "alice" ──Key──▶ canonical bytes ──Seed──▶ KeyHash { hi, lo } ──salt──▶ Mixed { a, b }
//!                                              │                            │
//!                                              └ top bits of hi:            └ probe positions,
//!                                                key group, shard             buckets, fingerprints
//! ```
//!
//! A key is hashed **once**; one [`KeyHash`] serves any number of filters, generations and shards,
//! can be logged, and can be replayed. What is stored in files is pinned by known-answer tests and
//! never changes within a format version.

mod key;
mod key_hash;
mod range;
mod seed;

pub use key::Key;
pub use key_hash::{KeyHash, Mixed, Salt};
pub use range::reduce;
pub use seed::{Digest, HashError, HashIdentity, KeyId, SecretKey, Seed};

#[cfg(test)]
mod tests;
