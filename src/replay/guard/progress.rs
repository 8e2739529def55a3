//! The guard's own bytes within a manifest, all fields little-endian.
//!
//! ```text
//!  parameters   hash identity 16 | key groups u32 | placement u8, 3 × 0 | epochs u32, 4 × 0
//!               window u64 | false positive rate f64
//!  progress     time u64 | watermark u64, or 0 | which u8, 7 × 0 | epoch u64
//!               counts u64 each | estimated lost f64 | minute u64 | 61 cells f64
//!               length u64 and bytes of what is attached, 0 to a multiple of 8 | positions
//!  epoch        which u8, 7 × 0 | began, ended u64 ns | event time u64 | ends u64
//!               channel u32, 4 × 0, sequence u64 of each end
//! ```
//!
//! Times are those of the guard, which go on where they stopped: what passes while nothing runs does
//! not count, so that nothing retires early.

use std::time::Duration;

use super::accounts::Accounts;
use super::budget::{Budget, CELL};
use super::builder::Dimensions;
use super::epochs::Epoch;
use super::verdict::Placement;
use crate::codec::{DecodeError, Fields, decode_identity, encode_identity, invalid};
use crate::hash::HashIdentity;
use crate::replay::Position;
use crate::replay::positions::Positions;

/// What a state is bound to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Parameters {
    pub(super) identity: HashIdentity,
    pub(super) key_groups: u32,
    pub(super) placement: Placement,
    pub(super) epochs: u32,
    pub(super) window: u64,
    pub(super) false_positive_rate: f64,
}

impl Parameters {
    pub(super) fn of(dimensions: &Dimensions, placement: Placement) -> Self {
        Self {
            identity: dimensions.seed.identity(),
            key_groups: dimensions.key_groups.count(),
            placement,
            epochs: dimensions.epochs,
            window: dimensions.window,
            false_positive_rate: dimensions.shape.false_positive_rate,
        }
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = encode_identity(self.identity).to_vec();
        out.extend_from_slice(&self.key_groups.to_le_bytes());
        let placement = match self.placement {
            Placement::WithState => 0,
            Placement::AfterOutput => 1,
        };
        out.extend_from_slice(&[placement, 0, 0, 0]);
        out.extend_from_slice(&self.epochs.to_le_bytes());
        out.extend_from_slice(&[0; 4]);
        out.extend_from_slice(&self.window.to_le_bytes());
        out.extend_from_slice(&self.false_positive_rate.to_le_bytes());
        out
    }

    pub(super) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("parameters of the guard", bytes);
        let identity = decode_identity(&mut fields)?;
        let key_groups = fields.u32()?;
        let placement = match fields.u8()? {
            0 => Placement::WithState,
            1 => Placement::AfterOutput,
            other => return Err(invalid("placement", "0 or 1", other)),
        };
        fields.reserved(3)?;
        let epochs = fields.u32()?;
        fields.reserved(4)?;
        let (window, false_positive_rate) = (fields.u64()?, fields.f64()?);
        fields.finish()?;
        Ok(Self { identity, key_groups, placement, epochs, window, false_positive_rate })
    }
}

/// How far a guard has come.
#[derive(Clone, Debug)]
pub(super) struct Progress {
    pub(super) time: Duration,
    pub(super) watermark: Option<u64>,
    /// The epoch being filled.
    pub(super) epoch: u64,
    pub(super) counts: Accounts,
    pub(super) budget: Budget,
    /// The operator's own bytes.
    pub(super) attached: Vec<u8>,
    pub(super) positions: Positions,
}

impl Progress {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut out = nanos(self.time).to_le_bytes().to_vec();
        let (marked, watermark) = optional(self.watermark);
        out.extend_from_slice(&watermark.to_le_bytes());
        out.extend_from_slice(&[marked, 0, 0, 0, 0, 0, 0, 0]);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        let mut counts = self.counts;
        for count in counts.words_mut() {
            out.extend_from_slice(&count.to_le_bytes());
        }
        out.extend_from_slice(&counts.estimated_lost.to_le_bytes());
        let (minute, cells) = self.budget.hour_state();
        out.extend_from_slice(&minute.to_le_bytes());
        for cell in cells {
            out.extend_from_slice(&cell.to_le_bytes());
        }
        out.extend_from_slice(&(self.attached.len() as u64).to_le_bytes());
        out.extend_from_slice(&self.attached);
        out.resize(out.len().next_multiple_of(8), 0);
        out.extend_from_slice(&self.positions.encode());
        out
    }

    /// Reads what [`encode`](Self::encode) wrote; the budgets are those of `budget`.
    pub(super) fn decode(bytes: &[u8], mut budget: Budget) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("progress of the guard", bytes);
        let time = Duration::from_nanos(fields.u64()?);
        let watermark = fields.u64()?;
        let which = fields.u8()?;
        fields.reserved(7)?;
        let watermark = present(which, watermark)?;
        let epoch = counted("epoch of the guard", fields.u64()?)?;
        let mut counts = Accounts::default();
        for count in counts.words_mut() {
            *count = counted("count of the guard", fields.u64()?)?;
        }
        counts.estimated_lost = lost(fields.f64()?)?;
        let minute = fields.u64()?;
        let latest = time.as_secs() / CELL;
        if minute > latest {
            let expected = format!("at most {latest}, that of the guard's time");
            return Err(invalid("minute of the budget", expected, minute));
        }
        for cell in budget.restore_hour(minute) {
            *cell = lost(fields.f64()?)?;
        }
        let len = fields.u64()?;
        let padded = len.checked_next_multiple_of(8).and_then(|len| usize::try_from(len).ok());
        let rest = fields.rest();
        let Some((attached, rest)) = padded.and_then(|padded| rest.split_at_checked(padded)) else {
            return Err(invalid(
                "length of what is attached",
                format!("at most {}", rest.len()),
                len,
            ));
        };
        let (attached, padding) = attached.split_at(len as usize);
        if padding.iter().any(|byte| *byte != 0) {
            return Err(invalid("padding of what is attached", "zeros", "others"));
        }
        let positions = Positions::decode(rest)?;
        let attached = attached.to_vec();
        Ok(Self { time, watermark, epoch, counts, budget, attached, positions })
    }
}

/// A number that is counted on from: no stream is long enough to reach the limit.
fn counted(what: &'static str, value: u64) -> Result<u64, DecodeError> {
    const MOST: u64 = 1 << 62;
    if value <= MOST { Ok(value) } else { Err(invalid(what, format!("at most {MOST}"), value)) }
}

/// An expected number of lost tuples.
fn lost(value: f64) -> Result<f64, DecodeError> {
    if value.is_finite() && value.is_sign_positive() {
        Ok(value)
    } else {
        Err(invalid("estimate of lost tuples", "0 or more", value))
    }
}

impl Epoch {
    pub(super) fn encode_meta(&self) -> Vec<u8> {
        let (began, began_at) = optional(self.began.map(nanos));
        let (ended, ended_at) = optional(self.ended.map(nanos));
        let (timed, event_time) = optional(self.event_time);
        let mut out = vec![began | ended << 1 | timed << 2, 0, 0, 0, 0, 0, 0, 0];
        let ends = self.ends.len() as u64;
        for field in [began_at, ended_at, event_time, ends] {
            out.extend_from_slice(&field.to_le_bytes());
        }
        let mut ends = self.ends.clone();
        ends.sort_unstable_by_key(|end| end.channel);
        for Position { channel, sequence } in ends {
            out.extend_from_slice(&channel.to_le_bytes());
            out.extend_from_slice(&[0; 4]);
            out.extend_from_slice(&sequence.to_le_bytes());
        }
        out
    }

    pub(super) fn decode_meta(number: u64, len: u64, bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("epoch of the guard", bytes);
        let which = fields.u8()?;
        fields.reserved(7)?;
        if which > 7 {
            return Err(invalid("fields of an epoch", "0 to 7", which));
        }
        let began = present(which & 1, fields.u64()?)?.map(Duration::from_nanos);
        let ended = present(which >> 1 & 1, fields.u64()?)?.map(Duration::from_nanos);
        let event_time = present(which >> 2, fields.u64()?)?;
        let mut ends: Vec<Position> = Vec::new();
        for _ in 0..fields.u64()? {
            let channel = fields.u32()?;
            fields.reserved(4)?;
            let end = Position::new(channel, fields.u64()?);
            if ends.last().is_some_and(|last| last.channel >= channel) {
                return Err(invalid("channels of an epoch", "ascending numbers", channel));
            }
            ends.push(end);
        }
        fields.finish()?;
        Ok(Self { number, len, began, newest: None, ended, event_time, ends })
    }
}

/// Nanoseconds in 64 bits: 584 years.
fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

/// Whether there is a value, and the value or 0.
fn optional(value: Option<u64>) -> (u8, u64) {
    value.map_or((0, 0), |value| (1, value))
}

/// The inverse of [`optional`].
fn present(which: u8, value: u64) -> Result<Option<u64>, DecodeError> {
    match which {
        0 if value == 0 => Ok(None),
        1 => Ok(Some(value)),
        _ => Err(invalid("optional field", "1 and a value, or 0 and 0", which)),
    }
}
