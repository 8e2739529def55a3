//! Filters verified against the lists they came from, and others.

use std::fs;

use hapax::codec::{Existing, Provenance, SaveOptions};
use hapax::prelude::*;
use tempfile::TempDir;
use xxhash_rust::xxh3::xxh3_64;

use super::*;
use crate::build::{self, BuildRequest, FilterKind, Size};
use crate::lists::open_all;

/// A folder with a filter built from this list.
fn built(list: &str, reading: Reading) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list.hapax");
    let request = BuildRequest {
        output: path.clone(),
        reading,
        top: None,
        require_complete: false,
        kind: FilterKind::default(),
        size: Size::default(),
        max_rate: 0.01,
        memory: 256 << 20,
        tmp: std::env::temp_dir(),
        threads: None,
        unsorted: false,
        existing: Existing::Refuse,
        name: String::new(),
        source: String::new(),
        date: String::new(),
    };
    let input = folder.path().join("list.txt");
    fs::write(&input, list).unwrap();
    build::run(&request, open_all(&[Input::File(input)]).unwrap(), &|_| {}).unwrap();
    (folder, path)
}

fn verify(filter: &Path, reading: Reading, lists: &[Input]) -> Result<Verified, String> {
    let request = VerifyRequest { filter: filter.to_owned(), reading, strangers: None };
    run(&request, open_all(lists).unwrap(), &|_| {}).map_err(|trouble| match trouble {
        Trouble::Message(message) => message,
        Trouble::BrokenPipe => unreachable!("nothing is printed"),
    })
}

#[test]
fn the_list_of_a_filter_misses_nothing() {
    let (folder, filter) = built("abc\npassword\n\n123456\n", Reading::default());
    let list = Input::File(folder.path().join("list.txt"));
    let verified = verify(&filter, Reading::default(), &[list]).unwrap();
    let expected =
        Against { checked: 3, missed: 0, skipped: 1, first_missed: None, warnings: Vec::new() };
    assert_eq!(verified.against, Some(expected));
    assert_eq!(verified.exit(), Exit::Yes);
    assert!(verified.to_string().ends_with("checked 3, missed 0, skipped 1"), "{verified}");

    let verified = verify(&filter, Reading::default(), &[]).unwrap();
    assert_eq!((verified.exit(), verified.against), (Exit::Yes, None));
}

#[test]
fn a_longer_list_is_a_broken_promise_that_names_the_row_and_not_the_password() {
    let (folder, filter) = built("abc\n", Reading::default());
    let list = folder.path().join("longer.txt");
    fs::write(&list, "abc\nzebra\ngiraffe\n").unwrap();
    let list = Input::File(list);
    let verified = verify(&filter, Reading::default(), std::slice::from_ref(&list)).unwrap();
    let expected = Against {
        checked: 3,
        missed: 2,
        skipped: 0,
        first_missed: Some((list, 2, 4)),
        warnings: Vec::new(),
    };
    assert_eq!(verified.against, Some(expected));
    assert_eq!(verified.exit(), Exit::No);
    let shown = verified.to_string();
    assert!(shown.contains("longer.txt: row 2 at byte 4"), "{shown}");
    assert!(!shown.contains("zebra"), "{shown}");
}

#[test]
fn rows_under_the_minimum_of_the_filter_are_not_missed() {
    let row = |first: char, count: u32| format!("{first}{}:{count}\n", "0".repeat(39));
    let reading = Reading { min_count: 10, ..Reading::default() };
    let (folder, filter) = built(&(row('a', 9) + &row('b', 10)), reading);
    let list = Input::File(folder.path().join("list.txt"));
    let verified = verify(&filter, Reading::default(), &[list]).unwrap();
    let expected =
        Against { checked: 1, missed: 0, skipped: 1, first_missed: None, warnings: Vec::new() };
    assert_eq!(verified.against, Some(expected));
}

#[test]
fn a_damaged_filter_cannot_be_verified() {
    let (_folder, filter) = built("abc\n", Reading::default());
    let good = fs::read(&filter).unwrap();
    for at in 0..good.len() {
        let mut bad = good.clone();
        bad[at] ^= 1;
        fs::write(&filter, &bad).unwrap();
        let message = verify(&filter, Reading::default(), &[]).unwrap_err();
        assert!(message.contains("list.hapax: "), "byte {at}: {message}");
    }
}

/// The file with this number of keys in its first params, and every checksum right.
fn with_len(mut file: Vec<u8>, len: u64) -> Vec<u8> {
    let word = |file: &[u8], at: usize| u64::from_le_bytes(file[at..at + 8].try_into().unwrap());
    let put = |file: &mut [u8], at: usize, word: u64| {
        file[at..at + 8].copy_from_slice(&word.to_le_bytes());
    };
    let rows = usize::from(file[12]);
    let params = word(&file, 64 + 8) as usize;
    put(&mut file, params + 32, len);
    let checksum = xxh3_64(&file[params..params + 64]);
    put(&mut file, 64 + 24, checksum);
    let checksum = xxh3_64(&file[64..64 + 32 * rows]);
    put(&mut file, 48, checksum);
    let checksum = xxh3_64(&file[..56]);
    put(&mut file, 56, checksum);
    let trailer = file.len() - 8;
    put(&mut file, trailer, checksum);
    file
}

fn save_state(path: &Path, filter: impl hapax::codec::Encode) {
    let options = SaveOptions { existing: Existing::Replace, ..SaveOptions::default() };
    Artefact { filter, provenance: Provenance::default() }.save(path, options).unwrap();
}

#[test]
fn counts_are_compared_with_bodies_whatever_the_kind_of_file() {
    let builder = CuckooFilter::builder().capacity(10).false_positive_rate(0.01);
    let mut alone = builder.build().unwrap();
    let mut window = GenerationWindow::new(&builder).unwrap();
    for key in ["a", "b", "c"] {
        let _ = alone.insert(key).unwrap();
        let _ = window.insert(key).unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("f.hapax");
    let saves: [&dyn Fn(); 4] = [
        &|| alone.save(&path).unwrap(),
        &|| window.save(&path).unwrap(),
        &|| save_state(&path, ReplayFilter::new(alone.clone())),
        &|| save_state(&path, ReplayFilter::new(window.clone())),
    ];
    for (kind, save) in saves.iter().enumerate() {
        save();
        let good = fs::read(&path).unwrap();
        assert_eq!(with_len(good.clone(), 3), good, "{kind}");
        assert_eq!(verify(&path, Reading::default(), &[]).unwrap().exit(), Exit::Yes, "{kind}");
        fs::write(&path, with_len(good, 2)).unwrap();
        let message = verify(&path, Reading::default(), &[]).unwrap_err();
        assert!(message.contains("f.hapax: "), "{kind}: {message}");
    }
}

#[test]
fn lists_of_another_shape_are_no_proof() {
    let (folder, filter) = built("abc\n", Reading::default());
    let list = folder.path().join("nt.txt");
    fs::write(&list, "8846F7EAEE8FB117AD06BDD830B7586C\n").unwrap();
    let message = verify(&filter, Reading::default(), &[Input::File(list.clone())]).unwrap_err();
    assert!(message.contains("expected SHA-1 hashes (40 digits), found"), "{message}");
    fs::write(&list, format!("{}:0\n", "0".repeat(40))).unwrap();
    let message = verify(&filter, Reading::default(), &[Input::File(list)]).unwrap_err();
    assert!(message.contains("nothing was verified"), "{message}");
}

#[test]
fn a_filter_of_other_keys_is_refused_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let (filter, list) = (folder.path().join("f.hapax"), folder.path().join("list.txt"));
    let builder = BloomFilter::builder().capacity(10).false_positive_rate(0.01);
    builder.build().unwrap().save(&filter).unwrap();
    fs::write(&list, "abc\n").unwrap();
    let message = verify(&filter, Reading::default(), &[Input::File(list)]).unwrap_err();
    assert!(message.contains("found one of other keys"), "{message}");
    assert_eq!(verify(&filter, Reading::default(), &[]).unwrap().exit(), Exit::Yes);
}
