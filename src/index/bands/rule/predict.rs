//! Predicts the size of tables of bands and the time of their queries.

use super::bands::BandRule;
use crate::index::prediction::Prediction;

/// Bytes of a document with its sketch, and with its id or a short name.
const DOCUMENT_BYTES: u64 = 236;
/// Bytes of a page of documents.
const PAGE_BYTES: u64 = 4096;
/// Rows of a table of bands for an entry of its directory: at least 2^5.
const BUCKET_BITS: u32 = 5;
/// What a query costs in memory, and each of its lookups, in nanoseconds: `cargo bench --bench
/// sketches`.
const QUERY_NS: f64 = 300.0;
const LOOKUP_NS: f64 = 60.0;
/// Extra cost of a lookup for each doubling of 1 + documents / [`NEAR_DOCUMENTS`].
const LOOKUP_FAR_NS: f64 = 12.0;
const NEAR_DOCUMENTS: f64 = 200_000.0;

impl BandRule {
    /// Predicts the size of a database, and the time of its queries.
    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    pub(crate) fn predict(&self, documents: u64) -> Prediction {
        let bands = u64::from(self.bands);
        let directory = 4 << documents.max(1).ilog2().saturating_sub(BUCKET_BITS);
        let directories = bands * directory;
        let sketches = documents.saturating_mul(DOCUMENT_BYTES);
        // A row has two bytes of a band, and the number of a page.
        let row = 2 + u64::from((sketches / PAGE_BYTES).max(1).ilog2() / 8 + 1);
        let rows = documents.saturating_mul(row * bands);
        let disk = sketches.saturating_add(rows).saturating_add(directories);
        let far = (1.0 + documents as f64 / NEAR_DOCUMENTS).log2();
        let lookup_ns = LOOKUP_NS + LOOKUP_FAR_NS * far;
        Prediction {
            query_us: (QUERY_NS + f64::from(self.bands) * lookup_ns) / 1e3,
            probes: self.bands.into(),
            candidates: 0.0,
            blocks: 0.0,
            pages: self.bands.into(),
            memory_bytes: directories,
            disk_bytes: disk,
            load_bytes: disk.saturating_add(documents.saturating_mul(16)),
        }
    }
}
