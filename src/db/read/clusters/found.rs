//! What a search for clusters finds.

use crate::fingerprint::Entry;

/// What belongs to a cluster.
///
/// # Examples
///
/// ```
/// assert_eq!(fpdb::ClusterMethod::default(), fpdb::ClusterMethod::KeepFirst);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ClusterMethod {
    /// Entries are taken in the order of their ids. Each is kept unless one that was kept before is
    /// within the distance; then it belongs to the cluster of the earliest of these. So what is
    /// kept is what [`insert_if_novel`](crate::Db::insert_if_novel) would have inserted, and every
    /// entry is within the distance of the first one of its cluster.
    #[default]
    KeepFirst,
    /// Connected components: every entry is within the distance of some other one of its cluster.
    /// Chains of pairs may connect entries that are far from each other.
    Components,
}

/// Entries that belong together.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
/// db.snapshot().clusters(3).visit(|cluster| {
///     assert_eq!((cluster.first.id.0, cluster.members[1].id.0, cluster.radius), (1, 2, 2));
///     ControlFlow::Continue(())
/// })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Cluster<'a, F = u64> {
    /// The entry with the lowest id, and among those with this id the one with the lowest
    /// fingerprint.
    pub first: Entry<F>,
    /// All entries, by id, including the first.
    pub members: &'a [Entry<F>],
    /// The largest distance of a member from the first.
    pub radius: u32,
}

/// What a search for clusters found.
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
///
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(7, 1), (7, 2), (7, 3), (1 << 40, 4), (3 << 40, 5)]).run()?;
/// let report = db.snapshot().clusters(3).visit(|_| ControlFlow::Continue(()))?;
/// assert_eq!((report.clusters, report.duplicates, report.chains), (2, 3, 0));
/// // Both have two or three entries.
/// assert_eq!(report.sizes, [0, 2]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct ClusterReport {
    /// The number of clusters of at least two entries.
    pub clusters: u64,
    /// The number of entries in them, other than the first ones.
    pub duplicates: u64,
    /// The number of pairs of different fingerprints at each distance.
    pub pairs: Vec<u64>,
    /// The number of clusters by size: position i counts the clusters of 2^i to 2^(i+1) - 1
    /// entries.
    pub sizes: Vec<u64>,
    /// The number of clusters with an entry that is not within the distance of the first. Their
    /// entries may have little in common.
    pub chains: u64,
}

impl ClusterReport {
    /// Counts a cluster.
    pub(super) fn add(&mut self, entries: u64, is_chain: bool) {
        self.clusters += 1;
        self.duplicates += entries.saturating_sub(1);
        self.chains += u64::from(is_chain);
        let class = entries.checked_ilog2().unwrap_or(0) as usize;
        if self.sizes.len() <= class {
            self.sizes.resize(class + 1, 0);
        }
        self.sizes[class] += 1;
    }
}
