//! The search of a table, region by region.

use std::collections::BTreeMap;
use std::ops::Range;
use std::rc::Rc;

use super::errors;
use super::leaf::{GROUP, Leaf, Near};
use super::rows::Rows;
use crate::base::error::Result;
use crate::fingerprint::Word;
use crate::index::tables::layout::{BitOrder, Prefix, Staircase};
use crate::query::tables::planner::{PAIR_ENTRY_NS, PAIR_LOOKUP_NS};
use crate::query::{View, Within};

/// Fingerprints of a leaf. With their directory they fit in the second-level cache. There are few
/// in tests, so that small tables have many leaves.
const LEAF: usize = if cfg!(test) { 1 << 5 } else { 1 << 14 };

/// A leaf of fewer fingerprints is not divided, however crowded it is.
const SMALL_LEAF: usize = if cfg!(test) { 1 << 3 } else { 1 << 6 };

/// A leaf is divided if that takes less than this share of the time. The estimate assumes evenly
/// spread fingerprints.
const WORTH_DIVIDING: f64 = 0.8;

/// Time to find a range of a part for a leaf, in nanoseconds: an estimate.
const DESCENT_NS: f64 = 100.0;

/// Fingerprints that are looked up before what is near them is reported, so that a crowd does not
/// take much memory: each may be near all fingerprints of the leaf.
const LOOKED_UP: usize = 64;

/// If nothing is found, an empty list is passed on after this many groups, so that the caller can
/// end the search.
const MAX_SILENT: usize = 256;

/// Pairs that are passed on at a time.
const PAIRS: usize = 1 << 14;

/// Memory per row of a part, in fingerprints: the row, its share of the directory, and a copy while
/// the rows of several tables are sorted.
const MEMORY_PER_ROW: usize = 3;

/// Fewest rows of a part. Below that, parts of a uniform table would be smaller than leaves.
const MIN_PART: u64 = if cfg!(test) { 1 << 6 } else { 1 << 16 };

/// Most rows of a part: positions in it are 32-bit numbers.
const MAX_PART: u64 = 1 << 28;

/// Parts per thread and table, so that no thread waits for another at the end.
const PARTS_PER_THREAD: u64 = 8;

/// Receives pairs of fingerprints, the lower one first, and their distance; or none from time to
/// time, so that it can end the search by an error. Any thread may call it.
pub(crate) type Report<'a, F> = &'a (dyn Fn(&[(F, F, u32)]) -> Result<()> + Sync);

/// The search for all pairs of a view.
#[derive(Debug)]
pub(crate) struct PairSearch<'a, F> {
    distance: u32,
    /// Fingerprints per table, at most.
    total: u64,
    tables: Vec<SearchedTable<'a, F>>,
}

/// A part of a table. A search of it finds the pairs whose higher fingerprint, in the table's bit
/// order, is in this part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Region<F> {
    /// The position of the table among those searched.
    pub(crate) table: usize,
    pub(crate) prefix: Prefix<F>,
}

#[derive(Debug)]
struct SearchedTable<'a, F> {
    order: &'a BitOrder,
    stairs: Staircase,
    rows: Rows<'a, F>,
    parts: Vec<Prefix<F>>,
    /// How many error patterns the staircase allows in each number of leading bits.
    patterns: Vec<f64>,
}

impl<'a, F: Word> PairSearch<'a, F> {
    /// Prepares the search. `recent` are the fingerprints of memtables, and `gone` those in
    /// segments that have no live entry. Takes up to `memory` bytes for all threads together.
    pub(crate) fn new(
        view: &View<'a, F>,
        within: Within,
        recent: &[F],
        gone: &[F],
        memory: u64,
        threads: usize,
    ) -> Result<Self> {
        let in_segments: u64 = view.version.segments.iter().map(|s| s.meta().fingerprints).sum();
        let total = in_segments + recent.len() as u64;
        let distance = view.planner.distance(within);
        let plan = view.planner.tables().plan_of_pairs(total, distance);
        let searched = plan.tables().iter().map(|t| (t.number(), t.stairs().clone()));
        let mut searched: Vec<(usize, Staircase)> = searched.collect();
        if searched.is_empty() {
            // No table has fewer candidates than another.
            let most = u8::try_from(distance.min(F::BITS)).unwrap_or(u8::MAX);
            let bits = u8::try_from(F::BITS).unwrap_or(u8::MAX);
            searched.push((0, Staircase::new(Vec::new(), bits, most)));
        }
        let most = most_rows::<F>(total, memory, threads);
        let table = |(number, stairs): (usize, Staircase)| {
            let order = &view.planner.tables().bit_orders()[number];
            let rows = Rows::new(view.version, number, order, recent, gone);
            let counts = errors::counts(&stairs, F::BITS);
            let patterns = counts.iter().map(|counts| counts.iter().sum()).collect();
            let mut parts = Vec::new();
            divide(&rows, Prefix::ALL, most.max(rows.least_known()), &mut parts)?;
            Ok(SearchedTable { order, stairs, rows, parts, patterns })
        };
        let tables = searched.into_iter().map(table).collect::<Result<_>>()?;
        Ok(Self { distance, total, tables })
    }

    /// Returns the number of rows in all tables that are searched, at most.
    pub(crate) fn rows(&self) -> u64 {
        self.total * self.tables.len() as u64
    }

    /// Returns all regions in the order in which they are searched.
    pub(crate) fn regions(&self) -> impl Iterator<Item = Region<F>> {
        (0..).zip(&self.tables).flat_map(|(table, searched)| {
            searched.parts.iter().map(move |&prefix| Region { table, prefix })
        })
    }

    /// Searches one region. Returns the number of fingerprints in it.
    pub(crate) fn search(&self, region: Region<F>, report: Report<'_, F>) -> Result<u64> {
        let table = &self.tables[region.table];
        let mut readers = table.rows.readers();
        let (mut own, mut others) = (Vec::new(), Vec::new());
        table.rows.load(region.prefix, &mut readers, &mut own)?;
        let own_len = own.len();
        own.extend([F::ZERO; GROUP]);
        let leaves = table.leaves(&own, 0..own_len, region.prefix);
        let mut worker = Worker::new(self, region.table, report);
        for &part in table.parts.iter().take_while(|part| part.low() <= region.prefix.low()) {
            if !table.may_have_pairs(part, region.prefix) {
                continue;
            }
            let is_own = part == region.prefix;
            if !is_own {
                table.rows.load(part, &mut readers, &mut others)?;
            }
            let others = if is_own { &own[..own_len] } else { &others };
            for leaf in &leaves {
                worker.own = &own;
                worker.descend(leaf, others, Path { depth: 0, errors: 0, is_same: true })?;
            }
        }
        worker.pass_on(0)?;
        Ok(own_len as u64)
    }

    /// Returns whether this table is the one that reports a pair with this error (unpermuted): the
    /// first that accepts it.
    #[inline]
    fn reports(&self, table: usize, error: F) -> bool {
        let accepts = |table: &SearchedTable<'_, F>| table.stairs.accepts(table.order.apply(error));
        accepts(&self.tables[table]) && !self.tables[..table].iter().any(accepts)
    }
}

/// Returns how many rows a part has at most. Each thread has two parts in memory.
fn most_rows<F: Word>(total: u64, memory: u64, threads: usize) -> u64 {
    let bytes = (F::BYTES * MEMORY_PER_ROW) as u64;
    let threads = threads as u64;
    let in_memory = memory / threads / 2 / bytes;
    let balanced = (total / (threads * PARTS_PER_THREAD)).max(MIN_PART);
    in_memory.min(balanced).clamp(GROUP as u64, MAX_PART)
}

/// Divides a prefix into parts of at most `most` rows, and appends them.
fn divide<F: Word>(
    rows: &Rows<'_, F>,
    prefix: Prefix<F>,
    most: u64,
    parts: &mut Vec<Prefix<F>>,
) -> Result<()> {
    if rows.most(prefix)? <= most || prefix.depth >= F::BITS {
        parts.push(prefix);
        return Ok(());
    }
    prefix.halves().into_iter().try_for_each(|half| divide(rows, half, most, parts))
}

impl<F: Word> SearchedTable<'_, F> {
    /// Returns whether the staircase allows what fingerprints of these parts differ in.
    fn may_have_pairs(&self, a: Prefix<F>, b: Prefix<F>) -> bool {
        let mask = F::prefix_mask(a.depth.min(b.depth));
        self.stairs.accepts((a.bits ^ b.bits) & mask)
    }

    /// Divides rows of a part into leaves. `all` are the rows of the part, and [`GROUP`] others.
    fn leaves(&self, all: &[F], rows: Range<usize>, prefix: Prefix<F>) -> Vec<Leaf<F>> {
        let mut leaves = Vec::new();
        self.divide(all, rows, prefix, &mut leaves);
        leaves
    }

    fn divide(&self, all: &[F], rows: Range<usize>, prefix: Prefix<F>, leaves: &mut Vec<Leaf<F>>) {
        if rows.is_empty() {
            return;
        }
        if rows.len() <= LEAF || prefix.depth == F::BITS {
            let bits = self.bits_of_cells(rows.len(), prefix.depth);
            let leaf = Leaf::new(all, rows.clone(), prefix, bits);
            if !self.is_too_crowded(&leaf) {
                leaves.push(leaf);
                return;
            }
        }
        let [zero, one] = prefix.halves();
        let middle = rows.start + all[rows.clone()].partition_point(|&row| row < one.low());
        self.divide(all, rows.start..middle, zero, leaves);
        self.divide(all, middle..rows.end, one, leaves);
    }

    /// Returns the time of all lookups of a fingerprint in leaves that reach down to `depth`.
    fn lookup_ns(&self, depth: u32, crowding: f64) -> f64 {
        self.patterns[depth as usize] * (PAIR_LOOKUP_NS + PAIR_ENTRY_NS * crowding)
    }

    /// Returns the number of bits for which lookups take the least time, if the fingerprints of the
    /// leaf are evenly spread.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn bits_of_cells(&self, rows: usize, depth: u32) -> u32 {
        let most = (rows.ilog2() + 1).min(F::BITS - depth);
        let ns =
            |bits: u32| self.lookup_ns(depth + bits, 1.0 + rows as f64 / (1u64 << bits) as f64);
        (0..=most).min_by(|&a, &b| ns(a).total_cmp(&ns(b))).unwrap_or(0)
    }

    /// Returns whether the fingerprints of the leaf share so few cells that two leaves take less
    /// time.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn is_too_crowded(&self, leaf: &Leaf<F>) -> bool {
        let (rows, depth) = (leaf.rows.len(), leaf.prefix.depth);
        let bottom = depth + leaf.bits;
        if rows < SMALL_LEAF || bottom >= F::BITS {
            return false;
        }
        let crowding = leaf.crowding();
        let divided = self.lookup_ns(bottom + 1, 1.0 + (crowding - 1.0) / 2.0)
            + 2.0 * DESCENT_NS * self.patterns[depth as usize + 1] / rows as f64;
        divided < WORTH_DIVIDING * self.lookup_ns(bottom, crowding)
    }
}

/// How far the search has descended towards a leaf.
#[derive(Debug, Clone, Copy)]
struct Path {
    depth: u32,
    /// Errors among the leading bits.
    errors: u32,
    /// Whether there are none, so that the fingerprints begin as the leaf's do.
    is_same: bool,
}

/// Error patterns by depth, number of bits, and errors before them.
type Patterns = BTreeMap<(u32, u32, u32), Rc<[usize]>>;

/// Searches a region.
struct Worker<'s, F> {
    search: &'s PairSearch<'s, F>,
    number: usize,
    report: Report<'s, F>,
    /// The rows of the region, and [`GROUP`] others.
    own: &'s [F],
    patterns: Patterns,
    zeros: Vec<F>,
    near: Vec<Near<F>>,
    found: Vec<(F, F, u32)>,
    /// How often nothing was passed on since something was.
    silent: usize,
}

impl<'s, F: Word> Worker<'s, F> {
    fn new(search: &'s PairSearch<'s, F>, number: usize, report: Report<'s, F>) -> Self {
        Self {
            search,
            number,
            report,
            own: &[],
            patterns: Patterns::new(),
            zeros: Vec::new(),
            near: Vec::new(),
            found: Vec::new(),
            silent: 0,
        }
    }

    /// Compares each of the leaf's fingerprints with the lower ones among `others`. `others`
    /// ascend, and share as many leading bits as `path` is deep.
    fn descend(&mut self, leaf: &Leaf<F>, others: &[F], path: Path) -> Result<()> {
        let Path { depth, errors, is_same } = path;
        if others.is_empty() {
            return Ok(());
        }
        if depth == leaf.prefix.depth {
            if !is_same {
                return self.across(leaf, others, errors);
            }
            return self.within(leaf);
        }
        let bit = F::ONE << (F::BITS - 1 - depth);
        let middle = others.partition_point(|&row| row & bit == F::ZERO);
        let (zeros, ones) = others.split_at(middle);
        let is_one = leaf.prefix.bits & bit != F::ZERO;
        let (right, wrong) = if is_one { (ones, zeros) } else { (zeros, ones) };
        self.descend(leaf, right, Path { depth: depth + 1, ..path })?;
        // What first differs in a bit that is 0 in the leaf's fingerprints is higher than they.
        if errors < self.stairs().most_with(depth) && (is_one || !is_same) {
            let path = Path { depth: depth + 1, errors: errors + 1, is_same: false };
            self.descend(leaf, wrong, path)?;
        }
        Ok(())
    }

    /// Compares the fingerprints of a leaf with each other.
    fn within(&mut self, leaf: &Leaf<F>) -> Result<()> {
        let (own, distance) = (self.own, self.search.distance);
        for first in leaf.rows.clone().step_by(LOOKED_UP) {
            let positions = first..leaf.rows.end.min(first + LOOKED_UP);
            leaf.compare_within_cells(own, positions, distance, &mut self.near);
            self.pass_on(PAIRS)?;
        }
        let mut zeros = std::mem::take(&mut self.zeros);
        let mut zeros_of = None;
        for &errors in &*self.patterns(leaf, 0) {
            let Some(bit) = errors.checked_ilog2() else { continue };
            if zeros_of != Some(bit) {
                leaf.zero_side(own, bit, &mut zeros);
                zeros_of = Some(bit);
            }
            self.look_up(leaf, &zeros, errors)?;
        }
        self.zeros = zeros;
        Ok(())
    }

    /// Compares the fingerprints of a leaf with others, which differ from them in `errors` of the
    /// bits of the leaf's prefix.
    fn across(&mut self, leaf: &Leaf<F>, others: &[F], errors: u32) -> Result<()> {
        for &errors in &*self.patterns(leaf, errors) {
            self.look_up(leaf, others, errors)?;
        }
        Ok(())
    }

    fn look_up(&mut self, leaf: &Leaf<F>, others: &[F], errors: usize) -> Result<()> {
        for some in others.chunks(LOOKED_UP) {
            leaf.compare_with(self.own, some, errors, self.search.distance, &mut self.near);
            self.pass_on(PAIRS)?;
        }
        Ok(())
    }

    fn patterns(&mut self, leaf: &Leaf<F>, errors: u32) -> Rc<[usize]> {
        let (depth, bits) = (leaf.prefix.depth, leaf.bits);
        let stairs = &self.search.tables[self.number].stairs;
        let patterns = || errors::patterns(stairs, depth, bits, errors).into();
        self.patterns.entry((depth, bits, errors)).or_insert_with(patterns).clone()
    }

    fn stairs(&self) -> &'s Staircase {
        &self.search.tables[self.number].stairs
    }

    /// Passes on the pairs that were found, if there are at least `least`.
    fn pass_on(&mut self, least: usize) -> Result<()> {
        self.silent += 1;
        if self.near.len() >= least {
            self.pass_on_all()?;
        }
        if self.silent >= MAX_SILENT {
            self.silent = 0;
            (self.report)(&[])?;
        }
        Ok(())
    }

    fn pass_on_all(&mut self) -> Result<()> {
        let order = &self.search.tables[self.number].order;
        for (a, b) in self.near.drain(..) {
            let (a, b) = (order.invert(a), order.invert(b));
            if self.search.reports(self.number, a ^ b) {
                self.found.push((a.min(b), a.max(b), a.distance(b)));
            }
        }
        for pairs in self.found.chunks(PAIRS) {
            self.silent = 0;
            (self.report)(pairs)?;
        }
        self.found.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::storage::Sim;
    use crate::{Db, DocId, Entry, Error};

    #[test]
    fn search_that_finds_nothing_can_be_ended_within_a_region() {
        let db = Db::options().storage(Sim::new()).create("db").unwrap();
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let entries = (0..1 << 17).map(|i| Ok(Entry { fingerprint: spread(i), id: DocId(i) }));
        let _ = db.bulk_load(entries).unwrap();
        db.snapshot().reader().read(|view| {
            let search = PairSearch::new(view, Within::Distance(1), &[], &[], 1 << 30, 1).unwrap();
            let report = |pairs: &[(u64, u64, u32)]| {
                assert!(pairs.is_empty());
                Err(Error::invalid("enough"))
            };
            assert!(search.regions().all(|region| search.search(region, &report).is_err()));
        });
    }
}
