//! Reads entries in batches whose size follows the memory and the number of matches.

use crate::base::error::Result;
use crate::fingerprint::{Entry, Fingerprint, Match};

/// Entries of the first batch. How many matches there are is not known before.
const FIRST: usize = if cfg!(test) { 1 << 4 } else { 1 << 20 };

/// Most entries of a batch. Larger ones are hardly faster.
const MAX_ENTRIES: usize = 1 << 24;

/// How much larger than the last one a batch may be.
const GROWTH: usize = 4;

type Entries<'a, F> = dyn Iterator<Item = Result<Entry<F>>> + 'a;

/// The batches of entries. All ids of a fingerprint share its answer, unless they are in
/// several batches.
pub(super) struct Batches<'a, F> {
    /// Sorted.
    entries: Box<Entries<'a, F>>,
    /// What was read. A batch that was too large is finished in several smaller ones.
    read: Vec<Entry<F>>,
    /// How many of them are finished.
    finished: usize,
    /// The fingerprints of the batch, each once.
    queries: Vec<F>,
    /// Entries of a batch.
    size: usize,
    most_entries: usize,
    most_matches: usize,
}

impl<'a, F: Fingerprint> Batches<'a, F> {
    /// Half of `memory` is for the entries, and half for the matches.
    pub(super) fn new(entries: Box<Entries<'a, F>>, memory: u64) -> Self {
        // The fingerprint, its place in the answers, and in a table's bit order with its number.
        let entry = size_of::<Entry<F>>() + 3 * size_of::<F>() + 2 * size_of::<usize>();
        // The hit, which is as large as a match, and the id.
        let found = 2 * size_of::<Match<F>>() + size_of::<u64>();
        let half = usize::try_from(memory / 2).unwrap_or(usize::MAX);
        let most_entries = (half / entry).clamp(1, MAX_ENTRIES);
        Self {
            entries,
            read: Vec::new(),
            finished: 0,
            queries: Vec::new(),
            size: FIRST.min(most_entries),
            most_entries,
            most_matches: half / found,
        }
    }

    /// Reads the next batch. Returns false at the end.
    pub(super) fn read(&mut self) -> Result<bool> {
        if self.read.len() - self.finished < self.size {
            self.read.drain(..self.finished);
            self.finished = 0;
        }
        while self.read.len() - self.finished < self.size {
            let Some(entry) = self.entries.next() else { break };
            self.read.push(entry?);
        }
        let mut queries = std::mem::take(&mut self.queries);
        queries.clear();
        queries.extend(self.entries().iter().map(|entry| entry.fingerprint));
        queries.dedup();
        self.queries = queries;
        Ok(!self.queries.is_empty())
    }

    fn entries(&self) -> &[Entry<F>] {
        let rest = &self.read[self.finished..];
        &rest[..rest.len().min(self.size)]
    }

    pub(super) fn queries(&self) -> &[F] {
        &self.queries
    }

    /// Returns the entries that have each of the batch's fingerprints.
    pub(super) fn entries_of_queries(&self) -> impl Iterator<Item = &[Entry<F>]> {
        self.entries().chunk_by(|a, b| a.fingerprint == b.fingerprint)
    }

    /// Returns how many matches fit in memory. A single query cannot be divided.
    pub(super) fn most_matches(&self) -> usize {
        if self.queries.len() == 1 { usize::MAX } else { self.most_matches }
    }

    /// Makes the batch smaller, because it has too many matches.
    pub(super) fn shrink(&mut self) {
        self.size = (self.entries().len() / GROWTH).max(1);
    }

    /// Ends the batch. Returns the number of its entries. The next one is as large as memory
    /// permits if there are twice as many matches per entry.
    pub(super) fn finish(&mut self, matches: usize) -> usize {
        let done = self.entries().len();
        self.finished += done;
        let fitting = (self.most_matches as u128 * done as u128) / (2 * matches.max(1) as u128);
        let fitting = usize::try_from(fitting).unwrap_or(usize::MAX);
        self.size = fitting.min(self.size * GROWTH).clamp(1, self.most_entries);
        done
    }
}
