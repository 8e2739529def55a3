//! Groups that follow each other.

use std::fmt;
use std::ops::RangeInclusive;

/// Contiguous key groups, at least one: what a subtask owns, or a piece of it.
///
/// It is made by [`KeyGroups`](super::KeyGroups), and printed as `17-34`, both ends included.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct GroupRange {
    first: u16,
    last: u16,
}

#[expect(clippy::len_without_is_empty, reason = "a range is never empty")]
impl GroupRange {
    /// For a first group that is at or below the last.
    pub(in crate::replay) const fn between(first: u16, last: u16) -> Self {
        Self { first, last }
    }

    /// The first group.
    #[must_use]
    pub const fn first(&self) -> u16 {
        self.first
    }

    /// The last group, which belongs to it.
    #[must_use]
    pub const fn last(&self) -> u16 {
        self.last
    }

    /// How many groups, from 1 to 32,768.
    #[must_use]
    pub const fn len(&self) -> u32 {
        (self.last - self.first) as u32 + 1
    }

    /// Whether a group belongs to it.
    #[must_use]
    #[inline]
    pub const fn contains(&self, group: u16) -> bool {
        self.first <= group && group <= self.last
    }

    /// The groups that both have; `None` if there are none.
    #[must_use]
    pub fn intersect(&self, other: &Self) -> Option<Self> {
        let (first, last) = (self.first.max(other.first), self.last.min(other.last));
        (first <= last).then_some(Self { first, last })
    }

    /// The numbers of the groups, ascending.
    #[must_use]
    pub fn iter(&self) -> RangeInclusive<u16> {
        self.first..=self.last
    }
}

impl IntoIterator for &GroupRange {
    type Item = u16;
    type IntoIter = RangeInclusive<u16>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl fmt::Display for GroupRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.first, self.last)
    }
}

impl fmt::Debug for GroupRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GroupRange({self})")
    }
}
