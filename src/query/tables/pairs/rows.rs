//! The fingerprints of all sources in one bit order, part by part.

use crate::base::error::Result;
use crate::file::paged::Sequential;
use crate::fingerprint::Word;
use crate::index::tables::layout::{BitOrder, Prefix};
use crate::index::tables::table::Table;
use crate::store::version::Version;

/// Blocks that are decoded at a time.
const STEP: usize = 1 << 10;

/// The live fingerprints of a version in the bit order of one table.
#[derive(Debug)]
pub(super) struct Rows<'a, F> {
    /// The table of each segment.
    segments: Vec<&'a Table<F>>,
    /// The fingerprints in memtables, ascending.
    recent: Vec<F>,
    /// Fingerprints in `segments` that have no live entry, ascending.
    gone: Vec<F>,
}

/// Reads the segments of [`Rows`].
pub(super) type Readers<'a, F> = Vec<Sequential<'a, Table<F>>>;

impl<'a, F: Word> Rows<'a, F> {
    /// Takes the fingerprints of memtables and those to leave out unpermuted.
    pub(super) fn new(
        version: &'a Version<F>,
        table: usize,
        order: &BitOrder,
        recent: &[F],
        gone: &[F],
    ) -> Self {
        let permuted = |fingerprints: &[F]| {
            let mut rows: Vec<F> = fingerprints.iter().map(|&f| order.apply(f)).collect();
            rows.sort_unstable();
            rows
        };
        let segments = version.segments.iter().filter_map(|segment| segment.table(table));
        let segments = segments.collect();
        Self { segments, recent: permuted(recent), gone: permuted(gone) }
    }

    pub(super) fn readers(&self) -> Readers<'a, F> {
        self.segments.iter().map(|table| Sequential::new(*table)).collect()
    }

    /// Returns a number of rows below which [`most`](Self::most) says nothing: the rows of a few
    /// blocks per segment.
    pub(super) fn least_known(&self) -> u64 {
        4 * self.segments.iter().map(|table| in_block(table) + 1).sum::<u64>()
    }

    /// Returns about how many fingerprints have this prefix, and never too few.
    pub(super) fn most(&self, prefix: Prefix<F>) -> Result<u64> {
        let recent = self.recent_between(prefix.low(), prefix.high()).len() as u64;
        self.segments.iter().try_fold(recent, |most, table| {
            let blocks = table.blocks_between(prefix.low(), prefix.high())?.len() as u64;
            Ok(most + (blocks * (in_block(table) + 1)).min(table.count()))
        })
    }

    /// Replaces `rows` by the live fingerprints with this prefix, ascending.
    pub(super) fn load(
        &self,
        prefix: Prefix<F>,
        readers: &mut Readers<'a, F>,
        rows: &mut Vec<F>,
    ) -> Result<()> {
        let (low, high) = (prefix.low(), prefix.high());
        rows.clear();
        for (table, reader) in self.segments.iter().zip(readers) {
            load_table(table, prefix, reader, rows)?;
        }
        let recent = self.recent_between(low, high);
        rows.extend_from_slice(recent);
        if self.segments.len() > 1 || !recent.is_empty() {
            // The sort is fast for a few ascending runs.
            rows.sort();
            rows.dedup();
        }
        self.leave_out_gone(low, rows);
        Ok(())
    }

    fn recent_between(&self, low: F, high: F) -> &[F] {
        let from = self.recent.partition_point(|&row| row < low);
        let to = self.recent.partition_point(|&row| row <= high);
        self.recent.get(from..to).unwrap_or_default()
    }

    fn leave_out_gone(&self, low: F, rows: &mut Vec<F>) {
        let from = self.gone.partition_point(|&row| row < low);
        let mut gone = self.gone[from..].iter().copied().peekable();
        if gone.peek().is_some() {
            rows.retain(|&row| {
                while gone.next_if(|&gone| gone < row).is_some() {}
                gone.peek() != Some(&row)
            });
        }
    }
}

/// Returns the number of fingerprints in a block, rounded up.
fn in_block<F: Word>(table: &Table<F>) -> u64 {
    table.count().div_ceil((table.blocks() as u64).max(1))
}

/// Appends the fingerprints of a table with this prefix to `rows`, ascending.
fn load_table<'a, F: Word>(
    table: &'a Table<F>,
    prefix: Prefix<F>,
    reader: &mut Sequential<'a, Table<F>>,
    rows: &mut Vec<F>,
) -> Result<()> {
    let (low, high) = (prefix.low(), prefix.high());
    let blocks = table.blocks_between(low, high)?;
    for first in blocks.clone().step_by(STEP) {
        let some = first..blocks.end.min(first + STEP);
        let before = rows.len();
        table.reader_of(&some, reader)?.decode(some, rows)?;
        let lower = rows[before..].partition_point(|&row| row < low);
        rows.drain(before..before + lower);
        let end = before + rows[before..].partition_point(|&row| row <= high);
        rows.truncate(end);
    }
    Ok(())
}
