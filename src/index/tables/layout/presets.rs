//! The layouts with names.

use super::design::{DESIGNS, Design};
use super::{Layout, rotations};
use crate::base::error::{Error, Result};

const NAMES: [&str; 8] =
    ["single", "half-2", "ring-3", "ring-4", "paper-4", "paper-10", "paper-16", "paper-20"];

impl Layout {
    /// Returns the layout of that name for fingerprints of `bits` bits (64 or 128). The name is one
    /// of the [table of presets](Layout), or `ring:` and the parts of a ring, in the order of the
    /// word.
    ///
    /// A part is the width of a cell in bits, as in `ring:28/18/18`.
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
    /// assert_eq!(Layout::preset("ring-3", 64)?.cells(), &[25, 19, 20]);
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
        if let Some((_, levels)) = DESIGNS.iter().find(|(design, _)| *design == name) {
            let (_, (cells, orders)) = Design::new(levels, width);
            return Self::with_orders(name, bits, &cells, &orders);
        }
        Self::new(name, bits, &ring_named(name, width).ok_or_else(unknown)?)
    }

    /// Returns the names of the presets, as [`preset`](Self::preset) accepts them.
    #[must_use]
    pub fn preset_names() -> &'static [&'static str] {
        &NAMES
    }
}

/// Returns the cells of a ring by its name.
fn ring_named(name: &str, bits: u8) -> Option<Vec<u8>> {
    Some(match name {
        "single" => ring_cells(bits, &[4]),
        "half-2" => ring_cells(bits, &[2, 2]),
        "ring-3" => ring_cells(bits, &[2, 1, 1]),
        "ring-4" => ring_cells(bits, &[1, 1, 1, 1]),
        _ => parse(name, bits)?,
    })
}

/// Parses `ring:` and the widths of its cells, as in `ring:25/19/20`.
fn parse(name: &str, bits: u8) -> Option<Vec<u8>> {
    let widths = name.strip_prefix("ring:")?.split('/').map(|width| width.parse().ok());
    let widths: Vec<u8> = widths.collect::<Option<_>>()?;
    let sum: u32 = widths.iter().map(|&width| u32::from(width)).sum();
    (sum == u32::from(bits) && !widths.contains(&0)).then_some(widths)
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

/// Returns the ring of cells of these widths, with the name of the preset that it equals, or else
/// one made of the widths.
pub(super) fn ring_of(bits: u8, cells: Vec<u8>) -> Layout {
    let widths: Vec<String> = cells.iter().map(u8::to_string).collect();
    let preset = NAMES.iter().find(|name| ring_named(name, bits).as_ref() == Some(&cells));
    let name = preset.map_or_else(|| format!("ring:{}", widths.join("/")), |n| (*n).to_owned());
    let orders = rotations(cells.len()).collect();
    Layout { name, bits, cells, orders, design: None }
}

fn narrow(width: u32) -> u8 {
    u8::try_from(width).unwrap_or(u8::MAX)
}
