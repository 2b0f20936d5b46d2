//! Queries: what they ask for, and what [`Snapshot::explain`](crate::Snapshot::explain) reports
//! about one.
//!
//! A query is answered step by step, over all tables of all segments at once. It plans its probes,
//! checks them against the prefix filters, finds the blocks that they lead to, and decodes and
//! compares what the blocks hold. Each match is reported by exactly one table, and ids are read for
//! matches only. A batch of queries is answered in one sweep over the tables, where that is cheaper.
//!
//! | type | what it is |
//! | --- | --- |
//! | [`QueryOptions`] | the distance and the limit of a query |
//! | [`Explain`] | what a query did, counted and timed step by step |
//! | [`SegmentExplain`] | what a query did in one segment |

// Submodules: `planner` (plans, made once), `pipeline` (one query), `near` (comparing), `ids` (from
// hits to answers), `batch` and `sweep` (many queries), `explain` (measuring one query).

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

/// The distance and the limit of a query.
///
/// # Examples
///
/// ```
/// use fpdb::{Db, QueryOptions};
///
/// let folder = tempfile::tempdir()?;
/// let db = Db::options().create(folder.path().join("crawl.fpdb"))?;
/// for (id, fingerprint) in (0..).zip([0b0000, 0b0001, 0b0011, 0b0111]) {
///     db.insert(fingerprint, id)?;
/// }
/// let nearest = db.query(0b0000, &QueryOptions::within(2).limit(2))?;
/// assert_eq!(nearest.iter().map(|m| m.distance).collect::<Vec<_>>(), [0, 1]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub struct QueryOptions {
    pub(crate) distance: u32,
    pub(crate) limit: Option<usize>,
}

impl QueryOptions {
    /// Finds all matches within `distance`: entries whose fingerprint differs from the query's in at
    /// most `distance` bits, inclusive.
    ///
    /// Any distance is allowed and answered exactly. Up to the database's maximum distance, queries
    /// are fast. Beyond it they take longer with every bit, until the database is scanned.
    pub fn within(distance: u32) -> Self {
        Self { distance, limit: None }
    }

    /// Returns at most `limit` matches: the nearest ones, and at equal distances those of lower
    /// fingerprint and id. Without a limit, all matches are returned.
    ///
    /// Very many documents can have the same fingerprint (empty pages, log-in pages). Ids beyond the
    /// limit are not read.
    pub fn limit(self, limit: usize) -> Self {
        Self { limit: Some(limit), ..self }
    }
}

/// A version as a reader sees it: all commits up to and including `seq`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a, F> {
    pub version: &'a Version<F>,
    pub seq: u64,
    pub planner: &'a Planner<F>,
}

impl<F: Fingerprint> View<'_, F> {
    /// Returns all matches, each once, sorted by distance, fingerprint, id.
    pub(crate) fn query(&self, fingerprint: F, options: QueryOptions) -> Result<Vec<Match<F>>> {
        self.query_permuted(&self.planner.permuted(fingerprint), options)
    }

    /// Does the same for a fingerprint that is already in each table's bit order.
    pub(crate) fn query_permuted(
        &self,
        queries: &[F],
        options: QueryOptions,
    ) -> Result<Vec<Match<F>>> {
        let limit = options.limit.unwrap_or(usize::MAX);
        self.matches(pipeline::search(self, queries, options.distance)?, limit)
    }

    /// Answers several queries, in their order, with up to `threads` threads.
    pub(crate) fn query_batch(
        &self,
        fingerprints: &[F],
        distance: u32,
        threads: usize,
    ) -> Result<Vec<Vec<Match<F>>>> {
        batch::query_batch(self, fingerprints, distance, threads)
    }

    /// Returns the nearest match within `distance`. Of several, it is the one with the lowest
    /// fingerprint and id.
    ///
    /// Radii are tried from 0 up: few probes find a near match, and all radii together cost little
    /// more than the last one.
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

    /// Returns the ids of a fingerprint, ascending.
    pub(crate) fn ids(&self, fingerprint: F) -> Result<Vec<DocId>> {
        let options = QueryOptions::within(0);
        Ok(self.query(fingerprint, options)?.into_iter().map(|m| m.id).collect())
    }
}

#[cfg(test)]
mod tests;
