//! The promises of a kept state.

mod copies;
mod damage;
mod faults;
mod forms;
mod retention;
mod script;
mod writers;

use super::{
    Contents, EpochEntry, Phase, SegmentEntry, SegmentReader, StateError, StateStore, Storage, read,
};

/// Contents of 16 key groups without epochs.
fn contents() -> Contents {
    Contents {
        key_groups: 16,
        first_group: 2,
        last_group: 9,
        parameters: b"parameters".to_vec(),
        progress: b"at 0".to_vec(),
        epochs: vec![],
    }
}

/// An epoch of these segments.
fn epoch(number: u64, phase: Phase, len: u64, segments: Vec<SegmentEntry>) -> EpochEntry {
    EpochEntry { number, phase, len, meta: format!("epoch {number}").into_bytes(), segments }
}

/// Contents as they are, with other progress.
fn at<S: Storage>(store: &StateStore<S>, progress: &str) -> Contents {
    Contents { progress: progress.as_bytes().to_vec(), ..store.contents().clone() }
}

/// The newest whole state with all its digests: epoch, group, digests.
type Everything = (Contents, Vec<(u64, u16, Vec<u64>)>);

fn everything(storage: &dyn Storage) -> Result<Everything, StateError> {
    let (manifest, _) = read(storage)?;
    let mut digests = Vec::new();
    for epoch in &manifest.contents.epochs {
        for entry in &epoch.segments {
            for run in SegmentReader::open(storage, entry)?.read_groups(0..=u16::MAX) {
                let (group, run) = run?;
                digests.push((epoch.number, group, run));
            }
        }
    }
    Ok((manifest.contents, digests))
}
