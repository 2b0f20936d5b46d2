//! Plans, made once per size of segment and distance asked.

use std::sync::OnceLock;

use crate::fingerprint::Fingerprint;
use crate::layout::{Costs, Layout, MAX_DISTANCE, Permutation, Plan, Terms};
use crate::settings::Settings;

/// A layout's bit orders, and the plans made for it so far.
#[derive(Debug)]
pub(crate) struct Planner<F> {
    layout: Layout,
    terms: Terms,
    permutations: Vec<Permutation<F>>,
    segments: Plans<F>,
    memtables: Plans<F>,
}

/// By size class and distance.
type Plans<F> = Box<[[OnceLock<Box<Plan<F>>>; DISTANCES]]>;

/// Distances with plans of their own; all from the last on share one.
const DISTANCES: usize = MAX_DISTANCE as usize + 2;

/// Size classes are numbers that share their highest bit and so many further ones. Segments have
/// finer ones; memtables grow, and must not wait for plans.
const SEGMENT_BITS: u32 = 2;
const MEMTABLE_BITS: u32 = 0;

impl<F: Fingerprint> Planner<F> {
    /// The planner of a database.
    pub(crate) fn of(settings: &Settings, costs: Costs) -> Self {
        let Settings { block_size, code, filter_bits, .. } = *settings;
        let permutations = settings.permutations();
        Self {
            layout: settings.layout.clone(),
            terms: Terms { block_size, code, filter_bits, costs },
            permutations,
            segments: unplanned(SEGMENT_BITS),
            memtables: unplanned(MEMTABLE_BITS),
        }
    }

    pub(crate) fn permutations(&self) -> &[Permutation<F>] {
        &self.permutations
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.terms.costs
    }

    /// The fingerprint in each table's bit order.
    pub(crate) fn permuted(&self, fingerprint: F) -> Vec<F> {
        self.permutations.iter().map(|p| p.apply(fingerprint)).collect()
    }

    /// The plan for a segment of about so many fingerprints.
    #[inline]
    pub(crate) fn plan(&self, fingerprints: u64, distance: u32) -> &Plan<F> {
        let place = place(&self.segments, class(fingerprints, SEGMENT_BITS), distance);
        place.get_or_init(|| self.make(middle(fingerprints, SEGMENT_BITS), distance, &self.terms))
    }

    /// The plan for a memtable of about so many fingerprints, laid out for so many: probes are as
    /// narrow as its buckets, however few these hold.
    #[inline]
    pub(crate) fn plan_in_memory(
        &self,
        fingerprints: usize,
        capacity: usize,
        distance: u32,
    ) -> &Plan<F> {
        let plan = self.plan_of_memtable(fingerprints as u64, distance);
        if plan.is_scan() || fingerprints >= capacity {
            return plan;
        }
        self.plan_of_memtable(capacity as u64, distance)
    }

    #[inline]
    fn plan_of_memtable(&self, fingerprints: u64, distance: u32) -> &Plan<F> {
        let place = place(&self.memtables, class(fingerprints, MEMTABLE_BITS), distance);
        place.get_or_init(|| {
            let costs = self.terms.costs.clone().cold(0.0);
            let terms = Terms { costs, ..Terms::default() };
            self.make(middle(fingerprints, MEMTABLE_BITS), distance, &terms)
        })
    }

    #[cold]
    fn make(&self, fingerprints: u64, distance: u32, terms: &Terms) -> Box<Plan<F>> {
        Box::new(self.layout.plan_for(fingerprints, distance.min(MAX_DISTANCE + 1), terms))
    }
}

fn unplanned<F: Fingerprint>(bits: u32) -> Plans<F> {
    (0..=class(u64::MAX, bits)).map(|_| std::array::from_fn(|_| OnceLock::new())).collect()
}

/// Beyond the distances that are planned for every plan is a scan.
#[inline]
fn place<F>(plans: &Plans<F>, class: usize, distance: u32) -> &OnceLock<Box<Plan<F>>> {
    &plans[class][distance.min(MAX_DISTANCE + 1) as usize]
}

/// The number of a size class: that of the highest bit, and the `bits` below it.
#[inline]
fn class(n: u64, bits: u32) -> usize {
    let Some(high) = n.checked_ilog2() else { return 0 };
    let below = (n << (63 - high) << 1) >> 1 >> (63 - bits);
    ((high as usize + 1) << bits) + usize::try_from(below).unwrap_or(0)
}

/// The middle of the class of `n`.
fn middle(n: u64, bits: u32) -> u64 {
    let rest = n.checked_ilog2().unwrap_or(0).saturating_sub(bits);
    (n >> rest << rest) + ((1 << rest) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probes_of_a_memtable_are_as_narrow_as_its_buckets_however_few_entries_these_hold() {
        let layout = Layout::preset("half-2", 64).unwrap();
        let permutations = layout.permutations::<u64>();
        let planner = Planner {
            layout,
            terms: Terms::default(),
            permutations,
            segments: unplanned(SEGMENT_BITS),
            memtables: unplanned(MEMTABLE_BITS),
        };
        let shallowest = |fingerprints| {
            let plan = planner.plan_in_memory(fingerprints, 1 << 17, 3);
            plan.probes().iter().map(|probe| probe.depth).min()
        };
        assert_eq!(shallowest(30), None, "a scan");
        let full = shallowest(1 << 17);
        assert!(full > Some(12), "{full:?}");
        assert_eq!((shallowest(3000), shallowest(50_000)), (full, full));
    }

    #[test]
    fn sizes_that_share_a_plan_lie_around_the_one_it_is_for() {
        for (n, whole, quarter) in
            [(0, 0, 0), (1, 1, 1), (2, 3, 2), (7, 6, 7), (8, 12, 9), (1023, 768, 960)]
        {
            assert_eq!((middle(n, 0), middle(n, 2)), (whole, quarter), "{n}");
        }
        assert!(middle(u64::MAX, 2) > u64::MAX / 16 * 15);
    }

    #[test]
    fn sizes_of_one_class_have_one_middle() {
        let sizes =
            (0..5000).chain((0..64).flat_map(|bit| [1 << bit, 3 << bit >> 1, u64::MAX >> bit]));
        for n in sizes {
            for bits in [SEGMENT_BITS, MEMTABLE_BITS] {
                assert_eq!(class(n, bits), class(middle(n, bits), bits), "{n}");
                assert!(class(n, bits) <= class(u64::MAX, bits));
            }
            assert!(class(n, 2) <= class(n.saturating_add(1), 2));
        }
    }
}
