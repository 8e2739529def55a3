//! The filters, one file each, and the builder they share.
//!
//! Bits per key for a million keys, as planned (a test recomputes the table):
//!
//! | false positive rate | [`BloomFilter`] | [`BlockedBloomFilter`] | [`WordBloomFilter`] | [`CountingBloomFilter`] | [`CuckooFilter`] |
//! |---|---|---|---|---|---|
//! | 0.1 | 4.8 | 4.8 | 5.0 | 19.2 | 7.4 |
//! | 0.01 | 9.6 | 9.9 | 11.8 | 38.4 | 10.5 |
//! | 0.001 | 14.4 | 15.6 | 23.1 | 57.5 | 13.7 |
//! | 0.0001 | 19.2 | 22.1 | 42.8 | 76.7 | 17.9 |
//! | 0.00001526 | 23.1 | 28.3 | 70.8 | 92.3 | 20.0 |
//!
//! [`RetiringCuckooFilter`] is a window, whose cost is counted per tuple that it guarantees to remember:
//! 15.8, 19.2 and 26 bits at 0.01, 0.001 and 2⁻¹⁶ with 15 epochs.
//!
//! (The last rate is 2⁻¹⁶. Fingerprints have whole bits: those of 7 bits, planned for 10 %, keep
//! 6 %.)

mod array;
mod batch;
mod blocked;
mod blocks;
mod bloom;
mod buckets;
mod builder;
mod counting;
mod cuckoo;
mod fuse;
#[cfg(feature = "rayon")]
mod parallel;
mod retiring;
mod settings;
mod shared;
mod word;

pub use blocked::BlockedBloomFilter;
pub use bloom::BloomFilter;
pub use builder::{Buildable, Builder, Plan, Shape};
pub use counting::CountingBloomFilter;
pub use cuckoo::CuckooFilter;
pub use fuse::{BinaryFuseFilter, FuseBuild, FuseBuilder, FuseReport};
pub use retiring::{Advance, RetiringCuckooFilter};
pub use settings::PastCapacity;
pub use shared::SharedBloomFilter;
pub use word::WordBloomFilter;

pub(crate) use fuse::{BuiltShard, Geometry, Row, SHARD_KEYS, ShardBuilder, Shards, cut, prefix};
pub(crate) use retiring::{Epochs, OnHit};
pub(crate) use settings::{InvalidParts, Settings};

#[cfg(test)]
mod tests;
