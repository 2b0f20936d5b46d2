//! All pairs of a snapshot: regions are searched in parallel, and ids are added to what they find.

mod entries;
mod found;
mod visitor;

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use entries::EntriesOfPairs;
pub use found::{Found, Pair, PairsPosition, PairsReport};
use visitor::{PAIRS, Sink, Visitor};

use crate::db::read::snapshot::Snapshot;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Fingerprint};
use crate::layout::Prefix;
use crate::pairs::{EntryPass, PairSearch, Report};
use crate::parallel;
use crate::progress::{Meter, Phase};

/// Memory for a search, unless set.
const MEMORY: u64 = 512 << 20;

/// With this many entries or more, the pass over all entries is divided.
const DIVIDE_FROM: u64 = 1 << 16;
/// Leading bits by which it is divided then.
const DIVIDE_BITS: u32 = 8;

/// A search for all pairs of entries within a distance. Made by [`Snapshot::pairs`].
///
/// # Examples
///
/// ```
/// let db = fpdb::Db::options().in_memory()?;
/// db.write(&[(0b0000, 1), (0b0011, 2), (0b1111, 3)]).run()?;
/// // Two pairs are 2 bits apart. The third pair, 4 bits apart, is not counted.
/// assert_eq!(db.snapshot().pairs(3).count()?, [0, 0, 2, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
#[must_use = "a search for pairs does nothing until its visit or count is called"]
pub struct Pairs<'a, F = u64> {
    snapshot: &'a Snapshot<F>,
    distance: u32,
    memory: u64,
    pub(crate) threads: usize,
    expand: bool,
    resume: Option<PairsPosition>,
}

impl<F: Fingerprint> Snapshot<F> {
    /// Prepares a search for all pairs of entries within `distance` bits of each other. Nothing is
    /// read before [`visit`](Pairs::visit) or [`count`](Pairs::count).
    ///
    /// Exact at any distance. Much faster than a query per entry, because each table is searched
    /// for its own fingerprints in one pass. Up to the database's distance, the time grows about
    /// linearly with the number of entries and of pairs.
    ///
    /// Manku, Jain, Das Sarma: "Detecting Near-Duplicates for Web Crawling", WWW 2007, section 3.3.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// use fpdb::Found;
    /// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// db.snapshot().pairs(3).visit(|found| {
    ///     if let Found::Pairs(pairs) = found {
    ///         pairs.iter().for_each(|pair| println!("{} {}", pair.a.id, pair.b.id));
    ///     }
    ///     ControlFlow::Continue(())
    /// })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn pairs(&self, distance: u32) -> Pairs<'_, F> {
        Pairs {
            snapshot: self,
            distance,
            memory: MEMORY,
            threads: self.threads,
            expand: false,
            resume: None,
        }
    }
}

impl<F: Fingerprint> Pairs<'_, F> {
    /// Sets how many bytes of memory all threads together may take for the parts of tables that
    /// they compare. The default is 512 MiB. In addition, each thread keeps some thousand pairs,
    /// each fingerprint without a live entry takes 8 or 16 bytes per table, and pages of files
    /// count towards [`Options::page_memory`](crate::Options::page_memory).
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// assert_eq!(db.snapshot().pairs(3).memory(64 << 20).count()?, [0; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn memory(self, bytes: u64) -> Self {
        Self { memory: bytes, ..self }
    }

    /// Sets the number of threads, at least one. Default: as many as the database uses.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// assert_eq!(db.snapshot().pairs(3).threads(1).count()?, [0; 4]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn threads(self, threads: usize) -> Self {
        Self { threads: threads.max(1), ..self }
    }

    /// Passes on every pair of entries, including those with equal fingerprints, and no groups. A
    /// thousand entries with the same fingerprint are half a million pairs. All ids of a
    /// fingerprint are in memory at the same time.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// db.write(&[(7, 1), (7, 2), (6, 3)]).run()?;
    /// let report = db.snapshot().pairs(3).expand(true).visit(|_| ControlFlow::Continue(()))?;
    /// assert_eq!((report.pairs, report.groups), (vec![1, 2, 0, 0], 0));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn expand(self, expand: bool) -> Self {
        Self { expand, ..self }
    }

    /// Begins where an earlier search was stopped. Both together pass on each pair once, if the
    /// entries are the same: keep the snapshot, or open a database that nobody writes to.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// let snapshot = db.snapshot();
    /// let report = snapshot.pairs(3).visit(|_| ControlFlow::Break(()))?;
    /// if let Some(next) = report.next {
    ///     snapshot.pairs(3).resume(next).visit(|_| ControlFlow::Continue(()))?;
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn resume(self, position: PairsPosition) -> Self {
        Self { resume: Some(position), ..self }
    }

    /// Passes everything that is found to `visit`, some thousand pairs at a time. Several threads
    /// search, and call `visit` one at a time.
    ///
    /// If `visit` breaks, no further region of a table is begun. What is found in the regions that
    /// were begun is still passed on, so that the search can be [resumed](Self::resume) without a
    /// gap or a repetition.
    ///
    /// # Errors
    ///
    /// `InvalidArgument` for a position of another search; `Corruption` or `Io`.
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// use std::ops::ControlFlow;
    /// db.write(&[(0b0000, 1), (0b0011, 2)]).run()?;
    /// let report = db.snapshot().pairs(3).visit(|_| ControlFlow::Continue(()))?;
    /// assert_eq!(report.pairs, [0, 0, 1, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn visit(
        &self,
        visit: impl FnMut(Found<'_, F>) -> ControlFlow<()> + Send,
    ) -> Result<PairsReport> {
        let visitor = Visitor::new(visit, self.distance);
        let sink = Sink {
            group: &|fingerprint, ids| match self.expand {
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
    ///
    /// # Errors
    ///
    /// The same as [`visit`](Self::visit).
    ///
    /// ```
    /// # let db = fpdb::Db::options().in_memory()?;
    /// db.write(&[(7, 1), (7, 2), (6, 3)]).run()?;
    /// assert_eq!(db.snapshot().pairs(3).count()?, [1, 2, 0, 0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn count(&self) -> Result<Vec<u64>> {
        let counts = Mutex::new(vec![0; self.distance.min(F::BITS) as usize + 1]);
        let add = |more: &mut dyn Iterator<Item = (u32, u64)>| {
            let mut counts = counts.lock().unwrap_or_else(PoisonError::into_inner);
            more.for_each(|(distance, pairs)| counts[distance as usize] += pairs);
        };
        let is_shared = self.snapshot.read(|view| EntryPass::new(view).is_needed());
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
                let entries = EntriesOfPairs::read(self.snapshot, pairs, usize::MAX)?;
                let count = |fingerprint| entries.of(fingerprint).len() as u64;
                add(&mut pairs.iter().map(|&(a, b, distance)| (distance, count(a) * count(b))));
                Ok(())
            },
        };
        Self { expand: true, resume: self.resume, ..*self }.run(&sink, &|| false)?;
        Ok(counts.into_inner().unwrap_or_else(PoisonError::into_inner))
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
        self.snapshot.read(|view| {
            let meter = Meter::new(&self.snapshot.watch, Phase::Read, None);
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
                    let read = entries.read(part, self.expand, group, |f| gone.push(f))?;
                    all_gone.lock().unwrap_or_else(PoisonError::into_inner).append(&mut gone);
                    meter.advance(read)
                })?;
                if let Some(part) = parts.get(at) {
                    return Ok(Some(position(0, part.low())));
                }
            }
            let (memory, threads) = (self.memory, self.threads);
            let search =
                PairSearch::new(view, self.distance, &entries.recent(), &gone, memory, threads)?;
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
            self.threads,
            0..self.threads,
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
        let Self { distance, .. } = *self;
        let entries = self.snapshot.len();
        let Some(position) = self.resume else {
            return Ok(PairsPosition { distance, entries, step: 0, low: 0 });
        };
        if (position.distance, position.entries) != (distance, entries) {
            return Err(Error::invalid(format!(
                "cannot resume at {position}: it is a position of a search for distance {} in {} \
                 entries, but this one is for {distance} in {entries}",
                position.distance, position.entries
            )));
        }
        Ok(position)
    }

    fn add_ids(&self, pairs: &[(F, F, u32)], visitor: &Visitor<'_, F>) -> Result<()> {
        let limit = if self.expand { usize::MAX } else { 1 };
        let entries = EntriesOfPairs::read(self.snapshot, pairs, limit)?;
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
