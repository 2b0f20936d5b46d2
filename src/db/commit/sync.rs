//! Syncing the log, and waiting until a commit may be acknowledged.

use std::sync::atomic::Ordering;
use std::sync::{MutexGuard, PoisonError};
use std::time::Instant;

use crate::base::error::Result;
use crate::base::parallel::lock;
use crate::db::state::core::{Base, Writer};
use crate::db::state::group::Role;
use crate::db::state::poison::PanicGuard;
use crate::file::storage::LockedFolder;
use crate::store::log::Unwritten;

/// The right to write to the log's file and to sync it. Taken before any other lock.
pub(crate) type SyncPermit<'a> = MutexGuard<'a, ()>;

/// Waits for the sync permit. The caller holds no other lock.
pub(crate) fn permit(core: &Base) -> SyncPermit<'_> {
    lock(&core.log.permit)
}

/// Releases the writer, and waits until commit `seq` may be acknowledged: until it is visible.
pub(crate) fn acknowledge(core: &Base, mut writer: MutexGuard<'_, Writer>, seq: u64) -> Result<()> {
    let is_visible = || core.visible.load(Ordering::Acquire) >= seq;
    if is_visible() {
        return Ok(());
    }
    let role = writer.groups.join(seq);
    drop(writer);
    // Dropped after the permit, so that the next leader wakes before the many followers.
    let _waker = match role {
        Role::Leader(waker) => Some(waker),
        Role::Follower { synced, completes_group } => {
            if completes_group {
                core.log.gathered.notify_one();
            }
            synced.wait();
            None
        }
    };
    if is_visible() {
        return Ok(());
    }
    // A follower gets here if its leader failed: then this thread finds out why.
    let permit = permit(core);
    if is_visible() {
        return Ok(());
    }
    let writer = gather(core);
    sync(core, &permit, writer)
}

/// Waits until the open group is complete, or its leader's patience ends.
fn gather(core: &Base) -> MutexGuard<'_, Writer> {
    let writer = lock(&core.log.writer);
    let patience = writer.groups.patience();
    let is_incomplete = |writer: &mut Writer| !writer.groups.is_gathered();
    let waited = core.log.gathered.wait_timeout_while(writer, patience, is_incomplete);
    waited.unwrap_or_else(PoisonError::into_inner).0
}

/// Makes all commits so far durable and visible.
pub(crate) fn sync_log(core: &Base) -> Result<()> {
    let permit = permit(core);
    sync(core, &permit, lock(&core.log.writer))
}

/// Does the same for a caller that has the permit. The writer is released during the sync.
pub(crate) fn sync(
    core: &Base,
    _: &SyncPermit<'_>,
    mut writer: MutexGuard<'_, Writer>,
) -> Result<()> {
    core.poison.check()?;
    let seq = writer.seq;
    if writer.log.durable() >= writer.committed_end {
        core.visible.fetch_max(seq, Ordering::AcqRel);
        return Ok(());
    }
    let folder = core.keep_folder()?;
    // If this thread panicked after taking the unwritten frames, the log would have a gap.
    let wake = || core.signals.step();
    let _guard = PanicGuard::new(&core.poison, &wake);
    let unwritten = writer.log.take();
    writer.groups.close(seq);
    drop(writer);
    let start = Instant::now();
    // This keeps the promise of Durability::Sync and of `Db::sync`: acknowledged commits survive a
    // loss of power. After a failed sync, a second one would prove nothing.
    unwritten.write_and_sync().map_err(|e| core.poison.set(e))?;
    expect_own(core, &folder, &unwritten)?;
    let took = start.elapsed();
    let mut writer = lock(&core.log.writer);
    writer.groups.synced(took);
    writer.log.set_durable(unwritten.end);
    if writer.committed_end <= unwritten.end {
        // Nobody is writing. Record for reading processes how far the log is durable.
        writer.log.append_watermark();
        writer.log.write().map_err(|e| core.poison.set(e))?;
    }
    drop(writer);
    core.visible.fetch_max(seq, Ordering::AcqRel);
    Ok(())
}

/// Requires that the log that was just synced is still in the folder, and that this process still
/// has its lock. Otherwise the next writer may not have seen these commits, so they are not
/// acknowledged. If it locks the folder after this, it finds them.
pub(crate) fn expect_own(core: &Base, folder: &LockedFolder, synced: &Unwritten) -> Result<()> {
    folder.check().and_then(|()| synced.check_name()).map_err(|e| core.poison.set(e))
}
