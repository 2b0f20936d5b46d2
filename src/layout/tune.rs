//! The layouts to choose from: those with names, and rings tuned to a size and a distance.

use super::components::around;
use super::costs::Costs;
use super::design::{Cut, rotations, split_evenly};
use super::presets::{NAMES, ring_cells};
use super::staircase::Staircase;
use super::terms::{FILTERS, Leaves, Terms};
use super::trie::Trie;
use super::{Layout, MatchRule, check_cells};
use crate::error::Result;

/// Most tables of a ring that is tried.
const MAX_RING: u8 = 8;
/// From this number of tables on, only even shares are tried.
const EVEN_FROM: u8 = 5;

/// Returns the layouts to consider for distances up to 10, each once, those with names first.
///
/// # Errors
///
/// `InvalidArgument` for a width that no layout has.
pub(super) fn layouts(bits: u32, entries: u64, distance: u8, costs: &Costs) -> Result<Vec<Layout>> {
    let width = check_cells(bits, &[u8::try_from(bits).unwrap_or(0)])?;
    let mut layouts: Vec<Layout> = Vec::new();
    let mut add = |layout: Layout| {
        let known = |l: &Layout| l.cells == layout.cells && l.orders == layout.orders;
        if !layouts.iter().any(known) {
            layouts.push(layout);
        }
    };
    for name in NAMES {
        add(Layout::preset(name, bits)?);
    }
    let columns = MatchRule::within(bits, distance.into())?.needs_columns();
    for tables in 1..=MAX_RING.min(distance + 1) {
        for thresholds in shares(distance + 1, tables) {
            let [none, one] = FILTERS;
            for (filter_bits, cold) in [(none, 0.0), (one, 0.0), (none, 1.0)] {
                let costs = costs.clone().cold(cold);
                let terms = Terms { filter_bits, columns, costs, ..Terms::default() };
                add(ring_of(width, tuned(width, &thresholds, entries, &terms)));
            }
        }
    }
    Ok(layouts)
}

/// Returns the ring of cells of these widths.
pub(super) fn ring_of(bits: u8, cells: Vec<u8>) -> Layout {
    let widths: Vec<String> = cells.iter().map(u8::to_string).collect();
    let (cells, orders): Cut = (cells, rotations(widths.len()));
    let known = |name: &&&str| {
        Layout::preset(name, bits.into()).is_ok_and(|l| l.cells == cells && l.orders == orders)
    };
    let name = NAMES
        .iter()
        .find(known)
        .map_or_else(|| format!("ring:{}", widths.join("/")), |n| (*n).to_owned());
    Layout { name, bits, cells, orders }
}

/// Returns ways to share `value` out among `n`: evenly and, if there are few shares, with one unit
/// of the last share given to the first.
fn shares(value: u8, n: u8) -> Vec<Vec<u8>> {
    let even = split_evenly(value, n);
    let mut uneven = even.clone();
    match uneven.as_mut_slice() {
        [first, .., last] if n < EVEN_FROM && *last > 1 => {
            *first += 1;
            *last -= 1;
            vec![even, uneven]
        }
        _ => vec![even],
    }
}

/// Returns the best widths of a ring's cells for these thresholds. From a good start, bits are
/// moved from cell to cell as long as that helps.
fn tuned(bits: u8, thresholds: &[u8], entries: u64, terms: &Terms) -> Vec<u8> {
    let cost = |widths: &[u8]| ring_ns(bits, widths, thresholds, entries, terms);
    let mut widths = ring_cells(bits, thresholds);
    let mut least = cost(&widths);
    for step in [4, 2, 1] {
        let mut moved = true;
        while moved {
            moved = false;
            for (from, to) in pairs(widths.len()) {
                if widths[from] <= step {
                    continue;
                }
                let mut other = widths.clone();
                other[from] -= step;
                other[to] += step;
                let ns = cost(&other);
                if ns < least * 0.999 {
                    (widths, least, moved) = (other, ns, true);
                }
            }
        }
    }
    widths
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |a| (0..n).filter(move |&b| a != b).map(move |b| (a, b)))
}

/// Returns the time of the lookups in a ring with one table per cell.
fn ring_ns(bits: u8, widths: &[u8], thresholds: &[u8], entries: u64, terms: &Terms) -> f64 {
    let distance = thresholds.iter().sum::<u8>() - 1;
    let table = |home: usize| {
        let stairs = Staircase::new(around(widths, thresholds, home, Vec::new()), bits, distance);
        let depth = u32::from(widths[home].min(64));
        let leaves = Leaves::new(terms, bits.into(), entries, depth, widths.len());
        Trie::new(&stairs, &leaves).work.ns
    };
    (0..widths.len()).map(table).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tuned_rings_are_no_slower_than_the_rule_of_thumb() {
        let terms = Terms::default();
        for thresholds in [&[2, 2][..], &[2, 1, 1], &[3, 2, 2], &[2, 2, 2, 1]] {
            let start = ring_cells(64, thresholds);
            let cells = tuned(64, thresholds, 1 << 26, &terms);
            assert_eq!(cells.iter().sum::<u8>(), 64);
            let ns = |cells: &[u8]| ring_ns(64, cells, thresholds, 1 << 26, &terms);
            assert!(ns(&cells) <= ns(&start), "{thresholds:?}: {cells:?}");
        }
    }
}
