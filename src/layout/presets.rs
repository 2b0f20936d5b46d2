//! The layouts with names.

use super::Layout;
use super::design::{self, Cut, rotations, split_evenly};
use crate::error::{Error, Result};

const NAMES: [&str; 8] =
    ["single", "half-2", "ring-3", "ring-4", "paper-4", "paper-10", "paper-16", "paper-20"];

impl Layout {
    /// Returns the layout of that name for fingerprints of `bits` bits (64 or 128). The name is one
    /// of the [table of presets](Layout), or `ring:` and the parts of a ring, in the order of the
    /// word.
    ///
    /// A part is its width in bits, as in `ring:28/18/18`: each part comes first in one table, and
    /// the others follow around the ring.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for another name or width. The
    /// message lists the names.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// assert_eq!(Layout::preset("paper-20", 64)?.cells(), &[11, 11, 11, 11, 10, 10]);
    /// assert_eq!(Layout::preset("ring:28/18/18", 64)?.tables(), 3);
    /// let error = Layout::preset("half", 64).unwrap_err();
    /// assert!(Layout::preset_names().iter().all(|name| error.to_string().contains(name)));
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

    /// Returns the names of the presets, as [`preset`](Self::preset) accepts them.
    #[must_use]
    pub fn preset_names() -> &'static [&'static str] {
        &NAMES
    }
}

fn cut(name: &str, bits: u8) -> Option<Cut> {
    let ring = |thresholds: &[u8]| (ring_cells(bits, thresholds), rotations(thresholds.len()));
    Some(match name {
        "single" => ring(&[4]),
        "half-2" => ring(&[2, 2]),
        "ring-3" => ring(&[2, 1, 1]),
        "ring-4" | "paper-4" => ring(&[1, 1, 1, 1]),
        "paper-10" => (split_evenly(bits, 5), design::led_by(5, &design::subsets(5, 2))),
        "paper-16" => paper_16(bits),
        "paper-20" => (split_evenly(bits, 6), design::led_by(6, &design::subsets(6, 3))),
        _ => design::parse(name, bits)?,
    })
}

/// Returns the cells of a ring for thresholds t: widths in proportion to t + 2.5, which is nearly
/// the best for all sizes (a cell that allows more errors needs more prefixes per bit, but also
/// more bits).
pub(super) fn ring_cells(bits: u8, thresholds: &[u8]) -> Vec<u8> {
    let shares: Vec<u32> = thresholds.iter().map(|&t| 2 * u32::from(t) + 5).collect();
    let total: u32 = shares.iter().sum();
    let end = |cell: usize| u32::from(bits) * shares[..cell].iter().sum::<u32>() / total;
    (0..shares.len()).map(|cell| narrow(end(cell + 1) - end(cell))).collect()
}

/// Returns the ring of cells of these widths, with the name of the preset that it equals, or else one
/// made of the widths.
pub(super) fn ring_of(bits: u8, cells: Vec<u8>) -> Layout {
    let widths: Vec<String> = cells.iter().map(u8::to_string).collect();
    let ring: Cut = (cells, rotations(widths.len()));
    let preset = NAMES.iter().find(|name| cut(name, bits).as_ref() == Some(&ring));
    let name = preset.map_or_else(|| format!("ring:{}", widths.join("/")), |n| (*n).to_owned());
    let (cells, orders) = ring;
    Layout { name, bits, cells, orders }
}

/// Four blocks, one of which comes first. The three others together are cut into four pieces, one
/// of which follows. Everything is in quarters of a block, because the pieces cross the borders of
/// the blocks: that makes sixteen cells.
fn paper_16(bits: u8) -> Cut {
    let unit = bits / 16;
    // Where pieces end, in quarters of a block. The three other blocks follow the first one around
    // the ring, and a piece is three quarters of a block.
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
        run.into_iter().map(design::index).collect::<Vec<u16>>()
    };
    let order = |block: u8, piece: u8| {
        let (rest, lead) = (4 * block + 4, 3 * piece);
        let after = run((rest + lead + 3) % 16, 9 - lead);
        [run(4 * block, 4), run((rest + lead) % 16, 3), after, run(rest % 16, lead)].concat()
    };
    let orders = (0..16).map(|table| order(table / 4, table % 4)).collect();
    (cells, orders)
}

fn narrow(width: u32) -> u8 {
    u8::try_from(width).unwrap_or(u8::MAX)
}
