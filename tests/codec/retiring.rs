//! Retiring filters that cannot be, and the error that each must give.

use hapax::codec::{Artefact, DecodeError};
use hapax::prelude::*;
use hapax::replay::GenerationWindow;

use crate::doors;
use crate::malformed::Noticed::{OnOpening, OnReading};
use crate::malformed::{
    CAPACITY, COUNTER_BITS, EPOCHS, FIRST, LEN, PARAMS, PER_KEY, SECOND, Table, invalid, made,
};
use crate::reseal::{in_section, parts, rebuilt, u64_at};

// Offsets in the epochs.
const CURRENT: usize = 0;
const OLDEST: usize = 8;
const SWEPT: usize = 16;
const MOST: usize = 24;
const ADVANCE: usize = 28;
const ON_HIT: usize = 29;
const TAGS: usize = 32;

#[test]
fn impossible_slots_are_refused() {
    let file = made("retiring");
    let (le, le4) = (u64::to_le_bytes, u32::to_le_bytes);
    let mut table = Table::new();
    let mut row = |name, at, new: &[u8], expected: DecodeError| {
        for doors in [doors::RETIRING, doors::ANY] {
            table.row(name, doors, in_section(&file, PARAMS, at, new), OnOpening, expected.clone());
        }
    };
    for found in [0u32, 9, u32::MAX] {
        row("tag bits", COUNTER_BITS, &le4(found), invalid("bits in a tag", "1 to 8", found));
    }
    for found in [0u32, 3, 61, u32::MAX] {
        row("fingerprint bits", PER_KEY, &le4(found), {
            invalid("bits in a fingerprint", "4 to 60", found)
        });
    }
    let words = parts(&file)[1].bytes.len() / 8;
    let buckets = u64_at(&parts(&file)[0].bytes, FIRST);
    for found in [0, 1, buckets + 1, u64::MAX] {
        row("buckets", FIRST, &le(found), {
            invalid("number of buckets", "an even number, and not 0", found)
        });
    }
    row("twice the buckets", FIRST, &le(2 * buckets), {
        invalid("number of words", (68 * 2 * buckets).div_ceil(64) + 2, words)
    });
    for huge in [1 << 62, u64::MAX - 1] {
        row("buckets times bits past 2⁶⁴", FIRST, &le(huge), {
            invalid("number of words", "fewer buckets", words)
        });
    }
    row("saturated", SECOND, &[1], DecodeError::Reserved { part: "parameters" });
    let len = u64_at(&parts(&file)[0].bytes, LEN);
    row("a key too many", LEN, &le(len + 1), invalid("number of live slots", len, len + 1));
    row("no room for the epochs", CAPACITY, &le(14), invalid("capacity", "15 or more", 14));
    table.check();
}

#[test]
fn impossible_epochs_are_refused() {
    let file = made("retiring");
    let le = u64::to_le_bytes;
    let state = parts(&file)[2].bytes.clone();
    let (current, oldest) = (u64_at(&state, CURRENT), u64_at(&state, OLDEST));
    let buckets = u64_at(&parts(&file)[0].bytes, FIRST);
    let mut table = Table::new();
    let mut row = |name, bytes: Vec<u8>, expected: DecodeError| {
        for doors in [doors::RETIRING, doors::ANY] {
            table.row(name, doors, bytes.clone(), OnOpening, expected.clone());
        }
    };
    let with = |at, new: &[u8]| in_section(&file, EPOCHS, at, new);
    for found in [(1u64 << 62) + 1, u64::MAX] {
        let expected = invalid("current epoch", format!("0 to {}", 1u64 << 62), found);
        row("current epoch", with(CURRENT, &le(found)), expected);
    }
    for found in [0, oldest - 1, current + 1, u64::MAX] {
        row("oldest epoch", with(OLDEST, &le(found)), {
            invalid("oldest live epoch", format!("{oldest} to {current}"), found)
        });
    }
    for found in [buckets + 1, u64::MAX] {
        row("swept", with(SWEPT, &le(found)), {
            invalid("number of swept buckets", format!("0 to {buckets}"), found)
        });
    }
    for found in [0u32, 16, u32::MAX] {
        row("live epochs", with(MOST, &found.to_le_bytes()), {
            invalid("number of live epochs", "1 to 15", found)
        });
    }
    row("a way to advance", with(ADVANCE, &[2]), invalid("way to advance", "0 or 1", 2));
    row("an effect of a hit", with(ON_HIT, &[2]), invalid("effect of a hit", "0 or 1", 2));
    for at in [30, 31] {
        row("reserved", with(at, &[1]), DecodeError::Reserved { part: "epochs" });
    }
    let slots = 4 * buckets;
    row("counts that overflow", with(TAGS, &[255; 16]), {
        invalid("number of keys", format!("0 to {slots}"), u64::MAX)
    });
    let newest = TAGS + 8 * (current % 16) as usize;
    let live = u64_at(&parts(&file)[0].bytes, LEN);
    let count = u64_at(&state, newest);
    row("a live slot too many", with(newest, &le(count + 1)), {
        invalid("number of live slots", live + 1, live)
    });

    let resized = |len: usize| rebuilt(&file, |parts| parts[2].bytes.resize(len, 0));
    let epochs = |expected: &str, found: &str| invalid("epochs", expected, found);
    row("too short for its options", resized(31), epochs("more bytes", "1 left"));
    row("no counts", resized(32), invalid("number of counts", 16, 0));
    row("a count too few", resized(32 + 8 * 15), invalid("number of counts", 16, 15));
    row("a count too many", resized(32 + 8 * 17), invalid("number of counts", 16, 17));
    row("a byte too many", resized(32 + 8 * 16 + 1), epochs("no more bytes", "1 left"));
    let section = |expected: &str, found: &str| invalid("section table", expected, found);
    let without = rebuilt(&file, |parts| drop(parts.remove(2)));
    row("no epochs", without, section("epochs 0 next", "provenance 0"));
    let bloom = rebuilt(&made("bloom"), |blooms| blooms.insert(2, parts(&file)[2].clone()));
    table.row("epochs in another filter", doors::BLOOM, bloom, OnOpening, {
        section("provenance 0 next", "epochs 0")
    });
    table.check();
}

#[test]
fn epochs_that_contradict_the_body_are_found_by_the_full_check() {
    let file = made("retiring");
    let le = u64::to_le_bytes;
    let state = parts(&file)[2].bytes.clone();
    let current = u64_at(&state, CURRENT);
    let tag = |epoch: u64| TAGS + 8 * (epoch % 16) as usize;
    let mut table = Table::new();
    let mut row = |name, bytes, expected| {
        table.row(name, doors::RETIRING, bytes, OnReading, expected);
    };

    // The sample has expired slots that the sweep has not come to.
    let next = tag(current + 1);
    let left = u64_at(&state, next);
    assert!(left > 0 && u64_at(&state, SWEPT) > 0);
    row("expired slots not counted", in_section(&file, EPOCHS, next, &le(0)), {
        invalid("number of slots under a tag", 0, left)
    });
    let buckets = u64_at(&parts(&file)[0].bytes, FIRST);
    row("not swept", in_section(&file, EPOCHS, SWEPT, &le(buckets)), {
        invalid("swept bucket", "nothing of the next tag", (current + 1) % 16)
    });
    // One live slot more under one tag, one less under another: the sum is right.
    let (one, other) = (tag(current - 1), tag(current - 2));
    let moved = in_section(&file, EPOCHS, one, &le(u64_at(&state, one) + 1));
    let moved = in_section(&moved, EPOCHS, other, &le(u64_at(&state, other) - 1));
    let (first, second) = (one.min(other), 0);
    let stored = u64_at(&parts(&moved)[2].bytes, first);
    row("a slot under another tag", moved, {
        invalid("number of slots under a tag", stored, u64_at(&state, first) + second)
    });
    let padded = rebuilt(&file, |parts| *parts[1].bytes.last_mut().unwrap() = 1);
    row("a bit after the slots", padded, invalid("padding after the slots", 0, "1 bits"));
    table.check();
}

/// Retiring filters as the generations of a window are read and written, too.
#[test]
fn generations_may_be_retiring_filters() {
    let builder = RetiringCuckooFilter::builder().capacity(40).false_positive_rate(0.01);
    let mut window = GenerationWindow::new(&builder).unwrap();
    for index in 0..100u32 {
        let _ = window.insert(&index).unwrap();
    }
    let file = crate::samples::file(&window);
    let ids: Vec<u16> = parts(&file).iter().map(|part| part.role).collect();
    assert_eq!(ids, [1, 2, 7, 1, 2, 7, 4, 3]);
    let back = Artefact::<GenerationWindow<GrowingFilter>>::from_bytes(&file).unwrap();
    assert_eq!(back.to_bytes(), file);
    assert!((60..100u32).all(|index| back.filter.contains(&index).unwrap()));
}
