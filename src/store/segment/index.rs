//! Loading what queries need of a segment into memory before they need it.

use std::sync::Arc;

use super::{Part, Segment};
use crate::base::error::Result;
use crate::file::paged::PagedFile;
use crate::file::storage::MemoryBudget;
use crate::fingerprint::Fingerprint;
use crate::index::Indexed;

/// A segment of any type of fingerprints, as far as it is loaded into memory.
pub(crate) trait Loadable: Send + Sync {
    /// Returns the bytes that should be in memory for fast answers.
    fn index_memory(&self) -> u64;

    /// Returns whether [`load_indexes`](Self::load_indexes) has anything to do.
    fn needs_indexes(&self) -> bool;

    /// Copies the index and the filter of each table to memory, and decodes small tables. Queries
    /// use that from then on. If it does not all fit in the budget, loads none; then the indexes
    /// are read into the memory for pages, or into the system's cache. Stops early if `goes_on`
    /// returns false.
    ///
    /// Everything else that nearly every query reads is loaded first: checksums of pages, heads of
    /// id sections, and what leads to a leaf of documents.
    ///
    /// Returns the first error. A table that cannot be loaded is used as it is.
    fn load_indexes(&self, budget: &Arc<MemoryBudget>, goes_on: &dyn Fn() -> bool) -> Result<()>;

    /// Returns how many bytes [`load_pages`](Self::load_pages) would read.
    fn missing_pages_len(&self) -> u64;

    /// Reads the files for which memory is set aside. Stops early if `goes_on` returns false after
    /// some more bytes.
    fn load_pages(&self, goes_on: &dyn Fn(u64) -> bool);
}

impl<F: Fingerprint> Loadable for Segment<F> {
    fn index_memory(&self) -> u64 {
        let part = match &self.part {
            Part::Tables(part) => part.index_memory(),
            Part::Bands(part) => part.index_memory(),
        };
        part + self.documents.as_ref().map_or(0, |documents| documents.memory()) as u64
    }

    fn needs_indexes(&self) -> bool {
        self.indexed().iter().any(|file| file.needs_index())
    }

    fn load_indexes(&self, budget: &Arc<MemoryBudget>, goes_on: &dyn Fn() -> bool) -> Result<()> {
        let mut files = self.indexed();
        files.retain(|file| file.needs_index());
        if files.is_empty() {
            return Ok(());
        }
        let heads = self.tables().map_or(Ok(()), |part| part.postings().load_heads(goes_on));
        let documents = self.documents.as_ref().map_or(Ok(()), |documents| documents.load(goes_on));
        load_files(&files, budget, goes_on, heads.and(documents))
    }

    fn missing_pages_len(&self) -> u64 {
        self.files().into_iter().map(PagedFile::missing_bytes).sum()
    }

    fn load_pages(&self, goes_on: &dyn Fn(u64) -> bool) {
        self.files().into_iter().for_each(|file| file.load_all(goes_on));
    }
}

/// Loads the indexes of these files. Returns `before`, or else the first error.
fn load_files(
    files: &[&dyn Indexed],
    budget: &Arc<MemoryBudget>,
    goes_on: &dyn Fn() -> bool,
    before: Result<()>,
) -> Result<()> {
    let checksums = files.iter().try_for_each(|file| file.paged_file().load_checksums());
    let mut result = before.and(checksums);
    let needed = files.iter().map(|file| file.needed_index_len()).sum();
    let Some(mut reserved) = budget.reserve(needed) else {
        return result.and(files.iter().try_for_each(|file| file.load_index_pages(goes_on)));
    };
    for file in files {
        let loaded = file.load_index(reserved.split(file.needed_index_len()), goes_on);
        result = result.and(loaded);
    }
    result
}

impl<F: Fingerprint> Segment<F> {
    /// Returns the files that have an index.
    fn indexed(&self) -> Vec<&dyn Indexed> {
        match &self.part {
            Part::Tables(part) => part.tables().iter().map(|table| table as &dyn Indexed).collect(),
            Part::Bands(part) => part.tables().iter().map(|table| table as &dyn Indexed).collect(),
        }
    }

    /// Returns the bytes of memory that the loaded indexes take in addition to what is set aside.
    /// Where memory is set aside for the file, these are the pages that were read before they were
    /// copied.
    pub(crate) fn separate_copies_len(&self) -> u64 {
        let separate = |file: &&dyn Indexed| match file.paged_file().set_aside() {
            0 => file.loaded_index_len(),
            _ => file.paged_file().bytes_also_copied(),
        };
        self.indexed().iter().map(separate).sum()
    }

    /// Returns the bytes of memory that the loaded indexes take.
    pub(crate) fn loaded_indexes_len(&self) -> u64 {
        self.indexed().iter().map(|file| file.loaded_index_len()).sum()
    }
}
