//! Layouts: in which bit orders a database keeps its fingerprints, and which prefixes of each a
//! query looks up.
//!
//! **Tables and cells.** A table holds every fingerprint with its bits in one order, sorted, so
//! that all entries with given *leading* bits lie together (Manku, Jain, Das Sarma, "Detecting
//! Near-Duplicates for Web Crawling", WWW 2007, section 3.1). The word is cut into *cells* of
//! neighbouring bits; a bit order is an order of the cells. Of k wrong bits in four cells at most k
//! fall on any one table's leading cells, and if the tables lead with different cells some table
//! has few wrong bits in front: there a short list of prefixes finds the entry.
//!
//! **Staircases.** How few is settled when a query is planned, not when the layout is made. A
//! [`Staircase`](staircase::Staircase) allows a table so many wrong bits in its first cell, so many
//! in its first two, and so on, and the table then *accepts* those error patterns. A set of
//! staircases is *complete* for k if every pattern of k wrong bits is accepted by some table. The
//! paper's designs allow none in a prefix of fixed length, which takes 10 to 20 copies of the data
//! to be fast. A few tables asked cleverly beat them: let the tables' orders go round a ring of
//! cells and let thresholds t of sum k + 1 be shared among the cells; a table that allows t - 1
//! errors in its first cell, t + t' - 1 in its first two, ... then accepts each pattern of weight k
//! in *exactly one* of the tables (Raney's lemma; the "pigeonring" of Qin and Xiao, VLDB 2018).
//! A ring's cell may itself be a small covering design, see [`components`].
//!
//! **Plans.** [`Layout::plan_for`] shares the errors out for one size and one distance, walks the
//! tables' tries for the cheapest list of prefixes, and falls back to a scan where that is
//! cheaper. Whatever it chose is checked for completeness from the bit orders that the probes use.
//!
//! Submodules: `order` (permutations), `staircase`, `complete` (the check), `cost` (what look-ups
//! cost), `trie` (walks), `components` (candidates), `search` and `plan` (the choice), `design` and
//! `presets` (how layouts are made), `tune`, `propose` and `auto` (which one to take), `encoding`.

mod auto;
mod complete;
mod components;
mod cost;
mod design;
mod encoding;
mod order;
mod plan;
mod presets;
mod propose;
mod search;
mod staircase;
mod trie;
mod tune;

use std::fmt;

pub use cost::Costs;
pub(crate) use cost::{Terms, doublings_of_block, filter_says_no};
pub(crate) use order::Permutation;
pub(crate) use plan::{Plan, Probe};
pub use propose::{Goal, Needs, Proposal, Proposals};
pub(crate) use trie::MAX_DISTANCE;

use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;

/// Most tables that a layout may have.
const MAX_TABLES: usize = 64;
/// Most cells that a layout may have.
const MAX_CELLS: usize = 64;
/// Most bytes in a layout's name.
const MAX_NAME: usize = 64;

/// In which bit orders a database keeps its fingerprints: one table for each.
///
/// The word is cut into cells of neighbouring bits, the most significant first; a table's order is
/// an order of the cells, and the table keeps every fingerprint rearranged so, sorted. Table 0
/// keeps them as they are. A database's layout is chosen when it is created and stored with it.
///
/// Every table is a copy of the data (4 to 6 bytes a fingerprint each at 64 bits), and more of
/// them make queries faster. The layout fixes no distance: any layout answers any distance
/// exactly, some faster than others.
///
/// | preset | tables | for |
/// | --- | --- | --- |
/// | `single` | 1 | least storage |
/// | `half-2` | 2 | distances up to 3 |
/// | `ring-3` | 3 | distances 4 to 10 |
/// | `ring-4` | 4 | the same below some 2^24 entries; anything at 128 bits |
/// | `tri-4`, `tri-6`, `quad-8`, `biplane-11`, `affine-14`, `plane-15` | 4 to 15 | distance 3, latency before storage |
/// | `pairs-6` | 6 | distance 2 |
/// | `paper-4`, `paper-10`, `paper-16`, `paper-20` | 4 to 20 | the designs named in the WWW 2007 paper, section 3.1.1 |
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
    /// A layout of your own: `bits` is 64 or 128, `cells` the widths of the cells from the most
    /// significant bit on, `orders` the order of the cells in each table.
    ///
    /// Tables whose order is a rotation of the cells make the best use of each other: they are
    /// asked as a ring.
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

    /// Its name: of a preset, as given to [`new`](Self::new), or made by [`auto`](Self::auto).
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The width of its fingerprints: 64 or 128.
    #[must_use]
    pub fn bits(&self) -> u32 {
        self.bits.into()
    }

    /// Number of tables, 1 to 64.
    #[must_use]
    pub fn tables(&self) -> usize {
        self.orders.len()
    }

    /// Widths of the cells in bits, the most significant first.
    #[must_use]
    pub fn cells(&self) -> &[u8] {
        &self.cells
    }

    /// The order of the cells in one table.
    ///
    /// # Panics
    ///
    /// If there is no such table.
    #[must_use]
    pub fn order(&self, table: usize) -> &[u16] {
        &self.orders[table]
    }

    /// Leading bits of a table that its prefix filter is over: those of its first cell.
    pub(crate) fn filter_depth(&self, table: usize) -> u8 {
        let first = self.orders.get(table).and_then(|order| order.first());
        let width = first.and_then(|&cell| self.cells.get(usize::from(cell)));
        width.map_or(64, |&width| width.min(64))
    }

    /// The bit order of one table, ready to apply. `F` must have the layout's width.
    pub(crate) fn permutation<F: Fingerprint>(&self, table: usize) -> Permutation<F> {
        debug_assert_eq!(F::BITS, self.bits());
        Permutation::new(&self.cells, self.order(table))
    }

    /// The bit orders of all tables.
    pub(crate) fn permutations<F: Fingerprint>(&self) -> Vec<Permutation<F>> {
        (0..self.tables()).map(|table| self.permutation(table)).collect()
    }
}

impl fmt::Display for Layout {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
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
        return Err(Error::invalid("layout table 0: its cells must stand in their own order"));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
