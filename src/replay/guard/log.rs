//! What was recorded since the last checkpoint, by epoch.

use std::collections::VecDeque;

use super::windows::Recorded;

/// Ids that no checkpoint has yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Log {
    epochs: VecDeque<(u64, Vec<Recorded>)>,
    len: u64,
}

impl Log {
    /// Ids of an epoch, which is not older than those before.
    #[inline]
    pub(super) fn push(&mut self, epoch: u64, ids: &[Recorded]) {
        self.len += ids.len() as u64;
        match self.epochs.back_mut() {
            Some((newest, kept)) if *newest == epoch => kept.extend_from_slice(ids),
            _ => self.epochs.push_back((epoch, ids.to_vec())),
        }
    }

    /// Forgets epochs up to this one: no checkpoint needs them any more.
    pub(super) fn retire_through(&mut self, epoch: u64) {
        while let Some((_, ids)) = self.epochs.pop_front_if(|(of, _)| *of <= epoch) {
            self.len -= ids.len() as u64;
        }
    }

    /// Ids in it.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    /// All of them by epoch, oldest first.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u64, &[Recorded])> {
        let filled = self.epochs.iter().filter(|(_, ids)| !ids.is_empty());
        filled.map(|(epoch, ids)| (*epoch, ids.as_slice()))
    }

    /// They are durable. The memory of the newest epoch's is kept for those that follow.
    pub(super) fn clear(&mut self) {
        self.epochs.drain(..self.epochs.len().saturating_sub(1));
        self.epochs.iter_mut().for_each(|(_, ids)| ids.clear());
        self.len = 0;
    }
}
