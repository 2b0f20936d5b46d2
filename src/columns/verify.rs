//! Checking an entire table of columns.

use super::reader::Columns;
use super::row::RowMaker;
use crate::codec::set_hash::set_hash;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::inspection::Inspection;
use crate::layout::Permutation;
use crate::paged::{FileSummary, Paged, Sequential};
use crate::table::Table;

/// Buckets that are read between two looks at how much memory the reader takes.
const BUCKETS: u32 = 1 << 12;

impl Columns {
    /// Reads the entire file and, if its checksums match, checks that its rows ascend. With table
    /// 0, if that is sound, checks that the rows are those of its fingerprints in this bit order.
    pub(crate) fn verify<F: Fingerprint>(
        &self,
        expected: FileSummary,
        order: &Permutation<F>,
        table: Option<&Table<F>>,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if !self.file().verify(expected, inspection)? {
            return Ok(());
        }
        let checked = self.check_rows().and_then(|sum| match table {
            Some(table) if self.sum_of(order, table)? != sum => {
                Err(Error::corruption("the columns do not match the fingerprints of table 0"))
            }
            _ => Ok(()),
        });
        if let Err(error) = checked {
            inspection.report(error.at_path(self.file().path()));
        }
        Ok(())
    }

    /// Checks that all rows ascend, and returns the sum of their hashes.
    fn check_rows(&self) -> Result<u64> {
        let (mut last, mut sum, mut count, mut ascends) = (None, 0u64, 0usize, true);
        let mut reader = Sequential::new(self);
        let end = 1u32 << self.bucket_bits();
        for first in (0..end).step_by(BUCKETS as usize) {
            let buckets = first..end.min(first.saturating_add(BUCKETS));
            reader.get()?.view().for_each_row(buckets, &mut |row| {
                ascends &= last.replace(row) < Some(row);
                sum = sum.wrapping_add(set_hash(row.0));
                count += 1;
            })?;
        }
        if ascends && count == self.rows() {
            return Ok(sum);
        }
        Err(Error::corruption("the rows of the columns do not ascend, or some are in no bucket"))
    }

    /// Returns the sum of the hashes of the rows that the fingerprints of table 0 make.
    fn sum_of<F: Fingerprint>(&self, order: &Permutation<F>, table: &Table<F>) -> Result<u64> {
        let mut maker = RowMaker::new(order.clone(), self.bucket_bits());
        let mut sum = 0u64;
        table.for_each_block(|block, fingerprints| {
            for &row in maker.rows_of(block, fingerprints) {
                sum = sum.wrapping_add(set_hash(row));
            }
            Ok(())
        })?;
        Ok(sum)
    }
}
