//! Commits: operations go into the log and into the memtable.
//!
//! A commit gets its number, its place in the log and its entries in the memtable under the
//! writer's lock. Under `Durability::Buffered` it is written to the log's file at once and is
//! visible. Under `Durability::Sync` it becomes visible, and may be acknowledged, once it is synced
//! (`sync.rs`).

pub(crate) mod install;
pub(crate) mod session;
pub(crate) mod space;
pub(crate) mod sync;

use std::sync::atomic::Ordering;

use crate::base::error::Result;
use crate::db::options::Durability;
use crate::db::state::core::{Core, Writer};
use crate::fingerprint::Fingerprint;
use crate::store::log::Op;

/// Commits operations and returns the number of the commit. There must be
/// [space](crate::db::commit::space::admit) for them. The caller waits for the commit with
/// [`acknowledge`](crate::db::commit::sync::acknowledge).
pub(crate) fn commit<F: Fingerprint>(
    core: &Core<F>,
    writer: &mut Writer,
    ops: &[Op<F>],
) -> Result<u64> {
    core.poison.check()?;
    session::begin_with(core, writer)?;
    let is_buffered = core.tuning.durability != Durability::Sync;
    let seq = writer.seq + 1;
    writer.committed_end = writer.log.append(seq, ops)?;
    if is_buffered {
        // After an error nobody knows how much was written, so nothing may follow it.
        writer.log.write().map_err(|e| core.poison.set(e))?;
    }
    writer.seq = seq;
    core.log.bytes.store(writer.committed_end, Ordering::Relaxed);
    let applied = core.current.get().active.apply(seq, ops);
    writer.next_doc = applied.map_err(|e| core.poison.set(e))?;
    if is_buffered {
        core.visible.store(seq, Ordering::Release);
    }
    Ok(seq)
}
