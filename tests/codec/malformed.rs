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
pub(crate) const PARAMS: (u16, u16) = (1, 0);
pub(crate) const PARAMS_1: (u16, u16) = (1, 1);
pub(crate) const BODY: (u16, u16) = (2, 0);
const BODY_1: (u16, u16) = (2, 1);
pub(crate) const PROVENANCE: (u16, u16) = (3, 0);
pub(crate) const WINDOW: (u16, u16) = (4, 0);
pub(crate) const COUNTS: (u16, u16) = (5, 0);
pub(crate) const SHARDS: (u16, u16) = (6, 0);
pub(crate) const EPOCHS: (u16, u16) = (7, 0);

// Offsets in the header, in a row of the table, and in the parameters.
const VERSION: usize = 8;
const KIND: usize = 10;
const SECTIONS: usize = 12;
const FILE_LEN: usize = 16;
const HASH: usize = 24;
const SEED: usize = 32;
const TABLE: usize = 64;
pub(crate) const PER_KEY: usize = 4;
pub(crate) const COUNTER_BITS: usize = 8;
pub(crate) const SALT: usize = 16;
pub(crate) const CAPACITY: usize = 24;
pub(crate) const LEN: usize = 32;
pub(crate) const FIRST: usize = 40;
pub(crate) const SECOND: usize = 48;

/// Which doors notice.
#[derive(Clone, Copy)]
pub(crate) enum Noticed {
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

pub(crate) struct Table(Vec<Row>);

impl Table {
    pub(crate) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(crate) fn row(
        &mut self,
        name: &'static str,
        doors: Doors,
        bytes: Vec<u8>,
        noticed: Noticed,
        expected: DecodeError,
    ) {
        self.0.push(Row { name, doors, bytes, noticed, expected });
    }

    pub(crate) fn check(self) {
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

pub(crate) fn made(name: &str) -> Vec<u8> {
    (sample(name).make)()
}

pub(crate) fn invalid(
    what: &'static str,
    expected: impl ToString,
    found: impl ToString,
) -> DecodeError {
    DecodeError::Invalid { what, expected: expected.to_string(), found: found.to_string() }
}

fn sections(expected: &str, found: &str) -> DecodeError {
    invalid("section table", expected, found)
}

#[test]
fn damaged_headers_are_refused() {
    let file = made("bloom");
    let any = doors::ANY;
    let mut table = Table::new();
    let mut row = |name, bytes, expected| table.row(name, any, bytes, Everywhere, expected);
    let le16 = u16::to_le_bytes;

    row("empty", Vec::new(), DecodeError::Empty);
    row("text", b"password1\nletmein\n".to_vec(), DecodeError::NotHapax);
    let unix = patched(&file, 6, b"\n\n");
    row("line ends translated", unix.clone(), DecodeError::NotHapax);
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
    row("kind 63", resealed(&file, KIND, &le16(63)), unknown(63));
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
    let mut table = Table::new();
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
    for (name, code) in [("section type 0", 0), ("section type 8", 8)] {
        row(name, resealed(&file, params, &[code, 0]), invalid("section type", "1 to 7", code));
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
    let mut table = Table::new();
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
        (doors::BLOCKED, "a blocked Bloom filter", "blocked", Kind::Blocked),
        (doors::WORD, "a word-blocked Bloom filter", "word", Kind::Word),
        (doors::FUSE, "a binary fuse filter", "fuse-8", Kind::BinaryFuse),
        (doors::RETIRING, "a retiring cuckoo filter", "retiring", Kind::Retiring),
        (doors::WINDOW, "a window of generations", "window-bloom", Kind::Window),
        (doors::REPLAY, "the state of a replay filter", "replay-cuckoo", Kind::Replay),
    ];
    let mut table = Table::new();
    for (doors, expected, name, _) in kinds {
        for (_, _, other, found) in kinds.iter().filter(|kind| kind.2 != name) {
            let error = DecodeError::WrongKind { expected, found: *found };
            table.row(name, doors, made(other), OnOpening, error);
        }
    }
    for (_, _, name, found) in &kinds[7..] {
        let error = DecodeError::WrongKind { expected: "a filter", found: *found };
        table.row(name, doors::ANY, made(name), OnOpening, error);
    }
    let static_filter =
        DecodeError::WrongKind { expected: "a filter that takes keys", found: Kind::BinaryFuse };
    table.row("growing", doors::GROWING, made("fuse-8"), OnOpening, static_filter);
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

/// The constants above are those of the files.
#[test]
fn sections_lie_where_the_table_above_says() {
    let ids = |name| -> Vec<(u16, u16)> {
        parts(&made(name)).iter().map(|part| (part.role, part.index)).collect()
    };
    assert_eq!(ids("bloom"), [PARAMS, BODY, PROVENANCE]);
    assert_eq!(ids("window-bloom"), [PARAMS, BODY, PARAMS_1, BODY_1, WINDOW, PROVENANCE]);
    assert_eq!(ids("replay-cuckoo"), [PARAMS, BODY, PARAMS_1, BODY_1, WINDOW, COUNTS, PROVENANCE]);
    assert_eq!(ids("fuse-8"), [PARAMS, BODY, SHARDS, PROVENANCE]);
    assert_eq!(ids("retiring"), [PARAMS, BODY, EPOCHS, PROVENANCE]);
    assert_eq!(ids("replay-retiring"), [PARAMS, BODY, EPOCHS, COUNTS, PROVENANCE]);
    let file = made("bloom");
    assert_eq!(reseal(assemble(&file, &parts(&file))), file);
}
