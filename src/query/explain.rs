//! How a query is answered, and what it reads.

use super::counters::{Counters, QueryStats};
use super::options::QueryOptions;
use super::view::View;
use crate::base::error::Result;
use crate::fingerprint::{Fingerprint, Match};

/// The plan of one query, what it read and its matches; see
/// [`Snapshot::explain`](crate::Snapshot::explain).
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Explanation<F = u64> {
    /// The matches, as [`Snapshot::query`](crate::Snapshot::query) returns them.
    pub matches: Vec<Match<F>>,
    /// How each segment was searched, oldest first.
    pub segments: Vec<PlannedSegment>,
    /// What was read.
    pub read: QueryStats,
}

/// How a query searches a segment.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedSegment {
    /// The number of the segment.
    pub segment: u64,
    /// Number of its fingerprints, or of its original documents with sketches.
    pub fingerprints: u64,
    /// The tables that are searched. If there is none, everything is compared: a scan.
    pub tables: Vec<PlannedTable>,
}

/// How a query searches a table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct PlannedTable {
    /// Its number in the layout, or the number of the band.
    pub table: usize,
    /// Number of prefixes to look up.
    pub lookups: usize,
    /// Bits of the shortest of these.
    pub shortest: u32,
    /// Bits of the longest.
    pub longest: u32,
    /// The most bits that are flipped in one.
    pub flips: u32,
}

impl<F: Fingerprint> View<'_, F> {
    /// Answers a query, and says how.
    pub(crate) fn explain(&self, fingerprint: F, options: QueryOptions) -> Result<Explanation<F>> {
        let counters = Counters::default();
        let matches = View { counters: &counters, ..*self }.query(fingerprint, options);
        let read = counters.sum();
        self.counters.add(&read);
        Ok(Explanation { matches: matches?, segments: self.plan(options.within), read })
    }
}
