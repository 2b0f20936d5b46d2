//! Searching for clusters.

use std::ops::ControlFlow;
use std::path::PathBuf;

use crate::base::error::Result;
use crate::db::api::snapshot::Snapshot;
use crate::db::read::clusters::{Cluster, ClusterMethod, ClusterOptions, ClusterReport};
use crate::fingerprint::Fingerprint;
use crate::query::Within;

/// A search for clusters of near-duplicates. Made by [`Snapshot::clusters`].
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use fpdb::ClusterMethod;
///
/// let db = fpdb::Db::options().in_memory()?;
/// // Each is 2 bits from the one before.
/// db.write(&[(0b0000, 1), (0b0011, 2), (0b1111, 3)]).run()?;
/// let snapshot = db.snapshot();
/// let all = snapshot.clusters(3).method(ClusterMethod::Components).threads(1);
/// assert_eq!(all.visit(|_| ControlFlow::Continue(()))?.duplicates, 2);
/// // The third is 4 bits from the first, so it stays.
/// let search = snapshot.clusters(3).memory(256 << 20).scratch_folder(std::env::temp_dir());
/// let report = search.visit(|cluster| {
///     assert_eq!((cluster.first.id.0, cluster.members.len()), (1, 2));
///     ControlFlow::Continue(())
/// })?;
/// assert_eq!((report.clusters, report.duplicates), (1, 1));
///
/// let error = snapshot.clusters(3).memory(10).visit(|_| ControlFlow::Continue(()));
/// assert!(error.unwrap_err().to_string().contains("memory"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a search for clusters does nothing until its visit is called"]
pub struct Clusters<'a, F: Fingerprint = u64> {
    snapshot: &'a Snapshot<F>,
    options: ClusterOptions,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Prepares a search for clusters of entries within `distance` bits of each other. Nothing is
    /// read before [`visit`](Clusters::visit).
    ///
    /// All [pairs](Self::pairs) are found first. Fingerprints that are near another one are kept in
    /// memory, at 48 bytes each (64 at 128 bits), and pairs in scratch files if memory is short.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// db.write(&[(0b0000, 1), (0b0011, 2), (1 << 60, 3)]).run()?;
    /// db.snapshot().clusters(3).visit(|cluster| {
    ///     println!("keep {}, drop {:?}", cluster.first.id, &cluster.members[1..]);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clusters(&self, within: impl Into<Within>) -> Clusters<'_, F> {
        let options = ClusterOptions::new(within.into(), self.reader().threads);
        Clusters { snapshot: self, options }
    }
}

impl<F: Fingerprint> Clusters<'_, F> {
    /// Sets what a cluster is. The default is [`ClusterMethod::KeepFirst`].
    pub fn method(self, method: ClusterMethod) -> Self {
        Self { options: ClusterOptions { method, ..self.options }, ..self }
    }

    /// Sets how many bytes of memory near fingerprints and their pairs may take. The default is 1
    /// GiB. The search for pairs takes up to 512 MiB more.
    ///
    /// Pairs that do not fit are written to [scratch files](Self::scratch_folder), with 24 bytes
    /// per pair of different fingerprints, 40 at 128 bits.
    pub fn memory(self, bytes: u64) -> Self {
        Self { options: ClusterOptions { memory: bytes, ..self.options }, ..self }
    }

    /// Sets the folder for scratch files. The default is the system's, [`std::env::temp_dir`].
    /// Scratch files have no names, and are gone when the search ends, even if the process is
    /// killed.
    pub fn scratch_folder(self, folder: impl Into<PathBuf>) -> Self {
        let scratch = Some(folder.into());
        Self { options: ClusterOptions { scratch, ..self.options }, ..self }
    }

    /// Sets the number of threads, at least one. Default: as many as the database uses.
    pub fn threads(self, threads: usize) -> Self {
        let threads = threads.max(1);
        Self { options: ClusterOptions { threads, ..self.options }, ..self }
    }

    /// Finds all clusters of at least two entries, and passes each to `visit`, ascending by the id
    /// of its first entry. Stops if `visit` breaks.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the near fingerprints take more than the [memory](Self::memory), or
    /// there are more than 2^32 - 1 of them; `NoSpace` if the scratch files fill the disk;
    /// `Corruption`; `Io`; `Cancelled`.
    pub fn visit(
        &self,
        mut visit: impl FnMut(Cluster<'_, F>) -> ControlFlow<()>,
    ) -> Result<ClusterReport> {
        self.snapshot.engine().clusters(&self.options, &mut visit)
    }
}
