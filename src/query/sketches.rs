//! One query in a database of sketches, in the steps of docs/design.md, "Search by similarity". As in
//! a query of tables, all lookups take one step before the next, so that their waits overlap.

use std::ops::Range;

use super::counters::QueryStats;
use super::options::{QueryOptions, Within};
use super::view::View;
use crate::bands::{BandView, MOST_AT_ONCE};
use crate::documents::FoundInLeaf;
use crate::error::Result;
use crate::fingerprint::{Document, Entry, Fingerprint, Match, Sketch};
use crate::layout::SketchTest;
use crate::memtable::Similar;
use crate::version::InParts;

/// The lookup of one band in one segment.
#[derive(Debug)]
struct BandLookup<'a> {
    /// The segment's number, the oldest first.
    source: usize,
    /// The band's number in the rule.
    number: usize,
    view: BandView<'a>,
    band: u64,
    /// The rows of the bucket, once the directory is read; then those of them that have the band.
    rows: Range<usize>,
}

/// What was found in a segment of this number.
type Found = (usize, FoundInLeaf);

/// Returns all matches, each once, sorted by distance, sketch, id.
pub(super) fn query(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    options: QueryOptions,
) -> Result<Vec<Match<Sketch>>> {
    view.counters.count(|read| {
        let matches = matches(view, sketch, options, read)?;
        (read.queries, read.matches) = (1, matches.len() as u64);
        Ok(matches)
    })
}

fn matches(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    options: QueryOptions,
    read: &mut QueryStats,
) -> Result<Vec<Match<Sketch>>> {
    let Some(test) = view.planner.sketch_test(options.within) else { return Ok(Vec::new()) };
    let limit = options.limit.unwrap_or(usize::MAX);
    // Which of the matches are recent enough is not known yet.
    let wanted = if options.since.is_some() { usize::MAX } else { limit };
    let mut nearest = Nearest::new(view, wanted);
    if test.shares_band {
        let leaves = find_leaves(view, sketch, &test, read)?;
        compare(&mut nearest, sketch, &test, &leaves, read)?;
    } else {
        compare_all(&mut nearest, sketch, &test, read)?;
    }
    let mut matches = nearest.matches;
    in_memtables(view, sketch, &test, &mut matches);
    matches.sort_unstable();
    match options.since {
        Some(since) => view.stamped_since(matches, since, limit),
        None => {
            matches.truncate(limit);
            Ok(matches)
        }
    }
}

/// Returns the nearest match.
pub(super) fn nearest(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    within: Within,
) -> Result<Option<Match<Sketch>>> {
    Ok(query(view, sketch, QueryOptions::within(within).limit(1))?.pop())
}

/// Returns the leaves to which the bands of a sketch lead, each once: the numbers of their segments
/// and their pages.
fn find_leaves(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    test: &SketchTest<'_>,
    read: &mut QueryStats,
) -> Result<Vec<(usize, u32)>> {
    let segments = &view.version.segments;
    let mut lookups = Vec::with_capacity(segments.len() * test.rule.bands as usize);
    for (source, segment) in segments.iter().enumerate() {
        for ((number, in_rule), bands) in (0..).zip(0..).zip(segment.bands()) {
            let (view, band) = (bands.view(), sketch.band(in_rule, test.rule.minima));
            view.prefetch_directory(view.bucket(band));
            lookups.push(BandLookup { source, number, view, band, rows: 0..0 });
        }
    }
    read.lookups = lookups.len() as u64;
    // All reads of the disk are under way before the first is waited for.
    let is_cold = segments.iter().flat_map(|segment| segment.bands()).any(|bands| bands.is_cold());
    if is_cold {
        lookups.iter().for_each(|it| it.view.fetch_directory(it.view.bucket(it.band)));
    }
    for lookup in &mut lookups {
        lookup.rows = lookup.view.rows_of(lookup.view.bucket(lookup.band))?;
        lookup.view.prefetch_rests(&lookup.rows);
        read.rows += lookup.rows.len() as u64;
    }
    if is_cold {
        lookups.iter().for_each(|it| it.view.fetch_rests(&it.rows));
    }
    for lookup in &mut lookups {
        lookup.rows = lookup.view.rows_with(lookup.band, &lookup.rows)?;
        if !lookup.rows.is_empty() {
            lookup.view.prefetch_page(lookup.rows.start);
        }
    }
    lookups.retain(|lookup| !lookup.rows.is_empty());
    if is_cold {
        lookups.iter().for_each(|it| it.view.fetch_pages(&it.rows));
    }
    leaves_of(view, &lookups)
}

/// Returns the leaves to which rows refer, each once.
fn leaves_of(view: &View<'_, Sketch>, lookups: &[BandLookup<'_>]) -> Result<Vec<(usize, u32)>> {
    let segments = &view.version.segments;
    let (mut leaves, mut pages) = (Vec::new(), PageSet::default());
    let mut in_parts = InParts::new(view.version);
    for of_source in lookups.chunk_by(|a, b| a.source == b.source) {
        let source = of_source[0].source;
        let Some(documents) = segments[source].documents() else { continue };
        let count = documents.leaf_pages();
        pages.prepare(of_source.iter().map(|lookup| lookup.rows.len()).sum(), count);
        for BandLookup { number, view, rows, .. } in of_source {
            if rows.len() <= MOST_AT_ONCE {
                add_pages(*view, rows, count, &mut pages)?;
                continue;
            }
            for start in rows.clone().step_by(MOST_AT_ONCE) {
                let some = start..rows.end.min(start + MOST_AT_ONCE);
                let bands = &in_parts.get().segments[source].bands()[*number];
                add_pages(bands.view(), &some, count, &mut pages)?;
            }
        }
        pages.drain(|page| leaves.push((source, page)));
        view.planner.check_pages(leaves.len())?;
    }
    Ok(leaves)
}

/// Adds the pages to which these rows refer, all of them below `count`.
fn add_pages(
    bands: BandView<'_>,
    rows: &Range<usize>,
    count: u64,
    pages: &mut PageSet,
) -> Result<()> {
    for (row, page) in rows.clone().zip(bands.pages(rows)?) {
        if u64::from(page) >= count {
            return Err(bands.no_such_page(row));
        }
        pages.insert(page);
    }
    Ok(())
}

/// A set of pages: a list if they are few, and a bit for each page if they are many, which takes less
/// time and memory then. Millions of documents can share a band.
#[derive(Debug, Default)]
struct PageSet {
    list: Vec<u32>,
    bits: Vec<u64>,
}

impl PageSet {
    /// Prepares the empty set for up to `rows` pages below `count`.
    fn prepare(&mut self, rows: usize, count: u64) {
        let words = usize::try_from(count).unwrap_or(usize::MAX).div_ceil(u64::BITS as usize);
        self.bits.resize(if rows < words { 0 } else { words }, 0);
    }

    #[inline(always)]
    fn insert(&mut self, page: u32) {
        match self.bits.get_mut(page as usize / u64::BITS as usize) {
            Some(word) => *word |= 1 << (page % u64::BITS),
            None => self.list.push(page),
        }
    }

    /// Removes all pages, and passes each once to `visit`, ascending.
    fn drain(&mut self, mut visit: impl FnMut(u32)) {
        self.list.sort_unstable();
        self.list.dedup();
        self.list.drain(..).for_each(&mut visit);
        for (word, mut bits) in (0..).zip(self.bits.drain(..)) {
            while bits != 0 {
                visit(word * u64::BITS + bits.trailing_zeros());
                bits &= bits - 1;
            }
        }
    }
}

/// Compares the sketches in these leaves.
fn compare(
    nearest: &mut Nearest<'_>,
    sketch: Sketch,
    test: &SketchTest<'_>,
    leaves: &[(usize, u32)],
    read: &mut QueryStats,
) -> Result<()> {
    read.blocks += leaves.len() as u64;
    let (mut all, mut found) = (Vec::new(), Vec::new());
    for some in leaves.chunks(LEAVES) {
        let segments = &nearest.in_parts.get().segments;
        for &(source, page) in some {
            let Some(documents) = segments[source].documents() else { continue };
            documents.prefetch_leaf(page);
            if documents.is_cold() {
                documents.fetch_leaf(page);
            }
        }
        for of_source in some.chunk_by(|a, b| a.0 == b.0) {
            let source = of_source[0].0;
            let Some(documents) = segments[source].documents() else { continue };
            for &(_, page) in of_source {
                read.candidates += documents.find_in_leaf(
                    page,
                    #[inline(always)]
                    |other| test.distance(sketch, other),
                    &mut found,
                )?;
            }
            all.extend(found.drain(..).map(|found| (source, found)));
        }
        nearest.add(&mut all)?;
    }
    Ok(())
}

/// Compares all sketches in the segments, for a distance at which bands do not lead to all matches.
fn compare_all(
    nearest: &mut Nearest<'_>,
    sketch: Sketch,
    test: &SketchTest<'_>,
    read: &mut QueryStats,
) -> Result<()> {
    let mut all = Vec::new();
    for (source, segment) in nearest.view.version.segments.iter().enumerate() {
        let Some(documents) = segment.documents() else { continue };
        let (leaves, originals) = documents.find_in_all_leaves(
            #[inline(always)]
            |other| test.distance(sketch, other),
            |found| {
                all.extend(found.iter().map(|&found| (source, found)));
                nearest.add(&mut all)
            },
        )?;
        read.blocks += leaves;
        read.candidates += originals;
    }
    Ok(())
}

/// Leaves that are compared before pages may be dropped; few in unit tests, so that small databases
/// have more.
const LEAVES: usize = if cfg!(test) { 1 << 2 } else { 1 << 8 };

/// Matches that are looked up before pages may be dropped.
const LOOKED_UP: usize = 1 << 8;

/// The nearest live matches in the segments that have been compared so far.
struct Nearest<'a> {
    view: &'a View<'a, Sketch>,
    in_parts: InParts<'a, Sketch>,
    /// How many matches are wanted.
    wanted: usize,
    /// The distance beyond which nothing is wanted any more.
    farthest: u32,
    matches: Vec<Match<Sketch>>,
}

impl<'a> Nearest<'a> {
    fn new(view: &'a View<'a, Sketch>, wanted: usize) -> Self {
        let in_parts = InParts::new(view.version);
        Self { view, in_parts, wanted, farthest: u32::MAX, matches: Vec::new() }
    }

    /// Adds what is live of what was found, and removes what is not wanted any more. Empties `found`.
    fn add(&mut self, found: &mut Vec<Found>) -> Result<()> {
        found.retain(|(_, found)| found.distance <= self.farthest);
        if found.is_empty() {
            return Ok(());
        }
        if found.len() <= self.wanted {
            self.add_live(found)?;
        } else {
            // What is farther away need not be looked up if enough of the nearest are live.
            found.sort_unstable_by_key(|&(source, found)| (found.distance, source, found));
            let before = self.matches.len();
            for same in found.chunk_by(|a, b| a.1.distance == b.1.distance) {
                self.add_live(same)?;
                if self.matches.len() - before >= self.wanted {
                    break;
                }
            }
        }
        found.clear();
        if self.matches.len() > self.wanted {
            self.matches.select_nth_unstable(self.wanted);
            self.matches.truncate(self.wanted);
        }
        if self.matches.len() == self.wanted {
            let distances = self.matches.iter().map(|found| found.distance);
            self.farthest = distances.max().unwrap_or(0);
        }
        Ok(())
    }

    /// Adds those that no newer source has replaced.
    fn add_live(&mut self, found: &[Found]) -> Result<()> {
        for of_source in found.chunk_by(|a, b| a.0 == b.0) {
            for some in of_source.chunks(LOOKED_UP) {
                let source = some[0].0;
                let view = View { version: self.in_parts.get(), ..*self.view };
                let Some(documents) = view.version.segments[source].documents() else { continue };
                let some: Vec<FoundInLeaf> = some.iter().map(|&(_, found)| found).collect();
                documents.for_each_found(&some, |key, document, distance| {
                    if !view.is_replaced(key, source + 1)? {
                        let Document { fingerprint, id, .. } = document;
                        self.matches.push(Match { distance, fingerprint, id });
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }
}

impl View<'_, Sketch> {
    /// Returns whether a source from number `from` on says something newer about the document with
    /// this key.
    pub(crate) fn is_replaced(&self, key: &[u8], from: usize) -> Result<bool> {
        Ok(self.version.newest(key, self.seq, from)?.is_some())
    }
}

/// Adds the matches in memtables.
fn in_memtables(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    test: &SketchTest<'_>,
    matches: &mut Vec<Match<Sketch>>,
) {
    let version = view.version;
    for (number, memtable) in version.memtables().enumerate() {
        if memtable.is_empty() {
            continue;
        }
        for Similar { distance, fingerprint, id, .. } in memtable.similar(sketch, test, view.seq) {
            let entry = Entry { fingerprint, id };
            let mut newer = version.memtables().skip(number + 1);
            if newer.all(|memtable| memtable.state(entry, view.seq).is_none()) {
                matches.push(Match { distance, fingerprint, id });
            }
        }
    }
}

/// Appends the ids of the documents with each of these sketches, at most `limit` each, ascending.
pub(super) fn ids_of_each(
    view: &View<'_, Sketch>,
    sketches: &[Sketch],
    limit: usize,
    out: &mut Vec<Entry<Sketch>>,
) -> Result<()> {
    for &sketch in sketches {
        // Other sketches may have the same minima.
        let near = query(view, sketch, QueryOptions::within(0))?;
        let same = near.iter().filter(|found| found.fingerprint == sketch);
        out.extend(same.take(limit).map(Match::entry));
    }
    Ok(())
}

/// Returns whether two sketches match by the rule.
pub(super) fn are_similar(view: &View<'_, Sketch>, a: Sketch, b: Sketch) -> bool {
    let test = view.planner.sketch_test(Within::Rule);
    test.is_some_and(|test| test.distance(a, b).is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_pages_and_many_are_each_returned_once_ascending() {
        let mut set = PageSet::default();
        let cases = [(vec![], 0), (vec![7, 5, 7], 1000), (vec![7, 129, 5, 7, 0], 130)];
        for (pages, count) in cases.iter().chain(cases.iter().rev()) {
            set.prepare(pages.len(), *count);
            pages.iter().for_each(|&page| set.insert(page));
            let mut sorted = Vec::new();
            set.drain(|page| sorted.push(page));
            let expected: std::collections::BTreeSet<u32> = pages.iter().copied().collect();
            assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
