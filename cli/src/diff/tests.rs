//! Two lists against a comparison of maps.

use std::collections::BTreeMap;
use std::fs;

use super::*;
use crate::lists::{FormatChoice, Input};

fn open(folder: &tempfile::TempDir, name: &str, text: &str) -> OpenList {
    let path = folder.path().join(name);
    fs::write(&path, text).unwrap();
    OpenList::open(Input::File(path)).unwrap()
}

fn diff(old: &str, new: &str, print: Print) -> Result<(Difference, String), String> {
    let folder = tempfile::tempdir().unwrap();
    let request = DiffRequest {
        reading: Reading { format: FormatChoice::Hashes, ..Reading::default() },
        print,
        output: folder.path().join("out"),
        existing: Existing::Refuse,
    };
    let (old, new) = (open(&folder, "old", old), open(&folder, "new", new));
    match run(&request, old, new, &|_| {}) {
        Ok(difference) => Ok((difference, fs::read_to_string(&request.output).unwrap_or_default())),
        Err(Trouble::Message(message)) => Err(message),
        Err(Trouble::BrokenPipe) => unreachable!("nothing is printed"),
    }
}

const ALL: Print = Print { added: true, removed: true, changed: true };

/// A map of hashes and counts from a few bits of a number.
fn list(seed: u32) -> BTreeMap<String, u32> {
    let hash = |i: u32| {
        format!(
            "{:032X}{i:08X}",
            u128::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
        )
    };
    let drawn =
        |i: u32| i.wrapping_mul(0x9e37_79b1).wrapping_add(seed.wrapping_mul(0x85eb_ca6b)) >> 28;
    (0..50_000).filter(|&i| drawn(i) > 3).map(|i| (hash(i), drawn(i) / 12 + 1)).collect()
}

fn text(list: &BTreeMap<String, u32>) -> String {
    list.iter().map(|(hash, count)| [hash, ":", &count.to_string(), "\n"].concat()).collect()
}

#[test]
fn what_differs_is_what_maps_say() {
    for (old, new) in [
        (list(1), list(2)),
        (list(1), list(1)),
        (BTreeMap::from([list(3).pop_first().unwrap()]), list(3)),
    ] {
        let mut expected = Difference::default();
        let mut rows = String::new();
        let all: BTreeMap<_, _> = old.iter().chain(&new).collect();
        for hash in all.keys() {
            match (old.get(*hash), new.get(*hash)) {
                (Some(before), Some(after)) if before == after => expected.unchanged += 1,
                (Some(before), Some(after)) => {
                    expected.count_changed += 1;
                    rows.extend([
                        "~",
                        hash,
                        ":",
                        &after.to_string(),
                        " was ",
                        &before.to_string(),
                        "\n",
                    ]);
                }
                (Some(before), None) => {
                    expected.removed += 1;
                    rows.extend(["-", hash, ":", &before.to_string(), "\n"]);
                }
                (None, after) => {
                    expected.added += 1;
                    rows.extend(["+", hash, ":", &after.unwrap().to_string(), "\n"]);
                }
            }
        }
        let (old, new) = (text(&old), text(&new).to_lowercase().replace('\n', "\r\n"));
        let (found, printed) = diff(&old, &new, ALL).unwrap();
        assert_eq!(found, expected);
        assert!(printed == rows);
        assert_eq!(found.exit() == Exit::Yes, old.to_lowercase() == new.replace('\r', ""));
        let (again, printed) = diff(&old, &new, Print::default()).unwrap();
        assert_eq!((again, printed.as_str()), (expected, ""));
    }
}

#[test]
fn rows_of_one_kind_are_a_list() {
    let hash = |digit: &str| digit.repeat(40);
    let old = format!("{}:1\n{}:2\n", hash("1"), hash("2"));
    let new = format!("{}:3\n{}:4\n", hash("2"), hash("3"));
    for (print, expected) in [
        (Print { added: true, ..Print::default() }, format!("{}:4\n", hash("3"))),
        (Print { removed: true, ..Print::default() }, format!("{}:1\n", hash("1"))),
        (Print { changed: true, ..Print::default() }, format!("{}:3\n", hash("2"))),
    ] {
        assert_eq!(diff(&old, &new, print).unwrap().1, expected);
    }
}

#[test]
fn lists_that_cannot_be_compared_are_refused() {
    let (one, two) = (format!("{}:1\n", "1".repeat(40)), format!("{}:1\n", "2".repeat(40)));
    let sorted = format!("{one}{two}");
    for (old, new, expected) in [
        (format!("{two}{one}"), sorted.clone(), "old: row 2 at byte 43 is not sorted by hash"),
        (sorted.clone(), format!("{two}{one}"), "new: row 2 at byte 43 is not sorted by hash"),
        (sorted.clone(), format!("{one}{one}"), "new: row 2 at byte 43 has the same hash"),
        (
            sorted.clone(),
            format!("{}:1\n", "3".repeat(32)),
            "SHA-1 in the first and NT in the second",
        ),
        (sorted.clone(), String::new(), "new: expected rows, found none"),
        (sorted.clone(), "password\n123456\n".into(), "new: row 1 at byte 0: expected 40"),
        (sorted.clone(), format!("{one}ABC:1\n"), "new: row 2 at byte 43: expected 40"),
    ] {
        let message = diff(&old, &new, ALL).unwrap_err();
        assert!(message.contains(expected), "{message}");
    }
}
