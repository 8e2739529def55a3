//! Header, section table and trailer; where everything lies.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use super::error::DecodeError;
use super::reader::Fields;
use crate::hash::{Digest, HashIdentity, KeyId};

/// The version that this release writes. It reads this and every older one.
pub const FORMAT_VERSION: u16 = 1;

/// Not ASCII at the front, and both line ends: text tools that would damage the file are noticed.
pub(super) const MAGIC: [u8; 8] = *b"\x89HAPAX\r\n";
/// The complete mark, first part of the trailer.
pub(super) const END_MARK: [u8; 8] = *b"HAPAXEND";

pub(super) const HEADER_LEN: u64 = 64;
pub(super) const ENTRY_LEN: u64 = 32;
pub(super) const TRAILER_LEN: u64 = 16;
/// Sections start at multiples of this: a cache line, and enough for any SIMD load.
pub(super) const ALIGNMENT: u64 = 64;
/// Bounds what the table can make a reader allocate; a window of two generations has at most 9 sections.
pub(super) const MAX_SECTIONS: u32 = 64;
/// Sections other than bodies are short; a table of 2¹⁶ shards is the longest.
const MAX_SMALL_LEN: u64 = 1 << 20;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// A [`BloomFilter`](crate::BloomFilter).
    Bloom,
    /// A [`CountingBloomFilter`](crate::CountingBloomFilter).
    Counting,
    /// A [`CuckooFilter`](crate::CuckooFilter).
    Cuckoo,
    /// A [`BlockedBloomFilter`](crate::BlockedBloomFilter).
    Blocked,
    /// A [`BinaryFuseFilter`](crate::BinaryFuseFilter).
    BinaryFuse,
    /// A [`WordBloomFilter`](crate::WordBloomFilter).
    Word,
    /// A [`RetiringCuckooFilter`](crate::RetiringCuckooFilter).
    Retiring,
    /// A [`GenerationWindow`](crate::replay::GenerationWindow).
    Window,
    /// A [`ReplayFilter`](crate::replay::ReplayFilter).
    Replay,
}

impl Kind {
    /// Whether it is one filter, rather than something made of filters.
    pub(super) const fn is_filter(self) -> bool {
        !matches!(self, Self::Window | Self::Replay)
    }

    pub(super) const fn code(self) -> u16 {
        match self {
            Self::Bloom => 1,
            Self::Counting => 2,
            Self::Cuckoo => 3,
            Self::Blocked => 4,
            Self::BinaryFuse => 5,
            Self::Word => 6,
            Self::Retiring => 7,
            Self::Window => 64,
            Self::Replay => 65,
        }
    }

    pub(super) fn from_code(code: u64) -> Result<Self, DecodeError> {
        match code {
            1 => Ok(Self::Bloom),
            2 => Ok(Self::Counting),
            3 => Ok(Self::Cuckoo),
            4 => Ok(Self::Blocked),
            5 => Ok(Self::BinaryFuse),
            6 => Ok(Self::Word),
            7 => Ok(Self::Retiring),
            64 => Ok(Self::Window),
            65 => Ok(Self::Replay),
            found => Err(DecodeError::UnknownKind { found: found as u16 }),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bloom => "a Bloom filter",
            Self::Counting => "a counting Bloom filter",
            Self::Cuckoo => "a cuckoo filter",
            Self::Blocked => "a blocked Bloom filter",
            Self::BinaryFuse => "a binary fuse filter",
            Self::Word => "a word-blocked Bloom filter",
            Self::Retiring => "a retiring cuckoo filter",
            Self::Window => "a window of generations",
            Self::Replay => "the state of a replay filter",
        })
    }
}

/// What a section holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SectionType {
    /// Parameters of one filter.
    Params,
    /// Words of one filter.
    Body,
    /// Where the keys came from.
    Provenance,
    /// What a window knows beside its generations.
    Window,
    /// What a replay filter has counted.
    Counts,
    /// The shards of a binary fuse filter.
    Shards,
    /// What a retiring filter knows of its epochs.
    Epochs,
}

impl SectionType {
    pub(super) const fn code(self) -> u16 {
        match self {
            Self::Params => 1,
            Self::Body => 2,
            Self::Provenance => 3,
            Self::Window => 4,
            Self::Counts => 5,
            Self::Shards => 6,
            Self::Epochs => 7,
        }
    }

    fn from_code(code: u64) -> Result<Self, DecodeError> {
        match code {
            1 => Ok(Self::Params),
            2 => Ok(Self::Body),
            3 => Ok(Self::Provenance),
            4 => Ok(Self::Window),
            5 => Ok(Self::Counts),
            6 => Ok(Self::Shards),
            7 => Ok(Self::Epochs),
            found => Err(DecodeError::Invalid {
                what: "section type",
                expected: "1 to 7".to_owned(),
                found: found.to_string(),
            }),
        }
    }

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Params => "parameters",
            Self::Body => "body",
            Self::Provenance => "provenance",
            Self::Window => "window",
            Self::Counts => "counts",
            Self::Shards => "shards",
            Self::Epochs => "epochs",
        }
    }
}

/// One row of the section table.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) section: SectionType,
    pub(super) index: u16,
    pub(super) offset: u64,
    pub(super) len: u64,
    pub(super) checksum: u64,
}

/// The first 64 bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) sections: u32,
    pub(super) file_len: u64,
    pub(super) identity: HashIdentity,
    pub(super) table_checksum: u64,
    /// Of the bytes before it; repeated in the trailer.
    pub(super) checksum: u64,
}

impl Entry {
    /// Where the section ends.
    fn end(&self) -> Result<u64, DecodeError> {
        let limit = match self.section {
            SectionType::Body if !self.len.is_multiple_of(8) => {
                return Err(invalid("length of the body", "a multiple of 8", self.len));
            }
            SectionType::Body => u64::MAX,
            _ => MAX_SMALL_LEN,
        };
        if self.len > limit {
            return Err(invalid("section length", format!("at most {limit}"), self.len));
        }
        // Room for padding and trailer, so that no later sum can overflow.
        let end = self.offset.checked_add(self.len);
        end.filter(|&end| end < u64::MAX - ALIGNMENT - TRAILER_LEN)
            .ok_or_else(|| invalid("section length", "less than the file", self.len))
    }
}

/// The hash identity in 16 bytes: function, digest, 6 zeros, seed or key id.
pub(crate) fn encode_identity(identity: HashIdentity) -> [u8; 16] {
    let (function, digest, seed) = match identity {
        HashIdentity::Xxh3(seed) => (1, 0, seed),
        HashIdentity::Uniform(digest) => (2, digest_code(digest), 0),
        HashIdentity::Siphash(KeyId(id)) => (3, 0, id),
    };
    let mut out = [0; 16];
    out[0] = function;
    out[1] = digest;
    out[8..].copy_from_slice(&seed.to_le_bytes());
    out
}

/// Reads what [`encode_identity`] wrote.
pub(crate) fn decode_identity(fields: &mut Fields<'_>) -> Result<HashIdentity, DecodeError> {
    let (function, digest) = (fields.u8()?, fields.u8()?);
    fields.reserved(6)?;
    match (function, digest, fields.u64()?) {
        (1, 0, seed) => Ok(HashIdentity::Xxh3(seed)),
        (2, digest, 0) => Ok(HashIdentity::Uniform(digest_from_code(digest)?)),
        (3, 0, id) => Ok(HashIdentity::Siphash(KeyId(id))),
        (_, _, seed) => Err(invalid(
            "hash identity",
            "xxh3-128, uniform or siphash-1-3-128",
            format!("function {function}, digest {digest}, seed {seed:#x}"),
        )),
    }
}

impl Header {
    /// Bytes and checksum of a header.
    pub(super) fn encode(
        kind: Kind,
        identity: HashIdentity,
        entries: &[Entry],
        file_len: u64,
    ) -> (Vec<u8>, u64) {
        let mut table = Vec::new();
        for entry in entries {
            table.extend_from_slice(&entry.section.code().to_le_bytes());
            table.extend_from_slice(&entry.index.to_le_bytes());
            table.extend_from_slice(&[0; 4]);
            for field in [entry.offset, entry.len, entry.checksum] {
                table.extend_from_slice(&field.to_le_bytes());
            }
        }
        let mut out = Vec::with_capacity(HEADER_LEN as usize + table.len());
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        out.extend_from_slice(&kind.code().to_le_bytes());
        out.extend_from_slice(&(entries.len() as u32).to_le_bytes());
        out.extend_from_slice(&file_len.to_le_bytes());
        out.extend_from_slice(&encode_identity(identity));
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&xxh3_64(&table).to_le_bytes());
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        out.extend_from_slice(&table);
        (out, checksum)
    }

    /// Reads the header, given its bytes or as many as there are.
    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        if bytes.is_empty() {
            return Err(DecodeError::Empty);
        }
        let magic_len = bytes.len().min(MAGIC.len());
        if bytes[..magic_len] != MAGIC[..magic_len] {
            return Err(DecodeError::NotHapax);
        }
        let Some(bytes) = bytes.get(..HEADER_LEN as usize) else {
            let found = bytes.len() as u64;
            return Err(DecodeError::Truncated { expected: HEADER_LEN, found });
        };
        let mut fields = Fields::new("header", bytes);
        fields.skip(MAGIC.len())?;
        // The version comes before any check that a later version may have changed.
        let version = fields.u16()?;
        if version > FORMAT_VERSION {
            let supported = FORMAT_VERSION;
            return Err(DecodeError::NewerVersion { supported, found: version });
        }
        let stored = Fields::new("header", &bytes[56..]).u64()?;
        let computed = xxh3_64(&bytes[..56]);
        if stored != computed {
            return Err(DecodeError::Checksum {
                part: "header",
                expected: stored,
                found: computed,
            });
        }
        if version == 0 {
            return Err(invalid("format version", "1 or more", 0));
        }
        let kind = Kind::from_code(fields.u16()?.into())?;
        let sections = fields.u32()?;
        let file_len = fields.u64()?;
        let identity = decode_identity(&mut fields)?;
        fields.reserved(8)?;
        let table_checksum = fields.u64()?;
        if !(1..=MAX_SECTIONS).contains(&sections) {
            return Err(invalid("number of sections", "1 to 64", sections));
        }
        Ok(Self { kind, sections, file_len, identity, table_checksum, checksum: stored })
    }

    pub(super) fn table_len(&self) -> u64 {
        u64::from(self.sections) * ENTRY_LEN
    }

    /// Reads the section table and checks that the sections follow each other without gap or
    /// overlap and end where the header says.
    pub(super) fn decode_table(&self, bytes: &[u8]) -> Result<Vec<Entry>, DecodeError> {
        let computed = xxh3_64(bytes);
        if computed != self.table_checksum {
            return Err(DecodeError::Checksum {
                part: "section table",
                expected: self.table_checksum,
                found: computed,
            });
        }
        let mut fields = Fields::new("section table", bytes);
        let mut entries: Vec<Entry> = Vec::with_capacity(self.sections as usize);
        let mut end = HEADER_LEN + self.table_len();
        for _ in 0..self.sections {
            let section = SectionType::from_code(fields.u16()?.into())?;
            let index = fields.u16()?;
            fields.reserved(4)?;
            let (offset, len, checksum) = (fields.u64()?, fields.u64()?, fields.u64()?);
            let expected = end.next_multiple_of(ALIGNMENT);
            if offset != expected {
                return Err(invalid("section offset", expected.to_string(), offset));
            }
            let entry = Entry { section, index, offset, len, checksum };
            end = entry.end()?;
            entries.push(entry);
        }
        let expected = end.next_multiple_of(ALIGNMENT) + TRAILER_LEN;
        if self.file_len != expected {
            return Err(invalid("file length", expected.to_string(), self.file_len));
        }
        Ok(entries)
    }

    /// Checks the complete mark.
    pub(super) fn check_trailer(&self, bytes: &[u8]) -> Result<(), DecodeError> {
        let mut fields = Fields::new("trailer", bytes);
        let mark_is_there = bytes.starts_with(&END_MARK);
        fields.skip(END_MARK.len())?;
        let found = fields.u64()?;
        if mark_is_there && found == self.checksum {
            return Ok(());
        }
        Err(DecodeError::Incomplete)
    }
}

const fn digest_code(digest: Digest) -> u8 {
    match digest {
        Digest::Unspecified => 0,
        Digest::Sha1 => 1,
        Digest::Nt => 2,
    }
}

fn digest_from_code(code: u8) -> Result<Digest, DecodeError> {
    match code {
        0 => Ok(Digest::Unspecified),
        1 => Ok(Digest::Sha1),
        2 => Ok(Digest::Nt),
        found => Err(invalid("digest of the keys", "0, 1 or 2", found)),
    }
}

pub(crate) fn invalid(
    what: &'static str,
    expected: impl Into<String>,
    found: impl ToString,
) -> DecodeError {
    DecodeError::Invalid { what, expected: expected.into(), found: found.to_string() }
}
