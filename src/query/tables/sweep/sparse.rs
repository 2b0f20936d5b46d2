//! A part of a table that few queries concern: only the blocks that they need are decoded.

use super::table::{PermutedQuery, ProbeQueries, QueryHit, TableSweep};
use crate::base::cpu;
use crate::base::error::Result;
use crate::file::codec::prefix_hash::{GROUP, prefix_hash};
use crate::fingerprint::Word;
use crate::index::tables::block::{self, Job, Searched};
use crate::index::tables::layout::{Prefix, Probe};
use crate::index::tables::table::{CHECKED_TOGETHER, FilterChecks, Lookup, Table};
use crate::query::QueryStats;

/// Finds the matches of these queries within `part`, in the sweep's table with any memory.
pub(super) fn search<F: Word>(
    sweep: &TableSweep<'_, F>,
    table: &Table<F>,
    routes: &[ProbeQueries],
    part: Prefix<F>,
    found: &mut Vec<QueryHit<F>>,
    read: &mut QueryStats,
) -> Result<()> {
    let pairs = routes.iter().flat_map(|route| {
        let probe = &sweep.probes[route.probe];
        sweep.queries[route.queries.clone()].iter().map(move |&query| (query, probe))
    });
    let mut waiting = Vec::with_capacity(CHECKED_TOGETHER);
    for pair in pairs {
        waiting.push(pair);
        if waiting.len() == CHECKED_TOGETHER {
            look_up(sweep, table, &waiting, part, found, read)?;
            waiting.clear();
            if sweep.tally.is_full() {
                return Ok(());
            }
        }
    }
    look_up(sweep, table, &waiting, part, found, read)
}

/// Takes up to [`CHECKED_TOGETHER`] lookups through all steps.
fn look_up<F: Word>(
    sweep: &TableSweep<'_, F>,
    table: &Table<F>,
    pairs: &[(PermutedQuery<F>, &Probe)],
    part: Prefix<F>,
    found: &mut Vec<QueryHit<F>>,
    read: &mut QueryStats,
) -> Result<()> {
    let (table, before) = (table.view(), found.len());
    let passing = passing(sweep, pairs)?;
    let mut lookups = Vec::with_capacity(pairs.len());
    for (number, &(query, probe)) in pairs.iter().enumerate() {
        if passing >> number & 1 == 0 {
            // A short prefix concerns several parts. It counts in the first.
            let low = (query.value ^ probe.flips()) & F::prefix_mask(probe.depth.into());
            read.filtered += u64::from(low >= part.low());
            continue;
        }
        let mut lookup = table.start_lookup(query.value ^ probe.flips(), probe.depth.into());
        // A probe with a short prefix concerns several parts, and here only this one counts.
        lookup.low = lookup.low.max(part.low());
        lookup.high = lookup.high.min(part.high());
        lookups.push((query, lookup));
    }
    for (_, lookup) in &mut lookups {
        table.find_blocks(lookup)?;
    }
    let mut jobs = lookups.into_iter().flat_map(|(query, lookup)| {
        let Lookup { low, high, .. } = lookup;
        lookup.blocks().map(move |block| {
            let block = table.packed(block)?;
            Ok(Job { block, query: query.value, low, high, tag: query })
        })
    });
    let searched = Searched::default();
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            let found = |query, candidate| sweep.report(query, candidate, found);
            block::search(|| jobs.next().transpose(), sweep.distance, &searched, found)
        },
    )?;
    read.blocks += searched.blocks.get();
    read.candidates += searched.candidates.get();
    sweep.tally.add(found.len() - before);
    Ok(())
}

/// Returns a bit for each pair, beginning with the lowest: 0 if the filter rules it out.
fn passing<F: Word>(
    sweep: &TableSweep<'_, F>,
    pairs: &[(PermutedQuery<F>, &Probe)],
) -> Result<u32> {
    let depth = sweep.table_plan.filter_depth();
    let Some(filter) = sweep.table.view().filter(depth) else { return Ok(u32::MAX) };
    let mut hashes = [[0; GROUP]; CHECKED_TOGETHER / GROUP];
    let mut too_short = 0;
    for (number, (&(query, probe), hash)) in pairs.iter().zip(hashes.as_flattened_mut()).enumerate()
    {
        *hash = prefix_hash(query.value ^ probe.flips(), depth);
        too_short |= u32::from(u32::from(probe.depth) < depth) << number;
    }
    let mut checks = FilterChecks::new();
    filter.start_checks(0, &hashes, &mut checks);
    Ok(filter.passing(&checks)? | too_short)
}
