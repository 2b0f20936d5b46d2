//! All pairs of a database of fingerprints.

use std::sync::{Mutex, PoisonError};

use super::found::PairsPosition;
use super::search::Search;
use super::visitor::Sink;
use crate::error::Result;
use crate::fingerprint::{DocId, Word};
use crate::layout::Prefix;
use crate::pairs::{EntryPass, PairSearch, Report};
use crate::progress::{Meter, Phase};
use crate::query::View;

/// With this many entries or more, the pass over all entries is divided.
const DIVIDE_FROM: u64 = 1 << 16;
/// Leading bits by which it is divided then.
const DIVIDE_BITS: u32 = 8;

/// Searches everything. Returns where to resume if `is_stopped` in between.
pub(super) fn run<F: Word>(
    search: &Search<'_, F>,
    sink: &Sink<'_, F>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<Option<PairsPosition>> {
    let start = search.start()?;
    let position = |step, low: F| PairsPosition { step, low: low.to_u128(), ..start };
    let first = F::from_u128(start.low);
    search.reader.read(|view| {
        let meter = Meter::new(&search.reader.watch, Phase::Read, None);
        let entries = EntryPass::new(view);
        let mut gone = Vec::new();
        if entries.is_needed() {
            meter.begin(Phase::Read, start.entries)?;
            let parts = parts_of_entries::<F>(start.entries);
            let all_gone = Mutex::new(&mut gone);
            let at = search.in_parallel(&parts, is_stopped, |&part| {
                let mut gone = Vec::new();
                // Fingerprints that are gone are needed, whatever was passed on before.
                let group = |fingerprint, ids: &[DocId], before| {
                    let is_new = start.step == 0 && fingerprint >= first;
                    if is_new { (sink.group)(fingerprint, ids, before) } else { Ok(()) }
                };
                let read = entries.read(part, search.options.expand, group, |f| gone.push(f))?;
                all_gone.lock().unwrap_or_else(PoisonError::into_inner).append(&mut gone);
                meter.advance(read)
            })?;
            if let Some(part) = parts.get(at) {
                return Ok(Some(position(0, part.low())));
            }
        }
        let (memory, threads) = (search.options.memory, search.options.threads);
        let pairs_of = PairSearch::new(
            view,
            search.options.within,
            &entries.recent(),
            &gone,
            memory,
            threads,
        )?;
        let mut regions: Vec<_> = pairs_of.regions().collect();
        meter.begin(Phase::Search, pairs_of.rows())?;
        regions.retain(|region| {
            let step = region.table + 1;
            step > start.step || step == start.step && region.prefix.high() >= first
        });
        // A single region may have many pairs, or take long to find none.
        let pairs: Report<'_, F> = &|pairs| {
            meter.check()?;
            if pairs.is_empty() { Ok(()) } else { (sink.pairs)(pairs) }
        };
        let at = search.in_parallel(&regions, is_stopped, |&region| {
            let low = if region.table + 1 == start.step { first } else { F::ZERO };
            meter.advance(pairs_of.search(region, low, pairs)?)
        })?;
        meter.finish();
        Ok(regions.get(at).map(|region| position(region.table + 1, region.prefix.low())))
    })
}

/// Returns the parts in which all entries are read.
fn parts_of_entries<F: Word>(entries: u64) -> Vec<Prefix<F>> {
    let mut parts = vec![Prefix::ALL];
    for _ in 0..if entries < DIVIDE_FROM { 0 } else { DIVIDE_BITS } {
        parts = parts.into_iter().flat_map(Prefix::halves).collect();
    }
    parts
}

/// Returns whether entries were removed, or may share fingerprints.
pub(super) fn is_shared<F: Word>(view: &View<'_, F>) -> bool {
    EntryPass::new(view).is_needed()
}
