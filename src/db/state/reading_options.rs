//! Options for how files are read, and for the memory that this takes.

use crate::db::state::options::Options;
use crate::storage::Access;

impl<F> Options<F> {
    /// Sets how the files of segments are read. Default: [`Access::Cached`]; not stored.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// use fpdb::{Access, Db};
    /// Db::options().create(&path)?.close()?;
    /// let db = Db::options().access(Access::Cold).open(&path)?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn access(mut self, access: Access) -> Self {
        self.tuning.access = access;
        self
    }

    /// Sets how many bytes of memory copies of the tables' directories and filters may take.
    /// Queries use the copies, in pages of 2 MiB where the system has them, instead of the pages of
    /// the files. Segments of up to 2^18 fingerprints are also decoded: 9 bytes per fingerprint and
    /// table at 64 bits. That is done in the background after opening, a flush, a compaction or a
    /// bulk load, the largest segment first. Queries do not wait for it, but
    /// [`load_index`](crate::Db::load_index) does. A segment that does not fit has none, until the
    /// segments change next. 0 makes none, which is best for few queries. Default: 1 GiB; not
    /// stored.
    ///
    /// ```
    /// let options = fpdb::Db::options().index_memory(64 << 20);
    /// let db = options.in_memory()?;
    /// assert_eq!(db.stats().index_budget_bytes, 64 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn index_memory(mut self, bytes: u64) -> Self {
        self.tuning.index_memory = bytes;
        self
    }

    /// Sets how many bytes of memory the pages of files may take that were read under
    /// [`Access::Cached`] and [`Access::Cold`]. Files that fit entirely into half of it have their
    /// memory set aside, in pages of 2 MiB where the system has them. A query that begins when the
    /// pages take more than the limit drops all others first, and then reads again what it needs.
    /// So the pages may exceed the limit by what the running queries read, which is little, except
    /// for a large batch. A snapshot keeps the pages that were read through it until it is dropped,
    /// at most as many as the limit again. Iterators, flush, compaction, backup and `verify` read
    /// in parts, and keep at most a few MiB each in addition to this.
    ///
    /// Default: a quarter of the memory that the process may use: the machine's memory, or the
    /// lowest limit of its control groups. 1 GiB where the system does not say. Not stored. The
    /// pages are a copy of what the system's cache of files may hold too.
    ///
    /// ```
    /// let options = fpdb::Db::options().page_memory(256 << 20);
    /// let db = options.in_memory()?;
    /// assert_eq!(db.stats().page_budget_bytes, 256 << 20);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn page_memory(mut self, bytes: u64) -> Self {
        self.tuning.page_memory = Some(bytes);
        self
    }
}
