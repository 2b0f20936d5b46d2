//! From hits to answers: the ids of the fingerprints that were found are read, and no others.

use super::pipeline::Hit;
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::segment::IdReader;

/// Searches of a block before it is decoded, for the hits of one query: they differ in few bits, so
/// if two are in a block, more usually are.
const SEARCHES_OF_NEIGHBOURS: u32 = 1;

/// Reads the live ids of fingerprints, fastest if the fingerprints ascend.
pub(super) struct LiveIds<'a, F> {
    view: &'a View<'a, F>,
    /// One per segment.
    segments: Vec<IdReader<'a, F>>,
    /// Sources from this number on remove nothing.
    removals_end: usize,
    /// The ids of a fingerprint that several sources may have.
    ids: Vec<DocId>,
}

impl<F: Fingerprint> View<'_, F> {
    /// Turns hits into answers: at most `limit` matches, sorted by distance, fingerprint, id.
    pub(super) fn matches(&self, hits: &mut [Hit<F>], limit: usize) -> Result<Vec<Match<F>>> {
        let mut matches = Vec::new();
        if hits.is_empty() {
            return Ok(matches);
        }
        let mut ids = LiveIds::new(self, SEARCHES_OF_NEIGHBOURS);
        let (mut rest, mut count) = (hits, limit);
        while matches.len() < limit && !rest.is_empty() {
            // A fingerprint has at least one id, unless all were removed: as many fingerprints as
            // matches are wanted are usually enough. If they are not, twice as many follow.
            let end = select_nearest(rest, count);
            let (nearest, further) = rest.split_at_mut(end);
            self.prefetch_ids(nearest)?;
            nearest.sort_unstable_by_key(|hit| (hit.fingerprint, hit.source));
            let first = matches.len();
            matches.reserve(nearest.len().min(limit - first));
            for group in nearest.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
                let Hit { distance, fingerprint, .. } = group[0];
                let matching = |id| Match { distance, fingerprint, id };
                ids.read(group, limit - first, matching, &mut matches)?;
            }
            sort_by_distance(&mut matches[first..]);
            matches.truncate(limit);
            (rest, count) = (further, count.saturating_mul(2));
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

    /// Returns the number after that of the newest source (segments, then memtables) that removes
    /// entries.
    fn removals_end(&self) -> usize {
        let segments = self.version.segments.iter().map(|s| s.tombstones().is_some());
        let memtables = self.version.memtables().map(crate::memtable::Memtable::has_removals);
        let removes = segments.chain(memtables);
        (1..).zip(removes).filter_map(|(end, removes)| removes.then_some(end)).last().unwrap_or(0)
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

/// Moves the `count` nearest hits to the front, and all others with the fingerprint of the last of
/// them. Returns how many these are.
fn select_nearest<F: Fingerprint>(hits: &mut [Hit<F>], count: usize) -> usize {
    if count == 0 || count >= hits.len() {
        return hits.len();
    }
    let (_, &mut last, _) = hits.select_nth_unstable(count - 1);
    let mut end = count;
    for at in count..hits.len() {
        if hits[at].fingerprint == last.fingerprint {
            hits.swap(at, end);
            end += 1;
        }
    }
    end
}

/// Matches up to which the standard library's sort takes no memory and is fastest.
const FEW: usize = 20;

/// Sorts matches by distance and keeps those of equal distance in their order.
fn sort_by_distance<F: Fingerprint>(matches: &mut [Match<F>]) {
    if matches.len() <= FEW {
        return matches.sort_by_key(|found| found.distance);
    }
    // One more than the greatest distance of the widest fingerprints, and the end.
    let mut starts = [0usize; 128 + 2];
    for found in &*matches {
        starts[found.distance as usize + 1] += 1;
    }
    for distance in 1..starts.len() {
        starts[distance] += starts[distance - 1];
    }
    let unsorted = matches.to_vec();
    for found in unsorted {
        let place = &mut starts[found.distance as usize];
        matches[*place] = found;
        *place += 1;
    }
}

impl<'a, F: Fingerprint> LiveIds<'a, F> {
    /// `most_searches` is that of [`Segment::id_reader`].
    pub(super) fn new(view: &'a View<'a, F>, most_searches: u32) -> Self {
        let segments = view.version.segments.iter().map(|s| s.id_reader(most_searches)).collect();
        Self { view, segments, removals_end: view.removals_end(), ids: Vec::new() }
    }

    /// Appends what `make` makes of the live ids of one fingerprint, which `hits` found in these
    /// sources: ascending, each once, at most `limit`.
    pub(super) fn read<T>(
        &mut self,
        hits: &[Hit<F>],
        limit: usize,
        make: impl Fn(DocId) -> T,
        out: &mut Vec<T>,
    ) -> Result<()> {
        if let [hit] = hits
            && !self.must_check(hit.source)
            && let Some(segment) = self.segments.get_mut(hit.source)
        {
            if let Some(ids) = segment.ids(hit.fingerprint)? {
                out.extend(ids.first(limit as u64).map(make));
            }
            return Ok(());
        }
        self.ids.clear();
        hits.iter().try_for_each(|hit| self.read_source(hit, limit))?;
        if hits.len() > 1 {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        out.extend(self.ids.iter().take(limit).map(|&id| make(id)));
        Ok(())
    }

    /// Appends the live ids of one hit, at most `limit`, to `self.ids`.
    fn read_source(&mut self, hit: &Hit<F>, limit: usize) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let segments = self.segments.len();
        if let Some(segment) = self.segments.get_mut(source) {
            let ids = segment.ids(fingerprint)?;
            return self.keep_live(hit, ids.into_iter().flatten(), limit);
        }
        let Some(memtable) = self.view.version.memtables().nth(source - segments) else {
            return Ok(());
        };
        // Ids that a newer memtable removes must not use up the limit.
        let read_limit = if self.must_check(source) { usize::MAX } else { limit };
        self.keep_live(hit, memtable.ids(fingerprint, self.view.seq, read_limit), limit)
    }

    /// Returns whether a newer source removes entries.
    fn must_check(&self, source: usize) -> bool {
        source + 1 < self.removals_end
    }

    /// Appends the ids of one source that no newer source removes, at most `limit`.
    fn keep_live(
        &mut self,
        hit: &Hit<F>,
        ids: impl IntoIterator<Item = DocId>,
        limit: usize,
    ) -> Result<()> {
        let Hit { fingerprint, source, .. } = *hit;
        let must_check = self.must_check(source);
        let end = self.ids.len().saturating_add(limit);
        for id in ids {
            if self.ids.len() == end {
                break;
            }
            if !must_check || !self.view.is_removed(Entry { fingerprint, id }, source + 1)? {
                self.ids.push(id);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorting_by_distance_keeps_matches_of_equal_distance_in_order() {
        for len in [0, 1, 20, 21, 500] {
            let of = |i: u64| Match {
                distance: [128, 0, 3, 3, 127][usize::try_from(i * i % 11 % 5).unwrap()],
                fingerprint: u128::from(i / 3),
                id: DocId(i),
            };
            let mut sorted: Vec<_> = (0..len).map(of).collect();
            sort_by_distance(&mut sorted);
            let mut expected: Vec<_> = (0..len).map(of).collect();
            expected.sort_unstable();
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn nearest_hits_are_selected_with_every_source_of_the_last() {
        let hit = |i: u32| Hit {
            distance: i % 7,
            fingerprint: u64::from(i % 7 * 100 + i % 5),
            source: (i / 35) as usize,
        };
        let all: Vec<_> = (0..105).map(hit).collect();
        for count in 0..=106 {
            let mut selected = all.clone();
            let end = select_nearest(&mut selected, count);
            selected[..end].sort_unstable();
            selected[end..].sort_unstable();
            let mut expected = all.clone();
            expected.sort_unstable();
            assert_eq!(selected, expected);
            let rounded = count.next_multiple_of(3);
            assert_eq!(end, if count == 0 { 105 } else { rounded.min(105) });
        }
    }
}
