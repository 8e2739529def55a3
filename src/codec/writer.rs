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

    /// A body: the words, little-endian. Borrowed where that is how they lie in memory.
    pub(crate) fn body(index: u16, words: &'a [u64]) -> Self {
        let bytes = if cfg!(target_endian = "little") {
            Cow::Borrowed(bytemuck::cast_slice(words))
        } else {
            Cow::Owned(words.iter().flat_map(|word| word.to_le_bytes()).collect())
        };
        Self { role: SectionType::Body, index, bytes }
    }
}

/// Zeros up to the next multiple of the alignment.
fn padding(len: u64) -> &'static [u8] {
    const ZEROS: [u8; ALIGNMENT as usize] = [0; ALIGNMENT as usize];
    &ZEROS[..(len.next_multiple_of(ALIGNMENT) - len) as usize]
}

/// Writes a whole file. The complete mark is the last thing written.
pub(super) fn write(
    kind: Kind,
    identity: HashIdentity,
    sections: &[Section<'_>],
    out: &mut impl Write,
) -> io::Result<()> {
    let mut end = HEADER_LEN + ENTRY_LEN * sections.len() as u64;
    let entries: Vec<Entry> = sections
        .iter()
        .map(|section| {
            let offset = end.next_multiple_of(ALIGNMENT);
            let len = section.bytes.len() as u64;
            end = offset + len;
            let checksum = xxh3_64(&section.bytes);
            Entry { section: section.role, index: section.index, offset, len, checksum }
        })
        .collect();
    let file_len = end.next_multiple_of(ALIGNMENT) + TRAILER_LEN;

    let (head, checksum) = Header::encode(kind, identity, &entries, file_len);
    out.write_all(&head)?;
    let mut written = head.len() as u64;
    for section in sections {
        out.write_all(padding(written))?;
        out.write_all(&section.bytes)?;
        written = written.next_multiple_of(ALIGNMENT) + section.bytes.len() as u64;
    }
    out.write_all(padding(written))?;
    out.write_all(&END_MARK)?;
    out.write_all(&checksum.to_le_bytes())
}
