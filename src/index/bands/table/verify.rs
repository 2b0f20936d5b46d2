//! Checking an entire table of bands.

use super::reader::BandTable;
use super::row::rows_of_leaf;
use crate::base::error::{Error, Result};
use crate::base::inspection::Inspection;
use crate::documents::Documents;
use crate::file::codec::set_hash::set_hash;
use crate::file::paged::{FileSummary, Paged, Sequential};
use crate::fingerprint::Fingerprint;

/// Buckets that are read between two looks at how much memory the reader takes.
const BUCKETS: u32 = 1 << 12;

impl BandTable {
    /// Reads the entire file and, if its checksums match, checks that its rows ascend. With the
    /// documents, if these are sound, checks that the rows are those of their sketches: of this
    /// band, with so many minima, in a table for so many documents.
    pub(crate) fn verify<F: Fingerprint>(
        &self,
        expected: FileSummary,
        band: (u32, u32),
        documents: Option<&Documents<F>>,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if !self.file().verify(expected, inspection)? {
            return Ok(());
        }
        let checked = self.check_rows().and_then(|sum| match documents {
            Some(documents) if sum_of(band, documents)? != sum => {
                Err(Error::corruption("the bands do not match the sketches of the documents"))
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
        let end = self.buckets();
        for first in (0..end).step_by(BUCKETS as usize) {
            let buckets = first..end.min(first.saturating_add(BUCKETS));
            reader.get()?.view().for_each_row(buckets, &mut |row| {
                ascends &= last.replace(row) <= Some(row);
                sum = sum.wrapping_add(set_hash(row.0));
                count += 1;
            })?;
        }
        if ascends && count == self.rows() {
            return Ok(sum);
        }
        Err(Error::corruption("the rows of the bands do not ascend, or some are in no bucket"))
    }
}

/// Returns the sum of the hashes of the rows that the documents make.
fn sum_of<F: Fingerprint>(band: (u32, u32), documents: &Documents<F>) -> Result<u64> {
    let (count, mut sum, mut rows) = (documents.originals(), 0u64, Vec::new());
    documents.for_each_leaf(|page, sketches| {
        rows_of_leaf(sketches, band, count, page, &mut rows);
        let hashes = rows.iter().map(|&row| set_hash(row.stored().0));
        sum = hashes.fold(sum, u64::wrapping_add);
        Ok(())
    })?;
    Ok(sum)
}
