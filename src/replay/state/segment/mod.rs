//! Segments: the digests that one epoch has gathered, by key group.
//!
//! ```text
//!  0            32                32 + 24·g   + 8        ascending groups
//!  ┌────────────┬─────────────────┬──────────┬──────────┬──────────┬── ⋯ ──┬──────────┐
//!  │ header     │ index: group,   │ checksum │ run of   │ run of   │       │ run of   │
//!  │ 32         │ count, checksum │ of both  │ group a  │ group b  │       │ group z  │
//!  └────────────┴─────────────────┴──────────┴──────────┴──────────┴── ⋯ ──┴──────────┘
//! ```
//!
//! The checksum over header and index stands for the whole segment, since the index has those of
//! the runs: it is what a manifest keeps. So a reader that wants one key group reads the head and
//! one run, and both are checked. Where a run lies follows from the counts before it.

mod draft;
mod head;
mod reader;

pub use head::Phase;
pub use reader::SegmentReader;

pub(super) use draft::{Encoded, encode, join};
pub(super) use head::MIN_LEN;
