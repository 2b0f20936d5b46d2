//! Layouts: the bit orders in which a database keeps its fingerprints, and how to choose them.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Layout`] | one bit order per table; also at the root of the crate |
//! | [`Prediction`] | the predicted size of a database, and the time of its queries |
//!
//! A table holds every fingerprint with its bits in one order, sorted, so all entries with given
//! *leading* bits are next to each other. The word is cut into *cells* of neighbouring bits, and a
//! bit order is an order of the cells. If two fingerprints differ in few bits, then in some table
//! few of these are in the leading cells, and a short list of prefixes finds the match there.
//!
//! The plan of a query decides how few, not the layout. A *staircase* is a list of limits: how many
//! differing bits a table allows in its first cell, in its first two cells, and so on. The planner
//! chooses the staircases of all tables together, finds the cheapest prefixes for them, and proves
//! that they find every match; where a scan is cheaper, the query scans. The repository's
//! `docs/design.md`, "Why few tables are enough", explains the theory.

// Submodules: `order` (permutations), `staircase`, `complete` and `certificate` (the check), `costs`
// and `terms` (what lookups cost), `prefix` and `probe` (one lookup), `trie` (the cheapest lookups of
// one table), `components` (candidates), `search` and `plan` (the choice), `design` and `presets` (how
// layouts are made), `auto` (which layout to use), `predict` (what it takes), `rule`, `keys` and
// `jaccard` (what a match is), `encoding` (bytes).

mod auto;
mod certificate;
mod complete;
mod components;
mod costs;
mod design;
mod encoding;
mod jaccard;
mod keys;
mod order;
mod plan;
mod predict;
mod prefix;
mod presets;
mod probe;
mod rule;
mod search;
mod staircase;
mod terms;
mod trie;

use std::fmt;

pub(crate) use costs::Costs;
pub use jaccard::Jaccard;
pub(crate) use keys::{KeyRule, SketchTest};
pub(crate) use order::{Orders, Permutation};
pub(crate) use plan::{Plan, TablePlan};
pub use predict::Prediction;
pub(crate) use prefix::Prefix;
pub(crate) use probe::Probe;
pub use rule::MatchRule;
pub(crate) use staircase::Staircase;
#[cfg(test)]
pub(crate) use staircase::Step;
pub(crate) use terms::{Terms, filter_is_useful};
pub(crate) use trie::MAX_PLANNED_DISTANCE;

use crate::error::{Error, Result};
use crate::fingerprint::{MINIMA, MINIMA_PER_KEY, Word};

/// Largest distances that databases of 64 and of 128 bits can be created for.
pub(crate) const MAX_DISTANCE_64: u8 = 12;
pub(crate) const MAX_DISTANCE_128: u8 = 10;
/// Most tables that a layout may have.
const MAX_TABLES: usize = 64;
/// Most cells that a layout may have.
const MAX_CELLS: usize = 64;
/// Most bytes in a layout's name.
const MAX_NAME: usize = 64;

/// The bit orders in which a database keeps its fingerprints: one table for each.
///
/// The word is cut into cells of neighbouring bits, the most significant first. Each table has an
/// order of the cells, and keeps every fingerprint with its cells in that order, sorted. Table 0
/// keeps fingerprints as they are. A database's layout is chosen when it is created and stored with
/// it.
///
/// Every table is a copy of the data (4 to 6 bytes per fingerprint at 64 bits), and more tables
/// make queries faster. The layout does not fix a distance: every layout answers queries at any
/// distance exactly, some faster than others.
///
/// | preset | tables | for |
/// | --- | --- | --- |
/// | `single` | 1 | least storage |
/// | `half-2` | 2 | distances up to 3 |
/// | `ring-3` | 3 | distances 4 to 10 |
/// | `ring-4` | 4 | distances 4 to 10 below some 2^24 entries; anything at 128 bits |
/// | `paper-4`, `paper-10`, `paper-16`, `paper-20` | 4 to 20 | the tables of the paper (WWW 2007, section 3.1.1) |
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
///
/// let layout = Layout::preset("half-2", 64)?;
/// assert_eq!((layout.tables(), layout.cells()), (2, &[32, 32][..]));
/// assert_eq!(layout.order(1), &[1, 0]);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    name: String,
    bits: u8,
    cells: Vec<u8>,
    orders: Vec<Vec<u16>>,
}

impl Layout {
    /// Makes a custom layout. `bits` is 64 or 128, `cells` are the widths of the cells from the
    /// most significant bit on, and `orders` is the order of the cells in each table.
    ///
    /// Tables whose orders are rotations of the cells work together best: they are searched as a
    /// ring.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) unless the name has 1 to 64 visible
    /// ASCII characters, there are 1 to 64 cells of at least one bit whose widths sum to `bits`,
    /// there are 1 to 64 orders, each holds every cell once, and the first is 0, 1, 2, and so on.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// let layout = Layout::new("mine", 64, &[24, 20, 20], &[vec![0, 1, 2], vec![1, 2, 0]])?;
    /// assert_eq!(layout.to_string(), "mine");
    /// assert!(Layout::new("short", 64, &[24, 20], &[vec![0, 1]]).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn new(name: &str, bits: u32, cells: &[u8], orders: &[Vec<u16>]) -> Result<Self> {
        check_name(name)?;
        let bits = check_cells(bits, cells)?;
        check_orders(cells.len(), orders)?;
        Ok(Self { name: name.to_owned(), bits, cells: cells.to_vec(), orders: orders.to_vec() })
    }

    /// Returns the layout of tables of keys: table i has the minima of group i in front.
    pub(crate) fn of_keys(keys: u32) -> Self {
        let groups = (MINIMA / MINIMA_PER_KEY) as usize;
        let order = |first: usize| (0..groups).map(move |i| narrow((first + i) % groups)).collect();
        Self {
            name: format!("keys-{keys}"),
            bits: narrow(MINIMA as usize),
            cells: vec![narrow(MINIMA_PER_KEY as usize); groups],
            orders: (0..keys as usize).map(order).collect(),
        }
    }

    /// Returns the name: a preset's name, the one given to [`new`](Self::new), or the one made by
    /// [`auto`](Self::auto).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the width of the fingerprints: 64 or 128.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits.into()
    }

    /// Returns the number of tables, 1 to 64.
    #[must_use]
    pub fn tables(&self) -> usize {
        self.orders.len()
    }

    /// Returns the widths of the cells in bits, the most significant cell first.
    #[must_use]
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// Returns the order of the cells in one table.
    ///
    /// # Panics
    ///
    /// Panics if there is no such table.
    #[must_use]
    pub fn order(&self, table: usize) -> &[u16] {
        &self.orders[table]
    }

    /// Returns the number of leading bits that a table's prefix filter covers: its first cell, but
    /// at most 64 bits.
    pub(crate) fn filter_depth(&self, table: usize) -> u8 {
        let first = self.orders.get(table).and_then(|order| order.first());
        let width = first.and_then(|&cell| self.cells.get(usize::from(cell)));
        width.map_or(64, |&width| width.min(64))
    }

    /// Returns the bit order of one table, ready to apply. `F` must have the layout's width.
    pub(crate) fn permutation<F: Word>(&self, table: usize) -> Permutation<F> {
        debug_assert_eq!(F::BITS, self.bits());
        Permutation::new(&self.cells, self.order(table))
    }

    /// Returns the bit orders of all tables.
    pub(crate) fn permutations<F: Word>(&self) -> Vec<Permutation<F>> {
        (0..self.tables()).map(|table| self.permutation(table)).collect()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// As its name.
#[cfg(feature = "serde")]
impl serde::Serialize for Layout {
    fn serialize<S: serde::Serializer>(
        &self,
        serializer: S,
    ) -> std::result::Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.name)
    }
}

/// Narrows a number that fits.
fn narrow<T: TryFrom<usize> + Default>(number: usize) -> T {
    T::try_from(number).unwrap_or_default()
}

fn check_name(name: &str) -> Result<()> {
    if (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(|b| b.is_ascii_graphic()) {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "layout name {name:?}: expected 1 to {MAX_NAME} visible ASCII characters"
    )))
}

fn check_cells(bits: u32, cells: &[u8]) -> Result<u8> {
    let width = match bits {
        64 => 64,
        128 => 128,
        _ => return Err(Error::invalid(format!("layout of {bits} bits: expected 64 or 128"))),
    };
    if !(1..=MAX_CELLS).contains(&cells.len()) || cells.contains(&0) {
        return Err(Error::invalid(format!(
            "layout cells {cells:?}: expected 1 to {MAX_CELLS} cells of at least one bit"
        )));
    }
    let sum: u32 = cells.iter().map(|&w| u32::from(w)).sum();
    if sum != bits {
        return Err(Error::invalid(format!("layout cells sum to {sum} bits, not {bits}")));
    }
    Ok(width)
}

fn check_orders(cells: usize, orders: &[Vec<u16>]) -> Result<()> {
    if !(1..=MAX_TABLES).contains(&orders.len()) {
        return Err(Error::invalid(format!(
            "layout of {} tables: expected 1 to {MAX_TABLES}",
            orders.len()
        )));
    }
    for (table, order) in orders.iter().enumerate() {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.iter().map(|&c| usize::from(c)).eq(0..cells) {
            return Err(Error::invalid(format!(
                "layout table {table}: {order:?} is not an order of {cells} cells"
            )));
        }
    }
    if !orders.first().is_some_and(|order| order.is_sorted()) {
        return Err(Error::invalid("layout table 0: its cells must be in ascending order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
