//! What upstream may be told to forget.

use std::collections::VecDeque;

use crate::replay::Position;

/// Consecutive positions of one channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    channel: u32,
    first: u64,
    last: u64,
}

/// A list of positions, runs of consecutive ones written as one.
#[derive(Clone, Debug, Default)]
struct Runs(VecDeque<Run>);

impl Runs {
    #[inline]
    fn push(&mut self, at: Position) {
        if let Some(run) = self.0.back_mut()
            && run.channel == at.channel
            && run.last.checked_add(1) == Some(at.sequence)
        {
            run.last = at.sequence;
        } else {
            let Position { channel, sequence } = at;
            self.0.push_back(Run { channel, first: sequence, last: sequence });
        }
    }

    fn pop(&mut self) -> Option<Position> {
        let run = self.0.front_mut()?;
        let position = Position::new(run.channel, run.first);
        if run.first == run.last {
            self.0.pop_front();
        } else {
            run.first += 1;
        }
        Some(position)
    }
}

/// Positions on their way to being acknowledged.
#[derive(Clone, Debug, Default)]
pub(super) struct Acks {
    /// May be acknowledged.
    ready: Runs,
    /// Wait for the durability of the checkpoint of this number.
    waiting: VecDeque<(u64, Runs)>,
    /// Came after the newest checkpoint.
    open: Runs,
}

impl Acks {
    /// Acknowledged as soon as asked for.
    pub(super) fn now(&mut self, at: Position) {
        self.ready.push(at);
    }

    /// Acknowledged when the next checkpoint is durable.
    #[inline]
    pub(super) fn later(&mut self, at: Position) {
        self.open.push(at);
    }

    /// Whether nothing waits: all that was ever committed is durable.
    pub(super) fn all_durable(&self) -> bool {
        self.open.0.is_empty() && self.waiting.is_empty()
    }

    /// A checkpoint of this number covers what came until now.
    pub(super) fn checkpointed(&mut self, number: u64) {
        let covered = std::mem::take(&mut self.open);
        if !covered.0.is_empty() {
            self.waiting.push_back((number, covered));
        }
    }

    /// Checkpoints up to this one are durable, and so is the operator's state.
    pub(super) fn durable(&mut self, number: u64) {
        while let Some((_, runs)) = self.waiting.pop_front_if(|(waiting, _)| *waiting <= number) {
            self.ready.0.extend(runs.0);
        }
    }

    /// The next position to be acknowledged.
    pub(super) fn pop(&mut self) -> Option<Position> {
        self.ready.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_waits_comes_when_its_checkpoint_is_durable() {
        let mut acks = Acks::default();
        for sequence in [1, 2, 3, 7, 8] {
            acks.later(Position::new(0, sequence));
        }
        assert_eq!(acks.open.0.len(), 2, "runs, not positions");
        acks.checkpointed(1);
        acks.later(Position::new(0, 9));
        acks.checkpointed(2);
        acks.now(Position::new(5, 1));
        let drain = |acks: &mut Acks| std::iter::from_fn(|| acks.pop()).collect::<Vec<_>>();
        assert_eq!(drain(&mut acks), [Position::new(5, 1)]);
        acks.durable(1);
        let first: Vec<_> = [1, 2, 3, 7, 8].map(|at| Position::new(0, at)).into();
        assert_eq!(drain(&mut acks), first);
        assert!(!acks.all_durable());
        acks.durable(2);
        assert_eq!(drain(&mut acks), [Position::new(0, 9)]);
        assert!(acks.all_durable());
    }

    #[test]
    fn the_ends_of_the_numbers_are_no_neighbours() {
        let mut acks = Acks::default();
        for sequence in [u64::MAX, 0] {
            acks.now(Position::new(0, sequence));
        }
        assert_eq!(acks.pop(), Some(Position::new(0, u64::MAX)));
        assert_eq!(acks.pop(), Some(Position::new(0, 0)));
        assert_eq!(acks.pop(), None);
    }
}
