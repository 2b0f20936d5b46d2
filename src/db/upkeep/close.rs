//! Close: leaves a database whose next open has no log to replay. storage-format.md, "Close".

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::state::core::{Core, closed};
use crate::db::upkeep::flush;
use crate::file::names::FileName;
use crate::fingerprint::Fingerprint;

/// Flushes everything, refuses writes from now on, and releases the lock on the folder, even if the
/// flush failed. The background threads must have ended.
pub(crate) fn close<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let flushed = flush_and_end_log(core);
    core.poison.set(closed(&*core.storage));
    lock(&core.folder).take();
    flushed
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
