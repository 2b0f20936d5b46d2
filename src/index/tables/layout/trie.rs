//! The cost of a staircase on a table of a given size, and the prefixes to look up for it.
//!
//! A table is walked as a binary trie over its leading bits. At node (d, j), d bits have been
//! passed and j of them flipped, and some entries / 2^d are below the node. The next bit may be
//! flipped while j is below the bound of the staircase at that depth. Once the bound is reached,
//! the descent continues to the end of the cell with one child, at no cost. Any set of nodes that
//! cuts every path is a valid list of lookups. The cheapest set is found from the deepest nodes
//! upwards.

use super::probe::{MAX_FLIPPED, Probe};
use super::staircase::Staircase;
use super::terms::{Leaves, Work};

/// Largest distance for which lookups are planned. Beyond it, a query scans.
pub(crate) const MAX_PLANNED_DISTANCE: u32 = 24;

const MAX_DEPTH: usize = 128;
const FLIPS: usize = MAX_PLANNED_DISTANCE as usize + 2;

/// The cheapest walk of one table.
pub(super) struct Trie {
    /// What all its lookups do and cost.
    pub(super) work: Work,
    /// For each depth, the most flips within that depth and the next bit.
    budgets: [u8; MAX_DEPTH],
    /// For each depth, one bit per number of flips with which the walk ends there.
    stops: [u32; MAX_DEPTH],
    /// Depth at which the walk ends in any case.
    deepest: usize,
    bits: usize,
}

impl Trie {
    /// Finds the cheapest walk, for distances up to [`MAX_PLANNED_DISTANCE`].
    pub(super) fn new(stairs: &Staircase, leaves: &Leaves) -> Self {
        let mut trie = Self::unwalked(stairs, leaves);
        trie.decide(leaves);
        trie
    }

    fn unwalked(stairs: &Staircase, leaves: &Leaves) -> Self {
        let mut budgets = [0; MAX_DEPTH];
        let mut start = 0;
        for step in stairs.steps() {
            budgets[start..step.depth.into()].fill(step.most);
            start = step.depth.into();
        }
        let deepest = usize::from(leaves.deepest.min(MAX_FLIPPED)).min(start);
        Self { work: Work::default(), budgets, stops: [0; MAX_DEPTH], deepest, bits: start }
    }

    fn decide(&mut self, leaves: &Leaves) {
        // For each number of flips, the cheapest walk from this depth on.
        let mut best = [leaves.by_depth[self.deepest]; FLIPS];
        for depth in (0..self.deepest).rev() {
            let end_here = leaves.by_depth[depth];
            let reached = depth.checked_sub(1).map_or(0, |above| self.budgets[above]);
            for flips in 0..=usize::from(reached) {
                let splits = flips < self.budgets[depth].into();
                let go_on = if splits { best[flips] + best[flips + 1] } else { best[flips] };
                if go_on.ns <= end_here.ns {
                    best[flips] = go_on;
                } else {
                    best[flips] = end_here;
                    self.stops[depth] |= 1 << flips;
                }
            }
        }
        self.work = best[0];
    }

    /// Appends the lookups, depth first, unflipped bits before flipped ones.
    pub(super) fn walk(&self, probes: &mut Vec<Probe>) {
        self.visit(Probe::ALL, 0, probes);
    }

    fn visit(&self, mut node: Probe, flips: u8, probes: &mut Vec<Probe>) {
        let depth = usize::from(node.depth);
        if depth >= self.deepest || self.stops[depth] >> flips & 1 == 1 {
            // A deeper prefix that covers the same patterns leads to fewer entries.
            let free = self.budgets[depth..self.bits].iter().take_while(|&&most| most == flips);
            node.depth += u8::try_from(free.count()).unwrap_or(0);
            probes.push(node);
            return;
        }
        let bit = node.depth;
        node.depth += 1;
        self.visit(node, flips, probes);
        if flips < self.budgets[depth] {
            node.flip(bit);
            self.visit(node, flips + 1, probes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fingerprint::Word;
    use crate::index::tables::layout::staircase::Step;
    use crate::index::tables::layout::terms::Terms;
    use crate::index::tables::layout::tests::Rng;

    fn random_stairs(rng: &mut Rng, bits: u8) -> Staircase {
        let distance = u8::try_from(rng.below(6)).unwrap();
        let mut steps = Vec::new();
        let (mut depth, mut most) = (0, 0);
        loop {
            depth += 1 + u8::try_from(rng.below(8)).unwrap();
            most += u8::try_from(rng.below(3)).unwrap();
            if depth > bits || most > distance {
                return Staircase::new(steps, bits, distance);
            }
            steps.push(Step { depth, most });
        }
    }

    #[test]
    fn every_accepted_pattern_is_covered_by_exactly_one_probe() {
        let mut rng = Rng::new(3);
        for round in 0..60 {
            let bits = 12 + u8::try_from(rng.below(3)).unwrap();
            let stairs = random_stairs(&mut rng, bits);
            let filter_bits = 10 * rng.below(2);
            let terms = Terms { filter_bits, ..Terms::default() };
            let filter_depth = 1 + rng.below(30);
            let leaves = Leaves::new(&terms, 64, 1 << rng.below(20), filter_depth, 2);
            let trie = Trie::new(&stairs, &leaves);
            let mut probes = Vec::new();
            trie.walk(&mut probes);
            assert_eq!(probes.len() as f64, trie.work.probes);
            for pattern in 0u64..1 << bits {
                let error = pattern << (64 - bits);
                if stairs.accepts(error) {
                    let above =
                        |p: &&Probe| error & u64::prefix_mask(p.depth.into()) == p.flips::<u64>();
                    let above = probes.iter().filter(above).count();
                    assert_eq!(above, 1, "round {round}: {stairs:?} {pattern:b}");
                }
            }
        }
    }

    #[test]
    fn cost_of_a_walk_is_the_sum_of_its_probes() {
        let stairs = Staircase::new(vec![Step { depth: 32, most: 1 }], 64, 3);
        let leaves = Leaves::new(&Terms::default(), 64, 1 << 26, 32, 2);
        let trie = Trie::new(&stairs, &leaves);
        let mut probes = Vec::new();
        trie.walk(&mut probes);
        let cost = |p: &Probe| leaves.by_depth[usize::from(p.depth)].ns;
        let sum: f64 = probes.iter().map(cost).sum();
        assert!((sum - trie.work.ns).abs() < trie.work.ns / 100.0, "{sum} {}", trie.work.ns);
    }

    #[test]
    fn probe_without_flips_left_extends_to_the_end_of_the_cell() {
        let stairs = Staircase::new(vec![Step { depth: 40, most: 0 }], 64, 3);
        let mut probes = Vec::new();
        let leaves = Leaves::new(&Terms::default(), 64, 1 << 20, 32, 2);
        Trie::new(&stairs, &leaves).walk(&mut probes);
        assert_eq!(probes, [Probe { depth: 40, flips: 0 }]);
    }
}
