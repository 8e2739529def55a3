//! The boundaries at which the operator is killed.

use std::fmt;

use hapax::replay::Placement;

/// What the operator has just done when it dies, in the order in which the guard at a sink
/// (`Placement::AfterOutput`) does it. Where the guard belongs to the operator's state, `Filter` comes
/// before `Output`: the state names the guard's checkpoint, so it is saved second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A tuple has arrived.
    Receive,
    /// The guard has judged it.
    Test,
    /// Its result is known, and nowhere but in memory.
    Process,
    /// Its result is on the disk; or the state into which it was folded is.
    Output,
    /// A checkpoint of the guard is on the disk.
    Filter,
    /// Acknowledgements were sent. They are lost: upstream never sees them.
    Ack,
    /// Upstream has truncated its log; the guard was not told.
    Truncate,
    /// The guard was told, and has retired what upstream can no longer send.
    Retire,
}

impl Step {
    pub(crate) const ALL: [Self; 8] = [
        Self::Receive,
        Self::Test,
        Self::Process,
        Self::Output,
        Self::Filter,
        Self::Ack,
        Self::Truncate,
        Self::Retire,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Receive => "receive",
            Self::Test => "test",
            Self::Process => "process",
            Self::Output => "output durable",
            Self::Filter => "filter durable",
            Self::Ack => "ack",
            Self::Truncate => "truncate",
            Self::Retire => "retire",
        }
    }

    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|step| step.name() == name)
    }

    /// Whether it is reached once a tuple, rather than once a checkpoint.
    pub(crate) fn is_per_tuple(self, placement: Placement) -> bool {
        match self {
            Self::Receive | Self::Test | Self::Process => true,
            Self::Output => placement == Placement::AfterOutput,
            Self::Filter | Self::Ack | Self::Truncate | Self::Retire => false,
        }
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
