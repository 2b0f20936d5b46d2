//! Plans: which tables to search, for which error patterns, with which lookups.

use std::rc::Rc;

use crate::codec::prefix_hash::{self, HashGroup, prefix_hash};
use crate::fingerprint::Word;
use crate::layout::Layout;
use crate::layout::certificate::{self, RingTable};
use crate::layout::complete::{self, Verdict};
use crate::layout::components::{Candidates, bit_steps};
use crate::layout::order::Permutation;
use crate::layout::probe::Probe;
use crate::layout::search::Search;
use crate::layout::staircase::Staircase;
use crate::layout::terms::{Leaves, Terms, Work};
use crate::layout::trie::{MAX_PLANNED_DISTANCE, Trie};

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
    tables: Vec<TablePlan<F>>,
    work: Work,
}

/// How one table is searched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TablePlan<F> {
    number: usize,
    order: Permutation<F>,
    stairs: Staircase,
    /// Those with too short a prefix for the table's filter come first.
    probes: Vec<Probe>,
    /// Number of leading bits that the table's filter checks.
    filter_depth: u32,
    /// Number of probes that the filter cannot rule out.
    short: usize,
    /// For each of the other probes, the [hash](prefix_hash) of its flips.
    hashes: Vec<HashGroup>,
}

impl<F: Word> TablePlan<F> {
    /// Makes the plan that looks up these probes.
    fn new(
        number: usize,
        order: Permutation<F>,
        stairs: Staircase,
        mut probes: Vec<Probe>,
        filter_depth: u8,
    ) -> Self {
        probes.sort_by_key(|probe| probe.depth >= filter_depth);
        let short = probes.partition_point(|probe| probe.depth < filter_depth);
        let filter_depth = filter_depth.into();
        let hash = |probe: &Probe| prefix_hash(probe.flips::<F>(), filter_depth);
        let hashes = prefix_hash::in_groups(probes[short..].iter().map(hash));
        Self { number, order, stairs, probes, filter_depth, short, hashes }
    }

    /// Returns the number of the table in the layout.
    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.number
    }

    /// Returns the table's bit order.
    #[inline]
    pub(crate) fn order(&self) -> &Permutation<F> {
        &self.order
    }

    /// Returns the errors for which the table is searched.
    pub(crate) fn stairs(&self) -> &Staircase {
        &self.stairs
    }

    /// Returns the lookups.
    #[inline]
    pub(crate) fn probes(&self) -> &[Probe] {
        &self.probes
    }

    /// Returns the number of leading bits that the table's filter checks, if it has a filter.
    #[inline]
    pub(crate) fn filter_depth(&self) -> u32 {
        self.filter_depth
    }

    /// Returns the lookups that no filter can rule out, because their prefixes are too short, and
    /// the others with the [hashes](prefix_hash) of their flips.
    #[inline]
    pub(crate) fn by_filter(&self) -> (&[Probe], &[Probe], &[HashGroup]) {
        let (short, long) = self.probes.split_at(self.short);
        (short, long, &self.hashes)
    }
}

impl<F: Word> Plan<F> {
    fn scan(entries: u64, terms: &Terms) -> Self {
        Self { tables: Vec::new(), work: terms.scan(entries) }
    }

    /// Makes the plan that searches these tables.
    fn new(
        mut staircases: Vec<(usize, Staircase)>,
        work: Work,
        leaves: &[Rc<Leaves>],
        orders: &[Permutation<F>],
        layout: &Layout,
    ) -> Self {
        staircases.sort_by_key(|&(table, _)| table);
        let plan = |(number, stairs): (usize, Staircase)| {
            let mut probes = Vec::new();
            Trie::new(&stairs, &leaves[number]).walk(&mut probes);
            let order = orders[number].clone();
            TablePlan::new(number, order, stairs, probes, layout.filter_depth(number))
        };
        Self { tables: staircases.into_iter().map(plan).collect(), work }
    }

    /// Returns whether reading all of table 0 is cheaper than any lookups. Such a plan searches no
    /// tables.
    #[inline]
    pub(crate) fn is_scan(&self) -> bool {
        self.tables.is_empty()
    }

    /// Returns the tables to search, ordered by number.
    #[inline]
    pub(crate) fn tables(&self) -> &[TablePlan<F>] {
        &self.tables
    }

    /// Returns the number of lookups in all tables.
    pub(crate) fn probe_count(&self) -> usize {
        self.tables.iter().map(|table| table.probes.len()).sum()
    }

    /// Returns what a query is expected to do, and the time it is expected to take, not counting
    /// its matches.
    pub(crate) fn work(&self) -> Work {
        self.work
    }

    /// Returns whether the table is searched for this error, which is in the table's bit order.
    #[cfg(test)]
    pub(crate) fn accepts(&self, table: usize, permuted_error: F) -> bool {
        let searched = self.tables.iter().find(|searched| searched.number == table);
        searched.is_some_and(|searched| searched.stairs.accepts(permuted_error))
    }

    /// Returns whether `table` is the one that reports an entry with this error (entry xor query,
    /// unpermuted, of weight up to the distance): the first searched table that accepts it. So each
    /// match is reported once. A scan reads table 0.
    pub(crate) fn reports(&self, table: usize, error: F) -> bool {
        if self.is_scan() {
            return table == 0;
        }
        let accepts = |t: &&TablePlan<F>| t.stairs.accepts(t.order.apply(error));
        let first_tables = self.tables.iter().take_while(|t| t.number <= table);
        first_tables.clone().find(accepts).is_some_and(|first| first.number == table)
    }

    /// Checks whether every pattern of `weight` errors is accepted by some table, from the bit
    /// orders that the probes use.
    fn verdict(&self, weight: u32) -> Verdict {
        let steps = |table: &TablePlan<F>| bit_steps(&table.order, table.stairs.steps());
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
    pub(crate) fn plan_for<F: Word>(&self, entries: u64, distance: u32, terms: &Terms) -> Plan<F> {
        debug_assert_eq!(F::BITS, self.bits());
        if distance > MAX_PLANNED_DISTANCE || F::BITS != self.bits() {
            return Plan::scan(entries, terms);
        }
        let orders = self.permutations();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let search = Search::run(&candidates, entries, distance, terms);
        let Some(staircases) = search.best else { return Plan::scan(entries, terms) };
        let plan = Plan::new(staircases, search.best_work, &search.leaves, &orders, self);
        if self.is_proved(&plan, distance) {
            return plan;
        }
        match plan.verdict(distance) {
            Verdict::Complete => plan,
            Verdict::Undecided => Plan::scan(entries, terms),
            Verdict::Hole(hole) => {
                debug_assert!(false, "{self}, distance {distance}: nothing finds {hole}");
                Plan::scan(entries, terms)
            }
        }
    }

    /// Returns whether the searched tables are rotations of the cells that a proof shows to find
    /// everything. For rings, that takes the place of a search that grows with the distance.
    fn is_proved<F: Word>(&self, plan: &Plan<F>, distance: u32) -> bool {
        let rotation = |number: usize| {
            let order = self.order(number);
            let first = usize::from(*order.first()?);
            let next = |turn: usize| (first + turn) % self.cells.len();
            let is_rotation = (0..).zip(order).all(|(turn, &cell)| next(turn) == usize::from(cell));
            is_rotation.then_some(first)
        };
        let tables: Option<Vec<RingTable<'_>>> =
            plan.tables.iter().map(|t| Some((rotation(t.number)?, &t.stairs))).collect();
        tables.is_some_and(|tables| certificate::is_complete(&self.cells, &tables, distance))
    }

    /// Returns what the plans for each of these terms are expected to do, without making the plans.
    pub(super) fn works(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        match self.bits {
            64 => self.works_for::<u64>(entries, distance, terms),
            _ => self.works_for::<u128>(entries, distance, terms),
        }
    }

    fn works_for<F: Word>(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        debug_assert!(distance <= MAX_PLANNED_DISTANCE);
        let orders = self.permutations::<F>();
        let candidates = Candidates::new(self, &orders, CANDIDATE_NODES);
        let work = |terms| Search::run(&candidates, entries, distance, terms).best_work;
        terms.iter().map(work).collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
