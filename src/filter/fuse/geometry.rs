//! The three cells of a key in an array of segments.

use crate::hash::reduce;
use crate::math::fuse::{MAX_SEGMENT_LOG2, array_len};

/// An array of `segments` + 2 segments of 2^`segment_log2` cells each.
///
/// ```text
///  word a   |63 ................. 36|35 .. 18|17 .. 0|
///            reduce: segment and     xor in   xor in
///            place of the 1st cell   the next the one after
///
///  segments |  0  |  1  |  2  |  3  |  4  |
///                  1st   2nd   3rd            a key whose first cell is in segment 1
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Geometry {
    segments: u32,
    segment_log2: u32,
    cells: u32,
}

impl Geometry {
    /// `None` if there is no segment, or too many cells for 32 bits, or a segment is too long.
    pub(crate) fn new(segments: u32, segment_log2: u32) -> Option<Self> {
        if segments == 0 || segment_log2 > MAX_SEGMENT_LOG2 {
            return None;
        }
        let cells = u32::try_from(array_len(segments.into(), segment_log2)?).ok()?;
        Some(Self { segments, segment_log2, cells })
    }

    /// Segments that a first cell may be in.
    pub(crate) const fn segments(self) -> u32 {
        self.segments
    }

    pub(crate) const fn segment_log2(self) -> u32 {
        self.segment_log2
    }

    /// Cells of the whole array.
    pub(crate) const fn cells(self) -> u32 {
        self.cells
    }

    /// The three cells of a word, all different: each is in a segment of its own.
    #[inline]
    pub(crate) const fn edge(self, word: u64) -> [u32; 3] {
        let len = 1u32 << self.segment_log2;
        let first = reduce(word, (self.segments as u64) << self.segment_log2) as u32;
        let second = (first + len) ^ ((word >> 18) as u32 & (len - 1));
        let third = (first + 2 * len) ^ (word as u32 & (len - 1));
        [first, second, third]
    }
}
