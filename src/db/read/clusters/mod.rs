//! Clusters of a snapshot: which entries belong together, and which one stands for the others.

mod found;
mod graph;
mod nodes;

use std::ops::ControlFlow;
use std::path::PathBuf;

pub use found::{Cluster, ClusterMethod, ClusterReport};
use graph::{Graph, GraphBuilder, Room};
use nodes::Nodes;

use crate::base::error::Result;
use crate::base::progress::{Meter, Phase};
use crate::db::read::pairs::{self, Found, PairOptions};
use crate::db::read::reader::Reader;
use crate::file::scratch::ScratchFiles;
use crate::fingerprint::{Entry, Fingerprint};
use crate::query::Within;

/// Memory for near fingerprints and pairs, unless set.
const MEMORY: u64 = 1 << 30;

/// Clusters whose entries are read together, with at least this many fingerprints in all.
const TOGETHER: usize = if cfg!(test) { 1 << 3 } else { 1 << 12 };

/// What to search for, and with what.
#[derive(Debug, Clone)]
pub(crate) struct ClusterOptions {
    pub(crate) within: Within,
    /// Bytes of memory for near fingerprints and pairs.
    pub(crate) memory: u64,
    /// The folder for scratch files, unless it is the system's.
    pub(crate) scratch: Option<PathBuf>,
    pub(crate) method: ClusterMethod,
    pub(crate) threads: usize,
}

impl ClusterOptions {
    pub(crate) fn new(within: Within, threads: usize) -> Self {
        let method = ClusterMethod::KeepFirst;
        Self { within, memory: MEMORY, scratch: None, method, threads }
    }
}

/// A search for clusters.
#[derive(Debug)]
pub(crate) struct Search<'a, F: Fingerprint> {
    pub(crate) reader: &'a Reader<F>,
    pub(crate) options: &'a ClusterOptions,
}

impl<F: Fingerprint> Search<'_, F> {
    /// Finds all clusters of at least two entries, and passes each to `visit`, ascending by the id
    /// of its first entry. Stops if `visit` breaks.
    pub(crate) fn visit(
        &self,
        visit: &mut dyn FnMut(Cluster<'_, F>) -> ControlFlow<()>,
    ) -> Result<ClusterReport> {
        let folder = self.options.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let files = ScratchFiles::InFolder(&folder, &self.reader.version.pages);
        let memory = usize::try_from(self.options.memory).unwrap_or(usize::MAX);
        let room = Room { files, memory, threads: self.options.threads };
        let (graph, pairs) = self.graph(room)?;
        let distance = self.reader.planner.distance(self.options.within);
        let meter = Meter::new(&self.reader.watch, Phase::Sort, Some(pairs.iter().sum()));
        let (nodes, firsts) = match self.options.method {
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
                report.add(cluster.len() as u64, radius > distance);
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
        let mut visit = |found: Found<'_, F>| {
            // After a break, what other threads have found is still passed on.
            if result.is_ok() {
                result = builder.add(found);
            }
            if result.is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        let options = PairOptions::new(self.options.within, self.options.threads);
        let search = pairs::Search { reader: self.reader, options };
        let pairs = search.visit(&mut visit)?.pairs;
        result?;
        Ok((builder.finish()?, pairs))
    }

    fn entries(&self, nodes: &Nodes<F>, members: &[(u32, u32)]) -> Result<EntriesOfGroups<F>> {
        let fingerprint = |&(_, node): &(u32, u32)| nodes.entry(node).fingerprint;
        let groups = members.iter().map(fingerprint).filter(|&f| nodes.is_group(f));
        let mut groups: Vec<F> = groups.collect();
        groups.sort_unstable();
        let mut entries = Vec::with_capacity(2 * groups.len());
        self.reader.read(|view| view.ids_of_each(&groups, usize::MAX, &mut entries))?;
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
