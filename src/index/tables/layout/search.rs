//! The search for the cheapest staircase for each table.

use std::collections::HashMap;
use std::rc::Rc;

use super::Layout;
use super::design::Assignment;
use super::staircase::{Staircase, Step};
use super::terms::{Leaves, Terms, Work};
use super::trie::Trie;

/// A query with more probes than this scans instead. The list takes 16 bytes per probe.
const MAX_PROBES: f64 = 1_048_576.0;
/// Most partial ways to share the errors out around a ring that are considered. Rings of up to six
/// cells need fewer up to distance 10. With more cells, the most even ways come first.
const SHARINGS: u32 = 4_000;

/// The search for the cheapest complete set of staircases. It is branch and bound: the best so far,
/// at first the scan, bounds what is considered.
///
/// Each cell gets a *value*, and the values sum to k + 1. The table that begins with a cell of
/// value m allows m - 1 errors in this cell, m + m' - 1 in it and the next cell, whose value is m',
/// and so on around the ring. The table of a cell of value 0 is not searched, and a cell that no
/// table begins with has the value 0. Staircases made in this way are
/// [complete](super::certificate). The tables of a [design](super::design) have its staircases,
/// too.
///
/// For example, `half-2` has two cells. For k = 3, the values 2 and 2 are one choice: each table
/// allows 1 error in its own half, and 3 in both. An entry with errors (1, 2) is found in the first
/// table, and one with (2, 1) in the second. The values 1 and 3 are another choice: the first table
/// allows no error in its half, the second table two.
pub(super) struct Search<'a> {
    layout: &'a Layout,
    terms: &'a Terms,
    distance: u8,
    /// For each cell the table that begins with it.
    ring: Vec<Option<usize>>,
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

/// Lower bounds of what the tables cost, in nanoseconds.
struct Bounds {
    /// For each cell and each value of it: what its table costs, whatever values the others have.
    /// Infinite if that is more than the best so far.
    cells: Vec<Vec<f64>>,
    /// For each cell, and each value that is left for it and those after it: what their tables
    /// cost.
    floors: Vec<Vec<f64>>,
}

impl Bounds {
    fn new(cells: Vec<Vec<f64>>, value: u8) -> Self {
        let mut floors = vec![vec![f64::INFINITY; usize::from(value) + 1]; cells.len() + 1];
        floors[cells.len()][0] = 0.0;
        for (cell, costs) in cells.iter().enumerate().rev() {
            for left in 0..=usize::from(value) {
                let costs = costs.iter().take(left + 1).enumerate();
                let shares = costs.map(|(value, ns)| ns + floors[cell + 1][left - value]);
                floors[cell][left] = shares.fold(f64::INFINITY, f64::min);
            }
        }
        Self { cells, floors }
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

impl<'a> Search<'a> {
    /// Finds the cheapest staircases for these terms, for distances up to
    /// [`MAX_PLANNED_DISTANCE`](super::MAX_PLANNED_DISTANCE).
    pub(super) fn run(layout: &'a Layout, entries: u64, distance: u32, terms: &'a Terms) -> Self {
        let mut search = Self {
            layout,
            terms,
            distance: u8::try_from(distance).unwrap_or(u8::MAX),
            ring: layout.ring(),
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
        // All errors anywhere, in table 0 alone.
        self.consider(vec![(0, vec![Step { depth: self.layout.bits, most: self.distance }])]);
        if let Some(design) = &self.layout.design {
            design.assignments(self.distance).for_each(|assignment| self.consider(assignment));
        }
        if self.layout.tables() > 1 {
            let bounds = self.bounds();
            self.share_out(&bounds, self.distance + 1, self.terms.costs.query_ns, &mut Vec::new());
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

    fn bounds(&mut self) -> Bounds {
        let mut cells = Vec::with_capacity(self.ring.len());
        for (cell, &width) in self.layout.cells.iter().enumerate() {
            let table = self.ring[cell];
            let most = table.map_or(0, |_| width.min(self.distance + 1));
            let least_ns = |value| table.map_or(0.0, |table| self.least_ns(table, width, value));
            cells.push((0..=most).map(least_ns).collect());
        }
        Bounds::new(cells, self.distance + 1)
    }

    /// Returns a lower bound of what a table costs if its first cell has this value.
    fn least_ns(&mut self, table: usize, width: u8, value: u8) -> f64 {
        let Some(most) = value.checked_sub(1) else { return 0.0 };
        let stairs = self.staircase(vec![Step { depth: width, most }], most);
        let ns = self.cost(table, &stairs).ns;
        if ns < self.best_work.ns { ns } else { f64::INFINITY }
    }

    /// Gives values to the cells from `values.len()` on. `least_ns` is the bound for the cells
    /// before.
    fn share_out(&mut self, bounds: &Bounds, left: u8, least_ns: f64, values: &mut Vec<u8>) {
        let Some(costs) = bounds.cells.get(values.len()) else {
            if left == 0 {
                self.consider(around(&self.layout.cells, &self.ring, values));
            }
            return;
        };
        let Some(sharings) = self.sharings.checked_sub(1) else { return };
        self.sharings = sharings;
        // Even shares come first: a good plan that is found early bounds the rest.
        let widths = &self.layout.cells[values.len()..];
        let open: u32 = widths.iter().map(|&width| u32::from(width)).sum();
        let fair = u32::from(left) * u32::from(widths[0]) / open;
        let mut order: Vec<u8> = (0..=left).collect();
        order.sort_by_key(|&value| fair.abs_diff(value.into()));
        for value in order {
            let Some(ns) = costs.get(usize::from(value)) else { continue };
            let (least_ns, left) = (least_ns + ns, left - value);
            let floor = bounds.floors[values.len() + 1][usize::from(left)];
            if least_ns + floor < self.best_work.ns {
                values.push(value);
                self.share_out(bounds, left, least_ns, values);
                values.pop();
            }
        }
    }
}

/// Returns the tables to search, and their steps around the ring, for these values of its cells.
fn around(widths: &[u8], ring: &[Option<usize>], values: &[u8]) -> Assignment {
    let steps = |first: usize| -> Vec<Step> {
        let (mut depth, mut sum) = (0, 0);
        let step = |turn: usize| {
            let cell = (first + turn) % widths.len();
            depth += widths[cell];
            sum += values[cell];
            Step { depth, most: sum - 1 }
        };
        (0..widths.len()).map(step).collect()
    };
    let searched = (0..widths.len()).filter(|&cell| values[cell] > 0);
    searched.filter_map(|cell| Some((ring[cell]?, steps(cell)))).collect()
}
