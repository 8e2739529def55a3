//! An exact set under the contract of the filters. What it cannot satisfy is no law.

use std::collections::BTreeMap;

use hapax::{
    Full, Incompatible, Insert, KeyHash, Membership, Merge, PastCapacity, Remove, Removed, Seed,
    Seen, Stats,
};

use super::Subject;

/// Counts of keys. In a sorted map, so that equal contents have equal `Debug`.
#[derive(Clone, Debug)]
pub struct Oracle {
    seed: Seed,
    capacity: u64,
    past_capacity: PastCapacity,
    counts: BTreeMap<KeyHash, u64>,
}

impl Oracle {
    pub fn new(capacity: u64, past_capacity: PastCapacity) -> Self {
        Self { seed: Seed::default(), capacity, past_capacity, counts: BTreeMap::new() }
    }

    fn len(&self) -> u64 {
        self.counts.values().sum()
    }

    fn may_hold(&self, len: u64) -> bool {
        len <= self.capacity || self.past_capacity == PastCapacity::Degrade
    }
}

impl Membership for Oracle {
    fn seed(&self) -> &Seed {
        &self.seed
    }

    fn contains_hash(&self, hash: KeyHash) -> bool {
        self.counts.contains_key(&hash)
    }

    fn false_positive_rate(&self) -> f64 {
        0.0
    }

    fn stats(&self) -> Stats {
        // `Stats` is not for others to make: take a filter's and fill in what is exact.
        let mut stats = empty_stats();
        stats.capacity = self.capacity;
        stats.len = self.len();
        stats.estimated_len = self.counts.len() as f64;
        stats.fill_ratio = 0.0;
        stats.false_positive_rate = 0.0;
        stats.bit_len = self.counts.len() as u64 * 128;
        stats
    }
}

fn empty_stats() -> Stats {
    let filter = hapax::BloomFilter::builder().capacity(1).false_positive_rate(0.5).build();
    filter.unwrap().stats()
}

impl Insert for Oracle {
    fn insert_hash(&mut self, hash: KeyHash) -> Result<Seen, Full> {
        if !self.may_hold(self.len() + 1) {
            return Err(refusal(self.len(), self.capacity));
        }
        let count = self.counts.entry(hash).or_default();
        *count += 1;
        Ok(if *count == 1 { Seen::Never } else { Seen::Maybe })
    }
}

/// A refusal as filters word it; `Full` is not for others to make either.
fn refusal(len: u64, capacity: u64) -> Full {
    let mut filter =
        hapax::CountingBloomFilter::builder().capacity(1).false_positive_rate(0.5).build().unwrap();
    let hash = KeyHash::from_uniform(&[0; 16]);
    let _ = filter.insert_hash(hash).unwrap();
    let mut full = filter.insert_hash(hash).unwrap_err();
    (full.len, full.capacity) = (len, capacity);
    full
}

impl Remove for Oracle {
    fn remove_hash(&mut self, hash: KeyHash) -> Removed {
        let Some(count) = self.counts.get_mut(&hash) else { return Removed::Absent };
        *count -= 1;
        if *count == 0 {
            self.counts.remove(&hash);
        }
        Removed::Removed
    }
}

impl Merge for Oracle {
    fn merge(&mut self, other: &Self) -> Result<(), Incompatible> {
        let parameter = |name, expected: String, found: String| {
            if expected == found {
                return Ok(());
            }
            Err(Incompatible::Parameter { name, expected, found })
        };
        parameter("capacity", self.capacity.to_string(), other.capacity.to_string())?;
        let len = self.len() + other.len();
        if !self.may_hold(len) {
            return Err(Incompatible::OverCapacity {
                estimated_len: len as f64,
                capacity: self.capacity,
            });
        }
        for (hash, count) in &other.counts {
            *self.counts.entry(*hash).or_default() += count;
        }
        Ok(())
    }
}

impl Subject for Oracle {
    const MULTISET: bool = true;

    fn bytes(&self) -> Vec<u8> {
        format!("{self:?}").into_bytes()
    }

    fn clear(&mut self) {
        self.counts.clear();
    }

    fn try_remove(&mut self, hash: KeyHash) -> Option<Removed> {
        Some(self.remove_hash(hash))
    }

    fn try_merge(&mut self, other: &Self) -> Option<Result<(), Incompatible>> {
        Some(self.merge(other))
    }
}
