//! Files as memory.
#![expect(unsafe_code, reason = "mapping; see the block")]

use std::fs::File;
use std::io;

use memmap2::Mmap;

/// Maps a whole file, to be read. Costs microseconds; pages are read as they are touched.
pub(crate) fn map(file: &File) -> io::Result<Mmap> {
    // SAFETY: sound as long as nobody changes the file in place while it is mapped. That cannot be
    // proved here; it is asked of whoever may write to it (SECURITY.md), and this crate itself only
    // replaces files by a rename, which leaves a mapped one as it is. Should it happen all the same,
    // the bytes are plain numbers of which every value is allowed, and every length and position that
    // follows from them was checked when it was read.
    unsafe { Mmap::map(file) }
}
