//! Options for tests, with the feature `sim`.

use std::sync::Arc;

use super::Options;
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::index::bands::MOST_ROWS;

impl<F: Fingerprint> Options<F> {
    /// Plans queries as if reading a whole table took very long, for tests: few entries would
    /// otherwise be scanned. Only with the feature `sim`.
    ///
    /// ```
    /// let db = fpdb::Db::options().never_scan().in_memory()?;
    /// db.insert(7, 1)?;
    /// db.flush()?;
    /// assert_eq!(db.query(6, 3)?.len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn never_scan(mut self) -> Self {
        self.costs.scan_entry_ns = 1e9;
        self
    }

    /// Sets how many documents a segment of sketches may have, for tests: many segments would
    /// otherwise take billions of documents. Only with the feature `sim`.
    ///
    /// ```
    /// use fpdb::{Options, Sketch};
    /// let db = Options::sketches().segment_documents(100).in_memory()?;
    /// for part in 0..4u64 {
    ///     for i in 0..50 {
    ///         db.insert(Sketch::new([i; 128], &[part]), part * 50 + i)?;
    ///     }
    ///     db.flush()?;
    /// }
    /// let report = db.compact()?;
    /// assert_eq!((report.segments_after, report.most_documents), (2, Some(100)));
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn segment_documents(mut self, documents: u64) -> Self {
        self.tuning.most_segment_documents = documents.clamp(1, MOST_ROWS);
        self
    }

    /// Sets a storage other than the disk, for tests: [`storage::Sim`](crate::storage::Sim). Only
    /// with the feature `sim`.
    ///
    /// ```
    /// use fpdb::storage::Sim;
    /// let db = fpdb::Db::options().storage(Sim::new()).create("in memory")?;
    /// db.insert(7, 1)?;
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    pub fn storage(self, storage: Arc<dyn Storage>) -> Self {
        Self { storage: Some(storage), ..self }
    }
}
