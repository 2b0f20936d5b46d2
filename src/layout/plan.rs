//! The choice: which tables to ask, for which error patterns, with which lookups.

use std::cell::Cell;
use std::collections::HashMap;

use super::Layout;
use super::complete::{self, Verdict};
use super::components::{Asks, Candidates, Part, around, bit_steps};
use super::order::Permutation;
use super::staircase::{Staircase, Step};
use super::trie::{self, Trie};
use crate::fingerprint::Fingerprint;

/// A query with more lookups than this scans instead; the list has 16 or 32 bytes for each.
const MAX_PROBES: f64 = 1_048_576.0;
/// Search nodes for checks of candidates, in all: some 10 ms. Rings need none; covering designs are
/// worth asking as such for few errors only, and there the checks are short.
const CANDIDATE_NODES: u32 = 60_000;
/// Partial ways to share the errors out round a ring that are looked at. Rings of up to six parts
/// need fewer up to distance 10; with more the fairest come first.
const SHARINGS: u32 = 4_000;
/// Search nodes for the check of the chosen plan: some 20 ms, which only rings of a user's own making
/// with a dozen cells and more come near.
const PLAN_NODES: u32 = 50_000;

/// One lookup: the entries whose `depth` leading bits, in the table's order, are those of the
/// query with `flips` flipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Probe<F> {
    pub(crate) table: u16,
    /// 0 to `F::BITS`.
    pub(crate) depth: u8,
    /// In the table's order, within the leading `depth` bits.
    pub(crate) flips: F,
}

/// How to answer queries of one distance on tables of one size. Depends on nothing else, so it can
/// be kept.
///
/// Invariant: unless it is a scan, every error pattern of weight up to the distance is accepted by
/// some asked table's staircase, and lies below one of that table's probes.
#[derive(Debug, Clone)]
pub(crate) struct Plan<F> {
    asked: Vec<Asked<F>>,
    probes: Vec<Probe<F>>,
    estimated_ns: f64,
}

#[derive(Debug, Clone)]
struct Asked<F> {
    table: u16,
    order: Permutation<F>,
    stairs: Staircase,
}

impl<F: Fingerprint> Plan<F> {
    fn scan(entries: u64) -> Self {
        Self { asked: Vec::new(), probes: Vec::new(), estimated_ns: scan_ns(entries) }
    }

    /// Whether reading all of table 0 is cheaper than any lookups. There are no probes then.
    pub(crate) fn is_scan(&self) -> bool {
        self.asked.is_empty()
    }

    /// The lookups, ordered by table.
    pub(crate) fn probes(&self) -> &[Probe<F>] {
        &self.probes
    }

    /// The asked tables, in order, each with what it accepts.
    #[cfg(test)]
    pub(crate) fn staircases(&self) -> impl Iterator<Item = (usize, &Staircase)> {
        self.asked.iter().map(|asked| (asked.table.into(), &asked.stairs))
    }

    /// Predicted time of a query in memory, in nanoseconds.
    pub(crate) fn estimated_ns(&self) -> f64 {
        self.estimated_ns
    }

    /// Whether the table is asked for this error, given in the table's order.
    #[cfg(test)]
    pub(crate) fn accepts(&self, table: usize, permuted_error: F) -> bool {
        let asked = self.asked.iter().find(|asked| usize::from(asked.table) == table);
        asked.is_some_and(|asked| asked.stairs.accepts(permuted_error))
    }

    /// Whether it falls to `table` to report an entry with this error (entry xor query, unpermuted,
    /// of weight up to the distance): it is the first asked table that accepts it. So each match is
    /// reported once. A scan is done on table 0.
    pub(crate) fn reports(&self, table: usize, error: F) -> bool {
        if self.is_scan() {
            return table == 0;
        }
        let accepts = |asked: &&Asked<F>| asked.stairs.accepts(asked.order.apply(error));
        let upto = self.asked.iter().take_while(|asked| usize::from(asked.table) <= table);
        upto.clone().find(accepts).is_some_and(|first| usize::from(first.table) == table)
    }

    /// Whether every pattern of `weight` errors is accepted by some table; checked on the bit
    /// orders that the probes use.
    fn verdict(&self, weight: u32) -> Verdict {
        let steps = |asked: &Asked<F>| bit_steps(&asked.order, asked.stairs.steps());
        let tables: Vec<_> = self.asked.iter().map(steps).collect();
        complete::check(F::MAX.to_u128(), &tables, weight, &mut PLAN_NODES.clone())
    }
}

impl Layout {
    /// The cheapest way to find all entries within `distance` in tables of `entries` fingerprints,
    /// spread evenly. `F` must have the layout's width.
    ///
    /// With a preset this takes under 0.1 ms for up to four tables and distance 3, up to 2 ms for the
    /// others, and at most some 20 ms at distance 8; plans are worth keeping.
    pub(crate) fn plan_for<F: Fingerprint>(&self, entries: u64, distance: u32) -> Plan<F> {
        debug_assert_eq!(F::BITS, self.bits());
        if distance > trie::MAX_DISTANCE || F::BITS != self.bits() {
            return Plan::scan(entries);
        }
        let orders: Vec<_> = (0..self.tables()).map(|table| self.permutation(table)).collect();
        let Some((asks, ns)) = Search::new(self, &orders, entries, distance).run() else {
            return Plan::scan(entries);
        };
        let plan = write_out(asks, &orders, entries, ns);
        match plan.verdict(distance) {
            Verdict::Complete => plan,
            Verdict::Undecided => Plan::scan(entries),
            Verdict::Hole(hole) => {
                debug_assert!(false, "{self}, distance {distance}: nothing finds {hole}");
                Plan::scan(entries)
            }
        }
    }
}

/// The plan with its list of probes.
fn write_out<F: Fingerprint>(
    mut asks: Vec<(usize, Staircase)>,
    orders: &[Permutation<F>],
    entries: u64,
    estimated_ns: f64,
) -> Plan<F> {
    asks.sort_by_key(|&(table, _)| table);
    let mut plan = Plan { asked: Vec::with_capacity(asks.len()), probes: Vec::new(), estimated_ns };
    for (table, stairs) in asks {
        let order = orders[table].clone();
        let table = u16::try_from(table).unwrap_or(u16::MAX);
        Trie::new(&stairs, entries).walk(table, &mut plan.probes);
        plan.asked.push(Asked { table, order, stairs });
    }
    plan
}

#[expect(clippy::cast_precision_loss, reason = "an estimate")]
fn scan_ns(entries: u64) -> f64 {
    trie::QUERY_NS + trie::SCAN_ENTRY_NS * entries as f64
}

/// The search for the cheapest complete set of staircases. Branch and bound: what is at hand so
/// far, at first the scan, bounds what is looked at.
struct Search<'a, F> {
    layout: &'a Layout,
    candidates: Candidates<'a, F>,
    entries: u64,
    distance: u8,
    best: Option<Vec<(usize, Staircase)>>,
    best_ns: f64,
    /// Partial ways to share the errors out that may still be looked at.
    sharings: u32,
    /// Costs known already: tables of equal cells share them.
    known: HashMap<Staircase, (f64, f64)>,
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
}

impl<'a, F: Fingerprint> Search<'a, F> {
    fn new(layout: &'a Layout, orders: &'a [Permutation<F>], entries: u64, distance: u32) -> Self {
        Self {
            layout,
            candidates: Candidates { layout, orders, nodes: Cell::new(CANDIDATE_NODES) },
            entries,
            distance: u8::try_from(distance).unwrap_or(u8::MAX),
            best: None,
            best_ns: scan_ns(entries),
            sharings: SHARINGS,
            known: HashMap::new(),
        }
    }

    /// The cheapest staircases and the time predicted for them; `None` if a scan is cheaper.
    fn run(mut self) -> Option<(Vec<(usize, Staircase)>, f64)> {
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
        self.best.map(|best| (best, self.best_ns))
    }

    fn consider(&mut self, asks: Asks) {
        let stairs = |(table, steps)| (table, self.staircase(steps, self.distance));
        let asks: Vec<(usize, Staircase)> = asks.into_iter().map(stairs).collect();
        let (mut ns, mut probes) = (trie::QUERY_NS, 0.0);
        for (_, stairs) in &asks {
            let cost = self.cost(stairs);
            ns += cost.0;
            probes += cost.1;
            if ns >= self.best_ns || probes > MAX_PROBES {
                return;
            }
        }
        self.best = Some(asks);
        self.best_ns = ns;
    }

    fn staircase(&self, steps: Vec<Step>, most: u8) -> Staircase {
        Staircase::new(steps, self.layout.bits, most)
    }

    /// Time and number of the lookups for one table.
    fn cost(&mut self, stairs: &Staircase) -> (f64, f64) {
        if let Some(&cost) = self.known.get(stairs) {
            return cost;
        }
        let trie = Trie::new(stairs, self.entries);
        self.known.insert(stairs.clone(), (trie.ns, trie.probes));
        (trie.ns, trie.probes)
    }

    /// All ways to share distance + 1 out among the parts.
    fn consider_ring(&mut self, parts: &[Part]) {
        let widths: Vec<u8> = parts.iter().map(|part| part.width(self.layout)).collect();
        let mut ways = Vec::with_capacity(parts.len());
        for (part, &width) in parts.iter().zip(&widths) {
            let most = width.min(self.distance + 1);
            ways.push((0..=most).map(|value| self.ways(part, value)).collect());
        }
        let ring = Ring { widths, ways };
        self.share_out(&ring, self.distance + 1, trie::QUERY_NS, &mut Vec::new());
    }

    fn ways(&mut self, part: &Part, value: u8) -> Vec<Way> {
        let mut ways = Vec::new();
        for asks in self.candidates.for_part(part, value) {
            let mut least_ns = 0.0;
            for (_, steps) in &asks {
                let stairs = self.staircase(steps.clone(), value - 1);
                least_ns += self.cost(&stairs).0;
            }
            if least_ns < self.best_ns {
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
            if least_ns + way.least_ns < self.best_ns {
                values.push(value);
                self.share_out(ring, left - value, least_ns + way.least_ns, values);
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
            ns += self.cost(&stairs).0;
            asks.push((*table, steps));
        }
        (ns, asks)
    }
}

#[cfg(test)]
pub(super) mod tests;
