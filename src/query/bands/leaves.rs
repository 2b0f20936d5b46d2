//! The leaves of documents to which the bands of a sketch lead.

use std::ops::Range;

use crate::base::error::Result;
use crate::fingerprint::Sketch;
use crate::index::bands::BandRule;
use crate::index::bands::{BandView, BandsPart, MOST_AT_ONCE, NumberSet};
use crate::query::counters::QueryStats;
use crate::query::view::View;
use crate::store::version::InParts;

/// A leaf that is compared with a query: the number of its segment, its page, and the query's place
/// among those that are answered together. Leaves are ordered in this way, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct LeafOf(u64);

/// Bits of the place of a query.
const PLACE_BITS: u32 = 8;

impl LeafOf {
    fn new(source: usize, page: u32, place: usize) -> Self {
        Self(
            (source as u64) << (u32::BITS + PLACE_BITS)
                | u64::from(page) << PLACE_BITS
                | place as u64,
        )
    }

    pub(super) fn source(self) -> usize {
        (self.0 >> (u32::BITS + PLACE_BITS)) as usize
    }

    #[expect(clippy::cast_possible_truncation, reason = "the segment's number is above it")]
    pub(super) fn page(self) -> u32 {
        (self.0 >> PLACE_BITS) as u32
    }

    pub(super) fn place(self) -> usize {
        (self.0 % (1 << PLACE_BITS)) as usize
    }

    /// Returns whether it is the same leaf, whatever query it is compared with.
    pub(super) fn is_same_leaf(&self, other: &Self) -> bool {
        self.0 >> PLACE_BITS == other.0 >> PLACE_BITS
    }
}

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

/// Appends the leaves to which the bands of the query at a place lead, each once, in order.
pub(super) fn find_leaves(
    view: &View<'_, Sketch>,
    (sketch, place): (Sketch, usize),
    rule: &BandRule,
    leaves: &mut Vec<LeafOf>,
    read: &mut QueryStats,
) -> Result<()> {
    let segments = &view.version.segments;
    let mut lookups = Vec::with_capacity(segments.len() * rule.bands as usize);
    for (source, segment) in segments.iter().enumerate() {
        let Some(part) = segment.bands() else { continue };
        for ((number, in_rule), bands) in (0..).zip(0..).zip(part.tables()) {
            let (view, band) = (bands.view(), sketch.band(in_rule, rule.minima));
            view.prefetch_directory(view.bucket(band));
            lookups.push(BandLookup { source, number, view, band, rows: 0..0 });
        }
    }
    read.lookups += lookups.len() as u64;
    // All reads of the disk are under way before the first is waited for.
    let is_cold = segments.iter().any(|segment| segment.bands().is_some_and(BandsPart::is_cold));
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
                let Some(part) = in_parts.get().segments[source].bands() else { break };
                add_pages(part.tables()[*number].view(), &some, count, &mut pages)?;
            }
        }
        pages.for_each(|page| leaves.push(LeafOf::new(source, page, place)));
        view.planner.bands().check_pages(leaves.len() - before)?;
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
