//! Compaction: replaces segments by their merge. storage-format.md, "Compaction".
//!
//! Which segments to merge is decided in `compaction/policy.rs`, and `compaction/merger.rs` merges
//! them. This file connects both with a live database.

use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::base::parallel::lock;
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::commit::install;
use crate::db::commit::session;
use crate::db::commit::space;
use crate::db::state::core::{Base, Core};
use crate::db::state::disk_space::Claim;
use crate::db::upkeep::flush;
use crate::file::storage::LockedFolder;
use crate::fingerprint::Fingerprint;
use crate::store::compaction::{
    MergeSizes, Merger, Weight, fewest, fit_in_one, no_space, pick, pick_smaller,
};
use crate::store::segment::{Segment, SegmentMeta};
use crate::store::version::Version;

/// What a full compaction did.
///
/// # Examples
///
/// ```
/// # let db = fpdb::Db::options().in_memory()?;
/// db.insert(7, 1)?;
/// db.flush()?;
/// db.insert(9, 2)?;
/// let report = db.compact()?;
/// println!("{} segments before", report.segments_before); // 1 if the background was faster
/// assert_eq!(report.segments_after, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct CompactReport {
    /// Number of segments before.
    pub segments_before: usize,
    /// Number of segments after.
    pub segments_after: usize,
    /// Bytes of all segments before.
    pub bytes_before: u64,
    /// Bytes of all segments after.
    pub bytes_after: u64,
    /// If documents are too many for one segment: how many a segment can have. That is 2^32 − 1
    /// sketches; others are never too many.
    pub most_documents: Option<u64>,
}

/// Called during a merge after each batch of rows, with their number: may do more urgent work
/// first, and ends the merge by an error.
type Pause<'a> = &'a (dyn Fn(u64) -> Result<()> + Sync);

/// Merges the run of segments that the policy chooses, or a smaller one if there is too little free
/// space for it. Returns false if the policy chooses none.
pub(crate) fn compact_once<F: Fingerprint>(core: &Core<F>, pause: Pause<'_>) -> Result<bool> {
    let _one_at_a_time = lock(&core.compacting);
    let segments = core.current.get().segments.clone();
    let weights: Vec<Weight> = segments.iter().map(|s| weight(s.meta())).collect();
    let most_documents = core.most_documents();
    let fit = |run| segments.get(run).is_some_and(|segments| fit_in_one(segments, most_documents));
    let Some(mut run) = pick(&weights, fit) else { return Ok(false) };
    let folder = &*session::own_folder(core)?;
    // One processor is left to writes and queries.
    let threads = core.threads().saturating_sub(1).max(1);
    let (sizes, mut usable) = (
        MergeSizes::new(&core.settings, &segments, core.threads()),
        space::usable_for_merge(core)?,
    );
    loop {
        let Some(most) = sizes.within(run.clone(), usable) else {
            run = pick_smaller(&weights, |run| {
                fit(run.clone()) && sizes.within(run, usable).is_some()
            })
            .ok_or_else(|| no_space(sizes.most(run), usable, &*core.storage))?;
            continue;
        };
        let Some(claim) = space::claim_for_merge(core, most)? else {
            // Somebody else was faster.
            usable = space::usable_for_merge(core)?.min(most - 1);
            continue;
        };
        let folder = &folder.counting(claim.written().clone());
        match merge(core, folder, &segments[run.clone()], run.start == 0, pause, threads) {
            // A quota is used up, or another program took the space: a smaller merge may fit.
            Err(error) if is_full(core, &error) => {
                usable = usable.min(most) / 2;
                if pick_smaller(&weights, |run| {
                    fit(run.clone()) && sizes.within(run, usable).is_some()
                })
                .is_none()
                {
                    return Err(error);
                }
            }
            merged => return merged.map(|()| true),
        }
    }
}

/// Returns the size of a segment: the larger of its entries and documents.
fn weight(meta: &SegmentMeta) -> Weight {
    let (live, gone) = meta.documents.map_or((0, 0), |d| (d.live, d.removed.max(d.replaced)));
    Weight { entries: meta.entries.max(live), removed: meta.removed.max(gone) }
}

/// Whether a merge failed for lack of space only.
fn is_full(core: &Base, error: &Error) -> bool {
    error.kind() == ErrorKind::NoSpace && !core.poison.is_set()
}

/// Merges as long as the policy chooses anything, in the calling thread.
pub(crate) fn compact_until_done<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    while compact_once(core, &|_| Ok(()))? {}
    Ok(())
}

/// Keeps the number of segments small after a call that added one. If that fails, the call has
/// still succeeded: `stats` shows the failure, and the next call tries again.
pub(crate) fn compact_as_needed<F: Fingerprint>(core: &Core<F>) {
    if core.tuning.background {
        return core.signals.request_work();
    }
    let compacted = compact_until_done(core);
    if let Err(error) = &compacted {
        Event::BackgroundFailed { path: core.storage.root(), error }.report();
    }
    core.signals.compacted(&compacted);
}

/// Flushes, and merges all segments into one, or into as few as can hold the documents.
pub(crate) fn flush_and_compact_all<F: Fingerprint>(
    core: &Core<F>,
    watch: &Watch,
) -> Result<CompactReport> {
    drop(flush::flush_all(core)?);
    compact_all(core, watch)
}

fn compact_all<F: Fingerprint>(core: &Core<F>, watch: &Watch) -> Result<CompactReport> {
    let _one_at_a_time = lock(&core.compacting);
    let before = core.current.get().segments.clone();
    let inputs = before.get(worthwhile(core, &before)).unwrap_or_default();
    if !inputs.is_empty() {
        let folder = session::own_folder(core)?;
        let claim = claim_for(core, inputs)?;
        let folder = &folder.counting(claim.written().clone());
        let work = Merger::work(&core.settings, inputs);
        let meter = Meter::new(watch, Phase::Write, Some(work));
        let pause = |rows| {
            core.poison.check()?;
            meter.advance(rows)?;
            flush_if_urgent(core)
        };
        merge(core, folder, inputs, inputs.len() == before.len(), &pause, core.threads())?;
        core.signals.compacted(&Ok(()));
        meter.finish();
    }
    let after = core.current.get().segments.clone();
    Ok(CompactReport {
        segments_before: before.len(),
        segments_after: after.len(),
        bytes_before: bytes(&before),
        bytes_after: bytes(&after),
        most_documents: (fewest(&after, core.most_documents()) > 1).then(|| core.most_documents()),
    })
}

/// Returns which segments to merge so that there are as few as possible and nothing is removed: the
/// newest, because the oldest may be full already, or none.
fn worthwhile<F: Fingerprint>(core: &Core<F>, segments: &[Arc<Segment<F>>]) -> Range<usize> {
    if segments.iter().any(|s| weight(s.meta()).removed > 0) {
        return 0..segments.len();
    }
    let fewest = |of| fewest(of, core.most_documents());
    let (all, mut begin) = (fewest(segments), segments.len());
    while begin > 0 && begin + segments.get(begin..).map_or(0, fewest) > all {
        begin -= 1;
    }
    begin..segments.len()
}

/// Returns the most bytes that [`flush_and_compact_all`] takes, without what is in memory.
pub(crate) fn most_space<F: Fingerprint>(core: &Core<F>) -> u64 {
    let segments = core.current.get().segments.clone();
    let inputs = worthwhile(core, &segments);
    if inputs.is_empty() {
        return 0;
    }
    MergeSizes::new(&core.settings, &segments, core.threads()).most(inputs)
}

/// Claims space for the merge of these segments.
fn claim_for<F: Fingerprint>(core: &Core<F>, segments: &[Arc<Segment<F>>]) -> Result<Arc<Claim>> {
    let (sizes, all) =
        (MergeSizes::new(&core.settings, segments, core.threads()), 0..segments.len());
    let usable = space::usable_for_merge(core)?;
    if let Some(most) = sizes.within(all.clone(), usable)
        && let Some(claim) = space::claim_for_merge(core, most)?
    {
        return Ok(claim);
    }
    Err(no_space(sizes.most(all), usable, &*core.storage))
}

fn bytes<F: Fingerprint>(segments: &[Arc<Segment<F>>]) -> u64 {
    segments.iter().map(|s| s.meta().bytes()).sum()
}

/// Flushes during a merge, for writers that may be waiting: the background thread cannot while it
/// waits for another thread's merge to end.
pub(crate) fn flush_if_urgent<F: Fingerprint>(core: &Core<F>) -> Result<()> {
    if !core.signals.is_urgent() {
        return Ok(());
    }
    core.signals.begin_urgent();
    flush::flush_frozen(core)
}

/// Replaces a run of segments by their merge, which may be several if one cannot hold it.
fn merge<F: Fingerprint>(
    core: &Core<F>,
    folder: &LockedFolder,
    inputs: &[Arc<Segment<F>>],
    is_oldest: bool,
    pause: Pause<'_>,
    threads: usize,
) -> Result<()> {
    let start = Instant::now();
    let settings = &*core.settings;
    let most_documents = core.most_documents();
    let merger = Merger { folder, settings, inputs, is_oldest, pause, threads, most_documents };
    let written = merger.run(&|| core.next_number(folder))?;
    let outputs = install::open_all_new(core, folder, &written)?;
    let ids: Vec<u64> = inputs.iter().map(|s| s.meta().id).collect();
    let is_input = |id: u64| ids.contains(&id);
    let written: Vec<SegmentMeta> = outputs.iter().map(|s| s.meta().clone()).collect();
    let output_ids: Vec<u64> = written.iter().map(|meta| meta.id).collect();
    let bytes_out = written.iter().map(SegmentMeta::bytes).sum();
    install::segments(core, folder, &written, &mut |manifest| {
        manifest.segments.retain(|s| !is_input(s.id));
        manifest.bytes_compacted += bytes_out;
        written.iter().for_each(|meta| manifest.add_segment(meta.clone()));
    })?;
    install::version(core, |version| {
        let mut segments = version.segments.clone();
        let at = segments.iter().position(|s| is_input(s.meta().id)).unwrap_or(0);
        segments.retain(|s| !is_input(s.meta().id));
        segments.splice(at..at, outputs);
        Version { segments, ..version.clone() }
    });
    inputs.iter().for_each(|segment| install::remove_segment(folder, segment.meta()));
    Event::Compacted {
        path: core.storage.root(),
        inputs: &ids,
        outputs: &output_ids,
        bytes_in: bytes(inputs),
        bytes_out,
        duration: start.elapsed(),
    }
    .report();
    Ok(())
}
