//! Free disk space: what operations require before they begin, and what they leave to others.
//!
//! A write that finds the disk full in the middle of the log poisons the handle, and a handle that
//! cannot flush cannot be closed cleanly. So writes are refused earlier. Everything in memory can
//! still be flushed then, and there is a reserve for removals, for closing the database and for
//! opening it again.
//!
//! All of the free space is accounted for under the writer's lock. It belongs to
//!
//! - the part of the log that is not written yet,
//! - the flush of everything in memory, without what a running flush has written already,
//! - the claims of merges, bulk loads and backups that are running,
//! - the reserve,
//! - and then to whoever asks first: a write, or an operation that makes a new claim.
//!
//! None of this holds if other programs fill the disk in the meantime.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::base::parallel::lock;
use crate::db::state::core::{Base, Core, Writer};
use crate::db::state::disk_space::Claim;
use crate::documents::{MAX_FIXED_BYTES, most_record_bytes};
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::settings::{IndexSettings, Settings, TableSettings};
use crate::store::log::Op;
use crate::store::memtable::Memtable;
use crate::store::segment::bound::{Expected, bands_scratch, most_bytes};

/// Bytes of free space that inserts, bulk loads and backups leave, in addition to what a flush of
/// everything in memory needs.
const RESERVE: u64 = 1 << 20;

/// Bytes that merges leave, so that there is room for writes in the meantime.
const MERGE_RESERVE: u64 = 2 * RESERVE;

/// Bytes that removals leave: for the manifest and a new log, when the database is closed or
/// opened.
const LAST_RESERVE: u64 = RESERVE / 4;

/// Most bytes that are granted to writes at a time.
const MAX_GRANTED: u64 = 64 << 20;

/// A flush may free much of the log and of the space that is kept for the flush itself. With less
/// than this, it would only make a tiny segment.
const WORTH_A_FLUSH: u64 = RESERVE / 4;

/// Bytes of two manifests per segment, and of everything else in them and in a new log.
const MANIFESTS: (u64, u64) = (512, 1 << 16);

/// Fails if the file system has less free space than an operation may need that shares it with no
/// open database.
pub(crate) fn require(storage: &dyn Storage, needed: u64, operation: &str) -> Result<()> {
    let usable = storage.free_space()?.saturating_sub(RESERVE);
    if needed <= usable { Ok(()) } else { Err(too_little(storage, operation, needed, usable)) }
}

/// The same for an operation that holds the writer until it is done, so that nobody else asks for
/// space.
pub(crate) fn require_alone<F: Fingerprint>(
    core: &Core<F>,
    writer: &mut Writer,
    needed: u64,
    operation: &str,
) -> Result<()> {
    let usable = usable(core, writer, RESERVE)?;
    if needed <= usable {
        return Ok(());
    }
    Err(too_little(&*core.storage, operation, needed, usable))
}

/// Claims space for an operation.
pub(crate) fn claim<F: Fingerprint>(
    core: &Core<F>,
    writer: &mut Writer,
    most: u64,
    operation: &str,
) -> Result<Arc<Claim>> {
    require_alone(core, writer, most, operation)?;
    Ok(writer.space.claim(most))
}

/// Adds `more` bytes to a claim, and if there is room some in advance.
pub(crate) fn grow<F: Fingerprint>(
    core: &Core<F>,
    claim: &Claim,
    more: u64,
    operation: &str,
) -> Result<()> {
    let usable = usable(core, &mut lock(&core.log.writer), RESERVE)?;
    if more > usable {
        return Err(too_little(&*core.storage, operation, more, usable));
    }
    claim.grow(in_advance(usable).max(more));
    Ok(())
}

/// Returns how many bytes a merge may take.
pub(crate) fn usable_for_merge<F: Fingerprint>(core: &Core<F>) -> Result<u64> {
    usable(core, &mut lock(&core.log.writer), MERGE_RESERVE)
}

/// Claims space for a merge, if there is enough.
pub(crate) fn claim_for_merge<F: Fingerprint>(
    core: &Core<F>,
    most: u64,
) -> Result<Option<Arc<Claim>>> {
    let mut writer = lock(&core.log.writer);
    let usable = usable(core, &mut writer, MERGE_RESERVE)?;
    Ok((most <= usable).then(|| writer.space.claim(most)))
}

/// Makes sure that there is space for a commit of these operations. Returns false if there may be
/// after a flush.
///
/// Reading the free space takes a system call, so much of it is granted at a time. When little is
/// left, this happens more often.
pub(crate) fn admit<F: Fingerprint>(
    core: &Core<F>,
    writer: &mut Writer,
    ops: &[Op<F>],
) -> Result<bool> {
    let cost = cost(core, ops);
    if let Some(left) = writer.space.grant.checked_sub(cost) {
        writer.space.grant = left;
        return Ok(true);
    }
    let only_removes = ops.iter().all(|op| match op {
        Op::Insert { .. } => false,
        Op::Remove { .. } => true,
        Op::Change(change) => change.after.is_none(),
    });
    let usable = usable(core, writer, if only_removes { LAST_RESERVE } else { RESERVE })?;
    let cost = cost + empty_segment(core);
    if cost <= usable {
        // Removals use the space that inserts must leave, so nothing is granted in advance.
        let granted = if only_removes { cost } else { in_advance(usable).max(cost) };
        writer.space.grant = granted - cost;
        writer.space.is_full = false;
        return Ok(true);
    }
    let version = core.current.get();
    let freed: u64 =
        version.memtables().map(|memtable| flush_bytes(&core.settings, memtable)).sum();
    let is_flushed = version.memtables().all(|memtable| memtable.is_empty());
    if !is_flushed && freed + writer.log.len() >= WORTH_A_FLUSH {
        return Ok(false);
    }
    Err(refuse(core, writer))
}

/// Returns what of the usable space is given out before it is needed.
fn in_advance(usable: u64) -> u64 {
    (usable / 4).min(MAX_GRANTED)
}

/// Returns the error of a write for which there is no space, and counts it.
fn refuse(core: &Base, writer: &mut Writer) -> Error {
    let free = core.storage.free_space().unwrap_or(0);
    let message = format!(
        "the disk is full: the {free} bytes left are needed to flush recent entries, to remove \
         entries and to close the database, so free some space"
    );
    let error = Error::new(ErrorKind::NoSpace, message).at_path(core.storage.root());
    core.refused.fetch_add(1, Ordering::Relaxed);
    if writer.space.is_refusal_news(Instant::now()) {
        Event::Refused { error: &error }.report();
    }
    error
}

fn too_little(storage: &dyn Storage, operation: &str, needed: u64, usable: u64) -> Error {
    let message = format!(
        "{operation} needs up to {needed} bytes of free disk space, but may use only {usable}: free \
         some space"
    );
    Error::new(ErrorKind::NoSpace, message).at_path(storage.root())
}

/// Ends the grant, and returns how many bytes can be granted or claimed now, so that `reserve`
/// bytes are left.
fn usable<F: Fingerprint>(core: &Core<F>, writer: &mut Writer, reserve: u64) -> Result<u64> {
    unpromised(core, writer, needed_to_close(core) + reserve)
}

/// Does the same, so that `kept` bytes are left.
fn unpromised(core: &Base, writer: &mut Writer, kept: u64) -> Result<u64> {
    writer.space.grant = 0;
    let not_in_log = writer.log.len() - writer.log.durable();
    // The free space is read last. What is written in between counts twice, rather than never.
    let taken = not_in_log + writer.space.claimed() + kept;
    Ok(core.storage.free_space()?.saturating_sub(taken))
}

/// Returns how many bytes the operations take at most in the log and in a segment.
fn cost<F: Fingerprint>(core: &Core<F>, ops: &[Op<F>]) -> u64 {
    /// Frames in the log, with the one that follows a sync.
    const FRAMES: u64 = 64;
    let settings = &core.settings;
    let per_entry = 32
        + match &settings.index {
            // In a block a fingerprint takes at most its own bits and a codeword.
            IndexSettings::Tables(TableSettings { layout, filter_bits, .. }) => {
                layout.tables() as u64 * (2 * F::BYTES as u64 + u64::from(*filter_bits) / 8)
            }
            // A row takes at most 6 bytes, and 16 while it is sorted.
            IndexSettings::Bands(rule) => u64::from(rule.bands) * (6 + 16),
        };
    let in_segment = |op: &Op<F>| match op {
        Op::Insert { .. } | Op::Remove { .. } => per_entry,
        Op::Change(change) => {
            let (removed, inserted) = change.entries();
            let entries = u64::from(removed.is_some()) + u64::from(inserted.is_some());
            entries * per_entry + most_record_bytes(F::BYTES, change.key().len())
        }
    };
    FRAMES + ops.iter().map(|op| op.encoded_len() as u64 + in_segment(op)).sum::<u64>()
}

/// Returns how many bytes it takes at most to flush everything in memory and to close the database.
fn needed_to_close<F: Fingerprint>(core: &Core<F>) -> u64 {
    let version = core.current.get();
    let segments: u64 =
        version.memtables().map(|memtable| flush_bytes(&core.settings, memtable)).sum();
    let (per_segment, others) = MANIFESTS;
    segments + version.segments.len() as u64 * per_segment + others
}

/// Returns how many bytes the flush of a memtable still takes at most.
pub(crate) fn flush_bytes<F: Fingerprint>(settings: &Settings, memtable: &Memtable<F>) -> u64 {
    if memtable.is_empty() {
        return 0;
    }
    let documents = memtable.most_document_bytes();
    let expected = Expected { documents, ..Expected::of_entries(memtable.len() as u64, u64::MAX) };
    let scratch = bands_scratch(settings, expected.fingerprints, 1);
    let most = most_bytes(settings, &expected) + scratch;
    most.saturating_sub(memtable.flushed().load(Ordering::Acquire))
}

/// Returns how many bytes a segment takes before it has entries, if the next commit begins one.
fn empty_segment<F: Fingerprint>(core: &Core<F>) -> u64 {
    if core.current.get().active.is_empty() {
        let documents = if core.settings.ids.identify_documents() { MAX_FIXED_BYTES } else { 0 };
        let expected = Expected { documents, ..Expected::of_entries(0, u64::MAX) };
        most_bytes(&core.settings, &expected)
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::storage::Sim;
    use crate::fingerprint::DocId;
    use crate::{Db, Ids};

    #[test]
    fn a_claim_ends_the_grant_of_the_writers() {
        let db = Db::options().in_memory().unwrap();
        let core = db.core();
        let grant = || lock(&core.log.writer).space.grant;
        let ways: [&dyn Fn() -> Result<()>; 3] = [
            &|| claim_for_merge(core, 1).map(drop),
            &|| claim(core, &mut lock(&core.log.writer), 1, "a test").map(drop),
            &|| {
                let claim = lock(&core.log.writer).space.claim(0);
                grow(core, &claim, 1, "a test")
            },
        ];
        for (number, way) in (0..).zip(ways) {
            db.insert(number, 1).unwrap();
            assert!(grant() > 0);
            way().unwrap();
            assert_eq!(grant(), 0);
        }
    }

    #[test]
    fn claims_and_the_unwritten_part_of_the_log_are_not_usable() {
        let db = Db::options().storage(Sim::new()).create("sim").unwrap();
        let core = db.core();
        let mut writer = lock(&core.log.writer);
        crate::db::commit::session::begin_with(core, &mut writer).unwrap();
        let before = usable(core, &mut writer, 0).unwrap();
        let claim = writer.space.claim(1 << 20);
        assert_eq!(usable(core, &mut writer, 0).unwrap(), before - (1 << 20));
        claim.written().fetch_add(1 << 19, Ordering::Relaxed);
        assert_eq!(usable(core, &mut writer, 0).unwrap(), before - (1 << 19));
        drop(claim);
        assert_eq!(usable(core, &mut writer, 7).unwrap(), before - 7);
        let end = writer.log.append(1, &[Op::Insert { fingerprint: 7_u64, id: DocId(1) }]).unwrap();
        let unwritten = end - writer.log.durable();
        assert_eq!(usable(core, &mut writer, 0).unwrap(), before - unwritten);
    }

    /// The free space does not have it any more.
    #[test]
    fn what_a_flush_has_written_is_not_kept_for_it_a_second_time() {
        let db = Db::options().ids(Ids::Names).in_memory().unwrap();
        let before = needed_to_close(db.core());
        db.insert(7, "https://a.example/").unwrap();
        let with_memtable = needed_to_close(db.core());
        let flush = with_memtable - before;
        assert!(flush > 0);
        let active = db.core().current.get().active.clone();
        active.flushed().store(flush / 2, Ordering::Relaxed);
        assert_eq!(needed_to_close(db.core()), with_memtable - flush / 2);
        active.flushed().store(2 * flush, Ordering::Relaxed);
        assert_eq!(needed_to_close(db.core()), before);
        db.flush().unwrap();
    }
}
