//! Positions as bytes, all fields little-endian.
//!
//! ```text
//!  default kind, 3 × 0 | channels u32 | max intervals u64                        16 bytes
//!  each channel, ascending:
//!    id u32 | kind u8 | which marks u8 | 2 × 0 | intervals u64                   16 bytes
//!    start, truncated, expired, forgotten, highest u64, 0 where there is none    40 bytes
//!    first u64, last u64 of each interval, ascending                             16 bytes each
//! ```
//!
//! One content has one form: everything that another encoder might have written otherwise is refused.

use super::ChannelKind;
use super::channel::Channel;
use super::intervals::Intervals;
use super::table::{MIN_INTERVALS, Positions};
use crate::codec::{DecodeError, Fields, invalid};

const HEADER_LEN: usize = 16;
const CHANNEL_LEN: usize = 56;
const INTERVAL_LEN: usize = 16;

impl Positions {
    /// The bytes of everything that is known, limits included.
    pub(in crate::replay) fn encode(&self) -> Vec<u8> {
        let channels = self.channels_in_order();
        let intervals = self.interval_count();
        let len = HEADER_LEN + CHANNEL_LEN * channels.len() + INTERVAL_LEN * intervals;
        let mut out = Vec::with_capacity(len);
        out.extend_from_slice(&[code(self.default_kind), 0, 0, 0]);
        // Channels are told apart by a `u32`; a state of all of them would need 256 GiB.
        out.extend_from_slice(&(channels.len() as u32).to_le_bytes());
        out.extend_from_slice(&(self.max_intervals as u64).to_le_bytes());
        channels.for_each(|channel| encode_channel(channel, &mut out));
        out
    }

    /// Reads what [`encode`](Self::encode) wrote.
    ///
    /// # Errors
    ///
    /// [`DecodeError`] for bytes that are anything else. Memory is taken as bytes are there for it.
    pub(in crate::replay) fn decode(bytes: &[u8]) -> Result<Self, DecodeError> {
        let mut fields = Fields::new("positions", bytes);
        let default_kind = kind(fields.u8()?)?;
        fields.reserved(3)?;
        let channels = fields.u32()?;
        let max_intervals = fields.u64()?;
        let too_many = |_| invalid("limit of intervals", "one that memory can hold", max_intervals);
        let max_intervals = usize::try_from(max_intervals).map_err(too_many)?;
        if max_intervals < MIN_INTERVALS {
            let expected = format!("{MIN_INTERVALS} or more");
            return Err(invalid("limit of intervals", expected, max_intervals));
        }
        let mut positions = Self::new(default_kind, max_intervals);
        let mut last = None;
        for _ in 0..channels {
            let channel = decode_channel(&mut fields, max_intervals)?;
            if last >= Some(channel.id) {
                return Err(invalid("channels", "ascending numbers", channel.id));
            }
            let id = channel.id;
            last = Some(id);
            *positions.channel_mut(id) = channel;
        }
        fields.finish()?;
        Ok(positions)
    }
}

fn encode_channel(channel: &Channel, out: &mut Vec<u8>) {
    let marks = marks(channel);
    let present = (0..).zip(marks).map(|(bit, mark)| u8::from(mark.is_some()) << bit).sum();
    out.extend_from_slice(&channel.id.to_le_bytes());
    out.extend_from_slice(&[code(channel.kind), present, 0, 0]);
    out.extend_from_slice(&(channel.processed.count() as u64).to_le_bytes());
    for mark in marks {
        out.extend_from_slice(&mark.unwrap_or(0).to_le_bytes());
    }
    for interval in channel.processed.iter() {
        out.extend_from_slice(&interval.start().to_le_bytes());
        out.extend_from_slice(&interval.end().to_le_bytes());
    }
}

fn marks(channel: &Channel) -> [Option<u64>; 5] {
    let Channel { start, truncated, expired, highest, .. } = *channel;
    [start, truncated, expired, channel.forgotten(), highest]
}

fn decode_channel(fields: &mut Fields<'_>, max_intervals: usize) -> Result<Channel, DecodeError> {
    let id = fields.u32()?;
    let kind = kind(fields.u8()?)?;
    let present = fields.u8()?;
    fields.reserved(2)?;
    let count = fields.u64()?;
    if count > max_intervals as u64 {
        return Err(invalid("intervals of a channel", format!("{max_intervals} at most"), count));
    }
    let mut marks = [None; 5];
    for (bit, mark) in marks.iter_mut().enumerate() {
        match (present >> bit & 1, fields.u64()?) {
            (0, 0) => {}
            (0, _) => return Err(DecodeError::Reserved { part: "positions" }),
            (_, value) => *mark = Some(value),
        }
    }
    if present >> marks.len() != 0 {
        return Err(DecodeError::Reserved { part: "positions" });
    }
    let [start, truncated, expired, forgotten, highest] = marks;
    let processed = decode_intervals(fields, count)?;
    let channel = Channel { id, kind, start, truncated, expired, forgotten, highest, processed };
    check(&channel)?;
    Ok(channel)
}

fn decode_intervals(fields: &mut Fields<'_>, count: u64) -> Result<Intervals, DecodeError> {
    let mut intervals = Intervals::default();
    let mut least = Some(0);
    for _ in 0..count {
        let (first, last) = (fields.u64()?, fields.u64()?);
        if first > last || least.is_none_or(|least| first < least) {
            let found = format!("{first} to {last}");
            return Err(invalid("intervals of a channel", "ascending ones with gaps", found));
        }
        intervals.insert(first, last);
        // One position at least lies between two intervals, or they would be one.
        least = last.checked_add(2);
    }
    Ok(intervals)
}

/// What holds of every channel, however it came about.
fn check(channel: &Channel) -> Result<(), DecodeError> {
    let wrong = |expected: &str| Err(invalid("marks of a channel", expected, channel.id));
    let last = channel.processed.iter().last().map(|interval| *interval.end());
    if channel.kind == ChannelKind::Unordered
        && (marks(channel) != [None; 5] || channel.processed.count() > 0)
    {
        return wrong("none in an unordered channel");
    }
    if last.max(channel.forgotten) > channel.highest {
        return wrong("none above the highest position");
    }
    if channel.forgotten() != channel.forgotten {
        return wrong("the forgotten positions outside of what was processed");
    }
    if let Some(truncated) = channel.truncated
        && channel.processed.around(0).is_none_or(|interval| *interval.end() < truncated)
    {
        return wrong("everything truncated among what was processed");
    }
    Ok(())
}

fn code(kind: ChannelKind) -> u8 {
    match kind {
        ChannelKind::Dense => 0,
        ChannelKind::Monotone => 1,
        ChannelKind::Unordered => 2,
    }
}

fn kind(code: u8) -> Result<ChannelKind, DecodeError> {
    match code {
        0 => Ok(ChannelKind::Dense),
        1 => Ok(ChannelKind::Monotone),
        2 => Ok(ChannelKind::Unordered),
        found => Err(invalid("kind of a channel", "0, 1 or 2", found)),
    }
}
