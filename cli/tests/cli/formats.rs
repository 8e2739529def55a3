//! Lists as they are found: every layout of a downloader, every fault that has made another tool
//! lose entries without a word. In each case every row is listed afterwards, or the build stops with
//! status 2 and writes nothing.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use hapax::screen::digest::{nt_of, sha1_of};

use crate::common::{Folder, Ran, run};

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]).map(digit).collect()
}

fn digit(nibble: u8) -> char {
    char::from(b"0123456789ABCDEF"[usize::from(nibble)])
}

fn sha1(password: &str) -> String {
    hex(&sha1_of(password.as_bytes()))
}

/// Hashes of some numbers, sorted.
fn hashes(len: u32) -> Vec<String> {
    let mut hashes: Vec<_> = (0..len).map(|i| sha1(&i.to_string())).collect();
    hashes.sort();
    hashes
}

/// Builds from this list and expects it to work.
#[track_caller]
fn built(folder: &Folder, list: &Path, more: &[&str]) -> (PathBuf, Ran) {
    let output = folder.path().join("built.hapax");
    let ran = run(["build", text(list), "-f", "-o", text(&output)].iter().chain(more), "");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    (output, ran)
}

/// Expects that nothing is built from this list, and returns what is said.
#[track_caller]
fn refused(folder: &Folder, list: &Path, more: &[&str]) -> String {
    let output = folder.path().join("refused.hapax");
    let ran = run(["build", text(list), "-o", text(&output)].iter().chain(more), "");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    assert!(!output.exists(), "{}", ran.stderr);
    ran.stderr
}

/// Expects that all of these hashes, and no other rows, are listed.
#[track_caller]
fn assert_listed(filter: &Path, hashes: &[String], kind: &str) {
    let ran = run(["check", text(filter), "-i", kind, "-c"], hashes.join("\n"));
    assert_eq!(ran.stdout.trim(), hashes.len().to_string(), "{}", ran.stderr);
    let ran = run(["info", text(filter), "--json"], "");
    let info: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(info["rows_added"], hashes.len());
}

#[test]
fn rows_are_read_however_they_are_written() {
    let folder = Folder::new();
    let hashes = hashes(50);
    let row = |(index, hash): (usize, &String)| match index % 7 {
        0 => format!("\u{feff}{hash}:{index}1\r\n"),
        1 => format!("{}:2,203\n", hash.to_lowercase()),
        2 => format!("{hash}:99999999999999999999999\r\n"),
        3 => format!("{hash}\n"),
        4 => format!("\r\n{hash}:100\n\n"),
        5 => format!("{}:0\r\n{hash}:1\r\n", sha1("padding")),
        _ => format!("{hash}:1"),
    };
    let rows: Vec<String> = hashes.iter().enumerate().map(row).collect();
    // The seventh row of each has no end of its own: its newline comes with the next one, or never.
    let list = rows.concat().replace(":1\u{feff}", ":1\n\u{feff}");
    let list = folder.file("list.txt", list);
    let (filter, ran) = built(&folder, &list, &[]);
    assert_listed(&filter, &hashes, "sha1");
    assert!(ran.stderr.contains("7 with a count of 0"), "{}", ran.stderr);
    let listed = run(["check", text(&filter), "-i", "sha1", "-c"], sha1("padding"));
    assert_eq!(listed.status, Some(1), "{}", listed.stderr);
    let (filter, _) = built(&folder, &list, &["--zero-count", "keep"]);
    let listed = run(["check", text(&filter), "-i", "sha1", "-c"], sha1("padding"));
    assert_eq!(listed.status, Some(0), "{}", listed.stderr);
}

/// One row of each fault at the third place of a good list: named with list, row and place.
#[test]
fn rows_of_another_shape_stop_the_build_with_their_place() {
    let folder = Folder::new();
    let good = hashes(2).join(":3\r\n") + ":3\r\n";
    for (row, expected) in [
        (hex(&nt_of(b"password").unwrap()), "expected 40 hexadecimal digits (SHA-1), found 32"),
        ("ABC:1".into(), "expected 40 hexadecimal digits"),
        ("Z".repeat(40), "expected 40 hexadecimal digits"),
        (format!("{}:-1", sha1("a")), "expected a colon and a count"),
        (format!("{}:1,2", sha1("a")), "expected a colon and a count"),
        (format!("{}\0", sha1("a")), "expected 40 hexadecimal digits"),
        (sha1("a")[..39].into(), "expected 40 hexadecimal digits"),
        ("x".repeat(70_000), "expected at most 65536 bytes"),
    ] {
        // Far behind the sample that the shape of a list is told from.
        for before in [good.clone(), good.repeat(1_000)] {
            let rows = before.lines().count() + 1;
            let list = folder.file("list.txt", format!("{before}{row}\r\n{}:1\r\n", sha1("z")));
            let message = refused(&folder, &list, &["--format", "hashes"]);
            let place = format!("list.txt: row {rows} at byte {}: ", before.len());
            assert!(message.contains(&place) && message.contains(expected), "{message}");
            let (filter, ran) = built(&folder, &list, &["--format", "hashes", "--skip-bad", "1"]);
            assert!(ran.stderr.contains("1 malformed"), "{}", ran.stderr);
            assert_listed(&filter, &[hashes(2), vec![sha1("z")]].concat(), "sha1");
        }
    }
}

/// Every way in which downloaders lay out ranges, and what lies beside them.
#[test]
fn a_folder_of_ranges_gives_the_filter_of_the_list() {
    type Layout = fn(&str) -> String;
    type Dress = fn(&str) -> Vec<u8>;
    let plain: Dress = |text| text.as_bytes().to_vec();
    let gzip: Dress = |text| {
        let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        out.write_all(text.as_bytes()).unwrap();
        out.finish().unwrap()
    };
    let bzip2: Dress = |text| {
        let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
        out.write_all(text.replace("\r\n", "\n").as_bytes()).unwrap();
        out.write_all(b"\n").unwrap();
        out.finish().unwrap()
    };
    let zstd: Dress = |text| zstd::encode_all(format!("\"0x8DCE\"\n{text}").as_bytes(), 1).unwrap();
    let layouts: [(&str, Layout, Dress); 6] = [
        ("official", |p| format!("{p}.txt"), plain),
        ("curl", |p| p.into(), plain),
        ("batches", |p| format!("{}/{p}", &p[..2]), plain),
        (
            "hibp-downloader",
            |p| {
                let p = p.to_lowercase();
                format!("sha1/{}/{}/{p}.gz", &p[..2], &p[2..4])
            },
            gzip,
        ),
        ("lcn2", |p| format!("{}/{}/{}/{p}.bz2", &p[..1], &p[1..2], &p[2..3]), bzip2),
        ("go-hibp-sync", |p| format!("{}/{}", &p[..2], &p[2..]), zstd),
    ];
    let hashes = hashes(300);
    let mut digests = Vec::new();
    for (name, layout, dress) in layouts {
        let folder = Folder::new();
        let ranges = folder.path().join("ranges");
        // One range of the list per hash, nearly always.
        let mut by_prefix = std::collections::BTreeMap::<&str, Vec<String>>::new();
        for hash in &hashes {
            by_prefix.entry(&hash[..5]).or_default().push(format!("{}:3", &hash[5..]));
        }
        for (prefix, rows) in by_prefix {
            let path = ranges.join(layout(prefix));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, dress(&rows.join("\r\n"))).unwrap();
        }
        fs::write(ranges.join("sha1.index"), "not a list\n").unwrap();
        fs::write(ranges.join("metadata.json"), "{}").unwrap();
        let (filter, ran) = built(&folder, &ranges, &[]);
        assert_listed(&filter, &hashes, "sha1");
        assert!(ran.stderr.contains("passed over          2 files"), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains("prefixes are missing"), "{name}: {}", ran.stderr);
        let info = run(["info", text(&filter), "--json"], "").stdout;
        let info: serde_json::Value = serde_json::from_str(&info).unwrap();
        digests.push(info["set_digest"].clone());
        assert!(refused(&folder, &ranges, &["--require-complete"]).contains("not complete"));

        let verified = run(["verify", text(&filter), "--against", text(&ranges)], "");
        assert_eq!(verified.status, Some(0), "{name}: {}", verified.stderr);

        // A range that is none, such as a page of an error kept by a cache.
        let (_, bad) = (fs::remove_dir_all(ranges.join("x")), ranges.join(layout("FFFFF")));
        fs::create_dir_all(bad.parent().unwrap()).unwrap();
        fs::write(&bad, "<html>502 Bad Gateway</html>\n").unwrap();
        let message = refused(&folder, &ranges, &[]);
        assert!(message.contains("row 1: expected the row of a range"), "{name}: {message}");
        // One of the other kind.
        fs::write(&bad, format!("{}:3\n", &hex(&nt_of(b"a").unwrap())[5..])).unwrap();
        let message = refused(&folder, &ranges, &[]);
        assert!(
            message.contains("expected a range of SHA-1") && message.contains("of NT"),
            "{name}: {message}"
        );
    }
    let folder = Folder::new();
    let list = folder.file("list.txt", hashes.join("\n"));
    let (filter, _) = built(&folder, &list, &[]);
    let info = run(["info", text(&filter), "--json"], "").stdout;
    let info: serde_json::Value = serde_json::from_str(&info).unwrap();
    assert!(digests.iter().all(|digest| *digest == info["set_digest"]), "{digests:?}");
}

#[test]
fn one_range_is_read_by_its_name_and_is_no_list_without_it() {
    let folder = Folder::new();
    for (kind, hash) in [("sha1", sha1("password")), ("nt", hex(&nt_of(b"password").unwrap()))] {
        let row = format!("{}:3\r\n", &hash[5..]);
        let range = folder.file(&format!("{}.txt", &hash[..5]), row.repeat(2));
        let (filter, _) = built(&folder, &range, &[]);
        assert_listed(&filter, std::slice::from_ref(&hash), kind);
        let other = folder.file("range.txt", row);
        assert!(refused(&folder, &other, &[]).contains("a range whose file has another name"));
    }
}

#[test]
fn compressed_lists_are_read_whole_or_not_at_all() {
    let folder = Folder::new();
    let hashes = hashes(20_000);
    let list = hashes.join(":3\r\n");
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(list.as_bytes()).unwrap();
    let gzip = gzip.finish().unwrap();
    for (name, bytes) in
        [("list.gz", gzip), ("list.zst", zstd::encode_all(list.as_bytes(), 1).unwrap())]
    {
        // Under any name.
        let path = folder.file(&name.replace("list", "any"), &bytes);
        let (filter, _) = built(&folder, &path, &[]);
        assert_listed(&filter, &hashes, "sha1");
        let path = folder.file("cut", &bytes[..bytes.len() * 2 / 3]);
        let message = refused(&folder, &path, &[]);
        assert!(message.contains("could not be read beyond byte"), "{message}");
        // A stream that cannot be read is no list of passwords either.
        refused(&folder, &path, &["--format", "plain"]);
    }
}

/// What other tools have done with a list of passwords: cut at a NUL, at 64 KiB, at the first byte
/// that is not UTF-8, at a space.
#[test]
fn passwords_are_bytes() {
    let folder = Folder::new();
    let passwords: [&[u8]; 6] =
        [b"aaa", b"pass\0word", b"ma\xf1ana", b" trailing ", &[b'x'; 7_000], b"bbb"];
    let list = folder.file("list.txt", passwords.join(&b'\n'));
    let (filter, _) = built(&folder, &list, &[]);
    for ends in ["\n", "\r\n"] {
        let queries: Vec<u8> = passwords.join(ends.as_bytes());
        let ran = run(["check", text(&filter), "-i", "plain", "-c"], queries);
        assert_eq!((ran.status, ran.stdout.trim()), (Some(0), "6"), "{}", ran.stderr);
    }
    let others = "pass\nword\ntrailing\n trailing\ntrailing \nma\u{f1}ana\n\nxxx";
    let ran = run(["check", text(&filter), "-i", "plain", "-c"], others);
    assert_eq!((ran.status, ran.stdout.trim()), (Some(1), "0"), "{}", ran.stderr);
    let long = [&b"aaa\n"[..], &vec![b'x'; 70_000], b"\npassword\nbbb\n"].concat();
    let list = folder.file("long.txt", long);
    assert!(refused(&folder, &list, &[]).contains("row 2 at byte 4: expected at most"));
    let (filter, _) = built(&folder, &list, &["--skip-bad", "1"]);
    let ran = run(["check", text(&filter), "-i", "plain", "-c"], "aaa\npassword\nbbb\n");
    assert_eq!(ran.stdout.trim(), "3", "{}", ran.stderr);
}

/// A list of the wrong kind is named as what it is.
#[test]
fn the_other_hash_is_named() {
    let folder = Folder::new();
    let list = folder.file("list.txt", hashes(5).join("\n"));
    let message = refused(&folder, &list, &["--digest", "nt"]);
    assert!(
        message.contains("expected NT hashes (32 digits)")
            && message.contains("what looks like SHA-1 hashes (40 digits)"),
        "{message}"
    );
}

#[test]
fn a_list_in_the_order_of_counts_builds_the_same_filter() {
    let folder = Folder::new();
    let mut rows = hashes(1_000);
    let sorted = folder.file("sorted.txt", rows.join(":12345678\r\n"));
    rows.sort_by_key(|row| row[20..].to_owned());
    let shuffled = folder.file("shuffled.txt", rows.join(":1\n"));
    let first = fs::read(built(&folder, &sorted, &[]).0).unwrap();
    let second = fs::read(built(&folder, &shuffled, &[]).0).unwrap();
    assert!(first == second);
}

#[test]
fn what_is_left_out_adds_up() {
    let folder = Folder::new();
    let [a, b, c] = ["a", "b", "c"].map(sha1);
    let list = format!("{a}:49\n{b}:100\n\n{b}:100\n{c}:0\n{c}:2,203\n");
    let list = folder.file("list.txt", list);
    let (filter, ran) = built(&folder, &list, &["--min-count", "50"]);
    for part in [
        "read            6",
        "added                2",
        "duplicate            1",
        "skipped              3",
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert_listed(&filter, &[b.clone(), c], "sha1");
    let (filter, _) = built(&folder, &list, &["--top", "1"]);
    assert!(run(["info", text(&filter)], "").status == Some(0));
    let ran = run(["check", text(&filter), "-i", "sha1", "-c"], format!("{a}\n{b}\n"));
    assert_eq!(ran.stdout.trim(), "0", "{}", ran.stderr);
}
