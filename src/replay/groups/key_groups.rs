//! How many groups there are, which one a key is in, and who owns it.

use super::{GroupRange, GroupsError};
use crate::hash::KeyHash;
use crate::math::groups::largest_load;

/// How many key groups a job has: from 1 to 32,768, for its whole life.
///
/// Written M below; P is a parallelism, from 1 to M. All of it costs a few instructions, without
/// memory. M is part of what is saved: another M puts keys into other groups, so it cannot change
/// without writing the state again.
///
/// # Examples
///
/// ```
/// use hapax::Seed;
/// use hapax::replay::KeyGroups;
///
/// let groups = KeyGroups::for_parallelism(3)?;
/// assert_eq!(groups.count(), 128);
/// let group = groups.group_of(Seed::default().hash("alice")?);
/// let subtask = groups.subtask(group, 3)?;
/// assert!(groups.range(subtask, 3)?.contains(group));
///
/// // From 3 subtasks to 5: what the new subtask 1 reads from each old one.
/// let pieces = groups.rescale(3, 1, 5)?;
/// let pieces: Vec<_> = pieces.iter().map(|(old, range)| (*old, range.to_string())).collect();
/// assert_eq!(pieces, [(0, "26-42".into()), (1, "43-51".into())]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeyGroups {
    count: u32,
}

impl KeyGroups {
    /// The most groups. A group's number fits 15 bits.
    pub const MAX: u32 = 1 << 15;

    /// One group: state that is never shared out.
    pub const ONE: Self = Self { count: 1 };

    /// The fewest that [`for_parallelism`](Self::for_parallelism) gives.
    const DEFAULT_MIN: u32 = 1 << 7;

    /// So many groups.
    ///
    /// # Errors
    ///
    /// [`GroupsError::Count`] for 0 and for more than [`MAX`](Self::MAX).
    pub const fn new(count: u32) -> Result<Self, GroupsError> {
        if count == 0 || count > Self::MAX {
            return Err(GroupsError::Count { found: count });
        }
        Ok(Self { count })
    }

    /// Groups for a job that starts with so many subtasks: the power of two from 1.5 P up, at
    /// least 128 and at most 32,768. From 86 subtasks on this leaves room to grow by a half at
    /// least, up to 21,845.
    ///
    /// # Errors
    ///
    /// [`GroupsError::Parallelism`] for 0 and for more than 32,768 subtasks.
    pub fn for_parallelism(parallelism: u32) -> Result<Self, GroupsError> {
        let most = Self { count: Self::MAX };
        let parallelism = most.require_parallelism(parallelism)?;
        let roomy = (parallelism + parallelism / 2).next_power_of_two() as u32;
        Ok(Self { count: roomy.clamp(Self::DEFAULT_MIN, Self::MAX) })
    }

    /// M, the number of groups.
    #[must_use]
    pub const fn count(self) -> u32 {
        self.count
    }

    /// The group of a key: the top 32 bits of the hash, scaled to 0..M.
    ///
    /// It is monotone in the hash, so sorted hashes visit group after group.
    #[must_use]
    #[inline]
    pub const fn group_of(self, hash: KeyHash) -> u16 {
        (((hash.hi() >> 32) * self.count as u64) >> 32) as u16
    }

    /// The group that Flink puts a key with this Java `hashCode` into: the 32-bit `MurmurHash3` of
    /// the four bytes, made non-negative, modulo M.
    ///
    /// For state that is routed by Flink. A `hashCode` is only as stable as the class it comes from.
    ///
    /// ```
    /// # use hapax::replay::KeyGroups;
    /// let hash_code = 2_607_930; // "UM57".hashCode()
    /// assert_eq!(KeyGroups::new(128)?.flink_group(hash_code), 17);
    /// # Ok::<(), hapax::replay::GroupsError>(())
    /// ```
    #[must_use]
    pub const fn flink_group(self, hash_code: i32) -> u16 {
        // The least integer has no absolute value, and Flink maps it to 0.
        let hash = match murmur3_32(hash_code.cast_unsigned()).cast_signed() {
            i32::MIN => 0,
            hash => hash.unsigned_abs(),
        };
        (hash % self.count) as u16
    }

    /// The subtask that owns a group at a parallelism: group · P / M.
    ///
    /// # Errors
    ///
    /// [`GroupsError`] if there is no such group, or if P is not within 1..=M.
    pub fn subtask(self, group: u16, parallelism: u32) -> Result<u32, GroupsError> {
        let parallelism = self.require_parallelism(parallelism)?;
        self.require_group(group)?;
        Ok(self.owner(group, parallelism))
    }

    /// The groups that a subtask owns at a parallelism: from ⌈i · M / P⌉ to ⌈(i + 1) · M / P⌉ − 1.
    ///
    /// # Errors
    ///
    /// [`GroupsError`] if P is not within 1..=M, or if there is no such subtask.
    pub fn range(self, subtask: u32, parallelism: u32) -> Result<GroupRange, GroupsError> {
        let found = parallelism;
        let parallelism = self.require_parallelism(parallelism)?;
        if u64::from(subtask) >= parallelism {
            return Err(GroupsError::Subtask { found: subtask, parallelism: found });
        }
        Ok(self.owned(subtask, parallelism))
    }

    /// All groups, 0 to M − 1.
    #[must_use]
    pub const fn all(self) -> GroupRange {
        GroupRange::between(0, (self.count - 1) as u16)
    }

    /// The groups from `first` to `last`, both included.
    ///
    /// # Errors
    ///
    /// [`GroupsError`] if there is no such group, or if `first` is above `last`.
    pub fn groups(self, first: u16, last: u16) -> Result<GroupRange, GroupsError> {
        self.require_group(first)?;
        self.require_group(last)?;
        if first > last {
            return Err(GroupsError::Range { first, last });
        }
        Ok(GroupRange::between(first, last))
    }

    /// What a subtask of the new parallelism reads from each subtask of the old one, in order: each
    /// piece is one contiguous stretch of an old state, and together they are its range.
    ///
    /// Ranges make reading sequential; they do not make moves few. At M = 128, half of the groups
    /// change their owner from 2 to 3 subtasks and from 4 to 5, and 7 of 8 from 4 to 8.
    ///
    /// # Errors
    ///
    /// [`GroupsError`] if a parallelism is not within 1..=M, or if there is no such new subtask.
    pub fn rescale(
        self,
        old_parallelism: u32,
        subtask: u32,
        new_parallelism: u32,
    ) -> Result<Vec<(u32, GroupRange)>, GroupsError> {
        let old_parallelism = self.require_parallelism(old_parallelism)?;
        let range = self.range(subtask, new_parallelism)?;
        let old =
            self.owner(range.first(), old_parallelism)..=self.owner(range.last(), old_parallelism);
        let piece = |old| Some((old, self.owned(old, old_parallelism).intersect(&range)?));
        Ok(old.filter_map(piece).collect())
    }

    /// Keys that each group's filter is to be built for if all of them together hold `window` keys:
    /// the load of the fullest group, [`largest_load`], rounded up. With one group, the window.
    ///
    /// The mean would not do, for half of the groups are above it. The bound is 3 % more at a mean of
    /// 10,000 and 31 % more at 100, so small windows want fewer groups. One window in eight (at M = 128)
    /// still has a group a few keys above. It holds for keys that differ: a routing key with a large
    /// share of the tuples fills its group alone.
    ///
    /// ```
    /// # use hapax::replay::KeyGroups;
    /// assert_eq!(KeyGroups::new(128)?.capacity_per_group(1_280_000), 10_312);
    /// assert_eq!(KeyGroups::new(1)?.capacity_per_group(1_280_000), 1_280_000);
    /// # Ok::<(), hapax::replay::GroupsError>(())
    /// ```
    #[must_use]
    pub fn capacity_per_group(self, window: u64) -> u64 {
        let mean = window as f64 / f64::from(self.count);
        let load = largest_load(mean, self.count.into()).ceil() as u64;
        // No less than the mean and no more than all, whatever `f64` rounds of large windows.
        load.clamp(window.div_ceil(self.count.into()), window)
    }

    /// For a parallelism that was checked.
    fn owner(self, group: u16, parallelism: u64) -> u32 {
        (u64::from(group) * parallelism / u64::from(self.count)) as u32
    }

    /// For a parallelism and a subtask that were checked: P ≤ M, so the range is not empty.
    fn owned(self, subtask: u32, parallelism: u64) -> GroupRange {
        let start = |subtask: u64| (subtask * u64::from(self.count)).div_ceil(parallelism);
        let subtask = u64::from(subtask);
        GroupRange::between(start(subtask) as u16, (start(subtask + 1) - 1) as u16)
    }

    fn require_parallelism(self, found: u32) -> Result<u64, GroupsError> {
        if found == 0 || found > self.count {
            return Err(GroupsError::Parallelism { found, groups: self.count });
        }
        Ok(found.into())
    }

    fn require_group(self, found: u16) -> Result<(), GroupsError> {
        if u32::from(found) >= self.count {
            return Err(GroupsError::Group { found, groups: self.count });
        }
        Ok(())
    }
}

/// 32-bit `MurmurHash3` of one little-endian word under seed 0 (A. Appleby, 2010).
pub(super) const fn murmur3_32(word: u32) -> u32 {
    let word = word.wrapping_mul(0xcc9e_2d51).rotate_left(15).wrapping_mul(0x1b87_3593);
    let mut hash = word.rotate_left(13).wrapping_mul(5).wrapping_add(0xe654_6b64);
    hash ^= 4; // the length in bytes
    hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
    hash ^ (hash >> 16)
}
