//! Every row must be found, every stranger denied, and every list that cannot tell refused.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::*;
use crate::hash::KeyHash;
use crate::screen::PasswordDigest::{self, Nt, Sha1};
use crate::screen::list::{DetectError, RowFault};

mod ranges;
mod sorted;

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
