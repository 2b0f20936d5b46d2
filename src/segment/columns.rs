//! Writes the tables of columns of a segment, which are made of its table 0.

use super::writer::{SegmentContents, SegmentWriter};
use crate::codec::header::FileKind;
use crate::columns::{ColumnsBuilder, RowMaker};
use crate::error::Result;
use crate::file_names::FileName;
use crate::fingerprint::Fingerprint;
use crate::layout::{Permutation, bucket_bits};
use crate::paged::{FileSummary, OpenPaged};
use crate::parallel;
use crate::scratch::ScratchFiles;
use crate::sorter::Sorter;
use crate::table::Table;

impl SegmentWriter<'_> {
    /// Writes all tables of columns, on up to `threads` threads, after table 0.
    pub(super) fn write_columns<F: Fingerprint>(
        &self,
        contents: &dyn SegmentContents<F>,
        threads: usize,
    ) -> Result<Vec<FileSummary>> {
        let Some(file) = self.files.tables.first() else { return Ok(Vec::new()) };
        let header = self.settings.header(FileKind::Table, 0, self.id);
        let name = FileName::Table(self.id.number, 0).to_string();
        let table = Table::open(&**self.folder.storage(), &name, &header, file.len)?;
        let orders = self.settings.permutations();
        let memory = self.sort_memory / threads.clamp(1, orders.len());
        let mut written: Vec<Option<FileSummary>> = orders.iter().map(|_| None).collect();
        let tables: Vec<_> = (0..).zip(&orders).zip(&mut written).collect();
        parallel::for_each(
            threads,
            tables.into_iter(),
            || (),
            |(), ((number, order), written)| {
                *written = Some(self.write_rows(number, order, &table, memory, contents)?);
                Ok(())
            },
        )?;
        Ok(written.into_iter().flatten().collect())
    }

    /// Writes one of them, and sorts its rows in this much memory.
    fn write_rows<F: Fingerprint>(
        &self,
        number: u16,
        order: &Permutation<F>,
        table: &Table<F>,
        memory: usize,
        contents: &dyn SegmentContents<F>,
    ) -> Result<FileSummary> {
        let files = ScratchFiles::InDatabase(self.folder);
        let header = self.settings.header(FileKind::Columns, number, self.id);
        let name = FileName::Columns(self.id.number, number);
        let mut builder = self.create(name, |storage, name| {
            let size = (table.count(), table.blocks() as u64);
            ColumnsBuilder::create(storage, name, &header, size, files)
        })?;
        let mut maker = RowMaker::new(order.clone(), bucket_bits(table.count()));
        let mut write = |rows: &[u128]| {
            builder.push_all(rows)?;
            contents.wrote_rows(rows.len() as u64)
        };
        if number == 0 {
            // The first table has the bit order of table 0, so its rows are sorted already.
            table
                .for_each_block(|block, fingerprints| write(maker.rows_of(block, fingerprints)))?;
        } else {
            let mut sorter = Sorter::new(files, memory, 1);
            table.for_each_block(|block, fingerprints| {
                let rows = maker.rows_of(block, fingerprints);
                rows.iter().try_for_each(|&row| sorter.push(row))
            })?;
            sorter.finish(&|_| Ok(()))?.with_passes(1).for_each(&mut write)?;
        }
        builder.finish()
    }
}
