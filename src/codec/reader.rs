//! Reading: bytes to sections. One parser, two doors: copying from a stream, and in place.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Read};
use std::ops::Range;

use xxhash_rust::xxh3::xxh3_64;

use super::error::{DecodeError, ReadError};
use super::header::{
    ALIGNMENT, Entry, HEADER_LEN, Header, Kind, SectionType, TRAILER_LEN, invalid,
};
use crate::hash::HashIdentity;
use crate::store::Words;

/// A body starts with this many words and doubles as bytes arrive, so that a length is only believed
/// as far as there is something behind it.
const CHUNK_WORDS: u64 = 1 << 17;

/// The sections of a file in their order, bodies as words in `S`.
///
/// They are taken front to back: each kind has one order of sections, so that one content has one
/// form in bytes.
pub struct Sections<S> {
    kind: Kind,
    identity: HashIdentity,
    parts: VecDeque<Part<S>>,
}

struct Part<S> {
    section: SectionType,
    index: u16,
    content: Content<S>,
}

enum Content<S> {
    Small(Vec<u8>),
    Words(S),
}

/// The kind and no content.
impl<S> fmt::Debug for Sections<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sections").field("kind", &self.kind).finish_non_exhaustive()
    }
}

impl<S> Sections<S> {
    pub(crate) const fn kind(&self) -> Kind {
        self.kind
    }

    pub(crate) const fn identity(&self) -> HashIdentity {
        self.identity
    }

    /// Takes the bytes of the next section, which is not a body.
    pub(crate) fn take_small(
        &mut self,
        section: SectionType,
        index: u16,
    ) -> Result<Vec<u8>, DecodeError> {
        match self.take(section, index)? {
            Content::Small(bytes) => Ok(bytes),
            Content::Words(_) => Err(out_of_place(section, index, &"a body")),
        }
    }

    /// Takes the words of the next section, a body.
    pub(crate) fn take_words(&mut self, index: u16) -> Result<S, DecodeError> {
        match self.take(SectionType::Body, index)? {
            Content::Words(words) => Ok(words),
            Content::Small(_) => Err(out_of_place(SectionType::Body, index, &"bytes")),
        }
    }

    fn take(&mut self, section: SectionType, index: u16) -> Result<Content<S>, DecodeError> {
        match self.parts.pop_front() {
            Some(part) if (part.section, part.index) == (section, index) => Ok(part.content),
            Some(part) => Err(out_of_place(section, index, &part)),
            None => Err(out_of_place(section, index, &"the end")),
        }
    }

    /// The bytes of a section that is not a body, wherever it is, left in place.
    pub(super) fn peek_small(
        &self,
        section: SectionType,
        index: u16,
    ) -> Result<&[u8], DecodeError> {
        match self.peek(section, index)? {
            Content::Small(bytes) => Ok(bytes),
            Content::Words(_) => Err(out_of_place(section, index, &"a body")),
        }
    }

    /// The words of a body, wherever it is, left in place.
    pub(super) fn peek_words(&self, index: u16) -> Result<&S, DecodeError> {
        match self.peek(SectionType::Body, index)? {
            Content::Words(words) => Ok(words),
            Content::Small(_) => Err(out_of_place(SectionType::Body, index, &"bytes")),
        }
    }

    fn peek(&self, section: SectionType, index: u16) -> Result<&Content<S>, DecodeError> {
        let mut parts = self.parts.iter();
        parts
            .find(|part| (part.section, part.index) == (section, index))
            .map(|part| &part.content)
            .ok_or_else(|| out_of_place(section, index, &"none"))
    }

    /// Checks that every section was taken: one that nobody asked for is not of this kind.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        match self.parts.front() {
            None => Ok(()),
            Some(part) => Err(invalid("section table", "no more sections", part)),
        }
    }
}

impl<S> fmt::Display for Part<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.section.name(), self.index)
    }
}

fn out_of_place(section: SectionType, index: u16, found: &dyn fmt::Display) -> DecodeError {
    invalid("section table", format!("{} {index} next", section.name()), found)
}

/// Reads everything from a stream and checks every byte of it.
pub(super) fn read(input: &mut impl Read) -> Result<Sections<Words>, ReadError> {
    let mut input = Counted { input, read: 0 };
    let mut bytes = Vec::new();
    input.read_up_to(HEADER_LEN, &mut bytes)?;
    let header = Header::decode(&bytes)?;
    let table = input.exactly(header.table_len(), header.file_len)?;
    let entries = header.decode_table(&table)?;

    let mut parts = VecDeque::with_capacity(entries.len());
    for entry in &entries {
        input.padding(entry.offset, header.file_len)?;
        let content = if entry.section == SectionType::Body {
            Content::Words(input.words(entry, header.file_len)?)
        } else {
            let bytes = input.exactly(entry.len, header.file_len)?;
            check(entry, &bytes)?;
            Content::Small(bytes)
        };
        parts.push_back(Part { section: entry.section, index: entry.index, content });
    }
    input.padding(header.file_len - TRAILER_LEN, header.file_len)?;
    let trailer = input.exactly(TRAILER_LEN, header.file_len)?;
    header.check_trailer(&trailer)?;
    let mut rest = Vec::new();
    input.read_up_to(1, &mut rest)?;
    if !rest.is_empty() {
        return Err(DecodeError::TrailingBytes { expected: header.file_len }.into());
    }
    Ok(Sections { kind: header.kind, identity: header.identity, parts })
}

/// Finds the sections of bytes that stay where they are. Everything is checked but the bodies,
/// which are not looked at.
pub(super) fn open(bytes: &[u8]) -> Result<Sections<&[u64]>, DecodeError> {
    open_with(bytes, |body| bytemuck::try_cast_slice(between(bytes, body.start, body.end)).ok())
}

/// As [`open`], with words that `words` makes of where they are in the bytes.
pub(super) fn open_with<S>(
    bytes: &[u8],
    words: impl Fn(Range<u64>) -> Option<S>,
) -> Result<Sections<S>, DecodeError> {
    let (header, entries) = layout(bytes)?;
    let mut parts = VecDeque::with_capacity(entries.len());
    for entry in &entries {
        let content = section_bytes(bytes, entry);
        let content = if entry.section == SectionType::Body {
            if cfg!(target_endian = "big") {
                return Err(DecodeError::BigEndian);
            }
            let body = entry.offset..entry.offset + entry.len;
            Content::Words(words(body).ok_or(DecodeError::Unaligned)?)
        } else {
            check(entry, content)?;
            Content::Small(content.to_vec())
        };
        parts.push_back(Part { section: entry.section, index: entry.index, content });
    }
    Ok(Sections { kind: header.kind, identity: header.identity, parts })
}

/// Checks every byte, in place.
pub(super) fn verify(bytes: &[u8]) -> Result<(), DecodeError> {
    let (_, entries) = layout(bytes)?;
    entries.iter().try_for_each(|entry| check(entry, section_bytes(bytes, entry)))
}

/// Everything of bytes in memory that is not inside a section: header, table, length, padding and
/// trailer, each checked.
fn layout(bytes: &[u8]) -> Result<(Header, Vec<Entry>), DecodeError> {
    let header = Header::decode(bytes)?;
    let found = bytes.len() as u64;
    let expected = header.file_len;
    if found < expected {
        return Err(DecodeError::Truncated { expected, found });
    }
    let table = between(bytes, HEADER_LEN, HEADER_LEN + header.table_len());
    if (table.len() as u64) < header.table_len() {
        let expected = HEADER_LEN + header.table_len();
        return Err(DecodeError::Truncated { expected, found });
    }
    let entries = header.decode_table(table)?;
    if found > expected {
        return Err(DecodeError::TrailingBytes { expected });
    }
    let mut end = HEADER_LEN + header.table_len();
    for entry in &entries {
        check_padding(between(bytes, end, entry.offset))?;
        end = entry.offset + entry.len;
    }
    check_padding(between(bytes, end, expected - TRAILER_LEN))?;
    header.check_trailer(between(bytes, expected - TRAILER_LEN, expected))?;
    Ok((header, entries))
}

/// The bytes of a range that the table has bounded; empty if it were out of bounds after all.
fn between(bytes: &[u8], start: u64, end: u64) -> &[u8] {
    bytes.get(start as usize..end as usize).unwrap_or(&[])
}

fn section_bytes<'a>(bytes: &'a [u8], entry: &Entry) -> &'a [u8] {
    between(bytes, entry.offset, entry.offset + entry.len)
}

fn check(entry: &Entry, bytes: &[u8]) -> Result<(), DecodeError> {
    let found = xxh3_64(bytes);
    if found == entry.checksum {
        return Ok(());
    }
    Err(DecodeError::Checksum { part: entry.section.name(), expected: entry.checksum, found })
}

fn check_padding(bytes: &[u8]) -> Result<(), DecodeError> {
    if bytes.iter().all(|&byte| byte == 0) {
        return Ok(());
    }
    Err(DecodeError::Reserved { part: "padding between sections" })
}

/// A stream and how far it was read.
struct Counted<'a, R> {
    input: &'a mut R,
    read: u64,
}

impl<R: Read> Counted<'_, R> {
    /// Appends up to `len` bytes, fewer only at the end of the stream.
    fn read_up_to(&mut self, len: u64, out: &mut Vec<u8>) -> io::Result<()> {
        self.read += self.input.take(len).read_to_end(out)? as u64;
        Ok(())
    }

    /// Reads the bytes of the table or of a section that the table has bounded.
    fn exactly(&mut self, len: u64, file_len: u64) -> Result<Vec<u8>, ReadError> {
        let mut out = Vec::new();
        self.read_up_to(len, &mut out)?;
        if out.len() as u64 == len {
            return Ok(out);
        }
        Err(DecodeError::Truncated { expected: file_len, found: self.read }.into())
    }

    /// Reads the zeros before an offset, fewer than [`ALIGNMENT`].
    fn padding(&mut self, offset: u64, file_len: u64) -> Result<(), ReadError> {
        let len = offset.saturating_sub(self.read).min(ALIGNMENT);
        Ok(check_padding(&self.exactly(len, file_len)?)?)
    }

    /// Reads a body, growing as bytes arrive, and checks it.
    fn words(&mut self, entry: &Entry, file_len: u64) -> Result<Words, ReadError> {
        let out_of_memory = || DecodeError::OutOfMemory { byte_len: entry.len };
        let total = entry.len / 8;
        let mut words = Words::zeroed(total.min(CHUNK_WORDS)).ok_or_else(out_of_memory)?;
        let mut filled = 0;
        loop {
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut words.as_mut()[filled..]);
            self.fill(bytes, file_len)?;
            filled = words.as_ref().len();
            if filled as u64 == total {
                break;
            }
            let more = (filled as u64 * 2).min(total);
            words = Words::copy_of(words.as_ref(), more).ok_or_else(out_of_memory)?;
        }
        check(entry, bytemuck::cast_slice(words.as_ref()))?;
        if cfg!(target_endian = "big") {
            for word in words.as_mut() {
                *word = u64::from_le(*word);
            }
        }
        Ok(words)
    }

    fn fill(&mut self, bytes: &mut [u8], file_len: u64) -> Result<(), ReadError> {
        let mut filled = 0;
        while filled < bytes.len() {
            match self.input.read(&mut bytes[filled..]) {
                Ok(0) => {
                    let found = self.read;
                    return Err(DecodeError::Truncated { expected: file_len, found }.into());
                }
                Ok(count) => {
                    filled += count;
                    self.read += count as u64;
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Fixed-width little-endian fields, read front to back.
#[derive(Debug)]
pub(crate) struct Fields<'a> {
    part: &'static str,
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    pub(crate) const fn new(part: &'static str, bytes: &'a [u8]) -> Self {
        Self { part, rest: bytes }
    }

    pub(crate) fn bytes(&mut self, len: usize) -> Result<&'a [u8], DecodeError> {
        let Some((head, rest)) = self.rest.split_at_checked(len) else {
            return Err(invalid(self.part, "more bytes", format_args!("{} left", self.rest.len())));
        };
        self.rest = rest;
        Ok(head)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let bytes = self.bytes(N)?;
        let mut out = [0; N];
        out.copy_from_slice(bytes);
        Ok(out)
    }

    pub(crate) fn skip(&mut self, len: usize) -> Result<(), DecodeError> {
        self.bytes(len).map(drop)
    }

    pub(crate) fn u8(&mut self) -> Result<u8, DecodeError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(crate) fn u16(&mut self) -> Result<u16, DecodeError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(crate) fn u32(&mut self) -> Result<u32, DecodeError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(crate) fn u64(&mut self) -> Result<u64, DecodeError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(crate) fn u128(&mut self) -> Result<u128, DecodeError> {
        self.array().map(u128::from_le_bytes)
    }

    pub(crate) fn f64(&mut self) -> Result<f64, DecodeError> {
        self.u64().map(f64::from_bits)
    }

    /// A UTF-8 string after its length.
    pub(crate) fn string(&mut self, max_len: usize) -> Result<String, DecodeError> {
        let len = self.u32()? as usize;
        if len > max_len {
            return Err(invalid(self.part, format!("texts of at most {max_len} bytes"), len));
        }
        let bytes = self.bytes(len)?;
        String::from_utf8(bytes.to_vec()).map_err(|_| invalid(self.part, "UTF-8", "other bytes"))
    }

    /// Bytes that must be 0.
    pub(crate) fn reserved(&mut self, len: usize) -> Result<(), DecodeError> {
        if self.bytes(len)?.iter().all(|&byte| byte == 0) {
            return Ok(());
        }
        Err(DecodeError::Reserved { part: self.part })
    }

    /// What is left, for another to read.
    pub(crate) const fn rest(self) -> &'a [u8] {
        self.rest
    }

    /// Checks that nothing is left.
    pub(crate) fn finish(&self) -> Result<(), DecodeError> {
        if self.rest.is_empty() {
            return Ok(());
        }
        Err(invalid(self.part, "no more bytes", format_args!("{} left", self.rest.len())))
    }
}
