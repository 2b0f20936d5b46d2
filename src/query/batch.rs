//! Many queries at once: one by one, or together in a sweep.

use super::ids::LiveIds;
use super::options::QueryOptions;
use super::pipeline::{self, Hit, Hits};
use super::sweep::{self, QueryHit};
use super::view::View;
use crate::error::Result;
use crate::fingerprint::{Fingerprint, Match};

/// Most queries that are answered together. Besides the answers, a million queries take some 40 MiB
/// at 64 bits and 70 MiB at 128: the queries in one table's bit order, and the hits.
const CHUNK: usize = 1 << 20;

/// Searches of a block for hits before it is decoded. The hits of a batch are spread over the table.
const SEARCHES: u32 = 3;

impl<F: Fingerprint> View<'_, F> {
    /// Answers several queries, in their order, with up to `threads` threads.
    pub(crate) fn query_batch(
        &self,
        queries: &[F],
        distance: u32,
        threads: usize,
    ) -> Result<Vec<Vec<Match<F>>>> {
        let mut answers = Vec::with_capacity(queries.len());
        for chunk in queries.chunks(CHUNK) {
            if sweep::pays(self, chunk.len(), distance) {
                answers.append(&mut sweep_all(self, chunk, distance, threads)?);
                continue;
            }
            for &query in chunk {
                answers.push(self.query(query, QueryOptions::within(distance))?);
            }
        }
        Ok(answers)
    }
}

/// Answers the queries in one sweep.
fn sweep_all<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    distance: u32,
    threads: usize,
) -> Result<Vec<Vec<Match<F>>>> {
    let mut all_hits = sweep::segments(view, queries, distance, threads)?;
    for (query, &fingerprint) in (0..).zip(queries) {
        let mut hits = Hits::new(Hit::NONE);
        pipeline::search_memtables(view, fingerprint, distance, &mut hits);
        let of_query = |&Hit { fingerprint, source, .. }| QueryHit { fingerprint, source, query };
        all_hits.extend(hits.as_slice().iter().map(of_query));
    }
    with_ids(view, queries, all_hits)
}

/// Turns hits into answers. The ids of each fingerprint are read once, in the order of table 0.
fn with_ids<F: Fingerprint>(
    view: &View<'_, F>,
    queries: &[F],
    mut all_hits: Vec<QueryHit<F>>,
) -> Result<Vec<Vec<Match<F>>>> {
    all_hits.sort_unstable();
    let mut answers = vec![Vec::new(); queries.len()];
    let (mut hits, mut numbers) = (Vec::new(), Vec::new());
    let (mut ids, mut documents) = (LiveIds::new(view, SEARCHES), Vec::new());
    for group in all_hits.chunk_by(|a, b| a.fingerprint == b.fingerprint) {
        hits.clear();
        hits.extend(group.chunk_by(|a, b| a.source == b.source).filter_map(|same| {
            let &QueryHit { fingerprint, source, .. } = same.first()?;
            Some(Hit { distance: 0, fingerprint, source })
        }));
        numbers.clear();
        numbers.extend(group.iter().map(|hit| hit.query as usize));
        numbers.sort_unstable();
        numbers.dedup();
        documents.clear();
        ids.read(&hits, usize::MAX, |id| id, &mut documents)?;
        let fingerprint = group[0].fingerprint;
        for &query in &numbers {
            let distance = fingerprint.distance(queries[query]);
            answers[query].extend(documents.iter().map(|&id| Match { distance, fingerprint, id }));
        }
    }
    answers.iter_mut().for_each(|matches| matches.sort_unstable());
    Ok(answers)
}
