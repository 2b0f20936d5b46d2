//! One query: all its lookups, in all tables of all segments, step by step.
//!
//! All lookups take one step before the next step begins. Each step is a loop over independent
//! lookups, so the processor overlaps them, and prefetches what the next step reads, so that the
//! waits for memory overlap too. Blocks are decoded several at a time.
//!
//! 1. [`table_probes`] plans: the probes of each table.
//! 2. [`LookupQueue::start`] checks the probes against the prefix filters, and makes lookups of
//!    those that are left.
//! 3. [`LookupQueue::next`] finds the blocks of each lookup, some lookups ahead of step 4.
//! 4. [`decode`] decodes the blocks, and keeps the fingerprints that match.

use super::view::View;
use crate::block::{self, Job};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Plan, Probe};
use crate::segment::Segment;
use crate::table::{FilterCheck, Lookup, TableView};

/// A fingerprint within the distance, and the source that has it. Ordered as answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit<F> {
    pub(super) distance: u32,
    pub(super) fingerprint: F,
    /// Segments by number, oldest first, then memtables.
    pub(super) source: usize,
}

/// The probes of one query in one table of one segment.
pub(super) struct TableProbes<'a, F> {
    pub(super) source: usize,
    pub(super) table_view: TableView<'a, F>,
    /// The number of the table in the layout.
    pub(super) number: usize,
    /// The query's fingerprint in the table's bit order.
    pub(super) query: F,
    pub(super) plan: &'a Plan<F>,
    pub(super) probes: &'a [Probe<F>],
}

/// Finds every fingerprint of the view within `distance`, once per source that has it. `queries` is
/// the query's fingerprint in each table's bit order.
pub(super) fn search<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
) -> Result<Vec<Hit<F>>> {
    let mut hits = Vec::new();
    cpu::with_native_instructions(
        #[inline(always)]
        || search_segments(view, queries, distance, &mut hits),
    )?;
    search_memtables(view, queries, distance, &mut hits);
    Ok(hits)
}

#[inline(always)]
fn search_segments<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    hits: &mut Vec<Hit<F>>,
) -> Result<()> {
    let tables = table_probes(
        view,
        queries,
        distance,
        #[inline(always)]
        |source, segment| scan(segment, queries[0], distance, source, hits),
    )?;
    if tables.is_empty() {
        return Ok(());
    }
    let queue = LookupQueue::start(&tables)?;
    decode(view, &tables, queries, distance, queue, hits)
}

/// Searches the memtables only. `queries` is the query's fingerprint in each table's bit order.
pub(super) fn search_memtables<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    hits: &mut Vec<Hit<F>>,
) {
    let first = view.version.segments.len();
    for (source, memtable) in (first..).zip(view.version.memtables()) {
        let entries = memtable.len();
        if entries == 0 {
            continue;
        }
        let plan = view.planner.plan_in_memory(entries, memtable.capacity(), distance);
        memtable.search(queries, plan, distance, |fingerprint, distance| {
            hits.push(Hit { distance, fingerprint, source });
        });
    }
}

/// Compares the query with all of table 0, where that is predicted to cost less than probing.
pub(super) fn scan<F: Fingerprint>(
    segment: &Segment<F>,
    query: F,
    max_distance: u32,
    source: usize,
    hits: &mut Vec<Hit<F>>,
) -> Result<()> {
    let Some(table) = segment.identity_table() else { return Ok(()) };
    table.visit_all(
        #[inline(always)]
        move |fingerprint| {
            let distance = fingerprint.distance(query);
            if distance <= max_distance {
                hits.push(Hit { distance, fingerprint, source });
            }
        },
    )
}

/// Step 1: plans the query. Segments whose plan is a scan are passed to `scan`, with their number.
#[inline(always)]
pub(super) fn table_probes<'a, F: Fingerprint>(
    view: &View<'a, F>,
    queries: &[F],
    distance: u32,
    mut scan: impl FnMut(usize, &Segment<F>) -> Result<()>,
) -> Result<Vec<TableProbes<'a, F>>> {
    let segments = &view.version.segments;
    let mut tables = Vec::with_capacity(segments.len() * queries.len());
    for (source, segment) in segments.iter().enumerate() {
        let plan = view.planner.plan(segment.meta().fingerprints, distance);
        if plan.is_scan() {
            scan(source, segment)?;
        }
        for probes in plan.probes().chunk_by(|a, b| a.table == b.table) {
            let number = probes.first().map_or(0, |probe| probe.table.into());
            let (table_view, query) = (segment.tables()[number].view(), queries[number]);
            tables.push(TableProbes { source, table_view, number, query, plan, probes });
        }
    }
    Ok(tables)
}

/// Step 4: decodes the blocks of the lookups and keeps what matches. A match that several tables
/// accept is reported by the first of them only.
#[inline(always)]
pub(super) fn decode<F: Fingerprint>(
    view: &View<'_, F>,
    tables: &[TableProbes<'_, F>],
    queries: &[F],
    distance: u32,
    mut queue: LookupQueue<'_, F>,
    hits: &mut Vec<Hit<F>>,
) -> Result<()> {
    let Some(first) = tables.first() else { return Ok(()) };
    let found = |table: &TableProbes<'_, F>, candidate: F| {
        let fingerprint = view.planner.permutations()[table.number].invert(candidate);
        if table.plan.reports(table.number, fingerprint ^ queries[0]) {
            let distance = fingerprint.distance(queries[0]);
            hits.push(Hit { distance, fingerprint, source: table.source });
        }
    };
    block::search(
        first.table_view.table().code(),
        #[inline(always)]
        || queue.next(),
        distance,
        found,
    )
}

/// Most lookups of a query that filters leave, more often than not.
const LEFT_BY_FILTERS: usize = 12;

/// Probes that are checked against a filter at a time.
const CHECKED_TOGETHER: usize = 32;

/// Lookups whose blocks are found before they are decoded: their waits for memory overlap with each
/// other and with the decoding of the lookups before them.
const AHEAD: usize = 12;

impl<F: Fingerprint> TableProbes<'_, F> {
    #[inline(always)]
    pub(super) fn start_filter_check(&self, probe: &Probe<F>) -> Option<FilterCheck> {
        self.table_view.start_filter_check(self.query ^ probe.flips, probe.depth.into())
    }

    #[inline(always)]
    fn start_lookup(&self, probe: &Probe<F>) -> TableLookup<'_, F> {
        (self, self.table_view.start_lookup(self.query ^ probe.flips, probe.depth.into()))
    }
}

/// A lookup, and the table that it is in.
pub(super) type TableLookup<'a, F> = (&'a TableProbes<'a, F>, Lookup<F>);

/// Keeps the probes that the filter does not rule out.
#[inline(always)]
fn keep_possible<'a, F: Fingerprint>(
    table: &'a TableProbes<'a, F>,
    probes: &[Probe<F>],
    checks: &[Option<FilterCheck>],
    lookups: &mut Vec<TableLookup<'a, F>>,
) -> Result<()> {
    for (probe, check) in probes.iter().zip(checks) {
        if let Some(check) = *check
            && !table.table_view.may_contain(check)?
        {
            continue;
        }
        lookups.push(table.start_lookup(probe));
    }
    Ok(())
}

/// The lookups of a query in the middle step, which finds their blocks.
pub(super) struct LookupQueue<'a, F> {
    lookups: Vec<TableLookup<'a, F>>,
    /// By how many lookups finding blocks is ahead of decoding them.
    ahead: usize,
    /// Number of lookups whose blocks are found.
    found: usize,
    /// Number of lookups whose blocks have all been handed out.
    taken: usize,
}

impl<'a, F: Fingerprint> LookupQueue<'a, F> {
    /// Step 2: makes lookups of the probes that no filter rules out.
    ///
    /// Filter checks are started for a group of probes at a time, and the checks of the group
    /// before are read only then. So a group's worth of reads is on its way from memory at any
    /// time, and few enough that they are still in the nearest cache when they are needed.
    #[inline(always)]
    pub(super) fn start(tables: &'a [TableProbes<'a, F>]) -> Result<Self> {
        let unfiltered = tables.iter().filter(|table| !table.table_view.table().is_filtered());
        let certain: usize = unfiltered.map(|table| table.probes.len()).sum();
        let mut lookups = Vec::with_capacity(certain + LEFT_BY_FILTERS);
        let mut checks = &mut [None; CHECKED_TOGETHER];
        let mut checks_before = &mut [None; CHECKED_TOGETHER];
        let mut probes_before = None;
        for table in tables {
            if !table.table_view.table().is_filtered() {
                lookups.extend(table.probes.iter().map(|probe| table.start_lookup(probe)));
                continue;
            }
            for probes in table.probes.chunks(CHECKED_TOGETHER) {
                checks
                    .iter_mut()
                    .zip(probes)
                    .for_each(|(check, probe)| *check = table.start_filter_check(probe));
                if let Some((table, probes)) = probes_before.replace((table, probes)) {
                    keep_possible(table, probes, checks_before, &mut lookups)?;
                }
                std::mem::swap(&mut checks, &mut checks_before);
            }
        }
        if let Some((table, probes)) = probes_before {
            keep_possible(table, probes, checks_before, &mut lookups)?;
        }
        let cold = tables.iter().any(|table| table.table_view.table().is_cold());
        // All reads of the disk are under way before the first is waited for.
        let ahead = if cold { lookups.len() } else { AHEAD };
        Ok(Self { lookups, ahead, found: 0, taken: 0 })
    }

    /// Step 3 for all lookups at once.
    pub(super) fn find_all_blocks(&mut self) -> Result<()> {
        self.ahead = self.lookups.len();
        self.find_blocks_ahead()
    }

    pub(super) fn lookups(&self) -> &[TableLookup<'a, F>] {
        &self.lookups
    }

    /// Step 3: the next block to decode, and what to look for in it.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Job<'a, F, &'a TableProbes<'a, F>>>> {
        loop {
            if let Some((table, lookup)) = self.lookups.get_mut(self.taken)
                && self.taken < self.found
            {
                if let Some(block) = lookup.blocks.next() {
                    let Lookup { low, high, .. } = lookup;
                    let (block, query) = (table.table_view.packed(block)?, table.query);
                    return Ok(Some(Job { block, query, low: *low, high: *high, tag: table }));
                }
                self.taken += 1;
            } else if self.taken == self.lookups.len() {
                return Ok(None);
            }
            self.find_blocks_ahead()?;
        }
    }

    /// Finds the blocks of the lookups that follow those taken, up to `ahead` of them.
    #[inline(always)]
    fn find_blocks_ahead(&mut self) -> Result<()> {
        let Self { lookups, ahead, found, taken } = self;
        while *found < lookups.len().min(*taken + *ahead) {
            let (table, lookup) = &mut lookups[*found];
            table.table_view.find_blocks(lookup)?;
            *found += 1;
        }
        Ok(())
    }
}
