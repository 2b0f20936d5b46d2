//! The search for what to ask of each table.

use std::collections::HashMap;
use std::rc::Rc;

use super::Layout;
use super::components::{Asks, Candidates, Part, around};
use super::cost::{Leaves, Terms, Work};
use super::staircase::{Staircase, Step};
use super::trie::Trie;
use crate::fingerprint::Fingerprint;

/// A query with more lookups than this scans instead; the list has 16 or 32 bytes for each.
const MAX_PROBES: f64 = 1_048_576.0;
/// Partial ways to share the errors out round a ring that are looked at. Rings of up to six parts
/// need fewer up to distance 10; with more the fairest come first.
const SHARINGS: u32 = 4_000;

/// The search for the cheapest complete set of staircases. Branch and bound: what is at hand so
/// far, at first the scan, bounds what is looked at.
pub(super) struct Search<'a, F> {
    layout: &'a Layout,
    candidates: &'a Candidates<'a, F>,
    terms: &'a Terms,
    distance: u8,
    /// Tables to ask; none if a scan is cheapest.
    pub(super) best: Option<Vec<(usize, Staircase)>>,
    pub(super) best_work: Work,
    /// What a look-up costs in each table; tables whose filters are alike share it.
    pub(super) leaves: Vec<Rc<Leaves>>,
    /// Partial ways to share the errors out that may still be looked at.
    sharings: u32,
    /// Costs known already: tables of equal cells share them, and staircases that differ only below
    /// all look-ups.
    known: HashMap<(u8, Vec<Step>), Work>,
}

/// A way to give a part its value, and what it costs at least, whatever the other parts do.
struct Way {
    asks: Asks,
    least_ns: f64,
}

/// A ring's parts: for each, its width and, for each value, the ways to it.
struct Ring {
    widths: Vec<u8>,
    ways: Vec<Vec<Vec<Way>>>,
    /// For each part and each value that is left for it and those after it, what they cost at least.
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

/// What a look-up costs in each table.
fn leaves(layout: &Layout, entries: u64, terms: &Terms) -> Vec<Rc<Leaves>> {
    let mut known: HashMap<u8, Rc<Leaves>> = HashMap::new();
    let mut of = |table| {
        let depth = layout.filter_depth(table);
        let make =
            || Rc::new(Leaves::new(terms, layout.bits(), entries, depth.into(), layout.tables()));
        known.entry(depth).or_insert_with(make).clone()
    };
    (0..layout.tables()).map(&mut of).collect()
}

impl<'a, F: Fingerprint> Search<'a, F> {
    /// Looks for the cheapest staircases for these terms. Distances up to
    /// [`MAX_DISTANCE`](super::MAX_DISTANCE).
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
            best_work: terms.scan(F::BITS, entries),
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
        for asks in self.candidates.balls(&whole, value) {
            self.consider(asks);
        }
        let ring = whole.ring(self.layout);
        let in_ring = ring.iter().flatten().map(|part| part.tables.len()).sum::<usize>();
        if let Some(parts) = ring {
            self.consider_ring(&parts);
        }
        // Tables that do not fit the ring would not be asked otherwise.
        if in_ring < self.layout.tables() {
            for asks in self.candidates.common(&whole, value) {
                self.consider(asks);
            }
        }
    }

    fn consider(&mut self, asks: Asks) {
        let stairs = |(table, steps)| (table, self.staircase(steps, self.distance));
        let asks: Vec<(usize, Staircase)> = asks.into_iter().map(stairs).collect();
        let mut work = Work { ns: self.terms.costs.least_ns(), ..Work::default() };
        for (table, stairs) in &asks {
            work = work + self.cost(*table, stairs);
            if work.ns >= self.best_work.ns || work.probes > MAX_PROBES {
                return;
            }
        }
        self.best = Some(asks);
        self.best_work = work;
    }

    fn staircase(&self, steps: Vec<Step>, most: u8) -> Staircase {
        Staircase::new(steps, self.layout.bits, most)
    }

    /// The look-ups for one table.
    fn cost(&mut self, table: usize, stairs: &Staircase) -> Work {
        let leaves = &self.leaves[table];
        let key = (self.layout.filter_depth(table), stairs.down_to(leaves.deepest));
        *self.known.entry(key).or_insert_with(|| Trie::new(stairs, leaves).work)
    }

    /// All ways to share distance + 1 out among the parts.
    fn consider_ring(&mut self, parts: &[Part]) {
        let widths: Vec<u8> = parts.iter().map(|part| part.width(self.layout)).collect();
        let mut ways = Vec::with_capacity(parts.len());
        for (part, &width) in parts.iter().zip(&widths) {
            let most = width.min(self.distance + 1);
            ways.push((0..=most).map(|value| self.ways(part, value)).collect());
        }
        let ring = Ring::new(widths, ways, self.distance + 1);
        self.share_out(&ring, self.distance + 1, self.terms.costs.least_ns(), &mut Vec::new());
    }

    fn ways(&mut self, part: &Part, value: u8) -> Vec<Way> {
        let mut ways = Vec::new();
        for asks in self.candidates.for_part(part, value) {
            let mut least_ns = 0.0;
            for (table, steps) in &asks {
                let stairs = self.staircase(steps.clone(), value - 1);
                least_ns += self.cost(*table, &stairs).ns;
            }
            if least_ns < self.best_work.ns {
                ways.push(Way { asks, least_ns });
            }
        }
        ways.sort_by(|a, b| a.least_ns.total_cmp(&b.least_ns));
        ways
    }

    /// Gives values to the parts from `values.len()` on; `least_ns` is the bound for those before.
    fn share_out(&mut self, ring: &Ring, left: u8, least_ns: f64, values: &mut Vec<u8>) {
        let Some(ways) = ring.ways.get(values.len()) else {
            if left == 0 {
                self.consider_values(ring, values);
            }
            return;
        };
        let Some(sharings) = self.sharings.checked_sub(1) else { return };
        self.sharings = sharings;
        // Fair shares first: good plans found early bound the rest.
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

    /// With the values settled, each part's way is chosen on its own.
    fn consider_values(&mut self, ring: &Ring, values: &[u8]) {
        let mut asks = Asks::new();
        for (part, ways) in ring.ways.iter().enumerate() {
            let mut best: Option<(f64, Asks)> = None;
            for way in &ways[usize::from(values[part])] {
                if best.as_ref().is_some_and(|(ns, _)| *ns <= way.least_ns) {
                    break;
                }
                let (ns, asks) = self.go_round(ring, values, part, way);
                if best.as_ref().is_none_or(|(best_ns, _)| ns < *best_ns) {
                    best = Some((ns, asks));
                }
            }
            asks.extend(best.into_iter().flat_map(|(_, asks)| asks));
        }
        self.consider(asks);
    }

    /// The tables of a part, going on round the ring, and what they cost.
    fn go_round(&mut self, ring: &Ring, values: &[u8], part: usize, way: &Way) -> (f64, Asks) {
        let mut ns = 0.0;
        let mut asks = Asks::with_capacity(way.asks.len());
        for (table, steps) in &way.asks {
            let steps = around(&ring.widths, values, part, steps.clone());
            let stairs = self.staircase(steps.clone(), self.distance);
            ns += self.cost(*table, &stairs).ns;
            asks.push((*table, steps));
        }
        (ns, asks)
    }
}
