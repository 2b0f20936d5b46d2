//! Answering: which entries of a version are within a distance of a fingerprint.
//!
//! A query runs in stages over all tables of all segments at once: every probe is computed before
//! the first is made ([`pipeline`]), each match is reported by one table only, and ids are read for
//! matches alone.

mod batch;
mod explain;
mod ids;
mod near;
mod pipeline;
mod planner;
mod sweep;

pub use explain::{Explain, SegmentExplain};
pub(crate) use planner::Planner;

use crate::error::Result;
use crate::fingerprint::{DocId, Fingerprint, Match};
use crate::version::Version;

/// What a query asks for.
///
/// # Examples
///
/// ```
/// use fpdb::QueryOptions;
/// let options = QueryOptions::within(3).limit(10);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct QueryOptions {
    pub(crate) distance: u32,
    pub(crate) limit: Option<usize>,
}

impl QueryOptions {
    /// All matches at a distance up to and with `distance`, in bits. Any distance may be asked; up
    /// to the database's own it is fast, far beyond it becomes a scan.
    pub fn within(distance: u32) -> Self {
        Self { distance, limit: None }
    }

    /// At most `limit` matches: the nearest ones. Default: all. A group of equal fingerprints can
    /// be huge (empty pages, log-in pages); ids beyond the limit are not read.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// A version as a reader sees it: up to commit `seq`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a, F> {
    pub version: &'a Version<F>,
    pub seq: u64,
    pub planner: &'a Planner<F>,
}

impl<F: Fingerprint> View<'_, F> {
    /// All matches, sorted by distance, fingerprint, id; each once.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        self.query_permuted(&self.planner.permuted(fingerprint), options)
    }

    /// The same, for a fingerprint that is already in each table's bit order.
    pub(crate) fn query_permuted(
        &self,
        queries: &[F],
        options: QueryOptions,
    ) -> Result<Vec<Match<F>>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        self.matches(pipeline::search(self, queries, options.distance)?, limit)
    }

    /// The answers to several queries, in their order, found by up to so many threads.
    pub(crate) fn query_batch(
        &self,
        fingerprints: &[F],
        distance: u32,
        threads: usize,
    ) -> Result<Vec<Vec<Match<F>>>> {
        batch::query_batch(self, fingerprints, distance, threads)
    }

    /// The nearest match within `distance`; of several, the one of lowest fingerprint and id.
    ///
    /// Radii are tried from 0 up: a near match is found by few probes, and the sum of all radii
    /// costs little more than the last.
    pub(crate) fn nearest(&self, fingerprint: F, distance: u32) -> Result<Option<Match<F>>> {
        let mut radius = 0;
        loop {
            let options = QueryOptions::within(radius.min(distance)).limit(1);
            let found = self.query(fingerprint, options)?.pop();
            if found.is_some() || radius >= distance {
                return Ok(found);
            }
            radius = if radius == 0 { 1 } else { radius * 2 };
        }
    }

    /// The ids of a fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        let options = QueryOptions::within(0);
        Ok(self.query(fingerprint, options)?.into_iter().map(|m| m.id).collect())
    }
}

#[cfg(test)]
mod tests;
