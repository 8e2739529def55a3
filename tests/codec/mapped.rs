//! Files read in place through a map.

use std::fs;
use std::path::Path;

use hapax::codec::{Artefact, DecodeError, FileError, Persist, verify_path};
use hapax::prelude::*;
use hapax::{HashError, Mapped, SecretKey};

use crate::samples::{SAMPLES, SECRET, sample};

fn decode_error<T: std::fmt::Debug>(result: Result<T, FileError>, path: &Path) -> DecodeError {
    match result.unwrap_err() {
        FileError::Decode { path: found, source } if found == path => source,
        other => panic!("{other}"),
    }
}

fn open(path: &Path) -> Result<AnyFilter<Mapped>, FileError> {
    Ok(Artefact::<AnyFilter<Mapped>>::open_path(path)?.filter)
}

#[test]
fn every_filter_answers_from_a_mapped_file() {
    let folder = tempfile::tempdir().unwrap();
    let mut filters = 0;
    for sample in &SAMPLES {
        let path = folder.path().join(sample.name);
        let bytes = (sample.make)();
        fs::write(&path, &bytes).unwrap();
        verify_path(&path).unwrap();
        if sample.doors.open.is_none() {
            let error = decode_error(open(&path), &path);
            assert!(matches!(error, DecodeError::WrongKind { .. }), "{}: {error}", sample.name);
            continue;
        }
        let filter = open(&path).unwrap();
        let hashes: Vec<_> = (0..256).map(sample.hash).collect();
        let answers: Vec<_> = hashes.iter().map(|&hash| filter.contains_hash(hash)).collect();
        assert_eq!(answers, (sample.doors.answers)(&bytes, &hashes), "{}", sample.name);
        let artefact = Artefact::<AnyFilter<Mapped>>::open_path(&path).unwrap();
        assert!(artefact.to_bytes() == bytes, "{} written from its map", sample.name);
        filters += 1;
    }
    assert!(filters >= 12);
}

#[test]
fn a_mapped_filter_goes_on_when_its_file_is_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    fs::write(&path, (sample("fuse-8").make)()).unwrap();
    let filter = open(&path).unwrap();
    let clone = filter.clone();
    drop(filter);
    BloomFilter::builder()
        .capacity(9)
        .false_positive_rate(0.1)
        .build()
        .unwrap()
        .save(&path)
        .unwrap();
    assert!((0..60).all(|key| clone.contains_hash((sample("fuse-8").hash)(key))));
    assert!(matches!(open(&path).unwrap(), AnyFilter::Growing(_)));
}

#[test]
fn a_mapped_filter_is_unlocked_with_its_key() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keyed");
    fs::write(&path, (sample("cuckoo-keyed").make)()).unwrap();
    let mut filter = open(&path).unwrap();
    assert!(matches!(filter.contains("key 1"), Err(HashError::Locked { .. })));
    filter.unlock(SecretKey::new(SECRET)).unwrap();
    assert!(filter.contains("key 1").unwrap());
}

#[test]
fn what_cannot_be_mapped_or_is_damaged_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("list");
    for path in [path.as_path(), folder.path()] {
        assert!(matches!(open(path), Err(FileError::Io { .. })));
        assert!(matches!(verify_path(path), Err(FileError::Io { .. })));
    }
    fs::write(&path, b"").unwrap();
    assert_eq!(decode_error(open(&path), &path), DecodeError::Empty);
    assert_eq!(decode_error(verify_path(&path), &path), DecodeError::Empty);

    let file = (sample("fuse-8").make)();
    fs::write(&path, &file[..file.len() - 1]).unwrap();
    let truncated =
        DecodeError::Truncated { expected: file.len() as u64, found: file.len() as u64 - 1 };
    assert_eq!(decode_error(open(&path), &path), truncated);
    assert_eq!(decode_error(verify_path(&path), &path), truncated);

    // A flipped bit of the body is what only the full check looks at.
    let mut damaged = file;
    damaged[300] ^= 4;
    fs::write(&path, damaged).unwrap();
    open(&path).unwrap();
    let error = decode_error(verify_path(&path), &path);
    assert!(matches!(error, DecodeError::Checksum { part: "body", .. }), "{error}");
}
