//! Back-pressure: makes room for writes, and slows down writers that outrun flush and compaction.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use crate::base::error::Result;
use crate::base::events::Event;
use crate::base::parallel::lock;
use crate::db::commit::space;
use crate::db::commit::sync;
use crate::db::state::core::{Base, Core, Writer};
use crate::db::upkeep::compact;
use crate::db::upkeep::flush;
use crate::db::upkeep::rotate;
use crate::fingerprint::Fingerprint;
use crate::store::log::{MAX_COMMIT_LEN, MAX_LOG_LEN, Op};
use crate::store::version::Version;

/// Writes wait for compaction when there are more segments. The policy keeps far fewer; more means
/// that writes outrun it. While compaction fails, there is no limit: writes must not fail because
/// of it, and waiting would not help.
const MAX_SEGMENTS: usize = 32;

/// How long the write that fills the memtable to twice its capacity waits. Earlier writes wait in
/// proportion, so that writers slow down rather than stop.
const MAX_DELAY: Duration = Duration::from_millis(1);

/// Shorter delays are skipped, because operating systems do not sleep for less.
const MIN_DELAY: Duration = Duration::from_micros(50);

/// Under `Durability::Buffered`, the log is synced early, when only one part in this many of the
/// memtable is still free. So little is left to sync when the log ends and writers wait for that
/// sync.
const SYNC_BEFORE_FULL: usize = 16;

/// A log of this length ends, however few entries are in the memtable: reading it would take long.
const LONG_LOG: u64 = 1 << 30;

// A commit to a log that is a little shorter, with the heads of its frames.
const _: () = assert!(LONG_LOG + MAX_COMMIT_LEN + (1 << 24) <= MAX_LOG_LEN);

/// Returns the writer, once there is room for a commit.
pub(crate) fn writer_with_room<F: Fingerprint>(core: &Core<F>) -> Result<MutexGuard<'_, Writer>> {
    loop {
        let mut writer = lock(&core.log.writer);
        if has_room(core, &mut writer)? {
            return Ok(writer);
        }
        drop(writer);
        make_room(core)?;
    }
}

/// Makes sure that there is disk space for a commit, and returns the writer. Returns `None` after a
/// flush, which has freed space: then the caller decides again what to commit.
pub(crate) fn writer_with_space<'c, F: Fingerprint>(
    core: &'c Core<F>,
    mut writer: MutexGuard<'c, Writer>,
    ops: &[Op<F>],
) -> Result<Option<MutexGuard<'c, Writer>>> {
    core.poison.check()?;
    if ops.is_empty() || space::admit(core, &mut writer, ops)? {
        return Ok(Some(writer));
    }
    drop(writer);
    core.signals.check_flush_at(Instant::now())?;
    drop(flush::flush_all(core)?);
    compact::compact_as_needed(core);
    Ok(None)
}

/// Whether the memtable takes another commit. While the background thread is behind, it grows up to
/// twice its capacity, and each write waits longer than the one before.
fn has_room<F: Fingerprint>(core: &Core<F>, writer: &mut Writer) -> Result<bool> {
    core.poison.check()?;
    let capacity = core.tuning.memtable_entries;
    let version = core.current.get();
    let fill = version.active.fill();
    if fill >= capacity - capacity / SYNC_BEFORE_FULL && !writer.sync_requested {
        writer.sync_requested = true;
        core.signals.request_sync();
    }
    let is_long = writer.committed_end >= LONG_LOG;
    let excess = match fill.checked_sub(capacity) {
        None if !is_long => return Ok(true),
        excess => excess.unwrap_or(0),
    };
    let may_grow =
        !is_long && excess < capacity && core.has_background() && !can_freeze(core, &version);
    if may_grow {
        delay(core, excess, capacity);
    }
    Ok(may_grow)
}

/// Whether a full memtable may be frozen and become a segment.
fn can_freeze<F: Fingerprint>(core: &Core<F>, version: &Version<F>) -> bool {
    version.frozen.is_none()
        && (version.segments.len() < MAX_SEGMENTS || core.signals.is_compaction_failing())
}

/// Waits as long as a write must that finds the memtable `excess` entries over its capacity.
fn delay(core: &Base, excess: usize, capacity: usize) {
    let excess = u32::try_from(excess).unwrap_or(u32::MAX);
    let delay = MAX_DELAY * excess / u32::try_from(capacity).unwrap_or(u32::MAX).max(1);
    if delay >= MIN_DELAY {
        // This is not an event, because every write has such a delay while the memtable is
        // overfull.
        stall(core, || std::thread::sleep(delay));
    }
}

/// Waits, adds the time to what `stats` reports, and returns it.
fn stall(core: &Base, wait: impl FnOnce()) -> Duration {
    let start = Instant::now();
    wait();
    let duration = start.elapsed();
    let nanos = u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX);
    core.stalled.fetch_add(nanos, Ordering::Relaxed);
    duration
}

/// Freezes the full memtable, as soon as the previous one has become a segment.
fn make_room<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    wait_for_flush(core)?;
    let permit = sync::permit(core);
    // Only the holder of the permit freezes a memtable.
    let version = core.current.get();
    let is_full = version.active.fill() >= core.tuning.memtable_entries
        || core.log.bytes.load(Ordering::Relaxed) >= LONG_LOG;
    if version.frozen.is_some() || !is_full {
        return Ok(());
    }
    drop(version);
    core.signals.check_flush_at(Instant::now())?;
    drop(rotate::rotate(core, &permit)?);
    drop(permit);
    if core.tuning.background {
        core.signals.request_work();
        return Ok(());
    }
    flush::flush_frozen(core)?;
    compact::compact_as_needed(core);
    Ok(())
}

/// Waits until no memtable is frozen, and as long as compaction is far behind. Fails if a flush
/// fails in the meantime, or failed less than a second ago. The caller holds no lock.
pub(crate) fn wait_for_flush<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    let begin = core.signals.steps();
    loop {
        // Read before the checks, so that any step after them ends the wait.
        let seen = core.signals.steps();
        core.poison.check()?;
        let version = core.current.get();
        let is_served = core.has_background();
        if version.frozen.is_none() && (!is_served || can_freeze(core, &version)) {
            return Ok(());
        }
        core.signals.check_flush_after(begin)?;
        core.signals.check_flush_at(Instant::now())?;
        if !is_served {
            // An earlier flush failed, or the handle is being closed: no other thread will do it.
            return flush::flush_frozen_if_due(core);
        }
        drop(version);
        let duration = stall(core, || core.signals.wait_for_step(seen));
        Event::Stalled { path: core.storage.root(), duration }.report();
    }
}
