//! Plans for tables of fingerprints, made once per size class and distance.

use std::sync::OnceLock;

use crate::index::tables::layout::size_class::{MEMTABLE_BITS, SEGMENT_BITS, class, middle};
use crate::index::tables::layout::{BitOrder, Costs, Layout, MAX_PLANNED_DISTANCE, Plan, Terms};
use crate::settings::TableSettings;

/// The bit orders of a layout, and the plans made for it so far.
#[derive(Debug)]
pub(crate) struct TablePlanner {
    layout: Layout,
    terms: Terms,
    bit_orders: Vec<BitOrder>,
    segments: Plans,
    memtables: Plans,
}

/// Plans by size class, and by distance.
type Plans = Box<[[OnceLock<Box<Plan>>; PLACES]]>;

/// The place of the plans for distances for which no lookups are planned, which are scans.
const SCANS: usize = MAX_PLANNED_DISTANCE as usize + 1;
const PLACES: usize = SCANS + 1;

/// What a lookup of one fingerprint among the others costs, in nanoseconds: `cargo bench --bench
/// pairs`.
pub(super) const PAIR_LOOKUP_NS: f64 = 3.5;
/// What comparing it with one of them costs, in nanoseconds.
pub(super) const PAIR_ENTRY_NS: f64 = 0.6;

impl TablePlanner {
    pub(in crate::query) fn of(settings: &TableSettings, costs: Costs) -> Self {
        let TableSettings { ref layout, block_size, filter_bits, .. } = *settings;
        Self {
            layout: layout.clone(),
            terms: Terms { block_size, filter_bits, costs, decoded: false },
            bit_orders: layout.bit_orders(),
            segments: unplanned(SEGMENT_BITS),
            memtables: unplanned(MEMTABLE_BITS),
        }
    }

    /// Returns the bit orders of the tables.
    pub(crate) fn bit_orders(&self) -> &[BitOrder] {
        &self.bit_orders
    }

    pub(super) fn costs(&self) -> &Costs {
        &self.terms.costs
    }

    /// Returns the plan for a segment of about this many fingerprints.
    #[inline]
    pub(super) fn plan(&self, fingerprints: u64, distance: u32) -> &Plan {
        let place = place(&self.segments, class(fingerprints, SEGMENT_BITS), distance);
        place.get_or_init(|| self.make(middle(fingerprints, SEGMENT_BITS), distance, &self.terms))
    }

    /// Returns the plan for a memtable of about this many fingerprints.
    #[inline]
    pub(crate) fn plan_in_memory(&self, fingerprints: usize, distance: u32) -> &Plan {
        let fingerprints = fingerprints as u64;
        let place = place(&self.memtables, class(fingerprints, MEMTABLE_BITS), distance);
        place.get_or_init(|| {
            let costs = self.terms.costs.clone();
            let terms = Terms { costs, decoded: true, ..Terms::default() };
            self.make(middle(fingerprints, MEMTABLE_BITS), distance, &terms)
        })
    }

    /// Makes the plan for comparing this many fingerprints with each other. They are decoded, and
    /// looked up in the order of the table, so no lookup waits for memory.
    pub(super) fn plan_of_pairs(&self, fingerprints: u64, distance: u32) -> Box<Plan> {
        let costs = Costs {
            query_ns: 0.0,
            lookup_ns: PAIR_LOOKUP_NS,
            lookup_far_ns: 0.0,
            lookup_mapped_ns: 0.0,
            decoded_entry_ns: PAIR_ENTRY_NS,
            scan_entry_ns: PAIR_ENTRY_NS,
            ..Costs::default()
        };
        let terms = Terms { costs, decoded: true, ..Terms::default() };
        self.make(fingerprints, distance, &terms)
    }

    #[cold]
    fn make(&self, fingerprints: u64, distance: u32, terms: &Terms) -> Box<Plan> {
        let distance = distance.min(MAX_PLANNED_DISTANCE + 1);
        Box::new(self.layout.plan_for(fingerprints, distance, terms))
    }
}

fn unplanned(bits: u32) -> Plans {
    (0..=class(u64::MAX, bits)).map(|_| std::array::from_fn(|_| OnceLock::new())).collect()
}

#[inline]
fn place(plans: &Plans, class: usize, distance: u32) -> &OnceLock<Box<Plan>> {
    &plans[class][(distance as usize).min(SCANS)]
}
