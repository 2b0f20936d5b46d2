//! Files whose index is copied to memory.

use crate::base::error::Result;
use crate::file::paged::PagedFile;
use crate::file::storage::Reservation;

/// A file with an index, which queries use from a copy in memory as soon as there is one.
pub(crate) trait Indexed {
    fn paged_file(&self) -> &PagedFile;

    /// Returns whether [`load_index`](Self::load_index) has anything to do.
    fn needs_index(&self) -> bool;

    /// Returns the bytes of memory that [`load_index`](Self::load_index) needs.
    fn needed_index_len(&self) -> u64;

    /// Returns the bytes that [`load_index`](Self::load_index) has taken.
    fn loaded_index_len(&self) -> u64;

    /// Copies the index to memory. Stops early if `goes_on` returns false.
    fn load_index(&self, reserved: Reservation, goes_on: &dyn Fn() -> bool) -> Result<()>;

    /// Reads the index into the memory for pages, or into the system's cache. Stops early if
    /// `goes_on` returns false.
    fn load_index_pages(&self, goes_on: &dyn Fn() -> bool) -> Result<()>;
}
