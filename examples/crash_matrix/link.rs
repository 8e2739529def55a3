//! The operator's end of the connection to upstream, and the place where it dies.

use std::io::{self, BufRead, Stdin, Stdout, Write};

use hapax::replay::{Delivery, Position};

use super::Error;
use super::step::Step;
use super::tuple::Order;
use super::wire::{Reply, Request};

/// A tuple that has arrived.
#[derive(Debug)]
pub(crate) struct Received {
    pub(crate) order: Order,
    pub(crate) at: Position,
    pub(crate) redelivered: Option<bool>,
}

impl Received {
    /// What upstream says of it, as the guard wants to hear it.
    pub(crate) fn delivery(&self) -> Delivery {
        let delivery = Delivery::from(self.at);
        self.redelivered.map_or(delivery, |flag| delivery.with_redelivered(flag))
    }
}

/// What comes next from upstream.
#[derive(Debug)]
pub(crate) enum Incoming {
    Tuple(Received),
    /// Nothing before something is acknowledged.
    Wait,
    End,
}

/// The connection.
#[derive(Debug)]
pub(crate) struct Link {
    from: Stdin,
    to: Stdout,
    /// Where the operator is to die, and how many times it passes there before.
    death: Option<(Step, u64)>,
}

impl Link {
    pub(crate) fn new(death: Option<(Step, u64)>) -> Self {
        Self { from: io::stdin(), to: io::stdout(), death }
    }

    /// The operator has just done this. If it is to die now, it never returns: whoever is at the other
    /// end kills it with SIGKILL, so that nothing of it runs any more, no destructor and no flush.
    pub(crate) fn reached(&mut self, step: Step) -> Result<(), Error> {
        self.reached_exposed(step, 0)
    }

    /// As [`reached`](Self::reached) for an operator that breaks a rule: what that costs it if it dies
    /// here, in tuples.
    pub(crate) fn reached_exposed(&mut self, step: Step, exposed: u64) -> Result<(), Error> {
        match &mut self.death {
            Some((at, passes)) if *at == step && *passes > 0 => *passes -= 1,
            Some((at, _)) if *at == step => {
                self.send(Request::Reached { exposed })?;
                io::copy(&mut self.from, &mut io::sink())?;
                return Err("nobody has killed the operator".into());
            }
            _ => {}
        }
        Ok(())
    }

    pub(crate) fn next(&mut self) -> Result<Incoming, Error> {
        self.send(Request::Next)?;
        match self.receive()? {
            Reply::Tuple { at, redelivered, order } => {
                Ok(Incoming::Tuple(Received { order, at, redelivered }))
            }
            Reply::Wait => Ok(Incoming::Wait),
            Reply::End => Ok(Incoming::End),
            other => Err(format!("expected a tuple, found {other}").into()),
        }
    }

    pub(crate) fn ack(&mut self, at: Position) -> Result<(), Error> {
        self.send(Request::Ack(at))
    }

    /// Waits until upstream has truncated by what it was sent: the position of each channel up to which
    /// nothing comes again.
    pub(crate) fn confirm(&mut self) -> Result<Vec<Position>, Error> {
        self.send(Request::Confirm)?;
        self.receive_list()
    }

    /// The last position of each channel that upstream has sent.
    pub(crate) fn heads(&mut self) -> Result<Vec<Position>, Error> {
        self.send(Request::Heads)?;
        self.receive_list()
    }

    pub(crate) fn finished(&mut self, lost: f64, retired: u64) -> Result<(), Error> {
        self.send(Request::Finished { lost, retired })
    }

    fn send(&mut self, request: Request) -> Result<(), Error> {
        writeln!(self.to, "{request}")?;
        Ok(self.to.flush()?)
    }

    fn receive(&mut self) -> Result<Reply, Error> {
        let mut line = String::new();
        if self.from.lock().read_line(&mut line)? == 0 {
            return Err("upstream is gone".into());
        }
        line.trim_end().parse()
    }

    fn receive_list(&mut self) -> Result<Vec<Position>, Error> {
        let mut positions = Vec::new();
        loop {
            match self.receive()? {
                Reply::Head(at) | Reply::Truncated(at) => positions.push(at),
                Reply::Done => return Ok(positions),
                other => return Err(format!("expected positions, found {other}").into()),
            }
        }
    }
}
