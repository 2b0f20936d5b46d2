//! What a query did, step by step and counted: the same steps as in [`pipeline`](super::pipeline),
//! each taken by all look-ups before the next begins, so that they can be timed apart.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::pipeline::{Hit, scan};
use super::{QueryOptions, View};
use crate::block::{self, Job};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Plan;
use crate::segment::Segment;
use crate::table::Lookup;

/// What a query did and how long each step took. Made by
/// [`Snapshot::explain`](crate::Snapshot::explain).
///
/// Steps are timed one after another; a query overlaps them, so [`total`](Self::total) is less than
/// their sum where much is to be done.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct Explain {
    /// Of each segment, the oldest first.
    pub segments: Vec<SegmentExplain>,
    /// Entries in memory that were not yet written as a segment.
    pub recent: u64,
    /// Matches, as many as options allow.
    pub matches: usize,
    /// Making or finding the plans.
    pub plan: Duration,
    /// Computing the probes and asking the filters.
    pub aim: Duration,
    /// Finding the blocks.
    pub find: Duration,
    /// Decoding and comparing, or scanning.
    pub decode: Duration,
    /// Looking through the recent entries.
    pub memory: Duration,
    /// Sorting the matches and reading their ids.
    pub ids: Duration,
    /// The same query answered once more, as ever.
    pub total: Duration,
}

/// What a query did in one segment.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct SegmentExplain {
    /// The segment's number.
    pub id: u64,
    /// Different fingerprints in it.
    pub fingerprints: u64,
    /// Whether all of it was read, because no plan is predicted to be cheaper.
    pub scanned: bool,
    /// Tables asked.
    pub tables: usize,
    /// Prefixes looked for.
    pub probes: usize,
    /// Of these, asked of a filter first.
    pub questions: usize,
    /// Of these, refused by it.
    pub refused: usize,
    /// Blocks that the others led to.
    pub blocks: usize,
    /// Fingerprints decoded and compared.
    pub candidates: u64,
    /// Fingerprints found within the distance.
    pub found: usize,
    /// What the plan expected to decode, on evenly spread data.
    pub expected_candidates: f64,
    /// And how long it expected a query of this segment alone to take, without matches.
    pub expected: Duration,
}

impl SegmentExplain {
    fn of<F: Fingerprint>(segment: &Segment<F>, plan: &Plan<F>) -> Self {
        let (meta, work) = (segment.meta(), plan.work());
        Self {
            id: meta.id,
            fingerprints: meta.fingerprints,
            scanned: plan.is_scan(),
            tables: plan.probes().chunk_by(|a, b| a.table == b.table).count(),
            probes: plan.probes().len(),
            candidates: if plan.is_scan() { meta.fingerprints } else { 0 },
            expected_candidates: work.entries,
            expected: Duration::try_from_secs_f64(work.ns / 1e9).unwrap_or(Duration::MAX),
            ..Self::default()
        }
    }
}

/// A look-up: the number of its segment and of its table, and where it is.
type LookUp<F> = (usize, usize, Lookup<F>);

/// The time since the last call.
fn lap(clock: &mut Instant) -> Duration {
    let now = Instant::now();
    now - std::mem::replace(clock, now)
}

impl<F: Fingerprint> View<'_, F> {
    /// What a query does, and how long it takes.
    pub(crate) fn explain(&self, fingerprint: F, options: QueryOptions) -> Result<Explain> {
        let queries = self.planner.permuted(fingerprint);
        let segments = &self.version.segments;
        let mut told = Explain::default();
        let mut clock = Instant::now();
        let plan_of =
            |s: &Arc<Segment<F>>| self.planner.plan(s.meta().fingerprints, options.distance);
        let plans: Vec<&Plan<F>> = segments.iter().map(plan_of).collect();
        told.plan = lap(&mut clock);
        told.segments =
            segments.iter().zip(&plans).map(|(s, p)| SegmentExplain::of(s, p)).collect();

        let mut look_ups = self.aim_counted(&queries, &plans, &mut told.segments)?;
        told.aim = lap(&mut clock);
        self.find(&mut look_ups)?;
        told.find = lap(&mut clock);
        let mut hits = self.decode(&queries, options.distance, &plans, &look_ups)?;
        told.decode = lap(&mut clock);
        self.count(&look_ups, &hits, &mut told.segments)?;

        clock = Instant::now();
        super::pipeline::memtables(self, &queries, options.distance, &mut hits);
        told.memory = lap(&mut clock);
        told.recent = self.version.memtables().map(|m| m.len() as u64).sum();
        let _ = self.matches(hits, options.limit.unwrap_or(usize::MAX))?;
        told.ids = lap(&mut clock);
        told.matches = self.query(fingerprint, options)?.len();
        told.total = lap(&mut clock);
        Ok(told)
    }

    fn aim_counted(
        &self,
        queries: &[F],
        plans: &[&Plan<F>],
        told: &mut [SegmentExplain],
    ) -> Result<Vec<LookUp<F>>> {
        let mut look_ups = Vec::new();
        let segments = self.version.segments.iter().zip(plans).zip(told);
        for (source, ((segment, plan), told)) in segments.enumerate() {
            for probe in plan.probes() {
                let (number, depth) = (usize::from(probe.table), u32::from(probe.depth));
                let table = segment.tables()[number].view();
                let prefix = queries[number] ^ probe.flips;
                if let Some(question) = table.start_filter_check(prefix, depth) {
                    told.questions += 1;
                    if !table.may_contain(question)? {
                        told.refused += 1;
                        continue;
                    }
                }
                look_ups.push((source, number, table.start_lookup(prefix, depth)));
            }
        }
        Ok(look_ups)
    }

    fn find(&self, look_ups: &mut [LookUp<F>]) -> Result<()> {
        let segments = &self.version.segments;
        for (source, table, target) in look_ups {
            segments[*source].tables()[*table].view().find_blocks(target)?;
        }
        Ok(())
    }

    fn decode(
        &self,
        queries: &[F],
        distance: u32,
        plans: &[&Plan<F>],
        look_ups: &[LookUp<F>],
    ) -> Result<Vec<Hit<F>>> {
        let segments = &self.version.segments;
        let mut hits = Vec::new();
        for (source, (segment, _)) in
            segments.iter().zip(plans).enumerate().filter(|(_, (_, plan))| plan.is_scan())
        {
            scan(segment, queries[0], distance, source, &mut hits)?;
        }
        let Some(segment) = segments.first() else { return Ok(hits) };
        let code = segment.tables()[0].code();
        let mut blocks = look_ups
            .iter()
            .flat_map(|look_up| look_up.2.blocks.clone().map(move |block| (look_up, block)));
        let next = || {
            let Some(((source, table, target), block)) = blocks.next() else { return Ok(None) };
            let block = segments[*source].tables()[*table].packed(block)?;
            let (query, low, high) = (queries[*table], target.low, target.high);
            Ok(Some(Job { block, query, low, high, tag: (*source, *table) }))
        };
        let found = |(source, table): (usize, usize), candidate: F| {
            let fingerprint = self.planner.permutations()[table].invert(candidate);
            if plans[source].reports(table, fingerprint ^ queries[0]) {
                let distance = fingerprint.distance(queries[0]);
                hits.push(Hit { distance, fingerprint, source });
            }
        };
        cpu::with_native_instructions(
            #[inline(always)]
            || block::search(code, next, distance, found),
        )?;
        Ok(hits)
    }

    fn count(
        &self,
        look_ups: &[LookUp<F>],
        hits: &[Hit<F>],
        told: &mut [SegmentExplain],
    ) -> Result<()> {
        for (source, number, target) in look_ups {
            let table = &self.version.segments[*source].tables()[*number];
            for block in target.blocks.clone() {
                told[*source].blocks += 1;
                told[*source].candidates +=
                    table.count_candidates(block, target.low, target.high)? as u64;
            }
        }
        for hit in hits {
            told[hit.source].found += 1;
        }
        Ok(())
    }
}
