//! What a reader searches.

use super::counters::Counters;
use super::planner::Planner;
use crate::fingerprint::Fingerprint;
use crate::store::version::Version;

/// A version as a reader sees it: all commits up to and including `seq`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a, F: Fingerprint> {
    pub version: &'a Version<F>,
    pub seq: u64,
    pub planner: &'a Planner,
    /// Counts what the queries read.
    pub counters: &'a Counters,
}

impl<'a, F: Fingerprint> View<'a, F> {
    /// Returns a view whose queries are counted with all others.
    #[inline]
    pub(crate) fn new(version: &'a Version<F>, seq: u64, planner: &'a Planner) -> Self {
        Self { version, seq, planner, counters: planner.counters() }
    }
}
