//! How a query searches tables of bands.

use crate::fingerprint::{BITS_PER_MINIMUM, Sketch};
use crate::query::explain::{PlannedSegment, PlannedTable};
use crate::query::options::Within;
use crate::query::view::View;

/// Says how each segment is searched.
pub(in crate::query) fn plan(view: &View<'_, Sketch>, within: Within) -> Vec<PlannedSegment> {
    let test = Some(view.planner.bands().test(within)).filter(|test| test.shares_band);
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
