//! Folders for new databases that backups, merges and rebuilds write. Until the database is
//! complete, its manifest says that it is unfinished. After a failure nothing is left, and what an
//! interrupted attempt left is removed by the next one.

use std::sync::Arc;

use crate::base::error::{Error, ErrorKind, Result};
use crate::file::names::{FileName, MANIFEST, MANIFEST_COPY, MANIFEST_TMP};
use crate::file::storage::{LOCK, LockedFolder, Storage};
use crate::store::manifest::Manifest;

/// A folder that a backup, merge or rebuild fills.
#[derive(Debug)]
pub(crate) struct NewFolder {
    storage: Arc<dyn Storage>,
    /// Whether there was no such folder before.
    is_new: bool,
}

impl NewFolder {
    /// Removes the unfinished database of an interrupted attempt, if there is one.
    pub(crate) fn new(storage: &Arc<dyn Storage>) -> Result<Self> {
        let is_new = storage.list()?.is_none();
        if Manifest::read(&**storage).is_ok_and(|manifest| manifest.is_unfinished) {
            remove_unfinished(&LockedFolder::lock(storage)?)?;
        }
        Ok(Self { storage: storage.clone(), is_new })
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns whether the folder has nothing but what an interrupted creation may leave.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let names = self.storage.list()?.unwrap_or_default();
        Ok(names.iter().all(|name| [LOCK, MANIFEST_TMP].contains(&name.as_str())))
    }

    /// Removes the unfinished database, and the folder if it was new. What cannot be removed now is
    /// removed by the next attempt in this folder.
    pub(crate) fn discard(&self) {
        if let Ok(locked) = LockedFolder::lock(&self.storage)
            && remove_unfinished(&locked).is_ok()
        {
            [MANIFEST_TMP, LOCK].iter().for_each(|name| locked.remove(name));
        }
        if self.is_new {
            self.storage.remove_root();
        }
    }
}

/// Removes all files of an unfinished database, the manifest last. Fails if there is another one.
fn remove_unfinished(folder: &LockedFolder) -> Result<()> {
    let storage = folder.storage();
    let names = storage.list()?.unwrap_or_default();
    let files: Vec<_> = names.iter().filter(|name| FileName::parse(name).is_some()).collect();
    let has_manifest = names.iter().any(|name| name == MANIFEST);
    if !has_manifest && files.is_empty() {
        return Ok(());
    }
    // Again, now that nobody else can write. All files were created after the manifest.
    if !has_manifest || Manifest::read(&**storage).is_ok_and(|manifest| !manifest.is_unfinished) {
        let message = "there is a database already: choose another folder";
        return Err(Error::new(ErrorKind::AlreadyExists, message).at_path(storage.root()));
    }
    files.into_iter().try_for_each(|name| storage.remove(name))?;
    // If a crash brought files back but not the manifest, they would look like a damaged database.
    folder.remove(MANIFEST_COPY);
    storage.sync_dir()?;
    storage.remove(MANIFEST)
}
