//! Copying and erasing.

use super::super::*;
use super::script::{Told, digests, live};
use super::{Shared, at, contents, everything};

#[test]
fn a_copy_is_the_newest_state_and_lives_on_its_own() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let target = MemoryStorage::default();
    let number = copy(&storage, &target).unwrap();
    assert_eq!(everything(&target).unwrap(), everything(&storage).unwrap());
    assert_eq!((number, target.list().unwrap().len()), (6, 2));

    let (mut ours, _) = StateStore::open(target.clone()).unwrap();
    let (mut theirs, _) = StateStore::open(storage.clone()).unwrap();
    let next = at(&ours, "ours");
    ours.publish(next).unwrap();
    let next = at(&theirs, "theirs");
    theirs.publish(next).unwrap();
    assert_eq!(everything(&target).unwrap().1, digests("at 6, epoch 1 retired"));

    let refused = copy(&storage, &target).unwrap_err();
    assert!(matches!(refused, StateError::Occupied { manifests: 3, segments: 1 }), "{refused}");
}

#[test]
fn a_reset_says_what_it_costs() {
    let storage = MemoryStorage::default();
    live(&storage, &mut Told::default()).unwrap();
    let refused = StateStore::create(storage.clone(), contents()).unwrap_err().to_string();
    assert!(refused.contains("found 2 manifests and 3 segments: open that state"), "{refused}");
    storage.put_new("notes.txt", b"not ours").unwrap();
    let erased = reset(&storage).unwrap();
    assert_eq!((erased.manifests, erased.segments, erased.tuples), (2, 3, Some(1)));
    assert_eq!(storage.list().unwrap(), [StoredObject { name: "notes.txt".into(), len: 8 }]);
}

#[test]
fn a_life_in_a_folder_is_that_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("state");
    let storage = Shared::new(LocalDirectory::create(&path).unwrap());
    live(&storage, &mut Told::default()).unwrap();
    drop(storage);

    // The lock and nothing else is left beside the objects.
    let reader = LocalDirectory::read_only(&path).unwrap();
    assert_eq!(std::fs::read_dir(&path).unwrap().count(), reader.list().unwrap().len() + 1);
    assert_eq!(everything(&reader).unwrap().1, digests("at 6, epoch 1 retired"));
    let refused = StateStore::open(reader).unwrap_err();
    assert!(matches!(refused, StateError::Storage(StorageError::ReadOnly { .. })), "{refused}");
    let (store, _) = StateStore::open(LocalDirectory::open(&path).unwrap()).unwrap();
    assert_eq!(store.number(), 7);
}
