//! All pairs of a database of fingerprints.

use std::sync::{Mutex, PoisonError};

use super::search::Search;
use super::visitor::Sink;
use crate::base::error::Result;
use crate::base::progress::{Meter, Phase};
use crate::fingerprint::{DocId, Word};
use crate::index::tables::layout::Prefix;
use crate::query::View;
use crate::query::tables::pairs::{EntryPass, PairSearch, Report};

/// With this many entries or more, the pass over all entries is divided.
const DIVIDE_FROM: u64 = 1 << 16;
/// Leading bits by which it is divided then.
const DIVIDE_BITS: u32 = 8;

/// Searches everything, until `is_stopped`.
pub(super) fn run<F: Word>(
    search: &Search<'_, F>,
    sink: &Sink<'_, F>,
    is_stopped: &(dyn Fn() -> bool + Sync),
) -> Result<()> {
    search.reader.read(|view| {
        let meter = Meter::new(&search.reader.watch, Phase::Read, None);
        let entries = EntryPass::new(view);
        let mut gone = Vec::new();
        if entries.is_needed() {
            let total = search.reader.len();
            meter.begin(Phase::Read, total)?;
            let parts = parts_of_entries::<F>(total);
            let all_gone = Mutex::new(&mut gone);
            search.in_parallel(&parts, is_stopped, |&part| {
                let mut gone = Vec::new();
                let group =
                    |fingerprint, ids: &[DocId], before| (sink.group)(fingerprint, ids, before);
                let read = entries.read(part, search.options.expand, group, |f| gone.push(f))?;
                all_gone.lock().unwrap_or_else(PoisonError::into_inner).append(&mut gone);
                meter.advance(read)
            })?;
            if is_stopped() {
                return Ok(());
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
        let regions: Vec<_> = pairs_of.regions().collect();
        meter.begin(Phase::Search, pairs_of.rows())?;
        // A single region may have many pairs, or take long to find none.
        let pairs: Report<'_, F> = &|pairs| {
            meter.check()?;
            if pairs.is_empty() { Ok(()) } else { (sink.pairs)(pairs) }
        };
        search.in_parallel(&regions, is_stopped, |&region| {
            meter.advance(pairs_of.search(region, pairs)?)
        })?;
        meter.finish();
        Ok(())
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
