//! The binary fuse filter: parameters, cells and the table of shards.
//!
//! The table comes after the cells, because a list that streams by tells only at its end how it
//! was cut.

use super::artefact::{Decode, Encode};
use super::error::DecodeError;
use super::filters::Params;
use super::header::{Kind, SectionType, invalid};
use super::reader::{Fields, Sections};
use super::writer::Section;
use crate::filter::{BinaryFuseFilter, Geometry, PastCapacity, Row, Settings, Shards};
use crate::hash::{HashIdentity, Salt, Seed};
use crate::membership::Membership;

/// Bytes of a row.
const ROW_LEN: usize = 16;

/// The parameters of a filter of so many keys.
pub(super) fn params(seed: &Seed, salt: Salt, fingerprint_bits: u32, keys: u64) -> Params {
    let settings = Settings {
        seed: seed.clone(),
        salt,
        capacity: keys.max(1),
        past_capacity: PastCapacity::Refuse,
        len: keys,
    };
    Params {
        kind: Kind::BinaryFuse,
        settings,
        per_key: fingerprint_bits,
        counter_bits: 0,
        first: 0,
        second: 0,
    }
}

/// The table of shards.
pub(super) fn encode_rows<'a>(rows: impl Iterator<Item = &'a Row>) -> Vec<u8> {
    let mut out = Vec::new();
    for Row { start, attempt, keys, geometry } in rows {
        out.extend_from_slice(&keys.to_le_bytes());
        out.extend_from_slice(&geometry.segments().to_le_bytes());
        out.extend_from_slice(&start.to_le_bytes());
        out.extend_from_slice(&[geometry.segment_log2() as u8, *attempt, 0, 0, 0, 0]);
    }
    out
}

fn decode_rows(bytes: &[u8]) -> Result<Vec<Row>, DecodeError> {
    if !bytes.len().is_multiple_of(ROW_LEN) {
        return Err(invalid("length of the shards", "a multiple of 16", bytes.len()));
    }
    let mut fields = Fields::new("shards", bytes);
    let mut rows = Vec::with_capacity(bytes.len() / ROW_LEN);
    for _ in 0..bytes.len() / ROW_LEN {
        let (keys, segments, start) = (fields.u32()?, fields.u32()?, fields.u16()?);
        let (segment_log2, attempt) = (u32::from(fields.u8()?), fields.u8()?);
        fields.reserved(4)?;
        let geometry = Geometry::new(segments, segment_log2).ok_or_else(|| {
            let found = format!("{segments} segments of 2^{segment_log2} cells");
            invalid(
                "layout of a shard",
                "1 segment or more of 2^0 to 2^18 cells, 2^32 in all",
                found,
            )
        })?;
        rows.push(Row { start, attempt, keys, geometry });
    }
    Ok(rows)
}

impl<S: AsRef<[u64]>> Encode for BinaryFuseFilter<S> {
    fn kind(&self) -> Kind {
        Kind::BinaryFuse
    }

    fn identity(&self) -> HashIdentity {
        self.seed().identity()
    }

    fn encode(&self, index: u16) -> Vec<Section<'_>> {
        let table = self.table();
        let params = params(self.seed(), self.salt(), table.fingerprint_bits(), table.keys());
        let rows = encode_rows(table.iter().map(|shard| &shard.row));
        vec![
            Section::small(SectionType::Params, index, params.encode()),
            Section::body(index, self.words()),
            Section::small(SectionType::Shards, index, rows),
        ]
    }
}

impl<S: AsRef<[u64]>> Decode<S> for BinaryFuseFilter<S> {
    const KINDS: &'static [Kind] = &[Kind::BinaryFuse];
    const EXPECTED: &'static str = "a binary fuse filter";

    fn decode(sections: &mut Sections<S>, index: u16) -> Result<Self, DecodeError> {
        Self::from_params(&Params::take(sections, index)?, sections, index)
    }

    fn check_body(&self) -> Result<(), DecodeError> {
        Ok(self.check_padding()?)
    }
}

impl<S: AsRef<[u64]>> BinaryFuseFilter<S> {
    /// Takes the rest of the sections.
    pub(crate) fn from_params(
        params: &Params,
        sections: &mut Sections<S>,
        index: u16,
    ) -> Result<Self, DecodeError> {
        params.require(Kind::BinaryFuse, Self::EXPECTED)?;
        params.require_no_counters()?;
        if params.first != 0 {
            return Err(DecodeError::Reserved { part: "parameters" });
        }
        let Settings { seed, salt, capacity, past_capacity, len } = &params.settings;
        if *past_capacity != PastCapacity::Refuse {
            return Err(invalid("policy past the capacity", "0: it takes no keys", 1));
        }
        let words = sections.take_words(index)?;
        let rows = decode_rows(&sections.take_small(SectionType::Shards, index)?)?;
        let shards = Shards::new(&rows, *salt, params.per_key)?;
        let keys = shards.keys();
        if *len != keys {
            return Err(invalid("number of keys", format!("{keys}, those of the shards"), len));
        }
        if *capacity != keys.max(1) {
            return Err(invalid("capacity", keys.max(1).to_string(), capacity));
        }
        Ok(Self::from_parts(seed.clone(), *salt, shards, words)?)
    }
}
