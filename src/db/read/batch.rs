//! Answers a batch of queries: in one sweep, or one by one.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::base::error::Result;
use crate::base::parallel;
use crate::db::read::reader::Reader;
use crate::fingerprint::Fingerprint;
use crate::query::{Answers, Batch, QueryOptions};

/// Queries that a thread answers before it takes more. Starting the thread takes less time than
/// they do.
const QUERIES: usize = 256;

/// Queries that a thread answers before it checks whether the batch has ended.
const TOGETHER: usize = 64;

impl<F: Fingerprint> Reader<F> {
    /// Answers the queries in the way that is predicted to be faster. Returns `None` if more is
    /// found than the batch allows.
    pub(crate) fn answers(&self, batch: &Batch<'_, F>) -> Result<Option<Answers<F>>> {
        if self.read(|view| view.sweep_pays(batch.queries.len(), batch.within)) {
            return self.read(|view| view.sweep(batch));
        }
        self.answers_one_by_one(batch)
    }

    fn answers_one_by_one(&self, batch: &Batch<'_, F>) -> Result<Option<Answers<F>>> {
        let options = QueryOptions::within(batch.within);
        let options = if batch.nearest { options.limit(1) } else { options };
        let (matches, is_full) = (AtomicUsize::new(0), AtomicBool::new(false));
        let chunks = batch.queries.chunks(QUERIES);
        let mut parts: Vec<_> = chunks.clone().map(|_| Answers::new()).collect();
        parallel::for_each(
            batch.threads,
            chunks.zip(&mut parts),
            || (),
            |(), (queries, part)| {
                for queries in queries.chunks(TOGETHER) {
                    (batch.check)()?;
                    if is_full.load(Ordering::Relaxed) {
                        return Ok(());
                    }
                    let before = part.matches().len();
                    let is_within =
                        self.read(|view| view.query_each(queries, options, batch.most, part))?;
                    let found = part.matches().len() - before;
                    let all = matches.fetch_add(found, Ordering::Relaxed) + found;
                    if !is_within || all > batch.most {
                        is_full.store(true, Ordering::Relaxed);
                    }
                }
                Ok(())
            },
        )?;
        if is_full.into_inner() {
            return Ok(None);
        }
        let mut answers = Answers::new();
        parts.iter().for_each(|part| answers.append(part));
        Ok(Some(answers))
    }
}
