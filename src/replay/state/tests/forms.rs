//! Bytes: round trips, and what a reader must refuse.

use std::collections::BTreeMap;

use proptest::prelude::*;
use xxhash_rust::xxh3::xxh3_64;

use super::super::*;

fn segment_entry() -> impl Strategy<Value = SegmentEntry> {
    let words = (1..u64::MAX, any::<u64>(), 40..u64::MAX, any::<u64>());
    words.prop_map(|(writer, counter, len, checksum)| {
        let id = SegmentId { writer, counter };
        SegmentEntry { id, len, checksum }
    })
}

fn epoch_entry() -> impl Strategy<Value = EpochEntry> {
    let meta = proptest::collection::vec(any::<u8>(), 0..20);
    let segments = proptest::collection::btree_map(any::<u64>(), segment_entry(), 0..4);
    (any::<bool>(), any::<u64>(), meta, segments).prop_map(|(sealed, len, meta, segments)| {
        let phase = if sealed { Phase::Sealed } else { Phase::Active };
        let mut segments: Vec<_> = segments.into_values().collect();
        segments.truncate(if sealed { 1 } else { 4 });
        let len = if segments.is_empty() { 0 } else { len };
        EpochEntry { number: 0, phase, len, meta, segments }
    })
}

prop_compose! {
    fn manifest()(
        writer in 1..1_000u64,
        above in 0..1_000u64,
        token in any::<u64>(),
        groups in (1..=MAX_KEY_GROUPS, any::<prop::sample::Index>(), any::<prop::sample::Index>()),
        parameters in prop::collection::vec(any::<u8>(), 0..50),
        progress in prop::collection::vec(any::<u8>(), 0..50),
        epochs in prop::collection::btree_map(any::<u64>(), epoch_entry(), 0..5),
    ) -> Manifest {
        let (key_groups, first, last) = groups;
        let last_group = last.index(key_groups as usize) as u16;
        let first_group = first.index(usize::from(last_group) + 1) as u16;
        let epochs = epochs.into_iter();
        let epochs = epochs.map(|(number, epoch)| EpochEntry { number, ..epoch }).collect();
        let contents = Contents { key_groups, first_group, last_group, parameters, progress, epochs };
        let number = writer + above;
        Manifest { number, writer, token, previous: number - 1, contents }
    }
}

proptest! {
    #[test]
    fn a_manifest_is_read_as_written(manifest in manifest()) {
        let bytes = manifest.encode()?;
        prop_assert_eq!(Manifest::decode(manifest.number, &bytes)?, manifest);
    }

    #[test]
    fn bytes_that_are_taken_for_a_manifest_are_the_only_ones_for_it(
        manifest in manifest(),
        at in any::<prop::sample::Index>(),
        flip in 1..=255u8,
    ) {
        let mut bytes = manifest.encode()?;
        let body = bytes.len() - 8;
        bytes[at.index(body)] ^= flip;
        let checksum = xxh3_64(&bytes[..body]).to_le_bytes();
        bytes[body..].copy_from_slice(&checksum);
        if let Ok(other) = Manifest::decode(manifest.number, &bytes) {
            prop_assert_eq!(other.encode()?, bytes);
        }
    }

    #[test]
    fn digests_are_read_by_group_as_they_were_written(
        runs in prop::collection::vec((0..16u16, prop::collection::vec(any::<u64>(), 0..9)), 0..20),
        cuts in 1..4usize,
    ) {
        let storage = MemoryStorage::default();
        let mut store = StateStore::create(storage.clone(), super::contents())?;
        let mut expected = BTreeMap::<u16, Vec<u64>>::new();
        for (group, run) in runs.iter().filter(|(_, run)| !run.is_empty()) {
            expected.entry(*group).or_default().extend(run);
        }
        let len = expected.values().map(Vec::len).sum::<usize>() as u64;
        let expected: Vec<_> = expected.into_iter().collect();

        // In one, and in parts that are then sealed.
        let borrowed: Vec<_> = runs.iter().map(|(group, run)| (*group, run.as_slice())).collect();
        let one = store.put_segment(5, Phase::Sealed, &borrowed)?;
        let mut parts = Vec::new();
        for part in borrowed.chunks(borrowed.len() / cuts + 1) {
            parts.push(store.put_segment(5, Phase::Active, part)?);
        }
        let sealed = store.seal(&super::epoch(5, Phase::Active, len, parts))?;
        if let [sealed] = sealed.segments[..] {
            prop_assert_eq!((sealed.len, sealed.checksum), (one.len, one.checksum));
        }
        prop_assert_eq!(sealed.segments.is_empty(), len == 0);

        let reader = store.reader(&one)?;
        prop_assert_eq!((reader.epoch(), reader.phase(), reader.len()), (5, Phase::Sealed, len));
        prop_assert_eq!(reader.is_empty(), len == 0);
        for first in 0..16 {
            for last in first..16 {
                let range: Vec<_> = reader.read_groups(first..=last).collect::<Result<_, _>>()?;
                let mut expected = expected.clone();
                expected.retain(|(group, _)| (first..=last).contains(group));
                prop_assert_eq!(range, expected);
            }
            let run = expected.iter().find(|(group, _)| *group == first);
            let run = run.map(|(_, run)| run.clone()).unwrap_or_default();
            prop_assert_eq!(reader.read_group(first)?, run);
        }
    }
}

#[test]
fn a_segment_longer_than_a_batch_is_read_by_several() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), super::contents()).unwrap();
    // 8 MiB are 2²⁰ digests: groups 0 and 1 fit together, 2 does not, and 3 is more alone.
    let lens = [300_000usize, 700_000, 100_000, 1_200_000, 1];
    let runs: Vec<Vec<u64>> = lens.iter().map(|&len| (0..len as u64).collect()).collect();
    let borrowed: Vec<_> = runs.iter().enumerate().map(|(i, run)| (i as u16, &run[..])).collect();
    let entry = store.put_segment(1, Phase::Active, &borrowed).unwrap();
    assert_eq!(entry.len, 8 * lens.iter().sum::<usize>() as u64 + 32 + 5 * 24 + 8);
    let reader = store.reader(&entry).unwrap();
    let read: Vec<_> = reader.read_groups(0..=9).map(|run| run.unwrap().1).collect();
    assert!(read == runs, "other digests");
    let epoch = super::epoch(1, Phase::Active, reader.len(), vec![entry]);
    let sealed = store.seal(&epoch).unwrap();
    let reader = store.reader(&sealed.segments[0]).unwrap();
    assert!(reader.read_group(3).unwrap() == runs[3], "other digests");
}

/// A field of a manifest that a writer with a mistake has sealed with a right checksum.
#[test]
fn malformed_manifests_are_refused_with_the_reason() {
    let contents =
        Contents { epochs: vec![super::epoch(1, Phase::Active, 0, vec![])], ..super::contents() };
    let manifest = Manifest { number: 9, writer: 4, token: 1, previous: 8, contents };
    let whole = manifest.encode().unwrap();
    // "parameters" and "at 0" follow the fixed fields.
    let epoch = 72 + 10 + 4;
    let rows: [(usize, &[u8], &str); 14] = [
        (0, b"x", "first bytes: expected those of a manifest"),
        (8, &[0], "format version: expected 1 to 1, found 0"),
        (10, &[1], "reserved bytes in the manifest"),
        (12, &[0], "number of key groups: expected 1 to 32768, found 0"),
        (12, &[0, 0, 1], "number of key groups"),
        (16, &[8], "number of a manifest: expected 9, found 8"),
        (24, &[10], "writer of a manifest: expected 1 to 9, found 10"),
        (40, &[9], "previous manifest: expected less than 9, found 9"),
        (48, &[1], "length of a manifest"),
        (58, &[16], "range of key groups"),
        (60, &[255, 255, 255, 255], "manifest: expected more bytes"),
        (60, &[0], "manifest: expected no more bytes"),
        (64, &[255, 255, 255, 255], "manifest: expected more bytes, found"),
        (epoch + 16, &[3], "phase of an epoch: expected 1 or 2, found 3"),
    ];
    for (at, bytes, expected) in rows {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let body = changed.len() - 8;
        let checksum = xxh3_64(&changed[..body]).to_le_bytes();
        changed[body..].copy_from_slice(&checksum);
        let refused = Manifest::decode(9, &changed).unwrap_err().to_string();
        assert!(refused.contains(expected), "{at}: {refused}");
    }
}

#[test]
fn malformed_segments_are_refused_with_the_reason() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), super::contents()).unwrap();
    let entry = store.put_segment(1, Phase::Active, &[(3, &[1, 2]), (5, &[3])]).unwrap();
    let whole = storage.get(&entry.id.to_string(), entry.len).unwrap();
    assert_eq!(whole.len(), 32 + 2 * 24 + 8 + 3 * 8);
    let rows: [(usize, &[u8], &str); 13] = [
        (0, b"x", "first bytes: expected those of a segment"),
        (8, &[0], "format version: expected 1 to 1, found 0"),
        (10, &[0], "phase of an epoch"),
        (11, &[1], "reserved bytes"),
        (12, &[255, 255, 255, 255], "number of runs: expected at most 65536"),
        (12, &[255, 255], "truncated: expected at least"),
        (24, &[0], "length of a segment"),
        (34, &[1], "reserved bytes"),
        (32 + 24, &[3], "key group of a run: expected more than 3, found 3"),
        (40, &[0], "digests in a run: expected 1 to 3, found 0"),
        (40, &[4], "digests in a run: expected 1 to 3, found 4"),
        (40, &[255; 8], "digests in a run"),
        (40, &[1], "length of a segment: expected 104, found 112"),
    ];
    for (at, bytes, expected) in rows {
        let mut changed = whole.clone();
        changed[at..at + bytes.len()].copy_from_slice(bytes);
        let checksum = xxh3_64(&changed[..80]);
        changed[80..88].copy_from_slice(&checksum.to_le_bytes());
        let storage = MemoryStorage::default();
        storage.put_new(&entry.id.to_string(), &changed).unwrap();
        let entry = SegmentEntry { checksum, ..entry };
        let refused = SegmentReader::open(&storage, &entry).unwrap_err().to_string();
        assert!(refused.contains(expected), "{at}: {refused}");
    }
}

/// The bytes of format version 1. A difference is a bug, or a new version.
#[test]
fn the_form_of_version_1_is_what_it_was() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), super::contents()).unwrap();
    let entry = store.put_segment(1, Phase::Active, &[(3, &[1, 2]), (5, &[3])]).unwrap();
    let segment = storage.get(&entry.id.to_string(), entry.len).unwrap();
    let contents = Contents {
        epochs: vec![super::epoch(1, Phase::Active, 3, vec![entry])],
        ..super::contents()
    };
    let manifest = Manifest { number: 9, writer: 4, token: 1, previous: 8, contents };
    let sums = [xxh3_64(&segment), xxh3_64(&manifest.encode().unwrap())];
    assert_eq!(sums.map(|sum| format!("{sum:016x}")), ["741e90e38c72340c", "c4a6d8c6cb18698d"]);
}
