//! A filter written while its keys stream by, in little memory, against the one built in memory: the
//! same file, or an error and no file.
//!
//! Seeds: none are needed, since keys are made from a few bytes.
//!
//! Under the fuzzer a shard has 64 keys rather than half a million, so that a short input fills many.
//! Replayed without it, an input only ever fills one: replay with
//! `cargo +nightly fuzz run fuse_writer artifacts/fuse_writer/*`.
#![cfg_attr(fuzzing, no_main)]

use std::collections::HashMap;
use std::num::NonZero;
use std::path::Path;

use arbitrary::Arbitrary;
use hapax::codec::{
    Artefact, FuseWriter, Order, Provenance, SaveOptions, StreamError, StreamOptions, verify,
};
use hapax::filter::{FuseBuilder, FuseReport};
use hapax::{BinaryFuseFilter, BuildError, KeyHash, Mapped, Membership, Salt};

/// The least memory under the fuzzer, and in earnest.
const MIN_MEMORY: u64 = if cfg!(fuzzing) { 4 << 10 } else { 32 << 20 };

/// Keys of an input, at most: it takes milliseconds.
const MAX_KEYS: usize = 1 << 14;

#[derive(Debug, Arbitrary)]
struct Input {
    pieces: Vec<Piece>,
    fingerprint_bits: u8,
    salt: u64,
    threads: u8,
    /// Beyond the least.
    memory: u16,
    unsorted: bool,
    /// The folder for temporary files is not there.
    no_folder: bool,
    restrict: bool,
}

/// Keys, in the order in which they come.
#[derive(Clone, Copy, Debug, Arbitrary)]
enum Piece {
    One {
        prefix: u16,
        low: u8,
    },
    /// One of each prefix.
    Ascending {
        from: u16,
        keys: u8,
    },
    /// Many of one prefix.
    Crowd {
        prefix: u8,
        from: u16,
        keys: u8,
    },
    Scattered {
        from: u16,
        keys: u8,
    },
    /// Those that came so long before, again.
    Again {
        before: u16,
        keys: u8,
    },
}

/// A key by its first 32 bits; the others follow from them.
fn key(prefix: u16, low: u16) -> KeyHash {
    let head = u128::from(prefix) << 16 | u128::from(low);
    let rest = head.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835) >> 32;
    KeyHash::from_uniform(&(head << 96 | rest).to_be_bytes())
}

fn keys(pieces: &[Piece]) -> Vec<KeyHash> {
    let mut keys = Vec::new();
    for &piece in pieces {
        match piece {
            Piece::One { prefix, low } => keys.push(key(prefix, low.into())),
            Piece::Ascending { from, keys: len } => {
                keys.extend((0..u16::from(len)).map(|i| key(from.saturating_add(i), 0)));
            }
            Piece::Crowd { prefix, from, keys: len } => {
                let crowd = (0..u16::from(len)).map(|i| key(prefix.into(), from.saturating_add(i)));
                keys.extend(crowd);
            }
            Piece::Scattered { from, keys: len } => {
                let odd = |i: u16| from.wrapping_add(i).wrapping_mul(0x9e37);
                keys.extend((0..u16::from(len)).map(|i| key(odd(i), i)));
            }
            Piece::Again { before, keys: len } => {
                let start = keys.len().saturating_sub(before.into());
                let end = keys.len().min(start + usize::from(len));
                keys.extend_from_within(start..end);
            }
        }
        keys.truncate(MAX_KEYS);
    }
    keys
}

/// Writes the keys. After an error nothing more is taken.
fn write(
    path: &Path,
    keys: &[KeyHash],
    builder: &FuseBuilder,
    options: &StreamOptions,
    restrict: bool,
) -> Result<FuseReport, StreamError> {
    let mut writer = FuseWriter::create(path, builder, options)?;
    let (first, rest) = keys.split_at(keys.len() / 2);
    let pushed = first.iter().try_for_each(|&key| writer.push(key));
    if restrict {
        writer.restrict_to_owner();
    }
    let pushed = pushed.and_then(|()| writer.push_all(rest));
    if let Err(error) = pushed {
        let again = key(u16::MAX, u16::MAX);
        assert!(matches!(writer.push(again), Err(StreamError::Failed)), "a hole is written over");
        let finished = writer.finish(Provenance::default());
        assert!(matches!(finished, Err(StreamError::Failed)), "a file with a hole");
        return Err(error);
    }
    writer.finish(Provenance::default())
}

/// Whether these keys and options are a reason for an error.
fn assert_due(error: &StreamError, keys: &[KeyHash], input: &Input) {
    assert!(!error.to_string().is_empty());
    match error {
        StreamError::Disorder { .. } => assert!(!input.unsorted && !keys.is_sorted(), "{error}"),
        StreamError::Temporary { .. } => {
            assert!(input.no_folder && (input.unsorted || !keys.is_sorted()), "{error}");
        }
        StreamError::Build(BuildError::NotUniform { keys: crowd, max }) => {
            let mut distinct = keys.to_vec();
            distinct.sort_unstable();
            distinct.dedup();
            let mut crowds = HashMap::new();
            for key in distinct {
                *crowds.entry(key.hi() >> 48).or_insert(0) += 1;
            }
            assert!(crowd > max && crowds.values().any(|keys| keys >= crowd), "{error}");
        }
        other => panic!("nothing else can fail here: {other}"),
    }
}

fn run(input: Input) {
    let keys = keys(&input.pieces);
    let builder = BinaryFuseFilter::builder()
        .fingerprint_bits(4 + u32::from(input.fingerprint_bits) % 29)
        .salt(Salt::new(input.salt))
        .threads(NonZero::new(usize::from(input.threads) % 4 + 1).expect("one at least"));
    let folder = tempfile::tempdir().expect("there is room");
    let path = folder.path().join("list.hapax");
    let options = StreamOptions {
        save: SaveOptions::default(),
        memory: MIN_MEMORY + u64::from(input.memory),
        order: if input.unsorted { Order::Unsorted } else { Order::Detected },
        folder: folder.path().join(if input.no_folder { "missing" } else { "" }),
    };
    let files = || std::fs::read_dir(folder.path()).expect("it is there").count();
    let report = match write(&path, &keys, &builder, &options, input.restrict) {
        Ok(report) => report,
        Err(error) => {
            assert_eq!(files(), 0, "something was left");
            return assert_due(&error, &keys, &input);
        }
    };
    assert_eq!(files(), 1, "something was left");

    let built = builder.build_from(keys.iter().copied()).expect("what streamed by is built");
    assert_eq!(report, built.report);
    let bytes = std::fs::read(&path).expect("the file is there");
    assert_eq!(verify(&bytes), Ok(()));
    let provenance = Provenance {
        rows_added: report.keys,
        rows_duplicate: report.duplicates,
        set_digest: report.set_digest,
        ..Provenance::default()
    };
    let in_memory = Artefact { filter: built.filter, provenance };
    assert!(bytes == in_memory.to_bytes(), "another file than that of the filter built in memory");
    let opened = Artefact::<BinaryFuseFilter<Mapped>>::open_path(&path).expect("it was written");
    assert!(keys.iter().all(|&key| opened.filter.contains_hash(key)), "a member is denied");
}

hapax_fuzz::target!(run: Input);
