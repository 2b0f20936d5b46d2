//! Rings of parts, where each part is a cell or a covering design, and the names of such layouts.
//!
//! A covering design cuts its part into cells, and each of its tables begins with some of them. If
//! few cells are wrong, some table begins with none of them.

/// The widths of the cells, and the order of the cells in each table.
pub(super) type Cut = (Vec<u8>, Vec<Vec<u16>>);

/// A part: its width in bits, and the name of its covering design if it has more than one cell.
pub(super) type PartOf<'a> = (u8, Option<&'a str>);

/// Parses `ring:` and its parts, as in `ring:28/36:3c2`.
pub(super) fn parse(name: &str, bits: u8) -> Option<Cut> {
    let parts = name.strip_prefix("ring:")?.split('/').map(|part| {
        let (width, design) = part.split_once(':').map_or((part, None), |(w, d)| (w, Some(d)));
        Some((width.parse().ok()?, design))
    });
    let parts: Vec<PartOf<'_>> = parts.collect::<Option<_>>()?;
    let sum: u32 = parts.iter().map(|&(width, _)| u32::from(width)).sum();
    if sum != u32::from(bits) { None } else { ring(&parts) }
}

/// Makes the ring of these parts. Returns `None` if there is no such design, or if a part has fewer
/// bits than its design has cells.
pub(super) fn ring(parts: &[PartOf<'_>]) -> Option<Cut> {
    let (mut widths, mut designs) = (Vec::new(), Vec::new());
    for &(width, design) in parts {
        let (cells, leads) = match design {
            None => (1, vec![vec![0]]),
            Some(name) => leads(name)?,
        };
        let count = u8::try_from(cells).ok().filter(|&count| (1..=width).contains(&count))?;
        designs.push((widths.len(), cells, led_by(cells, &leads)));
        widths.extend(split_evenly(width, count));
    }
    let mut orders = Vec::new();
    for (home, (start, _, tables)) in designs.iter().enumerate() {
        for table in tables {
            let mut order: Vec<u16> = table.iter().map(|&cell| cell + index(*start)).collect();
            for turn in 1..designs.len() {
                let (start, cells, _) = designs[(home + turn) % designs.len()];
                order.extend((start..start + cells).map(index));
            }
            orders.push(order);
        }
    }
    Some((widths, orders))
}

/// Returns the number of cells of a design, and the cells that each table begins with. The first
/// table begins with the first cells.
fn leads(name: &str) -> Option<(usize, Vec<Vec<usize>>)> {
    let odd = |value: usize| value.count_ones() % 2 == 1;
    let shifted = |cells: usize, block: &[usize]| -> Vec<Vec<usize>> {
        (0..cells).map(|by| block.iter().map(|cell| (cell + by) % cells).collect()).collect()
    };
    let (cells, sets) = match name {
        "pairs" => (4, subsets(4, 2)),
        // The complements of the lines of the projective plane of order 2.
        "fano" => (7, shifted(7, &[2, 4, 5, 6])),
        // For any three cells, some block of five contains none of them.
        "biplane" => (11, shifted(11, &[1, 3, 4, 5, 9])),
        // The planes of the affine space of 8 points: any three points are in one plane.
        "affine" => {
            let plane = |normal: usize, side: bool| {
                (0..8).filter(|point| odd(point & normal) == side).collect()
            };
            (8, (1..8).flat_map(|normal| [plane(normal, true), plane(normal, false)]).collect())
        }
        // The complements of the planes of the projective space of 15 points.
        "plane" => {
            let outside = |normal: usize| (0..15).filter(|p| odd((p + 1) & normal)).collect();
            (15, (1..16).map(outside).collect())
        }
        _ => all_but_one(name)?,
    };
    Some((cells, renumbered(cells, sets)))
}

/// `3c2` to `8c7`: as many tables as cells, each of which begins with all cells but one.
fn all_but_one(name: &str) -> Option<(usize, Vec<Vec<usize>>)> {
    let cells = (3..=8).find(|cells| name == format!("{cells}c{}", cells - 1))?;
    Some((
        cells,
        (0..cells).map(|first| (first..first + cells - 1).map(|c| c % cells).collect()).collect(),
    ))
}

/// Renumbers the cells so that those of the first set come first.
fn renumbered(cells: usize, sets: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let first = sets.first().cloned().unwrap_or_default();
    let rest = (0..cells).filter(|cell| !first.contains(cell));
    let order: Vec<usize> = first.iter().copied().chain(rest).collect();
    let number = |cell: &usize| order.iter().position(|c| c == cell).unwrap_or(0);
    sets.iter().map(|set| set.iter().map(number).collect()).collect()
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
