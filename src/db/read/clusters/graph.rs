//! The graph of near fingerprints, and how it falls into clusters.
//!
//! Its nodes are in memory. Its edges, of which there can be many more, are in scratch files if
//! memory is short.

use super::nodes::Nodes;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::progress::Meter;
use crate::db::read::pairs::Found;
use crate::file::scratch::{ScratchFiles, Spool};
use crate::file::sorter::Sorter;
use crate::fingerprint::{Entry, Fingerprint, Sketch};

/// With this many nodes or more, repeated ones are removed while a graph is made.
const REPEATED_FROM: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };

/// What a graph may use.
#[derive(Clone, Copy)]
pub(super) struct Room<'a> {
    pub(super) files: ScratchFiles<'a>,
    /// Bytes for nodes and edges.
    pub(super) memory: usize,
    pub(super) threads: usize,
}

/// Collects the pairs and groups of a graph.
pub(super) struct GraphBuilder<'a, F> {
    /// Fingerprints with ids, the lowest among them. Some are there more than once.
    nodes: Vec<Entry<F>>,
    /// Number of nodes at which repeated ones are removed.
    full: usize,
    /// Fingerprints that several entries have. Some are there more than once.
    groups: Vec<F>,
    /// Pairs of fingerprints, as bytes.
    pairs: Spool<'a>,
    room: Room<'a>,
}

impl<'a, F: Fingerprint> GraphBuilder<'a, F> {
    /// Bytes of a stored pair: a power of two, so that a part of the file has whole pairs.
    const PAIR: usize = 2 * F::BYTES.next_power_of_two();

    pub(super) fn new(room: Room<'a>) -> Self {
        let pairs = Spool::in_memory(room.files);
        let full = REPEATED_FROM.min(room.memory / Nodes::<F>::BYTES);
        Self { nodes: Vec::new(), full, groups: Vec::new(), pairs, room }
    }

    pub(super) fn add(&mut self, found: Found<'_, F>) -> Result<()> {
        match found {
            Found::Pairs(pairs) => pairs.iter().try_for_each(|pair| self.add_pair(pair.a, pair.b)),
            Found::Group { fingerprint, ids } => {
                let first = ids.first().map(|&id| Entry { fingerprint, id });
                first.into_iter().try_for_each(|entry| self.add_group(entry))
            }
        }
    }

    /// Adds a fingerprint that several entries have, with one of their ids. Large groups come in
    /// several parts, one of which has the lowest id.
    fn add_group(&mut self, entry: Entry<F>) -> Result<()> {
        if self.groups.last() != Some(&entry.fingerprint) {
            self.groups.push(entry.fingerprint);
        }
        self.add_node(entry)
    }

    /// Adds two fingerprints that are near each other, with their lowest ids.
    fn add_pair(&mut self, a: Entry<F>, b: Entry<F>) -> Result<()> {
        let mut bytes = [0; 2 * size_of::<Sketch>().next_power_of_two()];
        let half = Self::PAIR / 2;
        a.fingerprint.put_le(&mut bytes[..half]);
        b.fingerprint.put_le(&mut bytes[half..2 * half]);
        self.pairs.push(&bytes[..2 * half])?;
        self.add_node(a)?;
        self.add_node(b)
    }

    fn add_node(&mut self, entry: Entry<F>) -> Result<()> {
        self.nodes.push(entry);
        if self.nodes.len() >= self.full { self.make_room() } else { Ok(()) }
    }

    /// Removes repeated nodes, and moves the pairs to a file if they would leave too little memory.
    #[cold]
    fn make_room(&mut self) -> Result<()> {
        self.remove_repeated();
        let most = self.room.memory / Nodes::<F>::BYTES;
        let count = self.nodes.len();
        // A quarter is room for repeated nodes, so that they are not removed again too soon.
        if count > most / 4 * 3 {
            return Err(self.too_large());
        }
        self.full = (2 * count).max(REPEATED_FROM).min(most);
        // Twice, since the list of pairs is copied when it grows.
        let pairs = 2 * self.pairs.memory();
        let edges = self.pairs.memory() / Self::PAIR * size_of::<u64>();
        if self.full * Nodes::<F>::BYTES + pairs + edges > self.room.memory {
            self.pairs.spill()?;
        }
        Ok(())
    }

    /// Keeps each fingerprint once, with its lowest id.
    fn remove_repeated(&mut self) {
        self.nodes.sort_unstable();
        self.nodes.dedup_by_key(|entry| entry.fingerprint);
        self.groups.sort_unstable();
        self.groups.dedup();
    }

    fn too_large(&self) -> Error {
        Error::new(
            ErrorKind::InvalidArgument,
            format!(
                "{} fingerprints or more are near others, too many for {} bytes of memory: allow more, or \
                 choose a smaller distance",
                self.nodes.len(),
                self.room.memory
            ),
        )
    }

    pub(super) fn finish(mut self) -> Result<Graph<'a, F>> {
        self.remove_repeated();
        let Self { nodes, groups, pairs, mut room, .. } = self;
        let used = nodes.len() * Nodes::<F>::BYTES + pairs.memory();
        room.memory = room.memory.saturating_sub(used);
        Ok(Graph { nodes: Nodes::new(nodes, groups)?, pairs, room })
    }
}

/// Near fingerprints, and the pairs of them.
pub(super) struct Graph<'a, F> {
    pub(super) nodes: Nodes<F>,
    pairs: Spool<'a>,
    /// With the memory that is left for the edges.
    room: Room<'a>,
}

impl<F: Fingerprint> Graph<'_, F> {
    /// Returns the nodes, and the first node of the cluster of each: itself, or the earliest node
    /// next to it that is the first of its cluster.
    pub(super) fn keep_first(self, meter: &Meter<'_>) -> Result<(Nodes<F>, Vec<u32>)> {
        let Self { nodes, pairs, room } = self;
        let mut edges = Sorter::new(room.files, room.memory, room.threads);
        for_each_edge(&nodes, pairs, meter, |later, earlier| {
            edges.push(u64::from(later) << 32 | u64::from(earlier))
        })?;
        let mut firsts = each_alone(&nodes);
        // By the later node, and then the earlier one. So what becomes of earlier nodes is known.
        edges.finish(&|_| meter.check())?.for_each(&mut |edges| {
            for &edge in edges {
                let [later, earlier] = [edge >> 32, edge].map(low_half);
                if is_alone(&firsts, later) && is_alone(&firsts, earlier) {
                    firsts[later as usize] = earlier;
                }
            }
            meter.check()
        })?;
        Ok((nodes, firsts))
    }

    /// Returns the nodes, and the first node of the connected component of each. Union-find with
    /// path halving, in which the earlier root wins.
    pub(super) fn components(self, meter: &Meter<'_>) -> Result<(Nodes<F>, Vec<u32>)> {
        let Self { nodes, pairs, .. } = self;
        let mut parents = each_alone(&nodes);
        for_each_edge(&nodes, pairs, meter, |a, b| {
            let (a, b) = (root(&mut parents, a), root(&mut parents, b));
            parents[a.max(b) as usize] = a.min(b);
            Ok(())
        })?;
        // A parent is earlier, so it has its root already.
        for node in 0..parents.len() {
            parents[node] = parents[parents[node] as usize];
        }
        Ok((nodes, parents))
    }
}

/// Returns each first node with the nodes of its cluster, sorted.
pub(super) fn clusters(firsts: Vec<u32>) -> Vec<(u32, u32)> {
    let mut members: Vec<(u32, u32)> = firsts.into_iter().zip(0..).collect();
    members.sort_unstable();
    members
}

fn each_alone<F: Fingerprint>(nodes: &Nodes<F>) -> Vec<u32> {
    (0..).take(nodes.len()).collect()
}

fn is_alone(firsts: &[u32], node: u32) -> bool {
    firsts[node as usize] == node
}

fn low_half(word: u64) -> u32 {
    u32::try_from(word & u64::from(u32::MAX)).unwrap_or_default()
}

fn root(parents: &mut [u32], mut node: u32) -> u32 {
    while parents[node as usize] != node {
        let above = parents[parents[node as usize] as usize];
        parents[node as usize] = above;
        node = above;
    }
    node
}

/// Visits the nodes of each pair, the later one first.
fn for_each_edge<F: Fingerprint>(
    nodes: &Nodes<F>,
    pairs: Spool<'_>,
    meter: &Meter<'_>,
    mut visit: impl FnMut(u32, u32) -> Result<()>,
) -> Result<()> {
    let fingerprint = |bytes: &[u8]| F::read_le(bytes).unwrap_or(F::ZERO);
    pairs.read(|bytes| {
        for pair in bytes.chunks_exact(GraphBuilder::<F>::PAIR) {
            let (a, b) = pair.split_at(pair.len() / 2);
            let (a, b) = (nodes.number(fingerprint(a)), nodes.number(fingerprint(b)));
            visit(a.max(b), a.min(b))?;
        }
        meter.advance((bytes.len() / GraphBuilder::<F>::PAIR) as u64)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::storage::PageBudget;
    use crate::fingerprint::DocId;

    #[test]
    fn parts_of_groups_that_come_in_any_order_are_one_node_with_the_lowest_id() {
        let pages = std::sync::Arc::new(PageBudget::new(0));
        let files = ScratchFiles::InFolder("missing".as_ref(), &pages);
        let mut builder = GraphBuilder::new(Room { files, memory: 1 << 20, threads: 1 });
        for (fingerprint, id) in [(7u64, 40), (8, 1), (7, 20), (7, 30), (8, 50)] {
            builder.add(Found::Group { fingerprint, ids: &[DocId(id)] }).unwrap();
        }
        let nodes = builder.finish().unwrap().nodes;
        let node = |fingerprint, id| Entry { fingerprint, id: DocId(id) };
        assert_eq!([0, 1].map(|number| nodes.entry(number)), [node(8, 1), node(7, 20)]);
        assert_eq!(nodes.len(), 2);
    }
}
