//! The durable state of a replay guard: objects that never change, and a manifest that is published
//! last.
//!
//! ```text
//!  manifest-…07   parameters, progress      epoch 3, sealed      epoch 4, active
//!                                            │                    │        │
//!  segments                            ┌─────┴──────┐       ┌─────┴──┐ ┌───┴────┐
//!                                      │ digests by │       │ since  │ │ since  │
//!                                      │ key group  │       │ …05    │ │ …06    │
//!                                      └────────────┘       └────────┘ └────────┘
//! ```
//!
//! A tuple is kept as a digest of 64 bits in the epoch of its first sighting, by key group. A
//! checkpoint writes what is new since the one before and publishes a manifest; a sealed epoch is
//! written once more, as a whole; an epoch that is retired is left out of the next manifest and
//! then deleted. So a checkpoint costs what is new, whatever is remembered.
//!
//! - **A crash** between any two operations leaves the state before the checkpoint or the one after.
//! - **Damage** to any byte is found when the state is opened; the state before is taken and said
//!   to be. What is left of a state is never taken for an empty one.
//! - **Two writers**: opening takes over, and the writer before is refused from then on.
//! - **Where**: a [`Storage`] is a folder ([`LocalDirectory`]), an object store (`ObjectStorage`,
//!   feature `object-store`), memory for tests ([`MemoryStorage`]), or yours.
//!
//! [`StateStore`] writes; [`read`], [`copy`] and [`reset`] need no writer. `FORMAT.md` has the bytes.

mod contents;
mod error;
mod local;
mod manifest;
mod memory;
mod names;
#[cfg(feature = "object-store")]
mod object;
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
#[cfg(feature = "object-store")]
pub use object::ObjectStorage;
pub(in crate::replay) use restore::read_manifest;
pub use restore::{Restored, read};
pub use retention::{Collected, Erased, copy, reset};
pub use segment::{Phase, SegmentReader};
pub use storage::{Storage, StorageError, StoredObject, check_name};
pub use store::{StateStore, take_over};
