//! The manifest: one object that makes a state of all the others.

use xxhash_rust::xxh3::xxh3_64;

use super::contents::{Contents, EpochEntry, SegmentEntry};
use super::error::StateError;
use super::names::{SegmentId, manifest_name};
use super::segment::Phase;
use crate::codec::{DecodeError, Fields, invalid};

const MAGIC: [u8; 8] = *b"\x89HAPMAN\n";
/// The version that this release writes.
const VERSION: u16 = 1;
/// All fields before the owner's bytes.
const FIXED_LEN: u64 = 72;
const EPOCH_LEN: u64 = 32;
const SEGMENT_LEN: u64 = 32;
const CHECKSUM_LEN: u64 = 8;

/// The longest manifest that is written or read: it is held in memory, and so is what it says.
pub(super) const MAX_LEN: u64 = 1 << 28;

/// A published state: its contents, and its place in the row of all that were published.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// Its number. Each is higher than all before.
    pub number: u64,
    /// The fencing number of its writer: the number of the manifest by which that one took the state
    /// over.
    pub writer: u64,
    /// What tells its writer from one that tries to be of the same number.
    pub(super) token: u64,
    /// The number of the manifest that it continues, 0 if it is the first.
    pub previous: u64,
    /// The state.
    pub contents: Contents,
}

impl Manifest {
    /// Whether it was published by a writer taking over, and so says what the previous one says.
    pub(super) const fn is_claim(&self) -> bool {
        self.number == self.writer && self.previous > 0
    }

    pub(super) fn name(&self) -> String {
        manifest_name(self.number)
    }

    fn byte_len(&self) -> u64 {
        let Contents { parameters, progress, epochs, .. } = &self.contents;
        let epochs: u64 = epochs.iter().map(epoch_len).sum();
        FIXED_LEN + parameters.len() as u64 + progress.len() as u64 + epochs + CHECKSUM_LEN
    }

    /// The bytes. Equal manifests have equal bytes.
    ///
    /// # Errors
    ///
    /// [`StateError::Invalid`] if the contents contradict themselves or take more than [`MAX_LEN`].
    pub(super) fn encode(&self) -> Result<Vec<u8>, StateError> {
        let contents = &self.contents;
        contents.check()?;
        let byte_len = self.byte_len();
        if byte_len > MAX_LEN {
            let expected = format!("at most {MAX_LEN} bytes");
            return Err(StateError::invalid("size of a manifest", expected, byte_len));
        }
        let mut out = Vec::with_capacity(byte_len as usize);
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[0; 2]);
        out.extend_from_slice(&contents.key_groups.to_le_bytes());
        for word in [self.number, self.writer, self.token, self.previous, byte_len] {
            out.extend_from_slice(&word.to_le_bytes());
        }
        out.extend_from_slice(&contents.first_group.to_le_bytes());
        out.extend_from_slice(&contents.last_group.to_le_bytes());
        // All lengths are below `MAX_LEN`.
        for len in [contents.epochs.len(), contents.parameters.len(), contents.progress.len()] {
            out.extend_from_slice(&(len as u32).to_le_bytes());
        }
        out.extend_from_slice(&contents.parameters);
        out.extend_from_slice(&contents.progress);
        for epoch in &contents.epochs {
            encode_epoch(epoch, &mut out);
        }
        let checksum = xxh3_64(&out);
        out.extend_from_slice(&checksum.to_le_bytes());
        Ok(out)
    }

    /// Reads what [`encode`](Self::encode) wrote under a number.
    pub(super) fn decode(number: u64, bytes: &[u8]) -> Result<Self, StateError> {
        let damaged = |error| StateError::damaged(manifest_name(number), error);
        let manifest = Self::decode_fields(number, bytes).map_err(damaged)?;
        match manifest.contents.check() {
            Err(StateError::Invalid { what, expected, found }) => {
                Err(damaged(invalid(what, expected, found)))
            }
            checked => checked.map(|()| manifest),
        }
    }

    fn decode_fields(number: u64, bytes: &[u8]) -> Result<Self, DecodeError> {
        let body = check_frame(bytes)?;
        let mut fields = Fields::new("manifest", body);
        fields.skip(MAGIC.len() + 2)?;
        fields.reserved(2)?;
        let key_groups = fields.u32()?;
        let stated = fields.u64()?;
        if stated != number {
            return Err(invalid("number of a manifest", number.to_string(), stated));
        }
        let (writer, token, previous) = (fields.u64()?, fields.u64()?, fields.u64()?);
        if writer == 0 || writer > number {
            return Err(invalid("writer of a manifest", format!("1 to {number}"), writer));
        }
        if previous >= number {
            return Err(invalid("previous manifest", format!("less than {number}"), previous));
        }
        let byte_len = fields.u64()?;
        if byte_len != bytes.len() as u64 {
            return Err(invalid("length of a manifest", byte_len.to_string(), bytes.len()));
        }
        let (first_group, last_group) = (fields.u16()?, fields.u16()?);
        let (epochs, parameters, progress) = (fields.u32()?, fields.u32()?, fields.u32()?);
        let parameters = fields.bytes(parameters as usize)?.to_vec();
        let progress = fields.bytes(progress as usize)?.to_vec();
        // Grows as epochs are there, whatever their number is said to be.
        let mut list = Vec::new();
        for _ in 0..epochs {
            list.push(decode_epoch(&mut fields)?);
        }
        fields.finish()?;
        let contents =
            Contents { key_groups, first_group, last_group, parameters, progress, epochs: list };
        Ok(Self { number, writer, token, previous, contents })
    }
}

/// Checks magic, version and checksum, in this order: the version says what the rest means.
fn check_frame(bytes: &[u8]) -> Result<&[u8], DecodeError> {
    let mut fields = Fields::new("manifest", bytes);
    if fields.bytes(MAGIC.len())? != MAGIC {
        return Err(invalid("first bytes", "those of a manifest", "others"));
    }
    let version = fields.u16()?;
    if version > VERSION {
        return Err(DecodeError::NewerVersion { supported: VERSION, found: version });
    }
    if version == 0 {
        return Err(invalid("format version", format!("1 to {VERSION}"), version));
    }
    let found = bytes.len() as u64;
    if found < FIXED_LEN + CHECKSUM_LEN {
        return Err(DecodeError::Truncated { expected: FIXED_LEN + CHECKSUM_LEN, found });
    }
    let (body, stored) = bytes.split_at(bytes.len() - CHECKSUM_LEN as usize);
    let expected = Fields::new("checksum of a manifest", stored).u64()?;
    let found = xxh3_64(body);
    if found != expected {
        return Err(DecodeError::Checksum { part: "manifest", expected, found });
    }
    Ok(body)
}

fn epoch_len(epoch: &EpochEntry) -> u64 {
    EPOCH_LEN + epoch.meta.len() as u64 + SEGMENT_LEN * epoch.segments.len() as u64
}

fn encode_epoch(epoch: &EpochEntry, out: &mut Vec<u8>) {
    out.extend_from_slice(&epoch.number.to_le_bytes());
    out.extend_from_slice(&epoch.len.to_le_bytes());
    out.extend_from_slice(&[epoch.phase.code(), 0, 0, 0, 0, 0, 0, 0]);
    for len in [epoch.segments.len(), epoch.meta.len()] {
        out.extend_from_slice(&(len as u32).to_le_bytes());
    }
    out.extend_from_slice(&epoch.meta);
    for SegmentEntry { id, len, checksum } in &epoch.segments {
        for word in [id.writer, id.counter, *len, *checksum] {
            out.extend_from_slice(&word.to_le_bytes());
        }
    }
}

fn decode_epoch(fields: &mut Fields<'_>) -> Result<EpochEntry, DecodeError> {
    let (number, len) = (fields.u64()?, fields.u64()?);
    let phase = Phase::from_code(fields.u8()?)?;
    fields.reserved(7)?;
    let (count, meta) = (fields.u32()?, fields.u32()?);
    let meta = fields.bytes(meta as usize)?.to_vec();
    let mut segments = Vec::new();
    for _ in 0..count {
        let id = SegmentId { writer: fields.u64()?, counter: fields.u64()? };
        segments.push(SegmentEntry { id, len: fields.u64()?, checksum: fields.u64()? });
    }
    Ok(EpochEntry { number, phase, len, meta, segments })
}
