//! Plans: which tables to search, for which error patterns, with which lookups.

use std::rc::Rc;

use crate::file::codec::prefix_hash::{self, HashGroup, prefix_hash};
use crate::fingerprint::Word;
use crate::index::tables::layout::Layout;
use crate::index::tables::layout::certificate::{self, RingTable};
use crate::index::tables::layout::order::BitOrder;
use crate::index::tables::layout::probe::Probe;
use crate::index::tables::layout::search::Search;
use crate::index::tables::layout::staircase::Staircase;
use crate::index::tables::layout::terms::{Leaves, Terms, Work};
use crate::index::tables::layout::trie::{MAX_PLANNED_DISTANCE, Trie};

/// How to answer queries of one distance on tables of one size. A plan depends on nothing else, so
/// it can be kept.
///
/// Invariant: unless the plan is a scan, every error pattern of weight up to the distance is
/// accepted by the staircase of some searched table, and begins with the flips of one of that
/// table's probes.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// In the order of their numbers.
    tables: Vec<TablePlan>,
    work: Work,
}

/// How one table is searched.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct TablePlan {
    number: usize,
    order: BitOrder,
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

impl TablePlan {
    /// Makes the plan that looks up these probes.
    fn new(
        number: usize,
        order: BitOrder,
        stairs: Staircase,
        mut probes: Vec<Probe>,
        filter_depth: u8,
    ) -> Self {
        probes.sort_by_key(|probe| probe.depth >= filter_depth);
        let short = probes.partition_point(|probe| probe.depth < filter_depth);
        let filter_depth = filter_depth.into();
        let hash = |probe: &Probe| prefix_hash(probe.flips::<u64>(), filter_depth);
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
    pub(crate) fn order(&self) -> &BitOrder {
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

impl Plan {
    fn scan(entries: u64, terms: &Terms) -> Self {
        Self { tables: Vec::new(), work: terms.scan(entries) }
    }

    /// Makes the plan that searches these tables.
    fn new(
        mut staircases: Vec<(usize, Staircase)>,
        work: Work,
        leaves: &[Rc<Leaves>],
        layout: &Layout,
    ) -> Self {
        staircases.sort_by_key(|&(table, _)| table);
        let plan = |(number, stairs): (usize, Staircase)| {
            let mut probes = Vec::new();
            Trie::new(&stairs, &leaves[number]).walk(&mut probes);
            let order = layout.bit_order(number);
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
    pub(crate) fn tables(&self) -> &[TablePlan] {
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
    pub(crate) fn accepts<F: Word>(&self, table: usize, permuted_error: F) -> bool {
        let searched = self.tables.iter().find(|searched| searched.number == table);
        searched.is_some_and(|searched| searched.stairs.accepts(permuted_error))
    }

    /// Returns whether `table` is the one that reports an entry with this error (entry xor query,
    /// unpermuted, of weight up to the distance): the first searched table that accepts it. So each
    /// match is reported once. A scan reads table 0.
    pub(crate) fn reports<F: Word>(&self, table: usize, error: F) -> bool {
        if self.is_scan() {
            return table == 0;
        }
        let accepts = |t: &&TablePlan| t.stairs.accepts(t.order.apply(error));
        let first_tables = self.tables.iter().take_while(|t| t.number <= table);
        first_tables.clone().find(accepts).is_some_and(|first| first.number == table)
    }
}

impl Layout {
    /// Returns the cheapest plan that finds all entries within `distance` in tables of `entries`
    /// evenly spread fingerprints.
    ///
    /// With up to four tables this takes less than 0.1 ms at distance 3. Plans are worth keeping.
    pub(crate) fn plan_for(&self, entries: u64, distance: u32, terms: &Terms) -> Plan {
        if distance > MAX_PLANNED_DISTANCE {
            return Plan::scan(entries, terms);
        }
        let search = Search::run(self, entries, distance, terms);
        let Some(staircases) = search.best else { return Plan::scan(entries, terms) };
        let plan = Plan::new(staircases, search.best_work, &search.leaves, self);
        if self.is_proved(&plan, distance) {
            return plan;
        }
        debug_assert!(false, "{self}, distance {distance}: no proof that nothing is missed");
        Plan::scan(entries, terms)
    }

    /// Returns whether the searched tables are proved to find everything.
    fn is_proved(&self, plan: &Plan, distance: u32) -> bool {
        let tables: Vec<(usize, &Staircase)> =
            plan.tables.iter().map(|table| (table.number, &table.stairs)).collect();
        let ring = self.ring();
        let cell = |table: usize| ring.iter().position(|&other| other == Some(table));
        let of_ring = tables.iter().filter_map(|&(table, stairs)| Some((cell(table)?, stairs)));
        let of_ring: Vec<RingTable<'_>> = of_ring.collect();
        certificate::is_complete_ring(&self.cells, &of_ring, distance)
            || self
                .design
                .as_ref()
                .is_some_and(|design| certificate::is_complete_design(design, &tables, distance))
    }

    /// Returns what the plans for each of these terms are expected to do, without making the plans.
    pub(super) fn works(&self, entries: u64, distance: u32, terms: &[Terms]) -> Vec<Work> {
        debug_assert!(distance <= MAX_PLANNED_DISTANCE);
        let work = |terms| Search::run(self, entries, distance, terms).best_work;
        terms.iter().map(work).collect()
    }
}

#[cfg(test)]
pub(super) mod tests;
