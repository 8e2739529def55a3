//! Words of a mapped file.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use memmap2::Mmap;

/// Words of a mapped file, held as long as the filter that reads them. A clone shares the map.
#[derive(Clone)]
pub struct Mapped {
    map: Arc<Mmap>,
    /// Bytes of the words: whole ones, and aligned.
    bytes: Range<usize>,
}

impl Mapped {
    /// The words in a range of a map; `None` unless it lies in the map and is one of whole and
    /// aligned words.
    pub(crate) fn new(map: &Arc<Mmap>, bytes: Range<usize>) -> Option<Self> {
        bytemuck::try_cast_slice::<u8, u64>(map.get(bytes.clone())?).ok()?;
        Some(Self { map: Arc::clone(map), bytes })
    }
}

impl AsRef<[u64]> for Mapped {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        bytemuck::cast_slice(&self.map[self.bytes.clone()])
    }
}

/// The size; bits of a filter are not for logs.
impl fmt::Debug for Mapped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Mapped({})", self.as_ref().len())
    }
}
