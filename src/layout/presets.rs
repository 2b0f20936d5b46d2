//! The layouts with names.

use super::Layout;
use crate::error::{Error, Result};

const NAMES: [&str; 11] = [
    "single",
    "half-2",
    "ring-3",
    "ring-4",
    "tri-6",
    "quad-8",
    "biplane-11",
    "paper-4",
    "paper-10",
    "paper-16",
    "paper-20",
];

impl Layout {
    /// The layout of that name for fingerprints of `bits` bits (64 or 128); see the table
    /// [above](Layout).
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for another name or width; the
    /// message lists the names.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// assert_eq!(Layout::preset("paper-20", 64)?.cells(), &[11, 11, 11, 11, 10, 10]);
    /// let error = Layout::preset("half", 64).unwrap_err();
    /// assert!(error.to_string().contains("half-2"));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn preset(name: &str, bits: u32) -> Result<Self> {
        let unknown = || {
            Error::invalid(format!("no layout is named {name:?}; there are {}", NAMES.join(", ")))
        };
        let width = match bits {
            64 => 64,
            128 => 128,
            _ => return Err(Error::invalid(format!("layout of {bits} bits: expected 64 or 128"))),
        };
        let (cells, orders) = cut(name, width).ok_or_else(unknown)?;
        Self::new(name, bits, &cells, &orders)
    }

    /// The names that [`preset`](Self::preset) knows.
    ///
    /// # Examples
    ///
    /// ```
    /// assert!(fpdb::Layout::preset_names().contains(&"half-2"));
    /// ```
    #[must_use]
    pub fn preset_names() -> &'static [&'static str] {
        &NAMES
    }
}

type Cut = (Vec<u8>, Vec<Vec<u16>>);

fn cut(name: &str, bits: u8) -> Option<Cut> {
    let ring = |thresholds: &[u8]| (ring_cells(bits, thresholds), rotations(thresholds.len()));
    Some(match name {
        "single" => ring(&[4]),
        "half-2" => ring(&[2, 2]),
        "ring-3" => ring(&[2, 1, 1]),
        "ring-4" | "paper-4" => ring(&[1, 1, 1, 1]),
        "tri-6" => halves(bits, 3),
        "quad-8" => halves(bits, 4),
        "biplane-11" => (even(bits, 11), led_by(11, &biplane())),
        "paper-10" => (even(bits, 5), led_by(5, &subsets(5, 2))),
        "paper-16" => paper_16(bits),
        "paper-20" => (even(bits, 6), led_by(6, &subsets(6, 3))),
        _ => return None,
    })
}

/// Ring cells for thresholds t: widths in proportion to t + 2.5, which is near the best for all
/// sizes (a cell that allows more errors takes more prefixes for each of its bits, but needs them).
pub(super) fn ring_cells(bits: u8, thresholds: &[u8]) -> Vec<u8> {
    let shares: Vec<u32> = thresholds.iter().map(|&t| 2 * u32::from(t) + 5).collect();
    let total: u32 = shares.iter().sum();
    let end = |cell: usize| u32::from(bits) * shares[..cell].iter().sum::<u32>() / total;
    (0..shares.len()).map(|cell| narrow(end(cell + 1) - end(cell))).collect()
}

/// Every cell leads once, the others follow round the ring.
pub(super) fn rotations(cells: usize) -> Vec<Vec<u16>> {
    (0..cells).map(|first| around(first, cells).collect()).collect()
}

fn around(first: usize, cells: usize) -> impl Iterator<Item = u16> {
    (first..first + cells).map(move |cell| index(cell % cells))
}

/// Cells as equal as they can be, the wider ones first.
fn even(bits: u8, cells: u8) -> Vec<u8> {
    (0..cells).map(|cell| bits / cells + u8::from(cell < bits % cells)).collect()
}

/// A ring of two halves of `n` cells. In each half every cell leads once, so each table of a half
/// leaves another of its cells to the last: the covering design by all cells but one.
fn halves(bits: u8, n: u8) -> Cut {
    let half = even(bits / 2, n);
    let n = usize::from(n);
    let order = |table: usize| {
        let (own, other) = if table < n { (0, n) } else { (n, 0) };
        let lead = around(table % n, n).map(move |cell| cell + index(own));
        lead.chain(around(0, n).map(move |cell| cell + index(other))).collect()
    };
    ([half.clone(), half].concat(), (0..2 * n).map(order).collect())
}

/// Four blocks, one leads; the three others together cut in four, one of these follows.
/// All in quarters of a block, for the pieces lie across the blocks: that makes sixteen cells.
fn paper_16(bits: u8) -> Cut {
    let unit = bits / 16;
    // Where pieces end, in units of a quarter block; the three other blocks follow the leading one
    // round the ring, and a piece is three units of them.
    let ends = |block: u8| (0..4).map(move |piece| (4 * block + 4 + 3 * piece) % 16);
    let mut cuts: Vec<u8> = (0..4).flat_map(ends).chain([0, 4, 8, 12]).collect();
    cuts.sort_unstable();
    cuts.dedup();
    let widths = cuts.iter().zip(cuts.iter().skip(1).chain([&16]));
    let cells: Vec<u8> = widths.map(|(start, end)| (end - start) * unit).collect();
    let run = |start: u8, units: u8| {
        let inside = move |cut: u8| (cut + 16 - start) % 16 < units;
        let mut run: Vec<usize> = (0..cuts.len()).filter(|&c| inside(cuts[c])).collect();
        run.sort_by_key(|&c| (cuts[c] + 16 - start) % 16);
        run.into_iter().map(index).collect::<Vec<u16>>()
    };
    let order = |block: u8, piece: u8| {
        let (rest, lead) = (4 * block + 4, 3 * piece);
        let after = run((rest + lead + 3) % 16, 9 - lead);
        [run(4 * block, 4), run((rest + lead) % 16, 3), after, run(rest % 16, lead)].concat()
    };
    let orders = (0..16).map(|table| order(table / 4, table % 4)).collect();
    (cells, orders)
}

/// The biplane on 11 cells: any three cells miss some block of five. Cells are numbered so that
/// the first block is 0 to 4.
fn biplane() -> Vec<Vec<usize>> {
    const NUMBER: [usize; 11] = [5, 0, 6, 1, 2, 3, 7, 8, 9, 4, 10];
    let block = |shift| [1, 3, 4, 5, 9].map(|x: usize| NUMBER[(x + shift) % 11]).to_vec();
    (0..11).map(block).collect()
}

/// All sets of `size` of the cells, in lexical order.
fn subsets(cells: usize, size: usize) -> Vec<Vec<usize>> {
    let sets = (0u32..1 << cells).filter(|set| set.count_ones() as usize == size);
    let mut sets: Vec<Vec<usize>> =
        sets.map(|set| (0..cells).filter(|cell| set >> cell & 1 == 1).collect()).collect();
    sets.sort();
    sets
}

/// One table for each set, led by its cells, the rest following round the ring. A set of
/// neighbours gives a rotation.
fn led_by(cells: usize, sets: &[Vec<usize>]) -> Vec<Vec<u16>> {
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

fn index(cell: usize) -> u16 {
    u16::try_from(cell).unwrap_or(u16::MAX)
}

fn narrow(width: u32) -> u8 {
    u8::try_from(width).unwrap_or(u8::MAX)
}
