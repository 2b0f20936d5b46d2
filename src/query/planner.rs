//! Plans, made once per size of segment and distance asked.

use std::sync::OnceLock;

use crate::fingerprint::Fingerprint;
use crate::layout::{Layout, MAX_DISTANCE, Permutation, Plan};

/// A layout's bit orders, and the plans made for it so far.
#[derive(Debug)]
pub(crate) struct Planner<F> {
    layout: Layout,
    permutations: Vec<Permutation<F>>,
    /// By size class and distance.
    plans: Box<[[OnceLock<Plan<F>>; DISTANCES]]>,
}

/// Size classes: bits of the number of fingerprints.
const CLASSES: usize = 65;
/// Distances with plans of their own; all from the last on share one.
const DISTANCES: usize = MAX_DISTANCE as usize + 2;

impl<F: Fingerprint> Planner<F> {
    pub(crate) fn new(layout: Layout) -> Self {
        let permutations = (0..layout.tables()).map(|table| layout.permutation(table)).collect();
        let plans = (0..CLASSES).map(|_| std::array::from_fn(|_| OnceLock::new())).collect();
        Self { layout, permutations, plans }
    }

    pub(crate) fn permutations(&self) -> &[Permutation<F>] {
        &self.permutations
    }

    /// The fingerprint in each table's bit order.
    pub(crate) fn permuted(&self, fingerprint: F) -> Vec<F> {
        self.permutations.iter().map(|p| p.apply(fingerprint)).collect()
    }

    /// The plan for a source of about so many fingerprints. Sizes within a factor of two share
    /// one, which costs a few per cent at most: the best depth moves by one bit.
    #[inline]
    pub(crate) fn plan(&self, fingerprints: u64, distance: u32) -> &Plan<F> {
        let class = u64::BITS - fingerprints.leading_zeros();
        // Beyond the distances that are planned for every plan is a scan.
        let distance = distance.min(MAX_DISTANCE + 1);
        let plan = &self.plans[class as usize][distance as usize];
        plan.get_or_init(|| {
            let middle = if class < 2 { u64::from(class) } else { 3u64 << (class - 2) };
            self.layout.plan_for(middle, distance)
        })
    }
}
