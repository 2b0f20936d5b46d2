//! Plans: which tables to search, for which error patterns, with which lookups.

use std::rc::Rc;

use super::Layout;
use super::complete::{self, Verdict};
use super::components::{Candidates, bit_steps};
use super::cost::{Leaves, Terms, Work};
use super::order::Permutation;
use super::probe::Probe;
use super::search::Search;
use super::staircase::Staircase;
use super::trie::{MAX_PLANNED_DISTANCE, Trie};
use crate::fingerprint::Fingerprint;

/// Search nodes for all checks of candidates together: some 10 ms. Rings need no checks. Covering
/// designs are worth their lookups for few errors only, and there the checks are short.
const CANDIDATE_NODES: u32 = 60_000;
/// Search nodes for the check of the chosen plan: some 20 ms. Only a user's own rings of a dozen
/// cells or more come near this.
const PLAN_NODES: u32 = 50_000;

/// How to answer queries of one distance on tables of one size. A plan depends on nothing else, so
/// it can be kept.
///
/// Invariant: unless the plan is a scan, every error pattern of weight up to the distance is
/// accepted by the staircase of some searched table, and begins with the flips of one of that
/// table's probes.
#[derive(Debug, Clone)]
pub(crate) struct Plan<F> {
    /// In the order of their numbers.
    tables: Vec<SearchedTable<F>>,
    probes: Vec<Probe<F>>,
    work: Work,
}

#[derive(Debug, Clone)]
struct SearchedTable<F> {
    table: u16,
    order: Permutation<F>,
    stairs: Staircase,
}

impl<F: Fingerprint> Plan<F> {
    fn scan(entries: u64, terms: &Terms) -> Self {
        Self { tables: Vec::new(), probes: Vec::new(), work: terms.scan(F::BITS, entries) }
    }

    /// Makes the plan that searches these tables, with its list of probes.
    fn new(
        mut staircases: Vec<(usize, Staircase)>,
        work: Work,
        leaves: &[Rc<Leaves>],
        orders: &[Permutation<F>],
    ) -> Self {
        staircases.sort_by_key(|&(table, _)| table);
        let mut plan =
            Self { tables: Vec::with_capacity(staircases.len()), probes: Vec::new(), work };
        for (number, stairs) in staircases {
            let table = u16::try_from(number).unwrap_or(u16::MAX);
            Trie::new(&stairs, &leaves[number]).walk(table, &mut plan.probes);
            plan.tables.push(SearchedTable { table, order: orders[number].clone(), stairs });
        }
        plan
    }

    /// Returns whether reading all of table 0 is cheaper than any lookups. Such a plan has no
    /// probes.
    pub(crate) fn is_scan(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the lookups, ordered by table.
    pub(crate) fn probes(&self) -> &[Probe<F>] {
        &self.probes
    }

    /// Returns the searched tables, in order, each with what it accepts.
    #[cfg(test)]
    pub(crate) fn staircases(&self) -> impl Iterator<Item = (usize, &Staircase)> {
        self.tables.iter().map(|table| (table.table.into(), &table.stairs))
    }

    /// Returns what a query is expected to do, and the time it is expected to take, not counting
    /// its matches.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Returns whether the table is searched for this error, which is in the table's bit order.
    #[cfg(test)]
    pub(crate) fn accepts(&self, table: usize, permuted_error: F) -> bool {
        let searched = self.tables.iter().find(|searched| usize::from(searched.table) == table);
        searched.is_some_and(|searched| searched.stairs.accepts(permuted_error))
    }

    /// Returns whether `table` is the one that reports an entry with this error (entry xor query,
    /// unpermuted, of weight up to the distance): the first searched table that accepts it. So each
    /// match is reported once. A scan reads table 0.
    pub(crate) fn reports(&self, table: usize, error: F) -> bool {
        if self.is_scan() {
            return table == 0;
        }
        let accepts = |t: &&SearchedTable<F>| t.stairs.accepts(t.order.apply(error));
        let first_tables = self.tables.iter().take_while(|t| usize::from(t.table) <= table);
        first_tables.clone().find(accepts).is_some_and(|first| usize::from(first.table) == table)
    }

    /// Checks whether every pattern of `weight` errors is accepted by some table, from the bit
    /// orders that the probes use.
    fn verdict(&self, weight: u32) -> Verdict {
        let steps = |table: &SearchedTable<F>| bit_steps(&table.order, table.stairs.steps());
        let tables: Vec<_> = self.tables.iter().map(steps).collect();
        complete::check(F::MAX.to_u128(), &tables, weight, &mut PLAN_NODES.clone())
    }
}

impl Layout {
    /// Returns the cheapest plan that finds all entries within `distance` in tables of `entries`
    /// evenly spread fingerprints. `F` must have the layout's width.
    ///
    /// For a preset this takes less than 0.1 ms with up to four tables at distance 3, up to 2 ms
    /// with more tables, and at most some 20 ms at distance 8. Plans are worth keeping.
    pub(crate) fn plan_for<F: Fingerprint>(
        &self,
        entries: u64,
        distance: u32,
        terms: &Terms,
    ) -> Plan<F> {
        debug_assert_eq!(F::BITS, self.bits());
        if distance > MAX_PLANNED_DISTANCE || F::BITS != self.bits() {
            return Plan::scan(entries, terms);
        }
        let orders = self.permutations();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let search = Search::run(&candidates, entries, distance, terms);
        let Some(staircases) = search.best else { return Plan::scan(entries, terms) };
        let plan = Plan::new(staircases, search.best_work, &search.leaves, &orders);
        match plan.verdict(distance) {
            Verdict::Complete => plan,
            Verdict::Undecided => Plan::scan(entries, terms),
            Verdict::Hole(hole) => {
                debug_assert!(false, "{self}, distance {distance}: nothing finds {hole}");
                Plan::scan(entries, terms)
            }
        }
    }

    /// Returns what the plans for each of these terms are expected to do, without making the plans.
    pub(super) fn works(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        match self.bits {
            64 => self.works_for::<u64>(entries, distance, terms),
            _ => self.works_for::<u128>(entries, distance, terms),
        }
    }

    fn works_for<F: Fingerprint>(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        debug_assert!(distance <= MAX_PLANNED_DISTANCE);
        let orders = self.permutations::<F>();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let work = |terms| Search::run(&candidates, entries, distance, terms).best_work;
        terms.iter().map(work).collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
