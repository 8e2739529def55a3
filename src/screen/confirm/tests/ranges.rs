//! Folders of range files.

use super::*;

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

/// Whoever opens a pipe that nobody writes to waits for ever: this test would not end.
#[cfg(unix)]
#[test]
fn pipes_are_refused_and_not_waited_for() {
    let folder = Folder::new();
    let pipe = |name: &str| {
        let path = folder.0.path().join(name);
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        path
    };
    let error = ConfirmList::open(pipe("list"), Sha1).unwrap_err();
    assert_eq!(error.fault, ConfirmFault::NotAFile);
    ranges(&folder, str::to_owned, served(Sha1));
    pipe("12345");
    let list = ConfirmList::open(folder.0.path(), Sha1).unwrap();
    let hash = Sha1.key_from_hex(format!("12345{}", "E".repeat(35)).as_bytes()).unwrap();
    let fault = list.find(hash).unwrap_err().fault;
    assert_eq!(fault, ConfirmFault::Range(Box::new(ConfirmFault::NotAFile)));
}
