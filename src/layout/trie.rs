//! What a staircase costs on a table of given size, and the prefixes to look up for it.
//!
//! A table is walked as a binary trie over its leading bits. Node (d, j): d bits passed, j of them
//! flipped; its subtable holds some entries / 2^d. Flipping the next bit is allowed while j is
//! below the staircase's bound there; once it is reached, the descent goes on to the end of the
//! cell with one child, at no cost. Any set of nodes that cuts every path will do: the cheapest is
//! found from the deep end upwards.

use super::plan::Probe;
use super::staircase::Staircase;
use crate::fingerprint::Fingerprint;

/// One prefix looked up: all lookups of a query overlap, so its latency hardly counts. Like the
/// two below, fitted to 13 measured runs at 2^23 and 2^26 entries in memory.
pub(super) const PROBE_NS: f64 = 10.0;
/// One entry decoded and compared.
pub(super) const ENTRY_NS: f64 = 5.8;
/// A query, whatever it does.
pub(super) const QUERY_NS: f64 = 500.0;
/// One entry of a full scan, which decodes whole blocks in turn.
pub(super) const SCAN_ENTRY_NS: f64 = 2.0;
/// Entries decoded in vain by a lookup: half a block.
const HALF_BLOCK: f64 = 11.5;
/// Largest distance that is planned for; beyond it a query scans.
pub(crate) const MAX_DISTANCE: u32 = 16;

/// Below 2^-6 entries a node's cost no longer falls with its depth.
const DEPTH_BELOW_ONE_ENTRY: u32 = 6;
const MAX_DEPTH: usize = 128;
const FLIPS: usize = MAX_DISTANCE as usize + 2;

/// Cost of looking a prefix of `depth` bits up and decoding what it leads to.
fn leaf(entries: f64, depth: usize) -> f64 {
    let share = (0..depth).fold(entries, |left, _| left / 2.0);
    PROBE_NS + ENTRY_NS * (HALF_BLOCK + share)
}

/// The cheapest walk of one table.
pub(super) struct Trie {
    /// Time of all its lookups.
    pub(super) ns: f64,
    /// Number of its lookups.
    pub(super) probes: f64,
    /// Per depth: most flips within it and one bit more.
    budgets: [u8; MAX_DEPTH],
    /// Per depth: a bit for each number of flips with which the walk ends there.
    stops: [u32; MAX_DEPTH],
    /// Depth at which it ends in any case.
    deepest: usize,
    bits: usize,
}

impl Trie {
    /// Distances up to [`MAX_DISTANCE`].
    pub(super) fn new(stairs: &Staircase, entries: u64) -> Self {
        let mut trie = Self::unwalked(stairs, entries);
        trie.decide(entries);
        trie
    }

    fn unwalked(stairs: &Staircase, entries: u64) -> Self {
        let mut budgets = [0; MAX_DEPTH];
        let mut start = 0;
        for step in stairs.steps() {
            budgets[start..step.depth.into()].fill(step.most);
            start = step.depth.into();
        }
        let to_one_entry = u64::BITS - entries.leading_zeros();
        let deepest = ((to_one_entry + DEPTH_BELOW_ONE_ENTRY) as usize).min(start);
        Self { ns: 0.0, probes: 0.0, budgets, stops: [0; MAX_DEPTH], deepest, bits: start }
    }

    #[expect(clippy::cast_precision_loss, reason = "an estimate")]
    fn decide(&mut self, entries: u64) {
        let entries = entries as f64;
        // Per number of flips, the best from this depth on.
        let mut cost = [leaf(entries, self.deepest); FLIPS];
        let mut probes = [1.0; FLIPS];
        for depth in (0..self.deepest).rev() {
            let end_here = leaf(entries, depth);
            let reached = depth.checked_sub(1).map_or(0, |above| self.budgets[above]);
            for flips in 0..=usize::from(reached) {
                let splits = flips < self.budgets[depth].into();
                let go_on = cost[flips] + if splits { cost[flips + 1] } else { 0.0 };
                if go_on <= end_here {
                    cost[flips] = go_on;
                    probes[flips] += if splits { probes[flips + 1] } else { 0.0 };
                } else {
                    cost[flips] = end_here;
                    probes[flips] = 1.0;
                    self.stops[depth] |= 1 << flips;
                }
            }
        }
        self.ns = cost[0];
        self.probes = probes[0];
    }

    /// Appends the lookups, depth first, unflipped before flipped.
    pub(super) fn walk<F: Fingerprint>(&self, table: u16, probes: &mut Vec<Probe<F>>) {
        self.visit(Probe { table, depth: 0, flips: F::ZERO }, 0, probes);
    }

    fn visit<F: Fingerprint>(&self, mut node: Probe<F>, flips: u8, probes: &mut Vec<Probe<F>>) {
        let depth = usize::from(node.depth);
        if depth >= self.deepest || self.stops[depth] >> flips & 1 == 1 {
            // A deeper prefix with the same patterns below it leads to fewer entries.
            let free = self.budgets[depth..self.bits].iter().take_while(|&&most| most == flips);
            node.depth += u8::try_from(free.count()).unwrap_or(0);
            probes.push(node);
            return;
        }
        let bit = F::ONE << (F::BITS - 1 - u32::from(node.depth));
        node.depth += 1;
        self.visit(node, flips, probes);
        if flips < self.budgets[depth] {
            node.flips = node.flips | bit;
            self.visit(node, flips + 1, probes);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::staircase::Step;
    use crate::layout::tests::Rng;

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
    fn every_accepted_pattern_lies_below_exactly_one_probe() {
        let mut rng = Rng(3);
        for round in 0..60 {
            let bits = 12 + u8::try_from(rng.below(3)).unwrap();
            let stairs = random_stairs(&mut rng, bits);
            let trie = Trie::new(&stairs, 1 << rng.below(20));
            let mut probes = Vec::new();
            trie.walk(0, &mut probes);
            assert_eq!(probes.len() as f64, trie.probes);
            for pattern in 0u64..1 << bits {
                let error = pattern << (64 - bits);
                if stairs.accepts(error) {
                    let above =
                        |p: &&Probe<u64>| error & u64::prefix_mask(p.depth.into()) == p.flips;
                    let above = probes.iter().filter(above).count();
                    assert_eq!(above, 1, "round {round}: {stairs:?} {pattern:b}");
                }
            }
        }
    }

    #[test]
    fn the_cost_is_that_of_the_probes() {
        let stairs = Staircase::new(vec![Step { depth: 32, most: 1 }], 64, 3);
        let trie = Trie::new(&stairs, 1 << 26);
        let mut probes = Vec::new();
        trie.walk::<u64>(0, &mut probes);
        let cost = |p: &Probe<u64>| leaf(f64::from(1 << 26), p.depth.into());
        let sum: f64 = probes.iter().map(cost).sum();
        assert!((sum - trie.ns).abs() < trie.ns / 100.0, "{sum} {}", trie.ns);
    }

    #[test]
    fn used_up_flips_run_on_to_the_end_of_the_cell() {
        let stairs = Staircase::new(vec![Step { depth: 40, most: 0 }], 64, 3);
        let mut probes = Vec::new();
        Trie::new(&stairs, 1 << 20).walk(5, &mut probes);
        assert_eq!(probes, [Probe { table: 5, depth: 40, flips: 0u64 }]);
    }
}
