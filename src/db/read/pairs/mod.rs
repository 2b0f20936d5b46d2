//! All pairs of a snapshot: regions are searched in parallel, and ids are added to what they find.

mod entries;
mod found;
mod visitor;

use std::sync::{Mutex, PoisonError};

use entries::EntriesOfPairs;
pub use found::{Found, Pair, PairsPosition, PairsReport};
pub(crate) use visitor::Visit;
use visitor::{PAIRS, Sink, Visitor};

use crate::db::read::reader::Reader;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Fingerprint};
use crate::layout::Prefix;
use crate::pairs::{EntryPass, PairSearch, Report};
use crate::parallel;
use crate::progress::{Meter, Phase};
use crate::query::Within;

/// Memory for a search, unless set.
const MEMORY: u64 = 512 << 20;

/// With this many entries or more, the pass over all entries is divided.
const DIVIDE_FROM: u64 = 1 << 16;
/// Leading bits by which it is divided then.
const DIVIDE_BITS: u32 = 8;

/// What to search for, and with what.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PairOptions {
    pub(crate) within: Within,
    /// Bytes of memory for the parts of tables that are compared.
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    /// Whether every pair of entries is passed on, and no groups.
    pub(crate) expand: bool,
    pub(crate) resume: Option<PairsPosition>,
}

impl PairOptions {
    pub(crate) fn new(within: Within, threads: usize) -> Self {
        Self { within, memory: MEMORY, threads, expand: false, resume: None }
    }
}

/// A search for all pairs of entries.
#[derive(Debug)]
pub(crate) struct Search<'a, F> {
    pub(crate) reader: &'a Reader<F>,
    pub(crate) options: PairOptions,
}

impl<F: Fingerprint> Search<'_, F> {
    /// Passes everything that is found to `visit`, some thousand pairs at a time. Several threads
    /// search, and call `visit` one at a time.
    pub(crate) fn visit(&self, visit: &mut Visit<'_, F>) -> Result<PairsReport> {
        let visitor = Visitor::new(visit, self.distance());
        let sink = Sink {
            group: &|fingerprint, ids| match self.options.expand {
                true => visitor.all_of_group(fingerprint, ids),
                false => visitor.group(fingerprint, ids),
            },
            pairs: &|pairs| self.add_ids(pairs, &visitor),
        };
        let next = self.run(&sink, &|| visitor.is_stopped())?;
        Ok(visitor.report(next))
    }

    /// Returns the number of pairs of entries at each distance, from 0. Entries with equal
    /// fingerprints are counted as pairs at distance 0.
    pub(crate) fn count(&self) -> Result<Vec<u64>> {
        let counts = Mutex::new(vec![0; self.distance().min(F::BITS) as usize + 1]);
        let add = |more: &mut dyn Iterator<Item = (u32, u64)>| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            more.for_each(|(distance, pairs)| counts[distance as usize] += pairs);
        };
        let is_shared = self.reader.read(|view| EntryPass::new(view).is_needed());
        let sink = Sink {
            group: &|_, ids| {
                let count = ids.len() as u64;
                add(&mut [(0, count * count.saturating_sub(1) / 2)].into_iter());
                Ok(())
            },
            pairs: &|pairs| {
                if !is_shared {
                    add(&mut pairs.iter().map(|&(_, _, distance)| (distance, 1)));
                    return Ok(());
                }
                let entries = EntriesOfPairs::read(self.reader, pairs, usize::MAX)?;
                let count = |fingerprint| entries.of(fingerprint).len() as u64;
                add(&mut pairs.iter().map(|&(a, b, distance)| (distance, count(a) * count(b))));
                Ok(())
            },
        };
        let options = PairOptions { expand: true, ..self.options };
        Self { options, ..*self }.run(&sink, &|| false)?;
        Ok(counts.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the distance beyond which fingerprints never match.
    fn distance(&self) -> u32 {
        self.reader.planner.test(self.options.within).distance
    }

    /// Searches everything. Returns where to resume if `is_stopped` in between.
    fn run(
        &self,
        sink: &Sink<'_, F>,
        is_stopped: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<PairsPosition>> {
        let start = self.start()?;
        let position = |step, low: F| PairsPosition { step, low: low.to_u128(), ..start };
        let first = F::from_u128(start.low);
        self.reader.read(|view| {
            let meter = Meter::new(&self.reader.watch, Phase::Read, None);
            let entries = EntryPass::new(view);
            let mut gone = Vec::new();
            if entries.is_needed() {
                meter.begin(Phase::Read, start.entries)?;
                let parts = parts_of_entries::<F>(start.entries);
                let all_gone = Mutex::new(&mut gone);
                let at = self.in_parallel(&parts, is_stopped, |&part| {
                    let mut gone = Vec::new();
                    // Fingerprints that are gone are needed, whatever was passed on before.
                    let group = |fingerprint, ids: &[DocId]| match (start.step, fingerprint) {
                        (0, fingerprint) if fingerprint >= first => (sink.group)(fingerprint, ids),
                        _ => Ok(()),
                    };
                    let read = entries.read(part, self.options.expand, group, |f| gone.push(f))?;
                    all_gone.lock().unwrap_or_else(PoisonError::into_inner).append(&mut gone);
                    meter.advance(read)
                })?;
                if let Some(part) = parts.get(at) {
                    return Ok(Some(position(0, part.low())));
                }
            }
            let (memory, threads) = (self.options.memory, self.options.threads);
            let search = PairSearch::new(
                view,
                self.options.within,
                &entries.recent(),
                &gone,
                memory,
                threads,
            )?;
            let mut regions: Vec<_> = search.regions().collect();
            meter.begin(Phase::Search, search.rows())?;
            regions.retain(|region| {
                let step = region.table + 1;
                step > start.step || step == start.step && region.prefix.high() >= first
            });
            // A single region may have many pairs, or take long to find none.
            let pairs: Report<'_, F> = &|pairs| {
                meter.check()?;
                if pairs.is_empty() { Ok(()) } else { (sink.pairs)(pairs) }
            };
            let at = self.in_parallel(&regions, is_stopped, |&region| {
                let low = if region.table + 1 == start.step { first } else { F::ZERO };
                meter.advance(search.search(region, low, pairs)?)
            })?;
            meter.finish();
            Ok(regions.get(at).map(|region| position(region.table + 1, region.prefix.low())))
        })
    }

    /// Does the work for the items in their order, until `is_stopped`. Returns the number of items
    /// for which it was done: all before that.
    fn in_parallel<T: Sync>(
        &self,
        items: &[T],
        is_stopped: &(dyn Fn() -> bool + Sync),
        work: impl Fn(&T) -> Result<()> + Sync,
    ) -> Result<usize> {
        let next = Mutex::new(0);
        let take = || {
            let mut next = next.lock().unwrap_or_else(PoisonError::into_inner);
            let item = items.get(*next).filter(|_| !is_stopped())?;
            *next += 1;
            Some(item)
        };
        parallel::for_each(
            self.options.threads,
            0..self.options.threads,
            || (),
            |(), _| {
                while let Some(item) = take() {
                    work(item)?;
                }
                Ok(())
            },
        )?;
        Ok(next.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns where the search begins.
    fn start(&self) -> Result<PairsPosition> {
        let within = self.options.within;
        let entries = self.reader.len();
        let Some(position) = self.options.resume else {
            return Ok(PairsPosition { within, entries, step: 0, low: 0 });
        };
        if (position.within, position.entries) != (within, entries) {
            return Err(Error::invalid(format!(
                "cannot resume at {position}: it is a position of a search by {} in {} entries, \
                 but this one is by {within} in {entries}",
                position.within, position.entries
            )));
        }
        Ok(position)
    }

    fn add_ids(&self, pairs: &[(F, F, u32)], visitor: &Visitor<'_, '_, F>) -> Result<()> {
        let limit = if self.options.expand { usize::MAX } else { 1 };
        let entries = EntriesOfPairs::read(self.reader, pairs, limit)?;
        let mut some = Vec::with_capacity(PAIRS.min(pairs.len()));
        for &(a, b, distance) in pairs {
            for &a in entries.of(a) {
                for &b in entries.of(b) {
                    visitor.push(&mut some, Pair { a, b, distance });
                }
            }
        }
        visitor.pairs(&some);
        Ok(())
    }
}

/// Returns the parts in which all entries are read.
fn parts_of_entries<F: Fingerprint>(entries: u64) -> Vec<Prefix<F>> {
    let mut parts = vec![Prefix::ALL];
    for _ in 0..if entries < DIVIDE_FROM { 0 } else { DIVIDE_BITS } {
        parts = parts.into_iter().flat_map(Prefix::halves).collect();
    }
    parts
}

#[cfg(test)]
mod tests;
