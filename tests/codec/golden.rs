//! Files of released versions: read for ever, answers and bytes unchanged.
//!
//! `HAPAX_WRITE_GOLDEN=1 cargo test --test codec golden_files_are_what` writes the files of the
//! version that is being made. A file of a released version is never written again: a difference is
//! a bug, or a new format version.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;

use hapax::KeyHash;
use hapax::codec::verify;

use crate::samples::{SAMPLES, Sample, folder, writes_golden};

/// Keys 0 to 255 are asked.
const QUERIES: u32 = 256;

fn path(sample: &Sample) -> PathBuf {
    folder().join(sample.name).with_extension("hapax")
}

fn hashes(sample: &Sample) -> Vec<KeyHash> {
    (0..QUERIES).map(sample.hash).collect()
}

/// Reads a golden file into words, so that it can be read in place.
fn golden(sample: &Sample) -> Vec<u8> {
    fs::read(path(sample)).unwrap_or_else(|error| panic!("{}: {error}", path(sample).display()))
}

/// One line a file: its name, and `1` or `0` for each key.
fn answers() -> String {
    let mut out = String::from("# file, and its answers to the keys \"key 0\" to \"key 255\"\n");
    for sample in &SAMPLES {
        let answers = (sample.doors.answers)(&(sample.make)(), &hashes(sample));
        let bits: String = answers.iter().map(|&yes| if yes { '1' } else { '0' }).collect();
        writeln!(out, "{}.hapax {bits}", sample.name).unwrap();
    }
    out
}

#[test]
fn golden_files_are_what_this_release_writes() {
    let write = writes_golden();
    for sample in &SAMPLES {
        let made = (sample.make)();
        if write {
            fs::write(path(sample), &made).unwrap();
        }
        assert!(golden(sample) == made, "{} differs from what is written now", sample.name);
    }
    let answers_path = folder().join("answers.txt");
    if write {
        fs::write(&answers_path, answers()).unwrap();
    }
    assert_eq!(fs::read_to_string(answers_path).unwrap(), answers());
}

#[test]
fn golden_files_are_read_and_written_back_byte_for_byte() {
    for sample in &SAMPLES {
        let file = golden(sample);
        assert_eq!(verify(&file), Ok(()), "{}", sample.name);
        let back = (sample.doors.rewrite)(&file).unwrap();
        assert!(back == file, "{} changed on the way", sample.name);
    }
}

#[test]
fn golden_answers_hold_through_both_doors() {
    let pinned = fs::read_to_string(folder().join("answers.txt")).unwrap();
    for sample in &SAMPLES {
        let name = format!("{}.hapax ", sample.name);
        let line = pinned.lines().find_map(|line| line.strip_prefix(&name)).unwrap();
        let expected: Vec<bool> = line.chars().map(|bit| bit == '1').collect();
        let (file, hashes) = (golden(sample), hashes(sample));

        assert!((sample.doors.answers)(&file, &hashes) == expected, "{} copied", sample.name);
        if let Some(ask) = sample.doors.answers_in_place {
            let aligned = crate::flips::Aligned::new(&file);
            assert!(ask(aligned.bytes(), &hashes) == expected, "{} in place", sample.name);
        }
        assert!(expected[..sample.members as usize].iter().all(|&yes| yes), "{}", sample.name);
        assert!(expected.iter().any(|&yes| !yes), "{} says yes to all", sample.name);
    }
}

/// The windows have retired their oldest keys and hold at least the last 20.
#[test]
fn golden_windows_hold_the_keys_they_promise() {
    for (name, last) in [
        ("window-bloom", 50..70),
        ("replay-cuckoo", 40..60),
        ("retiring", 143..203),
        ("retiring-16", 20..40),
        ("replay-retiring", 70..100),
    ] {
        let sample = crate::samples::sample(name);
        let answers = (sample.doors.answers)(&golden(sample), &hashes(sample));
        assert!(answers[last].iter().all(|&yes| yes), "{name}");
        assert!(answers[..20].iter().filter(|&&yes| yes).count() < 10, "{name} retired nothing");
    }
}

#[test]
fn golden_files_are_small() {
    let mut total = 0;
    for entry in fs::read_dir(folder()).unwrap() {
        total += entry.unwrap().metadata().unwrap().len();
    }
    assert!(total < 64 << 10, "{total} bytes");
}
