//! A storage in memory.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use super::{
    Disk, FolderLock, LOCK_IS_TAKEN, PageBudget, ReadFile, Storage, WriteFile, failed, path_in,
    too_long,
};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;

/// One folder in memory, which is gone when nobody uses it any more.
#[derive(Debug, Clone)]
pub(crate) struct InMemory(Arc<Folder>);

#[derive(Debug)]
struct Folder {
    root: PathBuf,
    files: Mutex<BTreeMap<String, Arc<File>>>,
    is_locked: AtomicBool,
    /// The limit for the copies of pages that reads make.
    pages: Arc<PageBudget>,
}

/// A file, which one thread appends to.
#[derive(Debug, Default)]
struct File(RwLock<Vec<u8>>);

impl InMemory {
    /// Returns an empty folder. `root` names it in messages.
    pub(crate) fn folder(root: &Path, pages: PageBudget) -> Arc<dyn Storage> {
        let (files, is_locked) = (Mutex::default(), AtomicBool::new(false));
        let (root, pages) = (root.to_owned(), Arc::new(pages));
        Arc::new(Self(Arc::new(Folder { root, files, is_locked, pages })))
    }

    fn files(&self) -> MutexGuard<'_, BTreeMap<String, Arc<File>>> {
        lock(&self.0.files)
    }

    fn find(&self, doing: &str, name: &str) -> Result<Arc<File>> {
        let file = self.files().get(name).cloned();
        file.ok_or_else(|| self.failed(doing, name, io::ErrorKind::NotFound.into()))
    }

    fn failed(&self, doing: &str, name: &str, source: io::Error) -> Error {
        match path_in(&self.0.root, name) {
            Ok(path) => failed(doing, &path, source),
            Err(error) => error,
        }
    }
}

impl Storage for InMemory {
    fn root(&self) -> &Path {
        &self.0.root
    }

    fn create_root(&self) -> Result<()> {
        Ok(())
    }

    fn check_root(&self) -> Result<()> {
        Ok(())
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        Ok(Some(self.files().keys().cloned().collect()))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let mut files = self.files();
        if files.contains_key(name) {
            return Err(self.failed("create the file", name, io::ErrorKind::AlreadyExists.into()));
        }
        let file = Arc::new(File::default());
        files.insert(name.to_owned(), file.clone());
        Ok(file)
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        Ok(self.find("open the file", name)?)
    }

    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        let file = self.find("read the file", name)?;
        let bytes = file.0.read().unwrap_or_else(PoisonError::into_inner);
        if bytes.len() as u64 > limit {
            let source = too_long(bytes.len() as u64, limit);
            return Err(self.failed("read the file", name, source));
        }
        Ok(bytes.clone())
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let file = self.find("rename the file", from)?;
        let mut files = self.files();
        files.remove(from);
        files.insert(to.to_owned(), file);
        Ok(())
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.find("remove the file", name)?;
        self.files().remove(name);
        Ok(())
    }

    fn sync_dir(&self) -> Result<()> {
        Ok(())
    }

    fn lock(&self) -> Result<Box<dyn FolderLock>> {
        if self.0.is_locked.swap(true, Ordering::AcqRel) {
            return Err(Error::new(ErrorKind::Locked, LOCK_IS_TAKEN).at_path(&self.0.root));
        }
        Ok(Box::new(Lock(self.clone())))
    }

    fn page_budget(&self) -> Arc<PageBudget> {
        self.0.pages.clone()
    }

    fn fresh_id(&self) -> Result<u128> {
        Disk::new(&self.0.root).fresh_id()
    }

    fn free_space(&self) -> Result<u64> {
        Ok(u64::MAX)
    }

    fn file_system(&self) -> Result<u64> {
        Ok(u64::MAX)
    }

    /// Returns this folder for its own name, and otherwise a folder of the disk: a backup of a
    /// database in memory is a database on the disk.
    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        if root == self.0.root { Arc::new(self.clone()) } else { Arc::new(Disk::new(root)) }
    }
}

impl WriteFile for File {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.0.write().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(())
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }

    fn check_name(&self) -> Result<()> {
        Ok(())
    }
}

impl ReadFile for File {
    fn length(&self) -> u64 {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len() as u64
    }

    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        let bytes = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let start = usize::try_from(offset).unwrap_or(usize::MAX);
        let from = bytes.get(start..).and_then(|rest| rest.get(..to.len()));
        to.copy_from_slice(from.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }
}

#[derive(Debug)]
struct Lock(InMemory);

impl FolderLock for Lock {
    fn check(&self) -> Result<()> {
        Ok(())
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.0.0.is_locked.store(false, Ordering::Release);
    }
}
