//! A part of a table that few queries concern: only the blocks that they need are decoded.

use super::table::{Part, PermutedQuery, ProbeQueries, QueryHit, TableSweep};
use crate::block::{self, Job};
use crate::cpu;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::Probe;
use crate::table::Lookup;

/// Lookups that take each step together, so that their waits for memory overlap.
const TOGETHER: usize = 32;

/// Finds the matches of these queries within `part`.
pub(super) fn search<F: Fingerprint>(
    sweep: &TableSweep<'_, F>,
    routes: &[ProbeQueries],
    part: Part<F>,
    found: &mut Vec<QueryHit<F>>,
) -> Result<()> {
    let pairs = routes.iter().flat_map(|route| {
        let probe = &sweep.probes[route.probe];
        sweep.queries[route.queries.clone()].iter().map(move |&query| (query, probe))
    });
    let mut waiting = Vec::with_capacity(TOGETHER);
    for pair in pairs {
        waiting.push(pair);
        if waiting.len() == TOGETHER {
            look_up(sweep, &waiting, part, found)?;
            waiting.clear();
        }
    }
    look_up(sweep, &waiting, part, found)
}

/// Takes the lookups through all steps.
fn look_up<F: Fingerprint>(
    sweep: &TableSweep<'_, F>,
    pairs: &[(PermutedQuery<F>, &Probe<F>)],
    part: Part<F>,
    found: &mut Vec<QueryHit<F>>,
) -> Result<()> {
    let table = sweep.table.view();
    let start_check = |&(query, probe): &(PermutedQuery<F>, &Probe<F>)| {
        table.start_filter_check(query.value ^ probe.flips, probe.depth.into())
    };
    let checks: Vec<_> = pairs.iter().map(start_check).collect();
    let mut lookups = Vec::with_capacity(pairs.len());
    for (&(query, probe), check) in pairs.iter().zip(checks) {
        if let Some(check) = check
            && !table.may_contain(check)?
        {
            continue;
        }
        let mut lookup = table.start_lookup(query.value ^ probe.flips, probe.depth.into());
        // A probe with a short prefix concerns several parts, and here only this one counts.
        lookup.low = lookup.low.max(part.low());
        lookup.high = lookup.high.min(part.high());
        lookups.push((query, lookup));
    }
    for (_, lookup) in &mut lookups {
        table.find_blocks(lookup)?;
    }
    let mut jobs = lookups.into_iter().flat_map(|(query, lookup)| {
        let Lookup { low, high, blocks, .. } = lookup;
        blocks.map(move |block| {
            let block = table.packed(block)?;
            Ok(Job { block, query: query.value, low, high, tag: query })
        })
    });
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            let found = |query, candidate| sweep.report(query, candidate, found);
            block::search(sweep.table.code(), || jobs.next().transpose(), sweep.distance, found)
        },
    )
}
