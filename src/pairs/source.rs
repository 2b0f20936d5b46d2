//! The fingerprints of a segment in the bit order of one table.

use std::ops::Range;

use crate::columns::Columns;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Permutation, Prefix};
use crate::paged::Sequential;
use crate::segment::Segment;
use crate::table::Table;

/// Blocks that are decoded at a time.
const STEP: usize = 1 << 10;

/// Where the fingerprints are.
#[derive(Debug)]
pub(super) enum RowSource<'a, F> {
    /// In a table of blocks with this bit order.
    Table(&'a Table<F>),
    /// In table 0, to which a table of columns with this bit order refers.
    Columns { columns: &'a Columns, table: &'a Table<F>, order: Permutation<F> },
}

/// Reads the files of a source.
pub(super) struct RowReader<'a, F> {
    table: Sequential<'a, Table<F>>,
    columns: Option<Sequential<'a, Columns>>,
    /// The blocks of the rows of columns.
    blocks: Vec<usize>,
}

impl<'a, F: Fingerprint> RowSource<'a, F> {
    /// Returns the source of a segment for the table with this number and bit order; `None` if it
    /// has no such table.
    pub(super) fn of(
        segment: &'a Segment<F>,
        number: usize,
        order: &Permutation<F>,
    ) -> Option<Self> {
        match (segment.columns().get(number), segment.identity_table()) {
            // Table 0 has the bit order of the first table.
            (Some(columns), Some(table)) if number > 0 => {
                Some(Self::Columns { columns, table, order: order.clone() })
            }
            _ => segment.tables().get(number).map(Self::Table),
        }
    }

    pub(super) fn reader(&self) -> RowReader<'a, F> {
        let (table, columns) = match *self {
            Self::Table(table) => (table, None),
            Self::Columns { columns, table, .. } => (table, Some(Sequential::new(columns))),
        };
        RowReader { table: Sequential::new(table), columns, blocks: Vec::new() }
    }

    fn table(&self) -> &'a Table<F> {
        match *self {
            Self::Table(table) | Self::Columns { table, .. } => table,
        }
    }

    /// Returns the number of fingerprints in a block, rounded up.
    pub(super) fn in_block(&self) -> u64 {
        let table = self.table();
        table.count().div_ceil((table.blocks() as u64).max(1))
    }

    /// Returns the length of the longest prefix that [`most`](Self::most) tells apart.
    pub(super) fn resolution(&self) -> u32 {
        match self {
            Self::Table(_) => F::BITS,
            Self::Columns { columns, .. } => columns.view().resolution().min(F::BITS),
        }
    }

    /// Returns about how many fingerprints have this prefix, and never too few.
    pub(super) fn most(&self, prefix: Prefix<F>) -> Result<u64> {
        let count = self.table().count();
        let most = match self {
            Self::Table(table) => {
                let blocks = table.blocks_between(prefix.low(), prefix.high())?.len() as u64;
                blocks * (self.in_block() + 1)
            }
            Self::Columns { columns, .. } => {
                let rows = columns.view().rows_with(prefix)?.len() as u64;
                // A row may stand for several fingerprints of its block, but all rows together
                // have no more of these than there are more fingerprints than rows.
                let more = count.saturating_sub(columns.rows() as u64);
                rows + more.min(rows * self.in_block())
            }
        };
        Ok(most.min(count))
    }

    /// Appends the fingerprints with this prefix to `rows`, ascending.
    pub(super) fn load(
        &self,
        prefix: Prefix<F>,
        reader: &mut RowReader<'a, F>,
        rows: &mut Vec<F>,
    ) -> Result<()> {
        let (low, high) = (prefix.low(), prefix.high());
        match self {
            Self::Table(table) => {
                let blocks = table.blocks_between(low, high)?;
                for first in blocks.clone().step_by(STEP) {
                    let some = first..blocks.end.min(first + STEP);
                    let before = rows.len();
                    table.reader_of(&some, &mut reader.table)?.decode(some, rows)?;
                    let lower = rows[before..].partition_point(|&row| row < low);
                    rows.drain(before..before + lower);
                    let end = before + rows[before..].partition_point(|&row| row <= high);
                    rows.truncate(end);
                }
            }
            Self::Columns { columns, table, order } => {
                reader.find_blocks(columns, table, prefix)?;
                let (before, mut decoded) = (rows.len(), Vec::new());
                for run in reader.blocks.chunk_by(|&a, &b| b == a + 1) {
                    let some = run[0]..run[0] + run.len();
                    decoded.clear();
                    table.reader_of(&some, &mut reader.table)?.decode(some, &mut decoded)?;
                    let permuted = decoded.iter().map(|&fingerprint| order.apply(fingerprint));
                    rows.extend(permuted.filter(|row| (low..=high).contains(row)));
                }
                rows[before..].sort_unstable();
            }
        }
        Ok(())
    }
}

impl<F: Fingerprint> RowReader<'_, F> {
    /// Finds the blocks of the rows with this prefix, ascending, each once.
    fn find_blocks(
        &mut self,
        columns: &Columns,
        table: &Table<F>,
        prefix: Prefix<F>,
    ) -> Result<()> {
        let reader = match &mut self.columns {
            Some(own) if columns.is_cold() => own.get()?,
            _ => columns,
        };
        let view = reader.view();
        let rows: Range<usize> = view.rows_with(prefix)?;
        self.blocks.clear();
        self.blocks.extend(view.blocks(&rows)?.map(|block| block as usize));
        self.blocks.sort_unstable();
        self.blocks.dedup();
        match self.blocks.last() {
            Some(&last) if last >= table.blocks() => Err(view.no_such_block(rows.start)),
            _ => Ok(()),
        }
    }
}
