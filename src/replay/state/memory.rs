//! Objects in memory, for tests.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::storage::{Storage, StorageError, StoredObject, check_name};

/// Objects in memory, for tests of programs that keep a state. Clones are the same place.
///
/// # Examples
///
/// ```
/// use hapax::replay::state::{MemoryStorage, Storage, StorageError};
///
/// let storage = MemoryStorage::default();
/// storage.put_new("a", b"first")?;
/// let again = storage.clone().put_new("a", b"second");
/// assert!(matches!(again, Err(StorageError::AlreadyExists { .. })));
/// assert_eq!(storage.get("a", 100)?, b"first");
/// # Ok::<(), StorageError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct MemoryStorage {
    objects: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
}

impl MemoryStorage {
    /// No operation stops halfway, so what a panicking thread left is whole.
    fn objects(&self) -> MutexGuard<'_, BTreeMap<String, Vec<u8>>> {
        self.objects.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Storage for MemoryStorage {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        check_name(name)?;
        match self.objects().entry(name.to_owned()) {
            Entry::Vacant(free) => {
                free.insert(bytes.to_vec());
                Ok(())
            }
            Entry::Occupied(taken) => {
                Err(StorageError::AlreadyExists { object: taken.key().clone() })
            }
        }
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        let objects = self.objects();
        let object = name.to_owned();
        let Some(bytes) = objects.get(name) else { return Err(StorageError::NotFound { object }) };
        let found = bytes.len() as u64;
        if found > max_len {
            return Err(StorageError::TooLong { object, max_len, found });
        }
        Ok(bytes.clone())
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        let objects = self.objects();
        let object = name.to_owned();
        let Some(bytes) = objects.get(name) else { return Err(StorageError::NotFound { object }) };
        let (expected, found) = (offset.saturating_add(len), bytes.len() as u64);
        if expected > found {
            return Err(StorageError::TooShort { object, expected, found });
        }
        Ok(bytes[offset as usize..expected as usize].to_vec())
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        let objects = self.objects();
        let row = |(name, bytes): (&String, &Vec<u8>)| StoredObject {
            name: name.clone(),
            len: bytes.len() as u64,
        };
        Ok(objects.iter().map(row).collect())
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        self.objects().remove(name);
        Ok(())
    }
}
