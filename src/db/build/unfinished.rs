//! Creates a database that nobody can open before it is complete.

use std::path::Path;
use std::sync::Arc;

use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::handle::WriteHandle;
use crate::db::handle::open;
use crate::db::options::{Durability, Options};
use crate::db::upkeep::new_folder::NewFolder;
use crate::error::{Error, ErrorKind, Result};
use crate::file_names::{FileName, MANIFEST, MANIFEST_COPY};
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::storage::{LockedFolder, Storage};

/// Creates a database at `out` and lets `fill` fill it. After an error, nothing of it is left,
/// unless the last sync failed. If the process ends before, the database cannot be opened, and the
/// same can be repeated.
pub(crate) fn build<F: Fingerprint, T>(
    mut options: Options<F>,
    out: &Path,
    fill: impl FnOnce(&WriteHandle<F>) -> Result<T>,
) -> Result<T> {
    // Nobody uses it before it is complete.
    options.tuning.background = false;
    options.tuning.durability = Durability::Buffered;
    let folder = NewFolder::new(&options.storage_at(out))?;
    remove_unfinished(folder.storage())?;
    let is_empty = folder.is_empty()?;
    let built = open::create_unfinished(options, out).and_then(|db| {
        let report = fill(&db)?;
        db.finish().map(|()| report)
    });
    built.inspect_err(|_| {
        // Otherwise there is something else, and nothing was created. What cannot be removed now is
        // removed by the next attempt in this folder.
        if is_empty {
            folder.discard(remove_files);
        }
    })
}

/// Removes what an interrupted attempt left behind.
fn remove_unfinished(storage: &Arc<dyn Storage>) -> Result<()> {
    match Manifest::read(&**storage) {
        Ok(manifest) if manifest.is_unfinished => remove_files(&LockedFolder::lock(storage)?),
        _ => Ok(()),
    }
}

/// Removes all files of an unfinished database, the manifest last.
fn remove_files(folder: &LockedFolder) -> Result<()> {
    let storage = folder.storage();
    // Again, now that nobody else can write.
    if Manifest::read(&**storage).is_ok_and(|manifest| !manifest.is_unfinished) {
        let message = "there is a database already: choose another folder";
        return Err(Error::new(ErrorKind::AlreadyExists, message).at_path(storage.root()));
    }
    let names = storage.list()?.unwrap_or_default();
    for name in names.iter().filter(|name| FileName::parse(name).is_some()) {
        storage.remove(name)?;
    }
    if names.iter().any(|name| name == MANIFEST) {
        // If a crash brought files back but not the manifest, they would look like a damaged
        // database.
        folder.remove(MANIFEST_COPY);
        storage.sync_dir()?;
        storage.remove(MANIFEST)?;
    }
    Ok(())
}

impl<F: Fingerprint> WriteHandle<F> {
    /// Makes everything durable, lets others open the database, and closes it.
    fn finish(self) -> Result<()> {
        self.flush()?;
        let core = self.core();
        let folder = session::own_folder(core)?;
        install::manifest(core, &folder, &mut |manifest| manifest.is_unfinished = false)?;
        drop(folder);
        self.close()
    }
}
