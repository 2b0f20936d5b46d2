//! Loading the indexes and filters of a segment's tables into memory.

use std::sync::Arc;

use super::Segment;
use crate::documents::Documents;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::storage::MemoryBudget;
use crate::table::Table;

impl<F: Fingerprint> Segment<F> {
    /// Returns whether [`load_indexes`](Self::load_indexes) has anything to do.
    pub(crate) fn needs_indexes(&self) -> bool {
        self.tables.iter().any(Table::needs_index)
    }

    /// Copies the index and the filter of each table to memory, and decodes small tables. Queries
    /// use that from then on. If it does not all fit in the budget, loads none; then the indexes of
    /// a cold segment are read into the system's cache instead. Stops early if `goes_on` returns
    /// false.
    ///
    /// In a cold segment, everything else that queries read besides single pages is read into the
    /// system's cache first: checksums of pages, heads of id sections, and what leads to a leaf of
    /// documents.
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
        let heads = self.postings.load_heads_if_cold();
        let documents = self.documents.as_ref().map_or(Ok(()), Documents::load_if_cold);
        let mut result =
            heads.and(documents).and(tables().try_for_each(Table::load_checksums_if_cold));
        let Some(mut reserved) = budget.reserve(tables().map(Table::needed_index_len).sum()) else {
            return result.and(tables().try_for_each(Table::load_index_if_cold));
        };
        for table in tables() {
            let loaded = table.load_index(reserved.split(table.needed_index_len()), goes_on);
            result = result.and(loaded);
        }
        result
    }

    /// Returns the bytes of memory that the loaded indexes take.
    pub(crate) fn loaded_indexes_len(&self) -> u64 {
        self.tables.iter().map(Table::loaded_index_len).sum()
    }
}
