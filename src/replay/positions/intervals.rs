//! Sets of positions as disjoint intervals, fast where positions come in order.
//!
//! ```text
//!  rest (a tree)        open              rest
//!  ├──┤   ├─┤           ├─────────┤──▶    ├───┤
//!                       first     last    │
//!                                       limit: up to here it grows in place
//! ```
//!
//! The interval that grew last is kept outside of the tree, so that the next position in order is a
//! comparison and an addition. A jump puts it back, and takes the one out that is likely to grow next.

use std::ops::RangeInclusive;

use rangemap::RangeInclusiveSet;

/// Disjoint intervals that do not touch each other.
#[derive(Clone, Default)]
pub(super) struct Intervals {
    open: Option<Open>,
    rest: RangeInclusiveSet<u64>,
}

#[derive(Clone, Copy)]
struct Open {
    first: u64,
    last: u64,
    /// Nothing between `last` and here, this included, is in `rest`. It may be lower than it could
    /// be: the path for jumps finds out.
    limit: u64,
}

impl Intervals {
    /// How many intervals there are.
    pub(super) fn count(&self) -> usize {
        self.rest.len() + usize::from(self.open.is_some())
    }

    /// Adds the position that follows the last one added, in O(1). `false` if it does not, and nothing
    /// has changed.
    #[inline]
    pub(super) fn extend(&mut self, position: u64) -> bool {
        match &mut self.open {
            // Below the limit: the interval that starts behind it would have to be joined.
            Some(open) if position.checked_sub(open.last) == Some(1) && position < open.limit => {
                open.last = position;
                true
            }
            _ => false,
        }
    }

    /// Adds the positions from `first` to `last`, which is not below it. O(log intervals), and more by
    /// as many as are joined.
    pub(super) fn insert(&mut self, first: u64, last: u64) {
        if let Some(open) = self.open {
            if open.first <= first && last <= open.last {
                return;
            }
            if open.limit == u64::MAX && first > open.last && first - open.last > 1 {
                // A jump past everything: every step of a channel with holes.
                self.rest.insert(open.first..=open.last);
                self.open = Some(Open { first, last, limit: u64::MAX });
                return;
            }
            let follows = || first > 0 && self.rest.contains(&(first - 1));
            if last < open.first.saturating_sub(1) && !follows() {
                // A straggler that begins an interval, or precedes one: more are likely to come above.
                self.rest.insert(first..=last);
                return;
            }
            self.open = None;
            self.rest.insert(open.first..=open.last);
        }
        self.rest.insert(first..=last);
        if let Some(whole) = self.rest.get(&last).cloned() {
            let (first, last) = whole.clone().into_inner();
            self.rest.remove(whole);
            let next = self.rest.overlapping(last..=u64::MAX).next();
            let limit = next.map_or(u64::MAX, |next| next.start() - 1);
            self.open = Some(Open { first, last, limit });
        }
    }

    /// Whether a position is in. O(1) in the open interval and the gap behind it.
    #[inline]
    pub(super) fn contains(&self, position: u64) -> bool {
        match self.open {
            Some(open) if open.first <= position && position <= open.last => true,
            Some(open) if open.last < position && position <= open.limit => false,
            _ => self.rest.contains(&position),
        }
    }

    /// The interval that a position is in.
    pub(super) fn around(&self, position: u64) -> Option<RangeInclusive<u64>> {
        match self.open {
            Some(open) if open.first <= position && position <= open.last => {
                Some(open.first..=open.last)
            }
            _ => self.rest.get(&position).cloned(),
        }
    }

    /// The lowest position.
    pub(super) fn first(&self) -> Option<u64> {
        self.iter().next().map(|lowest| *lowest.start())
    }

    /// Whether a position is at or above the lowest. O(1) above the start of the open interval.
    #[inline]
    pub(super) fn begin_by(&self, position: u64) -> bool {
        self.open.is_some_and(|open| open.first <= position)
            || self.rest.first().is_some_and(|lowest| *lowest.start() <= position)
    }

    /// The intervals, ascending.
    pub(super) fn iter(&self) -> impl Iterator<Item = RangeInclusive<u64>> {
        let open = self.open.map(|open| open.first..=open.last);
        let at = self.open.map_or(u64::MAX, |open| open.first);
        let below = self.rest.iter().take_while(move |interval| *interval.start() < at);
        let above = self.rest.iter().skip_while(move |interval| *interval.start() < at);
        below.cloned().chain(open).chain(above.cloned())
    }

    /// Takes the lowest interval out that need not be kept, and returns its last position.
    pub(super) fn remove_lowest(
        &mut self,
        keep: impl Fn(&RangeInclusive<u64>) -> bool,
    ) -> Option<u64> {
        let lowest = self.iter().find(|interval| !keep(interval))?;
        let last = *lowest.end();
        if self.open.is_some_and(|open| open.last == last) {
            self.open = None;
        } else {
            self.rest.remove(lowest);
        }
        Some(last)
    }
}
