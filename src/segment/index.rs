//! Copying the indexes and filters of a segment's tables to memory.

use std::sync::Arc;

use super::Segment;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::storage::MemoryBudget;
use crate::table::Table;

impl<F: Fingerprint> Segment<F> {
    /// Returns whether [`copy_indexes`](Self::copy_indexes) has anything to do.
    pub(crate) fn needs_index_copies(&self) -> bool {
        self.tables.iter().any(Table::needs_index_copy)
    }

    /// Copies the index and the filter of each table to memory, where queries use them from then
    /// on. If the copies do not all fit in the budget, makes none; then those of a cold segment are
    /// read into the system's cache instead. Stops early if `goes_on` returns false.
    ///
    /// Returns the first error. A table that cannot be copied is used as it is.
    pub(crate) fn copy_indexes(
        &self,
        budget: &Arc<MemoryBudget>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<()> {
        let tables = || self.tables.iter().filter(|table| table.needs_index_copy());
        let Some(mut reserved) = budget.reserve(tables().map(Table::index_copy_len).sum()) else {
            return tables().try_for_each(Table::load_index_if_cold);
        };
        let mut result = Ok(());
        for table in tables() {
            let copied = table.copy_index(reserved.split(table.index_copy_len()), goes_on);
            result = result.and(copied);
        }
        result
    }

    /// Returns the bytes of all copies.
    pub(crate) fn index_copies_len(&self) -> u64 {
        let copied = self.tables.iter().filter(|table| table.has_index_copy());
        copied.map(Table::index_copy_len).sum()
    }
}
