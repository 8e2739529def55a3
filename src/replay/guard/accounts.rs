//! What is counted.

/// Every count of a guard: nothing is dropped, passed or refused outside of them.
///
/// The verdicts add up:
/// `judged = first + replay + probable + diverted + unconfirmed + in_flight + stale_diverted + stale_dropped`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Accounts {
    /// Tuples that got a verdict.
    pub judged: u64,
    /// Passed on to be processed, whatever the reason.
    pub first: u64,
    /// Dropped for certain evidence.
    pub replay: u64,
    /// Dropped because the filter has them.
    pub probable: u64,
    /// Sent to the side output because the filter has them, or because the window was full.
    pub diverted: u64,
    /// Given out to be looked up in an exact store.
    pub unconfirmed: u64,
    /// Copies of tuples that were being processed.
    pub in_flight: u64,
    /// Sent to the side output for their age.
    pub stale_diverted: u64,
    /// Dropped for their age.
    pub stale_dropped: u64,

    /// Of `first`: the filter was asked and had them, and the policy was to pass.
    pub suspect: u64,
    /// Of `first`: from before the horizon.
    pub stale_passed: u64,
    /// Of `first`: without an id.
    pub missing_id: u64,

    /// Of `unconfirmed`: the store knew them.
    pub confirmed_replay: u64,
    /// Of `unconfirmed`: the store did not know them. Over the tests, this measures the rate.
    pub confirmed_false_positive: u64,

    /// Tickets whose output became durable.
    pub committed: u64,
    /// Tickets that were dropped.
    pub aborted: u64,
    /// Tuples refused because the window, the tickets or the log was full.
    pub backpressure: u64,

    /// Epochs retired because upstream cannot send them again, or by age.
    pub retired: u64,
    /// Epochs retired to make room.
    pub rotated: u64,
    /// Recoveries.
    pub recoveries: u64,
    /// Ids taken from the output's tail after recoveries.
    pub caught_up: u64,
    /// Checkpoints.
    pub checkpoints: u64,

    /// Tests that count towards the estimate: a hit would have been dropped.
    pub tested: u64,
    /// How many of the dropped were new, estimated without bias.
    pub estimated_lost: f64,
}

/// How many counts there are: none may be left out of a saved state.
const WORDS: usize = 23;
const _: () = assert!(size_of::<Accounts>() == (WORDS + 1) * size_of::<u64>());

impl Accounts {
    /// The counts in the order in which they are stored, the estimate aside.
    pub(super) fn words_mut(&mut self) -> [&mut u64; WORDS] {
        [
            &mut self.judged,
            &mut self.first,
            &mut self.replay,
            &mut self.probable,
            &mut self.diverted,
            &mut self.unconfirmed,
            &mut self.in_flight,
            &mut self.stale_diverted,
            &mut self.stale_dropped,
            &mut self.suspect,
            &mut self.stale_passed,
            &mut self.missing_id,
            &mut self.confirmed_replay,
            &mut self.confirmed_false_positive,
            &mut self.committed,
            &mut self.aborted,
            &mut self.backpressure,
            &mut self.retired,
            &mut self.rotated,
            &mut self.recoveries,
            &mut self.caught_up,
            &mut self.checkpoints,
            &mut self.tested,
        ]
    }

    /// The probability that any tuple was lost is at most this: 1 − e^−S for an estimate of S.
    #[must_use]
    pub fn probability_of_loss(&self) -> f64 {
        -(-self.estimated_lost).exp_m1()
    }

    /// How many of those dropped as replays, for certain or probably, were some; estimated without
    /// bias.
    #[must_use]
    pub fn estimated_replays(&self) -> f64 {
        (self.replay + self.probable) as f64 - self.estimated_lost
    }
}

/// The state of a guard at a moment: its counts, and how full, how old, how exact it is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Snapshot {
    /// Everything counted since the guard was first made; restored with it.
    pub counts: Accounts,
    /// Expected losses of the current recovery.
    pub lost_this_recovery: f64,
    /// Expected losses of the last hour.
    pub lost_this_hour: f64,
    /// Live epochs, the one being filled included.
    pub epochs: u64,
    /// The epoch being filled.
    pub epoch: u64,
    /// The oldest live epoch. What was recorded before it is forgotten.
    pub oldest_epoch: u64,
    /// Tuples in the window.
    pub remembered: u64,
    /// Of them, kept exactly because a filter had no room.
    pub spilled: u64,
    /// The fullest key group's live tuples over what it was planned for.
    pub fill_ratio: f64,
    /// The false positive rate of the fullest key group now.
    pub false_positive_rate: f64,
    /// Bytes of the filters.
    pub byte_len: u64,
    /// Tickets out.
    pub in_flight: u64,
    /// Tuples committed since the last checkpoint (u): what a crash now makes come out twice, unless
    /// the output's tail is read.
    pub uncheckpointed: u64,
    /// Positions kept as intervals.
    pub intervals: u64,
    /// Fences that are not reached.
    pub fences: u64,
}
