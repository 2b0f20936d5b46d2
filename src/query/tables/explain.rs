//! How a query searches tables of fingerprints.

use crate::fingerprint::Word;
use crate::query::explain::{PlannedSegment, PlannedTable};
use crate::query::options::Within;
use crate::query::view::View;

/// Says how each segment is searched.
pub(in crate::query) fn plan<F: Word>(view: &View<'_, F>, within: Within) -> Vec<PlannedSegment> {
    let distance = view.planner.distance(within);
    let segments = view.version.segments.iter().map(|segment| {
        let meta = segment.meta();
        let plan = view.planner.tables().plan(meta.fingerprints, distance);
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
