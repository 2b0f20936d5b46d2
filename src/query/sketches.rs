//! Queries in a database of sketches, in the steps of docs/design.md, "Search by similarity". As in a
//! query of tables, all lookups of a query take one step before the next, so that their waits overlap.
//!
//! Some queries are answered together: what their bands lead to is compared with all of them while it
//! is in the processor's cache. A crowd, whose sketches share bands and do not match, would otherwise
//! be read from memory for each of them.

use std::ops::Range;

use super::batch::Answers;
use super::counters::QueryStats;
use super::options::{QueryOptions, Within};
use super::view::View;
use crate::bands::{BandView, MOST_AT_ONCE, NumberSet};
use crate::documents::FoundInLeaf;
use crate::error::Result;
use crate::fingerprint::{Document, Entry, Match, Sketch};
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

/// A leaf that is compared with a query: the number of its segment, its page, and the query's place.
type LeafOf = (usize, u32, usize);

/// Queries that are answered together, and about how many leaves all of them may lead to: those that
/// lead to more are answered in parts.
const TOGETHER: usize = 64;
const MOST_LEAVES: usize = if cfg!(test) { 1 << 4 } else { 1 << 20 };

/// Returns all matches, each once, sorted by distance, sketch, id.
pub(super) fn query(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    options: QueryOptions,
) -> Result<Vec<Match<Sketch>>> {
    view.counters.count(|read| {
        let matches = matches(view, &[sketch], options, usize::MAX, read)?;
        let matches = matches.into_iter().flatten().next().unwrap_or_default();
        (read.queries, read.matches) = (1, matches.len() as u64);
        Ok(matches)
    })
}

/// Appends the answers to several queries. Returns whether they have at most `most` matches; if not,
/// the last ones are missing.
pub(super) fn query_each(
    view: &View<'_, Sketch>,
    sketches: &[Sketch],
    options: QueryOptions,
    most: usize,
    answers: &mut Answers<Sketch>,
) -> Result<bool> {
    for sketches in sketches.chunks(TOGETHER) {
        let left = most.saturating_sub(answers.matches().len());
        let is_within = view.counters.count(|read| {
            let Some(matches) = matches(view, sketches, options, left, read)? else {
                return Ok(false);
            };
            matches.iter().for_each(|of_query| answers.push(of_query));
            read.queries = sketches.len() as u64;
            read.matches = matches.iter().map(|of_query| of_query.len() as u64).sum();
            Ok(true)
        })?;
        if !is_within {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the matches of each sketch; `None` if there are more than `most`.
fn matches(
    view: &View<'_, Sketch>,
    sketches: &[Sketch],
    options: QueryOptions,
    most: usize,
    read: &mut QueryStats,
) -> Result<Option<Vec<Vec<Match<Sketch>>>>> {
    let Some(test) = view.planner.sketch_test(options.within) else {
        return Ok(Some(vec![Vec::new(); sketches.len()]));
    };
    let limit = options.limit.unwrap_or(usize::MAX);
    // Which of the matches are recent enough is not known yet.
    let wanted = if options.since.is_some() { usize::MAX } else { limit };
    let mut group = Group::new(view, sketches, &test, wanted, most);
    if test.shares_band {
        let mut leaves = Vec::new();
        for place in 0..sketches.len() {
            find_leaves(&group, place, &mut leaves, read)?;
            if leaves.len() >= MOST_LEAVES {
                group.compare(&mut leaves, read)?;
            }
        }
        group.compare(&mut leaves, read)?;
    } else {
        (0..sketches.len()).try_for_each(|place| group.compare_all(place, read))?;
    }
    group.add_recent();
    if group.is_full() {
        return Ok(None);
    }
    let finish = |of_query: OfQuery| {
        let mut matches = of_query.matches;
        matches.sort_unstable();
        match options.since {
            Some(since) => view.stamped_since(matches, since, limit),
            None => {
                matches.truncate(limit);
                Ok(matches)
            }
        }
    };
    group.queries.into_iter().map(finish).collect::<Result<Vec<_>>>().map(Some)
}

/// Returns the nearest match.
pub(super) fn nearest(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    within: Within,
) -> Result<Option<Match<Sketch>>> {
    Ok(query(view, sketch, QueryOptions::within(within).limit(1))?.pop())
}

/// Appends the leaves to which the bands of the query at this place lead, each once, in order.
fn find_leaves(
    group: &Group<'_>,
    place: usize,
    leaves: &mut Vec<LeafOf>,
    read: &mut QueryStats,
) -> Result<()> {
    let Group { view, sketches, test, .. } = *group;
    let Some(sketch) = sketches.get(place) else { return Ok(()) };
    let segments = &view.version.segments;
    let mut lookups = Vec::with_capacity(segments.len() * test.rule.bands as usize);
    for (source, segment) in segments.iter().enumerate() {
        for ((number, in_rule), bands) in (0..).zip(0..).zip(segment.bands()) {
            let (view, band) = (bands.view(), sketch.band(in_rule, test.rule.minima));
            view.prefetch_directory(view.bucket(band));
            lookups.push(BandLookup { source, number, view, band, rows: 0..0 });
        }
    }
    read.lookups += lookups.len() as u64;
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
    add_leaves(view, place, &lookups, leaves)
}

/// Appends the leaves to which rows refer, each once.
fn add_leaves(
    view: &View<'_, Sketch>,
    place: usize,
    lookups: &[BandLookup<'_>],
    leaves: &mut Vec<LeafOf>,
) -> Result<()> {
    let segments = &view.version.segments;
    let mut in_parts = InParts::new(view.version);
    let before = leaves.len();
    for of_source in lookups.chunk_by(|a, b| a.source == b.source) {
        let source = of_source[0].source;
        let Some(documents) = segments[source].documents() else { continue };
        let count = documents.leaf_pages();
        let mut pages = NumberSet::new(usize::try_from(count).unwrap_or(usize::MAX));
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
        pages.for_each(|page| leaves.push((source, page, place)));
        view.planner.check_pages(leaves.len() - before)?;
    }
    Ok(())
}

/// Adds the pages to which these rows refer, all of them below `count`.
fn add_pages(
    bands: BandView<'_>,
    rows: &Range<usize>,
    count: u64,
    pages: &mut NumberSet,
) -> Result<()> {
    for (row, page) in rows.clone().zip(bands.pages(rows)?) {
        if u64::from(page) >= count {
            return Err(bands.no_such_page(row));
        }
        pages.insert(page);
    }
    Ok(())
}

/// Leaves that are compared with a query each before pages may be dropped; few in unit tests, so that
/// small databases have more.
const LEAVES: usize = if cfg!(test) { 1 << 2 } else { 1 << 8 };

/// Matches that are looked up before pages may be dropped.
const LOOKED_UP: usize = 1 << 8;

/// Queries that are answered together.
struct Group<'a> {
    view: &'a View<'a, Sketch>,
    sketches: &'a [Sketch],
    test: &'a SketchTest<'a>,
    in_parts: InParts<'a, Sketch>,
    /// How many matches each query wants.
    wanted: usize,
    /// How many there may be together.
    most: usize,
    /// One per sketch.
    queries: Vec<OfQuery>,
}

/// The nearest live matches of a query in what has been compared so far.
#[derive(Debug)]
struct OfQuery {
    /// The distance beyond which nothing is wanted any more.
    farthest: u32,
    matches: Vec<Match<Sketch>>,
    /// What was found and has not been looked up yet.
    found: Vec<Found>,
}

impl<'a> Group<'a> {
    fn new(
        view: &'a View<'a, Sketch>,
        sketches: &'a [Sketch],
        test: &'a SketchTest<'a>,
        wanted: usize,
        most: usize,
    ) -> Self {
        let in_parts = InParts::new(view.version);
        let query = |_| OfQuery { farthest: u32::MAX, matches: Vec::new(), found: Vec::new() };
        let queries = sketches.iter().map(query).collect();
        Self { view, sketches, test, in_parts, wanted, most, queries }
    }

    /// Returns whether there are more matches than there may be.
    fn is_full(&self) -> bool {
        self.queries.iter().map(|query| query.matches.len()).sum::<usize>() > self.most
    }

    /// Compares the sketches in these leaves, and empties the list.
    fn compare(&mut self, leaves: &mut Vec<LeafOf>, read: &mut QueryStats) -> Result<()> {
        if self.sketches.len() > 1 {
            // They are sorted for each query, so this merges them.
            leaves.sort();
        }
        read.blocks += leaves.len() as u64;
        for some in leaves.chunks(LEAVES) {
            if self.is_full() {
                break;
            }
            read.candidates += self.compare_some(some)?;
            for of_query in some.chunk_by(|a, b| a.2 == b.2) {
                self.look_up(of_query[0].2)?;
            }
        }
        leaves.clear();
        Ok(())
    }

    /// Adds what matches in these leaves to what was found. Returns how many sketches were compared.
    fn compare_some(&mut self, leaves: &[LeafOf]) -> Result<u64> {
        let segments = &self.in_parts.get().segments;
        for of_leaf in leaves.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let (source, page, _) = of_leaf[0];
            let Some(documents) = segments[source].documents() else { continue };
            documents.prefetch_leaf(page);
            if documents.is_cold() {
                documents.fetch_leaf(page);
            }
        }
        let (mut candidates, mut found) = (0, Vec::new());
        for &(source, page, place) in leaves {
            let Some(documents) = segments[source].documents() else { continue };
            let (test, sketch) = (self.test, &self.sketches[place]);
            candidates += documents.find_in_leaf(
                page,
                #[inline(always)]
                |other| test.distance(sketch, &other),
                &mut found,
            )?;
            let query = &mut self.queries[place];
            found.retain(|found| found.distance <= query.farthest);
            query.found.extend(found.drain(..).map(|found| (source, found)));
        }
        Ok(candidates)
    }

    /// Compares all sketches in the segments with a query, for a distance at which bands do not lead to
    /// all matches.
    fn compare_all(&mut self, place: usize, read: &mut QueryStats) -> Result<()> {
        let (test, sketch) = (self.test, &self.sketches[place]);
        for (source, segment) in self.view.version.segments.iter().enumerate() {
            let Some(documents) = segment.documents() else { continue };
            let (leaves, originals) = documents.find_in_all_leaves(
                #[inline(always)]
                |other| test.distance(sketch, &other),
                |found| {
                    self.queries[place].found.extend(found.iter().map(|&found| (source, found)));
                    self.look_up(place)
                },
            )?;
            read.blocks += leaves;
            read.candidates += originals;
        }
        Ok(())
    }

    /// Adds what is live of what was found for a query to its matches, and removes what is not wanted
    /// any more.
    fn look_up(&mut self, place: usize) -> Result<()> {
        let query = &mut self.queries[place];
        let mut found = std::mem::take(&mut query.found);
        found.retain(|(_, found)| found.distance <= query.farthest);
        if found.is_empty() {
            query.found = found;
            return Ok(());
        }
        if found.len() <= self.wanted {
            self.add_live(place, &found)?;
        } else {
            // What is farther away need not be looked up if enough of the nearest are live.
            found.sort_unstable_by_key(|&(source, found)| (found.distance, source, found));
            let before = self.queries[place].matches.len();
            for same in found.chunk_by(|a, b| a.1.distance == b.1.distance) {
                self.add_live(place, same)?;
                if self.queries[place].matches.len() - before >= self.wanted {
                    break;
                }
            }
        }
        found.clear();
        let (query, wanted) = (&mut self.queries[place], self.wanted);
        query.found = found;
        query.keep_nearest(wanted);
        Ok(())
    }

    /// Adds those that no newer source has replaced.
    fn add_live(&mut self, place: usize, found: &[Found]) -> Result<()> {
        for of_source in found.chunk_by(|a, b| a.0 == b.0) {
            for some in of_source.chunks(LOOKED_UP) {
                let source = some[0].0;
                let view = View { version: self.in_parts.get(), ..*self.view };
                let Some(documents) = view.version.segments[source].documents() else { continue };
                let some: Vec<FoundInLeaf> = some.iter().map(|&(_, found)| found).collect();
                documents.for_each_found(&some, |key, document, distance| {
                    if !view.is_replaced(key, source + 1)? {
                        let Document { fingerprint, id, .. } = document;
                        self.queries[place].matches.push(Match { distance, fingerprint, id });
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Adds the matches in memtables.
    fn add_recent(&mut self) {
        let version = self.view.version;
        for (number, memtable) in version.memtables().enumerate() {
            if memtable.is_empty() {
                continue;
            }
            let seq = self.view.seq;
            memtable.for_each_similar(self.sketches, self.test, 0..=seq, |place, found| {
                let Similar { distance, fingerprint, id, .. } = found;
                let entry = Entry { fingerprint, id };
                let query = &mut self.queries[place];
                let mut newer = version.memtables().skip(number + 1);
                if distance <= query.farthest
                    && newer.all(|memtable| memtable.state(entry, seq).is_none())
                {
                    query.matches.push(Match { distance, fingerprint, id });
                    if query.matches.len() / 2 > self.wanted {
                        query.keep_nearest(self.wanted);
                    }
                }
            });
        }
        let wanted = self.wanted;
        self.queries.iter_mut().for_each(|query| query.keep_nearest(wanted));
    }
}

impl OfQuery {
    /// Removes matches that are not among the nearest.
    fn keep_nearest(&mut self, wanted: usize) {
        if self.matches.len() > wanted {
            self.matches.select_nth_unstable(wanted);
            self.matches.truncate(wanted);
        }
        if self.matches.len() == wanted {
            let distances = self.matches.iter().map(|found| found.distance);
            self.farthest = distances.max().unwrap_or(0);
        }
    }
}

impl View<'_, Sketch> {
    /// Returns whether a source from number `from` on says something newer about the document with
    /// this key.
    pub(crate) fn is_replaced(&self, key: &[u8], from: usize) -> Result<bool> {
        Ok(self.version.newest(key, self.seq, from)?.is_some())
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
    test.is_some_and(|test| test.distance(&a, &b).is_some())
}
