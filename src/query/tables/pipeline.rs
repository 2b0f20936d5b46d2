//! One query: all its lookups, in all tables of all segments, step by step (docs/design.md, "A
//! query").
//!
//! All lookups take one step before the next step begins. Each step is a loop over independent
//! lookups, so the processor overlaps them, and it prefetches what the next step reads.
//!
//! 1. [`table_probes`] plans.
//! 2. [`LookupQueue::start`] checks the probes against the prefix filters.
//! 3. [`LookupQueue::next`] finds the blocks of the lookups that are left.
//! 4. [`decode`] decodes the blocks, several at a time, and keeps the fingerprints that match.

use super::hit::{Hit, Hits};
use super::short_list::ShortList;
use crate::base::cpu;
use crate::base::error::Result;
use crate::file::codec::prefix_hash::{GROUP, HashGroup, prefix_hash};
use crate::fingerprint::Word;
use crate::index::tables::TablesPart;
use crate::index::tables::block::{self, Job, Searched};
use crate::index::tables::layout::{Plan, Probe, TablePlan};
use crate::index::tables::table::{
    CHECKED_TOGETHER, Decoded, FilterChecks, FilterView, Lookup, NEAR_TOGETHER, TableView,
};
use crate::query::counters::QueryStats;
use crate::query::options::Within;
use crate::query::view::View;
use crate::store::segment::Segment;

/// The probes of one query in one table of one segment.
#[derive(Debug, Clone, Copy)]
struct TableProbes<'a, F> {
    source: usize,
    table_view: TableView<'a, F>,
    /// The table's fingerprints, if they are decoded. Then lookups need no blocks.
    decoded: Option<&'a Decoded<F>>,
    /// The query's fingerprint in the table's bit order.
    query: F,
    plan: &'a Plan,
    table_plan: &'a TablePlan,
}

/// A block to search for the matches of a table. Its number is passed on with each match.
type BlockSearch<'a, F> = Job<'a, F, (&'a TableProbes<'a, F>, usize)>;

/// The tables that a query searches.
type Tables<'a, F> = ShortList<Option<TableProbes<'a, F>>, 4>;

/// Finds every matching fingerprint of the view, once per source that has it.
pub(super) fn search<F: Word>(
    view: &View<'_, F>,
    query: F,
    within: Within,
    hits: &mut Hits<F>,
    read: &mut QueryStats,
) -> Result<()> {
    let (mut tables, distance) = (Tables::new(None), view.planner.distance(within));
    read.lookups = table_probes(view, query, within, &mut tables, |source, segment| {
        scan(segment, query, distance, source, hits, read)
    })?;
    let mut queue = LookupQueue::new();
    queue.start(&tables)?;
    read.filtered = read.lookups - queue.lookups.len() as u64;
    let searched = Searched::default();
    let decoded = decode(query, distance, &mut queue, hits, &searched);
    read.blocks += searched.blocks.get();
    read.candidates += searched.candidates.get();
    decoded?;
    search_memtables(view, query, within, hits);
    Ok(())
}

/// Searches the memtables only.
pub(super) fn search_memtables<F: Word>(
    view: &View<'_, F>,
    query: F,
    within: Within,
    hits: &mut Hits<F>,
) {
    let distance = view.planner.distance(within);
    let first = view.version.segments.len();
    for (source, memtable) in (first..).zip(view.version.memtables()) {
        let entries = memtable.len();
        if entries == 0 {
            continue;
        }
        let plan = view.planner.tables().plan_in_memory(entries, distance);
        memtable.search(query, plan, distance, |fingerprint, distance| {
            hits.push(Hit::new(distance, fingerprint, source));
        });
    }
}

/// Compares the query with all of table 0, where that is predicted to cost less than probing.
#[inline(never)]
fn scan<F: Word>(
    segment: &Segment<F>,
    query: F,
    most: u32,
    source: usize,
    hits: &mut Hits<F>,
    read: &mut QueryStats,
) -> Result<()> {
    let Some(table) = segment.tables().map(TablesPart::first) else { return Ok(()) };
    read.blocks += table.blocks() as u64;
    read.candidates += table.count();
    table.visit_all(
        #[inline(always)]
        move |fingerprint| {
            let distance = fingerprint.distance(query);
            if distance <= most {
                hits.push(Hit::new(distance, fingerprint, source));
            }
        },
    )
}

/// Step 1: plans the query. Segments whose plan is a scan are passed to `alone`, with their
/// number. Returns the number of lookups.
#[inline]
fn table_probes<'a, F: Word>(
    view: &View<'a, F>,
    query: F,
    within: Within,
    tables: &mut Tables<'a, F>,
    mut alone: impl FnMut(usize, &Segment<F>) -> Result<()>,
) -> Result<u64> {
    let (planner, distance) = (view.planner.tables(), view.planner.distance(within));
    let mut lookups = 0;
    for (source, segment) in view.version.segments.iter().enumerate() {
        let plan = planner.plan(segment.meta().fingerprints, distance);
        if plan.is_scan() {
            alone(source, segment)?;
            continue;
        }
        let Some(part) = segment.tables() else { continue };
        for table_plan in plan.tables() {
            let table = &part.tables()[table_plan.number()];
            let (table_view, decoded) = (table.view(), table.decoded());
            let query = table_plan.order().apply(query);
            tables.push(Some(TableProbes { source, table_view, decoded, query, plan, table_plan }));
            lookups += table_plan.probes().len() as u64;
        }
    }
    Ok(lookups)
}

/// Step 4: decodes the blocks of the lookups, unless their tables are decoded, and keeps what
/// matches. A match that several tables accept is reported by the first of them only.
fn decode<F: Word>(
    query: F,
    distance: u32,
    queue: &mut LookupQueue<'_, F>,
    hits: &mut Hits<F>,
    searched: &Searched,
) -> Result<()> {
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            let (mut any_blocks, mut compared) = (false, 0);
            for (table, Lookup { low, high, .. }) in queue.lookups() {
                match table.decoded {
                    Some(decoded) => {
                        compared += decoded.search(
                            (*low, *high),
                            table.query,
                            distance,
                            #[inline(always)]
                            |candidate| table.report(query, None, candidate, hits),
                        );
                    }
                    None => any_blocks = true,
                }
            }
            block::count(&searched.candidates, compared as u64);
            if !any_blocks {
                return Ok(());
            }
            block::search(
                #[inline(always)]
                || queue.next(),
                distance,
                searched,
                #[inline(always)]
                |(table, block), candidate| table.report_of_block(query, block, candidate, hits),
            )
        },
    )
}

/// Lookups whose blocks are found before they are decoded: their waits for memory overlap with each
/// other and with the decoding of the lookups before them.
const AHEAD: usize = 12;

impl<'a, F: Word> TableProbes<'a, F> {
    fn probes(&self) -> &'a [Probe] {
        self.table_plan.probes()
    }

    /// Keeps a fingerprint of the table, in its bit order, that is near the query, unless an
    /// earlier table reports it. It counts bits, so it must become part of code with native
    /// instructions.
    #[inline(always)]
    fn report(&self, query: F, block: Option<u32>, candidate: F, hits: &mut Hits<F>) {
        let fingerprint = self.table_plan.order().invert(candidate);
        if self.plan.reports(self.table_plan.number(), fingerprint ^ query) {
            let block = block.filter(|_| self.table_plan.number() == 0);
            let distance = fingerprint.distance(query);
            hits.push(Hit { block, ..Hit::new(distance, fingerprint, self.source) });
        }
    }

    /// Keeps a fingerprint of a block. It stays apart from the loop that decodes, which needs all
    /// registers.
    #[inline(never)]
    fn report_of_block(&self, query: F, block: usize, candidate: F, hits: &mut Hits<F>) {
        self.report(query, u32::try_from(block).ok(), candidate, hits);
    }

    #[inline(always)]
    fn filter(&self) -> Option<FilterView<'a>> {
        self.table_view.filter(self.table_plan.filter_depth())
    }

    #[inline(always)]
    fn query_hash(&self) -> u64 {
        prefix_hash(self.query, self.table_plan.filter_depth())
    }

    #[inline(always)]
    fn start_lookup(&'a self, probe: &Probe) -> TableLookup<'a, F> {
        let (prefix, depth) = (self.query ^ probe.flips(), probe.depth.into());
        let lookup = match self.decoded {
            Some(_) => Lookup::of_prefix(prefix, depth),
            None => self.table_view.start_lookup(prefix, depth),
        };
        (self, lookup)
    }
}

/// Returns the probes that are checked together, `N` at a time, with the hashes of their flips.
#[inline(always)]
fn checked_together<'a, const N: usize>(
    probes: &'a [Probe],
    hashes: &'a [HashGroup],
) -> impl Iterator<Item = (&'a [Probe], &'a [HashGroup])> {
    probes.chunks(N).zip(hashes.chunks(N / GROUP))
}

/// A lookup, and the table that it is in.
type TableLookup<'a, F> = (&'a TableProbes<'a, F>, Lookup<F>);

/// The lookups of a query, from the filters to the blocks.
struct LookupQueue<'a, F> {
    lookups: ShortList<Option<TableLookup<'a, F>>, 8>,
    /// Number of lookups whose blocks are found.
    found: usize,
    /// By how many lookups finding blocks is ahead of decoding them.
    ahead: usize,
    /// Number of lookups whose blocks were handed out, including the current one.
    taken: usize,
    /// The lookup whose blocks are being handed out.
    current: Option<TableLookup<'a, F>>,
}

impl<'a, F: Word> LookupQueue<'a, F> {
    #[inline(always)]
    fn new() -> Self {
        Self { lookups: ShortList::new(None), found: 0, ahead: AHEAD, taken: 0, current: None }
    }

    /// Step 2: makes lookups of the probes that no filter rules out.
    fn start(&mut self, tables: &'a Tables<'a, F>) -> Result<()> {
        cpu::with_native_instructions(
            #[inline(always)]
            || self.start_here(tables),
        )
    }

    #[inline(always)]
    fn start_here(&mut self, tables: &'a Tables<'a, F>) -> Result<()> {
        let (mut any_far, mut any_cold) = (false, false);
        for table in tables.as_slice().iter().flatten() {
            any_cold |= table.table_view.table().is_cold();
            let Some(filter) = table.filter() else {
                self.look_up(table, table.probes());
                continue;
            };
            let (short, long, hashes) = table.table_plan.by_filter();
            self.look_up(table, short);
            let Some(filter) = filter.near()? else {
                any_far = true;
                continue;
            };
            let query = table.query_hash();
            for (probes, hashes) in checked_together::<NEAR_TOGETHER>(long, hashes) {
                self.look_up_passing(table, probes, filter.passing(query, hashes));
            }
        }
        if any_far {
            self.check_far_filters(tables)?;
        }
        if any_cold {
            // All reads of the disk are under way before the first is waited for.
            self.ahead = self.lookups.len();
        }
        Ok(())
    }

    /// Checks probes against the filters that are too large for a near cache.
    ///
    /// The checks of some probes are started at a time, and the checks before them are finished
    /// only then. So that many reads are on their way from memory at any time, and few enough that
    /// they are still in the nearest cache when they are needed.
    fn check_far_filters(&mut self, tables: &'a Tables<'a, F>) -> Result<()> {
        let (mut checks, mut checks_before) = (&mut FilterChecks::new(), &mut FilterChecks::new());
        let mut before = None;
        for table in tables.as_slice().iter().flatten() {
            let Some(filter) = table.filter() else { continue };
            if filter.near()?.is_some() {
                continue;
            }
            let (_, long, hashes) = table.table_plan.by_filter();
            for (probes, hashes) in checked_together::<CHECKED_TOGETHER>(long, hashes) {
                filter.start_checks(table.query_hash(), hashes, checks);
                std::mem::swap(&mut checks, &mut checks_before);
                if let Some((table, filter, probes)) = before.replace((table, filter, probes)) {
                    self.look_up_passing(table, probes, filter.passing(checks)?);
                }
            }
        }
        if let Some((table, filter, probes)) = before {
            self.look_up_passing(table, probes, filter.passing(checks_before)?);
        }
        Ok(())
    }

    #[inline(always)]
    fn look_up(&mut self, table: &'a TableProbes<'a, F>, probes: &[Probe]) {
        for probe in probes {
            self.lookups.push(Some(table.start_lookup(probe)));
        }
    }

    /// Makes lookups of the probes that a filter does not rule out.
    #[inline(always)]
    fn look_up_passing(
        &mut self,
        table: &'a TableProbes<'a, F>,
        probes: &[Probe],
        mut passing: u32,
    ) {
        while let Some(probe) = probes.get(passing.trailing_zeros() as usize) {
            self.lookups.push(Some(table.start_lookup(probe)));
            passing &= passing - 1;
        }
    }

    fn lookups(&self) -> impl Iterator<Item = &TableLookup<'a, F>> {
        self.lookups.as_slice().iter().flatten()
    }

    /// Step 3: the next block to decode, and what to look for in it.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<BlockSearch<'a, F>>> {
        loop {
            if let Some((table, lookup)) = &mut self.current
                && let Some(block) = lookup.take_block()
            {
                let Lookup { low, high, .. } = *lookup;
                let tag = (*table, block);
                let (block, query) = (table.table_view.packed(block)?, table.query);
                return Ok(Some(Job { block, query, low, high, tag }));
            }
            self.find_blocks_ahead()?;
            self.current = self.lookups.as_slice().get(self.taken).copied().flatten();
            if self.current.is_none() {
                return Ok(None);
            }
            self.taken += 1;
        }
    }

    /// Finds the blocks of the next lookup and of those that follow it, `ahead` in all.
    #[inline(always)]
    fn find_blocks_ahead(&mut self) -> Result<()> {
        let end = self.lookups.len().min(self.taken + self.ahead);
        while self.found < end {
            if let Some(Some((table, lookup))) = self.lookups.as_mut_slice().get_mut(self.found)
                && table.decoded.is_none()
            {
                table.table_view.find_blocks(lookup)?;
            }
            self.found += 1;
        }
        Ok(())
    }
}
