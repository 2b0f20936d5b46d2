//! What the sweep of one table consists of: its queries, its probes and its parts.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::fingerprint::Word;
use crate::index::tables::layout::{Plan, Prefix, Probe, TablePlan};
use crate::index::tables::table::Table;
use crate::query::view::View;

/// A fingerprint that matches one query, and the source that has it. Ordered as ids are
/// read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::query) struct QueryHit<F> {
    pub(in crate::query) fingerprint: F,
    /// The source, numbered as in a [`Hit`](crate::query::pipeline::Hit).
    pub(in crate::query) source: usize,
    /// The position of the query in the batch.
    pub(in crate::query) query: u32,
}

/// A query in a table's bit order, and its position in the batch.
#[derive(Debug, Clone, Copy)]
pub(super) struct PermutedQuery<F> {
    pub(super) value: F,
    pub(super) number: u32,
}

/// The number of hits that all threads have found, and the most there may be.
#[derive(Debug)]
pub(in crate::query) struct Tally {
    hits: AtomicUsize,
    most: usize,
}

impl Tally {
    pub(in crate::query) fn new(most: usize) -> Self {
        Self { hits: AtomicUsize::new(0), most }
    }

    #[inline(always)]
    pub(in crate::query) fn add(&self, hits: usize) {
        // An atomic addition is slow, and nearly always nothing was found.
        if hits > 0 {
            self.hits.fetch_add(hits, Ordering::Relaxed);
        }
    }

    /// Returns whether there are more than there may be: the search is given up.
    #[inline(always)]
    pub(in crate::query) fn is_full(&self) -> bool {
        self.hits.load(Ordering::Relaxed) > self.most
    }
}

/// One table of one segment, its probes, and the queries.
pub(super) struct TableSweep<'a, F: Word> {
    pub(super) view: &'a View<'a, F>,
    pub(super) source: usize,
    pub(super) table: &'a Table<F>,
    pub(super) plan: &'a Plan,
    pub(super) table_plan: &'a TablePlan,
    pub(super) probes: &'a [Probe],
    /// Sorted by value.
    pub(super) queries: &'a [PermutedQuery<F>],
    pub(super) distance: u32,
    pub(super) tally: &'a Tally,
}

/// A probe, and the queries that it takes to a part: a range of the sorted queries.
#[derive(Debug, Clone)]
pub(super) struct ProbeQueries {
    pub(super) probe: usize,
    pub(super) queries: Range<usize>,
}

impl<F: Word> TableSweep<'_, F> {
    /// Narrows the queries that probes take to a part around `part` to those that they take to
    /// `part`.
    pub(super) fn narrow(
        &self,
        routes: impl Iterator<Item = ProbeQueries>,
        part: Prefix<F>,
    ) -> Vec<ProbeQueries> {
        let narrowed = routes.map(|ProbeQueries { probe, queries }| {
            let (flips, depth) = (self.probes[probe].flips::<F>(), self.probes[probe].depth);
            let mask = F::prefix_mask(part.depth.min(depth.into()));
            let prefix = (part.bits ^ flips) & mask;
            let among = &self.queries[queries.clone()];
            let from = among.partition_point(|a| a.value < prefix);
            let to = from + among[from..].partition_point(|a| a.value & mask == prefix);
            ProbeQueries { probe, queries: queries.start + from..queries.start + to }
        });
        narrowed.filter(|route| !route.queries.is_empty()).collect()
    }

    /// Reports a near fingerprint for a query, unless another table reports it.
    pub(super) fn report(
        &self,
        query: PermutedQuery<F>,
        candidate: F,
        found: &mut Vec<QueryHit<F>>,
    ) {
        let order = self.table_plan.order();
        let fingerprint = order.invert(candidate);
        if self.plan.reports(self.table_plan.number(), fingerprint ^ order.invert(query.value)) {
            found.push(QueryHit { fingerprint, source: self.source, query: query.number });
        }
    }
}
