//! The way to the nearest free slot, breadth first.
//!
//! ```text
//!  the key's buckets      one move away        two moves away
//!        0 ──────┬───────── 2 ──────┬─────────── 10
//!                ├───────── 3       ├─────────── 11     full buckets are numbered as they are
//!        1 ──┐   ├───────── 4       ├─────────── ·      reached; the first with a free slot
//!            │   └───────── 5       └─────────── ·      ends the search
//!            └──────────── 6 … 9
//! ```
//!
//! What costs is waiting for memory: lines asked for one after the other are as many waits. So
//! neighbours are prefetched four before they are looked at. (Looking at the eight nearest without a
//! branch between them was tried and gained nothing.)
//!
//! The first [`NEAR`] buckets lie on the stack. Whether one was reached before is answered by a bit
//! map first, which says *no* for certain, and by a scan if it says *maybe*. Longer searches go
//! on with a vector and a hash set.

use std::collections::HashSet;

use arrayvec::ArrayVec;

use super::{Home, Table, TableMut};
use crate::math::cuckoo::SLOTS_PER_BUCKET;

/// Buckets looked at before an insert gives up. Rarely more than a hundred are, up to a load of
/// 0.95; the long tail is what lifts the load at the first refusal by about 0.01 over a limit of
/// 2,048. It bounds what a refusal costs.
const MAX_SEARCH: usize = 16_384;

/// Buckets that are kept on the stack, 4 KiB.
const NEAR: usize = 256;

/// Bits of the map over them: 22 % are set when the stack is full.
const MAP_BITS: usize = 1_024;

const SLOTS: usize = SLOTS_PER_BUCKET as usize;

/// How many neighbours are on their way from memory while one is looked at: those of one bucket.
/// (With 8 a batch took 20 % longer, with 3 as long.)
const AHEAD: usize = SLOTS;

/// A full bucket that was reached.
#[derive(Clone, Copy)]
struct Reached {
    bucket: u64,
    /// From which earlier one, and by moving which of its slots; `None` for the key's own buckets.
    /// (Below [`MAX_SEARCH`], so 16 bits hold it.)
    by: Option<(u16, u8)>,
}

/// The buckets reached so far, in order, each once: a path that passed a bucket twice would find
/// its slots moved, and in a small table the paths that differ only in their middle would use the
/// limit up.
#[derive(Default)]
struct Frontier {
    near: ArrayVec<Reached, NEAR>,
    map: [u64; MAP_BITS / 64],
    /// Everything, once there are too many.
    far: Option<(Vec<Reached>, HashSet<u64>)>,
}

/// The end of a way from one of the key's buckets to a free slot.
struct Route {
    /// The bucket next to the free slot, and which of its slots moves there.
    last: (usize, usize),
    /// Bucket and slot.
    free: (u64, usize),
}

impl Frontier {
    /// Looks for the free slot that the fewest moves reach; `None` if it is not among
    /// [`MAX_SEARCH`] buckets.
    ///
    /// Slots are tried in their order and buckets in the order reached, without chance: equal
    /// tables are changed equally.
    fn search<const B: u32, T: Table>(&mut self, table: &T, home: &Home) -> Option<Route> {
        home.distinct().iter().for_each(|&bucket| self.push(Reached { bucket, by: None }));
        // Neighbours by position: that of slot s of the bucket reached as i-th is 4·i + s. A ring
        // holds those that were prefetched and not yet looked at.
        let mut ring = [0; AHEAD];
        let mut fetched = 0;
        for position in 0.. {
            while fetched < position + AHEAD
                && let Some(reached) = self.reached().get(fetched / SLOTS)
            {
                let target = table.neighbour::<B>(reached.bucket, fetched % SLOTS);
                table.prefetch::<B>(target);
                ring[fetched % AHEAD] = target;
                fetched += 1;
            }
            if position == fetched {
                break;
            }
            let (index, slot, target) =
                (position / SLOTS, position % SLOTS, ring[position % AHEAD]);
            // A bucket that was reached before is full, so this is asked first.
            if let Some(free) = table.first_free::<B>(target) {
                return Some(Route { last: (index, slot), free: (target, free) });
            }
            if self.knows(target) {
                continue;
            }
            if self.reached().len() >= MAX_SEARCH {
                break;
            }
            self.push(Reached { bucket: target, by: Some((index as u16, slot as u8)) });
        }
        None
    }

    /// Bucket and slot of what is moved, from the free slot back to the key's own bucket.
    fn moves(&self, route: Route) -> impl Iterator<Item = (u64, usize)> {
        let mut step = Some(route.last);
        std::iter::from_fn(move || {
            let (index, slot) = step?;
            let reached = self.reached().get(index)?;
            step = reached.by.map(|(parent, slot)| (parent.into(), slot.into()));
            Some((reached.bucket, slot))
        })
    }

    #[inline]
    fn reached(&self) -> &[Reached] {
        self.far.as_ref().map_or(&self.near, |(far, _)| far)
    }

    /// Word and bit of the map. Consecutive buckets have different bits, which settles tables that
    /// are smaller than the map.
    const fn bit(bucket: u64) -> (usize, u64) {
        let bit = bucket as usize % MAP_BITS;
        (bit / 64, 1 << (bit % 64))
    }

    #[inline]
    fn knows(&self, bucket: u64) -> bool {
        if let Some((_, known)) = &self.far {
            return known.contains(&bucket);
        }
        let (word, bit) = Self::bit(bucket);
        self.map[word] & bit != 0 && self.near.iter().any(|reached| reached.bucket == bucket)
    }

    #[inline]
    fn push(&mut self, reached: Reached) {
        if let Some((far, known)) = &mut self.far {
            known.insert(reached.bucket);
            far.push(reached);
        } else if self.near.try_push(reached).is_ok() {
            let (word, bit) = Self::bit(reached.bucket);
            self.map[word] |= bit;
        } else {
            let far: Vec<_> = self.near.iter().copied().chain([reached]).collect();
            let known = far.iter().map(|reached| reached.bucket).collect();
            self.far = Some((far, known));
        }
    }
}

/// Frees a slot in one of the key's buckets, if need be by moving others, and tells which; `None`
/// if no room can be made, and then nothing has changed.
#[inline]
pub(in crate::filter) fn free_slot<const B: u32, T: TableMut>(
    table: &mut T,
    home: &Home,
) -> Option<(u64, usize)> {
    for &bucket in home.distinct() {
        if let Some(slot) = table.first_free::<B>(bucket) {
            table.vacate::<B>(bucket, slot);
            return Some((bucket, slot));
        }
    }
    make_room::<B, T>(table, home)
}

/// Frees a slot in one of the key's buckets, which are full, by moving others; `None` if no room can
/// be made, and then nothing has changed.
#[inline]
pub(in crate::filter) fn make_room<const B: u32, T: TableMut>(
    table: &mut T,
    home: &Home,
) -> Option<(u64, usize)> {
    nearest::<B, T>(table, home).or_else(|| make_room_farther::<B, T>(table, home))
}

/// One move, if one is enough: nine of ten times it is, at the planned load. The same as the search
/// would do, without a record of what was reached.
#[inline]
fn nearest<const B: u32, T: TableMut>(table: &mut T, home: &Home) -> Option<(u64, usize)> {
    let buckets = home.distinct();
    let mut targets = [[0; SLOTS]; 2];
    for (targets, &bucket) in targets.iter_mut().zip(buckets) {
        *targets = std::array::from_fn(|slot| table.neighbour::<B>(bucket, slot));
        for &target in &*targets {
            table.prefetch::<B>(target);
        }
    }
    for (targets, &bucket) in targets.iter().zip(buckets) {
        for (slot, &target) in targets.iter().enumerate() {
            if let Some(free) = table.first_free::<B>(target) {
                table.vacate::<B>(target, free);
                table.copy::<B>((bucket, slot), (target, free));
                return Some((bucket, slot));
            }
        }
    }
    None
}

/// Frees a slot by moving several.
#[inline(never)]
fn make_room_farther<const B: u32, T: TableMut>(
    table: &mut T,
    home: &Home,
) -> Option<(u64, usize)> {
    let mut frontier = Frontier::default();
    let route = frontier.search::<B, T>(table, home)?;
    table.vacate::<B>(route.free.0, route.free.1);
    // From the free slot back to the key's own bucket; each move frees the slot before it.
    let mut free = route.free;
    for full in frontier.moves(route) {
        table.copy::<B>(full, free);
        free = full;
    }
    Some(free)
}

/// Prefetches what the search for a free slot would look at first.
#[inline]
pub(super) fn prefetch_way_out<const B: u32, T: Table>(table: &T, home: &Home) {
    if home.buckets.iter().all(|&bucket| table.first_free::<B>(bucket).is_none()) {
        for &bucket in home.distinct() {
            for slot in 0..SLOTS {
                table.prefetch::<B>(table.neighbour::<B>(bucket, slot));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{CuckooFilter, PastCapacity, Settings};
    use crate::hash::{KeyHash, Salt, Seed};
    use crate::membership::Insert;
    use crate::store::{ANY, Words, words_for};

    type End = Option<((usize, usize), (u64, usize))>;

    /// The plainest search of the same order.
    fn plain(filter: &CuckooFilter, home: &Home) -> (End, usize) {
        let mut reached = home.distinct().to_vec();
        let mut next = 0;
        while let Some(&bucket) = reached.get(next) {
            for slot in 0..SLOTS {
                let target = filter.neighbour::<ANY>(bucket, slot);
                if reached.contains(&target) {
                    continue;
                }
                if let Some(free) = filter.first_free::<ANY>(target) {
                    return (Some(((next, slot), (target, free))), reached.len());
                }
                reached.push(target);
            }
            next += 1;
        }
        (None, reached.len())
    }

    /// From tables with room nearby to full ones of more buckets than the stack holds.
    #[test]
    fn the_search_is_breadth_first() {
        let mut longest = 0;
        for (bits, buckets) in [(4, 100), (5, 2_000), (8, 999), (16, 3_000), (32, 700)] {
            let settings = Settings {
                seed: Seed::default(),
                salt: Salt::default(),
                capacity: 1 << 40,
                past_capacity: PastCapacity::Degrade,
                len: 0,
            };
            let words = Words::zeroed(words_for(buckets, bits).unwrap()).unwrap();
            let mut filter = CuckooFilter::from_parts(settings, words, bits, buckets).unwrap();
            let mut refused = 0;
            for index in 0u64.. {
                let hash: KeyHash = Seed::default().hash(&index).unwrap();
                let home = filter.home(hash);
                if home.buckets.iter().all(|&bucket| filter.first_free::<ANY>(bucket).is_none()) {
                    let (expected, len) = plain(&filter, &home);
                    let mut frontier = Frontier::default();
                    let route = frontier.search::<ANY, _>(&filter, &home);
                    assert_eq!(route.map(|route| (route.last, route.free)), expected, "{bits}");
                    assert_eq!(frontier.reached().len(), len);
                    longest = longest.max(len);
                }
                refused += u32::from(filter.insert_hash(hash).is_err());
                if refused == 3 {
                    break;
                }
            }
        }
        assert!(longest > 4 * NEAR, "{longest}");
    }
}
