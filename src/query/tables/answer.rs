//! One query of a fingerprint: its answers.

use super::hit::{Hit, Hits};
use super::pipeline;
use crate::base::error::Result;
use crate::fingerprint::{Entry, Match, Word};
use crate::query::batch::Answers;
use crate::query::options::{NewMatch, QueryOptions, Within};
use crate::query::planner::Planner;
use crate::query::view::View;
use crate::store::memtable::Memtable;
use crate::store::version::InParts;

/// Returns all matches, each once, sorted by distance, fingerprint, id.
pub(in crate::query) fn query<F: Word>(
    view: &View<'_, F>,
    fingerprint: F,
    options: QueryOptions,
) -> Result<Vec<Match<F>>> {
    view.counters.count(|read| {
        read.queries = 1;
        let mut hits = Hits::new(Hit::NONE);
        pipeline::search(view, fingerprint, options.within, &mut hits, read)?;
        let matches = view.select(hits.as_mut_slice(), options)?;
        read.matches = matches.len() as u64;
        Ok(matches)
    })
}

/// Appends the answers to several queries. Returns whether they have at most `most` matches; if
/// not, the last ones are missing.
pub(in crate::query) fn query_each<F: Word>(
    view: &View<'_, F>,
    fingerprints: &[F],
    options: QueryOptions,
    most: usize,
    answers: &mut Answers<F>,
) -> Result<bool> {
    let mut in_parts = InParts::new(view.version);
    for &fingerprint in fingerprints {
        let view = View { version: in_parts.get(), ..*view };
        answers.push(&query(&view, fingerprint, options)?);
        if answers.matches().len() > most {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the nearest match.
///
/// Radii are tried from 0 up: few probes find a near match, and all radii together cost little more
/// than the last one.
pub(in crate::query) fn nearest<F: Word>(
    view: &View<'_, F>,
    fingerprint: F,
    within: Within,
) -> Result<Option<Match<F>>> {
    let most = view.planner.distance(within);
    let mut radius = 0;
    while radius < most {
        let options = QueryOptions::within(radius).limit(1);
        if let Some(found) = query(view, fingerprint, options)?.pop() {
            return Ok(Some(found));
        }
        radius = if radius == 0 { 1 } else { radius * 2 };
    }
    Ok(query(view, fingerprint, QueryOptions::within(within).limit(1))?.pop())
}

/// Returns the nearest match among the new entries of a memtable, and its commit.
pub(in crate::query) fn nearest_new<F: Word>(
    planner: &Planner,
    memtable: &Memtable<F>,
    wanted: &NewMatch<'_, F>,
) -> Option<(Match<F>, u64)> {
    let NewMatch { fingerprint, within, after, accept } = *wanted;
    let distance = planner.distance(within);
    let plan = |entries| planner.tables().plan_in_memory(entries, distance);
    let (commit, entry, distance) =
        memtable.newer_match(fingerprint, plan, distance, after, accept)?;
    let Entry { fingerprint, id } = entry;
    Some((Match { distance, fingerprint, id }, commit))
}

/// Returns whether two fingerprints match by the rule.
pub(in crate::query) fn are_near<F: Word>(view: &View<'_, F>, a: F, b: F) -> bool {
    a.distance(b) <= view.planner.distance(Within::Rule)
}

impl<F: Word> View<'_, F> {
    /// Turns hits into the matches that the options ask for.
    pub(super) fn select(
        &self,
        hits: &mut [Hit<F>],
        options: QueryOptions,
    ) -> Result<Vec<Match<F>>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        let Some(since) = options.since else { return self.matches(hits, limit) };
        self.stamped_since(self.matches(hits, usize::MAX)?, since, limit)
    }
}
