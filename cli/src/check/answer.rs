//! What there is to say of a row.

use std::fmt;

use hapax::screen::{Finding, PasswordDigest, ScreenError};

use super::batch::Fault;
use super::forms::Also;

/// What there is to say of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Nothing is in it.
    Blank,
    /// No filter lists it; certain.
    NotListed,
    /// A filter lists it and the list does not; certain.
    Refuted,
    /// Seen less often than asked for; certain.
    Rare { count: u64 },
    /// It could not be asked for.
    Unknown(Reason),
    /// At least one filter lists it.
    Maybe(By),
    /// It is in the list of at least one filter; certain.
    Confirmed { count: Option<u64>, by: By },
}

/// Which filter lists a row, and in which form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct By {
    /// Its number among the filters, from 0.
    pub(super) filter: u16,
    /// `None` is the candidate as it came.
    pub(super) form: Option<Also>,
}

/// Why a row could not be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// There is no candidate in it.
    Fault(Fault),
    /// The candidate is no hash.
    NotHex { digest: PasswordDigest },
    /// A filter cannot be asked for it; the message is among those of the batch.
    Told(u32),
}

impl Answer {
    pub(super) fn new(finding: Finding, by: By) -> Self {
        match finding {
            Finding::NotListed => Self::NotListed,
            Finding::Refuted => Self::Refuted,
            Finding::Rare { count } => Self::Rare { count },
            Finding::Maybe => Self::Maybe(by),
            Finding::Confirmed { count } => Self::Confirmed { count, by },
        }
    }

    pub(super) const fn is_listed(self) -> bool {
        matches!(self, Self::Maybe(_) | Self::Confirmed { .. })
    }

    /// Takes what another filter, or another form, says of the same row: listed if any lists it,
    /// unknown if any cannot tell and none lists it.
    pub(super) fn add(&mut self, other: Self) {
        if other.rank() > self.rank() {
            *self = other;
        }
    }

    fn rank(self) -> (u8, u64) {
        match self {
            Self::Blank => (0, 0),
            Self::NotListed => (1, 0),
            Self::Refuted => (2, 0),
            Self::Rare { count } => (3, count),
            Self::Unknown(_) => (4, 0),
            Self::Maybe(_) => (5, 0),
            Self::Confirmed { count, .. } => (6, count.unwrap_or(0)),
        }
    }
}

/// What is told of a row whose answer is unknown.
pub(super) struct Explained<'a>(pub(super) Reason, pub(super) &'a [ScreenError]);

impl fmt::Display for Explained<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Reason::Fault(fault) => fault.fmt(f),
            Reason::NotHex { digest } => write!(
                f,
                "expected {} hexadecimal digits ({digest}) and nothing else",
                digest.hex_digits()
            ),
            Reason::Told(index) => match self.1.get(index as usize) {
                Some(error) => error.fmt(f),
                None => f.write_str("a filter cannot be asked"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_listed_if_any_lists_it_and_unknown_before_it_is_not_listed() {
        let by = By { filter: 0, form: None };
        let in_order = [
            Answer::Blank,
            Answer::NotListed,
            Answer::Refuted,
            Answer::Rare { count: 2 },
            Answer::Unknown(Reason::Told(0)),
            Answer::Maybe(by),
            Answer::Confirmed { count: None, by },
            Answer::Confirmed { count: Some(2), by },
            Answer::Confirmed { count: Some(3), by },
        ];
        for (i, first) in in_order.iter().enumerate() {
            for (j, second) in in_order.iter().enumerate() {
                let mut both = *first;
                both.add(*second);
                assert_eq!(both, in_order[i.max(j)]);
            }
        }
    }
}
