//! Key groups: the unit in which state is kept, moved and restored.
//!
//! ```text
//!  KeyHash   hi: [ 32 bits choose the group | 32 bits ]   lo: [ 64 bits ]
//!                        │                       └── Salt ──┘ positions, fingerprints
//!            group = (top 32 bits · M) >> 32, monotone in the hash
//!
//!  groups    0 ............. 42 43 ............ 85 86 ........... 127        M = 128
//!  P = 3     |── subtask 0 ───| |── subtask 1 ──| |── subtask 2 ───|
//!  P = 5     |─ 0 ─| |── 1 ──| |─── 2 ──| |── 3 ──| |──── 4 ───────|
//! ```
//!
//! A Bloom filter cannot be split by key afterwards, so there is one for each of M groups, for as
//! many subtasks as there will ever be. A subtask owns a contiguous range of groups: whoever restores
//! at another parallelism reads one stretch of each old state.
//!
//! The scheme of ranges is that of Apache Flink, and so is
//! [`flink_group`](KeyGroups::flink_group); [`group_of`](KeyGroups::group_of) works on the hash that
//! filters use. The bits that choose a group say nothing about where a key lies in the group's filter
//! ([`KeyHash::mix`](crate::KeyHash::mix)): with the same bits for both, a blocked filter of one of 128 groups would use 4
//! of its 512 blocks and take every key for a member.

mod error;
mod key_groups;
mod range;

pub use error::GroupsError;
pub use key_groups::KeyGroups;
pub use range::GroupRange;

#[cfg(test)]
mod tests;
