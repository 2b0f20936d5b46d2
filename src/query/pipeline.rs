//! All probes of a query, of all tables and segments, stage by stage.
//!
//! Stages rather than probe after probe: each stage is a loop over independent lookups, which the
//! processor overlaps, and which may fetch ahead.

use std::sync::Arc;

use super::View;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Plan;
use crate::segment::Segment;

/// A fingerprint within the distance asked, and where it was found. Ordered as answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit<F> {
    pub(super) distance: u32,
    pub(super) fingerprint: F,
    /// Segments by number, oldest first, then memtables.
    pub(super) source: usize,
}

/// One prefix looked up in one table: everything from `low` to `high`.
struct Target<F> {
    source: usize,
    table: usize,
    low: F,
    high: F,
    /// The block where `low` would be; an estimate before it is found.
    block: usize,
}

/// Every fingerprint of the view within `distance`, once per source that has it.
pub(super) fn search<F: Fingerprint>(
    view: &View<'_, F>,
    fingerprint: F,
    distance: u32,
) -> Result<Vec<Hit<F>>> {
    let queries = view.planner.permuted(fingerprint);
    let mut search = Search { view, queries, distance, hits: Vec::new() };
    search.segments()?;
    search.memtables();
    Ok(search.hits)
}

struct Search<'a, F> {
    view: &'a View<'a, F>,
    /// The fingerprint asked, in each table's bit order.
    queries: Vec<F>,
    distance: u32,
    hits: Vec<Hit<F>>,
}

impl<F: Fingerprint> Search<'_, F> {
    fn memtables(&mut self) {
        let first = self.view.version.segments.len();
        for (source, memtable) in (first..).zip(self.view.version.memtables()) {
            let entries = memtable.len() as u64;
            if entries == 0 {
                continue;
            }
            let plan = self.view.planner.plan(entries, self.distance);
            memtable.search(&self.queries, &plan, self.distance, |fingerprint, distance| {
                self.hits.push(Hit { distance, fingerprint, source });
            });
        }
    }

    fn segments(&mut self) -> Result<()> {
        let segments = &self.view.version.segments;
        let plans: Vec<Arc<Plan<F>>> = segments
            .iter()
            .map(|s| self.view.planner.plan(s.meta().fingerprints, self.distance))
            .collect();
        let mut targets = Vec::new();
        for (source, (segment, plan)) in segments.iter().zip(&plans).enumerate() {
            if plan.is_scan() {
                self.scan(source, segment)?;
            } else {
                self.aim(source, segment, plan, &mut targets)?;
            }
        }
        self.find_blocks(&mut targets)?;
        for target in &targets {
            self.shoot(&segments[target.source], &plans[target.source], target)?;
        }
        Ok(())
    }

    /// Middle stages: where each range begins. Every stage touches what the next one reads, so that
    /// the waits for memory overlap.
    fn find_blocks(&self, targets: &mut [Target<F>]) -> Result<()> {
        let segments = &self.view.version.segments;
        let table_of = |target: &Target<F>| &segments[target.source].tables()[target.table];
        let mut touched = 0;
        for target in &mut *targets {
            target.block = table_of(target).guess(target.low);
            touched ^= table_of(target).touch_key(target.block);
        }
        for target in &mut *targets {
            target.block = table_of(target).refine(target.block, target.low)?;
            touched ^= table_of(target).touch_key(target.block);
        }
        for target in &mut *targets {
            target.block = table_of(target).find_block_near(target.block, target.low)?;
        }
        // A loop of its own: the shorter its body, the more reads are under way at a time.
        for target in &*targets {
            touched ^= table_of(target).touch_block(target.block);
        }
        std::hint::black_box(touched);
        Ok(())
    }

    /// Stage 1: the plan's probes as ranges, without those that a filter knows to be empty.
    fn aim(
        &self,
        source: usize,
        segment: &Segment<F>,
        plan: &Plan<F>,
        targets: &mut Vec<Target<F>>,
    ) -> Result<()> {
        for probe in plan.probes() {
            let table = usize::from(probe.table);
            let depth = u32::from(probe.depth);
            let mask = F::prefix_mask(depth);
            let prefix = (self.queries[table] ^ probe.flips) & mask;
            if segment.tables()[table].may_contain(prefix, depth)? {
                targets.push(Target { source, table, low: prefix, high: prefix | !mask, block: 0 });
            }
        }
        Ok(())
    }

    /// Last stage: decodes the candidates of one range and keeps those that match. A match that
    /// several tables accept is left to the first of them.
    fn shoot(&mut self, segment: &Segment<F>, plan: &Plan<F>, target: &Target<F>) -> Result<()> {
        let Target { source, table, low, high, block } = *target;
        let (query, asked) = (self.queries[table], self.queries[0]);
        let permutation = &self.view.planner.permutations()[table];
        segment.tables()[table].scan_range(block, low, high, |candidate| {
            let distance = candidate.distance(query);
            if distance <= self.distance {
                let fingerprint = permutation.invert(candidate);
                if plan.reports(table, fingerprint ^ asked) {
                    self.hits.push(Hit { distance, fingerprint, source });
                }
            }
        })
    }

    /// Reads all of table 0, where that is predicted to cost less than probing.
    fn scan(&mut self, source: usize, segment: &Segment<F>) -> Result<()> {
        let asked = self.queries[0];
        let Some(table) = segment.identity_table() else { return Ok(()) };
        table.scan(|fingerprint| {
            let distance = fingerprint.distance(asked);
            if distance <= self.distance {
                self.hits.push(Hit { distance, fingerprint, source });
            }
        })
    }
}
