//! The table of shards: which one holds a key, and where its array lies.

use super::geometry::Geometry;
use crate::filter::InvalidParts;
use crate::hash::{KeyHash, Salt};
use crate::math::fuse::{MAX_ATTEMPTS, MAX_FINGERPRINT_BITS, MIN_FINGERPRINT_BITS};
use crate::store::lines_for;

/// Keys of a shard; a shard is closed at the last prefix that does not take it over this.
///
/// The array of a shard and what building it takes (8 bytes a cell and 16 a key) are 14 MB: within
/// reach of a cache, and small enough to build several at a time in little memory. Larger shards
/// would save 0.7 % of the cells at most.
///
/// Under the fuzzer they are so few that an input of some bytes is cut, crowded and merged.
pub(crate) const SHARD_KEYS: usize = if cfg!(fuzzing) { 1 << 6 } else { 1 << 19 };

/// Prefixes by which shards are cut: the first 16 bits of a key hash.
pub(crate) const PREFIXES: usize = 1 << 16;

/// The first 16 bits.
#[inline]
pub(crate) const fn prefix(hash: KeyHash) -> u16 {
    (hash.hi() >> 48) as u16
}

/// What is stored of a shard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    /// The first prefix that is its; it holds all up to the next shard's.
    pub(crate) start: u16,
    /// Which attempt succeeded; its salt is the filter's + attempt · 2⁵⁶.
    pub(crate) attempt: u8,
    /// Distinct keys, 1 or more.
    pub(crate) keys: u32,
    pub(crate) geometry: Geometry,
}

/// The salt of an attempt.
pub(crate) const fn salt_of(salt: Salt, attempt: u32) -> Salt {
    Salt::new(salt.value().wrapping_add((attempt as u64) << 56))
}

/// A shard, and where its array begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shard {
    pub(crate) row: Row,
    pub(crate) first_word: u64,
    pub(crate) salt: Salt,
}

/// All shards in order.
#[derive(Clone, Debug)]
pub(crate) struct Shards {
    in_order: Vec<Shard>,
    /// Shard of each prefix; empty if there is only one shard.
    index: Vec<u16>,
    fingerprint_bits: u32,
    keys: u64,
    words: u64,
}

impl Shards {
    /// Puts a table together, checking that it can be one.
    pub(crate) fn new(
        rows: &[Row],
        salt: Salt,
        fingerprint_bits: u32,
    ) -> Result<Self, InvalidParts> {
        InvalidParts::unless(
            (MIN_FINGERPRINT_BITS..=MAX_FINGERPRINT_BITS).contains(&fingerprint_bits),
            "bits in a fingerprint",
            "4 to 32",
            fingerprint_bits,
        )?;
        let (mut keys, mut words) = (0u64, 0u64);
        let mut shards: Vec<Shard> = Vec::with_capacity(rows.len());
        for &row in rows {
            let Row { start, attempt, keys: of_shard, geometry } = row;
            let in_order = shards.last().map_or(start == 0, |before| before.row.start < start);
            InvalidParts::unless(
                in_order,
                "first prefix of a shard",
                "0, or more than the one before",
                start,
            )?;
            let attempts = format_args!("0 to {}", MAX_ATTEMPTS - 1);
            InvalidParts::unless(
                u32::from(attempt) < MAX_ATTEMPTS,
                "attempt at a shard",
                attempts,
                attempt,
            )?;
            let cells = geometry.cells();
            InvalidParts::unless(
                (1..=cells).contains(&of_shard),
                "number of keys in a shard",
                format_args!("1 to {cells}, its cells"),
                of_shard,
            )?;
            shards.push(Shard { row, first_word: words, salt: salt_of(salt, attempt.into()) });
            // 2¹⁶ shards of 2³² cells of 32 bits at most: no sum overflows.
            words += lines_for(cells.into(), fingerprint_bits).unwrap_or(0);
            keys += u64::from(of_shard);
        }
        let mut table = Self { in_order: shards, index: Vec::new(), fingerprint_bits, keys, words };
        table.fill_index();
        Ok(table)
    }

    fn fill_index(&mut self) {
        if self.in_order.len() < 2 {
            return;
        }
        self.index.reserve_exact(PREFIXES);
        for (number, _) in self.in_order.iter().enumerate() {
            let next = self.in_order.get(number + 1);
            let end = next.map_or(PREFIXES, |next| usize::from(next.row.start));
            self.index.resize(end, number as u16);
        }
    }

    /// The shard that a key would be in; `None` if there are no keys.
    #[inline]
    pub(crate) fn locate(&self, hash: KeyHash) -> Option<&Shard> {
        let number = self.index.get(usize::from(prefix(hash))).copied().unwrap_or(0);
        self.in_order.get(usize::from(number))
    }

    pub(crate) fn iter(&self) -> impl ExactSizeIterator<Item = &Shard> {
        self.in_order.iter()
    }

    /// Distinct keys of all shards.
    pub(crate) const fn keys(&self) -> u64 {
        self.keys
    }

    /// Words of all arrays.
    pub(crate) const fn words(&self) -> u64 {
        self.words
    }

    /// Cells of all arrays.
    pub(crate) fn cells(&self) -> u64 {
        self.in_order.iter().map(|shard| u64::from(shard.row.geometry.cells())).sum()
    }

    pub(crate) const fn fingerprint_bits(&self) -> u32 {
        self.fingerprint_bits
    }
}

/// Where the shard that starts a sorted run of distinct hashes ends: at the last prefix that fits
/// into [`SHARD_KEYS`], or after the first if that alone is more. `None` if the end is not in
/// sight, and all of it may be one shard.
pub(crate) fn cut(sorted: &[KeyHash]) -> Option<usize> {
    let over = prefix(*sorted.get(SHARD_KEYS)?);
    let end = sorted.partition_point(|&hash| prefix(hash) < over);
    if end > 0 {
        return Some(end);
    }
    let end = sorted.partition_point(|&hash| prefix(hash) <= over);
    (end < sorted.len()).then_some(end)
}
