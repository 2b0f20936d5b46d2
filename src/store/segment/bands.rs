//! Writes the tables of bands of a segment, which are made of its documents.

use super::IndexFiles;
use super::writer::SegmentWriter;
use crate::base::error::Result;
use crate::base::parallel;
use crate::documents::Documents;
use crate::file::codec::header::FileKind;
use crate::file::names::FileName;
use crate::file::paged::FileSummary;
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::{Record, Sorted, Sorter};
use crate::fingerprint::Fingerprint;
use crate::index::bands::{BandBuilder, BandRule, Row, rows_of_leaf};

/// How many tables a thread makes in one pass over the documents if their rows do not fit in
/// memory. With more, fewer bytes of documents would be read, but more scratch files would be on
/// disk at the same time.
const TABLES_IN_FILES: usize = 3;

/// Pages of documents between two calls of `wrote`.
const PAUSE: u32 = if cfg!(test) { 1 } else { 1 << 8 };

/// How the tables of a segment are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BandsPlan {
    pub threads: usize,
    /// How many tables a thread makes in one pass over the documents.
    pub in_one_pass: usize,
    /// Bytes of memory in which the rows of one table are sorted.
    pub memory: usize,
    /// Whether the rows are in scratch files before they are sorted.
    pub is_on_disk: bool,
}

impl BandsPlan {
    /// Plans the tables of this many documents, on up to `threads` threads, in this much memory.
    pub(crate) fn new(rule: BandRule, documents: u64, threads: usize, memory: usize) -> Self {
        let tables = rule.bands as usize;
        let threads = threads.clamp(1, tables.max(1));
        let of_thread = memory / threads;
        // An eighth of the memory is for sorting, and up to a quarter is at the ends of buckets.
        let rows = documents.saturating_mul(Row::LEN as u64).saturating_mul(8) / 5;
        let fit = (of_thread as u64).checked_div(rows).unwrap_or(u64::MAX);
        // One pass per table costs more than scratch files do.
        let each = tables.div_ceil(threads).max(1);
        let is_on_disk = fit < each.min(2) as u64;
        let fit = usize::try_from(fit).unwrap_or(usize::MAX);
        let most = if is_on_disk { TABLES_IN_FILES } else { fit };
        let in_one_pass = each.div_ceil(each.div_ceil(most));
        Self { threads, in_one_pass, memory: of_thread / in_one_pass, is_on_disk }
    }

    /// Returns how many tables have rows at the same time.
    pub(crate) fn tables_at_a_time(&self, rule: BandRule) -> usize {
        (rule.bands as usize).min(self.threads * self.in_one_pass)
    }

    /// Returns the most bytes that the rows of a table of this many documents take in scratch
    /// files, if each is there `copies` times.
    pub(crate) fn bytes_on_disk(&self, documents: u64, copies: u64) -> u64 {
        let rows = documents.saturating_mul(Row::LEN as u64).saturating_mul(copies);
        if self.is_on_disk { rows } else { 0 }
    }

    /// Returns the most bytes that the numbers of pages take in a scratch file while a table is
    /// written.
    pub(crate) fn bytes_of_pages(&self, documents: u64) -> u64 {
        documents.saturating_mul(4)
    }
}

impl SegmentWriter<'_> {
    /// Writes all tables of bands, on up to `threads` threads, after the documents. `wrote` is
    /// called with the number of rows after each batch, and with 0 while documents are read and
    /// rows are sorted. Its error ends the write.
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
        let plan = BandsPlan::new(rule, documents.originals(), threads, self.sort_memory);
        let mut tables: Vec<_> = (0..).take(rule.bands as usize).map(|band| (band, None)).collect();
        parallel::for_each(
            plan.threads,
            tables.chunks_mut(plan.in_one_pass),
            || (),
            |(), tables| {
                let rows = self.sorted_rows(tables, rule.minima, &documents, plan.memory, wrote)?;
                for ((band, written), rows) in tables.iter_mut().zip(rows) {
                    *written = Some(self.write_bands(*band, rows, &documents, wrote)?);
                }
                Ok(())
            },
        )?;
        let tables = tables.into_iter().filter_map(|(_, written)| written);
        self.files.index = Some(IndexFiles::Bands(tables.collect()));
        Ok(())
    }

    /// Returns the rows of each of these tables, after one pass over the documents.
    fn sorted_rows<'s, F: Fingerprint>(
        &'s self,
        tables: &[(u16, Option<FileSummary>)],
        minima: u32,
        documents: &Documents<F>,
        memory: usize,
        wrote: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<Vec<Sorted<'s, Row>>> {
        let files = ScratchFiles::InDatabase(self.folder);
        let sorter = |&(band, _): &(u16, _)| (u32::from(band), Sorter::new(files, memory, 1));
        let (mut sorters, mut rows): (Vec<_>, _) =
            (tables.iter().map(sorter).collect(), Vec::new());
        let count = documents.originals();
        documents.for_each_leaf(|page, sketches| {
            if page.is_multiple_of(PAUSE) {
                wrote(0)?;
            }
            for (band, sorter) in &mut sorters {
                rows_of_leaf(sketches, (*band, minima), count, page, &mut rows);
                rows.iter().try_for_each(|&row| sorter.push(row))?;
            }
            Ok(())
        })?;
        let finish = |(_, sorter): (u32, Sorter<'s, Row>)| sorter.finish(&|_| wrote(0));
        sorters.into_iter().map(finish).collect()
    }

    /// Writes the table of a band with these rows.
    fn write_bands<F: Fingerprint>(
        &self,
        band: u16,
        rows: Sorted<'_, Row>,
        documents: &Documents<F>,
        wrote: &(dyn Fn(u64) -> Result<()> + Sync),
    ) -> Result<FileSummary> {
        let files = ScratchFiles::InDatabase(self.folder);
        let header = self.settings.header(FileKind::Bands, band, self.id);
        let size = (documents.originals(), documents.leaf_pages());
        let mut builder = self.create(FileName::Band(self.id.number, band), |storage, name| {
            BandBuilder::create(storage, name, &header, size, files)
        })?;
        rows.with_passes(1).for_each(&mut |rows| {
            builder.push_all(rows)?;
            wrote(rows.len() as u64)
        })?;
        builder.finish()
    }
}
