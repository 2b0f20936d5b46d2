//! Searching for all pairs.

use std::ops::ControlFlow;

use crate::base::error::Result;
use crate::db::api::snapshot::Snapshot;
use crate::db::read::pairs::{Found, PairOptions, PairsReport};
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// A search for all pairs of entries within a distance. Made by [`Snapshot::pairs`].
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2), (0b1111, 3), (0b1111, 4)]).run()?;
/// let snapshot = db.snapshot();
/// // One pair is equal, and three are 2 bits apart. Two pairs, 4 bits apart, are not counted.
/// assert_eq!(snapshot.pairs(3).memory(64 << 20).threads(1).count()?, [1, 0, 3, 0]);
///
/// let report = snapshot.pairs(3).expand(true).visit(|_| ControlFlow::Continue(()))?;
/// assert_eq!((report.pairs, report.groups), (vec![1, 0, 3, 0], 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a search for pairs does nothing until its visit or count is called"]
pub struct Pairs<'a, F: Fingerprint = u64> {
    snapshot: &'a Snapshot<F>,
    options: PairOptions,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Prepares a search for all pairs of entries within `distance` bits of each other. Nothing is
    /// read before [`visit`](Pairs::visit) or [`count`](Pairs::count).
    ///
    /// Exact at any distance. Much faster than a query per entry, because each table is searched
    /// for its own fingerprints in one pass. Up to the database's distance, the time grows about
    /// linearly with the number of entries and of pairs.
    ///
    /// Manku, Jain, Das Sarma: "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.3.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// use fpdb::Found;
    /// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// db.snapshot().pairs(3).visit(|found| {
    ///     if let Found::Pairs(pairs) = found {
    ///         pairs.iter().for_each(|pair| println!("{} {}", pair.a.id, pair.b.id));
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self, within: impl Into<Within>) -> Pairs<'_, F> {
        let options = PairOptions::new(within.into(), self.reader().threads);
        Pairs { snapshot: self, options }
    }
}

impl<F: Fingerprint> Pairs<'_, F> {
    /// Sets how many bytes of memory all threads together may take for the parts of tables that
    /// they compare. The default is 512 MiB. In addition, each thread keeps some thousand pairs,
    /// each fingerprint without a live entry takes 8 or 16 bytes per table, and pages of files
    /// count towards [`Options::page_memory`](crate::Options::page_memory). Among sketches, each
    /// thread also takes 24 bytes per document that has the same band; if the sketches of these
    /// take more than the memory, they are read repeatedly.
    pub fn memory(self, bytes: u64) -> Self {
        Self { options: PairOptions { memory: bytes, ..self.options }, ..self }
    }

    /// Sets the number of threads, at least one. Default: as many as the database uses.
    pub fn threads(self, threads: usize) -> Self {
        Self { options: PairOptions { threads: threads.max(1), ..self.options }, ..self }
    }

    /// Passes on every pair of entries, including those with equal fingerprints, and no groups. A
    /// thousand entries with the same fingerprint are half a million pairs. All ids of a
    /// fingerprint are in memory at the same time.
    pub fn expand(self, expand: bool) -> Self {
        Self { options: PairOptions { expand, ..self.options }, ..self }
    }

    /// Passes everything that is found to `visit`, some thousand pairs at a time. Several threads
    /// search, and call `visit` one at a time.
    ///
    /// If `visit` breaks, no further region of a table is begun, but what is found in the regions
    /// that were begun is still passed on.
    ///
    /// # Errors
    ///
    /// `Corruption`; `Io`; `Cancelled`.
    pub fn visit(
        &self,
        mut visit: impl FnMut(Found<'_, F>) -> ControlFlow<()> + Send,
    ) -> Result<PairsReport> {
        self.snapshot.engine().pairs(self.options, &mut visit)
    }

    /// Returns the number of pairs of entries at each distance, from 0. Entries with equal
    /// fingerprints are counted as pairs at distance 0.
    ///
    /// # Errors
    ///
    /// The same as [`visit`](Self::visit).
    pub fn count(&self) -> Result<Vec<u64>> {
        self.snapshot.engine().count_pairs(self.options)
    }
}
