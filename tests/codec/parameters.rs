//! Parameters, windows, accounts and provenance that cannot be, and the error that each must give.

use hapax::codec::{Artefact, DecodeError, Kind};
use hapax::prelude::*;
use hapax::replay::{GenerationWindow, ReplayFilter};

use crate::doors;
use crate::malformed::Noticed::{OnOpening, OnReading};
use crate::malformed::{
    CAPACITY, COUNTER_BITS, COUNTS, FIRST, LEN, PARAMS, PARAMS_1, PER_KEY, PROVENANCE, SALT,
    SECOND, Table, WINDOW, invalid, made,
};
use crate::reseal::{in_section, parts, put, rebuilt, u64_at};

#[test]
fn impossible_parameters_are_refused() {
    let (bloom, counting, cuckoo) = (made("bloom"), made("counting-4"), made("cuckoo-13"));
    let le = u64::to_le_bytes;
    let mut table = Table::new();
    for (typed, file) in [
        (doors::BLOOM, &bloom),
        (doors::COUNTING, &counting),
        (doors::CUCKOO, &cuckoo),
        (doors::WORD, &made("word")),
        (doors::BLOCKED, &made("blocked")),
        (doors::RETIRING, &made("retiring")),
    ] {
        for doors in [typed, doors::ANY] {
            let mut row = |name, at, new: &[u8], expected| {
                let bytes = in_section(file, PARAMS, at, new);
                table.row(name, doors, bytes, OnOpening, expected);
            };
            row("policy 2", 2, &[2], invalid("policy past the capacity", "0 or 1", 2));
            let reserved = || DecodeError::Reserved { part: "parameters" };
            row("reserved after the policy", 3, &[1], reserved());
            row("reserved after the counters", 12, &[0, 0, 0, 1], reserved());
            row("reserved at the end", 63, &[1], reserved());
            row("capacity 0", CAPACITY, &le(0), invalid("capacity", "1 or more", 0));
        }
    }
    for (name, doors, file) in
        [("63 bytes", doors::BLOOM, &bloom), ("63 bytes of any", doors::ANY, &bloom)]
    {
        let short = rebuilt(file, |parts| parts[0].bytes.truncate(63));
        table.row(name, doors, short, OnOpening, invalid("parameters", "more bytes", "7 left"));
        let long = rebuilt(file, |parts| parts[0].bytes.push(0));
        table.row(name, doors, long, OnOpening, {
            invalid("parameters", "no more bytes", "1 left")
        });
    }

    let mut row = |name, doors, file: &[u8], at, new: &[u8], expected| {
        table.row(name, doors, in_section(file, PARAMS, at, new), OnOpening, expected);
    };
    for (doors, file) in [(doors::BLOOM, &bloom), (doors::COUNTING, &counting)] {
        let probes = |found: u32| invalid("number of probes", "1 to 64", found);
        for found in [0u32, 65, u32::MAX] {
            row("probes", doors, file, PER_KEY, &found.to_le_bytes(), probes(found));
        }
    }
    let bits = parts(&bloom)[1].bytes.len() * 8;
    row("more ones than bits", doors::BLOOM, &bloom, FIRST, &le(bits as u64 + 1), {
        invalid("number of set bits", format!("0 to {bits}"), bits + 1)
    });
    let reserved = || DecodeError::Reserved { part: "parameters" };
    row("bloom with counters", doors::BLOOM, &bloom, COUNTER_BITS, &[4], reserved());
    row("bloom with saturated", doors::BLOOM, &bloom, SECOND, &[1], reserved());
    row("cuckoo with counters", doors::CUCKOO, &cuckoo, COUNTER_BITS, &[4], reserved());
    row("cuckoo with saturated", doors::CUCKOO, &cuckoo, SECOND, &[1], reserved());

    for found in [0u32, 1, 5, 16, 64, u32::MAX] {
        row("counter bits", doors::COUNTING, &counting, COUNTER_BITS, &found.to_le_bytes(), {
            invalid("bits in a counter", "4 or 8", found)
        });
    }
    let counters = parts(&counting)[1].bytes.len() as u64 * 2;
    let saturated = u64_at(&parts(&counting)[0].bytes, SECOND);
    for found in [0, counters + 1, u64::MAX] {
        row("counters in use", doors::COUNTING, &counting, FIRST, &le(found), {
            invalid("number of counters in use", format!("{saturated} to {counters}"), found)
        });
    }

    for found in [0u32, 3, 33, 64, u32::MAX] {
        row("fingerprint bits", doors::CUCKOO, &cuckoo, PER_KEY, &found.to_le_bytes(), {
            invalid("bits in a fingerprint", "4 to 32", found)
        });
    }
    let words = parts(&cuckoo)[1].bytes.len() / 8;
    let buckets = u64_at(&parts(&cuckoo)[0].bytes, FIRST);
    row("no buckets", doors::CUCKOO, &cuckoo, FIRST, &le(0), {
        invalid("number of buckets", "at least 1", 0)
    });
    let more = (52 * (2 * buckets)).div_ceil(64) + 2;
    row("twice the buckets", doors::CUCKOO, &cuckoo, FIRST, &le(2 * buckets), {
        invalid("number of words", more, words)
    });
    for huge in [1 << 62, u64::MAX / 52 + 1, u64::MAX] {
        row("buckets times bits past 2⁶⁴", doors::CUCKOO, &cuckoo, FIRST, &le(huge), {
            invalid("number of words", "fewer buckets", words)
        });
    }
    row("more keys than slots", doors::CUCKOO, &cuckoo, LEN, &le(4 * buckets + 1), {
        invalid("number of keys", format!("0 to {}", 4 * buckets), 4 * buckets + 1)
    });
    let bodiless = rebuilt(&bloom, |parts| parts[1].bytes.clear());
    table.row("bloom without a bit", doors::BLOOM, bodiless, OnOpening, {
        invalid("size of the bit array", "at least 64", 0)
    });
    let bodiless = rebuilt(&counting, |parts| parts[1].bytes.clear());
    table.row("counting without a counter", doors::COUNTING, bodiless, OnOpening, {
        invalid("number of counters", "at least 8", 0)
    });
    let bodiless = rebuilt(&cuckoo, |parts| parts[1].bytes.clear());
    table.row("cuckoo without a slot", doors::CUCKOO, bodiless, OnOpening, {
        invalid("number of words", words, 0)
    });
    table.check();
}

#[test]
fn impossible_lines_and_words_are_refused() {
    let (word, blocked) = (made("word"), made("blocked"));
    let le = u64::to_le_bytes;
    let mut table = Table::new();
    let mut row = |name, doors, file: &[u8], at, new: &[u8], expected| {
        table.row(name, doors, in_section(file, PARAMS, at, new), OnOpening, expected);
    };
    for found in [0u32, 11, u32::MAX] {
        row("bits of a word", doors::WORD, &word, PER_KEY, &found.to_le_bytes(), {
            invalid("number of probes", "1 to 10", found)
        });
    }
    for found in [0u32, 25, u32::MAX] {
        row("bits of a line", doors::BLOCKED, &blocked, PER_KEY, &found.to_le_bytes(), {
            invalid("number of probes", "1 to 24", found)
        });
    }
    let bits = parts(&blocked)[1].bytes.len() * 8;
    row("more ones than lines have", doors::BLOCKED, &blocked, FIRST, &le(bits as u64 + 1), {
        invalid("number of set bits", format!("0 to {bits}"), bits + 1)
    });
    let bits = parts(&word)[1].bytes.len() * 8;
    row("more ones than words have", doors::WORD, &word, FIRST, &le(bits as u64 + 1), {
        invalid("number of set bits", format!("0 to {bits}"), bits + 1)
    });
    let reserved = || DecodeError::Reserved { part: "parameters" };
    row("blocked with counters", doors::BLOCKED, &blocked, COUNTER_BITS, &[4], reserved());
    row("word with counters", doors::WORD, &word, COUNTER_BITS, &[4], reserved());
    row("word with saturated", doors::WORD, &word, SECOND, &[1], reserved());
    for words in [0, 1, 7, 9] {
        let ragged = rebuilt(&blocked, |parts| parts[1].bytes.resize(8 * words, 0));
        table.row("blocked of no whole lines", doors::BLOCKED, ragged, OnOpening, {
            invalid("number of words", "a multiple of 8, and not 0", words)
        });
    }
    let bodiless = rebuilt(&word, |parts| parts[1].bytes.clear());
    table.row("word-blocked without a word", doors::WORD, bodiless, OnOpening, {
        invalid("size of the bit array", "at least 64", 0)
    });
    table.check();
}

#[test]
fn counts_that_contradict_the_body_are_found_by_the_full_check() {
    let (bloom, counting, cuckoo) = (made("bloom"), made("counting-4"), made("cuckoo-13"));
    let le = u64::to_le_bytes;
    let stored = |file: &[u8], at| u64_at(&parts(file)[0].bytes, at);
    let mut table = Table::new();
    let mut row = |name, doors, file: &[u8], at, new: u64, what| {
        let found = stored(file, at);
        let bytes = in_section(file, PARAMS, at, &le(new));
        table.row(name, doors, bytes, OnReading, invalid(what, new, found));
    };
    let ones = stored(&bloom, FIRST);
    row("a one too many", doors::BLOOM, &bloom, FIRST, ones + 1, "number of set bits");
    row("no ones", doors::BLOOM, &bloom, FIRST, 0, "number of set bits");
    let word = made("word");
    let ones = stored(&word, FIRST);
    row("a bit too few", doors::WORD, &word, FIRST, ones - 1, "number of set bits");
    let blocked = made("blocked");
    let ones = stored(&blocked, FIRST);
    row("a bit of a line too few", doors::BLOCKED, &blocked, FIRST, ones - 1, "number of set bits");
    let used = stored(&counting, FIRST);
    row("one too few", doors::COUNTING, &counting, FIRST, used - 1, "number of counters in use");
    row("not saturated", doors::COUNTING, &counting, SECOND, 0, "number of saturated counters");
    let len = stored(&cuckoo, LEN);
    row("a key too few", doors::CUCKOO, &cuckoo, LEN, len - 1, "number of occupied slots");
    row("no keys", doors::CUCKOO, &cuckoo, LEN, 0, "number of occupied slots");

    let padded = rebuilt(&cuckoo, |parts| *parts[1].bytes.last_mut().unwrap() = 1);
    table.row("a bit after the slots", doors::CUCKOO, padded, OnReading, {
        invalid("padding after the slots", 0, "1 bits")
    });
    let second = in_section(&made("window-bloom"), PARAMS_1, FIRST, &le(1));
    let ones = u64_at(&parts(&made("window-bloom"))[2].bytes, FIRST);
    table.row("second generation", doors::WINDOW, second, OnReading, {
        invalid("number of set bits", 1, ones)
    });
    table.check();
}

#[test]
fn impossible_windows_and_counts_are_refused() {
    let (window, replay) = (made("window-bloom"), made("replay-cuckoo"));
    let le = u64::to_le_bytes;
    let mut table = Table::new();
    let noticed = OnOpening;
    let mut row = |name, doors, bytes, expected| table.row(name, doors, bytes, noticed, expected);

    let salts = |expected: &str, found: &str| invalid("salts of the generations", expected, found);
    row("generation changed", doors::WINDOW, in_section(&window, WINDOW, 0, &le(9)), {
        salts("Salt(0xe), Salt(0xd)", "Salt(0x8), Salt(0x7)")
    });
    row("first salt changed", doors::WINDOW, in_section(&window, WINDOW, 8, &le(0)), {
        salts("Salt(0x3), Salt(0x2)", "Salt(0x8), Salt(0x7)")
    });
    row("salts alike", doors::WINDOW, in_section(&window, PARAMS_1, SALT, &le(8)), {
        salts("Salt(0x8), Salt(0x7)", "Salt(0x8), Salt(0x8)")
    });
    let swapped = rebuilt(&window, |parts| {
        let (first, second) = (parts[0].bytes.clone(), parts[1].bytes.clone());
        (parts[0].bytes, parts[1].bytes) = (parts[2].bytes.clone(), parts[3].bytes.clone());
        (parts[2].bytes, parts[3].bytes) = (first, second);
    });
    row("generations swapped", doors::WINDOW, swapped, {
        salts("Salt(0x8), Salt(0x7)", "Salt(0x7), Salt(0x8)")
    });
    let long = rebuilt(&window, |parts| parts[4].bytes.push(0));
    row("window state too long", doors::WINDOW, long, {
        invalid("window", "no more bytes", "1 left")
    });

    let alike = |expected: &str, found: &str| {
        invalid("generations, which must be built alike", expected, found)
    };
    let words = parts(&window)[1].bytes.len() / 8;
    let bloom = |capacity: u64, policy: &str, probes: u32, words: usize| {
        format!("a Bloom filter for {capacity} keys ({policy}; {probes}, 0, 0; {words} words)")
    };
    let probes = u32::from(parts(&window)[0].bytes[PER_KEY]);
    let first = bloom(20, "Refuse", probes, words);
    row("capacities", doors::WINDOW, in_section(&window, PARAMS_1, CAPACITY, &le(21)), {
        alike(&first, &bloom(21, "Refuse", probes, words))
    });
    row("policies", doors::WINDOW, in_section(&window, PARAMS_1, 2, &[1]), {
        alike(&first, &bloom(20, "Degrade", probes, words))
    });
    row("probes", doors::WINDOW, in_section(&window, PARAMS_1, PER_KEY, &[1]), {
        alike(&first, &bloom(20, "Refuse", 1, words))
    });
    let longer = rebuilt(&window, |parts| parts[3].bytes.extend([0; 8]));
    row("sizes", doors::WINDOW, longer, alike(&first, &bloom(20, "Refuse", probes, words + 1)));
    let cuckoo = parts(&made("cuckoo-8"));
    let mixed = rebuilt(&window, |parts| {
        (parts[2].bytes, parts[3].bytes) = (cuckoo[0].bytes.clone(), cuckoo[1].bytes.clone());
    });
    let buckets = u64_at(&cuckoo[0].bytes, FIRST);
    let words = cuckoo[1].bytes.len() / 8;
    row("kinds", doors::WINDOW, mixed, {
        alike(
            &first,
            &format!("a cuckoo filter for 60 keys (Refuse; 8, 0, {buckets}; {words} words)"),
        )
    });
    let nested = in_section(&in_section(&window, PARAMS, 0, &[64]), PARAMS_1, 0, &[64]);
    row("a window of windows", doors::WINDOW, nested, {
        DecodeError::WrongKind { expected: "a filter that takes keys", found: Kind::Window }
    });

    let estimate = |found: f64| invalid("estimate of lost tuples", "0 or more", found);
    for found in [f64::NAN, f64::INFINITY, -1.0, -f64::MIN_POSITIVE] {
        let bytes = in_section(&replay, COUNTS, 16, &le(found.to_bits()));
        row("estimate", doors::REPLAY, bytes, estimate(found));
    }
    let short = rebuilt(&replay, |parts| parts[5].bytes.truncate(20));
    row("counts too short", doors::REPLAY, short, invalid("counts", "more bytes", "4 left"));
    table.check();
}

#[test]
fn impossible_provenance_is_refused() {
    let file = made("bloom-sha1");
    let mut table = Table::new();
    let mut row = |name, bytes, expected| {
        table.row(name, doors::ANY, bytes, OnOpening, expected);
    };
    // Five counts, a digest of 16 bytes, then the texts.
    let name = 56;
    row("text past the section", in_section(&file, PROVENANCE, name, &[0, 4, 0, 0]), {
        let left = parts(&file)[2].bytes.len() - name - 4;
        invalid("provenance", "more bytes", format!("{left} left"))
    });
    row("text of 4 GiB", in_section(&file, PROVENANCE, name, &[255; 4]), {
        invalid("provenance", "texts of at most 65536 bytes", u32::MAX)
    });
    row("not UTF-8", in_section(&file, PROVENANCE, name + 4, &[0xff]), {
        invalid("provenance", "UTF-8", "other bytes")
    });
    let long = rebuilt(&file, |parts| parts[2].bytes.push(0));
    row("bytes after the texts", long, invalid("provenance", "no more bytes", "1 left"));
    let empty = rebuilt(&file, |parts| parts[2].bytes.clear());
    row("empty", empty, invalid("provenance", "more bytes", "0 left"));
    table.check();
}

/// Counts at the end of their range are read, and counting on does not overflow.
#[test]
fn counts_at_their_end_stay_there() {
    let max = u64::MAX.to_le_bytes();

    let bloom = in_section(&in_section(&made("bloom"), PARAMS, 2, &[1]), PARAMS, LEN, &max);
    let mut bloom = Artefact::<BloomFilter>::from_bytes(&bloom).unwrap().filter;
    assert_eq!(bloom.insert("stranger").unwrap(), Seen::Never);
    assert_eq!(bloom.stats().len, u64::MAX);

    let counting = in_section(&made("counting-8"), PARAMS, LEN, &max);
    let mut counting = Artefact::<CountingBloomFilter>::from_bytes(&counting).unwrap().filter;
    let _ = counting.insert("stranger").unwrap();
    assert_eq!(counting.stats().len, u64::MAX);

    let replay = in_section(&made("replay-cuckoo"), COUNTS, 0, &[255; 16]);
    let replay = in_section(&replay, WINDOW, 0, &max);
    // The salts stay as they are: first + generation, modulo 2⁶⁴.
    let salt = u64_at(&parts(&replay)[0].bytes, SALT);
    let replay = in_section(&replay, WINDOW, 8, &salt.wrapping_add(1).to_le_bytes());
    let mut replay = Artefact::<ReplayFilter<GenerationWindow<CuckooFilter>>>::from_bytes(&replay)
        .unwrap()
        .filter;
    for id in 0..100u32 {
        let _ = replay.admit(&id).unwrap();
    }
    assert_eq!((replay.counts().passed, replay.counts().dropped), (u64::MAX, u64::MAX));
    assert!(replay.window().generation() < 10);
    assert!(replay.window().contains(&99u32).unwrap());

    let window = rebuilt(&made("window-bloom"), |parts| {
        put(&mut parts[0].bytes, LEN, &max);
        put(&mut parts[2].bytes, LEN, &max);
    });
    let mut window =
        Artefact::<GenerationWindow<GrowingFilter>>::from_bytes(&window).unwrap().filter;
    assert_eq!(window.stats().len, u64::MAX);
    let _ = window.insert("stranger").unwrap();
    assert!(window.contains("stranger").unwrap());
}
