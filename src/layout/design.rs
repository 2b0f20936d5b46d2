//! Rings of parts, each a cell or a covering design, and how such a layout is written.
//!
//! A covering design cuts its part into cells and leads each table by some of them, so that of few
//! wrong cells all miss some table's lead.

pub(super) type Cut = (Vec<u8>, Vec<Vec<u16>>);

/// A part: its width in bits, and the name of its covering design if it is more than one cell.
pub(super) type PartOf<'a> = (u8, Option<&'a str>);

/// `ring:` and parts, as in `ring:28/36:3c2`.
pub(super) fn parse(name: &str, bits: u8) -> Option<Cut> {
    let parts = name.strip_prefix("ring:")?.split('/').map(|part| {
        let (width, design) = part.split_once(':').map_or((part, None), |(w, d)| (w, Some(d)));
        Some((width.parse().ok()?, design))
    });
    let parts: Vec<PartOf<'_>> = parts.collect::<Option<_>>()?;
    let sum: u32 = parts.iter().map(|&(width, _)| u32::from(width)).sum();
    if sum != u32::from(bits) { None } else { ring(&parts) }
}

/// The ring of these parts. `None` if there is no such design, or no room for its cells.
pub(super) fn ring(parts: &[PartOf<'_>]) -> Option<Cut> {
    let (mut widths, mut designs) = (Vec::new(), Vec::new());
    for &(width, design) in parts {
        let (cells, leads) = match design {
            None => (1, vec![vec![0]]),
            Some(name) => leads(name)?,
        };
        let count = u8::try_from(cells).ok().filter(|&count| (1..=width).contains(&count))?;
        designs.push((widths.len(), cells, led_by(cells, &leads)));
        widths.extend(even(width, count));
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

/// A design's number of cells, and which of them lead each table: those of the first are the first.
fn leads(name: &str) -> Option<(usize, Vec<Vec<usize>>)> {
    let odd = |value: usize| value.count_ones() % 2 == 1;
    let shifted = |cells: usize, block: &[usize]| -> Vec<Vec<usize>> {
        (0..cells).map(|by| block.iter().map(|cell| (cell + by) % cells).collect()).collect()
    };
    let (cells, sets) = match name {
        "pairs" => (4, subsets(4, 2)),
        // Of the projective plane of order 2 the complements of the lines.
        "fano" => (7, shifted(7, &[2, 4, 5, 6])),
        // Any three cells miss some block of five.
        "biplane" => (11, shifted(11, &[1, 3, 4, 5, 9])),
        // The planes of the affine space of 8 points: any three lie in one.
        "affine" => {
            let plane = |normal: usize, side: bool| {
                (0..8).filter(|point| odd(point & normal) == side).collect()
            };
            (8, (1..8).flat_map(|normal| [plane(normal, true), plane(normal, false)]).collect())
        }
        // Of the projective space of 15 points the complements of the planes.
        "plane" => {
            let outside = |normal: usize| (0..15).filter(|p| odd((p + 1) & normal)).collect();
            (15, (1..16).map(outside).collect())
        }
        _ => all_but_one(name)?,
    };
    Some((cells, renumbered(cells, sets)))
}

/// `3c2` to `8c7`: as many tables as cells, each led by all but one.
fn all_but_one(name: &str) -> Option<(usize, Vec<Vec<usize>>)> {
    let cells = (3..=8).find(|cells| name == format!("{cells}c{}", cells - 1))?;
    Some((
        cells,
        (0..cells).map(|first| (first..first + cells - 1).map(|c| c % cells).collect()).collect(),
    ))
}

/// The sets with cells numbered so that the first set's come first.
fn renumbered(cells: usize, sets: Vec<Vec<usize>>) -> Vec<Vec<usize>> {
    let first = sets.first().cloned().unwrap_or_default();
    let rest = (0..cells).filter(|cell| !first.contains(cell));
    let order: Vec<usize> = first.iter().copied().chain(rest).collect();
    let number = |cell: &usize| order.iter().position(|c| c == cell).unwrap_or(0);
    sets.iter().map(|set| set.iter().map(number).collect()).collect()
}

/// Every cell leads once, the others follow round the ring.
pub(super) fn rotations(cells: usize) -> Vec<Vec<u16>> {
    (0..cells).map(|first| around(first, cells).collect()).collect()
}

fn around(first: usize, cells: usize) -> impl Iterator<Item = u16> {
    (first..first + cells).map(move |cell| index(cell % cells))
}

/// Cells as equal as they can be, the wider ones first.
pub(super) fn even(bits: u8, cells: u8) -> Vec<u8> {
    (0..cells).map(|cell| bits / cells + u8::from(cell < bits % cells)).collect()
}

/// All sets of `size` of the cells, in lexical order.
pub(super) fn subsets(cells: usize, size: usize) -> Vec<Vec<usize>> {
    let sets = (0u32..1 << cells).filter(|set| set.count_ones() as usize == size);
    let mut sets: Vec<Vec<usize>> =
        sets.map(|set| (0..cells).filter(|cell| set >> cell & 1 == 1).collect()).collect();
    sets.sort();
    sets
}

/// One table for each set, led by its cells, the rest following round the ring. A set of
/// neighbours gives a rotation.
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
