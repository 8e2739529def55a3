//! What a screen found.

use std::fmt;

use super::confirm::Confirmation;

/// What a [`Screen`](super::Screen) found. There is no third value: what is unknown is a
/// [`ScreenError`](super::ScreenError).
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// The password is **probably** in the list; certainly, if the screen
    /// [confirms](super::Screen::with_confirm).
    ///
    /// Where it does not, a stranger gets this verdict with the filter's
    /// [`false_positive_rate`](crate::Membership::false_positive_rate), and gets it every time: its
    /// owner is refused a good password and cannot know why. At 2⁻¹⁶ that is 1.5 in 100,000
    /// password changes. Before accusing anyone (an audit of accounts), look the hash up in the
    /// list itself.
    Listed,
    /// The password is not in the list. **Certain.** It says nothing of how good it is otherwise.
    NotListed,
}

/// What a [`Screen`](super::Screen) found, and what that rests on.
#[must_use]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Finding {
    /// The filter says no. **Certain.**
    NotListed,
    /// The filter says maybe, and there is no list to ask: probable, at the filter's rate.
    Maybe,
    /// The filter says maybe and the list says yes. **Certain.**
    Confirmed {
        /// How often the password was seen; `None` if the list does not say.
        count: Option<u64>,
    },
    /// The list has it, and it was seen less often than asked for. **Certain.**
    Rare {
        /// How often.
        count: u64,
    },
    /// The filter says maybe and the list says no: a false alarm. **Certain.**
    Refuted,
}

impl Finding {
    /// The answer alone.
    pub const fn verdict(self) -> Verdict {
        match self {
            Self::Maybe | Self::Confirmed { .. } => Verdict::Listed,
            Self::NotListed | Self::Rare { .. } | Self::Refuted => Verdict::NotListed,
        }
    }

    /// How often the password was seen, where that is known.
    #[must_use]
    pub const fn count(self) -> Option<u64> {
        match self {
            Self::Confirmed { count } => count,
            Self::Rare { count } => Some(count),
            Self::NotListed | Self::Maybe | Self::Refuted => None,
        }
    }
}

impl From<Confirmation> for Finding {
    fn from(confirmation: Confirmation) -> Self {
        match confirmation {
            Confirmation::Listed { count } => Self::Confirmed { count },
            Confirmation::Rare { count } => Self::Rare { count },
            Confirmation::NotListed => Self::Refuted,
        }
    }
}

/// How a password was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PasswordForm {
    /// Its bytes.
    Plain,
    /// Its SHA-1.
    Sha1,
    /// Its NT hash.
    Nt,
}

impl fmt::Display for PasswordForm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Plain => "a plain password",
            Self::Sha1 => "a SHA-1 hash",
            Self::Nt => "an NT hash",
        })
    }
}
