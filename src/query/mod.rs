//! Answering: which entries of a version are within a distance of a fingerprint.
//!
//! A query runs in stages over all tables of all segments at once: every probe is computed before
//! the first is made ([`pipeline`]), each match is reported by one table only, and ids are read for
//! matches alone.

mod batch;
mod explain;
mod near;
mod pipeline;
mod planner;
mod sweep;

pub use explain::{Explain, SegmentExplain};
pub(crate) use planner::Planner;

use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::version::Version;
use pipeline::Hit;

/// What a query asks for.
///
/// # Examples
///
/// ```
/// use fpdb::QueryOptions;
/// let options = QueryOptions::within(3).limit(10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct QueryOptions {
    pub(crate) distance: u32,
    pub(crate) limit: Option<usize>,
}

impl QueryOptions {
    /// All matches at a distance up to and with `distance`, in bits. Any distance may be asked; up
    /// to the database's own it is fast, far beyond it becomes a scan.
    pub fn within(distance: u32) -> Self {
        Self { distance, limit: None }
    }

    /// At most `limit` matches: the nearest ones. Default: all. A group of equal fingerprints can
    /// be huge (empty pages, log-in pages); ids beyond the limit are not read.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// A version as a reader sees it: up to commit `seq`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a, F> {
    pub version: &'a Version<F>,
    pub seq: u64,
    pub planner: &'a Planner<F>,
}

impl<F: Fingerprint> View<'_, F> {
    /// All matches, sorted by distance, fingerprint, id; each once.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        self.matches(pipeline::search(self, fingerprint, options.distance)?, limit)
    }

    /// What was found, as answers, at most so many.
    fn matches(&self, mut hits: Vec<Hit<F>>, limit: usize) -> Result<Vec<Match<F>>> {
        hits.sort_unstable();
        self.fetch_ids(&hits)?;
        let mut matches = Vec::new();
        for group in hits.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            if matches.len() >= limit {
                break;
            }
            let Some(&Hit { distance, fingerprint, .. }) = group.first() else { continue };
            let ids = self.ids_in(group, limit - matches.len())?;
            matches.extend(ids.into_iter().map(|id| Match { distance, fingerprint, id }));
        }
        Ok(matches)
    }

    /// Announces the reads for the ids of hits in cold segments.
    fn fetch_ids(&self, hits: &[Hit<F>]) -> Result<()> {
        for (source, segment) in self.version.segments.iter().enumerate() {
            if segment.is_cold() {
                let here = hits.iter().filter(|hit| hit.source == source);
                segment.fetch_ids(here.map(|hit| hit.fingerprint))?;
            }
        }
        Ok(())
    }

    /// The answers to several queries, in their order, found by up to so many threads.
    pub(crate) fn query_batch(
        &self,
        fingerprints: &[F],
        distance: u32,
        threads: usize,
    ) -> Result<Vec<Vec<Match<F>>>> {
        batch::query_batch(self, fingerprints, distance, threads)
    }

    /// The nearest match within `distance`; of several, the one of lowest fingerprint and id.
    ///
    /// Radii are tried from 0 up: a near match is found by few probes, and the sum of all radii
    /// costs little more than the last.
    pub(crate) fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        let mut radius = 0;
        loop {
            let options = QueryOptions::within(radius.min(distance)).limit(1);
            let found = self.query(fingerprint, options)?.pop();
            if found.is_some() || radius >= distance {
                return Ok(found);
            }
            radius = if radius == 0 { 1 } else { radius * 2 };
        }
    }

    /// The ids of a fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        let options = QueryOptions::within(0);
        Ok(self.query(fingerprint, options)?.into_iter().map(|m| m.id).collect())
    }

    /// The ids of one fingerprint, hit in these sources: standing ones, ascending, each once.
    fn ids_in(&self, hits: &[Hit<F>], limit: usize) -> Result<Vec<DocId>> {
        let mut ids = Vec::new();
        for hit in hits {
            self.ids_of_source(hit, limit, &mut ids)?;
        }
        if hits.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        ids.truncate(limit);
        Ok(ids)
    }

    fn ids_of_source(&self, hit: &Hit<F>, limit: usize, out: &mut Vec<DocId>) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let segments = &self.version.segments;
        if let Some(segment) = segments.get(source) {
            let ids = segment.ids(fingerprint)?;
            return self.keep_standing(hit, ids.into_iter().flatten(), limit, out);
        }
        let Some(memtable) = self.version.memtables().nth(source - segments.len()) else {
            return Ok(());
        };
        // Those that a newer memtable removes must not use up the limit.
        let most = if self.has_removals(source + 1) { usize::MAX } else { limit };
        self.keep_standing(hit, memtable.ids(fingerprint, self.seq, most), limit, out)
    }

    /// Appends those of a source's ids that nothing newer removes, at most `limit`.
    fn keep_standing(
        &self,
        hit: &Hit<F>,
        ids: impl IntoIterator<Item = DocId>,
        limit: usize,
        out: &mut Vec<DocId>,
    ) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let checked = self.has_removals(source + 1);
        let start = out.len();
        for id in ids {
            if out.len() - start >= limit {
                break;
            }
            if !checked || !self.is_removed(Entry { fingerprint, id }, source + 1)? {
                out.push(id);
            }
        }
        Ok(())
    }

    /// Whether sources from number `from` on (segments, then memtables) remove anything.
    fn has_removals(&self, from: usize) -> bool {
        let mut segments = self.version.segments.iter().skip(from);
        let mut memtables =
            self.version.memtables().skip(from.saturating_sub(self.version.segments.len()));
        segments.any(|s| s.tombstones().is_some())
            || memtables.any(crate::memtable::Memtable::has_removals)
    }

    /// Whether sources from number `from` on remove this entry.
    fn is_removed(&self, entry: Entry<F>, from: usize) -> Result<bool> {
        for segment in self.version.segments.iter().skip(from) {
            if segment.removes(entry)? {
                return Ok(true);
            }
        }
        let before = from.saturating_sub(self.version.segments.len());
        Ok(self.version.memtables().skip(before).any(|m| m.removes(entry, self.seq)))
    }
}

#[cfg(test)]
mod tests;
