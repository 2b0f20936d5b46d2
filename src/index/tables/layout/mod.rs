//! Layouts: the bit orders in which a database keeps its fingerprints, and how to choose them.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`Layout`] | one bit order per table; also at the root of the crate |
//! | [`Prediction`] | the predicted size of a database, and the time of its queries |
//!
//! A table holds every fingerprint with its bits in one order, sorted, so all entries with given
//! *leading* bits are next to each other. The word is cut into *cells* of neighbouring bits. In a
//! *ring*, each table begins with another cell, and the others follow around the ring. In the
//! designs of the paper, each choice of two cells, say, leads a table. If two fingerprints differ
//! in few bits, then in some table few of these are in the leading cells, and a short list of
//! prefixes finds the match there.
//!
//! The plan of a query decides how few, not the layout. A *staircase* is a list of limits: how many
//! differing bits a table allows in its first cell, in its first two cells, and so on. The planner
//! chooses the staircases of all tables together, finds the cheapest prefixes for them, and proves
//! that they find every match; where a scan is cheaper, the query scans. The repository's
//! `docs/design.md`, "Why few tables are enough", explains the theory.

// Submodules: `order` (bit orders), `design` (the paper's tables), `staircase` and `certificate`
// (the check), `costs` and `terms` (what lookups cost), `prefix` and `probe` (one lookup),
// `trie` (the cheapest lookups of one table), `search` and `plan` (the choice), `size_class`
// (which sizes share one), `reads` (what it reads), `presets` (layouts with names), `auto`
// (which layout to use), `predict` (what it takes), `encoding` (bytes).

mod auto;
mod certificate;
mod costs;
mod design;
mod encoding;
mod order;
mod plan;
mod predict;
mod prefix;
mod presets;
mod probe;
mod reads;
mod search;
pub(crate) mod size_class;
mod staircase;
mod terms;
mod trie;

use std::fmt;

// Public as `fpdb::layout::Jaccard` and so on.
pub use crate::index::bands::Jaccard;
pub use crate::index::prediction::Prediction;
pub use crate::index::rule::{MatchRule, Matcher};
pub(crate) use costs::Costs;
pub(crate) use order::BitOrder;
pub(crate) use plan::{Plan, TablePlan};
pub(crate) use prefix::Prefix;
pub(crate) use probe::Probe;
pub(crate) use staircase::Staircase;
#[cfg(test)]
pub(crate) use staircase::Step;
pub(crate) use terms::{Terms, filter_is_useful};
pub(crate) use trie::MAX_PLANNED_DISTANCE;

use self::design::Design;
use crate::base::error::{Error, Result};

/// Most cells that a layout may have.
const MAX_CELLS: usize = 64;
/// Most tables that a layout may have.
const MAX_TABLES: usize = 64;
/// Most bytes in a layout's name.
const MAX_NAME: usize = 64;

/// The bit orders in which a database keeps its fingerprints: one table for each.
///
/// The word is cut into cells of neighbouring bits, the most significant first. Each table has an
/// order of the cells, and keeps every fingerprint with its cells in this order, sorted. Table 0
/// keeps fingerprints as they are. A database's layout is chosen when it is created and stored with
/// it.
///
/// In a *ring* there is a table for each cell, which has this cell in front, and the others follow
/// around the ring. In the paper's designs, each choice of some parts of the word leads one table.
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
/// | `paper-4` | 4 | the same as `ring-4`: each fourth of the word leads a table |
/// | `paper-10` | 10 | the paper's tables that two of five parts lead, with 25 or 26 bits |
/// | `paper-16` | 16 | a fourth, and a fourth of the rest, lead with 28 bits |
/// | `paper-20` | 20 | three of six parts lead with 31 to 33 bits |
///
/// At distance 3, one exact prefix per table is enough in each of the paper's designs (Manku, Jain
/// and Das Sarma, *Detecting Near-Duplicates for Web Crawling*, WWW 2007, section 3.1.1). A query
/// flips bits instead where that is predicted to be faster.
///
/// # Examples
///
/// ```
/// use fpdb::Layout;
///
/// let layout = Layout::preset("half-2", 64)?;
/// assert_eq!((layout.tables(), layout.cells()), (2, &[32, 32][..]));
/// assert_eq!(layout.order(1), [1, 0]);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    name: String,
    bits: u8,
    cells: Vec<u8>,
    /// For each table, the cells in their order.
    orders: Vec<Vec<usize>>,
    /// What the orders are, if they are no ring.
    design: Option<Design>,
}

impl Layout {
    /// Makes a ring with a name of its own. `bits` is 64 or 128, and `cells` are the widths of the
    /// cells from the most significant bit on. There are as many tables.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) unless the name has 1 to 64 visible
    /// ASCII characters, and there are 1 to 64 cells of at least one bit whose widths sum to
    /// `bits`.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// let layout = Layout::new("mine", 64, &[24, 20, 20])?;
    /// assert_eq!((layout.to_string(), layout.tables()), ("mine".to_owned(), 3));
    /// assert!(Layout::new("short", 64, &[24, 20]).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn new(name: &str, bits: u32, cells: &[u8]) -> Result<Self> {
        check_name(name)?;
        let bits = check_cells(bits, cells)?;
        let orders = rotations(cells.len()).collect();
        Ok(Self { name: name.to_owned(), bits, cells: cells.to_vec(), orders, design: None })
    }

    /// Makes a layout of these [`orders`](Self::order) of the cells, one for each table, such as
    /// those of another database.
    ///
    /// A query searches the tables whose orders are rotations, as a ring. If the orders are those
    /// of one of the paper's designs, it can also search all of its tables. It searches no other
    /// tables, so these only take space.
    ///
    /// # Errors
    ///
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) for a name or cells that
    /// [`new`](Self::new) refuses, and unless there are 1 to 64 orders, each has every cell once,
    /// and the first is 0, 1, 2, and so on.
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// let paper = Layout::preset("paper-10", 64)?;
    /// let orders: Vec<_> = (0..paper.tables()).map(|table| paper.order(table)).collect();
    /// let copy = Layout::with_orders(paper.name(), 64, paper.cells(), &orders)?;
    /// assert_eq!(copy, paper);
    /// assert!(Layout::with_orders("no order", 64, &[32, 32], &[[1, 0]]).is_err());
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn with_orders(
        name: &str,
        bits: u32,
        cells: &[u8],
        orders: &[impl AsRef<[usize]>],
    ) -> Result<Self> {
        let ring = Self::new(name, bits, cells)?;
        let orders: Vec<Vec<usize>> = orders.iter().map(|order| order.as_ref().to_vec()).collect();
        check_orders(cells.len(), &orders)?;
        let design = Design::of(ring.bits, cells, &orders);
        Ok(Self { orders, design, ..ring })
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
    /// Panics unless `table` is less than [`tables`](Self::tables).
    #[must_use]
    pub fn order(&self, table: usize) -> &[usize] {
        &self.orders[table]
    }

    /// Returns the number of bits that lead a table: those of its first cell or, in a design of the
    /// paper, of the parts that lead it.
    ///
    /// # Panics
    ///
    /// Panics unless `table` is less than [`tables`](Self::tables).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Layout;
    ///
    /// assert_eq!(Layout::preset("half-2", 64)?.leading_bits(0), 32);
    /// assert_eq!(Layout::preset("paper-16", 64)?.leading_bits(0), 28);
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn leading_bits(&self, table: usize) -> u32 {
        let of_design = self.design.as_ref().and_then(|design| design.depth(table));
        let first_cell = || self.cells[self.orders[table][0]];
        of_design.unwrap_or_else(first_cell).into()
    }

    /// Returns the number of leading bits that a table's prefix filter covers: those that lead the
    /// table, but at most 64.
    pub(crate) fn filter_depth(&self, table: usize) -> u8 {
        narrow(self.leading_bits(table).min(64) as usize)
    }

    /// Returns the bit order of one table.
    pub(crate) fn bit_order(&self, table: usize) -> BitOrder {
        BitOrder::new(&self.cells, &self.orders[table])
    }

    /// Returns the bit orders of all tables.
    pub(crate) fn bit_orders(&self) -> Vec<BitOrder> {
        (0..self.tables()).map(|table| self.bit_order(table)).collect()
    }

    /// Returns for each cell the table that begins with it and has the others follow around the
    /// ring, if there is one.
    fn ring(&self) -> Vec<Option<usize>> {
        let table = |rotation: Vec<usize>| self.orders.iter().position(|order| *order == rotation);
        rotations(self.cells.len()).map(table).collect()
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

/// Returns the orders of a ring's tables.
fn rotations(cells: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..cells).map(move |first| (0..cells).map(|turn| (first + turn) % cells).collect())
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

fn check_orders(cells: usize, orders: &[Vec<usize>]) -> Result<()> {
    if !(1..=MAX_TABLES).contains(&orders.len()) {
        let found = orders.len();
        return Err(Error::invalid(format!(
            "layout of {found} tables: expected 1 to {MAX_TABLES}"
        )));
    }
    for (table, order) in orders.iter().enumerate() {
        let mut sorted = order.clone();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..cells) {
            return Err(Error::invalid(format!(
                "layout table {table}: {order:?} is not an order of {cells} cells"
            )));
        }
        if table == 0 && !order.is_sorted() {
            return Err(Error::invalid("layout table 0: its cells must be in ascending order"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
