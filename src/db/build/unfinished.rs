//! Creates a database that nobody can open before it is complete.

use std::path::Path;

use crate::base::error::Result;
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::handle::WriteHandle;
use crate::db::handle::open;
use crate::db::options::{Durability, Options};
use crate::db::upkeep::new_folder::NewFolder;
use crate::fingerprint::Fingerprint;

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
    let is_empty = folder.is_empty()?;
    let built = open::create_unfinished(options, out).and_then(|db| {
        let report = fill(&db)?;
        db.finish().map(|()| report)
    });
    built.inspect_err(|_| {
        // Otherwise there is something else, and nothing was created.
        if is_empty {
            folder.discard();
        }
    })
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
