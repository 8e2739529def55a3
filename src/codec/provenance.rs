//! Where the keys of a filter came from.

use super::error::DecodeError;
use super::reader::Fields;

/// Bytes of a text in a file; four of them stay far below the limit of a section.
const MAX_TEXT_LEN: usize = 1 << 16;

/// Where the keys of a filter came from, for those who must show which list they use and how old
/// it is. All of it is optional, and none of it changes an answer. A file keeps the first 64 KiB of
/// each text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Provenance {
    /// What the list is called.
    pub name: String,
    /// Where it is from: a file name, a package, an address.
    pub source: String,
    /// Its date, as the user wrote it.
    pub date: String,
    /// What built the filter.
    pub tool: String,
    /// Only rows counted at least so often were added; 0 if rows were not filtered.
    pub min_count: u64,
    /// Rows read.
    pub rows_read: u64,
    /// Rows added as new keys.
    pub rows_added: u64,
    /// Rows whose key was there already.
    pub rows_duplicate: u64,
    /// Rows left out: blank, padding, under the minimum, or tolerated bad ones.
    pub rows_skipped: u64,
    /// Sum of the distinct `KeyHash` values, modulo 2¹²⁸: the same for the same set in any order.
    pub set_digest: u128,
}

impl Provenance {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::new();
        let counts = [
            self.min_count,
            self.rows_read,
            self.rows_added,
            self.rows_duplicate,
            self.rows_skipped,
        ];
        for count in counts {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&self.set_digest.to_le_bytes());
        for text in [&self.name, &self.source, &self.date, &self.tool] {
            let text = shortened(text);
            out.extend_from_slice(&(text.len() as u32).to_le_bytes());
            out.extend_from_slice(text.as_bytes());
        }
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("provenance", bytes);
        let provenance = Self {
            min_count: fields.u64()?,
            rows_read: fields.u64()?,
            rows_added: fields.u64()?,
            rows_duplicate: fields.u64()?,
            rows_skipped: fields.u64()?,
            set_digest: fields.u128()?,
            name: fields.string(MAX_TEXT_LEN)?,
            source: fields.string(MAX_TEXT_LEN)?,
            date: fields.string(MAX_TEXT_LEN)?,
            tool: fields.string(MAX_TEXT_LEN)?,
        };
        fields.finish()?;
        Ok(provenance)
    }
}

/// The text, cut to what a reader accepts.
fn shortened(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_TEXT_LEN)]
}
