//! Why groups are refused.

use std::fmt;

use super::KeyGroups;

/// Why groups cannot be shared out as asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GroupsError {
    /// A number of groups that cannot be.
    Count {
        /// What was asked for.
        found: u32,
    },
    /// A parallelism of 0, or with more subtasks than groups.
    Parallelism {
        /// What was asked for.
        found: u32,
        /// The number of groups.
        groups: u32,
    },
    /// A subtask beyond the parallelism.
    Subtask {
        /// What was asked for.
        found: u32,
        /// The number of subtasks.
        parallelism: u32,
    },
    /// A group beyond the number of groups.
    Group {
        /// What was asked for.
        found: u16,
        /// The number of groups.
        groups: u32,
    },
    /// A range whose first group is above its last.
    Range {
        /// The first group asked for.
        first: u16,
        /// The last group asked for.
        last: u16,
    },
}

impl fmt::Display for GroupsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Count { found } => write!(
                f,
                "the number of key groups must be from 1 to {}, found {found}: take the largest \
                 parallelism there will ever be, or 128",
                KeyGroups::MAX
            ),
            Self::Parallelism { found, groups } => write!(
                f,
                "the parallelism must be from 1 to {groups}, the number of key groups, found \
                 {found}: use fewer subtasks, or start a new state with more groups"
            ),
            Self::Subtask { found, parallelism } => write!(
                f,
                "subtasks are numbered from 0 to {}, found {found}: check the parallelism, \
                 {parallelism}",
                parallelism.saturating_sub(1)
            ),
            Self::Group { found, groups } => write!(
                f,
                "key groups are numbered from 0 to {}, found {found}: this group belongs to a state \
                 with another number of groups",
                groups.saturating_sub(1)
            ),
            Self::Range { first, last } => write!(
                f,
                "a range of key groups must have its first at or below its last, found {first} and \
                 {last}: exchange them, or leave an empty range out"
            ),
        }
    }
}

impl std::error::Error for GroupsError {}
