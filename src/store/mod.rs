//! Where the bits lie: plain containers that know nothing of hashing or probability.
//!
//! Every container is generic over its words: [`Words`] to own them, `&[u64]` to read a mapped
//! file or another buffer in place. In a file the same words are stored little-endian, so the body
//! of a mapped file *is* the container.

mod bits;
mod counters;
mod lines;
mod slots;
mod tagged;
mod words;

pub(crate) use bits::Bits;
pub(crate) use counters::Counters;
pub(crate) use lines::Lines;
pub(crate) use slots::{ANY, Slots, words_for};
pub(crate) use tagged::{LiveTags, TaggedSlots};
pub use words::Words;
