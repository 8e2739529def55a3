//! Objects that are cut, changed, gone or of another release.

use super::super::*;
use super::everything;
use super::script::{Told, digests, live};

fn damaged(storage: &MemoryStorage, name: &str, bytes: &[u8]) -> MemoryStorage {
    let other = MemoryStorage::default();
    for StoredObject { name: there, len } in storage.list().unwrap() {
        let whole = storage.get(&there, len).unwrap();
        other.put_new(&there, if there == name { bytes } else { &whole }).unwrap();
    }
    other
}

fn without(storage: &MemoryStorage, names: &[&str]) -> MemoryStorage {
    let other = MemoryStorage::default();
    for StoredObject { name, len } in storage.list().unwrap() {
        if !names.iter().any(|gone| name.starts_with(gone)) {
            other.put_new(&name, &storage.get(&name, len).unwrap()).unwrap();
        }
    }
    other
}

/// What is read is a state that was once published, with its own digests; or it is an error.
fn is_a_published_state_or_an_error(storage: &MemoryStorage, case: &str) -> bool {
    let Ok((contents, found)) = everything(storage) else { return false };
    let progress = String::from_utf8(contents.progress).unwrap();
    assert!(["at 6", "at 6, epoch 1 retired"].contains(&progress.as_str()), "{case}: {progress}");
    assert_eq!(found, digests(&progress), "{case}");
    true
}

#[test]
fn an_object_cut_at_any_length_or_with_any_bit_changed_gives_no_wrong_answer() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let rows = storage.list().unwrap();
    assert_eq!(rows.len(), 5, "{rows:?}"); // two states, the sealed segments of the first and of the second
    let mut went_back = 0;
    for StoredObject { name, len } in rows {
        let whole = storage.get(&name, len).unwrap();
        for cut in 0..whole.len() {
            let case = format!("{name} cut to {cut}");
            let damaged = damaged(&storage, &name, &whole[..cut]);
            went_back += u32::from(is_a_published_state_or_an_error(&damaged, &case));
        }
        for bit in 0..8 * whole.len() {
            let case = format!("{name}, bit {bit}");
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let damaged = damaged(&storage, &name, &bytes);
            went_back += u32::from(is_a_published_state_or_an_error(&damaged, &case));
        }
        let longer = [&whole[..], b"\0"].concat();
        is_a_published_state_or_an_error(&damaged(&storage, &name, &longer), &name);
    }
    assert!(went_back > 1_000, "{went_back}");
}

#[test]
fn a_damaged_newest_manifest_is_reported_and_the_one_before_is_taken() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let newest = storage.list().unwrap().into_iter().filter(|row| row.name.starts_with('m')).max();
    let StoredObject { name, len } = newest.unwrap();
    let mut bytes = storage.get(&name, len).unwrap();
    bytes[100] ^= 1;
    let storage = damaged(&storage, &name, &bytes);

    let (mut store, restored) = StateStore::open(storage.clone()).unwrap();
    assert_eq!(store.contents().progress, b"at 6");
    assert_eq!((restored.number, restored.skipped.len()), (4, 1));
    let skipped = restored.skipped[0].to_string();
    assert!(skipped.contains("manifest 6: manifest-00000000000000000006: damaged"), "{skipped}");

    // Its number is not given again, and the damaged one goes when it is old enough.
    assert_eq!((store.writer(), store.number()), (7, 7));
    let next = super::at(&store, "at 7");
    assert_eq!(store.publish(next).unwrap(), 8);
    store.collect().unwrap();
    let (_, found) = everything(&storage).unwrap();
    assert_eq!(found, digests("at 6"));
}

#[test]
fn a_missing_segment_is_reported_and_the_state_before_is_taken() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    // Writer 5 sealed epoch 2 for the newest state.
    let storage = without(&storage, &["segment-00000000000000000005"]);
    let (_, restored) = read(&storage).unwrap();
    assert_eq!((restored.number, restored.skipped.len()), (4, 1));
    let skipped = restored.skipped[0].to_string();
    let gone = "segment-00000000000000000005-00000000000000000000: not there";
    assert!(skipped.contains(gone), "{skipped}");
}

#[test]
fn segments_without_a_manifest_are_refused_and_never_an_empty_state() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let storage = without(&storage, &["manifest"]);
    let refused = StateStore::open(storage.clone()).unwrap_err();
    assert!(matches!(refused, StateError::NoManifest { segments: 3, .. }), "{refused}");
    assert!(refused.to_string().contains("by a reset, which forgets every tuple"), "{refused}");
    let refused = StateStore::create(storage.clone(), super::contents()).unwrap_err();
    let occupied = StateError::Occupied { manifests: 0, segments: 3 };
    assert_eq!(refused.to_string(), occupied.to_string());

    let erased = reset(&storage).unwrap();
    assert_eq!((erased.manifests, erased.segments, erased.tuples), (0, 3, None));
    StateStore::create(storage, super::contents()).unwrap();
}

#[test]
fn manifests_that_are_all_damaged_are_each_named() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let storage = without(&storage, &["segment"]);
    let refused = StateStore::open(storage).unwrap_err();
    let StateError::NoneVerifies { skipped } = &refused else { panic!("{refused}") };
    assert_eq!(skipped.iter().map(|skipped| skipped.number).collect::<Vec<_>>(), [6, 4]);
    assert!(refused.to_string().contains("manifest 6: segment-"), "{refused}");
}

#[test]
fn an_empty_place_is_not_a_state() {
    let refused = StateStore::open(MemoryStorage::default()).unwrap_err();
    assert!(matches!(refused, StateError::Nothing), "{refused}");
}

#[test]
fn a_format_of_a_newer_release_is_refused_with_both_versions_named() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    for name in
        ["manifest-00000000000000000006", "segment-00000000000000000005-00000000000000000000"]
    {
        let mut bytes = storage.get(name, 1 << 20).unwrap();
        bytes[8] = 3;
        let refused = StateStore::open(damaged(&storage, name, &bytes)).unwrap_err().to_string();
        let expected = format!("{name}: format version 3, and this release reads up to version 1");
        assert!(refused.contains(&expected), "{refused}");
    }
}

#[test]
fn another_whole_segment_under_a_name_is_noticed() {
    let storage = MemoryStorage::default();
    let mut store = StateStore::create(storage.clone(), super::contents()).unwrap();
    let ours = store.put_segment(1, Phase::Active, &[(4, &[1])]).unwrap();
    let other = store.put_segment(1, Phase::Active, &[(4, &[2])]).unwrap();
    let mut next = store.contents().clone();
    next.epochs.push(super::epoch(1, Phase::Active, 1, vec![ours]));
    store.publish(next).unwrap();
    let bytes = storage.get(&other.id.to_string(), other.len).unwrap();
    let storage = damaged(&storage, &ours.id.to_string(), &bytes);
    let (_, restored) = read(&storage).unwrap();
    assert_eq!(restored.number, 1);
    assert!(restored.skipped[0].to_string().contains("checksum"), "{:?}", restored.skipped);
}
