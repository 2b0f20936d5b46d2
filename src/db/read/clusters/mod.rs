//! Clusters of a snapshot: which entries belong together, and which one stands for the others.

mod found;
mod graph;
mod nodes;

use std::ops::ControlFlow;
use std::path::PathBuf;

pub use found::{Cluster, ClusterMethod, ClusterReport};
use graph::{Graph, GraphBuilder, Room};
use nodes::Nodes;

use crate::db::read::pairs::{Found, Pairs};
use crate::db::read::snapshot::Snapshot;
use crate::error::Result;
use crate::fingerprint::{Entry, Fingerprint};
use crate::progress::{Meter, Phase};
use crate::scratch::ScratchFiles;

/// Memory for near fingerprints and pairs, unless set.
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
/// let db = fpdb::Db::options().in_memory()?;
/// // Each is 2 bits from the one before.
/// db.write(&[(0b0000, 1), (0b0011, 2), (0b1111, 3)]).run()?;
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
    memory: u64,
    scratch: Option<PathBuf>,
    method: ClusterMethod,
    distance: u32,
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
    pub fn clusters(&self, distance: u32) -> Clusters<'_, F> {
        Clusters {
            snapshot: self,
            pairs: self.pairs(distance),
            memory: MEMORY,
            scratch: None,
            method: ClusterMethod::KeepFirst,
            distance,
        }
    }
}

impl<F: Fingerprint> Clusters<'_, F> {
    /// Sets what a cluster is. The default is [`ClusterMethod::KeepFirst`].
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
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

    /// Sets how many bytes of memory near fingerprints and their pairs may take. The default is 1
    /// GiB. The search for pairs takes up to 512 MiB more.
    ///
    /// Pairs that do not fit are written to [scratch files](Self::scratch_folder), with 24 bytes
    /// per pair of different fingerprints, 40 at 128 bits.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// let error = db.snapshot().clusters(3).memory(10).visit(|_| ControlFlow::Continue(()));
    /// assert!(error.unwrap_err().to_string().contains("memory"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the folder for scratch files. The default is the system's, [`std::env::temp_dir`].
    /// Scratch files have no names, and are gone when the search ends, even if the process is
    /// killed.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
    /// use std::ops::ControlFlow;
    /// let search = db.snapshot();
    /// let search = search.clusters(3).memory(256 << 20).scratch_folder(folder.path());
    /// assert_eq!(search.visit(|_| ControlFlow::Continue(()))?.clusters, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn scratch_folder(self, folder: impl Into<PathBuf>) -> Self {
        Self { scratch: Some(folder.into()), ..self }
    }

    /// Sets the number of threads, at least one. Default: as many as the database uses.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// let report = db.snapshot().clusters(3).threads(1).visit(|_| ControlFlow::Continue(()))?;
    /// assert_eq!(report.clusters, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Self { pairs: self.pairs.threads(threads), ..self }
    }

    /// Finds all clusters of at least two entries, and passes each to `visit`, ascending by the id
    /// of its first entry. Stops if `visit` breaks.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` if the near fingerprints take more than the [memory](Self::memory), or
    /// there are more than 2^32 - 1 of them; `NoSpace` if the scratch files fill the disk;
    /// `Corruption` or `Io`.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// db.write(&[(7, 1), (7, 2), (6, 3)]).run()?;
    /// let report = db.snapshot().clusters(3).visit(|cluster| {
    ///     assert_eq!((cluster.first.id.0, cluster.members.len()), (1, 3));
    ///     ControlFlow::Continue(())
    /// })?;
    /// assert_eq!((report.clusters, report.duplicates), (1, 2));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit(
        &self,
        mut visit: impl FnMut(Cluster<'_, F>) -> ControlFlow<()>,
    ) -> Result<ClusterReport> {
        let folder = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let files = ScratchFiles::InFolder(&folder);
        let memory = usize::try_from(self.memory).unwrap_or(usize::MAX);
        let room = Room { files, memory, threads: self.pairs.threads };
        let (graph, pairs) = self.graph(room)?;
        let meter = Meter::new(&self.snapshot.watch, Phase::Sort, Some(pairs.iter().sum()));
        let (nodes, firsts) = match self.method {
            ClusterMethod::KeepFirst => graph.keep_first(&meter)?,
            ClusterMethod::Components => graph.components(&meter)?,
        };
        meter.finish();
        let mut report = ClusterReport { pairs, ..ClusterReport::default() };
        let members = graph::clusters(firsts);
        let mut rest = &*members;
        while !rest.is_empty() {
            let mut end = rest.len().min(TOGETHER);
            // Up to the end of a cluster.
            end += rest[end..].iter().take_while(|member| member.0 == rest[end - 1].0).count();
            let (some, others) = rest.split_at(end);
            rest = others;
            let entries = self.entries(&nodes, some)?;
            for members in some.chunk_by(|a, b| a.0 == b.0) {
                let cluster = entries.of(&nodes, members);
                // Near others only, which belong to earlier clusters.
                if cluster.len() < 2 {
                    continue;
                }
                let first = nodes.entry(members[0].0);
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
    fn graph<'r>(&self, room: Room<'r>) -> Result<(Graph<'r, F>, Vec<u64>)> {
        let (mut builder, mut result) = (GraphBuilder::new(room), Ok(()));
        let visit = |found: Found<'_, F>| {
            // After a break, what other threads have found is still passed on.
            if result.is_ok() {
                result = builder.add(found);
            }
            if result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let pairs = self.pairs.visit(visit)?.pairs;
        result?;
        Ok((builder.finish()?, pairs))
    }

    /// Reads the entries of the members that are groups.
    fn entries(&self, nodes: &Nodes<F>, members: &[(u32, u32)]) -> Result<EntriesOfGroups<F>> {
        let fingerprint = |&(_, node): &(u32, u32)| nodes.entry(node).fingerprint;
        let groups = members.iter().map(fingerprint).filter(|&f| nodes.is_group(f));
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
    /// Returns the entries with the fingerprints of these members, by id. A node that is no group
    /// is the only entry with its fingerprint.
    fn of(&self, nodes: &Nodes<F>, members: &[(u32, u32)]) -> Vec<Entry<F>> {
        let mut entries: Vec<Entry<F>> = Vec::new();
        for node @ Entry { fingerprint, .. } in members.iter().map(|&(_, node)| nodes.entry(node)) {
            if !nodes.is_group(fingerprint) {
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
