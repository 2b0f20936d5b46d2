//! From hits to answers: the ids of the fingerprints that were found are read, and no others.

use super::hit::Hit;
use super::short_list::ShortList;
use crate::base::error::Result;
use crate::fingerprint::{DocId, Entry, Match, Word};
use crate::index::tables::postings::Ids;
use crate::query::view::View;
use crate::store::segment::IdFinder;

/// Reads the live ids of fingerprints.
pub(super) struct LiveIds<'a, F: Word> {
    view: &'a View<'a, F>,
    finder: IdFinder<F>,
    /// Sources from this number on remove nothing.
    removals_end: usize,
    /// The ids of a fingerprint that several sources may have.
    ids: Vec<DocId>,
}

impl<F: Word> View<'_, F> {
    /// Turns hits into answers: at most `limit` matches, sorted by distance, fingerprint, id.
    pub(super) fn matches(&self, hits: &mut [Hit<F>], limit: usize) -> Result<Vec<Match<F>>> {
        let mut matches = Vec::new();
        if hits.is_empty() {
            return Ok(matches);
        }
        let mut ids = LiveIds::new(self);
        let (mut rest, mut count) = (hits, limit);
        while matches.len() < limit && !rest.is_empty() {
            // A fingerprint has at least one id, unless all were removed: as many fingerprints as
            // matches are wanted are usually enough. If they are not, twice as many follow.
            let end = select_nearest(rest, count);
            let (nearest, further) = rest.split_at_mut(end);
            nearest.sort_unstable_by_key(|hit| hit.fingerprint);
            let first = matches.len();
            matches.reserve(nearest.len().min(limit - first));
            let matching = |&Hit { distance, fingerprint, .. }: &Hit<F>, id| Match {
                distance,
                fingerprint,
                id,
            };
            ids.read(nearest, limit - first, matching, &mut matches)?;
            sort_by_distance(&mut matches[first..]);
            matches.truncate(limit);
            (rest, count) = (further, count.saturating_mul(2));
        }
        Ok(matches)
    }

    /// Returns the number of the newest source (segments, then memtables) that removes entries,
    /// plus one.
    fn removals_end(&self) -> usize {
        let segments = self
            .version
            .segments
            .iter()
            .map(|segment| segment.tables().is_some_and(|part| part.tombstones().is_some()));
        let memtables =
            self.version.memtables().map(crate::store::memtable::Memtable::has_removals);
        let removes = segments.chain(memtables);
        (1..).zip(removes).filter_map(|(end, removes)| removes.then_some(end)).last().unwrap_or(0)
    }

    /// Returns whether any source from number `from` on removes this entry.
    fn is_removed(&self, entry: Entry<F>, from: usize) -> Result<bool> {
        let segments = self.version.segments.iter().skip(from);
        for part in segments.filter_map(|segment| segment.tables()) {
            if part.removes(entry)? {
                return Ok(true);
            }
        }
        let before = from.saturating_sub(self.version.segments.len());
        Ok(self.version.memtables().skip(before).any(|m| m.removes(entry, self.seq)))
    }
}

/// Appends the live ids of each of these fingerprints, which ascend.
pub(in crate::query) fn ids_of_each<F: Word>(
    view: &View<'_, F>,
    fingerprints: &[F],
    limit: usize,
    out: &mut Vec<Entry<F>>,
) -> Result<()> {
    let segments = view.version.segments.len();
    let memtables = (segments..).zip(view.version.memtables());
    let memtables = memtables.filter(|(_, memtable)| !memtable.is_empty());
    let sources: Vec<usize> = (0..segments).chain(memtables.map(|(source, _)| source)).collect();
    let hits = |&fingerprint| sources.iter().map(move |&s| Hit::new(0, fingerprint, s));
    let hits: Vec<Hit<F>> = fingerprints.iter().flat_map(hits).collect();
    let entry = |hit: &Hit<F>, id| Entry { fingerprint: hit.fingerprint, id };
    LiveIds::new(view).read(&hits, limit, entry, out)
}

/// Moves the `count` nearest hits to the front, and all others with the fingerprint of the last of
/// them. Returns how many these are.
fn select_nearest<F: Word>(hits: &mut [Hit<F>], count: usize) -> usize {
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

/// Sorts matches by distance. Matches at equal distances keep their order.
fn sort_by_distance<F: Word>(matches: &mut [Match<F>]) {
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

impl<'a, F: Word> LiveIds<'a, F> {
    pub(super) fn new(view: &'a View<'a, F>) -> Self {
        let finder = IdFinder::new();
        Self { view, finder, removals_end: view.removals_end(), ids: Vec::new() }
    }

    /// Appends what `make` makes of the live ids of each fingerprint: ascending, each once, at most
    /// `limit` per fingerprint. `hits` ascend by fingerprint.
    pub(super) fn read<T>(
        &mut self,
        hits: &[Hit<F>],
        limit: usize,
        make: impl Fn(&Hit<F>, DocId) -> T,
        out: &mut Vec<T>,
    ) -> Result<()> {
        let mut found = ShortList::<Option<Ids<'a>>, 2>::filled(None, hits.len());
        let found = found.as_mut_slice();
        for (source, segment) in self.view.version.segments.iter().enumerate() {
            let here = hits.iter().enumerate().filter(|(_, hit)| hit.source == source);
            let here = here.map(|(number, hit)| (number, hit.fingerprint, hit.block));
            segment.find_ids(here, &mut self.finder, |number, ids| found[number] = Some(ids))?;
        }
        let mut found = &*found;
        for group in hits.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            let (ids, others) = found.split_at(group.len());
            self.read_group(group, ids, limit, &make, out)?;
            found = others;
        }
        Ok(())
    }

    /// Does that for one fingerprint, whose ids in segments are `found`.
    fn read_group<T>(
        &mut self,
        hits: &[Hit<F>],
        found: &[Option<Ids<'a>>],
        limit: usize,
        make: impl Fn(&Hit<F>, DocId) -> T,
        out: &mut Vec<T>,
    ) -> Result<()> {
        if let ([hit], [Some(ids)]) = (hits, found)
            && !self.must_check(hit.source)
        {
            out.extend(ids.first(limit as u64).map(|id| make(hit, id)));
            return Ok(());
        }
        self.ids.clear();
        for (hit, ids) in hits.iter().zip(found) {
            match ids {
                Some(ids) => self.keep_live(hit, *ids, limit)?,
                None => self.read_memtable(hit, limit)?,
            }
        }
        if hits.len() > 1 {
            self.ids.sort_unstable();
            self.ids.dedup();
        }
        out.extend(self.ids.iter().take(limit).map(|&id| make(&hits[0], id)));
        Ok(())
    }

    /// Appends the live ids of a hit in a memtable, at most `limit`, to `self.ids`.
    fn read_memtable(&mut self, hit: &Hit<F>, limit: usize) -> Result<()> {
        let segments = self.view.version.segments.len();
        let number = hit.source.checked_sub(segments);
        let memtable = number.and_then(|number| self.view.version.memtables().nth(number));
        let Some(memtable) = memtable else { return Ok(()) };
        // Ids that a newer memtable removes must not use up the limit.
        let read_limit = if self.must_check(hit.source) { usize::MAX } else { limit };
        self.keep_live(hit, memtable.ids(hit.fingerprint, self.view.seq, read_limit), limit)
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
        let hit = |i: u32| Hit::new(i % 7, u64::from(i % 7 * 100 + i % 5), (i / 35) as usize);
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
