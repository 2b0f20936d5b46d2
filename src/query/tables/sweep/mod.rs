//! A batch of queries, answered in one pass over each table.
//!
//! For each table, the queries are permuted into its bit order and sorted. Then the table is
//! traversed in parts. A part is a prefix and all fingerprints that begin with it. A probe's flips
//! take all queries with one prefix to the same part, so for each probe, the queries concerned are
//! neighbours among the sorted queries. A part is decoded once and kept in the cache while all of
//! them look up their candidates ([`region`]). Where they are so few that this would cost more,
//! only the blocks that they need are decoded ([`sparse`]). Either way, blocks are read in the
//! order of the file.

mod region;
mod sparse;
mod table;

use std::sync::{Mutex, PoisonError};

use super::near::for_each_near;
use crate::base::cpu;
use crate::base::error::Result;
use crate::base::parallel;
use crate::file::paged::Sequential;
use crate::fingerprint::Word;
use crate::index::tables::TablesPart;
use crate::index::tables::layout::{Costs, Plan, Prefix};
use crate::index::tables::table::{MAX_BLOCKS_OF_VALUE, Table};
use crate::query::batch::Batch;
use crate::query::counters::QueryStats;
use crate::query::options::Within;
use crate::query::view::View;
use crate::store::segment::Segment;
use region::Region;
use table::{PermutedQuery, ProbeQueries, TableSweep};

pub(super) use table::{QueryHit, Tally};

/// Fingerprints of a region. Together with their directory they fit the second-level cache. There
/// are few in tests, so that small tables have many regions.
const REGION: u64 = if cfg!(test) { 1 << 5 } else { 1 << 14 };

/// A part is not split further if there are at least this many blocks per query and probe.
const SPARSE: u64 = 16;

/// Pairs of query and probe that each part has at first, if possible.
const PART: u64 = if cfg!(test) { 1 } else { 256 };

/// Most queries with which a thread compares all fingerprints of a scan at a time.
const SCAN_QUERIES: usize = 1024;

/// Comparisons of a scan, which take about a millisecond, after which it is checked again whether
/// the caller wants no more.
const COMPARISONS: usize = if cfg!(test) { 1 << 12 } else { 1 << 20 };

/// How a segment is searched for many queries.
enum Method {
    /// Compares every fingerprint with every query.
    Scan,
    /// Looks up candidates, table by table.
    Sweep,
}

/// Returns whether this many queries are answered faster together than one by one.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn pays<F: Word>(view: &View<'_, F>, queries: usize, within: Within) -> bool {
    let (planner, distance) = (view.planner.tables(), view.planner.distance(within));
    let costs = planner.costs();
    let segments = &view.version.segments;
    // The time of each plan is for a query of one segment alone.
    let further = segments.len().saturating_sub(1) as f64;
    let (mut together, mut single) = (0.0, further * (costs.segment_ns - costs.query_ns));
    for segment in segments {
        let plan = planner.plan(segment.meta().fingerprints, distance);
        together += choose(costs, plan, segment, queries).1;
        single += plan.work().ns;
    }
    together < queries as f64 * single
}

/// Returns the cheaper method, and its predicted time.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn choose<F: Word>(
    costs: &Costs,
    plan: &Plan,
    segment: &Segment<F>,
    queries: usize,
) -> (Method, f64) {
    let (entries, queries) = (segment.meta().fingerprints as f64, queries as f64);
    let scan = entries * (costs.sweep_entry_ns + queries * costs.sweep_compare_ns);
    let tables = plan.tables().len() as f64;
    let per_table = entries * costs.sweep_entry_ns + queries * costs.sweep_query_ns;
    let lookups = queries * plan.probe_count() as f64;
    let sweep = tables * per_table + lookups * costs.sweep_lookup_ns;
    if plan.is_scan() || scan < sweep { (Method::Scan, scan) } else { (Method::Sweep, sweep) }
}

/// Finds all fingerprints in segments that match each query, once per segment that has them. Some
/// are missing if the tally is full at the end.
pub(super) fn segments<F: Word>(
    view: &View<'_, F>,
    batch: &Batch<'_, F>,
    tally: &Tally,
) -> Result<Vec<QueryHit<F>>> {
    let &Batch { queries, within, .. } = batch;
    let (planner, distance) = (view.planner.tables(), view.planner.distance(within));
    let mut found = Vec::new();
    for (source, segment) in view.version.segments.iter().enumerate() {
        let plan = planner.plan(segment.meta().fingerprints, distance);
        if let (Method::Scan, _) = choose(planner.costs(), plan, segment, queries.len()) {
            found.append(&mut scan(view, source, segment, batch, tally)?);
            continue;
        }
        let Some(part) = segment.tables() else { continue };
        for table_plan in plan.tables() {
            let lookups = queries.len() as u64 * table_plan.probes().len() as u64;
            view.counters.add(&QueryStats { lookups, ..QueryStats::default() });
            let queries = &sorted(queries, |query| table_plan.order().apply(query))[..];
            let table = &part.tables()[table_plan.number()];
            let probes = table_plan.probes();
            let sweep = TableSweep {
                view,
                source,
                table,
                plan,
                table_plan,
                probes,
                queries,
                distance,
                tally,
            };
            found.append(&mut sweep.run(batch)?);
        }
    }
    Ok(found)
}

/// Compares all of table 0 with all queries. Each thread takes some of the queries at a time, and
/// decodes each fingerprint once for all of them.
fn scan<F: Word>(
    view: &View<'_, F>,
    source: usize,
    segment: &Segment<F>,
    batch: &Batch<'_, F>,
    tally: &Tally,
) -> Result<Vec<QueryHit<F>>> {
    let Some(table) = segment.tables().map(TablesPart::first) else { return Ok(Vec::new()) };
    let &Batch { queries, within, threads, .. } = batch;
    let distance = view.planner.distance(within);
    let share = queries.len().div_ceil(threads.max(1)).clamp(1, SCAN_QUERIES);
    let parts: Vec<(u32, &[F])> = (0..).step_by(share).zip(queries.chunks(share)).collect();
    let found = Mutex::new(Vec::new());
    parallel::for_each(threads, parts.into_iter(), Vec::new, |own, (first, queries)| {
        (batch.check)()?;
        let mut unchecked = 0;
        let mut visit = |some: &[F]| {
            unchecked += some.len() * queries.len();
            if unchecked >= COMPARISONS {
                unchecked = 0;
                (batch.check)()?;
            }
            cpu::with_native_instructions(
                #[inline(always)]
                || {
                    for (query, &value) in (first..).zip(queries) {
                        if tally.is_full() {
                            return;
                        }
                        let before = own.len();
                        for_each_near(some, value, distance, |fingerprint| {
                            own.push(QueryHit { fingerprint, source, query });
                        });
                        tally.add(own.len() - before);
                    }
                },
            );
            Ok(())
        };
        view.counters.count(|read| {
            (read.blocks, read.candidates) = (table.blocks() as u64, table.count());
            table.scan(&mut visit)
        })?;
        found.lock().unwrap_or_else(PoisonError::into_inner).append(own);
        Ok(())
    })?;
    Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
}

fn sorted<F: Word>(queries: &[F], permute: impl Fn(F) -> F) -> Vec<PermutedQuery<F>> {
    let permuted = |(number, &query)| PermutedQuery { value: permute(query), number };
    let mut permuted: Vec<PermutedQuery<F>> = (0..).zip(queries).map(permuted).collect();
    permuted.sort_unstable_by_key(|query| query.value);
    permuted
}

fn pairs(routes: &[ProbeQueries]) -> u64 {
    routes.iter().map(|route| route.queries.len() as u64).sum()
}

impl<F: Word> TableSweep<'_, F> {
    fn run(&self, batch: &Batch<'_, F>) -> Result<Vec<QueryHit<F>>> {
        let found = Mutex::new(Vec::new());
        let depth = self.first_depth();
        parallel::for_each(
            batch.threads,
            0..1 << depth,
            || Worker {
                sweep: self,
                reader: Sequential::new(self.table),
                region: Region::default(),
                found: Vec::new(),
                read: QueryStats::default(),
            },
            |worker, part: usize| {
                (batch.check)()?;
                let bits = if depth == 0 { 0 } else { (part as u128) << (F::BITS - depth) };
                let part = Prefix { bits: F::from_u128(bits), depth };
                let all = |probe| ProbeQueries { probe, queries: 0..self.queries.len() };
                let routes = self.narrow((0..self.probes.len()).map(all), part);
                self.view.counters.count(|read| {
                    let visited = worker.visit(part, routes);
                    *read = std::mem::take(&mut worker.read);
                    visited
                })?;
                found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.found);
                Ok(())
            },
        )?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// The depth at which parts are about as large as regions, or at which each still has enough
    /// pairs of query and probe, whichever is less.
    fn first_depth(&self) -> u32 {
        let pairs = self.queries.len() as u64 * self.probes.len() as u64;
        let parts = (self.table.count() / REGION).min(pairs / PART);
        parts.checked_ilog2().unwrap_or(0)
    }
}

/// Searches parts of a table, one after another.
struct Worker<'a, F: Word> {
    sweep: &'a TableSweep<'a, F>,
    /// Reads the blocks that are not in memory.
    reader: Sequential<'a, Table<F>>,
    region: Region<F>,
    found: Vec<QueryHit<F>>,
    /// What was read of the current part.
    read: QueryStats,
}

impl<F: Word> Worker<'_, F> {
    fn visit(&mut self, part: Prefix<F>, routes: Vec<ProbeQueries>) -> Result<()> {
        let sweep = self.sweep;
        let pairs = pairs(&routes);
        if pairs == 0 || sweep.tally.is_full() {
            return Ok(());
        }
        let blocks = sweep.table.blocks_between(part.low(), part.high())?;
        let count = blocks.len() as u64;
        if count > self.region_blocks() && part.depth < F::BITS && pairs * SPARSE > count {
            for half in part.halves() {
                self.visit(half, sweep.narrow(routes.iter().cloned(), half))?;
            }
            return Ok(());
        }
        if self.is_sparse(pairs, count) {
            let table = sweep.table.reader_of(&blocks, &mut self.reader)?;
            return sparse::search(sweep, table, &routes, part, &mut self.found, &mut self.read);
        }
        let table = sweep.table.reader_of(&blocks, &mut self.reader)?;
        self.read.blocks += count;
        self.read.candidates += self.region.load(table, blocks, part)? as u64;
        self.region.search(sweep, &routes, &mut self.found);
        Ok(())
    }

    /// Returns the number of blocks in a region. Splitting a part further would not always result
    /// in fewer than [`MAX_BLOCKS_OF_VALUE`].
    fn region_blocks(&self) -> u64 {
        let table = self.sweep.table;
        let blocks = REGION * table.blocks() as u64 / table.count().max(1);
        blocks.max(MAX_BLOCKS_OF_VALUE as u64)
    }

    /// Returns whether decoding only the blocks that are needed costs less than decoding all.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_sparse(&self, pairs: u64, blocks: u64) -> bool {
        let TableSweep { view, table, plan, .. } = self.sweep;
        let (costs, work) = (view.planner.tables().costs(), plan.work());
        let alone = (work.ns - costs.query_ns) / work.probes + costs.sweep_alone_ns;
        let each = table.count() as f64 / table.blocks().max(1) as f64;
        let region = blocks as f64 * each * costs.sweep_entry_ns;
        pairs as f64 * (alone - costs.sweep_lookup_ns) < region
    }
}
