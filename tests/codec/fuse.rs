//! Binary fuse filters that cannot be, and the error that each must give.

use hapax::codec::DecodeError;

use crate::doors;
use crate::malformed::Noticed::{OnOpening, OnReading};
use crate::malformed::{
    BODY, CAPACITY, COUNTER_BITS, FIRST, LEN, PARAMS, PER_KEY, SECOND, SHARDS, Table, invalid, made,
};
use crate::reseal::{in_section, parts, rebuilt, u64_at};

// Offsets in a row of the table of shards.
const KEYS: usize = 0;
const SEGMENTS: usize = 4;
const START: usize = 8;
const SEGMENT_LOG2: usize = 10;
const ATTEMPT: usize = 11;
const ROW: usize = 16;

#[test]
fn impossible_parameters_of_fuse_filters_are_refused() {
    let file = made("fuse-8");
    let le = u64::to_le_bytes;
    let mut table = Table::new();
    for doors in [doors::FUSE, doors::ANY] {
        let mut row = |name, at, new: &[u8], expected| {
            table.row(name, doors, in_section(&file, PARAMS, at, new), OnOpening, expected);
        };
        for found in [0u32, 3, 33, u32::MAX] {
            row("fingerprint bits", PER_KEY, &found.to_le_bytes(), {
                invalid("bits in a fingerprint", "4 to 32", found)
            });
        }
        row("policy", 2, &[1], invalid("policy past the capacity", "0: it takes no keys", 1));
        let reserved = || DecodeError::Reserved { part: "parameters" };
        row("counter bits", COUNTER_BITS, &[4], reserved());
        row("buckets", FIRST, &[1], reserved());
        row("full counters", SECOND, &[1], reserved());
        row("keys", LEN, &le(59), invalid("number of keys", "60, those of the shards", 59));
        row("capacity", CAPACITY, &le(61), invalid("capacity", 60, 61));
    }
    let words = parts(&file)[1].bytes.len() / 8;
    let wider = in_section(&file, PARAMS, PER_KEY, &[16]);
    table.row("wider cells", doors::FUSE, wider, OnOpening, {
        let cells = 24 * 8 + 1..=words * 8;
        let expected = (2 * cells.end() * 8).div_ceil(512) * 8;
        invalid("number of words", expected, words)
    });
    let empty = in_section(&made("fuse-empty"), PARAMS, CAPACITY, &le(2));
    table.row("capacity of none", doors::ANY, empty, OnOpening, invalid("capacity", 1, 2));
    table.check();
}

#[test]
fn impossible_shards_are_refused() {
    let file = made("fuse-shards");
    let shards = parts(&file)[2].bytes.clone();
    let le = u32::to_le_bytes;
    let mut table = Table::new();
    let mut row = |name, at, new: &[u8], expected| {
        table.row(name, doors::FUSE, in_section(&file, SHARDS, at, new), OnOpening, expected);
    };
    let start = |found| invalid("first prefix of a shard", "0, or more than the one before", found);
    row("first shard at 1", START, &[1, 0], start(1));
    row("second shard at 0", ROW + START, &[0, 0], start(0));
    for found in [64, 255] {
        row("attempt", ATTEMPT, &[found], invalid("attempt at a shard", "0 to 63", found));
    }
    row("reserved", ROW + 15, &[1], DecodeError::Reserved { part: "shards" });
    let layout = |segments: u32, log2: u8| {
        let found = format!("{segments} segments of 2^{log2} cells");
        invalid("layout of a shard", "1 segment or more of 2^0 to 2^18 cells, 2^32 in all", found)
    };
    let (segments, log2) = (u32::from(shards[SEGMENTS]), shards[SEGMENT_LOG2]);
    row("no segments", SEGMENTS, &[0; 4], layout(0, log2));
    row("segments past 2³² cells", SEGMENTS, &[255; 4], layout(u32::MAX, log2));
    row("segments of 2¹⁹", SEGMENT_LOG2, &[19], layout(segments, 19));
    row("segments of 2²⁵⁵", SEGMENT_LOG2, &[255], layout(segments, 255));
    let cells = (segments + 2) << log2;
    for found in [0, cells + 1, u32::MAX] {
        row("keys", KEYS, &le(found), {
            invalid("number of keys in a shard", format!("1 to {cells}, its cells"), found)
        });
    }
    let keys = u32::from(shards[KEYS]) - 1;
    row(
        "one key less",
        KEYS,
        &le(keys),
        invalid("number of keys", "199, those of the shards", 200),
    );
    let words = parts(&file)[1].bytes.len() as u64 / 8;
    let more = |cells: u64| (cells * 11).div_ceil(512) * 8;
    let grown = words - more(cells.into()) + more(u64::from(segments + 7) << log2);
    row("more segments", SEGMENTS, &le(segments + 5), invalid("number of words", grown, words));

    let mut row = |name, bytes, expected| table.row(name, doors::FUSE, bytes, OnOpening, expected);
    let short = rebuilt(&file, |parts| parts[2].bytes.truncate(24));
    row("half a row", short, invalid("length of the shards", "a multiple of 16", 24));
    let less = rebuilt(&file, |parts| parts[2].bytes.truncate(16));
    let first = u32::from_le_bytes(shards[..4].try_into().unwrap());
    row("a shard less", less, {
        invalid("number of keys", format!("{first}, those of the shards"), 200)
    });
    let without = rebuilt(&file, |parts| drop(parts.remove(2)));
    row("no shards", without, invalid("section table", "shards 0 next", "provenance 0"));
    let swapped = rebuilt(&file, |parts| parts.swap(1, 2));
    row("shards before the body", swapped, invalid("section table", "body 0 next", "shards 0"));
    let longer = rebuilt(&file, |parts| parts[1].bytes.extend([0; 64]));
    row("a longer body", longer, invalid("number of words", words, words + 8));
    table.check();
}

/// Bits after the last cell of a shard, which no answer depends on, are found by the full check.
#[test]
fn bits_between_shards_are_refused() {
    let file = made("fuse-shards");
    let mut table = Table::new();
    let row = &parts(&file)[2].bytes[..ROW];
    let cells = (u64_at(row, SEGMENTS) as u32 + 2) << row[SEGMENT_LOG2];
    let end = cells as usize * 11 / 8;
    assert!(!end.is_multiple_of(64), "this shard fills its last line");
    for at in [end, end.next_multiple_of(64) - 1, parts(&file)[1].bytes.len() - 1] {
        let bytes = in_section(&file, BODY, at, &[128]);
        table.row("padding", doors::FUSE, bytes, OnReading, {
            invalid("padding after the cells of a shard", 0, "1 bits")
        });
    }
    table.check();
}
