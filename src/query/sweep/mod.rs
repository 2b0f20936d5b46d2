//! Many queries, table after table.
//!
//! For each table the queries are brought into its bit order and sorted. Then the table is walked
//! in parts, each a prefix and what lies below it. A probe's flips lead queries of one prefix to
//! one part, so for each probe those concerned are neighbours among the sorted queries. A part is
//! decoded once and kept in the cache while all of them look their candidates up; where they are
//! so few that this would cost more, their blocks are decoded one by one ([`sparse`]). Blocks are
//! taken in the order of the file either way.

mod region;
mod sparse;

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use super::View;
use super::near::for_each_near;
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Costs, Plan, Probe};
use crate::parallel;
use crate::segment::Segment;
use crate::table::Table;
use region::Region;

/// A fingerprint near to a query, and where it was found; ordered as ids are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Found<F> {
    pub(super) fingerprint: F,
    /// As of a [`Hit`](super::pipeline::Hit).
    pub(super) source: usize,
    /// The query's number.
    pub(super) query: u32,
}

/// Fingerprints of a region: with their directory they are to fit the second-level cache. Few in
/// tests, so that small tables have many regions.
const REGION: u64 = if cfg!(test) { 1 << 5 } else { 1 << 14 };

/// A part is not split further if so many blocks would come on a query and a probe.
const SPARSE: u64 = 16;

/// Queries and probes that a part is to have at first.
const PART: u64 = if cfg!(test) { 1 } else { 256 };

/// How a segment is searched for many queries.
enum Way {
    /// All is compared with all.
    Scan,
    /// Candidates are looked up, table after table.
    Sweep,
}

/// Whether so many queries are answered sooner together than one after another.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
pub(super) fn pays<F: Fingerprint>(view: &View<'_, F>, queries: usize, distance: u32) -> bool {
    let costs = view.planner.costs();
    let segments = &view.version.segments;
    // Of each segment is told what it takes alone.
    let further = segments.len().saturating_sub(1) as f64;
    let (mut together, mut single) = (0.0, further * (costs.segment_ns - costs.least_ns()));
    for segment in segments {
        let plan = view.planner.plan(segment.meta().fingerprints, distance);
        together += choose(costs, plan, segment, queries).1;
        single += plan.work().ns;
    }
    together < queries as f64 * single
}

/// The cheaper way, and its time.
#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn choose<F: Fingerprint>(
    costs: &Costs,
    plan: &Plan<F>,
    segment: &Segment<F>,
    queries: usize,
) -> (Way, f64) {
    let (entries, queries) = (segment.meta().fingerprints as f64, queries as f64);
    let scan = entries * (costs.sweep_entry_ns + queries * costs.sweep_compare_ns);
    let tables = plan.probes().chunk_by(|a, b| a.table == b.table).count() as f64;
    let of_table = entries * costs.sweep_entry_ns + queries * costs.sweep_query_ns;
    let lookups = queries * plan.probes().len() as f64;
    let sweep = tables * of_table + lookups * costs.sweep_lookup_ns;
    if plan.is_scan() || scan < sweep { (Way::Scan, scan) } else { (Way::Sweep, sweep) }
}

/// What the segments hold within `distance` of each query, once per segment that has it.
pub(super) fn segments<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    threads: usize,
) -> Result<Vec<Found<F>>> {
    let mut found = Vec::new();
    for (source, segment) in view.version.segments.iter().enumerate() {
        let plan = view.planner.plan(segment.meta().fingerprints, distance);
        if let (Way::Scan, _) = choose(view.planner.costs(), plan, segment, queries.len()) {
            scan(source, segment, queries, distance, &mut found)?;
            continue;
        }
        for probes in plan.probes().chunk_by(|a, b| a.table == b.table) {
            let number = probes.first().map_or(0, |probe| probe.table.into());
            let asked = sorted(queries, |query| view.planner.permutations()[number].apply(query));
            let table = &segment.tables()[number];
            let asked = &asked[..];
            let sweep = Sweep { view, source, table, number, plan, probes, asked, distance };
            found.append(&mut sweep.run(threads)?);
        }
    }
    Ok(found)
}

/// Compares all of table 0 with all queries: each fingerprint is decoded once.
fn scan<F: Fingerprint>(
    source: usize,
    segment: &Segment<F>,
    queries: &[F],
    distance: u32,
    found: &mut Vec<Found<F>>,
) -> Result<()> {
    let Some(table) = segment.identity_table() else { return Ok(()) };
    table.scan(|some| {
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for (query, &asked) in (0..).zip(queries) {
                    for_each_near(some, asked, distance, |fingerprint| {
                        found.push(Found { fingerprint, source, query });
                    });
                }
            },
        );
    })
}

/// A query in a table's bit order.
#[derive(Debug, Clone, Copy)]
struct Asked<F> {
    value: F,
    number: u32,
}

fn sorted<F: Fingerprint>(queries: &[F], order: impl Fn(F) -> F) -> Vec<Asked<F>> {
    let mut asked: Vec<Asked<F>> =
        (0..).zip(queries).map(|(number, &query)| Asked { value: order(query), number }).collect();
    asked.sort_unstable_by_key(|asked| asked.value);
    asked
}

/// One table of one segment, its probes, and the queries.
struct Sweep<'a, F> {
    view: &'a View<'a, F>,
    source: usize,
    table: &'a Table<F>,
    number: usize,
    plan: &'a Plan<F>,
    probes: &'a [Probe<F>],
    asked: &'a [Asked<F>],
    distance: u32,
}

/// What lies below a prefix of a table.
#[derive(Debug, Clone, Copy)]
struct Part<F> {
    prefix: F,
    depth: u32,
}

impl<F: Fingerprint> Part<F> {
    fn low(self) -> F {
        self.prefix
    }

    fn high(self) -> F {
        self.prefix | !F::prefix_mask(self.depth)
    }

    fn halves(self) -> [Self; 2] {
        let bit = F::ONE << (F::BITS - 1 - self.depth);
        [self.prefix, self.prefix | bit].map(|prefix| Self { prefix, depth: self.depth + 1 })
    }
}

/// The queries that a probe leads to a part.
#[derive(Debug, Clone)]
struct Lead {
    probe: usize,
    asked: Range<usize>,
}

fn pairs(leads: &[Lead]) -> u64 {
    leads.iter().map(|lead| lead.asked.len() as u64).sum()
}

impl<F: Fingerprint> Sweep<'_, F> {
    fn run(&self, threads: usize) -> Result<Vec<Found<F>>> {
        let found = Mutex::new(Vec::new());
        let depth = self.first_depth();
        parallel::for_each(
            threads,
            0..1 << depth,
            || Worker { sweep: self, region: Region::default(), found: Vec::new() },
            |worker, part: usize| {
                let prefix = if depth == 0 { 0 } else { (part as u128) << (F::BITS - depth) };
                let part = Part { prefix: F::from_u128(prefix), depth };
                let all = |probe| Lead { probe, asked: 0..self.asked.len() };
                worker.visit(part, self.narrow((0..self.probes.len()).map(all), part))?;
                found.lock().unwrap_or_else(PoisonError::into_inner).append(&mut worker.found);
                Ok(())
            },
        )?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// So deep that parts are about as large as regions, but no deeper than the queries reach.
    fn first_depth(&self) -> u32 {
        let pairs = self.asked.len() as u64 * self.probes.len() as u64;
        let parts = (self.table.count() / REGION).min(pairs / PART);
        parts.checked_ilog2().unwrap_or(0)
    }

    /// Of queries that probes lead to what `part` is in, those that they lead to `part`.
    fn narrow(&self, leads: impl Iterator<Item = Lead>, part: Part<F>) -> Vec<Lead> {
        let narrowed = leads.map(|Lead { probe, asked }| {
            let Probe { flips, depth, .. } = self.probes[probe];
            let mask = F::prefix_mask(part.depth.min(depth.into()));
            let prefix = (part.prefix ^ flips) & mask;
            let among = &self.asked[asked.clone()];
            let from = among.partition_point(|a| a.value < prefix);
            let to = from + among[from..].partition_point(|a| a.value & mask == prefix);
            Lead { probe, asked: asked.start + from..asked.start + to }
        });
        narrowed.filter(|lead| !lead.asked.is_empty()).collect()
    }

    /// Whether a near fingerprint of the table is to be reported for a query here, and as what.
    fn report(&self, asked: Asked<F>, candidate: F, found: &mut Vec<Found<F>>) {
        let order = &self.view.planner.permutations()[self.number];
        let fingerprint = order.invert(candidate);
        if self.plan.reports(self.number, fingerprint ^ order.invert(asked.value)) {
            found.push(Found { fingerprint, source: self.source, query: asked.number });
        }
    }
}

/// Takes the parts of a table, one after another.
struct Worker<'a, F> {
    sweep: &'a Sweep<'a, F>,
    region: Region<F>,
    found: Vec<Found<F>>,
}

impl<F: Fingerprint> Worker<'_, F> {
    fn visit(&mut self, part: Part<F>, leads: Vec<Lead>) -> Result<()> {
        let sweep = self.sweep;
        let pairs = pairs(&leads);
        if pairs == 0 {
            return Ok(());
        }
        let blocks = sweep.table.blocks_between(part.low(), part.high())?;
        let count = blocks.len() as u64;
        if count > self.region_blocks() && part.depth < F::BITS && pairs * SPARSE > count {
            for half in part.halves() {
                self.visit(half, sweep.narrow(leads.iter().cloned(), half))?;
            }
            return Ok(());
        }
        if self.is_sparse(pairs, count) {
            return sparse::search(sweep, &leads, part, &mut self.found);
        }
        self.region.load(sweep.table, blocks, part)?;
        self.region.search(sweep, &leads, &mut self.found);
        Ok(())
    }

    /// Blocks of a region.
    fn region_blocks(&self) -> u64 {
        let table = self.sweep.table;
        (REGION * table.blocks() as u64 / table.count().max(1)).max(1)
    }

    /// Whether blocks one by one cost less than all of them.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_sparse(&self, pairs: u64, blocks: u64) -> bool {
        let Sweep { view, table, plan, .. } = self.sweep;
        let (costs, work) = (view.planner.costs(), plan.work());
        let alone = (work.ns - costs.least_ns()) / work.probes + costs.sweep_alone_ns;
        let each = table.count() as f64 / table.blocks().max(1) as f64;
        let region = blocks as f64 * each * costs.sweep_entry_ns;
        pairs as f64 * (alone - costs.sweep_lookup_ns) < region
    }
}
