//! Many queries at once.

use super::ids::StandingIds;
use super::pipeline::{self, Hit};
use super::sweep::{self, Found};
use super::{QueryOptions, View};
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Match};

/// Queries that are answered together at most. Beside the answers a million take some 40 MiB at 64
/// bits and 70 at 128: the queries in one table's order, and what is found.
const CHUNK: usize = 1 << 20;

/// The answers to all queries, in their order.
pub(super) fn query_batch<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    threads: usize,
) -> Result<Vec<Vec<Match<F>>>> {
    let mut answers = Vec::with_capacity(queries.len());
    for chunk in queries.chunks(CHUNK) {
        if sweep::pays(view, chunk.len(), distance) {
            answers.append(&mut together(view, chunk, distance, threads)?);
            continue;
        }
        for &query in chunk {
            answers.push(view.query(query, QueryOptions::within(distance))?);
        }
    }
    Ok(answers)
}

fn together<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    threads: usize,
) -> Result<Vec<Vec<Match<F>>>> {
    let mut found = sweep::segments(view, queries, distance, threads)?;
    for (query, &fingerprint) in (0..).zip(queries) {
        let hits = pipeline::search_memtables(view, fingerprint, distance);
        found.extend(hits.into_iter().map(|Hit { fingerprint, source, .. }| Found {
            fingerprint,
            source,
            query,
        }));
    }
    with_ids(view, queries, found)
}

/// Makes answers of what was found: the ids of each fingerprint are read once, and in the order of
/// table 0.
fn with_ids<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    mut found: Vec<Found<F>>,
) -> Result<Vec<Vec<Match<F>>>> {
    found.sort_unstable();
    let mut answers = vec![Vec::new(); queries.len()];
    let (mut hits, mut askers) = (Vec::new(), Vec::new());
    let mut ids = StandingIds::new(view);
    for group in found.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
        hits.clear();
        hits.extend(group.chunk_by(|a, b| a.source == b.source).filter_map(|same| {
            let &Found { fingerprint, source, .. } = same.first()?;
            Some(Hit { distance: 0, fingerprint, source })
        }));
        askers.clear();
        askers.extend(group.iter().map(|found| found.query as usize));
        askers.sort_unstable();
        askers.dedup();
        let ids = ids.of(&hits, usize::MAX)?;
        let fingerprint = group[0].fingerprint;
        for &query in &askers {
            let distance = fingerprint.distance(queries[query]);
            answers[query].extend(ids.iter().map(|&id| Match { distance, fingerprint, id }));
        }
    }
    answers.iter_mut().for_each(|matches| matches.sort_unstable());
    Ok(answers)
}
