//! Where the bits lie: plain containers that know nothing of hashing or probability.
//!
//! Every container is generic over its words: [`Words`] to own them, [`Mapped`] to read
//! them in a mapped file, `&[u64]` to read them in any other buffer. In a file the same words are stored little-endian, so the body
//! of a mapped file *is* the container.

mod bits;
mod cells;
mod counters;
mod lines;
mod mapped;
mod slots;
mod tagged;
mod words;

pub(crate) use bits::Bits;
pub(crate) use cells::{Cells, lines_for};
pub(crate) use counters::Counters;
pub(crate) use lines::Lines;
pub use mapped::Mapped;
pub(crate) use slots::{ANY, Slots, words_for};
pub(crate) use tagged::{LiveTags, TaggedSlots};
pub use words::Words;
