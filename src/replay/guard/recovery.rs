//! Which tuples may be replays: the fence, the flag, or a count after a recovery.

use crate::replay::{ChannelKind, Evidence, GroupRange, Position};

use super::delivery::Delivery;
use super::replay_guard::ReplayGuard;

/// A mark in a channel's log: what stands behind it was sent after the recovery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) groups: GroupRange,
    pub(super) at: Position,
}

/// The state of the last recovery.
#[derive(Clone, Debug, Default)]
pub(super) struct Recovery {
    fences: Vec<Fence>,
    /// Tuples of which nothing is known but the id and that may be replays all the same.
    untold: u64,
}

impl Recovery {
    /// A recovery begins: so many tuples without position or flag may be replays.
    pub(super) fn begin(&mut self, untold: u64) {
        self.fences.clear();
        self.untold = untold;
    }

    /// Nothing that comes from now on is a replay, unless it is flagged.
    pub(super) fn end(&mut self) {
        self.begin(0);
    }

    /// Sets a fence, in the place of one of the same channel and groups.
    pub(super) fn fence(&mut self, fence: Fence) {
        let same = |old: &Fence| old.groups == fence.groups && old.at.channel == fence.at.channel;
        self.fences.retain(|old| !same(old));
        self.fences.push(fence);
    }

    /// Forgets fences that are reached.
    pub(super) fn reached(&mut self, reached: impl Fn(Position) -> bool) {
        self.fences.retain(|fence| !reached(fence.at));
    }

    pub(super) fn fences(&self) -> &[Fence] {
        &self.fences
    }

    pub(super) const fn untold(&self) -> u64 {
        self.untold
    }

    /// Whether the tuple may be a replay.
    #[inline]
    pub(super) fn covers(
        &self,
        group: u16,
        delivery: &Delivery,
        evidence: Option<Evidence>,
        kind: ChannelKind,
    ) -> bool {
        if evidence == Some(Evidence::New) {
            return false;
        }
        if let Some(flag) = delivery.redelivered {
            return flag;
        }
        match delivery.position {
            Some(at) if !is_untold(delivery, kind) => self.is_before_a_fence(group, at),
            _ => self.untold > 0,
        }
    }

    /// Whether nothing may be a replay any more, unless it is flagged.
    pub(super) const fn is_over(&self) -> bool {
        self.fences.is_empty() && self.untold == 0
    }

    #[inline]
    fn is_before_a_fence(&self, group: u16, at: Position) -> bool {
        self.fences.iter().any(|fence| {
            fence.at.channel == at.channel
                && at.sequence <= fence.at.sequence
                && fence.groups.contains(group)
        })
    }

    /// A tuple that may have been a replay has passed its test. Whether it was the last of those of
    /// which nothing is known.
    #[inline]
    pub(super) fn passed(&mut self, delivery: &Delivery, kind: ChannelKind) -> bool {
        if self.untold == 0 || !is_untold(delivery, kind) {
            return false;
        }
        self.untold -= 1;
        self.untold == 0
    }
}

/// Whether upstream says nothing that tells a replay: no flag, and no position in an order.
fn is_untold(delivery: &Delivery, kind: ChannelKind) -> bool {
    delivery.redelivered.is_none()
        && (delivery.position.is_none() || kind == ChannelKind::Unordered)
}

impl ReplayGuard {
    /// Of the tuples read from the output's tail it is known that they are not beyond the head of the
    /// log, and no more. So positions up to there prove nothing new, and the epochs that hold those
    /// tuples retire when upstream has truncated that far.
    ///
    /// Both are saved: the next crash may come before upstream has sent them again, and then nothing
    /// but the filter knows them.
    pub(super) fn place_tail(&mut self, head: Position) {
        let Some(since) = self.caught_up_since else { return };
        self.positions.doubtful(head);
        let holding = self.epochs.live_mut().filter(|epoch| epoch.number >= since);
        holding.for_each(|epoch| epoch.reach(head));
    }

    /// What was read from the output's tail is needed no longer as a set of its own.
    pub(super) fn forget_tail(&mut self) {
        self.caught_up.clear();
        self.caught_up_since = None;
    }
}
