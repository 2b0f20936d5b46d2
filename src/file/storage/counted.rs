//! A storage that counts what is written to it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{FolderLock, PageBudget, ReadFile, Storage, WriteFile};
use crate::base::error::Result;

/// Another storage, which adds the bytes that are appended to new files to a number.
#[derive(Debug)]
pub(super) struct CountedStorage {
    storage: Arc<dyn Storage>,
    written: Arc<AtomicU64>,
}

impl CountedStorage {
    pub(super) fn new(storage: Arc<dyn Storage>, written: Arc<AtomicU64>) -> Self {
        Self { storage, written }
    }
}

impl Storage for CountedStorage {
    fn root(&self) -> &Path {
        self.storage.root()
    }

    fn create_root(&self) -> Result<()> {
        self.storage.create_root()
    }

    fn remove_root(&self) {
        self.storage.remove_root();
    }

    fn check_root(&self) -> Result<()> {
        self.storage.check_root()
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        self.storage.list()
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let (file, written) = (self.storage.create(name)?, self.written.clone());
        Ok(Arc::new(CountedFile { file, written }))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        self.storage.open(name)
    }

    fn open_scratch(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        self.storage.open_scratch(name)
    }

    fn can_discard(&self) -> bool {
        self.storage.can_discard()
    }

    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        self.storage.read(name, limit)
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        self.storage.rename(from, to)
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.storage.remove(name)
    }

    fn keep_copy(&self, name: &str, copy: &str) {
        self.storage.keep_copy(name, copy);
    }

    fn sync_dir(&self) -> Result<()> {
        self.storage.sync_dir()
    }

    fn lock(&self) -> Result<Box<dyn FolderLock>> {
        self.storage.lock()
    }

    fn page_budget(&self) -> Arc<PageBudget> {
        self.storage.page_budget()
    }

    fn program(&self) -> &'static str {
        self.storage.program()
    }

    fn fresh_id(&self) -> Result<u128> {
        self.storage.fresh_id()
    }

    fn free_space(&self) -> Result<u64> {
        self.storage.free_space()
    }

    fn file_system(&self) -> Result<u64> {
        self.storage.file_system()
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        self.storage.at(root)
    }
}

#[derive(Debug)]
struct CountedFile {
    file: Arc<dyn WriteFile>,
    written: Arc<AtomicU64>,
}

impl CountedFile {
    /// Counts bytes that were appended. Only now: whoever sees the new number, and then reads the
    /// free space, counts no byte as free that these took.
    fn count(&self, bytes: &[u8]) {
        self.written.fetch_add(bytes.len() as u64, Ordering::Release);
    }
}

impl WriteFile for CountedFile {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes)?;
        self.count(bytes);
        Ok(())
    }

    fn append_once(&self, bytes: &[u8]) -> Result<()> {
        self.file.append_once(bytes)?;
        self.count(bytes);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        self.file.sync()
    }

    fn check_name(&self) -> Result<()> {
        self.file.check_name()
    }

    fn write_back(&self) {
        self.file.write_back();
    }
}
