//! Small damage to a file of every kind: cut anywhere, any bit flipped. All of it is refused.

use std::fs;

use hapax::codec::{DecodeError, FileError, verify};

use crate::reseal::parts;
use crate::samples::{SAMPLES, Sample};

/// Bytes at a multiple of 8, for reading in place.
pub(crate) struct Aligned {
    words: Vec<u64>,
    len: usize,
}

impl Aligned {
    pub(crate) fn new(bytes: &[u8]) -> Self {
        let mut words = vec![0u64; bytes.len().div_ceil(8)];
        bytemuck::cast_slice_mut::<_, u8>(&mut words)[..bytes.len()].copy_from_slice(bytes);
        Self { words, len: bytes.len() }
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.len]
    }

    pub(crate) fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.len]
    }
}

/// Where a byte of a file lies, as far as opening is concerned.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Place {
    Body,
    Elsewhere,
}

fn place(file: &[u8], at: usize) -> Place {
    let rows = parts(file).len();
    let in_body = (0..rows).any(|row| {
        let row = &file[64 + 32 * row..][..32];
        let start = crate::reseal::u64_at(row, 8) as usize;
        let len = crate::reseal::u64_at(row, 16) as usize;
        row[0] == 2 && (start..start + len).contains(&at)
    });
    if in_body { Place::Body } else { Place::Elsewhere }
}

fn load(sample: &Sample, bytes: &[u8]) -> DecodeError {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged");
    fs::write(&path, bytes).unwrap();
    match (sample.doors.load)(&path) {
        Err(FileError::Decode { path: found, source }) if found == path => source,
        other => panic!("{}: {other:?}", sample.name),
    }
}

#[test]
fn a_file_cut_at_any_length_is_refused_by_every_door() {
    for sample in &SAMPLES {
        let file = (sample.make)();
        let aligned = Aligned::new(&file);
        for len in 0..file.len() {
            let (cut, context) = (&aligned.bytes()[..len], format!("{} cut to {len}", sample.name));
            let expected = match len {
                0 => DecodeError::Empty,
                1..64 => DecodeError::Truncated { expected: 64, found: len as u64 },
                _ => DecodeError::Truncated { expected: file.len() as u64, found: len as u64 },
            };
            assert_eq!((sample.doors.rewrite)(cut).unwrap_err(), expected, "{context}");
            assert_eq!(verify(cut), Err(expected.clone()), "{context}");
            assert_eq!(load(sample, cut), expected, "{context}");
            if let Some(open) = sample.doors.open {
                assert_eq!(open(cut), Err(expected), "{context}");
            }
        }
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused() {
    for sample in &SAMPLES {
        let file = (sample.make)();
        let mut damaged = Aligned::new(&file);
        for at in 0..file.len() {
            let place = place(&file, at);
            for bit in 0..8 {
                damaged.bytes_mut()[at] ^= 1 << bit;
                let context = format!("{}: bit {bit} of byte {at}", sample.name);
                let bytes = damaged.bytes();
                let refused = (sample.doors.rewrite)(bytes).expect_err(&context);
                assert_eq!(verify(bytes), Err(refused.clone()), "{context}");
                if bit == at % 8 {
                    assert_eq!(load(sample, bytes), refused, "{context}");
                }
                if let Some(open) = sample.doors.open {
                    // Opening does not look at the body: that is what `verify` is for.
                    let expected = if place == Place::Body { Ok(()) } else { Err(refused) };
                    assert_eq!(open(bytes), expected, "{context}");
                }
                damaged.bytes_mut()[at] ^= 1 << bit;
            }
        }
        assert_eq!(damaged.bytes(), file);
    }
}

#[test]
fn one_more_byte_is_refused_by_every_door() {
    for sample in &SAMPLES {
        let file = (sample.make)();
        let expected = DecodeError::TrailingBytes { expected: file.len() as u64 };
        let longer = Aligned::new(&[file, vec![0]].concat());
        assert_eq!((sample.doors.rewrite)(longer.bytes()).unwrap_err(), expected);
        assert_eq!(verify(longer.bytes()), Err(expected.clone()));
        assert_eq!(load(sample, longer.bytes()), expected);
        if let Some(open) = sample.doors.open {
            assert_eq!(open(longer.bytes()), Err(expected));
        }
    }
}

#[test]
fn bytes_off_by_one_are_copied_but_not_read_in_place() {
    for sample in &SAMPLES {
        let file = (sample.make)();
        let shifted = Aligned::new(&[vec![0], file.clone()].concat());
        let bytes = &shifted.bytes()[1..];
        assert_eq!((sample.doors.rewrite)(bytes), Ok(file), "{}", sample.name);
        assert_eq!(verify(bytes), Ok(()), "{}", sample.name);
        if let Some(open) = sample.doors.open {
            assert_eq!(open(bytes), Err(DecodeError::Unaligned), "{}", sample.name);
        }
    }
}
