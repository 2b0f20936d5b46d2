//! Orders of cells: rings, and orders that sets of cells lead.

/// The widths of the cells, and the order of the cells in each table.
pub(super) type Cut = (Vec<u8>, Vec<Vec<u16>>);

/// Parses `ring:` and the widths of its cells, as in `ring:25/19/20`.
pub(super) fn parse(name: &str, bits: u8) -> Option<Cut> {
    let widths = name.strip_prefix("ring:")?.split('/').map(|width| width.parse().ok());
    let widths: Vec<u8> = widths.collect::<Option<_>>()?;
    let sum: u32 = widths.iter().map(|&width| u32::from(width)).sum();
    let is_ring = sum == u32::from(bits) && !widths.contains(&0);
    let orders = rotations(widths.len());
    is_ring.then_some((widths, orders))
}

/// Returns all rotations of the cells: each cell is first in one table, and the others follow
/// around the ring.
pub(super) fn rotations(cells: usize) -> Vec<Vec<u16>> {
    (0..cells).map(|first| around(first, cells).collect()).collect()
}

fn around(first: usize, cells: usize) -> impl Iterator<Item = u16> {
    (first..first + cells).map(move |cell| index(cell % cells))
}

/// Splits `value` into `n` shares as equal as possible, the larger ones first.
pub(super) fn split_evenly(value: u8, n: u8) -> Vec<u8> {
    (0..n).map(|share| value / n + u8::from(share < value % n)).collect()
}

/// Returns all sets of `size` cells, in lexical order.
pub(super) fn subsets(cells: usize, size: usize) -> Vec<Vec<usize>> {
    let sets = (0u32..1 << cells).filter(|set| set.count_ones() as usize == size);
    let mut sets: Vec<Vec<usize>> =
        sets.map(|set| (0..cells).filter(|cell| set >> cell & 1 == 1).collect()).collect();
    sets.sort();
    sets
}

/// Returns the order of one table per set: first the cells of the set, then the others, around the
/// ring. A set of neighbours gives a rotation.
pub(super) fn led_by(cells: usize, sets: &[Vec<usize>]) -> Vec<Vec<u16>> {
    let order = |set: &Vec<usize>| {
        let span = |first: &usize| set.iter().map(|c| (c + cells - first) % cells).max();
        let first = set.iter().copied().min_by_key(span).unwrap_or(0);
        let last = (first + span(&first).unwrap_or(0)) % cells;
        let leads = |cell: &u16| set.contains(&usize::from(*cell));
        let lead = around(first, cells).filter(leads);
        lead.chain(around(last + 1, cells).filter(|cell| !leads(cell))).collect()
    };
    sets.iter().map(order).collect()
}

pub(super) fn index(cell: usize) -> u16 {
    u16::try_from(cell).unwrap_or(u16::MAX)
}
