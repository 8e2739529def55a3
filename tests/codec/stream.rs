//! Filters written while their keys stream by: whatever the way, the file is that of the builder.

use std::fs;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use hapax::codec::{
    Artefact, Existing, FileError, FuseWriter, Order, Provenance, SaveOptions, StreamError,
    StreamOptions,
};
use hapax::{
    BinaryFuseFilter, BuildError, Digest, FuseBuilder, FuseReport, KeyHash, Membership, Seed,
};

/// Keys in order, without visible structure in their first bits.
fn sorted(n: u64) -> Vec<KeyHash> {
    let mut keys: Vec<_> = (0..n).map(|id| Seed::new(3).hash(&id).unwrap()).collect();
    keys.sort_unstable();
    keys
}

/// The same keys in an order of their second halves.
fn shuffled(keys: &[KeyHash]) -> Vec<KeyHash> {
    let mut keys = keys.to_vec();
    keys.sort_unstable_by_key(|key| key.lo());
    keys
}

fn builder(threads: usize) -> FuseBuilder {
    let builder = BinaryFuseFilter::builder().fingerprint_bits(10);
    builder.seed(Seed::uniform(Digest::Sha1)).threads(NonZero::new(threads).unwrap())
}

/// A folder for the file, and one for temporary files.
struct Folders(tempfile::TempDir, tempfile::TempDir);

impl Folders {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().join("list.hapax")
    }

    fn options(&self, memory: u64) -> StreamOptions {
        let save = SaveOptions { existing: Existing::Replace, ..SaveOptions::default() };
        StreamOptions { save, memory, folder: self.1.path().to_owned(), ..StreamOptions::default() }
    }

    fn write(
        &self,
        keys: &[KeyHash],
        threads: usize,
        memory: u64,
    ) -> Result<FuseReport, StreamError> {
        let mut writer = FuseWriter::create(self.path(), &builder(threads), &self.options(memory))?;
        for &key in keys {
            writer.push(key)?;
        }
        writer.finish(Provenance { name: "streamed".into(), rows_read: 7, ..Default::default() })
    }

    #[track_caller]
    fn assert_empty(&self) {
        for folder in [&self.0, &self.1] {
            let left: Vec<_> = fs::read_dir(folder.path()).unwrap().collect();
            assert!(left.is_empty(), "{left:?} left");
        }
    }
}

/// The file that the builder makes of all keys at once.
fn expected(keys: &[KeyHash]) -> (Vec<u8>, FuseReport) {
    let built = builder(1).build_from(keys.iter().copied()).unwrap();
    let provenance = Provenance {
        name: "streamed".into(),
        rows_read: 7,
        rows_added: built.report.keys,
        rows_duplicate: built.report.duplicates,
        set_digest: built.report.set_digest,
        ..Default::default()
    };
    (Artefact { filter: built.filter, provenance }.to_bytes(), built.report)
}

const SMALL: u64 = 32 << 20;
const LARGE: u64 = 256 << 20;

/// Writes the keys in several ways and compares each file with the builder's.
fn check(what: &str, keys: &[KeyHash], ways: &[(usize, u64)]) {
    let (file, report) = expected(keys);
    let folders = Folders::new();
    for &(threads, memory) in ways {
        let found = folders.write(keys, threads, memory).unwrap();
        assert_eq!(found, report, "{what}, {threads} threads, {memory} bytes");
        let written = fs::read(folders.path()).unwrap();
        assert!(written == file, "{what}, {threads} threads, {memory} bytes: another file");
        assert_eq!(fs::read_dir(folders.1.path()).unwrap().count(), 0);
    }
    let read = Artefact::<BinaryFuseFilter>::load(folders.path()).unwrap().filter;
    assert!(keys.iter().all(|&key| read.contains_hash(key)), "{what}");
}

#[test]
fn few_keys_in_any_order_give_the_file_of_the_builder() {
    let keys = sorted(5_000);
    check("none", &[], &[(1, SMALL), (2, LARGE)]);
    check("one", &keys[..1], &[(2, LARGE)]);
    check("sorted", &keys, &[(1, SMALL), (3, LARGE)]);
    let mut twice = shuffled(&keys);
    twice.extend_from_slice(&keys);
    check("shuffled, twice", &twice, &[(1, SMALL), (3, LARGE)]);
    check("one key 100,000 times", &vec![keys[9]; 100_000], &[(1, SMALL)]);
}

#[test]
fn sorted_keys_give_the_file_of_the_builder_in_any_number_of_threads() {
    let keys = sorted(1_300_000);
    check("sorted", &keys, &[(1, SMALL), (2, LARGE), (5, LARGE)]);
    let mut repeated: Vec<_> = keys.iter().flat_map(|&key| [key, key]).collect();
    repeated.truncate(1_400_000);
    check("each twice", &repeated, &[(2, LARGE)]);
}

/// In memory, and by several runs on disk.
#[test]
fn unsorted_keys_give_the_file_of_the_builder() {
    let keys = sorted(1_300_000);
    let mut keys = shuffled(&keys);
    check("shuffled", &keys, &[(2, LARGE), (1, SMALL), (4, SMALL)]);
    keys.extend_from_within(..600_000);
    check("shuffled and repeated", &keys, &[(2, SMALL)]);
}

/// Sorted, and each pair of neighbours exchanged: no key belongs to a shard already closed but at
/// the seams, where the neighbours are left as they are.
#[test]
fn keys_nearly_sorted_need_no_disk() {
    let mut keys = sorted(1_300_000);
    for pair in keys[600_000..].chunks_exact_mut(2) {
        if pair[0].hi() >> 48 == pair[1].hi() >> 48 {
            pair.swap(0, 1);
        }
    }
    let folders = Folders::new();
    let options = StreamOptions { folder: "/nowhere".into(), ..folders.options(SMALL) };
    let mut writer = FuseWriter::create(folders.path(), &builder(2), &options).unwrap();
    keys.iter().try_for_each(|&key| writer.push(key)).unwrap();
    let report = writer.finish(Provenance::default()).unwrap();
    assert_eq!((report.keys, report.shards), (1_300_000, 3));
}

/// A list cut short, of one corner of the space: shards follow the keys, not the space.
#[test]
fn keys_of_few_prefixes_are_cut_where_they_are() {
    let corner = |key: &KeyHash, prefixes: u64| {
        let mut bytes = key.to_bytes();
        let prefix = (key.hi() >> 48) % prefixes;
        bytes[..2].copy_from_slice(&(0x1234 + prefix as u16).to_be_bytes());
        KeyHash::from_uniform(&bytes)
    };
    let keys = sorted(1_300_000);
    for (prefixes, shards) in [(1, 1), (2, 2), (7, 4)] {
        let mut keys: Vec<_> = keys.iter().map(|key| corner(key, prefixes)).collect();
        keys.sort_unstable();
        assert_eq!(expected(&keys).1.shards, shards, "{prefixes} prefixes");
        check("sorted", &keys, &[(2, LARGE)]);
        check("shuffled", &shuffled(&keys), &[(2, SMALL << 2)]);
    }
}

#[test]
fn more_keys_of_one_prefix_than_memory_are_refused() {
    let mut keys = sorted(1_300_000);
    for key in &mut keys {
        let mut bytes = key.to_bytes();
        bytes[..2].fill(7);
        *key = KeyHash::from_uniform(&bytes);
    }
    for keys in [shuffled(&keys), {
        keys.sort_unstable();
        keys
    }] {
        let folders = Folders::new();
        let error = folders.write(&keys, 2, SMALL).unwrap_err();
        assert!(matches!(error, StreamError::Build(BuildError::NotUniform { .. })), "{error}");
        folders.assert_empty();
    }
}

#[test]
fn a_key_of_a_shard_already_built_is_an_error_and_leaves_nothing() {
    let mut keys = sorted(1_300_000);
    let first = keys.remove(0);
    keys.push(first);
    let folders = Folders::new();
    let error = folders.write(&keys, 2, LARGE).unwrap_err();
    assert!(matches!(error, StreamError::Disorder { keys: 1_299_999 }), "{error}");
    assert!(error.to_string().contains("Order::Unsorted"), "{error}");
    folders.assert_empty();

    let options = StreamOptions { order: Order::Unsorted, ..folders.options(SMALL) };
    let mut writer = FuseWriter::create(folders.path(), &builder(2), &options).unwrap();
    keys.iter().try_for_each(|&key| writer.push(key)).unwrap();
    let provenance = Provenance { name: "streamed".into(), rows_read: 7, ..Default::default() };
    let report = writer.finish(provenance).unwrap();
    let (file, expected) = expected(&keys);
    assert_eq!(report, expected);
    assert!(fs::read(folders.path()).unwrap() == file);
}

#[test]
fn a_writer_that_is_dropped_leaves_nothing() {
    let keys = sorted(1_300_000);
    for keys in [keys.clone(), shuffled(&keys)] {
        let folders = Folders::new();
        let mut writer =
            FuseWriter::create(folders.path(), &builder(2), &folders.options(SMALL)).unwrap();
        keys.iter().try_for_each(|&key| writer.push(key)).unwrap();
        drop(writer);
        folders.assert_empty();
    }
}

#[test]
fn a_writer_that_cannot_work_says_so() {
    let folders = Folders::new();
    let create = |path: &Path, builder: &FuseBuilder, options: &StreamOptions| {
        FuseWriter::create(path, builder, options).unwrap_err()
    };
    let (path, options) = (folders.path(), folders.options(LARGE));
    let error = create(&path, &builder(1), &folders.options(SMALL - 1));
    assert!(matches!(error, StreamError::Build(BuildError::Option { name: "memory", .. })));
    let error = create(&path, &BinaryFuseFilter::builder(), &options);
    assert!(matches!(error, StreamError::Build(BuildError::Option { .. })));
    let error = create(&folders.0.path().join("no/such"), &builder(1), &options);
    assert!(matches!(error, StreamError::File(FileError::Io { .. })));
    folders.assert_empty();

    fs::write(&path, "old").unwrap();
    let refuse = StreamOptions { save: SaveOptions::default(), ..options.clone() };
    let error = create(&path, &builder(1), &refuse);
    assert!(matches!(error, StreamError::File(FileError::Exists { .. })));
    assert_eq!(fs::read(&path).unwrap(), b"old");

    let nowhere = StreamOptions { folder: "/nowhere".into(), ..folders.options(SMALL) };
    let mut writer = FuseWriter::create(&path, &builder(1), &nowhere).unwrap();
    let mut keys = shuffled(&sorted(2_000_000)).into_iter();
    let error = keys.try_for_each(|key| writer.push(key)).unwrap_err();
    assert!(matches!(error, StreamError::Temporary { .. }));
    let message = error.to_string();
    assert!(message.contains("/nowhere") && message.contains("another folder"), "{message}");
    // What came before an error is not all there: the writer takes no more, and cannot be finished.
    let next = keys.next().unwrap();
    assert!(matches!(writer.push(next), Err(StreamError::Failed)));
    assert!(matches!(writer.finish(Provenance::default()), Err(StreamError::Failed)));
    assert_eq!(fs::read(&path).unwrap(), b"old");
    assert_eq!(fs::read_dir(folders.0.path()).unwrap().count(), 1);
}
