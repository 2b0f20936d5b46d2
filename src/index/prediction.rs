//! What a database is predicted to take.

/// The size of a database, and the time of its queries, as predicted by
/// [`Description::predict`](crate::Description::predict) for evenly spread fingerprints in one
/// segment.
///
/// # Examples
///
/// ```
/// let db = fpdb::Db::options().in_memory()?;
/// let prediction = db.description().predict(10_000_000);
/// assert!(prediction.query_us < 10.0);
/// assert!(prediction.memory_bytes < prediction.disk_bytes);
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct Prediction {
    /// Microseconds of a query without matches, if all files are in memory.
    pub query_us: f64,
    /// Prefixes that a query looks up in all tables; 0 if it scans. Of sketches: bands.
    pub probes: f64,
    /// Fingerprints that have one of these prefixes, and are compared with the query. Of sketches:
    /// 0, because nobody knows how many similar documents there are.
    pub candidates: f64,
    /// Blocks that a query decodes. Of sketches: 0.
    pub blocks: f64,
    /// Pages of 4,096 bytes that a query reads from the disk if only directories and filters are in
    /// memory. Of sketches: one per band.
    pub pages: f64,
    /// Bytes of directories and filters, which should be in memory.
    pub memory_bytes: u64,
    /// Bytes of the tables on disk. Each id takes at least 3 more.
    pub disk_bytes: u64,
    /// About how many bytes of disk a bulk load takes while it runs: the tables, and what it sorts.
    pub load_bytes: u64,
}
