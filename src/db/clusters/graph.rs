//! The graph of near fingerprints, and how it falls into clusters.

use crate::error::{Error, Result};
use crate::fingerprint::{Entry, Fingerprint};

/// Fingerprints that are near others or that several entries have.
pub(super) struct Graph<F> {
    /// Each fingerprint with its lowest id, in the order of these ids. A node is a position in it.
    pub(super) nodes: Vec<Entry<F>>,
    /// The fingerprints that several entries have, sorted.
    groups: Vec<F>,
    /// The two nodes of each pair, the later one first. Sorted.
    edges: Vec<(u32, u32)>,
}

/// Nodes from which on repeated ones are removed while a graph is made.
const REPEATED_FROM: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };

/// Collects the pairs and groups of a graph.
pub(super) struct GraphBuilder<F> {
    /// Fingerprints with ids, the lowest among them. Some are there more than once.
    nodes: Vec<Entry<F>>,
    /// Number of nodes at which repeated ones are removed.
    full: usize,
    /// Fingerprints that several entries have. Some are there more than once.
    groups: Vec<F>,
    pairs: Vec<(F, F)>,
}

impl<F: Fingerprint> GraphBuilder<F> {
    pub(super) fn new() -> Self {
        Self { nodes: Vec::new(), full: REPEATED_FROM, groups: Vec::new(), pairs: Vec::new() }
    }

    /// Adds a fingerprint that several entries have, with one of their ids. Large groups come in
    /// several parts, one of which has the lowest id.
    pub(super) fn add_group(&mut self, entry: Entry<F>) {
        if self.groups.last() != Some(&entry.fingerprint) {
            self.groups.push(entry.fingerprint);
        }
        self.add_node(entry);
    }

    /// Adds two fingerprints that are near each other, with their lowest ids.
    pub(super) fn add_pair(&mut self, a: Entry<F>, b: Entry<F>) {
        self.pairs.push((a.fingerprint, b.fingerprint));
        self.add_node(a);
        self.add_node(b);
    }

    fn add_node(&mut self, entry: Entry<F>) {
        self.nodes.push(entry);
        if self.nodes.len() >= self.full {
            self.remove_repeated();
            self.full = (2 * self.nodes.len()).max(REPEATED_FROM);
        }
    }

    /// Keeps each fingerprint once, with its lowest id.
    fn remove_repeated(&mut self) {
        self.nodes.sort_unstable();
        self.nodes.dedup_by_key(|entry| entry.fingerprint);
    }

    /// Returns how many bytes the graph takes while it is made.
    pub(super) fn bytes(&self) -> u64 {
        let node = size_of::<Entry<F>>() + size_of::<(F, u32)>();
        let pair = size_of::<(F, F)>() + size_of::<(u32, u32)>();
        let groups = self.groups.len() * size_of::<F>();
        (self.nodes.len() * node + groups + self.pairs.len() * pair) as u64
    }

    pub(super) fn build(mut self) -> Result<Graph<F>> {
        self.remove_repeated();
        let Self { mut nodes, mut groups, pairs, .. } = self;
        groups.sort_unstable();
        groups.dedup();
        nodes.sort_unstable_by_key(|entry| (entry.id, entry.fingerprint));
        if u32::try_from(nodes.len()).is_err() {
            return Err(Error::invalid(format!(
                "{} fingerprints are near others: clusters can be made of at most {}",
                nodes.len(),
                u32::MAX
            )));
        }
        let mut numbers: Vec<(F, u32)> =
            nodes.iter().map(|node| node.fingerprint).zip(0..).collect();
        numbers.sort_unstable();
        let node = |fingerprint: F| {
            let place = numbers.partition_point(|&(other, _)| other < fingerprint);
            numbers[place].1
        };
        let edge = |&(a, b): &(F, F)| {
            let (a, b) = (node(a), node(b));
            (a.max(b), a.min(b))
        };
        let mut edges: Vec<(u32, u32)> = pairs.iter().map(edge).collect();
        edges.sort_unstable();
        Ok(Graph { nodes, groups, edges })
    }
}

impl<F: Fingerprint> Graph<F> {
    /// Returns whether several entries have this fingerprint.
    pub(super) fn is_group(&self, fingerprint: F) -> bool {
        self.groups.binary_search(&fingerprint).is_ok()
    }

    /// Returns the first node of the cluster of each node: itself, or the earliest node next to it
    /// that is the first of its cluster.
    pub(super) fn keep_first(&self) -> Vec<u32> {
        let mut firsts = self.each_alone();
        for edges in self.edges.chunk_by(|a, b| a.0 == b.0) {
            let kept = edges.iter().map(|edge| edge.1).find(|&node| firsts[node as usize] == node);
            if let Some(kept) = kept {
                firsts[edges[0].0 as usize] = kept;
            }
        }
        firsts
    }

    /// Returns the first node of the connected component of each node. Union-find with path halving,
    /// in which the earlier root wins.
    pub(super) fn components(&self) -> Vec<u32> {
        let mut parents = self.each_alone();
        let root = |parents: &mut Vec<u32>, mut node: u32| {
            while parents[node as usize] != node {
                let above = parents[parents[node as usize] as usize];
                parents[node as usize] = above;
                node = above;
            }
            node
        };
        for &(a, b) in &self.edges {
            let (a, b) = (root(&mut parents, a), root(&mut parents, b));
            parents[a.max(b) as usize] = a.min(b);
        }
        // A parent is earlier, so it has its root already.
        for node in 0..parents.len() {
            parents[node] = parents[parents[node] as usize];
        }
        parents
    }

    /// Returns each first node with the nodes of its cluster, sorted.
    pub(super) fn clusters(firsts: &[u32]) -> Vec<(u32, u32)> {
        let mut members: Vec<(u32, u32)> = firsts.iter().copied().zip(0..).collect();
        members.sort_unstable();
        members
    }

    fn each_alone(&self) -> Vec<u32> {
        (0..).take(self.nodes.len()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::DocId;

    #[test]
    fn parts_of_groups_that_come_in_any_order_are_one_node_with_the_lowest_id() {
        let mut builder = GraphBuilder::new();
        for (fingerprint, id) in [(7u64, 40), (8, 1), (7, 20), (7, 30), (8, 50)] {
            builder.add_group(Entry { fingerprint, id: DocId(id) });
        }
        let node = |fingerprint, id| Entry { fingerprint, id: DocId(id) };
        assert_eq!(builder.build().unwrap().nodes, [node(8, 1), node(7, 20)]);
    }
}
