//! Measures a query: its steps, counted and timed.
//!
//! [`pipeline`](super::pipeline) describes the steps. Here each ends before the next begins, so
//! that they can be timed separately.

use std::time::{Duration, Instant};

use super::answer::query;
use super::hit::{Hit, Hits};
use super::options::QueryOptions;
use super::pipeline::{self, LookupQueue, TableLookup, Tables};
use super::view::View;
use crate::error::Result;
use crate::fingerprint::Word;
use crate::layout::Plan;
use crate::segment::Segment;

/// What a query did, and how long each step took. Made by
/// [`Snapshot::explain`](crate::Snapshot::explain).
///
/// The steps are timed one after another. A query overlaps them, so [`total`](Self::total) is less
/// than their sum where there is much to do.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, QueryOptions};
///
/// let db = Db::options().in_memory()?;
/// db.insert(0x00ff, 1)?;
/// db.flush()?;
/// let explain = db.snapshot().explain(0x00fe, &QueryOptions::within(3))?;
/// assert_eq!((explain.matches, explain.segments.len()), (1, 1));
/// println!("{:?} to plan, {:?} in all", explain.plan, explain.total);
/// for segment in &explain.segments {
///     assert!(segment.candidates >= segment.found as u64);
///     println!("{}: {} probes, {} blocks", segment.id, segment.probes, segment.blocks);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Explain {
    /// What the query did in each segment, the oldest segment first.
    pub segments: Vec<SegmentExplain>,
    /// Entries in the memtables, which are not yet part of a segment.
    pub recent: u64,
    /// Number of matches, at most the limit of the query options.
    pub matches: usize,
    /// Time to make the plans, or to find those made earlier, and to list the probes.
    pub plan: Duration,
    /// Time to check the probes against the prefix filters.
    pub filter: Duration,
    /// Time to find the blocks of the lookups.
    pub find: Duration,
    /// Time to decode the blocks and compare their fingerprints, or to scan.
    pub decode: Duration,
    /// Time to search the memtables.
    pub memory: Duration,
    /// Time to sort the matches and read their ids.
    pub ids: Duration,
    /// Time of the same query when it is run again in the normal way.
    pub total: Duration,
}

/// What a query did in one segment. Part of an [`Explain`].
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SegmentExplain {
    /// The segment's number.
    pub id: u64,
    /// Number of different fingerprints in the segment.
    pub fingerprints: u64,
    /// Whether the entire segment was read, because no plan is predicted to be cheaper.
    pub scanned: bool,
    /// Number of tables that were searched.
    pub tables: usize,
    /// Number of prefixes that were looked up in all tables.
    pub probes: usize,
    /// Number of probes that were checked against a prefix filter first.
    pub filter_checks: usize,
    /// Number of probes that a filter ruled out.
    pub filtered_out: usize,
    /// Number of blocks that the other probes led to; 0 if the segment is so small that it is kept
    /// [decoded](crate::Options::index_memory).
    pub blocks: usize,
    /// Number of fingerprints that were compared.
    pub candidates: u64,
    /// Number of fingerprints within the distance.
    pub found: usize,
    /// Number of candidates that the plan expected, for evenly spread data.
    pub expected_candidates: f64,
    /// Time that the plan expected for a query of this segment alone, without matches.
    pub expected: Duration,
}

impl SegmentExplain {
    fn of<F: Word>(segment: &Segment<F>, plan: &Plan<F>) -> Self {
        let (meta, work) = (segment.meta(), plan.work());
        Self {
            id: meta.id,
            fingerprints: meta.fingerprints,
            scanned: plan.is_scan(),
            tables: plan.tables().len(),
            probes: plan.probe_count(),
            candidates: if plan.is_scan() { meta.fingerprints } else { 0 },
            expected_candidates: work.entries,
            expected: Duration::try_from_secs_f64(work.ns / 1e9).unwrap_or(Duration::MAX),
            ..Self::default()
        }
    }
}

/// Returns the time since the last call.
fn lap(clock: &mut Instant) -> Duration {
    let now = Instant::now();
    now - std::mem::replace(clock, now)
}

/// Runs a query, and returns what it did and how long each step took.
pub(super) fn explain<F: Word>(
    view: &View<'_, F>,
    fingerprint: F,
    options: QueryOptions,
) -> Result<Explain> {
    let QueryOptions { within, .. } = options;
    let distance = view.planner.distance(within);
    let segments = &view.version.segments;
    let (mut explain, mut hits, mut alone) = (Explain::default(), Hits::new(Hit::NONE), Vec::new());
    let mut clock = Instant::now();
    let mut tables = Tables::new(None);
    pipeline::table_probes(view, fingerprint, within, &mut tables, |source, _| {
        alone.push(source);
        Ok(())
    })?;
    explain.plan = lap(&mut clock);
    let mut queue = LookupQueue::new();
    queue.start(&tables)?;
    explain.filter = lap(&mut clock);
    queue.find_all_blocks()?;
    explain.find = lap(&mut clock);
    let lookups: Vec<_> = queue.lookups().copied().collect();
    clock = Instant::now();
    let plan = |segment: &Segment<F>| view.planner.plan(segment.meta().fingerprints, within);
    for source in alone {
        pipeline::scan(&segments[source], fingerprint, distance, source, &mut hits)?;
    }
    pipeline::decode(fingerprint, distance, &mut queue, &mut hits)?;
    explain.decode = lap(&mut clock);

    explain.segments = segments.iter().map(|s| SegmentExplain::of(s, plan(s))).collect();
    hits.as_slice().iter().for_each(|hit| explain.segments[hit.source].found += 1);
    count(&tables, &lookups, &mut explain.segments)?;

    clock = Instant::now();
    pipeline::search_memtables(view, fingerprint, within, &mut hits);
    explain.memory = lap(&mut clock);
    explain.recent = view.version.memtables().map(|m| m.len() as u64).sum();
    let _ = view.select(hits.as_mut_slice(), options)?;
    explain.ids = lap(&mut clock);
    explain.matches = query(view, fingerprint, options)?.len();
    explain.total = lap(&mut clock);
    Ok(explain)
}

/// Counts what the lookups did in each segment.
fn count<F: Word>(
    tables: &Tables<'_, F>,
    lookups: &[TableLookup<'_, F>],
    segments: &mut [SegmentExplain],
) -> Result<()> {
    for table in tables.as_slice().iter().flatten() {
        segments[table.source].filter_checks += table.filter_checks();
        segments[table.source].filtered_out += table.probes().len();
    }
    for (table, lookup) in lookups {
        let segment = &mut segments[table.source];
        segment.filtered_out -= 1;
        if let Some(decoded) = table.decoded {
            segment.candidates += decoded.count_candidates(lookup.low, lookup.high) as u64;
        }
        for block in lookup.blocks() {
            segment.blocks += 1;
            let candidates = table.table_view.table().count_candidates(block, lookup.high)?;
            segment.candidates += candidates as u64;
        }
    }
    Ok(())
}
