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
use crate::table::{Lens, Question, Target};

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
    lens: Lens<'a, F>,
    number: usize,
    /// The fingerprint asked, in the table's bit order.
    query: F,
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
    cpu::fastest(
        #[inline(always)]
        || search.segments(),
    )?;
    memtables(view, &search.queries, distance, &mut search.hits);
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
    /// The fingerprint asked, in each table's bit order.
    queries: Vec<F>,
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
                let (lens, query) = (segment.tables()[number].lens(), self.queries[number]);
                rounds.push(Round { source, lens, number, query, plan, probes });
            }
        }
        let Some(round) = rounds.first() else { return Ok(()) };
        self.shoot(round.lens.table().code(), aim(&rounds)?)
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
#[inline(always)]
fn aim<'r, F: Fingerprint>(rounds: &'r [Round<'r, F>]) -> Result<Queue<'r, F>> {
    let unfiltered = rounds.iter().filter(|round| !round.lens.table().is_filtered());
    let sure: usize = unfiltered.map(|round| round.probes.len()).sum();
    let mut targets = Vec::with_capacity(sure + LEFT_BY_FILTERS);
    let mut asked = Asked::new();
    for round in rounds {
        for probe in round.probes {
            let (prefix, depth) = (round.query ^ probe.flips, probe.depth.into());
            let Some(question) = round.lens.ask(prefix, depth) else {
                targets.push((round, round.lens.aim(prefix, depth)));
                continue;
            };
            if let Some(oldest) = asked.push((round, probe, question)) {
                settle(oldest, &mut targets)?;
            }
        }
    }
    asked.rest().try_for_each(|asked| settle(asked, &mut targets))?;
    let cold = rounds.iter().any(|round| round.lens.table().is_cold());
    // All reads of the disk are under way before the first is waited for.
    let ahead = if cold { targets.len() } else { AHEAD };
    Ok(Queue { targets, ahead, found: 0, taken: 0 })
}

/// Most look-ups of a query that filters leave, more often than not.
const LEFT_BY_FILTERS: usize = 12;

/// A probe whose prefix was put to a filter.
type AskedProbe<'a, F> = (&'a Round<'a, F>, &'a Probe<F>, Question);

/// Keeps a probe that the filter does not refuse.
#[inline(always)]
fn settle<'a, F: Fingerprint>(
    (round, probe, question): AskedProbe<'a, F>,
    targets: &mut Vec<(&'a Round<'a, F>, Target<F>)>,
) -> Result<()> {
    if round.lens.may_contain(question)? {
        let prefix = round.query ^ probe.flips;
        targets.push((round, round.lens.aim(prefix, probe.depth.into())));
    }
    Ok(())
}

/// Questions on their way from memory, the last that were asked: many, so that the waits overlap, and
/// few, so that they are still in the nearest cache.
struct Asked<'a, F> {
    questions: Vec<AskedProbe<'a, F>>,
    oldest: usize,
}

impl<'a, F: Fingerprint> Asked<'a, F> {
    const MOST: usize = 32;

    fn new() -> Self {
        Self { questions: Vec::with_capacity(Self::MOST), oldest: 0 }
    }

    /// Takes in a question, and gives back the oldest if there are many.
    #[inline(always)]
    fn push(&mut self, question: AskedProbe<'a, F>) -> Option<AskedProbe<'a, F>> {
        if self.questions.len() < Self::MOST {
            self.questions.push(question);
            return None;
        }
        let place = self.questions.get_mut(self.oldest)?;
        self.oldest = (self.oldest + 1) % Self::MOST;
        Some(std::mem::replace(place, question))
    }

    /// Those not given back, the oldest first.
    #[inline(always)]
    fn rest(self) -> impl Iterator<Item = AskedProbe<'a, F>> {
        let Self { mut questions, oldest } = self;
        questions.rotate_left(oldest);
        questions.into_iter()
    }
}

/// Look-ups whose blocks are found before they are decoded: their waits for memory overlap with each
/// other and with the decoding of those before.
const AHEAD: usize = 12;

/// The look-ups of a query on their way through the middle stage, in which their blocks are found.
struct Queue<'a, F> {
    targets: Vec<(&'a Round<'a, F>, Target<F>)>,
    /// How many are in a stage at a time.
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
                    let Target { low, high, .. } = target;
                    let (block, query) = (round.lens.packed(block)?, round.query);
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
            round.lens.find_blocks(target)?;
            *found += 1;
        }
        Ok(())
    }
}
