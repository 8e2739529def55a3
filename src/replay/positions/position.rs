//! The terms: where a tuple is in a log, and what that tells.

use std::fmt;

/// Where a tuple is in the logs of upstream: the number of a channel, and its place there.
///
/// A channel is whatever has an order of its own: a partition, a shard, a connection.
///
/// ```
/// use hapax::replay::Position;
/// assert_eq!(Position::new(3, 17).to_string(), "channel 3, position 17");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The channel.
    pub channel: u32,
    /// The place in the channel's log; any number from 0 to 2⁶⁴ − 1.
    pub sequence: u64,
}

impl Position {
    /// A place in a channel.
    #[must_use]
    pub const fn new(channel: u32, sequence: u64) -> Self {
        Self { channel, sequence }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "channel {}, position {}", self.channel, self.sequence)
    }
}

/// What the positions of a channel promise.
///
/// Promise less if in doubt: with [`Dense`](Self::Dense) for a channel whose positions are dealt out
/// anew after a failover, new tuples would be taken for replays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ChannelKind {
    /// Consecutive numbers that each tuple keeps whenever it is sent again, as the offsets of a
    /// partition or the sequence of a stream.
    Dense,
    /// Growing numbers with holes, which each tuple keeps, as ids made of times.
    Monotone,
    /// Tags that are good for acknowledging and nothing else, as those of a connection. Nothing is
    /// remembered of them.
    Unordered,
}

/// What a position tells about its tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[must_use]
#[non_exhaustive]
pub enum Evidence {
    /// It was processed: a replay, for certain.
    Processed,
    /// It was not processed by the state that is asked.
    New,
    /// The position does not tell, because it is below what is known, or its channel promises nothing.
    Unknown,
    /// It is so old that what was processed there is forgotten.
    Expired,
}
