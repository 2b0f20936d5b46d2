//! Plans, made once per size class and distance, and for the database's rule.

use std::sync::OnceLock;

use super::options::Within;
use crate::fingerprint::Fingerprint;
use crate::layout::{
    Costs, Layout, MAX_PLANNED_DISTANCE, MatchTest, Permutation, Plan, RuleTables, Terms,
};
use crate::settings::Settings;

/// The bit orders of a layout, and the plans made for it so far.
#[derive(Debug)]
pub(crate) struct Planner<F> {
    layout: Layout,
    terms: Terms,
    permutations: Vec<Permutation<F>>,
    /// The distance of the rule.
    distance: u32,
    /// What the tables accept by the rule; `None` for a rule by distance.
    rule: Option<RuleTables<F>>,
    segments: Plans<F>,
    memtables: Plans<F>,
}

/// Plans by size class, and by distance.
type Plans<F> = Box<[[OnceLock<Box<Plan<F>>>; PLACES]]>;

/// The place of the plans for distances for which no lookups are planned, which are scans.
const SCANS: usize = MAX_PLANNED_DISTANCE as usize + 1;
/// The place of the plans for the rule, if it is not a distance.
const RULE: usize = SCANS + 1;
const PLACES: usize = RULE + 1;

/// A size class contains the numbers that share their highest bit and this many bits after it.
/// Segments have finer classes. Memtables grow through the classes, and must not wait for plans.
const SEGMENT_BITS: u32 = 2;
const MEMTABLE_BITS: u32 = 0;

/// What a lookup of one fingerprint among the others costs, in nanoseconds: `cargo bench --bench
/// pairs`.
pub(crate) const PAIR_LOOKUP_NS: f64 = 3.5;
/// What comparing it with one of them costs, in nanoseconds.
pub(crate) const PAIR_ENTRY_NS: f64 = 0.6;

impl<F: Fingerprint> Planner<F> {
    /// Makes the planner of a database.
    pub(crate) fn of(settings: &Settings, costs: Costs) -> Self {
        let Settings { block_size, filter_bits, columns, .. } = *settings;
        let permutations = settings.permutations();
        Self {
            layout: settings.layout.clone(),
            terms: Terms { block_size, filter_bits, columns, costs, decoded: false },
            permutations,
            distance: settings.rule.distance(),
            rule: settings.rule.tables(&settings.layout),
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

    /// Returns which differences make a match.
    #[inline]
    pub(crate) fn test(&self, within: Within) -> MatchTest<'_, F> {
        match within {
            Within::Rule => MatchTest { distance: self.distance, tables: self.rule.as_ref() },
            Within::Distance(distance) => MatchTest { distance, tables: None },
        }
    }

    /// Returns the plan for a segment of about this many fingerprints.
    #[inline]
    pub(crate) fn plan(&self, fingerprints: u64, within: Within) -> &Plan<F> {
        let test = self.test(within);
        let place = place(&self.segments, class(fingerprints, SEGMENT_BITS), &test);
        place.get_or_init(|| self.make(middle(fingerprints, SEGMENT_BITS), &test, &self.terms))
    }

    /// Returns the plan for a memtable of about this many fingerprints.
    #[inline]
    pub(crate) fn plan_in_memory(&self, fingerprints: usize, within: Within) -> &Plan<F> {
        let fingerprints = fingerprints as u64;
        let test = self.test(within);
        let place = place(&self.memtables, class(fingerprints, MEMTABLE_BITS), &test);
        place.get_or_init(|| {
            let costs = self.terms.costs.clone();
            let terms = Terms { costs, decoded: true, ..Terms::default() };
            self.make(middle(fingerprints, MEMTABLE_BITS), &test, &terms)
        })
    }

    /// Makes the plan for comparing this many fingerprints with each other. They are decoded, and
    /// looked up in the order of the table, so no lookup waits for memory.
    pub(crate) fn plan_of_pairs(&self, fingerprints: u64, distance: u32) -> Box<Plan<F>> {
        let costs = Costs {
            query_ns: 0.0,
            lookup_ns: PAIR_LOOKUP_NS,
            lookup_far_ns: 0.0,
            decoded_entry_ns: PAIR_ENTRY_NS,
            scan_entry_ns: PAIR_ENTRY_NS,
            ..Costs::default()
        };
        let terms = Terms { costs, decoded: true, ..Terms::default() };
        self.make(fingerprints, &self.test(distance.into()), &terms)
    }

    #[cold]
    fn make(&self, fingerprints: u64, test: &MatchTest<'_, F>, terms: &Terms) -> Box<Plan<F>> {
        Box::new(match test.tables {
            Some(rule) => self.layout.plan_for_rule(fingerprints, rule, terms),
            None => {
                let distance = test.distance.min(MAX_PLANNED_DISTANCE + 1);
                self.layout.plan_for(fingerprints, distance, terms)
            }
        })
    }
}

fn unplanned<F: Fingerprint>(bits: u32) -> Plans<F> {
    (0..=class(u64::MAX, bits)).map(|_| std::array::from_fn(|_| OnceLock::new())).collect()
}

/// The place of the plan.
#[inline]
fn place<'a, F>(
    plans: &'a Plans<F>,
    class: usize,
    test: &MatchTest<'_, F>,
) -> &'a OnceLock<Box<Plan<F>>> {
    let place = if test.tables.is_some() { RULE } else { (test.distance as usize).min(SCANS) };
    &plans[class][place]
}

/// The number of a size class: the position of the highest bit, and the `bits` bits below it.
#[inline]
fn class(n: u64, bits: u32) -> usize {
    let Some(high) = n.checked_ilog2() else { return 0 };
    let below = (n << (63 - high) << 1) >> 1 >> (63 - bits);
    ((high as usize + 1) << bits) + usize::try_from(below).unwrap_or(0)
}

/// Returns the middle of the size class of `n`.
fn middle(n: u64, bits: u32) -> u64 {
    let rest = n.checked_ilog2().unwrap_or(0).saturating_sub(bits);
    (n >> rest << rest) + ((1 << rest) >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_made_for_the_middle_of_its_size_class() {
        for (n, whole, quarter) in
            [(0, 0, 0), (1, 1, 1), (2, 3, 2), (7, 6, 7), (8, 12, 9), (1023, 768, 960)]
        {
            assert_eq!((middle(n, 0), middle(n, 2)), (whole, quarter), "{n}");
        }
        assert!(middle(u64::MAX, 2) > u64::MAX / 16 * 15);
    }

    #[test]
    fn all_sizes_of_a_class_have_the_same_middle() {
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
