//! Clusters of a snapshot: which entries belong together, and which one stands for the others.

mod found;
mod graph;

use std::ops::ControlFlow;

pub use found::{Cluster, ClusterMethod, ClusterReport};
use graph::{Graph, GraphBuilder};

use super::pairs::{Found, Pairs};
use super::snapshot::Snapshot;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Entry, Fingerprint};
use crate::progress::Progress;

/// Memory for pairs, unless set.
const MEMORY: u64 = 1 << 30;

/// Clusters whose entries are read together, with at least this many fingerprints in all.
const TOGETHER: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// A search for clusters of near-duplicates. Made by [`Snapshot::clusters`].
///
/// # Examples
///
/// ```
/// use std::ops::ControlFlow;
/// use fpdb::ClusterMethod;
///
/// let folder = tempfile::tempdir()?;
/// let db = fpdb::Db::options().create(folder.path().join("crawl.fpdb"))?;
/// // Each is 2 bits from the one before.
/// db.insert_batch(&[(0b0000, 1), (0b0011, 2), (0b1111, 3)])?;
/// let snapshot = db.snapshot();
/// let all = snapshot.clusters(3).method(ClusterMethod::Components);
/// assert_eq!(all.visit(|_| ControlFlow::Continue(()))?.duplicates, 2);
/// // The third is 4 bits from the first, so it stays.
/// assert_eq!(snapshot.clusters(3).visit(|_| ControlFlow::Continue(()))?.duplicates, 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a search for clusters does nothing until its visit is called"]
pub struct Clusters<'a, F = u64> {
    snapshot: &'a Snapshot<F>,
    pairs: Pairs<'a, F>,
    distance: u32,
    memory: u64,
    method: ClusterMethod,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Prepares a search for clusters of entries within `distance` bits of each other. Nothing is
    /// read before [`visit`](Clusters::visit).
    ///
    /// All [pairs](Self::pairs) are found first. They decide the memory: 24 bytes per pair of
    /// different fingerprints at 64 bits, 40 at 128, and up to twice 32 or 64 bytes per fingerprint
    /// that is near another one.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.insert_batch(&[(0b0000, 1), (0b0011, 2), (1 << 60, 3)])?;
    /// db.snapshot().clusters(3).visit(|cluster| {
    ///     println!("keep {}, drop {:?}", cluster.first.id, &cluster.members[1..]);
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn clusters(&self, distance: u32) -> Clusters<'_, F> {
        Clusters {
            snapshot: self,
            pairs: self.pairs(distance),
            distance,
            memory: MEMORY,
            method: ClusterMethod::KeepFirst,
        }
    }
}

impl<F: Fingerprint> Clusters<'_, F> {
    /// Sets what a cluster is. The default is [`ClusterMethod::KeepFirst`].
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// use fpdb::ClusterMethod;
    /// let snapshot = db.snapshot();
    /// let search = snapshot.clusters(3).method(ClusterMethod::Components);
    /// assert_eq!(search.visit(|_| ControlFlow::Continue(()))?.clusters, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn method(self, method: ClusterMethod) -> Self {
        Self { method, ..self }
    }

    /// Sets how many bytes of memory the pairs may take. The default is 1 GiB. The search for them
    /// takes up to 512 MiB more.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.insert_batch(&[(0b0000, 1), (0b0011, 2)])?;
    /// let error = db.snapshot().clusters(3).memory(10).visit(|_| ControlFlow::Continue(()));
    /// assert!(error.unwrap_err().to_string().contains("memory"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the number of threads, at least one. The default is that of the database.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// let report = db.snapshot().clusters(3).threads(1).visit(|_| ControlFlow::Continue(()))?;
    /// assert_eq!(report.clusters, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Self { pairs: self.pairs.threads(threads), ..self }
    }

    /// Finds all clusters of at least two entries, and passes each to `visit`, ascending by the id of
    /// its first entry. Stops if `visit` breaks.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the pairs take more than the [memory](Self::memory), or there are more
    /// than 2^32 - 1 different fingerprints among them; `Corruption` or `Io`.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// db.insert_batch(&[(7, 1), (7, 2), (6, 3)])?;
    /// let report = db.snapshot().clusters(3).visit(|cluster| {
    ///     assert_eq!((cluster.first.id.0, cluster.members.len()), (1, 3));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((report.clusters, report.duplicates), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit(
        &self,
        visit: impl FnMut(Cluster<'_, F>) -> ControlFlow<()>,
    ) -> Result<ClusterReport> {
        self.visit_with(visit, |_| ControlFlow::Continue(()))
    }

    /// Does the same as [`visit`](Self::visit) and reports the progress of the search for pairs.
    ///
    /// # Errors
    ///
    /// The same as [`visit`](Self::visit), and `Cancelled` if `report` breaks.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// let go_on = || ControlFlow::Continue(());
    /// let report = db.snapshot().clusters(3).visit_with(|_| go_on(), |_| go_on())?;
    /// assert_eq!(report.clusters, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit_with(
        &self,
        mut visit: impl FnMut(Cluster<'_, F>) -> ControlFlow<()>,
        report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<ClusterReport> {
        let (graph, pairs) = self.graph(report)?;
        let firsts = match self.method {
            ClusterMethod::KeepFirst => graph.keep_first(),
            ClusterMethod::Components => graph.components(),
        };
        let mut report = ClusterReport { pairs, ..ClusterReport::default() };
        let members = Graph::<F>::clusters(&firsts);
        let mut rest = &*members;
        while !rest.is_empty() {
            let mut end = rest.len().min(TOGETHER);
            // Up to the end of a cluster.
            end += rest[end..].iter().take_while(|member| member.0 == rest[end - 1].0).count();
            let (some, others) = rest.split_at(end);
            rest = others;
            let entries = self.entries(&graph, some)?;
            for members in some.chunk_by(|a, b| a.0 == b.0) {
                let nodes = members.iter().map(|&(_, node)| graph.nodes[node as usize]);
                let cluster = entries.of(&graph, nodes);
                // Near others only, which belong to earlier clusters.
                if cluster.len() < 2 {
                    continue;
                }
                let first = graph.nodes[members[0].0 as usize];
                let radius =
                    cluster.iter().map(|e| e.fingerprint.distance(first.fingerprint)).max();
                let radius = radius.unwrap_or(0);
                report.add(cluster.len() as u64, radius > self.distance);
                if visit(Cluster { first, members: &cluster, radius }).is_break() {
                    return Ok(report);
                }
            }
        }
        Ok(report)
    }

    /// Finds all pairs and groups. Returns the number of pairs at each distance with them.
    fn graph(
        &self,
        report: impl FnMut(Progress) -> ControlFlow<()> + Send,
    ) -> Result<(Graph<F>, Vec<u64>)> {
        let (mut builder, mut is_too_large) = (GraphBuilder::new(), false);
        let visit = |found: Found<'_, F>| {
            match found {
                Found::Pairs(pairs) => {
                    pairs.iter().for_each(|pair| builder.add_pair(pair.a, pair.b))
                }
                Found::Group { fingerprint, ids } => {
                    let first = ids.first().map(|&id| Entry { fingerprint, id });
                    first.into_iter().for_each(|entry| builder.add_group(entry));
                }
            }
            is_too_large = builder.bytes() > self.memory;
            if is_too_large { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let pairs = self.pairs.visit_with(visit, report)?.pairs;
        if is_too_large {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!(
                    "the pairs within {} bits take more than {} bytes of memory: allow more, or \
                     choose a smaller distance",
                    self.distance, self.memory
                ),
            ));
        }
        Ok((builder.build()?, pairs))
    }

    /// Reads the entries of those of these members that are groups.
    fn entries(&self, graph: &Graph<F>, members: &[(u32, u32)]) -> Result<EntriesOfGroups<F>> {
        let fingerprint = |&(_, node): &(u32, u32)| graph.nodes[node as usize].fingerprint;
        let groups = members.iter().map(fingerprint).filter(|&f| graph.is_group(f));
        let mut groups: Vec<F> = groups.collect();
        groups.sort_unstable();
        let mut entries = Vec::with_capacity(2 * groups.len());
        self.snapshot.read(|view| view.ids_of_each(&groups, usize::MAX, &mut entries))?;
        Ok(EntriesOfGroups(entries))
    }
}

/// The entries of groups, sorted by fingerprint.
struct EntriesOfGroups<F>(Vec<Entry<F>>);

impl<F: Fingerprint> EntriesOfGroups<F> {
    /// Returns the entries with the fingerprints of these nodes, by id. A node that is no group is the
    /// only entry with its fingerprint.
    fn of(&self, graph: &Graph<F>, nodes: impl Iterator<Item = Entry<F>>) -> Vec<Entry<F>> {
        let mut entries: Vec<Entry<F>> = Vec::new();
        for node @ Entry { fingerprint, .. } in nodes {
            if !graph.is_group(fingerprint) {
                entries.push(node);
                continue;
            }
            let from = self.0.partition_point(|entry| entry.fingerprint < fingerprint);
            let same = self.0[from..].iter().take_while(|entry| entry.fingerprint == fingerprint);
            entries.extend(same);
        }
        entries.sort_unstable_by_key(|entry| (entry.id, entry.fingerprint));
        entries
    }
}

#[cfg(test)]
mod tests;
