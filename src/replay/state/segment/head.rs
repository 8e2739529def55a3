//! Header and index of a segment.

use std::fmt;

use xxhash_rust::xxh3::xxh3_64;

use crate::codec::{DecodeError, Fields, invalid};

pub(super) const MAGIC: [u8; 8] = *b"\x89HAPSEG\n";
pub(super) const VERSION: u16 = 1;
pub(super) const HEADER_LEN: u64 = 32;
pub(super) const ROW_LEN: u64 = 24;
pub(super) const CHECKSUM_LEN: u64 = 8;
pub(super) const DIGEST_LEN: u64 = 8;
/// Groups are numbered by 16 bits.
const MAX_RUNS: u32 = 1 << 16;

/// The length of a segment without runs.
pub(crate) const MIN_LEN: u64 = HEADER_LEN + CHECKSUM_LEN;

/// Whether an epoch still grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Phase {
    /// It grows. Each checkpoint adds a segment with what came since the one before.
    Active,
    /// It is closed. All its digests are in one segment.
    Sealed,
}

impl Phase {
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Active => 1,
            Self::Sealed => 2,
        }
    }

    pub(crate) fn from_code(code: u8) -> Result<Self, DecodeError> {
        match code {
            1 => Ok(Self::Active),
            2 => Ok(Self::Sealed),
            found => Err(invalid("phase of an epoch", "1 or 2", found)),
        }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Active => "active",
            Self::Sealed => "sealed",
        })
    }
}

/// The digests of one group: where they are, and their checksum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) group: u16,
    /// One or more.
    pub(super) count: u64,
    pub(super) offset: u64,
    pub(super) checksum: u64,
}

impl Run {
    pub(super) const fn byte_len(&self) -> u64 {
        self.count * DIGEST_LEN
    }
}

/// How long header, index and their checksum are.
pub(super) const fn head_len(runs: u64) -> u64 {
    HEADER_LEN + runs * ROW_LEN + CHECKSUM_LEN
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) epoch: u64,
    pub(super) phase: Phase,
    /// Length of the segment.
    pub(super) len: u64,
    pub(super) runs: Vec<Run>,
}

impl Head {
    /// The bytes, which end in the checksum, and the checksum.
    pub(super) fn encode(&self) -> (Vec<u8>, u64) {
        let mut out = Vec::with_capacity(head_len(self.runs.len() as u64) as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[self.phase.code(), 0]);
        out.extend_from_slice(&(self.runs.len() as u32).to_le_bytes());
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&self.len.to_le_bytes());
        for run in &self.runs {
            out.extend_from_slice(&run.group.to_le_bytes());
            out.extend_from_slice(&[0; 6]);
            out.extend_from_slice(&run.count.to_le_bytes());
            out.extend_from_slice(&run.checksum.to_le_bytes());
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        (out, checksum)
    }

    /// How long the head is, from the header; the segment has `len` bytes.
    pub(super) fn len_from_header(header: &[u8], len: u64) -> Result<u64, DecodeError> {
        let (runs, _) = Self::header(header, len)?;
        let needed = head_len(u64::from(runs));
        if needed > len {
            return Err(DecodeError::Truncated { expected: needed, found: len });
        }
        Ok(needed)
    }

    /// Reads the bytes that [`encode`](Self::encode) wrote, of a segment of `len` bytes.
    pub(super) fn decode(bytes: &[u8], len: u64, checksum: u64) -> Result<Self, DecodeError> {
        let body = bytes.len().saturating_sub(CHECKSUM_LEN as usize);
        let (body, stored) = bytes.split_at(body);
        let mut fields = Fields::new("checksum of a segment", stored);
        let stored = fields.u64()?;
        let found = xxh3_64(body);
        // What the manifest says is asked first: it tells another whole segment from this one.
        for expected in [checksum, stored] {
            if found != expected {
                return Err(DecodeError::Checksum { part: "segment's index", expected, found });
            }
        }
        let (runs, mut head) = Self::header(body, len)?;
        let mut fields = Fields::new("index of a segment", body);
        fields.skip(HEADER_LEN as usize)?;
        let mut end = head_len(u64::from(runs));
        for _ in 0..runs {
            let group = fields.u16()?;
            fields.reserved(6)?;
            let (count, checksum) = (fields.u64()?, fields.u64()?);
            if let Some(last) = head.runs.last()
                && last.group >= group
            {
                let expected = format!("more than {}", last.group);
                return Err(invalid("key group of a run", expected, group));
            }
            let next = count.checked_mul(DIGEST_LEN).and_then(|bytes| end.checked_add(bytes));
            let Some(next) = next.filter(|&next| count > 0 && next <= len) else {
                let most = (len - end) / DIGEST_LEN;
                return Err(invalid("digests in a run", format!("1 to {most}"), count));
            };
            head.runs.push(Run { group, count, offset: end, checksum });
            end = next;
        }
        fields.finish()?;
        if end != len {
            return Err(invalid("length of a segment", end.to_string(), len));
        }
        Ok(head)
    }

    /// Reads the header: the number of runs, and all but them.
    fn header(bytes: &[u8], len: u64) -> Result<(u32, Self), DecodeError> {
        let mut fields = Fields::new("header of a segment", bytes);
        if fields.bytes(MAGIC.len())? != MAGIC {
            return Err(invalid("first bytes", "those of a segment", "others"));
        }
        let version = fields.u16()?;
        if version > VERSION {
            return Err(DecodeError::NewerVersion { supported: VERSION, found: version });
        }
        if version == 0 {
            return Err(invalid("format version", format!("1 to {VERSION}"), version));
        }
        let phase = Phase::from_code(fields.u8()?)?;
        fields.reserved(1)?;
        let runs = fields.u32()?;
        if runs > MAX_RUNS {
            return Err(invalid("number of runs", format!("at most {MAX_RUNS}"), runs));
        }
        let epoch = fields.u64()?;
        let stated = fields.u64()?;
        if stated != len {
            return Err(invalid("length of a segment", stated.to_string(), len));
        }
        Ok((runs, Self { epoch, phase, len, runs: Vec::new() }))
    }
}
