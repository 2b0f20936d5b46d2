//! The fingerprints of all sources in one bit order, part by part.

use super::source::{RowReader, RowSource};
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::layout::{Permutation, Prefix};
use crate::version::Version;

/// The live fingerprints of a version in the bit order of one table.
#[derive(Debug)]
pub(super) struct Rows<'a, F> {
    /// Those of each segment.
    segments: Vec<RowSource<'a, F>>,
    /// The fingerprints in memtables, ascending.
    recent: Vec<F>,
    /// Fingerprints in `segments` that have no live entry, ascending.
    gone: Vec<F>,
}

/// Reads the segments of [`Rows`].
pub(super) type Readers<'a, F> = Vec<RowReader<'a, F>>;

impl<'a, F: Fingerprint> Rows<'a, F> {
    /// Takes the fingerprints of memtables and those to leave out unpermuted.
    pub(super) fn new(
        version: &'a Version<F>,
        table: usize,
        order: &Permutation<F>,
        recent: &[F],
        gone: &[F],
    ) -> Self {
        let permuted = |fingerprints: &[F]| {
            let mut rows: Vec<F> = fingerprints.iter().map(|&f| order.apply(f)).collect();
            rows.sort_unstable();
            rows
        };
        let source = |segment| RowSource::of(segment, table, order);
        let segments = version.segments.iter().filter_map(|segment| source(segment)).collect();
        Self { segments, recent: permuted(recent), gone: permuted(gone) }
    }

    pub(super) fn readers(&self) -> Readers<'a, F> {
        self.segments.iter().map(RowSource::reader).collect()
    }

    /// Returns a number of rows below which [`most`](Self::most) says nothing: the rows of a few
    /// blocks per segment.
    pub(super) fn least_known(&self) -> u64 {
        4 * self.segments.iter().map(|segment| segment.in_block() + 1).sum::<u64>()
    }

    /// Returns the length of the longest prefix that [`most`](Self::most) tells apart.
    pub(super) fn resolution(&self) -> u32 {
        self.segments.iter().map(RowSource::resolution).min().unwrap_or(F::BITS)
    }

    /// Returns about how many fingerprints have this prefix, and never too few.
    pub(super) fn most(&self, prefix: Prefix<F>) -> Result<u64> {
        let recent = self.recent_between(prefix.low(), prefix.high()).len() as u64;
        self.segments.iter().try_fold(recent, |most, segment| Ok(most + segment.most(prefix)?))
    }

    /// Replaces `rows` by the live fingerprints with this prefix, ascending.
    pub(super) fn load(
        &self,
        prefix: Prefix<F>,
        readers: &mut Readers<'a, F>,
        rows: &mut Vec<F>,
    ) -> Result<()> {
        let (low, high) = (prefix.low(), prefix.high());
        rows.clear();
        for (segment, reader) in self.segments.iter().zip(readers) {
            segment.load(prefix, reader, rows)?;
        }
        let recent = self.recent_between(low, high);
        rows.extend_from_slice(recent);
        if self.segments.len() > 1 || !recent.is_empty() {
            // The sort is fast for a few ascending runs.
            rows.sort();
            rows.dedup();
        }
        self.leave_out_gone(low, rows);
        Ok(())
    }

    fn recent_between(&self, low: F, high: F) -> &[F] {
        let from = self.recent.partition_point(|&row| row < low);
        let to = self.recent.partition_point(|&row| row <= high);
        self.recent.get(from..to).unwrap_or_default()
    }

    fn leave_out_gone(&self, low: F, rows: &mut Vec<F>) {
        let from = self.gone.partition_point(|&row| row < low);
        let mut gone = self.gone[from..].iter().copied().peekable();
        if gone.peek().is_some() {
            rows.retain(|&row| {
                while gone.next_if(|&gone| gone < row).is_some() {}
                gone.peek() != Some(&row)
            });
        }
    }
}
