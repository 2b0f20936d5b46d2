//! From hits to answers: the ids of the fingerprints that were found are read, and no others.

use super::pipeline::Hit;
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::segment::{IdReader, Segment};

/// Reads the live ids of fingerprints, fastest if the fingerprints ascend.
pub(super) struct LiveIds<'a, F> {
    view: &'a View<'a, F>,
    /// One per segment.
    segments: Vec<IdReader<'a, F>>,
}

impl<F: Fingerprint> View<'_, F> {
    /// Turns hits into answers: at most `limit` matches, sorted by distance, fingerprint, id.
    pub(super) fn matches(&self, mut hits: Vec<Hit<F>>, limit: usize) -> Result<Vec<Match<F>>> {
        let mut matches = Vec::new();
        if hits.is_empty() {
            return Ok(matches);
        }
        if limit < hits.len() {
            hits.sort_unstable();
        }
        let mut ids = LiveIds::new(self);
        let mut rest = &mut *hits;
        while matches.len() < limit && !rest.is_empty() {
            // A fingerprint has at least one id, unless all were removed: as many fingerprints as
            // matches are still wanted are usually enough.
            let left = limit - matches.len();
            let (nearest, further) = rest.split_at_mut(end_of_group(rest, left));
            self.prefetch_ids(nearest)?;
            nearest.sort_unstable_by_key(|hit| (hit.fingerprint, hit.source));
            let first = matches.len();
            for group in nearest.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
                let Some(&Hit { distance, fingerprint, .. }) = group.first() else { continue };
                let ids = ids.of(group, left)?;
                matches.extend(ids.into_iter().map(|id| Match { distance, fingerprint, id }));
            }
            // Matches at the same distance are in order already: the sort is stable.
            matches[first..].sort_by_key(|found: &Match<F>| found.distance);
            matches.truncate(limit);
            rest = further;
        }
        Ok(matches)
    }

    /// Prefetches the ids of hits in cold segments.
    fn prefetch_ids(&self, hits: &[Hit<F>]) -> Result<()> {
        for (source, segment) in self.version.segments.iter().enumerate() {
            if segment.is_cold() {
                let here = hits.iter().filter(|hit| hit.source == source);
                segment.prefetch_ids(here.map(|hit| hit.fingerprint))?;
            }
        }
        Ok(())
    }

    /// Returns whether any source from number `from` on (segments, then memtables) removes entries.
    fn has_removals(&self, from: usize) -> bool {
        let mut segments = self.version.segments.iter().skip(from);
        let mut memtables =
            self.version.memtables().skip(from.saturating_sub(self.version.segments.len()));
        segments.any(|s| s.tombstones().is_some())
            || memtables.any(crate::memtable::Memtable::has_removals)
    }

    /// Returns whether any source from number `from` on removes this entry.
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

/// Returns the end of the group of equal fingerprints that contains `hits[at - 1]`.
fn end_of_group<F: Fingerprint>(hits: &[Hit<F>], at: usize) -> usize {
    let Some(last) = at.checked_sub(1).and_then(|last| hits.get(last)) else {
        return hits.len();
    };
    at + hits[at..].iter().take_while(|hit| hit.fingerprint == last.fingerprint).count()
}

impl<'a, F: Fingerprint> LiveIds<'a, F> {
    pub(super) fn new(view: &'a View<'a, F>) -> Self {
        let segments = view.version.segments.iter().map(|s| Segment::id_reader(s)).collect();
        Self { view, segments }
    }

    /// Returns the live ids of one fingerprint, which `hits` found in these sources: ascending,
    /// each once, at most `limit`.
    pub(super) fn of(&mut self, hits: &[Hit<F>], limit: usize) -> Result<Vec<DocId>> {
        let mut ids = Vec::new();
        for hit in hits {
            self.of_source(hit, limit, &mut ids)?;
        }
        if hits.len() > 1 {
            ids.sort_unstable();
            ids.dedup();
        }
        ids.truncate(limit);
        Ok(ids)
    }

    fn of_source(&mut self, hit: &Hit<F>, limit: usize, out: &mut Vec<DocId>) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let segments = self.segments.len();
        if let Some(segment) = self.segments.get_mut(source) {
            let ids = segment.ids(fingerprint)?;
            return self.keep_live(hit, ids.into_iter().flatten(), limit, out);
        }
        let Some(memtable) = self.view.version.memtables().nth(source - segments) else {
            return Ok(());
        };
        // Ids that a newer memtable removes must not use up the limit.
        let read_limit = if self.view.has_removals(source + 1) { usize::MAX } else { limit };
        self.keep_live(hit, memtable.ids(fingerprint, self.view.seq, read_limit), limit, out)
    }

    /// Appends the ids of one source that no newer source removes, at most `limit`.
    fn keep_live(
        &self,
        hit: &Hit<F>,
        ids: impl IntoIterator<Item = DocId>,
        limit: usize,
        out: &mut Vec<DocId>,
    ) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let must_check = self.view.has_removals(source + 1);
        let start = out.len();
        for id in ids {
            if out.len() - start >= limit {
                break;
            }
            if !must_check || !self.view.is_removed(Entry { fingerprint, id }, source + 1)? {
                out.push(id);
            }
        }
        Ok(())
    }
}
