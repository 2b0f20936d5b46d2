//! The nearest match of each query of a batch.

use super::batch::{Answers, BATCH, Batch};
use super::options::{QueryOptions, Within};
use super::view::View;
use crate::base::error::Result;
use crate::base::parallel;
use crate::fingerprint::{Fingerprint, Match};
use crate::store::version::InParts;

/// Matches per query, on average, up to which the nearest ones are searched for in a sweep. It
/// keeps all matches in memory.
const MATCHES: usize = 8;

/// Queries that a thread answers one by one before it takes more. Starting the thread takes less
/// time than they do.
const ONE_BY_ONE: usize = 64;

impl<F: Fingerprint> View<'_, F> {
    /// Returns the nearest match of each query: in one sweep, if it pays and each query has few
    /// matches.
    pub(crate) fn nearest_of_each(
        &self,
        queries: &[F],
        within: Within,
        threads: usize,
    ) -> Result<Vec<Option<Match<F>>>> {
        let options = QueryOptions::within(within).limit(1);
        let mut nearest = Vec::with_capacity(queries.len());
        for queries in queries.chunks(BATCH) {
            let (most, check) = (MATCHES * queries.len(), &|| Ok(()));
            let batch = Batch { queries, within, nearest: true, most, threads, check };
            let pays = self.sweep_pays(queries.len(), within);
            if let Some(answers) = if pays { self.sweep(&batch)? } else { None } {
                nearest.extend(answers.iter().map(|matches| matches.first().copied()));
                continue;
            }
            nearest.extend(self.nearest_one_by_one(queries, options, threads)?);
        }
        Ok(nearest)
    }

    /// Returns the first match of each query.
    fn nearest_one_by_one(
        &self,
        queries: &[F],
        options: QueryOptions,
        threads: usize,
    ) -> Result<Vec<Option<Match<F>>>> {
        let mut nearest = vec![None; queries.len()];
        let parts = queries.chunks(ONE_BY_ONE).zip(nearest.chunks_mut(ONE_BY_ONE));
        let state = || InParts::new(self.version);
        parallel::for_each(threads, parts, state, |in_parts, (queries, nearest)| {
            let (view, mut answers) = (View { version: in_parts.get(), ..*self }, Answers::new());
            view.query_each(queries, options, usize::MAX, &mut answers)?;
            let first = answers.iter().map(|matches| matches.first().copied());
            nearest.iter_mut().zip(first).for_each(|(nearest, first)| *nearest = first);
            Ok(())
        })?;
        Ok(nearest)
    }
}
