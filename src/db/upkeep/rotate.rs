//! Rotation: freezes the full memtable and begins a new log and a new memtable.
//! storage-format.md, "Rotation".

use std::sync::atomic::Ordering;
use std::sync::{Arc, MutexGuard};

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::commit::sync::{self, SyncPermit};
use crate::db::state::core::{Base, Core, Writer};
use crate::db::state::poison::PanicGuard;
use crate::file::codec::header::FileKind;
use crate::file::names::{FileId, FileName};
use crate::file::storage::{LockedFolder, WriteFile};
use crate::fingerprint::Fingerprint;
use crate::store::log::{LogWriter, Start};
use crate::store::manifest::LogRef;
use crate::store::memtable::Memtable;
use crate::store::version::Version;

/// Freezes the memtable, and returns the writer to the new log. No other memtable may be frozen.
/// Nothing is written to the new log before the manifest names it.
pub(crate) fn rotate<'c, F: Fingerprint>(
    core: &'c Core<F>,
    permit: &SyncPermit<'_>,
) -> Result<MutexGuard<'c, Writer>> {
    let rotated = begin_next_log(core, permit);
    if let Err(error) = &rotated {
        // It is the first half of a flush.
        core.signals.flushed(&Err(error.clone()));
    }
    rotated
}

fn begin_next_log<'c, F: Fingerprint>(
    core: &'c Core<F>,
    permit: &SyncPermit<'_>,
) -> Result<MutexGuard<'c, Writer>> {
    // Slow work comes first, while others can still write.
    sync::sync(core, permit, lock(&core.log.writer))?;
    let folder = &*session::own_folder(core)?;
    let (log_id, file) = session::create_log(core, folder)?;
    let mut writer = lock(&core.log.writer);
    match switch_logs(core, folder, &mut writer, log_id, file) {
        Ok(()) => Ok(writer),
        Err(error) => {
            if install::cannot_be_named(core, &error) {
                install::remove_file(folder, FileName::Log(log_id.number));
            }
            Err(error)
        }
    }
}

fn switch_logs<F: Fingerprint>(
    core: &Core<F>,
    folder: &LockedFolder,
    writer: &mut Writer,
    log_id: FileId,
    file: Arc<dyn WriteFile>,
) -> Result<()> {
    let wake = || core.signals.step();
    let _guard = PanicGuard::new(&core.poison, &wake);
    let end = end_log(core, folder, writer)?;
    let previous = writer.log_id;
    let start = Start { previous_log: previous.number, previous_end: end, last_seq: writer.seq };
    let log = LogWriter::begin(file, core.settings.header(FileKind::Log, 0, log_id), start)?;
    install::manifest(core, folder, &mut |manifest| {
        for log in manifest.logs.iter_mut().filter(|log| log.id == previous) {
            log.end = Some(end);
        }
        manifest.logs.push(LogRef { id: log_id, end: None });
    })?;
    let committed_end = log.len();
    (writer.log, writer.log_id, writer.committed_end) = (log, log_id, committed_end);
    writer.sync_requested = false;
    // It did not include the files of another segment.
    writer.space.grant = 0;
    core.log.bytes.store(writer.committed_end, Ordering::Relaxed);
    let active = Arc::new(Memtable::new(&core.settings.index, writer.next_doc));
    core.current.update(|version| Version {
        frozen: Some(version.active.clone()),
        active,
        ..version.clone()
    });
    Ok(())
}

/// Makes the last commits of the log durable and returns where it ends. The manifest will record
/// that end, so everything up to it must be on disk.
fn end_log(core: &Base, folder: &LockedFolder, writer: &mut Writer) -> Result<u64> {
    let unwritten = writer.log.take();
    writer.groups.close(writer.seq);
    unwritten.write_and_sync().map_err(|e| core.poison.set(e))?;
    sync::expect_own(core, folder, &unwritten)?;
    writer.log.set_durable(unwritten.end);
    core.visible.fetch_max(writer.seq, Ordering::AcqRel);
    Ok(unwritten.end)
}
