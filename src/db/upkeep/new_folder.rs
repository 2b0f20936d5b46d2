//! Folders for the results of backups and merges. After a failure, nothing is left in them.

use std::sync::Arc;

use crate::error::Result;
use crate::file_names::MANIFEST_TMP;
use crate::storage::{LOCK, LockedFolder, Storage};

/// A folder that a backup or merge fills.
#[derive(Debug)]
pub(crate) struct NewFolder {
    storage: Arc<dyn Storage>,
    /// Whether there was no such folder before.
    is_new: bool,
}

impl NewFolder {
    pub(crate) fn new(storage: &Arc<dyn Storage>) -> Result<Self> {
        let is_new = storage.list()?.is_none();
        Ok(Self { storage: storage.clone(), is_new })
    }

    pub(crate) fn storage(&self) -> &Arc<dyn Storage> {
        &self.storage
    }

    /// Returns whether the folder has nothing but what an interrupted backup or creation may leave.
    pub(crate) fn is_empty(&self) -> Result<bool> {
        let names = self.storage.list()?.unwrap_or_default();
        Ok(names.iter().all(|name| [LOCK, MANIFEST_TMP].contains(&name.as_str())))
    }

    /// Removes the folder if it was new, and otherwise what every writer creates in it. Does
    /// nothing if `remove_files` fails, which removes all other files.
    pub(crate) fn discard(&self, remove_files: impl FnOnce(&LockedFolder) -> Result<()>) {
        if let Ok(locked) = LockedFolder::lock(&self.storage)
            && remove_files(&locked).is_ok()
        {
            [MANIFEST_TMP, LOCK].iter().for_each(|name| locked.remove(name));
        }
        if self.is_new {
            self.storage.remove_root();
        }
    }
}
