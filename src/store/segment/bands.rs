//! Writes the tables of bands of a segment, which are made of its documents.

use super::writer::SegmentWriter;
use crate::base::error::Result;
use crate::base::parallel;
use crate::documents::Documents;
use crate::file::codec::header::FileKind;
use crate::file::names::FileName;
use crate::file::paged::FileSummary;
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::Sorter;
use crate::fingerprint::Fingerprint;
use crate::index::bands::{BandBuilder, rows_of_leaf};

impl SegmentWriter<'_> {
    /// Writes all tables of bands, on up to `threads` threads, after the documents. `wrote` is
    /// called with the number of rows after each batch. Its error ends the write.
    pub(crate) fn bands<F: Fingerprint>(
        &mut self,
        threads: usize,
        wrote: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<()> {
        let (Some(rule), Some(file)) = (self.settings.index.bands(), self.files.documents) else {
            return Ok(());
        };
        let header = self.settings.header(FileKind::Documents, 0, self.id);
        let name = FileName::Documents(self.id.number).to_string();
        let (storage, ids) = (&**self.folder.storage(), self.settings.ids);
        let documents = Documents::<F>::open(storage, &name, &header, file.file.len, ids)?;
        let memory = self.sort_memory / threads.clamp(1, rule.bands as usize);
        let mut written: Vec<Option<FileSummary>> = (0..rule.bands).map(|_| None).collect();
        let tables: Vec<_> = (0u16..).zip(&mut written).collect();
        parallel::for_each(
            threads,
            tables.into_iter(),
            || (),
            |(), (number, written)| {
                *written =
                    Some(self.write_bands(number, rule.minima, &documents, memory, wrote)?);
                Ok(())
            },
        )?;
        self.files.bands = written.into_iter().flatten().collect();
        Ok(())
    }

    /// Writes one of them, and sorts its rows in this much memory.
    fn write_bands<F: Fingerprint>(
        &self,
        number: u16,
        minima: u32,
        documents: &Documents<F>,
        memory: usize,
        wrote: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<FileSummary> {
        let files = ScratchFiles::InDatabase(self.folder);
        let header = self.settings.header(FileKind::Bands, number, self.id);
        let size = (documents.originals(), documents.leaf_pages());
        let mut builder = self
            .create(FileName::Band(self.id.number, number), |storage, name| {
                BandBuilder::create(storage, name, &header, size, files)
            })?;
        let (mut sorter, mut rows) = (Sorter::new(files, memory, 1), Vec::new());
        documents.for_each_leaf(|page, sketches| {
            rows_of_leaf(sketches, (number.into(), minima), size.0, page, &mut rows);
            rows.iter().try_for_each(|&row| sorter.push(row))
        })?;
        let sorted = sorter.finish(&|_| Ok(()))?.with_passes(1);
        sorted.for_each(&mut |rows| {
            builder.push_all(rows)?;
            wrote(rows.len() as u64)
        })?;
        builder.finish()
    }
}
