//! Plans, made once per size of segment and distance asked.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};

use crate::fingerprint::Fingerprint;
use crate::layout::{Layout, Permutation, Plan};

/// A layout's bit orders, and the plans made for it so far.
#[derive(Debug)]
pub(crate) struct Planner<F> {
    layout: Layout,
    permutations: Vec<Permutation<F>>,
    plans: RwLock<Plans<F>>,
}

/// By size class and distance.
type Plans<F> = HashMap<(u32, u32), Arc<Plan<F>>>;

impl<F: Fingerprint> Planner<F> {
    pub(crate) fn new(layout: Layout) -> Self {
        let permutations = (0..layout.tables()).map(|table| layout.permutation(table)).collect();
        Self { layout, permutations, plans: RwLock::default() }
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
    pub(crate) fn plan(&self, fingerprints: u64, distance: u32) -> Arc<Plan<F>> {
        let class = u64::BITS - fingerprints.leading_zeros();
        let distance = distance.min(F::BITS);
        let plans = self.plans.read().unwrap_or_else(PoisonError::into_inner);
        if let Some(plan) = plans.get(&(class, distance)) {
            return plan.clone();
        }
        drop(plans);
        let middle = if class < 2 { u64::from(class) } else { 3u64 << (class - 2) };
        let plan = Arc::new(self.layout.plan_for(middle, distance));
        let mut plans = self.plans.write().unwrap_or_else(PoisonError::into_inner);
        plans.entry((class, distance)).or_insert(plan).clone()
    }
}
