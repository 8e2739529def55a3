//! Writing: sections to bytes, front to back, in one go.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};

use xxhash_rust::xxh3::xxh3_64;

use super::header::{
    ALIGNMENT, END_MARK, ENTRY_LEN, Entry, HEADER_LEN, Header, Kind, SectionType, TRAILER_LEN,
};
use crate::hash::HashIdentity;

/// A section to be written.
pub struct Section<'a> {
    role: SectionType,
    index: u16,
    bytes: Cow<'a, [u8]>,
}

/// The role and no content.
impl fmt::Debug for Section<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Section").field("role", &self.role).finish_non_exhaustive()
    }
}

impl<'a> Section<'a> {
    pub(crate) fn small(role: SectionType, index: u16, bytes: Vec<u8>) -> Self {
        Self { role, index, bytes: Cow::Owned(bytes) }
    }

    pub(crate) fn body(index: u16, words: &'a [u64]) -> Self {
        Self { role: SectionType::Body, index, bytes: word_bytes(words) }
    }
}

/// The bytes of words, little-endian. Borrowed where that is how they lie in memory.
pub(super) fn word_bytes(words: &[u64]) -> Cow<'_, [u8]> {
    if cfg!(target_endian = "little") {
        Cow::Borrowed(bytemuck::cast_slice(words))
    } else {
        Cow::Owned(words.iter().flat_map(|word| word.to_le_bytes()).collect())
    }
}

/// Zeros up to the next multiple of the alignment.
pub(super) fn padding(len: u64) -> &'static [u8] {
    const ZEROS: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];
    &ZEROS[..(len.next_multiple_of(ALIGNMENT) - len) as usize]
}

/// Where sections come to lie, one after the other, each at a multiple of the alignment.
pub(super) struct Layout {
    entries: Vec<Entry>,
    end: u64,
}

impl Layout {
    /// A layout for so many sections.
    pub(super) fn new(sections: usize) -> Self {
        Self { entries: Vec::new(), end: HEADER_LEN + ENTRY_LEN * sections as u64 }
    }

    /// Where the next section begins.
    pub(super) const fn next_offset(&self) -> u64 {
        self.end.next_multiple_of(ALIGNMENT)
    }

    pub(super) fn push(&mut self, section: SectionType, index: u16, len: u64, checksum: u64) {
        let offset = self.next_offset();
        self.entries.push(Entry { section, index, offset, len, checksum });
        self.end = offset + len;
    }

    /// The bytes before the first section and those after the last.
    pub(super) fn frame(&self, kind: Kind, identity: HashIdentity) -> (Vec<u8>, Vec<u8>) {
        let file_len = self.next_offset() + TRAILER_LEN;
        let (mut head, checksum) = Header::encode(kind, identity, &self.entries, file_len);
        head.extend_from_slice(padding(head.len() as u64));
        let mut tail = padding(self.end).to_vec();
        tail.extend_from_slice(&END_MARK);
        tail.extend_from_slice(&checksum.to_le_bytes());
        (head, tail)
    }
}

/// Writes a whole file. The complete mark is the last thing written.
pub(super) fn write(
    kind: Kind,
    identity: HashIdentity,
    sections: &[Section<'_>],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut layout = Layout::new(sections.len());
    for Section { role, index, bytes } in sections {
        layout.push(*role, *index, bytes.len() as u64, xxh3_64(bytes));
    }
    let (head, tail) = layout.frame(kind, identity);
    out.write_all(&head)?;
    let mut written = head.len() as u64;
    for section in sections {
        out.write_all(padding(written))?;
        out.write_all(&section.bytes)?;
        written = written.next_multiple_of(ALIGNMENT) + section.bytes.len() as u64;
    }
    out.write_all(&tail)
}
