//! Where the bits lie: plain containers that know nothing of hashing or probability.
//!
//! Every container is generic over its words: [`Words`] to own them, `&[u64]` to read a mapped
//! file or another buffer in place. In a file the same words are stored little-endian, so the body
//! of a mapped file *is* the container.

mod bits;
mod cells;
mod counters;
mod lines;
mod slots;
mod words;

pub(crate) use bits::Bits;
pub(crate) use cells::{Cells, lines_for};
pub(crate) use counters::Counters;
pub(crate) use lines::Lines;
pub(crate) use slots::{Slots, words_for};
pub use words::Words;
