//! Many queries at once: one by one, or together in a sweep.

use super::ids::LiveIds;
use super::pipeline::{self, Hit, Hits};
use super::sweep::{self, QueryHit};
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Match};

/// Most queries that are answered together. Besides the answers, a million queries take some 40 MiB
/// at 64 bits and 70 MiB at 128: the queries in one table's bit order, and the hits.
pub(crate) const BATCH: usize = 1 << 20;

/// Hits whose ids are read together, and a few more with the same fingerprint.
const HITS: usize = 1024;

impl<F: Fingerprint> View<'_, F> {
    /// Returns whether this many queries are answered faster in a [sweep](Self::sweep) than one by
    /// one.
    pub(crate) fn sweep_pays(&self, queries: usize, distance: u32) -> bool {
        sweep::pays(self, queries, distance)
    }

    /// Answers up to [`BATCH`] queries, in their order, in one sweep with up to `threads` threads.
    pub(crate) fn sweep(
        &self,
        queries: &[F],
        distance: u32,
        threads: usize,
    ) -> Result<Vec<Vec<Match<F>>>> {
        let mut all_hits = sweep::segments(self, queries, distance, threads)?;
        for (query, &fingerprint) in (0..).zip(queries) {
            let mut hits = Hits::new(Hit::NONE);
            pipeline::search_memtables(self, fingerprint, distance, &mut hits);
            let of_query =
                |&Hit { fingerprint, source, .. }| QueryHit { fingerprint, source, query };
            all_hits.extend(hits.as_slice().iter().map(of_query));
        }
        with_ids(self, queries, all_hits)
    }
}

/// Turns hits into answers. The ids of each fingerprint are read once, in the order of table 0.
fn with_ids<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    mut all_hits: Vec<QueryHit<F>>,
) -> Result<Vec<Vec<Match<F>>>> {
    all_hits.sort_unstable();
    let mut answers = vec![Vec::new(); queries.len()];
    let (mut hits, mut numbers, mut documents) = (Vec::new(), Vec::new(), Vec::new());
    let (mut renewed, mut rest) = (None, &*all_hits);
    while !rest.is_empty() {
        if view.version.pages.is_exceeded() {
            drop(renewed.take());
            renewed = view.version.renewed().ok();
            view.version.pages.accept_rest();
        }
        let view = View { version: renewed.as_ref().unwrap_or(view.version), ..*view };
        let mut ids = LiveIds::new(&view);
        let (some, others) = rest.split_at(end_of_groups(rest));
        rest = others;
        hits.clear();
        hits.extend(some.chunk_by(is_same_hit).filter_map(|same| {
            let &QueryHit { fingerprint, source, .. } = same.first()?;
            Some(Hit::new(0, fingerprint, source))
        }));
        documents.clear();
        ids.read(&hits, usize::MAX, |hit, id| (hit.fingerprint, id), &mut documents)?;
        let mut documents = &*documents;
        for group in some.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
            let fingerprint = group[0].fingerprint;
            let count = documents.iter().take_while(|(f, _)| *f == fingerprint).count();
            let (own, others) = documents.split_at(count);
            documents = others;
            numbers.clear();
            numbers.extend(group.iter().map(|hit| hit.query as usize));
            numbers.sort_unstable();
            numbers.dedup();
            for &query in &numbers {
                let distance = fingerprint.distance(queries[query]);
                answers[query].extend(own.iter().map(|&(_, id)| Match {
                    distance,
                    fingerprint,
                    id,
                }));
            }
        }
    }
    answers.iter_mut().for_each(|matches| matches.sort_unstable());
    Ok(answers)
}

/// Returns the end of the first [`HITS`] hits, and of those with the fingerprint of the last one.
fn end_of_groups<F: Fingerprint>(hits: &[QueryHit<F>]) -> usize {
    let Some(last) = hits.get(HITS - 1) else { return hits.len() };
    HITS + hits[HITS..].partition_point(|hit| hit.fingerprint <= last.fingerprint)
}

fn is_same_hit<F: Fingerprint>(a: &QueryHit<F>, b: &QueryHit<F>) -> bool {
    (a.fingerprint, a.source) == (b.fingerprint, b.source)
}
