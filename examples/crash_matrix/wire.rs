//! What upstream and operator say to each other: a line each, over the operator's standard input and
//! output.

use std::fmt;
use std::str::FromStr;

use hapax::replay::Position;

use super::Error;
use super::tuple::Order;

/// What the operator says.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Request {
    /// Asks for the head of each channel's log.
    Heads,
    /// Asks for a tuple.
    Next,
    /// Acknowledges the delivery at this position or of this tag. Not answered.
    Ack(Position),
    /// Asks upstream to truncate by the acknowledgements that it has, and to say how far it did.
    Confirm,
    /// The operator stands where it is to die. `exposed` are the tuples that this costs it because it
    /// breaks a rule. Not answered.
    Reached { exposed: u64 },
    /// Everything is processed. `lost` is the guard's own estimate, `retired` the epochs it has let go.
    Finished { lost: f64, retired: u64 },
}

/// What upstream says. A list ends with `Done`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Reply {
    Head(Position),
    /// A tuple; its position, or a tag that is good for its acknowledgement; and whether it was sent
    /// before, where upstream says so.
    Tuple {
        at: Position,
        redelivered: Option<bool>,
        order: Order,
    },
    /// Nothing is sent until something is acknowledged.
    Wait,
    /// Everything is acknowledged, and nothing more comes.
    End,
    Truncated(Position),
    Done,
}

impl fmt::Display for Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Heads => f.write_str("heads"),
            Self::Next => f.write_str("next"),
            Self::Ack(at) => write!(f, "ack {} {}", at.channel, at.sequence),
            Self::Confirm => f.write_str("confirm"),
            Self::Reached { exposed } => write!(f, "reached {exposed}"),
            Self::Finished { lost, retired } => write!(f, "finished {lost} {retired}"),
        }
    }
}

impl FromStr for Request {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        Ok(match line.split(' ').collect::<Vec<_>>()[..] {
            ["heads"] => Self::Heads,
            ["next"] => Self::Next,
            ["ack", channel, sequence] => Self::Ack(position(channel, sequence)?),
            ["confirm"] => Self::Confirm,
            ["reached", exposed] => Self::Reached { exposed: exposed.parse()? },
            ["finished", lost, retired] => {
                Self::Finished { lost: lost.parse()?, retired: retired.parse()? }
            }
            _ => return Err(format!("the operator says {line:?}").into()),
        })
    }
}

impl fmt::Display for Reply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Head(at) => write!(f, "head {} {}", at.channel, at.sequence),
            Self::Tuple { at, redelivered, order } => {
                let flag = match redelivered {
                    None => "-",
                    Some(false) => "first",
                    Some(true) => "again",
                };
                write!(f, "tuple {} {} {flag} {order}", at.channel, at.sequence)
            }
            Self::Wait => f.write_str("wait"),
            Self::End => f.write_str("end"),
            Self::Truncated(at) => write!(f, "truncated {} {}", at.channel, at.sequence),
            Self::Done => f.write_str("done"),
        }
    }
}

impl FromStr for Reply {
    type Err = Error;

    fn from_str(line: &str) -> Result<Self, Error> {
        Ok(match line.splitn(5, ' ').collect::<Vec<_>>()[..] {
            ["head", channel, sequence] => Self::Head(position(channel, sequence)?),
            ["tuple", channel, sequence, flag, order] => Self::Tuple {
                at: position(channel, sequence)?,
                redelivered: match flag {
                    "first" => Some(false),
                    "again" => Some(true),
                    _ => None,
                },
                order: order.parse()?,
            },
            ["wait"] => Self::Wait,
            ["end"] => Self::End,
            ["truncated", channel, sequence] => Self::Truncated(position(channel, sequence)?),
            ["done"] => Self::Done,
            _ => return Err(format!("upstream says {line:?}").into()),
        })
    }
}

fn position(channel: &str, sequence: &str) -> Result<Position, Error> {
    Ok(Position::new(channel.parse()?, sequence.parse()?))
}
