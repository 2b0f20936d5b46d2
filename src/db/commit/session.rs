//! The session of a handle: from its first write on, the manifest names its random number and its
//! log. storage-format.md, "Open".

use std::sync::Arc;
use std::sync::atomic::Ordering;

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::db::commit::install;
use crate::db::state::core::{Base, Writer};
use crate::file::codec::header::FileKind;
use crate::file::names::{FileId, FileName};
use crate::file::storage::{LockedFolder, WriteFile};
use crate::store::log::{LogWriter, Start};
use crate::store::manifest::LogRef;

/// Begins the session, unless it has begun. Whatever creates files must call this before: the next
/// open takes them for files of somebody else if no manifest names the session. The caller does not
/// have the writer.
pub(crate) fn begin(core: &Base) -> Result<()> {
    if core.log.bytes.load(Ordering::Relaxed) > 0 {
        return Ok(());
    }
    begin_with(core, &mut lock(&core.log.writer))
}

/// Does the same for a caller that has the writer.
pub(crate) fn begin_with(core: &Base, writer: &mut Writer) -> Result<()> {
    if writer.has_begun() {
        return Ok(());
    }
    let folder = &*core.keep_folder()?;
    let (id, file) = create_log(core, folder)?;
    begin_log(core, folder, writer, id, file).inspect_err(|error| {
        if install::cannot_be_named(core, error) {
            install::remove_file(folder, FileName::Log(id.number));
        }
    })
}

fn begin_log(
    core: &Base,
    folder: &LockedFolder,
    writer: &mut Writer,
    id: FileId,
    file: Arc<dyn WriteFile>,
) -> Result<()> {
    let start = Start { last_seq: writer.seq, ..Start::default() };
    let log = LogWriter::begin(file, core.settings.header(FileKind::Log, 0, id), start)?;
    install::manifest(core, folder, &mut |manifest| {
        manifest.begin_session(folder.session(), manifest.generation);
        manifest.note_writer(folder.storage().program());
        manifest.logs.push(LogRef { id, end: None });
    })?;
    writer.committed_end = log.len();
    core.log.bytes.store(log.len(), Ordering::Relaxed);
    (writer.log, writer.log_id) = (log, id);
    Ok(())
}

/// Creates the file of a new log, still empty, and makes its name durable: no manifest may name it
/// earlier.
pub(crate) fn create_log(
    core: &Base,
    folder: &LockedFolder,
) -> Result<(FileId, Arc<dyn WriteFile>)> {
    let id = FileId { number: core.next_number(folder)?, nonce: folder.session() };
    let name = FileName::Log(id.number);
    let file = core.storage.create(&name.to_string())?;
    match core.storage.sync_dir() {
        Ok(()) => Ok((id, file)),
        Err(error) => {
            install::remove_file(folder, name);
            Err(core.poison.set(error))
        }
    }
}

/// Returns the locked folder, for an operation that creates or removes files, and begins the
/// session. Fails if the folder belongs to somebody else now.
pub(crate) fn own_folder(core: &Base) -> Result<Arc<LockedFolder>> {
    let folder = core.keep_folder()?;
    {
        let manifest = lock(&core.manifest);
        core.poison.after(install::expect_installed(&folder, &manifest))?;
    }
    begin(core)?;
    Ok(folder)
}
