//! `hapax check --confirm`: exact answers from the list, and nothing taken for an answer that is
//! none.

use std::path::{Path, PathBuf};

use crate::common::{Folder, Ran, check, run};
use hapax::codec::Provenance;
use hapax::prelude::*;
use hapax::screen::PasswordDigest;
use hapax::screen::digest::{nt_of, sha1_of};
use hapax::{Digest, Salt};
use serde_json::Value;

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()
}

/// Rows of a list: the SHA-1 of each password and its count, sorted by hash.
fn list(passwords: &[(&str, u64)]) -> String {
    let row =
        |(word, count): &(&str, u64)| format!("{}:{count}\r\n", hex(&sha1_of(word.as_bytes())));
    let mut rows: Vec<String> = passwords.iter().map(row).collect();
    rows.sort();
    rows.concat()
}

const LISTED: [(&str, u64); 4] = [("alpha", 3_114), ("beta", 7), ("gamma", 120), ("delta", 1)];

/// A filter of the listed passwords at 2^-8, salted so that it takes this stranger for one of them
/// and no other of these tests.
fn filter(folder: &Folder, stranger: &str) -> PathBuf {
    let key = |word: &str| PasswordDigest::Sha1.key_of(word.as_bytes()).unwrap();
    for salt in 0.. {
        let mut filter = BloomFilter::builder()
            .capacity(4)
            .false_positive_rate(2f64.powi(-8))
            .seed(Seed::uniform(Digest::Sha1))
            .salt(Salt::new(salt))
            .build()
            .unwrap();
        for (word, _) in LISTED {
            let _ = filter.insert_hash(key(word)).unwrap();
        }
        if filter.contains_hash(key(stranger)) && !filter.contains_hash(key("other")) {
            let name = "a test list".into();
            let provenance = Provenance { name, rows_added: 4, ..Provenance::default() };
            return folder.save("f.hapax", filter, provenance);
        }
    }
    unreachable!("one salt in 256 does it")
}

fn confirm(filter: &Path, list: &Path, args: &[&str], stdin: impl Into<Vec<u8>>) -> Ran {
    let args =
        ["-i", "plain", "--confirm", list.to_str().unwrap()].into_iter().chain(args.to_vec());
    check(&args.collect::<Vec<_>>(), &[filter], stdin)
}

#[track_caller]
fn assert_unknown(ran: &Ran, why: &str) {
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains(why), "{}", ran.stderr);
}

#[test]
fn positives_are_confirmed_with_their_counts_or_refuted() {
    let folder = Folder::new();
    let (filter, list) = (filter(&folder, "stranger"), folder.file("list.txt", list(&LISTED)));
    let ran = confirm(&filter, &list, &[], "beta\nstranger\nalpha\nother\n");
    let expected = "stdin:1: listed (seen 7 times, confirmed)\n\
                    stdin:3: listed (seen 3114 times, confirmed)\n";
    assert_eq!((ran.status, &*ran.stdout), (Some(0), expected), "{}", ran.stderr);
    assert_eq!(ran.stderr, "checked 4, listed 2 (confirmed 2, filter-only 0, false alarms 1)\n");
    // The exact answer wins.
    for (input, listed, absent) in [("stranger", 1, 0), ("alpha", 0, 1), ("other", 1, 0)] {
        assert_eq!(confirm(&filter, &list, &[], input).status, Some(listed));
        let ran = confirm(&filter, &list, &["--expect", "absent"], input);
        assert_eq!(ran.status, Some(absent));
    }
    let ran = confirm(&filter, &list, &["--stats", "-q"], "beta\nstranger\n");
    for line in ["rows 2\n", "listed 1\n", "confirmed 1\n", "false_positives 1\n", "unknown 0\n"] {
        assert!(ran.stderr.contains(line), "{}", ran.stderr);
    }
}

#[test]
fn a_least_count_applies_when_it_is_asked() {
    let folder = Folder::new();
    let (filter, list) = (filter(&folder, "stranger"), folder.file("list.txt", list(&LISTED)));
    // 120 by its first digit alone would be too rare.
    let ran = confirm(&filter, &list, &["--min-count", "50"], "alpha\nbeta\ngamma\ndelta\n");
    let expected = "stdin:1: listed (seen 3114 times, confirmed)\n\
                    stdin:3: listed (seen 120 times, confirmed)\n";
    assert_eq!((ran.status, &*ran.stdout), (Some(0), expected), "{}", ran.stderr);
    assert!(ran.stderr.contains(", 2 seen less often than asked for"), "{}", ran.stderr);
    assert_eq!(confirm(&filter, &list, &["--min-count", "50"], "beta").status, Some(1));

    let rows = std::fs::read_to_string(&list).unwrap();
    let uncounted: String = rows.lines().map(|row| row[..40].to_owned() + "\n").collect();
    let uncounted = folder.file("uncounted.txt", uncounted);
    let ran = confirm(&filter, &uncounted, &[], "alpha");
    assert_eq!((ran.status, &*ran.stdout), (Some(0), "stdin:1: listed (confirmed)\n"));
    assert_unknown(&confirm(&filter, &uncounted, &["--min-count", "2"], "alpha"), "a row without");

    // A filter of frequent passwords does not know the others.
    let mut frequent = BloomFilter::builder()
        .capacity(10)
        .false_positive_rate(1e-9)
        .seed(Seed::uniform(Digest::Sha1))
        .salt(Salt::new(7))
        .build()
        .unwrap();
    let _ = frequent.insert_hash(PasswordDigest::Sha1.key_of(b"alpha").unwrap()).unwrap();
    let provenance = Provenance { min_count: 100, rows_added: 1, ..Provenance::default() };
    let frequent = folder.save("frequent.hapax", frequent, provenance);
    assert_eq!(confirm(&frequent, &list, &["--min-count", "100"], "alpha").status, Some(0));
    assert_unknown(&confirm(&frequent, &list, &["--min-count", "50"], "beta"), "at least 100");
    // Without a list there are no counts.
    let ran = check(&["-i", "plain", "--min-count", "5"], &[&filter], "alpha");
    assert_unknown(&ran, "--confirm");
}

#[test]
fn records_say_what_the_answer_rests_on() {
    let folder = Folder::new();
    let (filter, list) = (filter(&folder, "stranger"), folder.file("list.txt", list(&LISTED)));
    let input = "alpha\nstranger\nother\nbeta\n";
    let ran = confirm(&filter, &list, &["--json", "--min-count", "50"], input);
    let records: Vec<Value> =
        ran.stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let field = |name: &str| records.iter().map(|record| &record[name]).collect::<Vec<_>>();
    assert_eq!(field("line"), [1, 2, 4]);
    assert_eq!(field("listed"), [true, false, false]);
    assert_eq!(field("basis"), ["confirmed", "refuted", "confirmed"]);
    assert_eq!(field("count"), [&Value::from(3_114), &Value::Null, &Value::from(7)]);
    assert_eq!(records[0]["list"], "a test list");
}

#[test]
fn lists_that_cannot_tell_make_the_answer_unknown() {
    let folder = Folder::new();
    let filter = filter(&folder, "stranger");
    let sorted = list(&LISTED);
    let by_count: String = {
        let mut rows: Vec<&str> = sorted.lines().collect();
        rows.reverse();
        rows.join("\n")
    };
    let nt: String = {
        let row = |(word, count): &(&str, u64)| {
            format!("{}:{count}\n", hex(&nt_of(word.as_bytes()).unwrap()))
        };
        LISTED.iter().map(row).collect::<Vec<_>>().concat()
    };
    for (content, why) in [
        (by_count.as_str(), "sorted by hash"),
        (&nt, "found 32: this is the length of NT"),
        ("", "found none"),
        ("password\n", "expected 40 hexadecimal digits"),
        (&sorted[..40], "about 1 rows"),
        (&sorted[1..], "hexadecimal digits"),
    ] {
        let path = folder.file("list.txt", content);
        for args in [&[][..], &["--expect", "absent"], &["--json"]] {
            for input in ["alpha", "stranger"] {
                let ran = confirm(&filter, &path, args, input);
                assert_unknown(&ran, why);
            }
        }
    }
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert_unknown(&confirm(&filter, &empty, &[], "alpha"), "expected a folder of range files");
    let none = folder.path().join("none");
    assert_unknown(&confirm(&filter, &none, &[], "alpha"), "the first --confirm argument");
    // A list that confirms nothing about a filter that hashes by itself.
    let mut own = BloomFilter::builder().capacity(10).false_positive_rate(1e-6).build().unwrap();
    let _ = own.insert("alpha").unwrap();
    let own = folder.save("own.hapax", own, Provenance::default());
    let path = folder.file("list.txt", &sorted);
    assert_unknown(&confirm(&own, &path, &[], "alpha"), "hashes its keys itself");
}

/// Only the rows that the list cannot tell of are unknown.
#[test]
fn a_part_of_a_list_is_not_taken_for_the_whole() {
    let folder = Folder::new();
    let words: Vec<String> = (0..2_000).map(|i| i.to_string()).collect();
    let bytes: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let filter = folder.sha1("f.hapax", &bytes[..1_000]);
    let counted: Vec<(&str, u64)> = words.iter().map(|word| (word.as_str(), 5)).collect();
    let rows = list(&counted[..1_000]);
    // Two thirds: more than half, so it could be the list.
    let part = folder.file("list.txt", &rows[..rows.len() / 3 * 2 / 44 * 44]);
    let ran = confirm(&filter, &part, &["-c"], words[..1_000].join("\n"));
    let listed: usize = ran.stdout.trim().parse().unwrap();
    assert_eq!(ran.status, Some(2), "{}", ran.stderr);
    assert!((600..700).contains(&listed), "{listed}");
    assert!(ran.stderr.contains(&format!(", {} unknown", 1_000 - listed)), "{}", ran.stderr);
    assert!(ran.stderr.contains("rows are missing at byte"), "{}", ran.stderr);
}

/// What is refuted far more often than the filter errs was never in this list.
#[test]
fn another_list_than_the_filter_was_made_from_is_noticed() {
    let folder = Folder::new();
    let filter = folder.sha1("f.hapax", &[b"alpha", b"beta", b"gamma"]);
    let other = [("one", 1), ("two", 2), ("three", 3), ("four", 4), ("five", 5)];
    let other = folder.file("list.txt", list(&other));
    let ran = confirm(&filter, &other, &[], "alpha\nbeta\ngamma\n");
    assert_eq!((ran.status, &*ran.stdout), (Some(2), ""), "{}", ran.stderr);
    assert!(ran.stderr.contains("refuted 3 different rows"), "{}", ran.stderr);
}

#[test]
fn each_filter_has_its_own_list_or_is_believed() {
    let folder = Folder::new();
    let breached = filter(&folder, "stranger");
    let own = folder.sha1("own.hapax", &[b"companyname", b"stranger"]);
    let list = folder.file("list.txt", list(&LISTED));
    let list = list.to_str().unwrap();
    let args = ["-i", "plain", "--confirm", list];
    let input = "companyname\nalpha\nstranger\nother\n";
    let ran = check(&args, &[&breached, &own], input);
    let expected =
        "stdin:1: listed\nstdin:2: listed (seen 3114 times, confirmed)\nstdin:3: listed\n";
    assert_eq!((ran.status, &*ran.stdout), (Some(0), expected), "{}", ran.stderr);
    let summary = "checked 4, listed 3 (confirmed 1, filter-only 2, false alarms 0)\n";
    assert_eq!(ran.stderr, summary);

    let twice = ["-i", "plain", "--confirm", list, "--confirm", list];
    assert_unknown(&check(&twice, &[&breached], input), "more often than there are filters");
}

#[test]
fn range_folders_confirm_too() {
    let folder = Folder::new();
    let filter = filter(&folder, "stranger");
    // The ranges that opening looks at, and those of the passwords.
    let row = |i: u32| hex(&sha1_of(i.to_string().as_bytes()))[5..].to_owned() + ":2\r\n";
    let mut rows: Vec<String> = (0..1_900).map(row).collect();
    rows.sort();
    std::fs::create_dir(folder.path().join("ranges")).unwrap();
    let write = |range: &str, more: &str| {
        folder.file(&format!("ranges/{range}.txt"), rows.concat() + more);
    };
    for range in ["2AAAA", "55555", "AAAAA", "D5555"] {
        write(range, "");
    }
    for (word, more) in [("alpha", ":3114"), ("beta", ":7"), ("stranger", "")] {
        let digits = hex(&sha1_of(word.as_bytes()));
        let more = if more.is_empty() { String::new() } else { digits[5..].to_owned() + more };
        write(&digits[..5], &more);
    }
    let ranges = folder.path().join("ranges");
    let ran = confirm(&filter, &ranges, &[], "alpha\nstranger\nbeta\nother\n");
    let expected = "stdin:1: listed (seen 3114 times, confirmed)\n\
                    stdin:3: listed (seen 7 times, confirmed)\n";
    assert_eq!((ran.status, &*ran.stdout), (Some(0), expected), "{}", ran.stderr);
    // The file of this one is missing: unknown, and the others are answered.
    let ran = confirm(&filter, &ranges, &[], "alpha\ngamma\n");
    assert_eq!(ran.status, Some(2));
    assert_eq!(ran.stdout, "stdin:1: listed (seen 3114 times, confirmed)\n");
    let name = &hex(&sha1_of(b"gamma"))[..5];
    assert!(ran.stderr.contains(&format!("{name}.txt: cannot be read")), "{}", ran.stderr);
}

#[test]
fn millions_of_rows_are_confirmed_like_one() {
    let folder = Folder::new();
    let words: Vec<String> = (0..1_000).map(|i| i.to_string()).collect();
    let bytes: Vec<&[u8]> = words.iter().map(String::as_bytes).collect();
    let filter = folder.sha1("f.hapax", &bytes);
    let counted: Vec<(&str, u64)> =
        words.iter().enumerate().map(|(i, word)| (word.as_str(), i as u64 + 1)).collect();
    let list = folder.file("list.txt", list(&counted));
    let rows = (0..200_000).map(|i| format!("{}\n", i % 2_000)).collect::<Vec<_>>().concat();
    let expected = (0..200_000)
        .filter(|i| i % 2_000 < 1_000)
        .map(|i| format!("stdin:{}: listed (seen {} times, confirmed)\n", i + 1, i % 2_000 + 1))
        .collect::<Vec<_>>()
        .concat();
    for threads in ["1", "2", "7"] {
        let ran = confirm(&filter, &list, &["--threads", threads], rows.as_str());
        assert_eq!(ran.status, Some(0), "{}", ran.stderr);
        assert!(ran.stdout == expected, "{threads} threads");
    }
    let ran = run(["check", "--threads", "0"], "");
    assert_eq!(ran.status, Some(2));
}
