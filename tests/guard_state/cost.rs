//! What a checkpoint writes: each tuple once when it is new, and once more when its epoch ends.

use hapax::replay::Position;
use hapax::replay::state::{MemoryStorage, Storage};

use crate::subject::*;

/// Bytes of a manifest with up to 15 live epochs of one channel, and of the headers of segments.
const OVERHEAD: u64 = 4_096;

#[test]
fn a_checkpoint_writes_what_is_new_and_what_has_ended() {
    let place = MemoryStorage::default();
    let storage = Watched::new(&place);
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    storage.take_written();

    // 500 tuples, in an epoch that goes on.
    process(&mut guard, 0..500);
    guard.checkpoint().unwrap();
    let written = storage.take_written();
    assert!((8 * 500..8 * 500 + OVERHEAD).contains(&written), "{written}");

    // 100 more, then the epoch ends: it is written as a whole.
    process(&mut guard, 500..600);
    guard.seal();
    guard.checkpoint().unwrap();
    let written = storage.take_written();
    assert!((8 * 700..8 * 700 + OVERHEAD).contains(&written), "{written}");

    // What was written before is not written again.
    for _ in 0..3 {
        guard.checkpoint().unwrap();
        let written = storage.take_written();
        assert!(written < OVERHEAD, "{written}");
    }
}

#[test]
fn all_checkpoints_of_a_stream_write_sixteen_bytes_a_tuple() {
    const CHECKPOINTS: u64 = 40;
    let storage = Watched::new(&MemoryStorage::default());
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    for round in 0..CHECKPOINTS {
        process(&mut guard, round * 1_000..(round + 1) * 1_000);
        guard.checkpoint().unwrap();
    }
    let written = storage.take_written();
    // The epoch being filled is not yet written a second time.
    let least = CHECKPOINTS * 1_000 * 16 - 8 * 1_000;
    assert!((least..least + CHECKPOINTS * OVERHEAD).contains(&written), "{written}");
}

#[test]
fn retiring_epochs_writes_no_tuples_and_frees_their_bytes() {
    let place = MemoryStorage::default();
    let storage = Watched::new(&place);
    let build = || builder().retire_on_truncation();
    let (mut guard, _) = build().open(storage.clone()).unwrap();
    process(&mut guard, 0..7_000);
    guard.seal();
    guard.checkpoint().unwrap();
    let len = || place.list().unwrap().iter().map(|row| row.len).sum::<u64>();
    let before = len();
    storage.take_written();
    guard.truncated(Position::new(0, 6_999));
    assert_eq!((guard.snapshot().remembered, storage.take_written()), (0, 0));
    // The state before is kept as well, and goes with the one after.
    for _ in 0..2 {
        guard.checkpoint().unwrap();
        let written = storage.take_written();
        assert!(written < OVERHEAD, "{written}");
    }
    assert!(before > 7_000 * 8 && len() < 2 * OVERHEAD, "{before} and {}", len());
}

/// A checkpoint for each tuple: their objects are joined, and nothing is forgotten by that.
#[test]
fn frequent_checkpoints_of_a_slow_stream_do_not_pile_up() {
    const TUPLES: u64 = 600;
    let place = MemoryStorage::default();
    let storage = Watched::new(&place);
    let (mut guard, _) = builder().open(storage.clone()).unwrap();
    storage.take_written();
    let mut most = 0;
    for id in 0..TUPLES {
        process(&mut guard, id..id + 1);
        guard.checkpoint().unwrap();
        most = most.max(place.list().unwrap().len());
    }
    // Those of the newest state and of the one before, in one epoch, and manifests.
    assert!((60..2 * 65 + 8).contains(&most), "{most} objects");
    let written = storage.take_written();
    // The manifest and a segment each time, and the epoch each 64th time.
    assert!(written < TUPLES * OVERHEAD * 2, "{written}");
    drop(guard);
    let (mut guard, _) = builder().open(place).unwrap();
    assert!((0..TUPLES).all(|id| !passes(&mut guard, id, REPEATED)));
}
