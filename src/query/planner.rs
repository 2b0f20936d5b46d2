//! Plans, made once per size class and distance.

use std::sync::OnceLock;

use super::counters::Counters;
use super::options::Within;
use crate::base::error::{Error, ErrorKind, Result};
use crate::index::bands::{BandRule, ParityLimits, SketchTest};
use crate::index::tables::layout::size_class::{MEMTABLE_BITS, SEGMENT_BITS, class, middle};
use crate::index::tables::layout::{BitOrder, Costs, Layout, MAX_PLANNED_DISTANCE, Plan, Terms};
use crate::settings::{IndexSettings, Settings, TableSettings};

/// How the sources of a database are searched, and what queries have read so far.
#[derive(Debug)]
pub(crate) struct Planner {
    index: PlannedIndex,
    /// The distance of the rule.
    distance: u32,
    /// What all queries have read that were planned here.
    counters: Counters,
}

#[derive(Debug)]
enum PlannedIndex {
    Tables(Box<TablePlanner>),
    Bands {
        rule: BandRule,
        limits: ParityLimits,
        /// Most pages of documents that a query may read.
        candidate_pages: usize,
    },
}

/// The bit orders of a layout, and the plans made for it so far.
#[derive(Debug)]
struct TablePlanner {
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
pub(crate) const PAIR_LOOKUP_NS: f64 = 3.5;
/// What comparing it with one of them costs, in nanoseconds.
pub(crate) const PAIR_ENTRY_NS: f64 = 0.6;

impl Planner {
    /// Makes the planner of a database.
    pub(crate) fn of(settings: &Settings, costs: Costs, candidate_pages: usize) -> Self {
        let index = match &settings.index {
            IndexSettings::Tables(tables) => {
                PlannedIndex::Tables(Box::new(TablePlanner::of(tables, costs)))
            }
            IndexSettings::Bands(rule) => {
                PlannedIndex::Bands { rule: *rule, limits: rule.limits(), candidate_pages }
            }
        };
        let distance = settings.index.rule().distance();
        Self { index, distance, counters: Counters::default() }
    }

    #[inline]
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Returns which sketches match; `None` in a database of fingerprints.
    pub(crate) fn sketch_test(&self, within: Within) -> Option<SketchTest<'_>> {
        let PlannedIndex::Bands { rule, limits, .. } = &self.index else { return None };
        Some(match within {
            Within::Rule => rule.test(limits),
            Within::Distance(distance) => rule.within(distance),
        })
    }

    /// Fails if this is more pages than a query by bands may read.
    pub(super) fn check_pages(&self, pages: usize) -> Result<()> {
        let most = match self.index {
            PlannedIndex::Bands { candidate_pages, .. } => candidate_pages,
            PlannedIndex::Tables(_) => usize::MAX,
        };
        if pages <= most {
            return Ok(());
        }
        Err(Error::new(
            ErrorKind::TooManyCandidates,
            format!(
                "the bands of the sketch lead to more than {most} pages of documents, the most that \
                 a query may read; allow more with candidate_pages, or insert the document \
                 without a query"
            ),
        ))
    }

    /// Returns the planner of the tables.
    #[inline]
    fn tables(&self) -> &TablePlanner {
        match &self.index {
            PlannedIndex::Tables(tables) => tables,
            PlannedIndex::Bands { .. } => unreachable!("sketches are not searched in tables"),
        }
    }

    /// Returns the bit orders of the tables; none in a database of sketches.
    pub(crate) fn bit_orders(&self) -> &[BitOrder] {
        match &self.index {
            PlannedIndex::Tables(tables) => &tables.bit_orders,
            PlannedIndex::Bands { .. } => &[],
        }
    }

    pub(crate) fn costs(&self) -> &Costs {
        &self.tables().terms.costs
    }

    /// Returns the distance within which fingerprints match.
    #[inline]
    pub(crate) fn distance(&self, within: Within) -> u32 {
        match within {
            Within::Rule => self.distance,
            Within::Distance(distance) => distance,
        }
    }

    /// Returns the plan for a segment of about this many fingerprints.
    #[inline]
    pub(crate) fn plan(&self, fingerprints: u64, within: Within) -> &Plan {
        let (tables, distance) = (self.tables(), self.distance(within));
        let place = place(&tables.segments, class(fingerprints, SEGMENT_BITS), distance);
        let make = || tables.make(middle(fingerprints, SEGMENT_BITS), distance, &tables.terms);
        place.get_or_init(make)
    }

    /// Returns the plan for a memtable of about this many fingerprints.
    #[inline]
    pub(crate) fn plan_in_memory(&self, fingerprints: usize, within: Within) -> &Plan {
        let fingerprints = fingerprints as u64;
        let (tables, distance) = (self.tables(), self.distance(within));
        let place = place(&tables.memtables, class(fingerprints, MEMTABLE_BITS), distance);
        place.get_or_init(|| {
            let costs = tables.terms.costs.clone();
            let terms = Terms { costs, decoded: true, ..Terms::default() };
            tables.make(middle(fingerprints, MEMTABLE_BITS), distance, &terms)
        })
    }

    /// Makes the plan for comparing this many fingerprints with each other. They are decoded, and
    /// looked up in the order of the table, so no lookup waits for memory.
    pub(crate) fn plan_of_pairs(&self, fingerprints: u64, distance: u32) -> Box<Plan> {
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
        self.tables().make(fingerprints, distance, &terms)
    }
}

impl TablePlanner {
    fn of(settings: &TableSettings, costs: Costs) -> Self {
        let TableSettings { ref layout, block_size, filter_bits, .. } = *settings;
        Self {
            layout: layout.clone(),
            terms: Terms { block_size, filter_bits, costs, decoded: false },
            bit_orders: layout.bit_orders(),
            segments: unplanned(SEGMENT_BITS),
            memtables: unplanned(MEMTABLE_BITS),
        }
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
