//! Queries of sketches that are answered together.

use super::leaves::LeafOf;
use crate::base::error::Result;
use crate::documents::FoundInLeaf;
use crate::fingerprint::{Document, Entry, Match, Sketch};
use crate::index::bands::SketchTest;
use crate::query::counters::QueryStats;
use crate::query::view::View;
use crate::store::memtable::Similar;
use crate::store::version::InParts;

/// What was found in a segment of this number.
type Found = (usize, FoundInLeaf);

/// Leaves that are compared with a query each before pages may be dropped; few in unit tests, so
/// that small databases have more.
const LEAVES: usize = if cfg!(test) { 1 << 2 } else { 1 << 8 };

/// Matches that are looked up before pages may be dropped.
const LOOKED_UP: usize = 1 << 8;

/// Queries that are answered together.
pub(super) struct Group<'a> {
    view: &'a View<'a, Sketch>,
    sketches: &'a [Sketch],
    test: &'a SketchTest<'a>,
    in_parts: InParts<'a, Sketch>,
    /// How many matches each query wants.
    wanted: usize,
    /// How many there may be together.
    most: usize,
    /// One per sketch.
    pub(super) queries: Vec<OfQuery>,
    /// What is live of what was found for a query, before the nearest are chosen.
    live: Vec<Match<Sketch>>,
}

/// The nearest live matches of a query in what has been compared so far.
#[derive(Debug)]
pub(super) struct OfQuery {
    /// The distance beyond which nothing is wanted any more.
    farthest: u32,
    pub(super) matches: Vec<Match<Sketch>>,
    /// What was found and has not been looked up yet.
    found: Vec<Found>,
}

impl<'a> Group<'a> {
    pub(super) fn new(
        view: &'a View<'a, Sketch>,
        sketches: &'a [Sketch],
        test: &'a SketchTest<'a>,
        wanted: usize,
        most: usize,
    ) -> Self {
        let in_parts = InParts::new(view.version);
        let query = |_| OfQuery { farthest: u32::MAX, matches: Vec::new(), found: Vec::new() };
        let queries = sketches.iter().map(query).collect();
        Self { view, sketches, test, in_parts, wanted, most, queries, live: Vec::new() }
    }

    /// Returns the view to read the next part with. Frees pages that were read for earlier parts.
    pub(super) fn view(&mut self) -> View<'_, Sketch> {
        View { version: self.in_parts.get(), ..*self.view }
    }

    /// Returns whether there are more matches than there may be.
    pub(super) fn is_full(&self) -> bool {
        self.queries.iter().map(|query| query.matches.len()).sum::<usize>() > self.most
    }

    /// Compares the sketches in these leaves, and empties the list.
    pub(super) fn compare(
        &mut self,
        leaves: &mut Vec<LeafOf>,
        read: &mut QueryStats,
    ) -> Result<()> {
        if self.sketches.len() > 1 {
            leaves.sort_unstable();
        }
        read.blocks += leaves.len() as u64;
        for some in leaves.chunks(LEAVES) {
            if self.is_full() {
                break;
            }
            read.candidates += self.compare_some(some)?;
            for of_query in some.chunk_by(|a, b| a.place() == b.place()) {
                self.look_up(of_query[0].place())?;
            }
        }
        leaves.clear();
        Ok(())
    }

    /// Adds what matches in these leaves to what was found. Returns how many sketches were
    /// compared.
    fn compare_some(&mut self, leaves: &[LeafOf]) -> Result<u64> {
        let Self { in_parts, test, sketches, queries, .. } = self;
        let segments = &in_parts.get().segments;
        for of_leaf in leaves.chunk_by(LeafOf::is_same_leaf) {
            let (source, page) = (of_leaf[0].source(), of_leaf[0].page());
            let Some(documents) = segments[source].documents() else { continue };
            documents.prefetch_leaf(page);
            if documents.is_cold() {
                documents.fetch_leaf(page);
            }
        }
        let mut candidates = 0;
        // Only a crowd leads to so many leaves.
        let is_crowd = leaves.len() == LEAVES;
        for of_leaf in leaves.chunk_by(LeafOf::is_same_leaf) {
            let (source, page) = (of_leaf[0].source(), of_leaf[0].page());
            let Some(documents) = segments[source].documents() else { continue };
            let originals = documents.find_in_leaf(
                page,
                of_leaf,
                #[inline(always)]
                |leaf, other| match is_crowd {
                    true => test.distance_in_band(&sketches[leaf.place()], other),
                    false => test.distance(&sketches[leaf.place()], other),
                },
                |leaf, found| {
                    let query = &mut queries[leaf.place()];
                    if found.distance <= query.farthest {
                        query.found.push((source, found));
                    }
                },
            )?;
            candidates += originals * of_leaf.len() as u64;
        }
        Ok(candidates)
    }

    /// Compares all sketches in the segments with a query, for a distance at which bands do not
    /// lead to all matches.
    pub(super) fn compare_all(&mut self, place: usize, read: &mut QueryStats) -> Result<()> {
        let (test, sketch) = (self.test, &self.sketches[place]);
        for (source, segment) in self.view.version.segments.iter().enumerate() {
            let Some(documents) = segment.documents() else { continue };
            let (leaves, originals) = documents.find_in_all_leaves(
                #[inline(always)]
                |other| test.distance(sketch, other),
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

    /// Adds what is live of what was found for a query to its matches, and removes what is not
    /// wanted any more.
    fn look_up(&mut self, place: usize) -> Result<()> {
        let query = &mut self.queries[place];
        let mut found = std::mem::take(&mut query.found);
        found.retain(|(_, found)| found.distance <= query.farthest);
        if found.is_empty() {
            query.found = found;
            return Ok(());
        }
        if found.len() <= self.wanted {
            self.add_live(&found)?;
        } else {
            // What is farther away need not be looked up if enough of the nearest are live.
            found.sort_unstable_by_key(|&(source, found)| (found.distance, source, found));
            for same in found.chunk_by(|a, b| a.1.distance == b.1.distance) {
                self.add_live(same)?;
                if self.live.len() >= self.wanted {
                    break;
                }
            }
        }
        found.clear();
        let (query, wanted) = (&mut self.queries[place], self.wanted);
        query.found = found;
        // The list that the query keeps does not grow beyond what it wants.
        if query.matches.len() + self.live.len() > wanted {
            self.live.append(&mut query.matches);
            self.live.select_nth_unstable(wanted);
            self.live.truncate(wanted);
        }
        query.matches.append(&mut self.live);
        query.keep_nearest(wanted);
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
                        self.live.push(Match { distance, fingerprint, id });
                    }
                    Ok(())
                })?;
            }
        }
        Ok(())
    }

    /// Adds the matches in memtables.
    pub(super) fn add_recent(&mut self) {
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
