//! Faults seen in other tools, most of them silent and with status 0, each with the test in which
//! this one does the right thing. What is not named here with a module is in this one.
//!
//! | seen elsewhere | here |
//! |---|---|
//! | a line of 70 kB ends the reading, or is dropped with status 0 | `formats::passwords_are_bytes` |
//! | 100,000 keys in a filter made for 100: everything is listed | the size follows from the list; in the library, `refused_insert_changes_nothing` |
//! | the same status whether found or not | `check::the_status_follows_the_answers` |
//! | zeroed or flipped bytes lose members | [`damage_is_found_in_every_kind_of_filter`] |
//! | `pass\0word` lists `pass` | `formats::passwords_are_bytes` |
//! | measuring the rate of a small filter crashes | [`the_rate_of_filters_of_any_size_is_measured`] |
//! | UTF-8 has another NT hash | [`passwords_beyond_ascii_have_the_nt_hash_that_windows_gives_them`] |
//! | short, foreign and empty rows become members | `formats::rows_of_another_shape_stop_the_build_with_their_place` |
//! | a byte order mark becomes a part of the hash | `formats::rows_are_read_however_they_are_written` |
//! | counts are cut at a comma, or overflow | [`counts_are_read_to_their_last_digit`] |
//! | nothing is found in an unsorted list | [`an_unsorted_list_is_no_list_without_passwords`] |
//! | what was built cannot be queried | [`what_is_built_at_any_rate_can_be_verified_and_asked`] |
//! | a removed row stops the comparison | `convert::differences_are_told_by_status_numbers_and_rows` |
//! | a truncated filter crashes the reader | `check::what_is_not_a_whole_filter_answers_nothing` |
//! | a range of more rows than a buffer holds is read in part | [`a_range_of_any_length_is_read_to_its_end`] |
//! | lower case and malformed hashes are "secure" | `check::hashes_are_asked_as_hashes_and_plain_rows_never_are` |
//! | certificates are not checked | [`nothing_can_be_fetched_or_sent`] |
//! | `p%40ss` is asked as it came out of an address | [`passwords_are_not_decoded`] |
//! | passwords are printed and logged | `secrets` |

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use hapax::screen::digest::sha1_of;

use crate::common::{Folder, Ran, numbered, run};

/// Every kind of filter that a list can be made into.
const KINDS: [&str; 5] = ["fuse", "bloom", "blocked", "counting", "cuckoo"];

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn sha1(password: &str) -> String {
    let digits = sha1_of(password.as_bytes()).map(|byte| format!("{byte:02X}"));
    digits.concat()
}

#[track_caller]
fn build(folder: &Folder, list: &Path, more: &[&str]) -> (PathBuf, Ran) {
    let output = folder.path().join("built.hapax");
    let ran = run(["build", text(list), "-f", "-o", text(&output)].iter().chain(more), "");
    assert_eq!(ran.status, Some(0), "{more:?}: {}", ran.stderr);
    (output, ran)
}

/// How many of these rows are listed.
#[track_caller]
fn listed(filter: &Path, kind: &str, rows: impl Into<Vec<u8>>, more: &[&str]) -> usize {
    let ran = run(["check", text(filter), "-i", kind, "-c"].iter().chain(more), rows);
    assert!(matches!(ran.status, Some(0 | 1)), "{}", ran.stderr);
    ran.stdout.trim().parse().unwrap()
}

fn info(filter: &Path) -> serde_json::Value {
    serde_json::from_str(&run(["info", text(filter), "--json"], "").stdout).unwrap()
}

#[test]
fn damage_is_found_in_every_kind_of_filter() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(20_000));
    for kind in KINDS {
        let (filter, _) = build(&folder, &list, &["--kind", kind]);
        let good = fs::read(&filter).unwrap();
        let middle = good.len() / 2;
        let (mut zeroed, mut flipped) = (good.clone(), good.clone());
        zeroed[middle..middle + 4_096].fill(0);
        flipped[middle] ^= 1;
        let cut = good[..middle].to_vec();
        for (what, bytes) in [("4 KiB of zeros", zeroed), ("a flipped bit", flipped), ("cut", cut)]
        {
            let bad = folder.file("bad.hapax", bytes);
            let ran = run(["verify", text(&bad)], "");
            assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{kind}, {what}: {}", ran.stderr);
            let ran = run(["verify", text(&bad), "--against", text(&list)], "");
            assert_eq!(ran.status, Some(2), "{kind}, {what}: {}", ran.stderr);
        }
    }
}

#[test]
fn passwords_beyond_ascii_have_the_nt_hash_that_windows_gives_them() {
    let folder = Folder::new();
    let list = folder.file(
        "nt.txt",
        "717A593E7919D6E00182561812C2B621:5\r\n8846F7EAEE8FB117AD06BDD830B7586C:9\r\n",
    );
    let (filter, _) = build(&folder, &list, &[]);
    assert_eq!(listed(&filter, "plain", "mañana\npassword\nman\u{303}ana\nmanana\n", &[]), 2);
    assert_eq!(listed(&filter, "nt", "717a593e7919d6e00182561812c2b621\n", &[]), 1);
}

/// Of one to eight digits, with separators, and of more than 32 bits; in lists of every small size.
#[test]
fn counts_are_read_to_their_last_digit() {
    let folder = Folder::new();
    let counts = ["1", "12", "2,203", "1,234,567", "12345678", "99999999999", "2147483648", "100"];
    for len in 1..=20 {
        let mut rows: Vec<(String, &str)> =
            (0..len).map(|i| (sha1(&i.to_string()), counts[i % counts.len()])).collect();
        rows.sort();
        let lines: Vec<String> =
            rows.iter().map(|(hash, count)| format!("{hash}:{count}\r\n")).collect();
        let list = folder.file("list.txt", lines.concat());
        let (filter, _) = build(&folder, &list, &[]);
        let args = ["check", text(&filter), "-i", "plain", "--confirm", text(&list)];
        let ran = run(args, numbered(u32::try_from(len).unwrap()));
        let expected: Vec<String> = (0..len)
            .map(|i| {
                let count = counts[i % counts.len()].replace(',', "");
                format!("stdin:{}: listed (seen {count} times, confirmed)\n", i + 1)
            })
            .collect();
        assert_eq!((ran.status, ran.stdout), (Some(0), expected.concat()), "{}", ran.stderr);
    }
}

#[test]
fn an_unsorted_list_is_no_list_without_passwords() {
    let folder = Folder::new();
    let rows: String = (0..2_000).map(|i| sha1(&i.to_string()) + ":3\r\n").collect();
    let list = folder.file("list.txt", rows);
    let (filter, _) = build(&folder, &list, &[]);
    assert_eq!(listed(&filter, "plain", numbered(50), &[]), 50);
    let ran = run(
        ["check", text(&filter), "-i", "plain", "--confirm", text(&list), "--expect", "absent"],
        numbered(50),
    );
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("sorted by hash"), "{}", ran.stderr);
    // Sorted, it confirms them all.
    let sorted = folder.path().join("sorted.txt");
    let ran = run(["convert", text(&list), "--sort", "hash", "-o", text(&sorted)], "");
    assert_eq!(ran.status, Some(0), "{}", ran.stderr);
    assert_eq!(listed(&filter, "plain", numbered(50), &["--confirm", text(&sorted)]), 50);
}

#[test]
fn what_is_built_at_any_rate_can_be_verified_and_asked() {
    let folder = Folder::new();
    let list = folder.file("list.txt", numbered(1_000));
    for kind in KINDS {
        for rate in ["1%", "2^-8", "1e-4", "2^-16", "2^-18"] {
            let (filter, _) =
                build(&folder, &list, &["--kind", kind, "--false-positive-rate", rate]);
            assert_eq!(listed(&filter, "plain", numbered(1_000), &[]), 1_000, "{kind} {rate}");
            let ran = run(["verify", text(&filter), "--against", text(&list)], "");
            assert_eq!(ran.status, Some(0), "{kind} {rate}: {}", ran.stderr);
            assert_eq!(info(&filter)["kind"], kind, "{rate}");
        }
    }
}

#[test]
fn the_rate_of_filters_of_any_size_is_measured() {
    let folder = Folder::new();
    let small = [1, 2, 3].map(|rows| ("fuse", rows));
    for (kind, rows) in small.into_iter().chain(KINDS.map(|kind| (kind, 5_000))) {
        let list = folder.file("list.txt", numbered(rows));
        let rate = ["--kind", kind, "--false-positive-rate", "2^-8"];
        let (filter, _) = build(&folder, &list, &rate);
        let ran = run(["verify", text(&filter), "--measure-false-positive-rate"], "");
        assert_eq!((ran.status, &*ran.stdout), (Some(0), ""), "{kind}, {rows}: {}", ran.stderr);
        assert!(ran.stderr.contains(" 1,048,576 strangers: rate "), "{}", ran.stderr);
    }
}

/// A buffer of 16 KiB held 2,730 rows; the fullest range will soon have more.
#[test]
fn a_range_of_any_length_is_read_to_its_end() {
    let folder = Folder::new();
    let ranges = folder.path().join("ranges");
    fs::create_dir(&ranges).unwrap();
    // The full one, and those that are looked at when a folder is opened to confirm from it.
    let mut hashes = Vec::new();
    for prefix in ["00000", "2AAAA", "55555", "AAAAA", "D5555"] {
        let mut rows: Vec<String> =
            (0..6_000).map(|i| sha1(&format!("{prefix} {i}"))[5..].to_owned()).collect();
        rows.sort();
        fs::write(ranges.join(format!("{prefix}.txt")), rows.join(":7\r\n") + ":7").unwrap();
        hashes.extend(rows.iter().map(|row| format!("{prefix}{row}\n")));
    }
    let (filter, _) = build(&folder, &ranges, &[]);
    assert_eq!(listed(&filter, "sha1", hashes.concat(), &[]), 30_000);
    // To confirm one is to look at its whole range: the last row and some others of each.
    let some: Vec<&str> = hashes.iter().rev().step_by(100).map(String::as_str).collect();
    let some = listed(&filter, "sha1", some.concat(), &["--confirm", text(&ranges)]);
    assert_eq!(some, 300);
}

#[test]
fn passwords_are_not_decoded() {
    let folder = Folder::new();
    let list = folder.file("list.txt", "p@ss\n100%\na+b\n&amp;\n\\x41\nñ\n");
    let (filter, _) = build(&folder, &list, &[]);
    assert_eq!(listed(&filter, "plain", "p@ss\n100%\na+b\n&amp;\n\\x41\nñ\n", &[]), 6);
    assert_eq!(listed(&filter, "plain", "p%40ss\n100%25\na%2Bb\na b\n&\nA\n%C3%B1\n", &[]), 0);
}

/// The tool fetches no list and asks no service, so there is no connection to get wrong.
#[test]
fn nothing_can_be_fetched_or_sent() {
    let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
    let packages: BTreeSet<&str> = lock
        .lines()
        .filter_map(|line| line.strip_prefix("name = \"").and_then(|name| name.strip_suffix('"')))
        .collect();
    assert!(packages.contains("hapax-cli"), "{packages:?}");
    for package in ["curl", "reqwest", "ureq", "isahc", "minreq", "native-tls", "openssl", "rustls"]
    {
        assert!(!packages.contains(package), "{package}");
    }
}

/// Ten rows of each hash, or one row over and over: the number of keys, the size and the rate are
/// those of the distinct ones.
#[test]
fn repeated_rows_change_neither_the_size_nor_the_rate() {
    let folder = Folder::new();
    let once = folder.file("once.txt", numbered(2_000));
    let often = folder.file("often.txt", numbered(2_000).repeat(10));
    let same = folder.file("same.txt", "alpha\n".repeat(100_000));
    for kind in KINDS {
        let (filter, _) = build(&folder, &once, &["--kind", kind]);
        let (expected, len) = (info(&filter), fs::metadata(&filter).unwrap().len());
        let (filter, _) = build(&folder, &often, &["--kind", kind]);
        let found = info(&filter);
        assert_eq!(fs::metadata(&filter).unwrap().len(), len, "{kind}");
        assert_eq!(
            (&found["rows_added"], &found["rows_duplicate"]),
            (&2_000.into(), &18_000.into())
        );
        for field in ["set_digest", "promised_false_positive_rate"] {
            assert!(!found[field].is_null(), "{found}");
            assert_eq!(found[field], expected[field], "{kind} {field}");
        }
        let (filter, _) = build(&folder, &same, &["--kind", kind]);
        assert_eq!(info(&filter)["rows_added"], 1, "{kind}");
        assert_eq!(listed(&filter, "plain", "alpha\nbeta\n", &[]), 1, "{kind}");
    }
}

/// A download that said it was finished at 14 %.
#[test]
fn a_list_that_ends_early_is_told_by_its_prefixes() {
    let folder = Folder::new();
    let row = |prefix| format!("{prefix:05X}{:035X}:3\n", 9);
    let rows: Vec<String> = (0..0x2_4800).map(row).collect();
    let list = folder.file("list.txt", rows.concat());
    let (_, ran) = build(&folder, &list, &[]);
    let told = ["prefixes 149,504 of 1,048,576", "899,072 prefixes are missing: 24800 to FFFFF"];
    assert!(told.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    let output = folder.path().join("refused.hapax");
    let ran = run(["build", text(&list), "-o", text(&output), "--require-complete"], "");
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    assert!(told.iter().all(|part| ran.stderr.contains(part)), "{}", ran.stderr);
    assert!(!output.exists());
}
