//! Free disk space: what operations require before they begin, and what they leave to others.
//!
//! A write that finds the disk full in the middle of the log poisons the handle, and a handle that
//! cannot flush cannot be closed cleanly. So writes are refused earlier. Everything in memory can
//! still be flushed then, and there is a reserve for removals, for closing the database and for
//! opening it again.
//!
//! None of this holds if other programs fill the disk in the meantime.

use crate::db::state::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::log::Op;
use crate::segment::bound::{Expected, most_bytes};
use crate::storage::Storage;

/// Bytes of free space that inserts, bulk loads and backups leave, in addition to what a flush of
/// everything in memory needs. Merges leave twice as much.
pub(crate) const RESERVE: u64 = 1 << 20;

/// Bytes that removals leave: for the manifest and a new log, when the database is closed or
/// opened.
const LAST_RESERVE: u64 = RESERVE / 4;

/// Most bytes that are granted to writes at a time.
const MAX_GRANTED: u64 = 64 << 20;

/// Bytes of two manifests per segment, and of everything else in them and in a new log.
const MANIFESTS: (u64, u64) = (512, 1 << 16);

/// Fails if the file system has less free space than an operation may need.
pub(crate) fn require(storage: &dyn Storage, needed: u64, operation: &str) -> Result<()> {
    let (free, needed) = (storage.free_space()?, needed + RESERVE);
    if free >= needed {
        return Ok(());
    }
    let message = format!(
        "{operation} needs up to {needed} bytes of free disk space, but there are only {free}: free \
         some space"
    );
    Err(Error::new(ErrorKind::NoSpace, message).at_path(storage.root()))
}

/// Returns how many bytes a merge may take.
pub(crate) fn usable_for_merge<F: Fingerprint>(core: &Core<F>) -> Result<u64> {
    let left = needed_to_close(core) + 2 * RESERVE;
    Ok(core.storage.free_space()?.saturating_sub(left))
}

/// Fails if these operations would not leave enough space. The caller holds the writer, and has not
/// yet written them to the log.
///
/// Reading the free space takes a system call, so much of it is granted at a time. When little is
/// left, this happens more often.
pub(crate) fn admit<F: Fingerprint>(core: &Core<F>, grant: &mut u64, ops: &[Op<F>]) -> Result<()> {
    let cost = cost(core, ops);
    if let Some(left) = grant.checked_sub(cost) {
        *grant = left;
        return Ok(());
    }
    let only_removes = ops.iter().all(|op| match op {
        Op::Insert { .. } => false,
        Op::Remove { .. } => true,
        Op::Change(change) => change.after.is_none(),
    });
    let reserve = if only_removes { LAST_RESERVE } else { RESERVE };
    let free = core.storage.free_space()?;
    let usable = free.saturating_sub(needed_to_close(core) + reserve);
    if cost > usable {
        let message = format!(
            "the disk is full: the {free} bytes left are needed to flush recent entries, to remove \
             entries and to close the database, so free some space"
        );
        return Err(Error::new(ErrorKind::NoSpace, message).at_path(core.storage.root()));
    }
    // Removals use the space that inserts must leave, so nothing is granted in advance.
    let granted = if only_removes { cost } else { (usable / 4).min(MAX_GRANTED).max(cost) };
    *grant = granted - cost;
    Ok(())
}

/// Returns how many bytes the operations take at most in the log and in a segment.
fn cost<F: Fingerprint>(core: &Core<F>, ops: &[Op<F>]) -> u64 {
    /// Frames in the log, with the one that follows a sync.
    const FRAMES: u64 = 64;
    let settings = &core.settings;
    // In a block a fingerprint takes at most its own bits and a codeword.
    let per_table = 2 * F::BYTES as u64 + u64::from(settings.filter_bits) / 8;
    // Compressed keys and what is added to find documents take less than their bytes in the log.
    let per_document = if settings.ids.identify_documents() { 2 * F::BYTES as u64 + 48 } else { 0 };
    let per_op = settings.layout.tables() as u64 * per_table + 32 + per_document;
    let log: usize = ops.iter().map(Op::encoded_len).sum();
    FRAMES + 2 * log as u64 + ops.len() as u64 * per_op
}

/// Returns how many bytes it takes at most to flush everything in memory and to close the database.
fn needed_to_close<F: Fingerprint>(core: &Core<F>) -> u64 {
    let version = core.current.get();
    let segments = version.memtables().filter(|memtable| !memtable.is_empty()).map(|memtable| {
        let entries = memtable.len() as u64;
        let keeps = core.settings.ids.identify_documents();
        let documents = if keeps { memtable.memory() as u64 } else { 0 };
        let expected = Expected { documents, ..Expected::of_entries(entries, u64::MAX) };
        most_bytes::<F>(&core.settings, &expected)
    });
    let (per_segment, others) = MANIFESTS;
    segments.sum::<u64>() + version.segments.len() as u64 * per_segment + others
}
