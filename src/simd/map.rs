//! Files as memory.
#![expect(unsafe_code, reason = "mapping; see the block")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file, to be read. Costs microseconds; pages are read as they are touched.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: the bytes are only ever read as plain numbers, of which every value is allowed, and
    // every length and position that follows from them is checked before it is used. That the file
    // is not changed in place while it is mapped is asked of the caller's user: this crate replaces
    // files by a rename, which leaves a mapped one as it is.
    unsafe { Mmap::map(file) }
}
