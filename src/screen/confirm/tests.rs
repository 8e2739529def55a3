//! Every row must be found, every stranger denied, and every list that cannot tell refused.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use proptest::prelude::*;

use super::*;
use crate::hash::KeyHash;
use crate::screen::PasswordDigest::{self, Nt, Sha1};
use crate::screen::list::{DetectError, RowFault};

struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }
}

/// The SHA-1 of a number, in hexadecimal.
fn sha1_hex(number: u32) -> String {
    crate::screen::digest::sha1_of(number.to_string().as_bytes()).iter().fold(
        String::new(),
        |mut text, byte| {
            let _ = write!(text, "{byte:02X}");
            text
        },
    )
}

fn key(number: u32) -> KeyHash {
    Sha1.key_of(number.to_string().as_bytes()).unwrap()
}

/// Rows of the numbers, sorted by hash: number and digits.
fn sorted(numbers: impl IntoIterator<Item = u32>) -> Vec<(u32, String)> {
    let mut rows: Vec<_> = numbers.into_iter().map(|number| (number, sha1_hex(number))).collect();
    rows.sort_by(|a, b| a.1.cmp(&b.1));
    rows
}

/// A count of one to eight digits.
fn count(number: u32) -> u64 {
    u64::from(number) * 7_919 % 10u64.pow(number % 8 + 1) + 1
}

/// A list of the numbers, with counts.
fn text(numbers: impl IntoIterator<Item = u32>, end: &str) -> String {
    let rows = sorted(numbers);
    rows.iter()
        .map(|(number, hex)| format!("{hex}:{}{end}", count(*number)))
        .collect::<Vec<_>>()
        .concat()
}

fn open(path: &Path) -> Result<ConfirmList, ConfirmFault> {
    ConfirmList::open(path, Sha1).map_err(|error| error.fault)
}

#[track_caller]
fn assert_finds(
    list: &ConfirmList,
    members: std::ops::Range<u32>,
    strangers: std::ops::Range<u32>,
) {
    for number in members.clone() {
        let expected = Confirmation::Listed { count: Some(count(number)) };
        assert_eq!(list.find(key(number)), Ok(expected), "{number} of {members:?}");
    }
    for number in strangers.clone() {
        assert_eq!(list.find(key(number)), Ok(Confirmation::NotListed), "{number}");
    }
    // All at once, mixed, says the same.
    let asked: Vec<KeyHash> = members.clone().chain(strangers.clone()).map(key).collect();
    let mut found = vec![Confirmation::NotListed; asked.len()];
    list.find_batch(&asked, &mut found).unwrap();
    for (number, found) in members.clone().zip(&found) {
        assert_eq!(*found, Confirmation::Listed { count: Some(count(number)) }, "{number}");
    }
    assert!(found[members.len()..].iter().all(|found| *found == Confirmation::NotListed));
}

#[test]
fn every_row_of_short_lists_is_found_whatever_ends_the_rows() {
    let folder = Folder::new();
    for len in 0..=20 {
        for end in ["\n", "\r\n"] {
            let whole = text(0..len, end);
            let unended = whole.strip_suffix(end).unwrap_or(&whole);
            let marked: String = whole
                .split_inclusive('\n')
                .map(|row| format!("\u{feff}{row}{end}"))
                .collect::<Vec<_>>()
                .concat();
            let lower = whole.to_lowercase();
            for content in [&whole, unended, &marked, &lower, &format!("{end}{end}{whole}{end}")] {
                let path = folder.file("list.txt", content);
                if len == 0 {
                    assert_eq!(open(&path).unwrap_err(), ConfirmFault::Empty);
                } else {
                    let list = open(&path).unwrap();
                    assert_finds(&list, 0..len, 1_000..1_050);
                }
            }
        }
    }
}

#[test]
fn every_row_of_long_lists_is_found() {
    let folder = Folder::new();
    // Around one block, around the size that is read whole, and many blocks.
    for (len, end) in [(92, "\n"), (93, "\n"), (1_400, "\r\n"), (1_430, "\n"), (30_000, "\r\n")] {
        let path = folder.file("list.txt", text(0..len, end));
        let list = open(&path).unwrap();
        let estimated = list.estimate_rows() as f64;
        assert!((estimated / f64::from(len) - 1.0).abs() < 0.03, "{estimated} of {len}");
        assert_finds(&list, 0..len, 100_000..100_500);
    }
}

#[test]
fn rows_without_counts_and_counts_of_any_shape_are_read() {
    let folder = Folder::new();
    let rows = sorted(0..5);
    for (tail, expected) in [
        ("", None),
        (":2,203", Some(2_203)),
        (":99999999999", Some(99_999_999_999)),
        (":18446744073709551616", Some(u64::MAX)),
        (":100", Some(100)),
    ] {
        let content: String =
            rows.iter().map(|(_, hex)| format!("{hex}{tail}\n")).collect::<Vec<_>>().concat();
        let list = open(&folder.file("list.txt", content)).unwrap();
        let listed = Confirmation::Listed { count: expected };
        assert_eq!(list.find(key(3)), Ok(listed), "{tail}");
        let list = list.with_min_count(50);
        let found = list.find(key(3)).map_err(|error| error.fault);
        let no_count = Err(ConfirmFault::NoCount { min_count: 50 });
        assert_eq!(found, expected.map_or(no_count, |_| Ok(listed)));
        assert_eq!(list.find(key(9)), Ok(Confirmation::NotListed));
    }
    let list = open(&folder.file("list.txt", text(0..1_000, "\n"))).unwrap().with_min_count(1_000);
    for number in 0..1_000 {
        let count = count(number);
        let expected = if count < 1_000 {
            Confirmation::Rare { count }
        } else {
            Confirmation::Listed { count: Some(count) }
        };
        assert_eq!(list.find(key(number)), Ok(expected));
    }
}

#[test]
fn several_rows_of_a_hash_are_one_and_a_count_of_zero_is_listed() {
    let folder = Folder::new();
    let mut rows = Vec::new();
    for (number, hex) in sorted(0..3_000) {
        rows.push(format!("{hex}:{}\n", count(number)));
        if number % 3 == 0 {
            rows.push(format!("{hex}:{}\n", count(number) + 5));
        }
        if number % 7 == 0 {
            rows.push(format!("{hex}:0\n"));
        }
    }
    let list = open(&folder.file("list.txt", rows.concat())).unwrap();
    for number in 0..3_000 {
        let count = Some(count(number) + if number % 3 == 0 { 5 } else { 0 });
        assert_eq!(list.find(key(number)), Ok(Confirmation::Listed { count }), "{number}");
    }
    let zeros: String =
        sorted(0..10).iter().map(|(_, hex)| format!("{hex}:0\n")).collect::<Vec<_>>().concat();
    let mut list = open(&folder.file("list.txt", zeros)).unwrap();
    for (min_count, expected) in [
        (0, Confirmation::Listed { count: Some(0) }),
        (1, Confirmation::Listed { count: Some(0) }),
        (2, Confirmation::Rare { count: 0 }),
    ] {
        list = list.with_min_count(min_count);
        for number in 0..10 {
            assert_eq!(list.find(key(number)), Ok(expected));
        }
        assert_eq!(list.find(key(10)), Ok(Confirmation::NotListed));
    }
}

#[test]
fn lists_that_are_not_sorted_are_refused() {
    let folder = Folder::new();
    let not_sorted = |content: String| {
        let fault = open(&folder.file("list.txt", content)).unwrap_err();
        assert!(matches!(fault, ConfirmFault::NotSorted { .. }), "{fault}");
    };
    // By count, as numbers come; descending; two lists one after the other.
    for len in [2, 20, 2_000, 20_000] {
        not_sorted(
            (0..len).map(|number| format!("{}:9\n", sha1_hex(number))).collect::<Vec<_>>().concat(),
        );
        not_sorted(
            sorted(0..len)
                .iter()
                .rev()
                .map(|(_, hex)| format!("{hex}:9\n"))
                .collect::<Vec<_>>()
                .concat(),
        );
        not_sorted(text(0..len, "\n") + &text(0..len, "\n"));
    }
    // One block that opening does not look at: what lies there is refused when it is asked for.
    let mut rows: Vec<String> =
        text(0..20_000, "\n").lines().map(|row| format!("{row}\n")).collect();
    rows[10_200..10_500].reverse();
    let list = open(&folder.file("list.txt", rows.concat())).unwrap();
    let (mut refused, mut found) = (0, 0);
    for number in 0..20_000 {
        match list.find(key(number)) {
            Ok(Confirmation::Listed { .. }) => found += 1,
            Err(ConfirmError {
                fault: ConfirmFault::NotSorted { .. } | ConfirmFault::Gap, ..
            }) => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!(refused >= 299 && found > 19_000, "{refused} {found}");
}

#[test]
fn a_row_is_found_between_many_that_are_blank_and_among_its_likes() {
    let folder = Folder::new();
    let rows = sorted(0..5_000);
    for (blank, likes) in [(6_000, 1), (0, 500), (6_000, 500)] {
        let mut content = String::new();
        for (at, (_, hex)) in rows.iter().enumerate() {
            let odd = at % 1_000 == 500;
            if odd {
                content += &"\n".repeat(blank);
            }
            for like in 1..=if odd { likes } else { 1 } {
                let _ = writeln!(content, "{hex}:{like}");
            }
            if odd {
                content += &"\n".repeat(blank);
            }
        }
        let list = open(&folder.file("list.txt", content)).unwrap();
        for (at, &(number, _)) in rows.iter().enumerate() {
            let count = Some(if at % 1_000 == 500 { likes } else { 1 });
            let found = list.find(key(number));
            assert_eq!(found, Ok(Confirmation::Listed { count }), "{at} {blank} {likes}");
        }
    }
}

#[test]
fn rows_of_the_other_hash_and_damaged_rows_are_refused() {
    let folder = Folder::new();
    let nt: String = sorted(0..5_000)
        .iter()
        .map(|(_, hex)| format!("{}:1\n", &hex[..32]))
        .collect::<Vec<_>>()
        .concat();
    let path = folder.file("nt.txt", &nt);
    let other = RowFault::OtherDigest { expected: Sha1, found: Nt };
    assert_eq!(open(&path).unwrap_err(), ConfirmFault::Row { offset: Some(0), fault: other });
    let list = ConfirmList::open(&path, Nt).unwrap();
    let hash = Nt.key_from_hex(&nt.as_bytes()[..32]).unwrap();
    assert_eq!(list.find(hash), Ok(Confirmation::Listed { count: Some(1) }));

    // One such row among the others, and other damage: an answer near it is refused.
    for damage in ["zz", ":", "\0\0", " "] {
        let mut content = text(0..5_000, "\n").into_bytes();
        let at = content.iter().position(|&byte| byte == b'\n').unwrap() + 8;
        content[at..at + damage.len()].copy_from_slice(damage.as_bytes());
        let fault = open(&folder.file("list.txt", content)).unwrap_err();
        assert!(matches!(fault, ConfirmFault::Row { .. }), "{damage:?}: {fault}");
    }
    let mut content = text(0..5_000, "\n").into_bytes();
    // Half of the last row is cut off, and its neighbour's end with it.
    content.truncate(content.len() - 60);
    let fault = open(&folder.file("list.txt", content)).unwrap_err();
    assert!(matches!(fault, ConfirmFault::Row { .. }), "{fault}");
}

#[test]
fn a_part_of_a_list_answers_only_where_it_has_rows() {
    let folder = Folder::new();
    let rows: Vec<_> = sorted(0..6_000);
    let quarter = rows.len() / 4;
    for (name, kept) in [
        ("head", [0..3 * quarter, 0..0]),
        ("tail", [quarter..rows.len(), 0..0]),
        ("ends", [0..quarter, 2 * quarter..rows.len()]),
    ] {
        let part: Vec<_> = kept.iter().flat_map(|range| &rows[range.clone()]).collect();
        let content: String = part
            .iter()
            .map(|(n, hex)| format!("{hex}:{}\n", count(*n)))
            .collect::<Vec<_>>()
            .concat();
        let list = open(&folder.file(name, content)).unwrap();
        let (mut found, mut gaps) = (0, 0);
        for (number, _) in &rows {
            match list.find(key(*number)) {
                Ok(Confirmation::Listed { .. }) => found += 1,
                Err(ConfirmError { fault: ConfirmFault::Gap, .. }) => gaps += 1,
                other => panic!("{name}: {other:?}"),
            }
        }
        assert_eq!((found, gaps), (part.len(), rows.len() - part.len()), "{name}");
    }
}

#[test]
fn what_is_no_list_is_refused() {
    let folder = Folder::new();
    let open = |content: &[u8]| open(&folder.file("list.txt", content)).unwrap_err();
    assert_eq!(open(b""), ConfirmFault::Empty);
    assert_eq!(open(b"\n\r\n\n"), ConfirmFault::Empty);
    let gzip = ConfirmFault::Foreign(DetectError::Compressed { format: "gzip" });
    assert_eq!(open(b"\x1f\x8b\x08\0\0\0"), gzip);
    assert!(matches!(open(b"password\nletmein\n"), ConfirmFault::Row { offset: Some(0), .. }));
    assert!(matches!(open(&vec![b'A'; 1 << 20]), ConfirmFault::Row { .. }));
    assert!(matches!(open(&vec![b'\n'; 8 << 20]), ConfirmFault::Empty));
    let mut zeroed = text(0..20_000, "\n").into_bytes();
    zeroed[4_096..8_192].fill(0);
    let list = ConfirmList::open(folder.file("list.txt", zeroed), Sha1).unwrap();
    let unknown = (0..20_000).filter(|&number| list.find(key(number)).is_err()).count();
    assert!((95..400).contains(&unknown), "{unknown}");
    let missing = ConfirmList::open(folder.0.path().join("none"), Sha1).unwrap_err();
    assert!(matches!(missing.fault, ConfirmFault::Read(_)), "{missing}");
    assert!(missing.path.is_absolute());
}

#[test]
fn a_list_that_shrinks_is_refused() {
    let folder = Folder::new();
    let path = folder.file("list.txt", text(0..20_000, "\n"));
    let list = open(&path).unwrap();
    std::fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(100).unwrap();
    assert_eq!(list.find(key(0)).unwrap_err().fault, ConfirmFault::Shrunk);
}

/// Writes range files of the numbers in the ranges that opening looks at, and in two more.
fn ranges(folder: &Folder, name: impl Fn(&str) -> String, content: impl Fn(&str) -> String) {
    for range in ["2AAAA", "55555", "AAAAA", "D5555", "00000", "FFFFF"] {
        folder.file(&name(range), content(range));
    }
}

/// The digits of a made-up row in a range.
fn suffix(row: u32, digest: PasswordDigest) -> String {
    let digits = sha1_hex(row);
    digits[5..digest.hex_digits()].to_owned()
}

/// Two thousand rows as the service sends them, in whatever order, with no newline at the end.
fn served(digest: PasswordDigest) -> impl Fn(&str) -> String {
    move |_| {
        let rows = (0..2_000).map(|row| format!("{}:{}", suffix(row, digest), count(row)));
        let mut rows: Vec<_> = rows.chain([format!("{}:0", suffix(9_999, digest))]).collect();
        rows.sort();
        rows.join("\r\n")
    }
}

#[track_caller]
fn assert_finds_in_ranges(list: &ConfirmList, digest: PasswordDigest) {
    let mut asked = Vec::new();
    for range in ["2AAAA", "FFFFF"] {
        for row in (0..2_000).step_by(101).chain([1_999, 9_998, 9_999]) {
            let digits = format!("{range}{}", suffix(row, digest));
            let expected = match row {
                0..2_000 => Confirmation::Listed { count: Some(count(row)) },
                9_999 => Confirmation::Listed { count: Some(0) },
                _ => Confirmation::NotListed,
            };
            let hash = digest.key_from_hex(digits.as_bytes()).unwrap();
            assert_eq!(list.find(hash), Ok(expected), "{range} {row}");
            asked.push((hash, expected));
        }
    }
    let (hashes, expected): (Vec<_>, Vec<_>) = asked.into_iter().unzip();
    let mut found = vec![Confirmation::NotListed; hashes.len()];
    list.find_batch(&hashes, &mut found).unwrap();
    assert_eq!(found, expected);
}

#[test]
fn range_files_are_found_in_every_layout() {
    let names: [fn(&str) -> String; 9] = [
        |range| range.to_owned(),
        |range| format!("{range}.txt"),
        |range| range.to_lowercase(),
        |range| format!("{}/{range}", &range[..2]),
        |range| format!("{}/{}", &range[..2], &range[2..]),
        |range| format!("sha1/{}/{}/{range}", &range[..2], &range[2..4]).to_lowercase(),
        |range| format!("{}/{}/{}/{range}", &range[..1], &range[1..2], &range[2..3]),
        |range| format!("{}/{}/{}/{range}.txt", &range[..1], &range[1..2], &range[2..3]),
        |range| format!("{}/{}.txt", &range[..2], &range[2..]),
    ];
    for name in names {
        let folder = Folder::new();
        ranges(&folder, name, served(Sha1));
        // What lies beside them is not looked at.
        folder.file("sha1.index", "07F07:0x8D\n");
        let list = ConfirmList::open(folder.0.path(), Sha1).unwrap();
        assert_finds_in_ranges(&list, Sha1);
        assert_eq!(list.estimate_rows(), 2_000 << 20);
    }
    let folder = Folder::new();
    ranges(&folder, |range| format!("ntlm/{range}.txt"), served(Nt));
    assert_finds_in_ranges(&ConfirmList::open(folder.0.path(), Nt).unwrap(), Nt);
    let fault = ConfirmList::open(folder.0.path().join("ntlm"), Sha1).unwrap_err().fault;
    let ConfirmFault::Row { fault: RowFault::OtherSuffix { .. }, .. } = fault else {
        panic!("{fault}")
    };
}

#[test]
fn range_files_may_be_unsorted_marked_tagged_and_end_in_a_newline() {
    for change in [
        |text: String| text.to_lowercase(),
        |text: String| format!("\u{feff}{text}\n"),
        |text: String| format!("W/\"0x8DD2\"\n{}", text.replace("\r\n", "\n")),
        |text: String| {
            let rows: Vec<_> = text.lines().rev().collect();
            rows.join("\n\n")
        },
    ] {
        let folder = Folder::new();
        ranges(&folder, str::to_owned, |range| change(served(Sha1)(range)));
        assert_finds_in_ranges(&ConfirmList::open(folder.0.path(), Sha1).unwrap(), Sha1);
    }
}

/// As the downloaders that compress leave them: with lines of either end, and one of them with the
/// entity tag in front.
#[cfg(feature = "compressed")]
#[test]
fn range_files_may_be_compressed() {
    use std::io::Write as _;

    type Name = fn(&str) -> String;
    type Dress = fn(String) -> Vec<u8>;
    let gzip: Dress = |text| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let bzip2: Dress = |text| {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all((text.replace("\r\n", "\n") + "\n").as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let zstd: Dress = |text| {
        let mut out = zstd::Encoder::new(Vec::new(), 1).unwrap();
        // Optional in this format, and written by that downloader.
        out.include_checksum(true).unwrap();
        out.write_all(format!("\"0x8DCE\"\n{text}").as_bytes()).unwrap();
        out.finish().unwrap()
    };
    // Something for other programs in front.
    let framed: Dress = |text| {
        let note = b"\x50\x2a\x4d\x18\x04\0\0\0note".to_vec();
        let mut out = zstd::Encoder::new(note, 1).unwrap();
        out.include_checksum(true).unwrap();
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let names: [(Name, Dress); 4] = [
        (|range| format!("sha1/{}/{}/{range}.gz", &range[..2], &range[2..4]).to_lowercase(), gzip),
        (|range| format!("{}/{}/{}/{range}.bz2", &range[..1], &range[1..2], &range[2..3]), bzip2),
        (|range| format!("{}/{}", &range[..2], &range[2..]), zstd),
        (|range| format!("{range}.zstd"), framed),
    ];
    for (name, dress) in names {
        let folder = Folder::new();
        for range in ["2AAAA", "55555", "AAAAA", "D5555", "00000", "FFFFF"] {
            folder.file(&name(range), dress(served(Sha1)(range)));
        }
        let whole = dress(served(Sha1)(""));
        folder.file(&name("12345"), &whole[..whole.len() * 2 / 3]);
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 0x10;
        folder.file(&name("23456"), flipped);
        // A few bytes that become more than a range can have.
        folder.file(&name("34567"), dress("\n".repeat(17 << 20)));
        folder.file(&name("45678"), dress(String::new()));
        let list = ConfirmList::open(folder.0.path(), Sha1).unwrap();
        assert_finds_in_ranges(&list, Sha1);
        assert_eq!(list.estimate_rows(), 2_000 << 20);
        for (range, expected) in [
            ("12345", ConfirmFault::Damaged),
            ("23456", ConfirmFault::Damaged),
            ("34567", ConfirmFault::TooLarge { limit: 16 << 20 }),
            ("45678", ConfirmFault::Empty),
        ] {
            let digits = format!("{range}{}", "E".repeat(35));
            let found = list.find(Sha1.key_from_hex(digits.as_bytes()).unwrap());
            let expected = ConfirmFault::Range(Box::new(expected));
            assert_eq!(found.map_err(|error| error.fault), Err(expected), "{}", name(range));
        }
    }
}

#[test]
fn a_range_that_is_not_there_is_unknown() {
    let folder = Folder::new();
    ranges(&folder, str::to_owned, served(Sha1));
    folder.file("12345", "");
    folder.file("23456", "not a row");
    folder.file("34567", b"\xfd7zXZ\0\0\0\0\0");
    // The first half of a range.
    let rows = served(Sha1)("");
    folder.file("45678", rows.split_inclusive('\n').take(900).collect::<String>());
    let list = ConfirmList::open(folder.0.path(), Sha1).unwrap();
    folder.file("56789", (0..9).map(|row| suffix(row, Sha1) + ":0\n").collect::<String>());
    folder.file("6789A", format!("{}:\n{rows}", suffix(5_000, Sha1)));
    folder.file("789AB", format!("\n{}:1\n{rows}", &suffix(5_000, Sha1)[1..]));
    folder.file("89ABC", format!("{}:1\r\r\n{rows}", suffix(5_000, Sha1)));
    folder.file("9ABCD", format!("0x{}:1\n{rows}", &suffix(5_000, Sha1)[2..]));
    let find = |digits: &str| {
        let padded = format!("{digits}{}", "E".repeat(40 - digits.len()));
        let error = list.find(Sha1.key_from_hex(padded.as_bytes()).unwrap()).unwrap_err();
        // Which range it was would be the first 20 bits of the hash.
        assert_eq!(error.path, std::path::absolute(folder.0.path()).unwrap());
        let shown = format!("{} {:?}", error.fault, error.fault);
        assert!(!shown.to_uppercase().contains(digits), "{shown}");
        let ConfirmFault::Range(fault) = error.fault else { panic!("{error}") };
        *fault
    };
    assert!(matches!(find("00001"), ConfirmFault::Read(_)));
    assert!(find("00001").to_string().contains("cannot be read: No such file"));
    assert_eq!(find("12345"), ConfirmFault::Empty);
    assert!(matches!(find("23456"), ConfirmFault::Row { offset: None, .. }));
    assert!(matches!(find("34567"), ConfirmFault::Foreign(DetectError::Compressed { .. })));
    assert_eq!(find("45678"), ConfirmFault::Gap);
    // Padding alone, a row without its count, one that lacks a digit, one that ends twice, and one that
    // starts like an entity tag.
    assert_eq!(find("56789"), ConfirmFault::Empty);
    assert!(matches!(find("6789A"), ConfirmFault::Row { fault: RowFault::Count, .. }));
    assert!(matches!(find("789AB"), ConfirmFault::Row { fault: RowFault::NoSuffix { .. }, .. }));
    assert!(matches!(find("89ABC"), ConfirmFault::Row { fault: RowFault::Count, .. }));
    assert!(matches!(find("9ABCD"), ConfirmFault::Row { fault: RowFault::NoSuffix { .. }, .. }));

    let empty = Folder::new();
    let fault = ConfirmList::open(empty.0.path(), Sha1).unwrap_err().fault;
    assert_eq!(fault, ConfirmFault::NoRanges);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Any list, any question: what a set of hashes would say.
    #[test]
    fn answers_are_those_of_a_set(
        members in prop::collection::btree_set(0..3_000u32, 1..1_500),
        asked in prop::collection::vec(0..3_000u32, 1..200),
    ) {
        let folder = Folder::new();
        let list = open(&folder.file("list.txt", text(members.iter().copied(), "\n"))).unwrap();
        let hashes: Vec<_> = asked.iter().copied().map(key).collect();
        let mut found = vec![Confirmation::NotListed; asked.len()];
        list.find_batch(&hashes, &mut found).unwrap();
        for ((number, hash), found) in asked.iter().zip(hashes).zip(found) {
            let expected = if members.contains(number) {
                Confirmation::Listed { count: Some(count(*number)) }
            } else {
                Confirmation::NotListed
            };
            prop_assert_eq!(found, expected);
            prop_assert_eq!(list.find(hash), Ok(expected));
        }
    }

    /// No bytes make it panic, loop, or find what is not there.
    #[test]
    fn any_bytes_are_refused_or_searched(content in prop::collection::vec(any::<u8>(), 0..20_000)) {
        let folder = Folder::new();
        if let Ok(list) = open(&folder.file("list.txt", content)) {
            let found = matches!(list.find(key(1)), Ok(Confirmation::Listed { .. }));
            prop_assert!(!found);
        }
    }
}
