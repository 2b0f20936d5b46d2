//! Candidates: ways to share errors out among the tables of a layout, or of a part of it.
//!
//! A *part* is a run of cells, together with the tables whose orders begin with exactly these
//! cells. Staircases of its tables have the *value* m if they are complete for m - 1 errors within
//! the part. If the parts make up the word, they form a ring, with a part in place of each cell:
//! the staircase of a part of value m has the bound m - 1 over the width of the part, then the
//! bound m + m' - 1 over it and the next part of value m', and so on around the ring. The parts are
//! complete together if the sum of their values is k + 1.
//!
//! For example, the two halves of `half-2` are parts with one table each. For k = 3, the values 2
//! and 2 are one choice: each table allows 1 error in its own half, and 3 in both. An entry with
//! errors (1, 2) is found in the first table, and one with (2, 1) in the second. The values 1 and 3
//! are another choice: the first table allows no error in its half, the second table two.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ops::Range;

use super::Layout;
use super::complete::{self, BitStep, Verdict};
use super::order::Permutation;
use super::staircase::Step;
use crate::fingerprint::Word;

/// Search nodes for the check of one candidate.
const MAX_NODES: u32 = 3_000;

/// Most ways to share a part's value out among its own parts.
const MAX_SHARINGS: usize = 256;

/// A run of cells, and the tables (by number) that begin with all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) cells: Range<usize>,
    pub(super) tables: Vec<usize>,
}

/// The tables to search, and the steps of each within its part.
pub(super) type Assignment = Vec<(usize, Vec<Step>)>;

impl Part {
    pub(super) fn whole(layout: &Layout) -> Self {
        Self { cells: 0..layout.cells.len(), tables: (0..layout.tables()).collect() }
    }

    /// Width in bits.
    pub(super) fn width(&self, layout: &Layout) -> u8 {
        layout.cells[self.cells.clone()].iter().sum()
    }

    /// Divides the part into a ring of smaller parts. One begins at each cell that is first in a
    /// table whose order is a rotation. Tables that do not contain these parts one after another
    /// are left out. Returns `None` if there are fewer than two parts.
    pub(super) fn ring(&self, layout: &Layout) -> Option<Vec<Self>> {
        let mut starts: Vec<usize> =
            self.tables.iter().filter_map(|&t| self.rotation_start(layout, t)).collect();
        starts.sort_unstable();
        starts.dedup();
        if starts.len() < 2 || starts.first() != Some(&self.cells.start) {
            return None;
        }
        let ends = starts.iter().skip(1).chain([&self.cells.end]);
        let mut parts: Vec<Self> = starts
            .iter()
            .zip(ends)
            .map(|(&start, &end)| Self { cells: start..end, tables: Vec::new() })
            .collect();
        for &table in &self.tables {
            if let Some(home) = self.home(layout, table, &parts) {
                parts[home].tables.push(table);
            }
        }
        Some(parts)
    }

    /// Returns the table's order of this part's cells, which are its first cells.
    fn order<'a>(&self, layout: &'a Layout, table: usize) -> &'a [u16] {
        &layout.order(table)[..self.cells.len()]
    }

    fn rotation_start(&self, layout: &Layout, table: usize) -> Option<usize> {
        let order = self.order(layout, table);
        let first = usize::from(order[0]) - self.cells.start;
        let rotation = (0..order.len()).map(|i| self.cells.start + (first + i) % order.len());
        rotation.eq(order.iter().map(|&c| usize::from(c))).then_some(self.cells.start + first)
    }

    /// Returns which of `parts` the table begins with, if the others follow one after another.
    fn home(&self, layout: &Layout, table: usize, parts: &[Self]) -> Option<usize> {
        let mut order = self.order(layout, table);
        let home = parts.iter().position(|p| p.cells.contains(&usize::from(order[0])))?;
        for turn in 0..parts.len() {
            let cells = &parts[(home + turn) % parts.len()].cells;
            let (run, rest) = order.split_at(cells.len());
            if !run.iter().all(|&c| cells.contains(&usize::from(c))) {
                return None;
            }
            order = rest;
        }
        Some(home)
    }
}

/// Candidates by cells and value.
type Known = HashMap<(Range<usize>, u8), Vec<Assignment>>;

/// Makes candidates for the parts of one layout, from the bit orders that the probes use.
pub(super) struct Candidates<'a, F> {
    pub(super) layout: &'a Layout,
    orders: &'a [Permutation<F>],
    /// Search nodes that checks may still use. What stays undecided is not a candidate.
    nodes: Cell<u32>,
    /// Candidates that were already checked.
    known: RefCell<Known>,
}

impl<'a, F: Word> Candidates<'a, F> {
    /// Allows checks to use up to `nodes` search nodes in all.
    pub(super) fn new(layout: &'a Layout, orders: &'a [Permutation<F>], nodes: u32) -> Self {
        Self { layout, orders, nodes: Cell::new(nodes), known: RefCell::default() }
    }

    /// Returns ways to give a part this value. Value 0 needs no table. There is at least one way
    /// for a part that has a table. `value` is at most the part's width + 1.
    pub(super) fn for_part(&self, part: &Part, value: u8) -> Vec<Assignment> {
        if value == 0 {
            return vec![Assignment::new()];
        }
        let mut all = self.balls(part, value);
        all.extend(self.common(part, value));
        all.extend(self.thresholds(part, value));
        all
    }

    /// Uses only the part's first table, with all errors allowed anywhere.
    pub(super) fn balls(&self, part: &Part, value: u8) -> Vec<Assignment> {
        let step = Step { depth: part.width(self.layout), most: value - 1 };
        part.tables.first().map(|&table| vec![(table, vec![step])]).into_iter().collect()
    }

    /// Uses the same staircase for all tables, in one way for each number of errors that it can
    /// begin with.
    pub(super) fn common(&self, part: &Part, value: u8) -> Vec<Assignment> {
        let most = value - 1;
        let from = if part.tables.len() > 1 { 0 } else { most };
        let make = || (from..most).filter_map(|lead| self.common_from(part, most, lead)).collect();
        let key = (part.cells.clone(), value);
        self.known.borrow_mut().entry(key).or_insert_with(make).clone()
    }

    /// Makes a staircase that begins with `lead` errors: it allows `lead` errors in as many leading
    /// bits as is still complete, then `lead` + 1 errors in as many as is still complete, and so on
    /// up to `most` errors. All steps end where cells end.
    fn common_from(&self, part: &Part, most: u8, lead: u8) -> Option<Assignment> {
        let width = part.width(self.layout);
        let mut assignment: Assignment =
            part.tables.iter().map(|&table| (table, Vec::new())).collect();
        let depths = self.depths(part);
        let mut deeper = depths.as_slice();
        for allowed in lead..most {
            let with = |depth: u8| self.with_step(&assignment, depth, allowed);
            let complete =
                deeper.partition_point(|&depth| self.is_complete(part, &with(depth), most));
            let (taken, rest) = deeper.split_at(complete);
            match taken.last() {
                Some(&deepest) => assignment = with(deepest),
                None if allowed == lead => return None,
                None => {}
            }
            deeper = rest;
        }
        for (_, steps) in &mut assignment {
            steps.push(Step { depth: width, most });
        }
        Some(assignment)
    }

    /// Adds a step to each table. The step ends where the table's last cell within `depth` ends.
    fn with_step(&self, assignment: &Assignment, depth: u8, most: u8) -> Assignment {
        let further = |(table, steps): &(usize, Vec<Step>)| {
            let end = self.ends(*table).take_while(|&end| end <= depth).last().unwrap_or(0);
            let mut steps = steps.clone();
            steps.push(Step { depth: end, most });
            (*table, steps)
        };
        assignment.iter().map(further).collect()
    }

    /// Returns where cells end in any of the part's tables, beginning where each table has at least
    /// one cell.
    fn depths(&self, part: &Part) -> Vec<u8> {
        let width = part.width(self.layout);
        let lead = part.tables.iter().filter_map(|&t| self.ends(t).next()).max().unwrap_or(0);
        let ends = part.tables.iter().flat_map(|&t| self.ends(t));
        let mut ends: Vec<u8> = ends.filter(|end| (lead..=width).contains(end)).collect();
        ends.sort_unstable();
        ends.dedup();
        ends
    }

    /// Returns where the table's cells end.
    fn ends(&self, table: usize) -> impl Iterator<Item = u8> {
        self.layout.order(table).iter().scan(0, |end, &cell| {
            *end += self.layout.cells[usize::from(cell)];
            Some(*end)
        })
    }

    /// Divides the part into a ring of smaller parts, each with one table that allows its errors
    /// anywhere in that part, for all ways to share the value out fairly evenly.
    fn thresholds(&self, part: &Part, value: u8) -> Vec<Assignment> {
        let Some(ring) = part.ring(self.layout) else { return Vec::new() };
        // Every part of a ring has the table whose rotation begins with it.
        let cells = u8::try_from(ring.len()).unwrap_or(u8::MAX);
        let fair = value.div_ceil(cells) + 1;
        let widths: Vec<u8> = ring.iter().map(|p| p.width(self.layout)).collect();
        let limits: Vec<u8> = widths.iter().map(|&width| width.min(fair)).collect();
        let mut all = Vec::new();
        share(value, &limits, &mut Vec::new(), &mut |values| {
            let used = (0..ring.len()).filter(|&i| values[i] > 0);
            let steps = |i: usize| (ring[i].tables[0], around(&widths, values, i, Vec::new()));
            all.push(used.map(steps).collect());
            all.len() < MAX_SHARINGS
        });
        all
    }

    /// Returns whether these tables accept every pattern of `weight` errors within the part.
    fn is_complete(&self, part: &Part, assignment: &Assignment, weight: u8) -> bool {
        let start: u32 = self.layout.cells[..part.cells.start].iter().map(|&w| u32::from(w)).sum();
        let end = start + u32::from(part.width(self.layout));
        let word = F::prefix_mask(end) & !F::prefix_mask(start);
        let tables: Vec<_> = assignment
            .iter()
            .map(|(table, steps)| bit_steps(&self.orders[*table], steps))
            .collect();
        let allowed = self.nodes.get().min(MAX_NODES);
        let mut nodes = allowed;
        let verdict = complete::check(word.to_u128(), &tables, weight.into(), &mut nodes);
        self.nodes.set(self.nodes.get() - (allowed - nodes));
        verdict == Verdict::Complete
    }
}

/// Converts the steps of a staircase to sets of bits of the unpermuted word.
pub(super) fn bit_steps<F: Word>(order: &Permutation<F>, steps: &[Step]) -> Vec<BitStep> {
    let bit_step = |step: &Step| BitStep {
        bits: order.invert(F::prefix_mask(step.depth.into())).to_u128(),
        most: step.most.into(),
    };
    steps.iter().map(bit_step).collect()
}

/// Continues the `inner` steps of part `home` of a ring around the entire ring.
pub(super) fn around(widths: &[u8], values: &[u8], home: usize, mut inner: Vec<Step>) -> Vec<Step> {
    let (mut depth, mut sum) = (0, 0);
    for turn in 0..widths.len() {
        let part = (home + turn) % widths.len();
        depth += widths[part];
        sum += values[part];
        inner.push(Step { depth, most: sum - 1 });
    }
    inner
}

/// Calls `found` with each way to write `total` as a sum of one number up to each limit, until
/// `found` returns false. Then returns false too.
fn share(
    total: u8,
    limits: &[u8],
    chosen: &mut Vec<u8>,
    found: &mut impl FnMut(&[u8]) -> bool,
) -> bool {
    let room: u32 = limits.iter().map(|&limit| u32::from(limit)).sum();
    if u32::from(total) > room {
        return true;
    }
    let Some((&limit, rest)) = limits.split_first() else { return found(chosen) };
    for value in 0..=limit.min(total) {
        chosen.push(value);
        let more = share(total - value, rest, chosen, found);
        chosen.pop();
        if !more {
            return false;
        }
    }
    true
}
