//! Upstream: a durable log of several channels, which keeps what is not acknowledged and sends it again
//! when the operator comes back.

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use hapax::replay::Position;

use super::Error;
use super::tuple::{Order, Random};
use super::wire::Reply;

/// Channels of the log.
pub(crate) const CHANNELS: u32 = 2;

/// Tuples that are sent and not acknowledged at most: P. No more is sent until some are.
pub(crate) const IN_FLIGHT: u64 = 48;

/// A tuple that is sent again is any of so many that are the oldest. If it could be any at all, the
/// oldest might come last again and again, and hold up truncation while the window fills.
const DISORDER: usize = 8;

/// What upstream says of a tuple.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Its position in the log, consecutive and the same whenever it is sent.
    Dense,
    /// Whether it was sent before. For its acknowledgement, a tag that is good for one delivery.
    Flagged,
    /// Nothing but the tag.
    IdsOnly,
}

impl Kind {
    pub(crate) const ALL: [Self; 3] = [Self::Dense, Self::Flagged, Self::IdsOnly];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Dense => "dense positions",
            Self::Flagged => "redelivered flag",
            Self::IdsOnly => "ids only",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// One channel's log. The position of a tuple is its index.
#[derive(Debug, Default)]
struct Channel {
    tuples: Vec<Order>,
    /// Tuples sent at least once: those before this position.
    head: u64,
    /// Of them, what is kept: everything that is not acknowledged.
    kept: BTreeSet<u64>,
}

#[derive(Debug)]
pub(crate) struct Upstream {
    kind: Kind,
    channels: Vec<Channel>,
    random: Random,
    /// Sends of tuples that were sent before.
    pub(crate) resent: u64,

    // What ends with a connection:
    /// To be sent again on it, the oldest last.
    again: Vec<Position>,
    /// What its tags stand for.
    tags: HashMap<u64, Position>,
    /// Acknowledgements that have arrived and are not acted on yet.
    acked: Vec<Position>,
    /// Whether it was said that nothing is sent, and nothing has been truncated since.
    waiting: bool,
}

impl Upstream {
    /// Makes a log of so many tuples and writes it to `folder`.
    pub(crate) fn create(
        folder: &Path,
        kind: Kind,
        tuples: u64,
        mut random: Random,
    ) -> Result<Self, Error> {
        let mut channels: Vec<Channel> = (0..CHANNELS).map(|_| Channel::default()).collect();
        for _ in 0..tuples {
            let order = Order {
                id: format!("{:016x}{:016x}", random.next(), random.next()),
                customer: format!("customer-{}", random.below(7)),
                amount: random.next(),
            };
            let channel = random.below(channels.len());
            channels[channel].tuples.push(order);
        }
        for (number, channel) in channels.iter().enumerate() {
            let mut log = BufWriter::new(File::create(folder.join(format!("channel-{number}")))?);
            for order in &channel.tuples {
                writeln!(log, "{order}")?;
            }
            log.into_inner()?.sync_all()?;
        }
        Ok(Self {
            kind,
            channels,
            random,
            resent: 0,
            again: Vec::new(),
            tags: HashMap::new(),
            acked: Vec::new(),
            waiting: false,
        })
    }

    /// Every tuple of a log, for the judge.
    pub(crate) fn read_log(folder: &Path) -> Result<Vec<Order>, Error> {
        let mut tuples = Vec::new();
        for channel in 0..CHANNELS {
            let log = fs::read_to_string(folder.join(format!("channel-{channel}")))?;
            for line in log.lines() {
                tuples.push(line.parse()?);
            }
        }
        Ok(tuples)
    }

    /// The operator has died and comes again: all that was sent and is still kept is to be sent once
    /// more. Acknowledgements that were on their way are gone with the connection.
    pub(crate) fn reconnect(&mut self) {
        self.tags.clear();
        self.acked.clear();
        self.waiting = false;
        self.again = self.positions_kept().collect();
        self.again.sort_unstable_by_key(|at| std::cmp::Reverse(at.sequence));
    }

    fn positions_kept(&self) -> impl Iterator<Item = Position> + '_ {
        (0..).zip(&self.channels).flat_map(|(number, channel)| {
            channel.kept.iter().map(move |&at| Position::new(number, at))
        })
    }

    /// The last position of each channel that was sent. Tags have no order, so their logs have no head.
    pub(crate) fn heads(&self) -> Vec<Reply> {
        let logs = (0..).zip(&self.channels).filter(|_| self.kind == Kind::Dense);
        logs.filter_map(|(number, channel)| {
            Some(Reply::Head(Position::new(number, channel.head.checked_sub(1)?)))
        })
        .collect()
    }

    /// The next tuple: one that is sent again or, mixed with those, a new one. `None` if the operator
    /// asked for more and nothing was acknowledged since it was told to wait: it would wait for ever.
    pub(crate) fn next(&mut self) -> Option<Reply> {
        let new = self.channel_with_new();
        let prefers_new = self.random.below(4) == 0 && new.is_some();
        let oldest = self.again.len().saturating_sub(DISORDER)..self.again.len();
        if !oldest.is_empty() && !prefers_new {
            let at = self.again.remove(oldest.start + self.random.below(oldest.len()));
            self.resent += 1;
            return Some(self.deliver(at, true));
        }
        if let Some(number) = new {
            let channel = &mut self.channels[number];
            let at = Position::new(number as u32, channel.head);
            channel.kept.insert(channel.head);
            channel.head += 1;
            return Some(self.deliver(at, false));
        }
        if self.positions_kept().next().is_none() {
            return Some(Reply::End);
        }
        (!std::mem::replace(&mut self.waiting, true)).then_some(Reply::Wait)
    }

    /// A channel that has something new, if anything new may be sent.
    fn channel_with_new(&mut self) -> Option<usize> {
        let unsent: Vec<usize> = (0..self.channels.len())
            .filter(|&number| {
                let channel = &self.channels[number];
                channel.head < channel.tuples.len() as u64
            })
            .collect();
        if unsent.is_empty() || self.positions_kept().count() as u64 >= IN_FLIGHT {
            return None;
        }
        Some(unsent[self.random.below(unsent.len())])
    }

    fn deliver(&mut self, position: Position, again: bool) -> Reply {
        let order =
            self.channels[position.channel as usize].tuples[position.sequence as usize].clone();
        let redelivered = (self.kind == Kind::Flagged).then_some(again);
        let at = if self.kind == Kind::Dense {
            position
        } else {
            let tag = self.tags.len() as u64;
            self.tags.insert(tag, position);
            Position::new(0, tag)
        };
        Reply::Tuple { at, redelivered, order }
    }

    /// An acknowledgement arrives.
    pub(crate) fn ack(&mut self, at: Position) {
        match self.kind {
            Kind::Dense => self.acked.push(at),
            Kind::Flagged | Kind::IdsOnly => self.acked.extend(self.tags.get(&at.sequence)),
        }
    }

    /// Truncates: tuples that are acknowledged are no longer kept and can never be sent again. It is
    /// always a bit behind and acts on the older half of the acknowledgements. Says up to where no tuple
    /// of a channel is kept.
    pub(crate) fn truncate(&mut self) -> Vec<Reply> {
        let older = self.acked.len().div_ceil(2);
        for at in self.acked.drain(..older) {
            self.channels[at.channel as usize].kept.remove(&at.sequence);
            self.waiting = false;
        }
        let logs = (0..).zip(&self.channels).filter(|_| self.kind == Kind::Dense);
        logs.filter_map(|(number, channel)| {
            let first_kept = channel.kept.first().copied().unwrap_or(channel.head);
            Some(Reply::Truncated(Position::new(number, first_kept.checked_sub(1)?)))
        })
        .collect()
    }
}
