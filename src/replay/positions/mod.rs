//! What was processed, by position in the log: exact evidence, without a filter.
//!
//! ```text
//!  channel 3, dense, log starts at 1
//!
//!    1  2  3  4  5  6  7  8  9 10 11 12
//!    ■  ■  ■  ·  ■  ■  ■  ·  ·  ■
//!          │  └─ gap         └──┘  └─ highest
//!          └─ watermark: all up to here is processed, and may be acknowledged
//!
//!    4, 8, 9, 11 and on: New          1-3, 5-7, 10: Processed
//! ```
//!
//! A position at or below the highest seen says nothing by itself. After a worker dies, what it had not
//! acknowledged comes back behind newer tuples: whoever dropped by the high-water mark would lose all
//! of it. So the processed positions are kept as intervals: one for all that is in order, and one more
//! for each gap that is open.
//!
//! Evidence is about positions, not tuples. It finds what the *same* log sends again; a tuple published
//! a second time has a new position, and only its id can tell. And it is about what *this* state has
//! seen: what was put out after the checkpoint it comes from is `New` here.
//!
//! | File | Concern |
//! |---|---|
//! | `position` | the terms: position, kind of channel, evidence |
//! | `intervals` | sets of positions, fast in order |
//! | `channel` | the evidence of one channel |
//! | `table` | the channels of a guard |
//! | `encoding` | their bytes |

mod channel;
mod encoding;
mod intervals;
mod position;
mod table;

pub use position::{ChannelKind, Evidence, Position};
pub(super) use table::Positions;

#[cfg(test)]
mod tests;
