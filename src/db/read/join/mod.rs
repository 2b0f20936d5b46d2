//! Joins: the entries of one snapshot that are near entries of another, or of a list. The other's
//! entries are read in batches, and each batch is answered in one pass over the tables.

mod batches;
mod other;
mod visitor;

use batches::Batches;
pub(crate) use other::Other;
pub use visitor::JoinReport;
pub(crate) use visitor::Visit;
use visitor::Visitor;

use crate::base::error::Result;
use crate::base::progress::{Meter, Phase};
use crate::db::read::reader::Reader;
use crate::fingerprint::Fingerprint;
use crate::query::{Batch, Within};

/// Memory for a join, unless set.
const MEMORY: u64 = 512 << 20;

/// How to join.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JoinOptions {
    pub(crate) within: Within,
    /// Bytes of memory for queries and answers.
    pub(crate) memory: u64,
    pub(crate) threads: usize,
    /// Whether only the nearest match of each entry is passed on.
    pub(crate) nearest: bool,
}

impl JoinOptions {
    pub(crate) fn new(within: Within, threads: usize) -> Self {
        Self { within, memory: MEMORY, threads, nearest: false }
    }
}

/// Passes the pairs of an entry of `reader` and one of `other` to `visit`.
pub(crate) fn join<F: Fingerprint>(
    reader: &Reader<F>,
    other: &Other<'_, F>,
    options: JoinOptions,
    visit: &mut Visit<'_, F>,
) -> Result<JoinReport> {
    let JoinOptions { within, memory, threads, nearest } = options;
    let meter = Meter::new(&reader.watch, Phase::Search, Some(other.len()));
    let mut visitor = Visitor::new(visit, reader.planner.distance(within), &meter);
    let mut batches = Batches::new(other.iter(), memory);
    while !visitor.is_stopped() && batches.read()? {
        let (queries, most) = (batches.queries(), batches.most_matches());
        let check = &|| meter.check();
        let batch = Batch { queries, within, nearest, most, threads, check };
        let Some(answers) = reader.answers(&batch)? else {
            batches.shrink();
            continue;
        };
        for (entries, matches) in batches.entries_of_queries().zip(answers.iter()) {
            visitor.add(entries, matches)?;
        }
        visitor.pass_on()?;
        meter.advance(batches.finish(answers.matches().len()) as u64)?;
    }
    meter.finish();
    Ok(visitor.into_report())
}

#[cfg(test)]
mod tests;
