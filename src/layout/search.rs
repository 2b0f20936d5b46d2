//! The search for the cheapest staircase for each table.

use std::collections::HashMap;
use std::rc::Rc;

use super::Layout;
use super::components::{Assignment, Candidates, Part, around};
use super::staircase::{Staircase, Step};
use super::terms::{Leaves, Terms, Work};
use super::trie::Trie;
use crate::fingerprint::Word;

/// A query with more probes than this scans instead. The list takes 16 bytes per probe.
const MAX_PROBES: f64 = 1_048_576.0;
/// Most partial ways to share the errors out around a ring that are considered. Rings of up to six
/// parts need fewer up to distance 10. With more parts, the most even ways come first.
const SHARINGS: u32 = 4_000;

/// The search for the cheapest complete set of staircases. It is branch and bound: the best so far,
/// at first the scan, bounds what is considered.
pub(super) struct Search<'a, F> {
    layout: &'a Layout,
    candidates: &'a Candidates<'a, F>,
    terms: &'a Terms,
    distance: u8,
    /// The tables to search, with their staircases. `None` if a scan is cheapest.
    pub(super) best: Option<Vec<(usize, Staircase)>>,
    pub(super) best_work: Work,
    /// What a lookup costs in each table. Tables whose filters have the same depth share it.
    pub(super) leaves: Vec<Rc<Leaves>>,
    /// Partial ways to share the errors out that may still be considered.
    sharings: u32,
    /// Costs already computed. Tables with equal cells share them, and so do staircases that differ
    /// only at depths that no lookup reaches.
    known: HashMap<(u8, Vec<Step>), Work>,
}

/// A way to give a part its value, and a lower bound of its cost, whatever the other parts do.
struct Way {
    assignment: Assignment,
    least_ns: f64,
}

/// The parts of a ring: for each part its width and, for each value, the ways to give it that
/// value.
struct Ring {
    widths: Vec<u8>,
    ways: Vec<Vec<Vec<Way>>>,
    /// For each part, and each value that is left for it and the parts after it: a lower bound of
    /// their cost.
    floors: Vec<Vec<f64>>,
}

impl Ring {
    fn new(widths: Vec<u8>, ways: Vec<Vec<Vec<Way>>>, value: u8) -> Self {
        let mut floors = vec![vec![f64::INFINITY; usize::from(value) + 1]; ways.len() + 1];
        floors[ways.len()][0] = 0.0;
        for (part, ways) in ways.iter().enumerate().rev() {
            for left in 0..=usize::from(value) {
                let cheapest = ways.iter().map(|ways| ways.first());
                let shares = cheapest.take(left + 1).enumerate().filter_map(|(value, way)| {
                    way.map(|way| way.least_ns + floors[part + 1][left - value])
                });
                floors[part][left] = shares.fold(f64::INFINITY, f64::min);
            }
        }
        Self { widths, ways, floors }
    }
}

/// Returns what a lookup costs in each table.
pub(super) fn leaves(layout: &Layout, entries: u64, terms: &Terms) -> Vec<Rc<Leaves>> {
    let mut known: HashMap<u8, Rc<Leaves>> = HashMap::new();
    let mut of = |table| {
        let depth = layout.filter_depth(table);
        let make =
            || Rc::new(Leaves::new(terms, layout.bits(), entries, depth.into(), layout.tables()));
        known.entry(depth).or_insert_with(make).clone()
    };
    (0..layout.tables()).map(&mut of).collect()
}

impl<'a, F: Word> Search<'a, F> {
    /// Finds the cheapest staircases for these terms, for distances up to
    /// [`MAX_PLANNED_DISTANCE`](super::MAX_PLANNED_DISTANCE).
    pub(super) fn run(
        candidates: &'a Candidates<'a, F>,
        entries: u64,
        distance: u32,
        terms: &'a Terms,
    ) -> Self {
        let layout = candidates.layout;
        let mut search = Self {
            layout,
            candidates,
            terms,
            distance: u8::try_from(distance).unwrap_or(u8::MAX),
            best: None,
            best_work: terms.scan(entries),
            leaves: leaves(layout, entries, terms),
            sharings: SHARINGS,
            known: HashMap::new(),
        };
        search.consider_all();
        search
    }

    fn consider_all(&mut self) {
        let whole = Part::whole(self.layout);
        let value = self.distance + 1;
        for assignment in self.candidates.balls(&whole, value) {
            self.consider(assignment);
        }
        let ring = whole.ring(self.layout);
        let in_ring = ring.iter().flatten().map(|part| part.tables.len()).sum::<usize>();
        if let Some(parts) = ring {
            self.consider_ring(&parts);
        }
        // Otherwise, tables that do not fit the ring would never be searched.
        if in_ring < self.layout.tables() {
            for assignment in self.candidates.common(&whole, value) {
                self.consider(assignment);
            }
        }
    }

    fn consider(&mut self, assignment: Assignment) {
        let stairs = |(table, steps)| (table, self.staircase(steps, self.distance));
        let staircases: Vec<(usize, Staircase)> = assignment.into_iter().map(stairs).collect();
        let mut work = Work { ns: self.terms.costs.query_ns, ..Work::default() };
        for (table, stairs) in &staircases {
            work = work + self.cost(*table, stairs);
            if work.ns >= self.best_work.ns || work.probes > MAX_PROBES {
                return;
            }
        }
        self.best = Some(staircases);
        self.best_work = work;
    }

    fn staircase(&self, steps: Vec<Step>, most: u8) -> Staircase {
        Staircase::new(steps, self.layout.bits, most)
    }

    /// Returns the cost of all lookups in one table.
    fn cost(&mut self, table: usize, stairs: &Staircase) -> Work {
        let leaves = &self.leaves[table];
        let key = (self.layout.filter_depth(table), stairs.down_to(leaves.deepest));
        *self.known.entry(key).or_insert_with(|| Trie::new(stairs, leaves).work)
    }

    /// Considers the ways to share distance + 1 out among the parts.
    fn consider_ring(&mut self, parts: &[Part]) {
        let widths: Vec<u8> = parts.iter().map(|part| part.width(self.layout)).collect();
        let mut ways = Vec::with_capacity(parts.len());
        for (part, &width) in parts.iter().zip(&widths) {
            let most = width.min(self.distance + 1);
            ways.push((0..=most).map(|value| self.ways(part, value)).collect());
        }
        let ring = Ring::new(widths, ways, self.distance + 1);
        self.share_out(&ring, self.distance + 1, self.terms.costs.query_ns, &mut Vec::new());
    }

    fn ways(&mut self, part: &Part, value: u8) -> Vec<Way> {
        let mut ways = Vec::new();
        for assignment in self.candidates.for_part(part, value) {
            let mut least_ns = 0.0;
            for (table, steps) in &assignment {
                let stairs = self.staircase(steps.clone(), value - 1);
                least_ns += self.cost(*table, &stairs).ns;
            }
            if least_ns < self.best_work.ns {
                ways.push(Way { assignment, least_ns });
            }
        }
        ways.sort_by(|a, b| a.least_ns.total_cmp(&b.least_ns));
        ways
    }

    /// Gives values to the parts from `values.len()` on. `least_ns` is the bound for the parts
    /// before.
    fn share_out(&mut self, ring: &Ring, left: u8, least_ns: f64, values: &mut Vec<u8>) {
        let Some(ways) = ring.ways.get(values.len()) else {
            if left == 0 {
                self.consider_values(ring, values);
            }
            return;
        };
        let Some(sharings) = self.sharings.checked_sub(1) else { return };
        self.sharings = sharings;
        // Even shares come first: a good plan that is found early bounds the rest.
        let open: u32 = ring.widths[values.len()..].iter().map(|&width| u32::from(width)).sum();
        let fair = u32::from(left) * u32::from(ring.widths[values.len()]) / open;
        let mut order: Vec<u8> = (0..=left).collect();
        order.sort_by_key(|&value| fair.abs_diff(value.into()));
        for value in order {
            let cheapest = ways.get(usize::from(value)).and_then(|ways| ways.first());
            let Some(way) = cheapest else { continue };
            let (least_ns, left) = (least_ns + way.least_ns, left - value);
            let floor = ring.floors[values.len() + 1][usize::from(left)];
            if least_ns + floor < self.best_work.ns {
                values.push(value);
                self.share_out(ring, left, least_ns, values);
                values.pop();
            }
        }
    }

    /// Chooses the best way for each part on its own, now that the values are fixed.
    fn consider_values(&mut self, ring: &Ring, values: &[u8]) {
        let mut assignment = Assignment::new();
        for (part, ways) in ring.ways.iter().enumerate() {
            let mut best: Option<(f64, Assignment)> = None;
            for way in &ways[usize::from(values[part])] {
                if best.as_ref().is_some_and(|(ns, _)| *ns <= way.least_ns) {
                    break;
                }
                let (ns, of_part) = self.around_ring(ring, values, part, way);
                if best.as_ref().is_none_or(|(best_ns, _)| ns < *best_ns) {
                    best = Some((ns, of_part));
                }
            }
            assignment.extend(best.into_iter().flat_map(|(_, of_part)| of_part));
        }
        self.consider(assignment);
    }

    /// Continues the staircases of a part's tables around the ring, and returns their cost too.
    fn around_ring(
        &mut self,
        ring: &Ring,
        values: &[u8],
        part: usize,
        way: &Way,
    ) -> (f64, Assignment) {
        let mut ns = 0.0;
        let mut assignment = Assignment::with_capacity(way.assignment.len());
        for (table, steps) in &way.assignment {
            let steps = around(&ring.widths, values, part, steps.clone());
            let stairs = self.staircase(steps.clone(), self.distance);
            ns += self.cost(*table, &stairs).ns;
            assignment.push((*table, steps));
        }
        (ns, assignment)
    }
}
