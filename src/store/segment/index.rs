//! Loading what queries need of a segment into memory before they need it.

use std::sync::Arc;

use super::Segment;
use crate::base::error::Result;
use crate::file::paged::{Paged, PagedFile};
use crate::file::storage::MemoryBudget;
use crate::fingerprint::Fingerprint;
use crate::index::bands::BandTable;
use crate::index::tables::table::Table;

impl<F: Fingerprint> Segment<F> {
    /// Returns whether [`load_indexes`](Self::load_indexes) has anything to do.
    pub(crate) fn needs_indexes(&self) -> bool {
        self.tables.iter().any(Table::needs_index) || self.bands.iter().any(BandTable::needs_index)
    }

    /// Returns how many bytes of memory [`load_indexes`](Self::load_indexes) needs.
    pub(crate) fn needed_indexes_len(&self) -> u64 {
        let tables = self.tables.iter().filter(|table| table.needs_index());
        let bands = self.bands.iter().map(BandTable::needed_index_len).sum::<u64>();
        bands + tables.map(Table::needed_index_len).sum::<u64>()
    }

    /// Copies the index and the filter of each table to memory, and decodes small tables. Queries
    /// use that from then on. If it does not all fit in the budget, loads none; then the indexes
    /// are read into the memory for pages, or into the system's cache. Stops early if `goes_on`
    /// returns false.
    ///
    /// Everything else that nearly every query reads is loaded first: checksums of pages, heads of
    /// id sections, and what leads to a leaf of documents.
    ///
    /// Returns the first error. A table that cannot be loaded is used as it is.
    pub(crate) fn load_indexes(
        &self,
        budget: &Arc<MemoryBudget>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let tables = || self.tables.iter().filter(|table| table.needs_index());
        if !self.needs_indexes() {
            return Ok(());
        }
        let bands = || self.bands.iter().filter(|bands| bands.needs_index());
        let heads = self.postings.as_ref().map_or(Ok(()), |postings| postings.load_heads(goes_on));
        let documents = self.documents.as_ref().map_or(Ok(()), |documents| documents.load(goes_on));
        let checksums = tables().try_for_each(Table::load_checksums);
        let checksums = checksums.and(bands().try_for_each(BandTable::load_checksums));
        let mut result = heads.and(documents).and(checksums);
        let Some(mut reserved) = budget.reserve(self.needed_indexes_len()) else {
            let of_tables = tables().try_for_each(|table| table.load_index_pages(goes_on));
            let of_bands = bands().try_for_each(|bands| bands.load_index_pages(goes_on));
            return result.and(of_tables).and(of_bands);
        };
        for bands in bands() {
            let loaded = bands.load_index(reserved.split(bands.needed_index_len()), goes_on);
            result = result.and(loaded);
        }
        for table in tables() {
            let loaded = table.load_index(reserved.split(table.needed_index_len()), goes_on);
            result = result.and(loaded);
        }
        result
    }

    /// Returns how many bytes [`load_pages`](Self::load_pages) would read.
    pub(crate) fn missing_pages_len(&self) -> u64 {
        self.files().map(PagedFile::missing_bytes).sum()
    }

    /// Reads the files for which memory is set aside. Stops early if `goes_on` returns false after
    /// some more bytes.
    pub(crate) fn load_pages(&self, goes_on: &dyn Fn(u64) -> bool) {
        self.files().for_each(|file| file.load_all(goes_on));
    }

    /// Returns the bytes of memory that the loaded indexes take in addition to what is set aside.
    /// Where memory is set aside for the file, these are the pages that were read before they were
    /// copied.
    pub(crate) fn separate_copies_len(&self) -> u64 {
        let separate = |file: &PagedFile, loaded: u64| match file.set_aside() {
            0 => loaded,
            _ => file.bytes_also_copied(),
        };
        let tables =
            self.tables.iter().map(|table| separate(table.file(), table.loaded_index_len()));
        let bands = self.bands.iter().map(|bands| separate(bands.file(), bands.loaded_index_len()));
        tables.chain(bands).sum()
    }

    /// Returns the bytes of memory that the loaded indexes take.
    pub(crate) fn loaded_indexes_len(&self) -> u64 {
        let bands = self.bands.iter().map(BandTable::loaded_index_len);
        self.tables.iter().map(Table::loaded_index_len).chain(bands).sum()
    }
}
