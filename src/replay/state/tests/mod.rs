//! The promises of a kept state.

mod copies;
mod damage;
mod faults;
mod forms;
mod retention;
pub(super) mod script;
mod writers;

use std::sync::Arc;

use super::{
    Contents, EpochEntry, Phase, SegmentEntry, SegmentReader, StateError, StateStore, Storage,
    StorageError, StoredObject, read,
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
pub(super) type Everything = (Contents, Vec<(u64, u16, Vec<u64>)>);

pub(super) fn everything(storage: &dyn Storage) -> Result<Everything, StateError> {
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

/// A place that a life can open again.
pub(super) struct Shared<S>(Arc<S>);

impl<S> Shared<S> {
    pub(super) fn new(storage: S) -> Self {
        Self(Arc::new(storage))
    }
}

impl<S> Clone for Shared<S> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<S: Storage + Sync> Storage for Shared<S> {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        self.0.put_new(name, bytes)
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        self.0.get(name, max_len)
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        self.0.get_range(name, offset, len)
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        self.0.list()
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.0.delete(name)
    }
}
