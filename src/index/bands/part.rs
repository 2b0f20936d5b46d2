//! The tables of bands of a segment.

use super::table::BandTable;
use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::documents::Documents;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::names::FileName;
use crate::file::paged::{FileSummary, OpenPaged, Paged, PagedFile};
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;

/// Returns each file with its name; `segment` is the number of the segment.
pub(crate) fn named(segment: u64, files: &[FileSummary]) -> Vec<(FileName, FileSummary)> {
    (0..).zip(files).map(|(t, &file)| (FileName::Band(segment, t), file)).collect()
}

/// The tables of bands of a segment.
#[derive(Debug)]
pub(crate) struct BandsPart {
    /// The number of the segment.
    segment: u64,
    /// The files of the tables.
    files: Vec<FileSummary>,
    tables: Vec<BandTable>,
}

impl BandsPart {
    /// Opens the files; reads only their headers and footers. `header` returns the header of a part
    /// of the segment.
    pub(crate) fn open(
        storage: &dyn Storage,
        segment: u64,
        files: &[FileSummary],
        header: &dyn Fn(FileKind, u16) -> FileHeader,
    ) -> Result<Self> {
        let mut tables = Vec::with_capacity(files.len());
        for (t, file) in (0..).zip(files) {
            let name = FileName::Band(segment, t).to_string();
            tables.push(BandTable::open(storage, &name, &header(FileKind::Bands, t), file.len)?);
        }
        Ok(Self { segment, files: files.to_vec(), tables })
    }

    /// Returns the first file that does not have a row per entry.
    pub(crate) fn miscounted_file(&self, entries: u64) -> Option<FileName> {
        let mut tables = (0..).zip(&self.tables);
        let found = tables.find(|(_, table)| table.rows() as u64 != entries);
        found.map(|(number, _)| FileName::Band(self.segment, number))
    }

    /// Returns the same part with all its files [renewed](PagedFile::renewed).
    pub(crate) fn renewed(&self) -> Result<Self> {
        let tables = self.tables.iter().map(BandTable::renewed).collect::<Result<_>>()?;
        Ok(Self { segment: self.segment, files: self.files.clone(), tables })
    }

    /// Returns the files, in the order of the bands.
    pub(crate) fn files(&self) -> Vec<&PagedFile> {
        self.tables.iter().map(BandTable::file).collect()
    }

    /// Returns the table of each band.
    #[inline]
    pub(crate) fn tables(&self) -> &[BandTable] {
        &self.tables
    }

    /// Returns whether single pages are read from the disk when they are needed, so that callers
    /// should prefetch.
    pub(crate) fn is_cold(&self) -> bool {
        self.tables.iter().any(BandTable::is_cold)
    }

    /// Returns the bytes that should be in memory for fast answers.
    pub(crate) fn index_memory(&self) -> u64 {
        self.tables.iter().map(BandTable::index_len).sum()
    }

    /// Reads and checks every byte of every file. `minima` is how many a band has. The rows are
    /// compared with the documents, unless these are damaged.
    pub(crate) fn verify<F: Fingerprint>(
        &self,
        minima: u32,
        documents: Option<&Documents<F>>,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        for (number, (table, &file)) in (0..).zip(self.tables.iter().zip(&self.files)) {
            table.verify(file, (number, minima), documents, inspection)?;
        }
        Ok(())
    }
}
