//! The durable state of a replay guard: objects that never change, and a manifest that is published last.

mod contents;
mod error;
mod local;
mod manifest;
mod memory;
mod names;
mod restore;
mod retention;
mod segment;
mod storage;
mod store;
#[cfg(test)]
mod tests;

pub use contents::{Contents, EpochEntry, MAX_KEY_GROUPS, SegmentEntry};
pub use error::{Skipped, StateError};
pub use local::LocalDirectory;
pub use manifest::Manifest;
pub use memory::MemoryStorage;
pub use names::SegmentId;
pub use restore::{Restored, read};
pub use retention::{Collected, Erased, copy, reset};
pub use segment::{Phase, SegmentReader};
pub use storage::{Storage, StorageError, StoredObject, check_name};
pub use store::{StateStore, take_over};
