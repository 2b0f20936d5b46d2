//! Queries in a database of sketches, in the steps of docs/design.md, "Search by similarity". As in
//! a query of tables, all lookups of a query take one step before the next, so that their waits
//! overlap.
//!
//! Some queries are answered together: what their bands lead to is compared with all of them while
//! it is in the processor's cache. A crowd, whose sketches share bands and do not match, would
//! otherwise be read from memory for each of them.

mod explain;
mod group;
mod leaves;
mod planner;

pub(super) use explain::plan;
pub(crate) use planner::BandPlanner;

use group::{Group, OfQuery};
use leaves::find_leaves;

use crate::base::error::Result;
use crate::fingerprint::{Entry, Match, Sketch};
use crate::query::batch::Answers;
use crate::query::counters::QueryStats;
use crate::query::options::{NewMatch, QueryOptions, Within};
use crate::query::planner::Planner;
use crate::query::view::View;
use crate::store::memtable::{Memtable, Similar};

/// Queries that are answered together, and about how many leaves all of them may lead to: those
/// that lead to more are answered in parts.
const TOGETHER: usize = 64;
const MOST_LEAVES: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };

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

/// Appends the answers to several queries. Returns whether they have at most `most` matches; if
/// not, the last ones are missing.
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
    let test = view.planner.bands().test(options.within);
    let limit = options.limit.unwrap_or(usize::MAX);
    // Which of the matches are recent enough is not known yet.
    let wanted = if options.since.is_some() { usize::MAX } else { limit };
    let mut group = Group::new(view, sketches, &test, wanted, most);
    if test.shares_band {
        let mut leaves = Vec::new();
        for (place, &sketch) in sketches.iter().enumerate() {
            find_leaves(&group.view(), (sketch, place), &test.rule, &mut leaves, read)?;
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

/// Returns the nearest match among the new documents of a memtable, and its commit.
pub(super) fn nearest_new(
    planner: &Planner,
    memtable: &Memtable<Sketch>,
    wanted: &NewMatch<'_, Sketch>,
) -> Option<(Match<Sketch>, u64)> {
    let NewMatch { fingerprint, within, after, accept } = *wanted;
    let test = planner.bands().test(within);
    let Similar { distance, fingerprint, id, seq } =
        memtable.newer_similar(fingerprint, &test, after, accept)?;
    Some((Match { distance, fingerprint, id }, seq))
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
    view.planner.bands().test(Within::Rule).distance(&a, &b).is_some()
}
