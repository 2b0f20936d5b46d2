//! All probes of a query, of all tables and segments, stage by stage.
//!
//! Stages rather than probe after probe: each stage is a loop over independent look-ups, which the
//! processor overlaps, and fetches ahead what the next one reads, so that the waits for memory overlap
//! too. Blocks are decoded several at a time.

use std::sync::Arc;

use super::View;
use crate::block::lanes::{self, Job};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Plan, Probe};
use crate::segment::Segment;
use crate::table::{Table, Target};

/// A fingerprint within the distance asked, and where it was found. Ordered as answers are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hit<F> {
    pub(super) distance: u32,
    pub(super) fingerprint: F,
    /// Segments by number, oldest first, then memtables.
    pub(super) source: usize,
}

/// One table of one segment, and the probes of it.
struct Round<'a, F> {
    source: usize,
    table: &'a Table<F>,
    number: usize,
    plan: &'a Plan<F>,
    probes: &'a [Probe<F>],
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
        let mut rounds = Vec::new();
        for (source, (segment, plan)) in segments.iter().zip(&plans).enumerate() {
            if plan.is_scan() {
                self.scan(source, segment)?;
            }
            for probes in plan.probes().chunk_by(|a, b| a.table == b.table) {
                let number = probes.first().map_or(0, |probe| probe.table.into());
                let table = &segment.tables()[number];
                rounds.push(Round { source, table, number, plan, probes });
            }
        }
        let queue = self.aim(&rounds)?;
        self.shoot(queue)
    }

    /// First stage: the probes as ranges, without those that a filter knows to be empty.
    fn aim<'r>(&self, rounds: &'r [Round<'r, F>]) -> Result<Queue<'r, F>> {
        for round in rounds {
            for probe in round.probes {
                round.table.prefetch_filter(self.low(probe));
            }
        }
        let mut targets = Vec::with_capacity(rounds.iter().map(|round| round.probes.len()).sum());
        for (number, round) in rounds.iter().enumerate() {
            for probe in round.probes {
                let (low, depth) = (self.low(probe), u32::from(probe.depth));
                if round.table.may_contain(low, depth)? {
                    targets.push((number, round.table.aim(low, low | !F::prefix_mask(depth))));
                }
            }
        }
        let cold = rounds.iter().any(|round| round.table.is_cold());
        // All reads of the disk are under way before the first is waited for.
        let ahead = if cold { targets.len() } else { AHEAD };
        Ok(Queue { rounds, targets, ahead, celled: 0, found: 0, taken: 0 })
    }

    /// The least fingerprint that a probe looks for.
    #[inline]
    fn low(&self, probe: &Probe<F>) -> F {
        (self.queries[usize::from(probe.table)] ^ probe.flips) & F::prefix_mask(probe.depth.into())
    }

    /// Last stage: decodes the blocks and keeps what matches. A match that several tables accept is
    /// left to the first of them.
    fn shoot(&mut self, mut queue: Queue<'_, F>) -> Result<()> {
        let Self { view, queries, distance, hits } = self;
        let found = |round: &Round<'_, F>, candidate: F| {
            let fingerprint = view.planner.permutations()[round.number].invert(candidate);
            if round.plan.reports(round.number, fingerprint ^ queries[0]) {
                let distance = fingerprint.distance(queries[0]);
                hits.push(Hit { distance, fingerprint, source: round.source });
            }
        };
        cpu::fastest(
            #[inline(always)]
            || lanes::search(|| queue.next(queries), *distance, found),
        )
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

/// Look-ups that are in the same stage at a time: their waits for memory overlap with each other and
/// with the decoding of those before.
const AHEAD: usize = 12;

/// The look-ups of a query on their way through the middle stages, in which their cells and then
/// their blocks are found.
struct Queue<'a, F> {
    rounds: &'a [Round<'a, F>],
    /// Each with the number of its round; ascending.
    targets: Vec<(usize, Target<F>)>,
    /// How many are in a stage at a time.
    ahead: usize,
    /// So many have their cells,
    celled: usize,
    /// so many their blocks,
    found: usize,
    /// and so many were taken.
    taken: usize,
}

impl<'a, F: Fingerprint> Queue<'a, F> {
    /// The next block to decode, and what to look for in it.
    #[inline(always)]
    fn next(&mut self, queries: &[F]) -> Result<Option<Job<'a, F, &'a Round<'a, F>>>> {
        loop {
            if let Some((round, target)) = self.targets.get_mut(self.taken)
                && self.taken < self.found
            {
                if let Some(block) = target.blocks.next() {
                    let (round, Target { low, high, .. }) = (&self.rounds[*round], target);
                    let (lane, query) = (round.table.lane(block)?, queries[round.number]);
                    return Ok(Some(Job { lane, query, low: *low, high: *high, tag: round }));
                }
                self.taken += 1;
            } else if self.taken == self.targets.len() {
                return Ok(None);
            }
            self.move_up()?;
        }
    }

    /// Takes look-ups through the middle stages, up to so many ahead of those taken.
    #[inline(always)]
    fn move_up(&mut self) -> Result<()> {
        let Self { rounds, targets, ahead, celled, found, taken } = self;
        let last = targets.len();
        while *celled < last.min(*taken + 2 * *ahead) {
            let (round, target) = &mut targets[*celled];
            rounds[*round].table.find_cell(target)?;
            *celled += 1;
        }
        while *found < last.min(*taken + *ahead) {
            let (round, target) = &mut targets[*found];
            rounds[*round].table.find_blocks(target)?;
            *found += 1;
        }
        Ok(())
    }
}
