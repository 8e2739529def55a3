//! Objects that are cut or changed: an error or an older checkpoint, never another content.

use std::collections::{BTreeMap, BTreeSet};

use hapax::replay::state::{Contents, MemoryStorage, StateStore, Storage, StoredObject, read};
use hapax::replay::*;

use crate::subject::*;

fn build() -> ReplayGuardBuilder {
    ReplayGuard::builder(Placement::AfterOutput)
        .window(20)
        .epochs(4)
        .max_in_flight(20)
        .loss_per_recovery(1e-6, 1_000)
        .retire_on_truncation()
        .retire_by_watermark(1 << 40, 1 << 40)
        .on_full(OnFull::Rotate)
}

/// A small state with an older one beside it, and which tuples each manifest covers.
fn small() -> (MemoryStorage, BTreeMap<u64, BTreeSet<u64>>) {
    let storage = MemoryStorage::default();
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    let mut covered = BTreeMap::from([(1, set(0..0))]);
    guard.start(Position::new(0, 0));
    guard.advance_watermark(5);
    for (ids, ends) in [(0..6, false), (6..12, true), (12..15, false)] {
        for id in ids.clone() {
            assert!(passes(
                &mut guard,
                id,
                Delivery::from(Position::new(0, id)).with_event_time(9)
            ));
        }
        if ends {
            guard.seal();
        }
        covered.insert(guard.checkpoint().unwrap().number, set(0..ids.end));
    }
    (storage, covered)
}

/// Opens a damaged place; what is found, if anything is, must be what that manifest covered.
fn is_exact_or_an_error(
    storage: MemoryStorage,
    covered: &BTreeMap<u64, BTreeSet<u64>>,
    case: &str,
) -> bool {
    let newest = covered.last_key_value().unwrap().0;
    match build().open(storage) {
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
        Ok((mut guard, Opened::Restored(restored))) => {
            assert_eq!(restored.skipped.is_empty(), restored.number == *newest, "{case}");
            assert_eq!(remembered(&mut guard, 20), covered[&restored.number], "{case}");
            true
        }
        Ok((_, opened)) => panic!("{case}: {opened:?}"),
    }
}

#[test]
fn an_object_cut_anywhere_or_with_any_bit_changed_gives_no_other_content() {
    let (storage, covered) = small();
    let mut went_back = 0;
    for StoredObject { name, len } in storage.list().unwrap() {
        let whole = storage.get(&name, len).unwrap();
        for cut in 0..whole.len() {
            let damaged = with_object(&storage, &name, &whole[..cut]);
            let case = format!("{name} cut to {cut}");
            went_back += u64::from(is_exact_or_an_error(damaged, &covered, &case));
        }
        for bit in 0..8 * whole.len() {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            let damaged = with_object(&storage, &name, &bytes);
            let case = format!("{name}, bit {bit}");
            went_back += u64::from(is_exact_or_an_error(damaged, &covered, &case));
        }
    }
    assert!(went_back > 5_000, "{went_back}");
}

#[test]
fn any_object_that_is_gone_is_missed() {
    let (storage, covered) = small();
    let rows = storage.list().unwrap();
    for gone in &rows {
        let damaged = with_object(&storage, "", b"");
        damaged.delete(&gone.name).unwrap();
        let opened = build().open(damaged.clone());
        match opened {
            Ok((mut guard, Opened::Restored(restored))) => {
                assert_eq!(remembered(&mut guard, 20), covered[&restored.number], "{gone:?}");
            }
            // There is no older one that is whole.
            Err(StateFault::State(_)) => {}
            other => panic!("{gone:?}: {other:?}"),
        }
    }
}

/// Publishes a state's contents as somebody else might write them, all checksums right.
fn rewritten(storage: &MemoryStorage, change: impl FnOnce(&mut Contents)) -> Option<MemoryStorage> {
    let other = with_object(storage, "", b"");
    let (mut store, _) = StateStore::open(other.clone()).unwrap();
    let mut contents = store.contents().clone();
    change(&mut contents);
    // A state that contradicts itself is refused before it is written.
    store.publish(contents).ok().map(|_| other)
}

/// Opens what somebody else has written, and if that works, uses it: nothing may overflow.
fn opens_and_goes_on(storage: MemoryStorage) -> bool {
    let _ = StateReport::read(&storage);
    let part: &dyn Storage = &storage;
    if let Ok((mut guard, _)) = build().open_parts(&[part], MemoryStorage::default()) {
        goes_on(&mut guard);
    }
    let Ok((mut guard, _)) = build().open(storage.clone()) else { return false };
    goes_on(&mut guard);
    drop(guard);
    build().open(storage).unwrap();
    true
}

fn goes_on(guard: &mut ReplayGuard) {
    for id in [3, 100, u64::MAX] {
        for delivery in [REPEATED, Position::new(0, id).into(), FRESH.with_event_time(id)] {
            if let Ok(Verdict::First(ticket)) = guard.admit(&id, &id, delivery) {
                ticket.commit();
            }
        }
        guard.seal();
        guard.truncated(Position::new(0, id));
        guard.advance_watermark(id);
    }
    guard.begin_recovery();
    let snapshot = guard.snapshot();
    assert!(snapshot.counts.estimated_lost >= 0.0);
    guard.checkpoint().unwrap();
}

/// Each byte and each word of `bytes` changed in several ways, cut, and longer.
fn mutations(bytes: &[u8]) -> Vec<Vec<u8>> {
    let mut all = Vec::new();
    for at in 0..bytes.len() {
        for value in [bytes[at] ^ 1, bytes[at] ^ 0x80, 0xff, 0] {
            all.push([&bytes[..at], &[value], &bytes[at + 1..]].concat());
        }
        all.push(bytes[..at].to_vec());
        if at % 8 == 0 && at + 8 <= bytes.len() {
            for word in
                [u64::MAX, 1 << 63, (1 << 62) - (1 << 20), (1 << 62) + 1, f64::MAX.to_bits(), 7]
            {
                all.push([&bytes[..at], &word.to_le_bytes(), &bytes[at + 8..]].concat());
            }
        }
    }
    all.push([bytes, &[0]].concat());
    all.retain(|changed| changed != bytes);
    all
}

/// How many of the rewritten states open.
fn survives(
    storage: &MemoryStorage,
    original: &[u8],
    field: fn(&mut Contents) -> &mut Vec<u8>,
) -> (u64, u64) {
    let (mut opened, mut refused) = (0, 0);
    for bytes in mutations(original) {
        let Some(other) = rewritten(storage, |contents| *field(contents) = bytes) else { continue };
        if opens_and_goes_on(other) {
            opened += 1;
        } else {
            refused += 1;
        }
    }
    (opened, refused)
}

#[test]
fn other_parameters_or_epochs_in_a_whole_manifest_are_errors_and_no_panics() {
    let (storage, _) = small();
    let contents = read(&storage).unwrap().0.contents;
    assert!(opens_and_goes_on(rewritten(&storage, |_| ()).unwrap()));

    let (opened, refused) =
        survives(&storage, &contents.parameters, |contents| &mut contents.parameters);
    // There is one content that this guard was made for.
    assert_eq!(opened, 0);
    assert!(refused > 200, "{refused}");

    let (opened, refused) =
        survives(&storage, &contents.epochs[0].meta, |contents| &mut contents.epochs[0].meta);
    assert!(opened > 50 && refused > 50, "{opened} and {refused}");
    let (opened, refused) =
        survives(&storage, &contents.epochs[1].meta, |contents| &mut contents.epochs[1].meta);
    assert!(opened > 50 && refused > 50, "{opened} and {refused}");
}

#[test]
fn other_progress_in_a_whole_manifest_is_an_error_or_taken_and_no_panic() {
    let (storage, _) = small();
    let contents = read(&storage).unwrap().0.contents;
    let (opened, refused) =
        survives(&storage, &contents.progress, |contents| &mut contents.progress);
    // Counts may be any; what follows from them may not.
    assert!(opened > 500 && refused > 1_000, "{opened} and {refused}");
}

#[test]
fn epochs_that_do_not_follow_each_other_are_refused() {
    let (storage, _) = small();
    let cases: [fn(&mut Contents); 4] = [
        |contents| contents.epochs.clear(),
        |contents| drop(contents.epochs.remove(0)),
        |contents| drop(contents.epochs.pop()),
        |contents| {
            let epoch = contents.epochs[1].clone();
            contents.epochs.push(state::EpochEntry {
                number: 3,
                len: 0,
                segments: vec![],
                ..epoch
            });
        },
    ];
    let mut refused = 0;
    for change in cases {
        let other = rewritten(&storage, change).unwrap();
        match build().open(other) {
            Err(StateFault::Epochs { .. } | StateFault::Meaning { .. }) => refused += 1,
            // Without its oldest epoch it is a state whose oldest epoch has retired.
            Ok((mut guard, _)) => assert_eq!(remembered(&mut guard, 20), set(7..15)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, 3);
}

/// A guard on it could be opened and never saved.
#[test]
fn a_manifest_whose_groups_are_not_those_of_its_parameters_is_refused() {
    let storage = MemoryStorage::default();
    drop(build().open(storage.clone()).unwrap());
    let contents = Contents { key_groups: 2, ..read(&storage).unwrap().0.contents };
    let other = MemoryStorage::default();
    StateStore::create(other.clone(), contents).unwrap();
    let refused = build().open(other).unwrap_err();
    assert!(matches!(refused, StateFault::Meaning { .. }), "{refused}");
    let refused = refused.to_string();
    assert!(refused.contains("expected 1, as the parameters say, found 2"), "{refused}");
}
