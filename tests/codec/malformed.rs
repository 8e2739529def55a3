//! A table of files that are not what they should be, and the error that each must give.

use hapax::codec::{DecodeError, Kind, verify};
use xxhash_rust::xxh3::xxh3_64;

use crate::doors::{self, Doors};
use crate::flips::Aligned;
use crate::reseal::{
    Part, assemble, in_section, parts, patched, put, rebuilt, reseal, resealed, u64_at,
};
use crate::samples::{SAMPLES, sample};

// Sections by type and index.
const PARAMS: (u16, u16) = (1, 0);
const PARAMS_1: (u16, u16) = (1, 1);
const BODY: (u16, u16) = (2, 0);
const BODY_1: (u16, u16) = (2, 1);
const PROVENANCE: (u16, u16) = (3, 0);
const WINDOW: (u16, u16) = (4, 0);
const COUNTS: (u16, u16) = (5, 0);

// Offsets in the header, in a row of the table, and in the parameters.
const VERSION: usize = 8;
const KIND: usize = 10;
const SECTIONS: usize = 12;
const FILE_LEN: usize = 16;
const HASH: usize = 24;
const SEED: usize = 32;
const TABLE: usize = 64;
const PER_KEY: usize = 4;
const COUNTER_BITS: usize = 8;
const SALT: usize = 16;
const CAPACITY: usize = 24;
const LEN: usize = 32;
const FIRST: usize = 40;
const SECOND: usize = 48;

/// Which doors notice.
#[derive(Clone, Copy)]
enum Noticed {
    /// All of them.
    Everywhere,
    /// Reading and opening; every checksum is right, so `verify` finds nothing.
    OnOpening,
    /// The full check alone: parameters that contradict the body.
    OnReading,
}
use Noticed::{Everywhere, OnOpening, OnReading};

struct Row {
    name: &'static str,
    doors: Doors,
    bytes: Vec<u8>,
    noticed: Noticed,
    expected: DecodeError,
}

struct Table(Vec<Row>);

impl Table {
    fn row(
        &mut self,
        name: &'static str,
        doors: Doors,
        bytes: Vec<u8>,
        noticed: Noticed,
        expected: DecodeError,
    ) {
        self.0.push(Row { name, doors, bytes, noticed, expected });
    }

    fn check(self) {
        assert!(!self.0.is_empty());
        for Row { name, doors, bytes, noticed, expected } in self.0 {
            let bytes = Aligned::new(&bytes);
            let bytes = bytes.bytes();
            let error = (doors.rewrite)(bytes).expect_err(name);
            assert_eq!(error, expected, "{name}: read");
            let message = error.to_string();
            assert!(message.len() > 20 && !message.contains("  "), "{name}: {message}");
            if let Some(open) = doors.open {
                let refused = !matches!(noticed, OnReading);
                let expected = if refused { Err(expected.clone()) } else { Ok(()) };
                assert_eq!(open(bytes), expected, "{name}: opened");
            }
            let expected = if matches!(noticed, Everywhere) { Err(expected) } else { Ok(()) };
            assert_eq!(verify(bytes), expected, "{name}: verified");
        }
    }
}

fn made(name: &str) -> Vec<u8> {
    (sample(name).make)()
}

fn invalid(what: &'static str, expected: impl ToString, found: impl ToString) -> DecodeError {
    DecodeError::Invalid { what, expected: expected.to_string(), found: found.to_string() }
}

fn sections(expected: &str, found: &str) -> DecodeError {
    invalid("section table", expected, found)
}

#[test]
fn damaged_headers_are_refused() {
    let file = made("bloom");
    let any = doors::ANY;
    let mut table = Table(Vec::new());
    let mut row = |name, bytes, expected| table.row(name, any, bytes, Everywhere, expected);
    let le16 = u16::to_le_bytes;

    row("empty", Vec::new(), DecodeError::NotHapax { found: Vec::new() });
    row(
        "text",
        b"password1\nletmein\n".to_vec(),
        DecodeError::NotHapax { found: b"password".to_vec() },
    );
    let unix = patched(&file, 6, b"\n\n");
    row("line ends translated", unix.clone(), DecodeError::NotHapax { found: unix[..8].to_vec() });
    row("magic only", file[..8].to_vec(), DecodeError::Truncated { expected: 64, found: 8 });

    row("version 0", resealed(&file, VERSION, &le16(0)), invalid("format version", "1 or more", 0));
    let newer = |found| DecodeError::NewerVersion { supported: 1, found };
    row("version 2", resealed(&file, VERSION, &le16(2)), newer(2));
    row("version 65535, checksum unknown", patched(&file, VERSION, &le16(65535)), newer(65535));

    let unsealed = patched(&file, KIND, &le16(3));
    row(
        "header checksum",
        unsealed.clone(),
        DecodeError::Checksum {
            part: "header",
            expected: u64_at(&file, 56),
            found: xxh3_64(&unsealed[..56]),
        },
    );
    let unknown = |found| DecodeError::UnknownKind { found };
    row("kind 0", resealed(&file, KIND, &le16(0)), unknown(0));
    row("kind 4", resealed(&file, KIND, &le16(4)), unknown(4));
    row("kind 65535", resealed(&file, KIND, &le16(65535)), unknown(65535));

    let count = |found: u32| invalid("number of sections", "1 to 64", found);
    row("0 sections", patched_header(&file, SECTIONS, &[0]), count(0));
    row("65 sections", patched_header(&file, SECTIONS, &[65]), count(65));
    row("2³² − 1 sections", patched_header(&file, SECTIONS, &[255; 4]), count(u32::MAX));

    let reserved = || DecodeError::Reserved { part: "header" };
    row("reserved after the digest", resealed(&file, HASH + 2, &[1]), reserved());
    row("reserved after the seed", resealed(&file, SEED + 15, &[128]), reserved());
    let identity =
        |found: &str| invalid("hash identity", "xxh3-128, uniform or siphash-1-3-128", found);
    row(
        "no hash function",
        resealed(&file, HASH, &[0]),
        identity("function 0, digest 0, seed 0x0"),
    );
    row("hash function 4", resealed(&file, HASH, &[4]), identity("function 4, digest 0, seed 0x0"));
    row("xxh3 with a digest", resealed(&file, HASH, &[1, 1]), {
        identity("function 1, digest 1, seed 0x0")
    });
    row("uniform with a seed", resealed(&resealed(&file, HASH, &[2]), SEED, &[5]), {
        identity("function 2, digest 0, seed 0x5")
    });
    row("siphash with a digest", resealed(&file, HASH, &[3, 2]), {
        identity("function 3, digest 2, seed 0x0")
    });
    row("digest 3", resealed(&file, HASH, &[2, 3]), invalid("digest of the keys", "0, 1 or 2", 3));

    let mut trailer = file.clone();
    let end = trailer.len();
    put(&mut trailer, end - 16, &[0; 16]);
    row("complete mark missing", trailer, DecodeError::Incomplete);
    let mut trailer = file.clone();
    put(&mut trailer, end - 8, &[0; 8]);
    row("complete mark of another file", trailer, DecodeError::Incomplete);
    table.check();
}

/// The header changed and its own checksum made right, the rest left as it was.
fn patched_header(file: &[u8], at: usize, new: &[u8]) -> Vec<u8> {
    let mut file = patched(file, at, new);
    let checksum = xxh3_64(&file[..56]);
    put(&mut file, 56, &checksum.to_le_bytes());
    file
}

#[test]
fn damaged_section_tables_are_refused() {
    let file = made("bloom");
    let len = file.len() as u64;
    let mut table = Table(Vec::new());
    let mut row =
        |name, bytes, expected| table.row(name, doors::BLOOM, bytes, Everywhere, expected);
    let le = u64::to_le_bytes;
    // The three rows: parameters at 192 (64 bytes), body at 256 (48), provenance at 320.
    let (params, body, provenance) = (TABLE, TABLE + 32, TABLE + 64);
    assert_eq!(u64_at(&file, body + 8), 256);

    let unsealed = patched(&file, params + 16, &[65]);
    row(
        "table checksum",
        unsealed.clone(),
        DecodeError::Checksum {
            part: "section table",
            expected: u64_at(&file, 48),
            found: xxh3_64(&unsealed[64..160]),
        },
    );
    for (name, code) in [("section type 0", 0), ("section type 6", 6)] {
        row(name, resealed(&file, params, &[code, 0]), invalid("section type", "1 to 5", code));
    }
    row(
        "reserved in the table",
        resealed(&file, body + 4, &[0, 0, 0, 1]),
        DecodeError::Reserved { part: "section table" },
    );
    let offset = |expected, found| invalid("section offset", expected, found);
    row("body over the parameters", resealed(&file, body + 8, &le(192)), offset(256, 192));
    row("parameters in the table", resealed(&file, params + 8, &le(64)), offset(192, 64));
    row("gap before the body", resealed(&file, body + 8, &le(320)), offset(256, 320));
    row("body off the alignment", resealed(&file, body + 8, &le(264)), offset(256, 264));
    row("offset at the end of numbers", resealed(&file, body + 8, &le(u64::MAX)), {
        offset(256, u64::MAX)
    });
    row("body longer than the file", resealed(&file, body + 16, &le(1 << 20)), {
        offset(256 + (1 << 20), 320)
    });
    row("body that ends past 2⁶⁴", resealed(&file, body + 16, &le(u64::MAX - 7)), {
        invalid("section length", "less than the file", u64::MAX - 7)
    });
    row("body near 2⁶⁴", resealed(&file, body + 16, &le(u64::MAX - 263)), {
        invalid("section length", "less than the file", u64::MAX - 263)
    });
    row("body of 12 bytes", resealed(&file, body + 16, &le(12)), {
        invalid("length of the body", "a multiple of 8", 12)
    });
    row("parameters above the limit", resealed(&file, params + 16, &le((1 << 20) + 1)), {
        invalid("section length", "at most 1048576", (1 << 20) + 1)
    });
    row("provenance of 2⁶³", resealed(&file, provenance + 16, &le(1 << 63)), {
        invalid("section length", "at most 1048576", 1u64 << 63)
    });
    row("file length too small", resealed(&file, FILE_LEN, &le(16)), {
        invalid("file length", len, 16)
    });
    let padding = || DecodeError::Reserved { part: "padding between sections" };
    row("padding after the table", patched(&file, 160, &[1]), padding());
    row("padding after the body", patched(&file, 319, &[1]), padding());
    row("padding before the trailer", patched(&file, file.len() - 17, &[1]), padding());
    table.check();

    // A length that more bytes would have to follow is, to both doors, a file cut short.
    let longer = resealed(&file, FILE_LEN, &le(u64::MAX));
    let expected = invalid("file length", len, u64::MAX);
    assert_eq!((doors::BLOOM.rewrite)(&longer).unwrap_err(), expected);
    let expected = DecodeError::Truncated { expected: u64::MAX, found: len };
    assert_eq!(verify(&longer), Err(expected));
}

#[test]
fn missing_extra_and_misplaced_sections_are_refused() {
    let file = made("bloom");
    let replay = made("replay-cuckoo");
    let mut table = Table(Vec::new());
    let noticed = OnOpening;
    let mut row = |name, doors, bytes, expected| table.row(name, doors, bytes, noticed, expected);
    let without = |file: &[u8], id: (u16, u16)| {
        rebuilt(file, |parts| parts.retain(|part| (part.role, part.index) != id))
    };

    for doors in [doors::BLOOM, doors::ANY] {
        row("no parameters", doors, without(&file, PARAMS), {
            sections("parameters 0 next", "body 0")
        });
        row("no body", doors, without(&file, BODY), sections("body 0 next", "provenance 0"));
        row("no provenance", doors, without(&file, PROVENANCE), {
            sections("provenance 0 next", "the end")
        });
        let twice = rebuilt(&file, |parts| parts.insert(1, parts[0].clone()));
        row("parameters twice", doors, twice, sections("body 0 next", "parameters 0"));
        let twice = rebuilt(&file, |parts| parts.insert(2, parts[1].clone()));
        row("body twice", doors, twice, sections("provenance 0 next", "body 0"));
        let swapped = rebuilt(&file, |parts| parts.swap(0, 2));
        row("provenance first", doors, swapped, sections("parameters 0 next", "provenance 0"));
        let extra = Part { role: 5, index: 0, bytes: vec![0; 24] };
        let extra = rebuilt(&file, |parts| parts.push(extra));
        row("counts in a filter", doors, extra, sections("no more sections", "counts 0"));
        let renumbered = rebuilt(&file, |parts| parts[1].index = 1);
        row("body of another index", doors, renumbered, sections("body 0 next", "body 1"));
        let many = rebuilt(&file, |parts| parts.resize(64, parts[2].clone()));
        row("64 sections", doors, many, sections("no more sections", "provenance 0"));
    }
    let renumbered = rebuilt(&replay, |parts| parts[2].index = 2);
    row("second generation missing", doors::REPLAY, renumbered, {
        sections("parameters 1 next", "none")
    });
    row("no counts", doors::REPLAY, without(&replay, COUNTS), {
        sections("counts 0 next", "provenance 0")
    });
    row("no window state", doors::REPLAY, without(&replay, WINDOW), {
        sections("window 0 next", "counts 0")
    });
    row("a window where a filter was asked for", doors::REPLAY_WHOLE, replay, {
        sections("counts 0 next", "parameters 1")
    });
    row("a filter where a window was asked for", doors::REPLAY, made("replay-whole"), {
        sections("parameters 1 next", "none")
    });
    table.check();
}

#[test]
fn a_kind_that_was_not_asked_for_is_named() {
    let kinds = [
        (doors::BLOOM, "a Bloom filter", "bloom", Kind::Bloom),
        (doors::COUNTING, "a counting Bloom filter", "counting-4", Kind::Counting),
        (doors::CUCKOO, "a cuckoo filter", "cuckoo-8", Kind::Cuckoo),
        (doors::WINDOW, "a window of generations", "window-bloom", Kind::Window),
        (doors::REPLAY, "the state of a replay filter", "replay-cuckoo", Kind::Replay),
    ];
    let mut table = Table(Vec::new());
    for (doors, expected, name, _) in kinds {
        for (_, _, other, found) in kinds.iter().filter(|kind| kind.2 != name) {
            let error = DecodeError::WrongKind { expected, found: *found };
            table.row(name, doors, made(other), OnOpening, error);
        }
    }
    for (_, _, name, found) in &kinds[3..] {
        let error = DecodeError::WrongKind { expected: "a filter", found: *found };
        table.row(name, doors::ANY, made(name), OnOpening, error);
    }
    // The header says one kind, the parameters another.
    let file = made("bloom");
    let kind = |code: u16| in_section(&file, PARAMS, 0, &code.to_le_bytes());
    let contradiction = |found| invalid("kind in the parameters", "a Bloom filter", found);
    let row = |name, code, expected, table: &mut Table| {
        table.row(name, doors::ANY, kind(code), OnOpening, expected);
    };
    row("cuckoo within bloom", 3, contradiction("a cuckoo filter"), &mut table);
    row("window within bloom", 64, contradiction("a window of generations"), &mut table);
    row("unknown within bloom", 9, DecodeError::UnknownKind { found: 9 }, &mut table);
    table.check();
}

#[test]
fn impossible_parameters_are_refused() {
    let (bloom, counting, cuckoo) = (made("bloom"), made("counting-4"), made("cuckoo-13"));
    let le = u64::to_le_bytes;
    let mut table = Table(Vec::new());
    for (typed, file) in
        [(doors::BLOOM, &bloom), (doors::COUNTING, &counting), (doors::CUCKOO, &cuckoo)]
    {
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
fn counts_that_contradict_the_body_are_found_by_the_full_check() {
    let (bloom, counting, cuckoo) = (made("bloom"), made("counting-4"), made("cuckoo-13"));
    let le = u64::to_le_bytes;
    let stored = |file: &[u8], at| u64_at(&parts(file)[0].bytes, at);
    let mut table = Table(Vec::new());
    let mut row = |name, doors, file: &[u8], at, new: u64, what| {
        let found = stored(file, at);
        let bytes = in_section(file, PARAMS, at, &le(new));
        table.row(name, doors, bytes, OnReading, invalid(what, new, found));
    };
    let ones = stored(&bloom, FIRST);
    row("a one too many", doors::BLOOM, &bloom, FIRST, ones + 1, "number of set bits");
    row("no ones", doors::BLOOM, &bloom, FIRST, 0, "number of set bits");
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
    let mut table = Table(Vec::new());
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
        DecodeError::WrongKind { expected: "a filter", found: Kind::Window }
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
    let mut table = Table(Vec::new());
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

/// The table ends where the file ends, or the header claims a table that is not there.
#[test]
fn a_table_that_is_not_there_is_refused() {
    for sample in &SAMPLES {
        let file = (sample.make)();
        let head = patched_header(&file[..64], FILE_LEN, &64u64.to_le_bytes());
        let error = (sample.doors.rewrite)(&head).unwrap_err();
        assert_eq!(error, DecodeError::Truncated { expected: 64, found: 64 }, "{}", sample.name);
        let expected = 64 + 32 * parts(&file).len() as u64;
        assert_eq!(verify(&head), Err(DecodeError::Truncated { expected, found: 64 }));
    }
}

/// Counts at the end of their range are read, and counting on does not overflow.
#[test]
fn counts_at_their_end_stay_there() {
    use hapax::codec::Artefact;
    use hapax::prelude::*;
    use hapax::replay::{GenerationWindow, ReplayFilter};
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
    let mut window = Artefact::<GenerationWindow<AnyFilter>>::from_bytes(&window).unwrap().filter;
    assert_eq!(window.stats().len, u64::MAX);
    let _ = window.insert("stranger").unwrap();
    assert!(window.contains("stranger").unwrap());
}

/// The constants above are those of the files.
#[test]
fn sections_lie_where_the_table_above_says() {
    let ids = |name| -> Vec<(u16, u16)> {
        parts(&made(name)).iter().map(|part| (part.role, part.index)).collect()
    };
    assert_eq!(ids("bloom"), [PARAMS, BODY, PROVENANCE]);
    assert_eq!(ids("window-bloom"), [PARAMS, BODY, PARAMS_1, BODY_1, WINDOW, PROVENANCE]);
    assert_eq!(ids("replay-cuckoo"), [PARAMS, BODY, PARAMS_1, BODY_1, WINDOW, COUNTS, PROVENANCE]);
    let file = made("bloom");
    assert_eq!(reseal(assemble(&file, &parts(&file))), file);
}
