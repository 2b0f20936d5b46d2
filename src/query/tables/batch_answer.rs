//! The answers to a batch of queries in a sweep.

use std::sync::{Mutex, PoisonError};

use super::hit::{Hit, Hits};
use super::ids::LiveIds;
use super::pipeline;
use super::sweep::{self, QueryHit, Tally};
use crate::base::error::Result;
use crate::base::parallel;
use crate::fingerprint::{DocId, Match, Word};
use crate::query::batch::{Answers, Batch};
use crate::query::options::Within;
use crate::query::view::View;

/// Hits whose ids are read together, and a few more with the same fingerprint.
const HITS: usize = 1024;

/// Queries for which a thread searches the memtables at a time.
const QUERIES: usize = 1024;

/// Returns whether this many queries are answered faster in a sweep than one by one.
pub(in crate::query) fn sweep_pays<F: Word>(
    view: &View<'_, F>,
    queries: usize,
    within: Within,
) -> bool {
    sweep::pays(view, queries, within)
}

/// Answers the queries of a batch in one sweep.
pub(in crate::query) fn sweep<F: Word>(
    view: &View<'_, F>,
    batch: &Batch<'_, F>,
) -> Result<Option<Answers<F>>> {
    let tally = Tally::new(batch.most);
    let mut hits = sweep::segments(view, batch, &tally)?;
    if view.version.memtables().any(|memtable| !memtable.is_empty()) {
        hits.append(&mut view.hits_in_memtables(batch, &tally)?);
    }
    if tally.is_full() {
        return Ok(None);
    }
    view.counters.count(|read| {
        let answers = answers(view, batch, hits)?;
        read.queries = answers.as_ref().map_or(0, Answers::len) as u64;
        read.matches = answers.as_ref().map_or(0, |answers| answers.matches().len()) as u64;
        Ok(answers)
    })
}

impl<F: Word> View<'_, F> {
    fn hits_in_memtables(&self, batch: &Batch<'_, F>, tally: &Tally) -> Result<Vec<QueryHit<F>>> {
        let found = Mutex::new(Vec::new());
        let parts = (0..).step_by(QUERIES).zip(batch.queries.chunks(QUERIES));
        let parts: Vec<(u32, &[F])> = parts.collect();
        parallel::for_each(batch.threads, parts.into_iter(), Vec::new, |own, (first, queries)| {
            (batch.check)()?;
            for (query, &fingerprint) in (first..).zip(queries) {
                if tally.is_full() {
                    break;
                }
                let mut hits = Hits::new(Hit::NONE);
                pipeline::search_memtables(self, fingerprint, batch.within, &mut hits);
                let of_query =
                    |&Hit { fingerprint, source, .. }| QueryHit { fingerprint, source, query };
                own.extend(hits.as_slice().iter().map(of_query));
                tally.add(hits.len());
            }
            found.lock().unwrap_or_else(PoisonError::into_inner).append(own);
            Ok(())
        })?;
        Ok(found.into_inner().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The live ids of each fingerprint that was found.
struct IdGroups {
    /// Where the ids of each group begin, and the end of the last one's.
    offsets: Vec<usize>,
    ids: Vec<DocId>,
}

impl IdGroups {
    fn of(&self, group: usize) -> &[DocId] {
        &self.ids[self.offsets[group]..self.offsets[group + 1]]
    }
}

/// Turns hits into answers.
fn answers<F: Word>(
    view: &View<'_, F>,
    batch: &Batch<'_, F>,
    mut hits: Vec<QueryHit<F>>,
) -> Result<Option<Answers<F>>> {
    hits.sort_unstable();
    let groups = read_ids(view, batch, &mut hits)?;
    // Several segments may have the fingerprint.
    hits.dedup();
    let mut offsets = vec![0; batch.queries.len() + 1];
    for hit in &hits {
        offsets[hit.query as usize + 1] += groups.of(hit.source).len();
    }
    let mut total = 0;
    for offset in &mut offsets {
        total += *offset;
        *offset = total;
    }
    if total > batch.most {
        return Ok(None);
    }
    let mut next = offsets.clone();
    let none = Match { distance: 0, fingerprint: F::ZERO, id: DocId(0) };
    let mut matches = vec![none; total];
    for &QueryHit { fingerprint, source, query } in &hits {
        let next = &mut next[query as usize];
        let distance = fingerprint.distance(batch.queries[query as usize]);
        for &id in groups.of(source) {
            matches[*next] = Match { distance, fingerprint, id };
            *next += 1;
        }
    }
    let mut answers = Answers::of_unsorted(offsets, matches);
    if batch.nearest {
        answers.keep_nearest();
    }
    Ok(Some(answers))
}

/// Reads the ids of each fingerprint once, in the order of table 0. Replaces the source of each hit
/// by the number of its fingerprint's group, and sorts the hits of each group by query.
fn read_ids<F: Word>(
    view: &View<'_, F>,
    batch: &Batch<'_, F>,
    all_hits: &mut [QueryHit<F>],
) -> Result<IdGroups> {
    let limit = if batch.nearest { 1 } else { usize::MAX };
    let mut groups = IdGroups { offsets: vec![0], ids: Vec::new() };
    let (mut hits, mut documents) = (Vec::new(), Vec::new());
    let (mut renewed, mut rest) = (None, all_hits);
    while !rest.is_empty() {
        (batch.check)()?;
        let version = renewed.as_ref().unwrap_or(view.version);
        if version.is_spent() {
            renewed = version.renewed().ok();
        }
        let view = View { version: renewed.as_ref().unwrap_or(view.version), ..*view };
        let mut ids = LiveIds::new(&view);
        let end = end_of_groups(rest);
        let (some, others) = std::mem::take(&mut rest).split_at_mut(end);
        rest = others;
        hits.clear();
        hits.extend(some.chunk_by(is_same_hit).filter_map(|same| {
            let &QueryHit { fingerprint, source, .. } = same.first()?;
            Some(Hit::new(0, fingerprint, source))
        }));
        documents.clear();
        ids.read(&hits, limit, |hit, id| (hit.fingerprint, id), &mut documents)?;
        let mut documents = &*documents;
        for group in some.chunk_by_mut(|a, b| a.fingerprint == b.fingerprint) {
            let fingerprint = group[0].fingerprint;
            let count = documents.iter().take_while(|(f, _)| *f == fingerprint).count();
            let (own, others) = documents.split_at(count);
            documents = others;
            let number = groups.offsets.len() - 1;
            group.iter_mut().for_each(|hit| hit.source = number);
            group.sort_unstable_by_key(|hit| hit.query);
            groups.ids.extend(own.iter().map(|&(_, id)| id));
            groups.offsets.push(groups.ids.len());
        }
    }
    Ok(groups)
}

/// Returns the end of the first [`HITS`] hits, and of those with the fingerprint of the last one.
fn end_of_groups<F: Word>(hits: &[QueryHit<F>]) -> usize {
    let Some(last) = hits.get(HITS - 1) else { return hits.len() };
    HITS + hits[HITS..].partition_point(|hit| hit.fingerprint <= last.fingerprint)
}

fn is_same_hit<F: Word>(a: &QueryHit<F>, b: &QueryHit<F>) -> bool {
    (a.fingerprint, a.source) == (b.fingerprint, b.source)
}
