//! The filters, one file each, and the builder they share.

mod array;
mod bloom;
mod builder;
mod counting;
mod cuckoo;
mod settings;

pub use bloom::BloomFilter;
pub use builder::{Buildable, Builder, Plan, Shape};
pub use counting::CountingBloomFilter;
pub use cuckoo::CuckooFilter;
pub use settings::PastCapacity;

pub(crate) use settings::{InvalidParts, Settings};

#[cfg(test)]
mod tests;
