//! Owned words: aligned to a cache line, zeroed lazily, on huge pages if there are enough of them,
//! refused rather than aborted on.

use std::fmt;

use memmap2::MmapMut;

/// Words in a cache line.
const LINE_WORDS: usize = 8;

/// Bytes in a huge page.
const HUGE_PAGE: usize = 1 << 21;

/// From how many bytes on memory is mapped and huge pages are asked for.
///
/// A random access to pages of 4 KiB beyond the reach of the TLB costs a page walk, which is another
/// miss. Measured with blocked filters on a Zen 1 (TLB of 6 MiB), ns per miss on such pages and on huge
/// ones: 6.8 and 7.0 at 2.5 MB, 9.0 and 9.5 at 5 MB, 17 and 14 at 10 MB, 33 and 16.5 at 125 MB. Below
/// four pages the ends that are not whole pages weigh more.
const HUGE_FROM: usize = 4 * HUGE_PAGE;

/// Owned memory of a filter: 64-bit words that start at a multiple of 64 bytes, so that a line of
/// eight never touches two cache lines.
///
/// Memory of 8 MiB and more starts at a huge page and asks for huge pages; a system that has none to
/// give, or does not know the request, gives others.
pub struct Words {
    raw: Raw,
    start: usize,
    len: usize,
}

/// Where the words lie, with some to spare in front.
enum Raw {
    /// A vector of words is aligned to 8 bytes only. (A vector of 64-byte lines would have the
    /// alignment for free, and its zeroed pages touched at once: the system allocator zeroes
    /// over-aligned memory by hand.)
    Heap(Vec<u64>),
    /// Anonymous pages, which start at a page; their length is a multiple of eight bytes.
    Pages(MmapMut),
}

impl Words {
    /// `len` zeroed words, or `None` if the memory cannot be had.
    ///
    /// The pages come zeroed from the operating system and are touched only when used. Asking
    /// first by `try_reserve` turns the abort of a failed allocation into an answer: more than the
    /// machine has is refused under Linux's default overcommit policy.
    pub(crate) fn zeroed(len: u64) -> Option<Self> {
        let len = usize::try_from(len).ok()?;
        let bytes = len.checked_mul(size_of::<u64>())?;
        if bytes >= HUGE_FROM
            && let Some(words) = Self::on_pages(len, bytes)
        {
            return Some(words);
        }
        let total = len.checked_add(LINE_WORDS - 1)?;
        Vec::<u64>::new().try_reserve_exact(total).ok()?;
        Some(Self::on_heap(vec![0; total], len))
    }

    /// The `len` words of `raw` that start at a line; `raw` has seven more than that.
    fn on_heap(raw: Vec<u64>, len: usize) -> Self {
        let misaligned = raw.as_ptr().addr() / size_of::<u64>() % LINE_WORDS;
        let start = (LINE_WORDS - misaligned) % LINE_WORDS;
        Self { raw: Raw::Heap(raw), start, len }
    }

    /// Mapped pages that start at a huge page.
    fn on_pages(len: usize, bytes: usize) -> Option<Self> {
        let map = MmapMut::map_anon(bytes.checked_add(HUGE_PAGE)?).ok()?;
        let start = map.as_ptr().addr().next_multiple_of(HUGE_PAGE) - map.as_ptr().addr();
        #[cfg(target_os = "linux")]
        {
            // A hint: a kernel without huge pages refuses it, and the pages serve as they are.
            let _ = map.advise_range(memmap2::Advice::HugePage, start, bytes);
        }
        Some(Self { raw: Raw::Pages(map), start: start / size_of::<u64>(), len })
    }

    /// All words, those in front too.
    #[inline]
    fn all(&self) -> &[u64] {
        match &self.raw {
            Raw::Heap(words) => words,
            Raw::Pages(map) => bytemuck::cast_slice(map),
        }
    }

    /// A copy of these words, or `None` if the memory cannot be had.
    pub(crate) fn copy_of(words: &[u64], len: u64) -> Option<Self> {
        let mut copy = Self::zeroed(len.max(words.len() as u64))?;
        copy.as_mut()[..words.len()].copy_from_slice(words);
        Some(copy)
    }
}

impl AsRef<[u64]> for Words {
    #[inline]
    fn as_ref(&self) -> &[u64] {
        &self.all()[self.start..self.start + self.len]
    }
}

impl AsMut<[u64]> for Words {
    #[inline]
    fn as_mut(&mut self) -> &mut [u64] {
        let range = self.start..self.start + self.len;
        match &mut self.raw {
            Raw::Heap(words) => &mut words[range],
            Raw::Pages(map) => &mut bytemuck::cast_slice_mut(map)[range],
        }
    }
}

impl Clone for Words {
    /// Aligned like the original. Aborts if the memory cannot be had, as clones of vectors do.
    fn clone(&self) -> Self {
        let mut clone = Self::zeroed(self.len as u64)
            .unwrap_or_else(|| Self::on_heap(vec![0; self.len + LINE_WORDS - 1], self.len));
        clone.as_mut().copy_from_slice(self.as_ref());
        clone
    }
}

/// The size; bits of a filter are not for logs.
impl fmt::Debug for Words {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Words({})", self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_zeroed_aligned_and_stay_so_in_clones() {
        let huge = HUGE_FROM as u64 / 8;
        for len in [0, 1, 7, 8, 9, 1_000, 100_000, huge - 1, huge, huge + 9] {
            let mut words = Words::zeroed(len).unwrap();
            assert_eq!(words.as_ref().len() as u64, len);
            assert!(words.as_ref().iter().all(|&word| word == 0));
            words.as_mut().fill(len);
            let clone = words.clone();
            assert_eq!(clone.as_ref(), words.as_ref());
            for words in [&words, &clone] {
                assert_eq!(words.as_ref().as_ptr().addr() % 64, 0, "{len} words");
            }
        }
    }

    #[test]
    fn more_than_the_machine_has_is_refused() {
        assert!(Words::zeroed(u64::MAX).is_none());
        assert!(Words::zeroed(1 << 58).is_none());
    }
}
