//! One query in a database of sketches, in the steps of docs/design.md, "Search by similarity". As in
//! a query of tables, all lookups take one step before the next, so that their waits overlap.

use std::ops::Range;

use super::counters::QueryStats;
use super::options::{QueryOptions, Within};
use super::view::View;
use crate::bands::BandView;
use crate::documents::FoundInLeaf;
use crate::error::Result;
use crate::fingerprint::{Document, Entry, Fingerprint, Match, Sketch};
use crate::layout::SketchTest;
use crate::memtable::Similar;

/// The lookup of one band in one segment.
#[derive(Debug)]
struct BandLookup<'a> {
    /// The segment's number, the oldest first.
    source: usize,
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
    let leaves =
        if test.shares_band { find_leaves(view, sketch, &test, read)? } else { Vec::new() };
    let limit = options.limit.unwrap_or(usize::MAX);
    // Which of the matches are recent enough is not known yet.
    let wanted = if options.since.is_some() { usize::MAX } else { limit };
    let mut matches = nearest_live(view, compare(view, sketch, &test, &leaves, read)?, wanted)?;
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
    test: &SketchTest,
    read: &mut QueryStats,
) -> Result<Vec<(usize, u32)>> {
    let segments = &view.version.segments;
    let mut lookups = Vec::with_capacity(segments.len() * test.rule.bands as usize);
    for (source, segment) in segments.iter().enumerate() {
        for (number, bands) in (0..).zip(segment.bands()) {
            let (view, band) = (bands.view(), sketch.band(number, test.rule.minima));
            view.prefetch_directory(view.bucket(band));
            lookups.push(BandLookup { source, view, band, rows: 0..0 });
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
    let View { version, planner, .. } = view;
    let segments = &version.segments;
    let (mut leaves, mut pages) = (Vec::new(), Vec::new());
    for of_source in lookups.chunk_by(|a, b| a.source == b.source) {
        let source = of_source[0].source;
        let Some(documents) = segments[source].documents() else { continue };
        pages.clear();
        for BandLookup { view, rows, .. } in of_source {
            for (row, page) in rows.clone().zip(view.pages(rows)?) {
                if u64::from(page) >= documents.leaf_pages() {
                    return Err(view.no_such_page(row));
                }
                pages.push(page);
            }
        }
        sort_and_dedup(&mut pages, documents.leaf_pages());
        leaves.extend(pages.iter().map(|&page| (source, page)));
        planner.check_pages(leaves.len())?;
    }
    for &(source, page) in &leaves {
        let Some(documents) = segments[source].documents() else { continue };
        documents.prefetch_leaf(page);
        if documents.is_cold() {
            documents.fetch_leaf(page);
        }
    }
    Ok(leaves)
}

/// Sorts pages, of so many, and removes repeated ones.
fn sort_and_dedup(pages: &mut Vec<u32>, count: u64) {
    const BITS: usize = u64::BITS as usize;
    // Many documents can share a band. Then setting a bit for each page is faster than sorting.
    let words = usize::try_from(count).unwrap_or(usize::MAX).div_ceil(BITS);
    if pages.len() < words {
        pages.sort_unstable();
        pages.dedup();
        return;
    }
    let mut are_there = vec![0u64; words];
    pages.drain(..).for_each(|page| are_there[page as usize / BITS] |= 1 << (page % u64::BITS));
    for (word, mut bits) in (0..).zip(are_there) {
        while bits != 0 {
            pages.push(word * u64::BITS + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
}

/// Compares the sketches in these leaves, or in all if the bands do not lead to all matches. Returns
/// the matches that are live or were replaced, in the order of the segments and their leaves.
fn compare(
    view: &View<'_, Sketch>,
    sketch: Sketch,
    test: &SketchTest,
    leaves: &[(usize, u32)],
    read: &mut QueryStats,
) -> Result<Vec<Found>> {
    let (mut all, mut found) = (Vec::new(), Vec::new());
    let mut rest = leaves;
    for (source, segment) in view.version.segments.iter().enumerate() {
        let Some(documents) = segment.documents() else { continue };
        found.clear();
        if test.shares_band {
            let (own, others) = rest.split_at(rest.partition_point(|leaf| leaf.0 == source));
            rest = others;
            read.blocks += own.len() as u64;
            for &(_, page) in own {
                read.candidates += documents.find_in_leaf(
                    page,
                    #[inline(always)]
                    |other| test.distance(sketch, other),
                    &mut found,
                )?;
            }
        } else {
            let (leaves, originals) = documents.find_in_all_leaves(
                #[inline(always)]
                |other| test.distance(sketch, other),
                &mut found,
            )?;
            read.blocks += leaves;
            read.candidates += originals;
        }
        all.extend(found.iter().map(|&found| (source, found)));
    }
    Ok(all)
}

/// Returns the live ones of what was found: all, or at least the `wanted` nearest.
fn nearest_live(
    view: &View<'_, Sketch>,
    mut found: Vec<Found>,
    wanted: usize,
) -> Result<Vec<Match<Sketch>>> {
    let mut matches = Vec::new();
    if found.len() <= wanted {
        add_live(view, &found, &mut matches)?;
        return Ok(matches);
    }
    found.sort_unstable_by_key(|&(source, found)| (found.distance, source, found));
    for same in found.chunk_by(|a, b| a.1.distance == b.1.distance) {
        add_live(view, same, &mut matches)?;
        if matches.len() >= wanted {
            break;
        }
    }
    Ok(matches)
}

/// Adds those that no newer source has replaced.
fn add_live(
    view: &View<'_, Sketch>,
    found: &[Found],
    matches: &mut Vec<Match<Sketch>>,
) -> Result<()> {
    for of_source in found.chunk_by(|a, b| a.0 == b.0) {
        let Some(&(source, _)) = of_source.first() else { continue };
        let Some(documents) = view.version.segments[source].documents() else { continue };
        let of_source: Vec<FoundInLeaf> = of_source.iter().map(|&(_, found)| found).collect();
        documents.for_each_found(&of_source, |key, document, distance| {
            if !view.is_replaced(key, source + 1)? {
                let Document { fingerprint, id, .. } = document;
                matches.push(Match { distance, fingerprint, id });
            }
            Ok(())
        })?;
    }
    Ok(())
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
    test: &SketchTest,
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
        let same = query(view, sketch, QueryOptions::within(0).limit(limit))?;
        out.extend(same.iter().map(Match::entry));
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
    fn few_pages_and_many_are_sorted_alike() {
        for (pages, count) in [(vec![], 0), (vec![7, 5, 7], 1000), (vec![7, 129, 5, 7, 0], 130)] {
            let mut sorted = pages.clone();
            sort_and_dedup(&mut sorted, count);
            let expected: std::collections::BTreeSet<u32> = pages.into_iter().collect();
            assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
