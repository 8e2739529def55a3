//! The durable state of a replay guard: objects that never change, and a manifest that is published last.

mod local;
mod memory;
mod storage;

pub use local::LocalDirectory;
pub use memory::MemoryStorage;
pub use storage::{Storage, StorageError, StoredObject, check_name};
