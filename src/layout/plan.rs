//! The choice: which tables to ask, for which error patterns, with which lookups.

use std::rc::Rc;

use super::Layout;
use super::complete::{self, Verdict};
use super::components::{Candidates, bit_steps};
use super::cost::{Leaves, Terms, Work};
use super::order::Permutation;
use super::search::Search;
use super::staircase::Staircase;
use super::trie::{self, Trie};
use crate::fingerprint::Fingerprint;

/// Search nodes for checks of candidates, in all: some 10 ms. Rings need none; covering designs are
/// worth asking as such for few errors only, and there the checks are short.
const CANDIDATE_NODES: u32 = 60_000;
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
    work: Work,
}

#[derive(Debug, Clone)]
struct Asked<F> {
    table: u16,
    order: Permutation<F>,
    stairs: Staircase,
}

impl<F: Fingerprint> Plan<F> {
    fn scan(entries: u64, terms: &Terms) -> Self {
        Self { asked: Vec::new(), probes: Vec::new(), work: terms.scan(F::BITS, entries) }
    }

    /// The plan that asks these tables, with its list of probes.
    fn new(
        mut asks: Vec<(usize, Staircase)>,
        work: Work,
        leaves: &[Rc<Leaves>],
        orders: &[Permutation<F>],
    ) -> Self {
        asks.sort_by_key(|&(table, _)| table);
        let mut plan = Self { asked: Vec::with_capacity(asks.len()), probes: Vec::new(), work };
        for (number, stairs) in asks {
            let table = u16::try_from(number).unwrap_or(u16::MAX);
            Trie::new(&stairs, &leaves[number]).walk(table, &mut plan.probes);
            plan.asked.push(Asked { table, order: orders[number].clone(), stairs });
        }
        plan
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

    /// What a query is expected to do and take, but for its matches.
    pub(crate) fn work(&self) -> Work {
        self.work
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
    pub(crate) fn plan_for<F: Fingerprint>(
        &self,
        entries: u64,
        distance: u32,
        terms: &Terms,
    ) -> Plan<F> {
        debug_assert_eq!(F::BITS, self.bits());
        if distance > trie::MAX_DISTANCE || F::BITS != self.bits() {
            return Plan::scan(entries, terms);
        }
        let orders = self.permutations();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let search = Search::run(&candidates, entries, distance, terms);
        let Some(asks) = search.best else { return Plan::scan(entries, terms) };
        let plan = Plan::new(asks, search.best_work, &search.leaves, &orders);
        match plan.verdict(distance) {
            Verdict::Complete => plan,
            Verdict::Undecided => Plan::scan(entries, terms),
            Verdict::Hole(hole) => {
                debug_assert!(false, "{self}, distance {distance}: nothing finds {hole}");
                Plan::scan(entries, terms)
            }
        }
    }

    /// What the plans for each of these terms would be expected to do, without the plans.
    pub(super) fn works(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        match self.bits {
            64 => self.works_for::<u64>(entries, distance, terms),
            _ => self.works_for::<u128>(entries, distance, terms),
        }
    }

    fn works_for<F: Fingerprint>(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        debug_assert!(distance <= trie::MAX_DISTANCE);
        let orders = self.permutations::<F>();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let work = |terms| Search::run(&candidates, entries, distance, terms).best_work;
        terms.iter().map(work).collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
