//! How a query is answered, and what it reads.

use super::counters::{Counters, QueryStats};
use super::options::{QueryOptions, Within};
use super::view::View;
use crate::base::error::Result;
use crate::fingerprint::{BITS_PER_MINIMUM, Fingerprint, Match, Sketch, Word};

/// The plan of one query, what it read and its matches; see
/// [`Snapshot::explain`](crate::Snapshot::explain).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation<F = u64> {
    /// The matches, as [`Snapshot::query`](crate::Snapshot::query) returns them.
    pub matches: Vec<Match<F>>,
    /// How each segment was searched, oldest first.
    pub segments: Vec<PlannedSegment>,
    /// What was read.
    pub read: QueryStats,
}

/// How a query searches a segment.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedSegment {
    /// The number of the segment.
    pub segment: u64,
    /// Number of its fingerprints, or of its original documents with sketches.
    pub fingerprints: u64,
    /// The tables that are searched. If there is none, everything is compared: a scan.
    pub tables: Vec<PlannedTable>,
}

/// How a query searches a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedTable {
    /// Its number in the layout, or the number of the band.
    pub table: usize,
    /// Number of prefixes to look up.
    pub lookups: usize,
    /// Bits of the shortest of these.
    pub shortest: u32,
    /// Bits of the longest.
    pub longest: u32,
    /// The most bits that are flipped in one.
    pub flips: u32,
}

impl<F: Fingerprint> View<'_, F> {
    /// Answers a query, and says how.
    pub(crate) fn explain(&self, fingerprint: F, options: QueryOptions) -> Result<Explanation<F>> {
        let counters = Counters::default();
        let matches = View { counters: &counters, ..*self }.query(fingerprint, options);
        let read = counters.sum();
        self.counters.add(&read);
        Ok(Explanation { matches: matches?, segments: self.plan(options.within), read })
    }
}

/// Says how tables of fingerprints are searched.
pub(super) fn of_tables<F: Word>(view: &View<'_, F>, within: Within) -> Vec<PlannedSegment> {
    let segments = view.version.segments.iter().map(|segment| {
        let meta = segment.meta();
        let plan = view.planner.plan(meta.fingerprints, within);
        let tables = plan.tables().iter().map(|table| {
            let depths = || table.probes().iter().map(|probe| u32::from(probe.depth));
            let flips = table.probes().iter().map(|probe| probe.flips::<u64>().count_ones());
            PlannedTable {
                table: table.number(),
                lookups: table.probes().len(),
                shortest: depths().min().unwrap_or(0),
                longest: depths().max().unwrap_or(0),
                flips: flips.max().unwrap_or(0),
            }
        });
        let (segment, fingerprints) = (meta.id, meta.fingerprints);
        PlannedSegment { segment, fingerprints, tables: tables.collect() }
    });
    segments.collect()
}

/// Says how tables of bands are searched.
pub(super) fn of_bands(view: &View<'_, Sketch>, within: Within) -> Vec<PlannedSegment> {
    let test = view.planner.sketch_test(within).filter(|test| test.shares_band);
    let segments = view.version.segments.iter().map(|segment| {
        let bands = test.map_or(0, |test| test.rule.bands as usize);
        let bits = test.map_or(0, |test| test.rule.minima * BITS_PER_MINIMUM);
        let table =
            |table| PlannedTable { table, lookups: 1, shortest: bits, longest: bits, flips: 0 };
        PlannedSegment {
            segment: segment.meta().id,
            fingerprints: segment.documents().map_or(0, |documents| documents.originals()),
            tables: (0..bands).map(table).collect(),
        }
    });
    segments.collect()
}
