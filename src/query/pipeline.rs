//! All probes of a query, of all tables and segments, stage by stage.
//!
//! Stages rather than probe after probe: each stage is a loop over independent look-ups, which the
//! processor overlaps, and fetches ahead what the next one reads, so that the waits for memory overlap
//! too. Blocks are decoded several at a time.

use super::View;
use crate::block::{self, Job};
use crate::codec::block_code::BlockCode;
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Plan, Probe};
use crate::segment::Segment;
use crate::table::{FilterCheck, Lookup, TableView};

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
    table_view: TableView<'a, F>,
    number: usize,
    /// The fingerprint asked, in the table's bit order.
    query: F,
    plan: &'a Plan<F>,
    probes: &'a [Probe<F>],
}

/// Finds every fingerprint of the view within `distance`, once per source that has it. `queries` is
/// the fingerprint in each table's bit order.
pub(super) fn search<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
) -> Result<Vec<Hit<F>>> {
    let mut search = Search { view, queries, distance, hits: Vec::new() };
    cpu::with_native_instructions(
        #[inline(always)]
        || search.segments(),
    )?;
    memtables(view, queries, distance, &mut search.hits);
    Ok(search.hits)
}

/// As [`search`], in the memtables only.
pub(super) fn search_memtables<F: Fingerprint>(
    view: &View<'_, F>,
    fingerprint: F,
    distance: u32,
) -> Vec<Hit<F>> {
    let queries = view.planner.permuted(fingerprint);
    let mut hits = Vec::new();
    memtables(view, &queries, distance, &mut hits);
    hits
}

/// The same, for the fingerprint in each table's bit order.
pub(super) fn memtables<F: Fingerprint>(
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

/// Reads all of table 0, where that is predicted to cost less than probing.
pub(super) fn scan<F: Fingerprint>(
    segment: &Segment<F>,
    asked: F,
    most: u32,
    source: usize,
    hits: &mut Vec<Hit<F>>,
) -> Result<()> {
    let Some(table) = segment.identity_table() else { return Ok(()) };
    table.visit_all(
        #[inline(always)]
        move |fingerprint| {
            let distance = fingerprint.distance(asked);
            if distance <= most {
                hits.push(Hit { distance, fingerprint, source });
            }
        },
    )
}

struct Search<'a, F> {
    view: &'a View<'a, F>,
    /// The fingerprint in each table's bit order.
    queries: &'a [F],
    distance: u32,
    hits: Vec<Hit<F>>,
}

impl<F: Fingerprint> Search<'_, F> {
    #[inline(always)]
    fn segments(&mut self) -> Result<()> {
        let segments = &self.view.version.segments;
        let mut rounds = Vec::with_capacity(segments.len() * self.queries.len());
        for (source, segment) in segments.iter().enumerate() {
            let plan = self.view.planner.plan(segment.meta().fingerprints, self.distance);
            if plan.is_scan() {
                scan(segment, self.queries[0], self.distance, source, &mut self.hits)?;
            }
            for probes in plan.probes().chunk_by(|a, b| a.table == b.table) {
                let number = probes.first().map_or(0, |probe| probe.table.into());
                let (table_view, query) = (segment.tables()[number].view(), self.queries[number]);
                rounds.push(Round { source, table_view, number, query, plan, probes });
            }
        }
        let Some(round) = rounds.first() else { return Ok(()) };
        self.shoot(round.table_view.table().code(), aim(&rounds)?)
    }

    /// Last stage: decodes the blocks and keeps what matches. A match that several tables accept is
    /// left to the first of them.
    #[inline(always)]
    fn shoot(&mut self, code: BlockCode, mut queue: Queue<'_, F>) -> Result<()> {
        let Self { view, queries, distance, hits } = self;
        let found = |round: &Round<'_, F>, candidate: F| {
            let fingerprint = view.planner.permutations()[round.number].invert(candidate);
            if round.plan.reports(round.number, fingerprint ^ queries[0]) {
                let distance = fingerprint.distance(queries[0]);
                hits.push(Hit { distance, fingerprint, source: round.source });
            }
        };
        block::search(
            code,
            #[inline(always)]
            || queue.next(),
            *distance,
            found,
        )
    }
}

/// First stages: the probes as ranges, without those that a filter knows to be empty.
///
/// Questions are put to filters some at a time, and those before are read only then: so many are on
/// their way from memory at a time, and few enough that they are still in the nearest cache.
#[inline(always)]
fn aim<'r, F: Fingerprint>(rounds: &'r [Round<'r, F>]) -> Result<Queue<'r, F>> {
    let unfiltered = rounds.iter().filter(|round| !round.table_view.table().is_filtered());
    let sure: usize = unfiltered.map(|round| round.probes.len()).sum();
    let mut targets = Vec::with_capacity(sure + LEFT_BY_FILTERS);
    let (mut now, mut before) = (&mut [None; ASKED], &mut [None; ASKED]);
    let mut asked_before = None;
    for round in rounds {
        if !round.table_view.table().is_filtered() {
            targets.extend(round.probes.iter().map(|probe| round.aim(probe)));
            continue;
        }
        for probes in round.probes.chunks(ASKED) {
            now.iter_mut().zip(probes).for_each(|(question, probe)| *question = round.ask(probe));
            if let Some((round, probes)) = asked_before.replace((round, probes)) {
                settle(round, probes, before, &mut targets)?;
            }
            std::mem::swap(&mut now, &mut before);
        }
    }
    if let Some((round, probes)) = asked_before {
        settle(round, probes, before, &mut targets)?;
    }
    let cold = rounds.iter().any(|round| round.table_view.table().is_cold());
    // All reads of the disk are under way before the first is waited for.
    let ahead = if cold { targets.len() } else { AHEAD };
    Ok(Queue { targets, ahead, found: 0, taken: 0 })
}

/// Most look-ups of a query that filters leave, more often than not.
const LEFT_BY_FILTERS: usize = 12;

/// Questions that are put to a filter at a time.
const ASKED: usize = 32;

impl<F: Fingerprint> Round<'_, F> {
    #[inline(always)]
    fn ask(&self, probe: &Probe<F>) -> Option<FilterCheck> {
        self.table_view.start_filter_check(self.query ^ probe.flips, probe.depth.into())
    }

    #[inline(always)]
    fn aim(&self, probe: &Probe<F>) -> Aimed<'_, F> {
        (self, self.table_view.start_lookup(self.query ^ probe.flips, probe.depth.into()))
    }
}

/// A look-up, and of which round it is.
type Aimed<'r, F> = (&'r Round<'r, F>, Lookup<F>);

/// Keeps the probes that the filter does not refuse.
#[inline(always)]
fn settle<'r, F: Fingerprint>(
    round: &'r Round<'r, F>,
    probes: &[Probe<F>],
    questions: &[Option<FilterCheck>],
    targets: &mut Vec<Aimed<'r, F>>,
) -> Result<()> {
    for (probe, question) in probes.iter().zip(questions) {
        if let Some(question) = *question
            && !round.table_view.may_contain(question)?
        {
            continue;
        }
        targets.push(round.aim(probe));
    }
    Ok(())
}

/// Look-ups whose blocks are found before they are decoded: their waits for memory overlap with each
/// other and with the decoding of those before.
const AHEAD: usize = 12;

/// The look-ups of a query on their way through the middle stage, in which their blocks are found.
struct Queue<'a, F> {
    targets: Vec<Aimed<'a, F>>,
    /// How many have their blocks before they are taken.
    ahead: usize,
    /// So many have their blocks,
    found: usize,
    /// and so many were taken.
    taken: usize,
}

impl<'a, F: Fingerprint> Queue<'a, F> {
    /// The next block to decode, and what to look for in it.
    #[inline(always)]
    fn next(&mut self) -> Result<Option<Job<'a, F, &'a Round<'a, F>>>> {
        loop {
            if let Some((round, target)) = self.targets.get_mut(self.taken)
                && self.taken < self.found
            {
                if let Some(block) = target.blocks.next() {
                    let Lookup { low, high, .. } = target;
                    let (block, query) = (round.table_view.packed(block)?, round.query);
                    return Ok(Some(Job { block, query, low: *low, high: *high, tag: round }));
                }
                self.taken += 1;
            } else if self.taken == self.targets.len() {
                return Ok(None);
            }
            self.move_up()?;
        }
    }

    /// Takes look-ups through the middle stage, up to so many ahead of those taken.
    #[inline(always)]
    fn move_up(&mut self) -> Result<()> {
        let Self { targets, ahead, found, taken } = self;
        while *found < targets.len().min(*taken + *ahead) {
            let (round, target) = &mut targets[*found];
            round.table_view.find_blocks(target)?;
            *found += 1;
        }
        Ok(())
    }
}
