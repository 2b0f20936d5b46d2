//! Close: leaves a database whose next open has no log to replay. storage-format.md, "Close".

use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::state::core::{Core, closed};
use crate::db::upkeep::flush;
use crate::error::Result;
use crate::file_names::{FileName, MANIFEST, MANIFEST_COPY};
use crate::fingerprint::Fingerprint;
use crate::parallel::lock;
use crate::storage::LOCK;

/// Flushes everything, refuses writes from now on, and releases the lock on the folder, even if the
/// flush failed. The background threads must have ended.
pub(crate) fn close<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let flushed = flush_and_end_log(core);
    core.poison.set(closed(&*core.storage));
    lock(&core.folder).take();
    flushed
}

/// Closes, and then removes the database if it holds nothing, before it releases the lock. Returns
/// whether it did.
pub(crate) fn close_and_remove_if_empty<F: Fingerprint>(core: &Core<F>) -> Result<bool> {
    let folder = core.keep_folder()?;
    close(core)?;
    // Whatever else is there, a segment or a file that is none of ours, needs the manifest or
    // nobody knows what it is for.
    let names = core.storage.list()?.unwrap_or_default();
    if names.iter().any(|name| ![MANIFEST, MANIFEST_COPY, LOCK].contains(&name.as_str())) {
        return Ok(false);
    }
    folder.check()?;
    // Before the manifest: alone, it would look like a damaged database.
    folder.remove(MANIFEST_COPY);
    core.storage.remove(MANIFEST)?;
    folder.remove(LOCK);
    Ok(true)
}

fn flush_and_end_log<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let writer = flush::flush_all(core)?;
    if writer.has_begun() {
        let folder = &*session::own_folder(core)?;
        // The log is empty: every commit is in a segment.
        install::manifest(core, folder, &mut |manifest| manifest.logs.clear())?;
        install::remove_file(folder, FileName::Log(writer.log_id.number));
    }
    // While the writer is held, so that no write comes after the last log.
    core.poison.set(closed(&*core.storage));
    Ok(())
}
