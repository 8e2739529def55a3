//! Objects of an object store.

use std::fmt;
use std::io;
use std::sync::{Arc, mpsc};

use object_store::path::Path;
use object_store::{
    Error, GetOptions, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload,
};
use tokio::runtime::{Builder, Handle, Runtime};

use super::storage::{Storage, StorageError, StoredObject, check_name};

/// A folder of an object store: S3 and what speaks its protocol, Google Cloud Storage, Azure, and
/// whatever else implements [`ObjectStore`]. Feature `object-store`.
///
/// Which stores there are is up to the features of the crate `object_store`, version 0.14. The
/// store must support conditional writes ([`PutMode::Create`]); without them nothing keeps two
/// writers apart, and writing is an error. For files use [`LocalDirectory`](super::LocalDirectory),
/// which syncs them.
///
/// Each operation waits for the store, on a thread that does nothing else. Inside of asynchronous code
/// call it where blocking is allowed. An object is held in memory while it is sent.
///
/// # Examples
///
/// ```
/// use std::sync::Arc;
/// use hapax::replay::state::{ObjectStorage, Storage, StorageError};
/// use object_store::memory::InMemory;
///
/// let storage = ObjectStorage::new(Arc::new(InMemory::new()), "jobs/orders/state")?;
/// storage.put_new("greeting", b"hello")?;
/// let again = storage.put_new("greeting", b"hello again");
/// assert!(matches!(again, Err(StorageError::AlreadyExists { .. })));
/// assert_eq!(storage.get_range("greeting", 1, 3)?, b"ell");
/// # Ok::<(), StorageError>(())
/// ```
pub struct ObjectStorage {
    store: Arc<dyn ObjectStore>,
    prefix: Path,
    handle: Handle,
    /// Taken when this is dropped.
    runtime: Option<Runtime>,
}

impl fmt::Debug for ObjectStorage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { store, prefix, .. } = self;
        f.debug_struct("ObjectStorage").field("store", store).field("prefix", prefix).finish()
    }
}

impl ObjectStorage {
    /// Uses the objects of a store whose paths are `prefix` and a name. Asks the store nothing, and
    /// starts a thread.
    ///
    /// # Errors
    ///
    /// If `prefix` is not a path of an object store, or the thread cannot be started.
    pub fn new(store: Arc<dyn ObjectStore>, prefix: &str) -> Result<Self, StorageError> {
        let at_prefix = |error| StorageError::io(format!("{store}/{prefix}"), error);
        let parsed = Path::parse(prefix).map_err(|error| at_prefix(io::Error::other(error)))?;
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build();
        let runtime = runtime.map_err(at_prefix)?;
        let handle = runtime.handle().clone();
        Ok(Self { store, prefix: parsed, handle, runtime: Some(runtime) })
    }

    fn path(&self, name: &str) -> Result<Path, StorageError> {
        check_name(name)?;
        Ok(self.prefix.clone().join(name))
    }

    /// Waits for the store on its own thread, so that it works wherever it is called: a runtime
    /// cannot be entered from inside of another.
    fn run<T, F>(&self, path: &Path, operation: F) -> Result<T, StorageError>
    where
        T: Send + 'static,
        F: Future<Output = Result<T, Error>> + Send + 'static,
    {
        let object = || format!("{}/{path}", self.store);
        let (answer, answered) = mpsc::sync_channel(1);
        self.handle.spawn(async move {
            // Nobody stops waiting.
            let _ = answer.send(operation.await);
        });
        match answered.recv() {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(Error::NotFound { .. })) => Err(StorageError::NotFound { object: object() }),
            Ok(Err(Error::AlreadyExists { .. } | Error::Precondition { .. })) => {
                Err(StorageError::AlreadyExists { object: object() })
            }
            Ok(Err(error)) => Err(StorageError::io(object(), io::Error::other(error))),
            Err(mpsc::RecvError) => {
                let error = io::Error::other("the store stopped without an answer");
                Err(StorageError::io(object(), error))
            }
        }
    }
}

impl Drop for ObjectStorage {
    fn drop(&mut self) {
        // Dropping a runtime waits for it, which is not allowed in asynchronous code.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Bytes, or how long the object is if that does not fit.
type Bounded = Result<Vec<u8>, u64>;

impl Storage for ObjectStorage {
    fn put_new(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let (store, path, payload) =
            (self.store.clone(), self.path(name)?, PutPayload::from(bytes.to_vec()));
        let at = path.clone();
        self.run(&at, async move {
            let options = PutOptions::from(PutMode::Create);
            store.put_opts(&path, payload, options).await.map(drop)
        })
    }

    fn get(&self, name: &str, max_len: u64) -> Result<Vec<u8>, StorageError> {
        let (store, path) = (self.store.clone(), self.path(name)?);
        let at = path.clone();
        let got: Bounded = self.run(&at, async move {
            let result = store.get(&path).await?;
            if result.meta.size > max_len {
                return Ok(Err(result.meta.size));
            }
            Ok(Ok(result.bytes().await?.into()))
        })?;
        got.map_err(|found| {
            let object = format!("{}/{at}", self.store);
            StorageError::TooLong { object, max_len, found }
        })
    }

    fn get_range(&self, name: &str, offset: u64, len: u64) -> Result<Vec<u8>, StorageError> {
        let (store, path) = (self.store.clone(), self.path(name)?);
        let at = path.clone();
        let expected = offset.saturating_add(len);
        let got: Bounded = self.run(&at, async move {
            // No bytes are not a range that a store knows.
            if len > 0 {
                let options = GetOptions::new().with_range(Some(offset..expected));
                match store.get_opts(&path, options).await {
                    Ok(result) if result.meta.size >= expected => {
                        return Ok(Ok(result.bytes().await?.into()));
                    }
                    Ok(result) => return Ok(Err(result.meta.size)),
                    Err(error @ Error::NotFound { .. }) => return Err(error),
                    // A range behind the end is an error of the store's own.
                    Err(error) => match store.head(&path).await?.size {
                        size if size >= expected => return Err(error),
                        size => return Ok(Err(size)),
                    },
                }
            }
            let size = store.head(&path).await?.size;
            Ok(if size >= expected { Ok(Vec::new()) } else { Err(size) })
        })?;
        let object = || format!("{}/{at}", self.store);
        match got {
            Ok(bytes) if bytes.len() as u64 == len => Ok(bytes),
            Ok(bytes) => {
                let found = offset.saturating_add(bytes.len() as u64);
                Err(StorageError::TooShort { object: object(), expected, found })
            }
            Err(found) => Err(StorageError::TooShort { object: object(), expected, found }),
        }
    }

    fn list(&self) -> Result<Vec<StoredObject>, StorageError> {
        let (store, prefix) = (self.store.clone(), self.prefix.clone());
        let objects = self.run(&self.prefix, async move {
            Ok(store.list_with_delimiter(Some(&prefix)).await?.objects)
        })?;
        let row = |object: &object_store::ObjectMeta| {
            let name = object.location.filename().filter(|name| check_name(name).is_ok())?;
            Some(StoredObject { name: name.to_owned(), len: object.size })
        };
        Ok(objects.iter().filter_map(row).collect())
    }

    fn delete(&self, name: &str) -> Result<(), StorageError> {
        let (store, path) = (self.store.clone(), self.path(name)?);
        let at = path.clone();
        match self.run(&at, async move { store.delete(&path).await }) {
            Err(StorageError::NotFound { .. }) => Ok(()),
            deleted => deleted,
        }
    }
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;

    use super::*;

    fn operations_do_what_a_storage_promises(storage: &ObjectStorage) {
        assert_eq!(storage.list().unwrap(), []);
        storage.put_new("a-1.x", b"0123456789").unwrap();
        let again = storage.put_new("a-1.x", b"other").unwrap_err();
        assert!(matches!(again, StorageError::AlreadyExists { .. }), "{again}");
        assert_eq!(storage.get("a-1.x", 10).unwrap(), b"0123456789");
        assert_eq!(storage.get_range("a-1.x", 3, 4).unwrap(), b"3456");
        assert_eq!(storage.get_range("a-1.x", 10, 0).unwrap(), b"");
        assert_eq!(storage.list().unwrap(), [StoredObject { name: "a-1.x".into(), len: 10 }]);
        for (offset, len) in [(3, 8), (10, 1), (11, 0), (20, 5), (3, u64::MAX)] {
            let short = storage.get_range("a-1.x", offset, len).unwrap_err();
            let found = matches!(short, StorageError::TooShort { found: 10, .. });
            assert!(found, "{offset} {len}: {short}");
        }
        let long = storage.get("a-1.x", 9).unwrap_err();
        assert!(matches!(long, StorageError::TooLong { max_len: 9, found: 10, .. }), "{long}");
        storage.delete("a-1.x").unwrap();
        storage.delete("a-1.x").unwrap();
        let gone = [
            storage.get("a-1.x", 10),
            storage.get_range("a-1.x", 0, 1),
            storage.get_range("a-1.x", 0, 0),
        ];
        for gone in gone {
            assert!(matches!(gone, Err(StorageError::NotFound { .. })), "{gone:?}");
        }
        assert!(matches!(storage.get("../a", 1), Err(StorageError::InvalidName { .. })));
    }

    #[test]
    fn stores_in_memory_and_in_files_do_what_a_storage_promises() {
        let memory = Arc::new(InMemory::new());
        operations_do_what_a_storage_promises(&ObjectStorage::new(memory.clone(), "a/b").unwrap());
        operations_do_what_a_storage_promises(&ObjectStorage::new(memory, "").unwrap());
        let folder = tempfile::tempdir().unwrap();
        let files = Arc::new(LocalFileSystem::new_with_prefix(folder.path()).unwrap());
        operations_do_what_a_storage_promises(&ObjectStorage::new(files, "a/b").unwrap());
        assert!(ObjectStorage::new(Arc::new(InMemory::new()), "a//b").is_err());
    }

    #[test]
    fn it_can_be_used_and_dropped_inside_of_another_runtime() {
        let runtime = Builder::new_multi_thread().worker_threads(1).build().unwrap();
        runtime.block_on(async {
            let storage = ObjectStorage::new(Arc::new(InMemory::new()), "a").unwrap();
            operations_do_what_a_storage_promises(&storage);
        });
    }

    #[test]
    fn a_state_lives_in_an_object_store_as_elsewhere() {
        use crate::replay::state::tests::script::{Told, digests, live};
        use crate::replay::state::tests::{Shared, everything};

        let folder = tempfile::tempdir().unwrap();
        let files = LocalFileSystem::new_with_prefix(folder.path()).unwrap().with_fsync(true);
        let stores: [Arc<dyn ObjectStore>; 2] = [Arc::new(InMemory::new()), Arc::new(files)];
        for store in stores {
            let storage = Shared::new(ObjectStorage::new(store, "jobs/state").unwrap());
            live(&storage, &mut Told::default()).unwrap();
            assert_eq!(everything(&storage).unwrap().1, digests("at 6, epoch 1 retired"));
        }
    }
}
