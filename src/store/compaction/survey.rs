//! The pass of a compaction over inputs with removals: finds out what will be left of them.

use crate::fingerprint::{Entry, Word};
use crate::store::merge::Merged;

/// What will be left of the inputs of a compaction, and what goes.
#[derive(Debug)]
pub(super) struct Survey<F> {
    /// Fingerprints in an input's tables that have no entry left, ascending.
    pub(super) gone: Vec<F>,
    /// Tombstones that the output keeps, ascending.
    pub(super) tombstones: Vec<Entry<F>>,
    /// Entries of the output.
    pub(super) entries: u64,
}

impl<F: Word> Survey<F> {
    /// Creates the survey of inputs that lose nothing.
    pub(super) fn without_removals(entries: u64) -> Self {
        Self { gone: Vec::new(), tombstones: Vec::new(), entries }
    }

    /// Whether nothing is left to write.
    pub(super) fn is_empty(&self) -> bool {
        self.entries == 0 && self.tombstones.is_empty()
    }
}

/// Fills a survey from merged entries, which it takes one after another in ascending order.
#[derive(Debug)]
pub(super) struct Surveyor<F> {
    survey: Survey<F>,
    /// Whether no older segment exists, so that the output needs no tombstones.
    is_oldest: bool,
    /// The fingerprint of the last entries.
    fingerprint: F,
    /// Whether this fingerprint has an entry left.
    is_left: bool,
    /// Whether an input has a row for it.
    is_held: bool,
}

impl<F: Word> Surveyor<F> {
    pub(super) fn new(is_oldest: bool) -> Self {
        let survey = Survey::without_removals(0);
        Self { survey, is_oldest, fingerprint: F::ZERO, is_left: false, is_held: false }
    }

    /// Takes the next entry.
    pub(super) fn add(&mut self, merged: &Merged<F>) {
        if merged.entry.fingerprint != self.fingerprint {
            self.end_fingerprint();
        }
        self.fingerprint = merged.entry.fingerprint;
        self.is_held |= merged.held;
        self.is_left |= merged.net.inserted;
        self.survey.entries += u64::from(merged.net.inserted);
        if merged.net.removes_older && !self.is_oldest {
            self.survey.tombstones.push(merged.entry);
        }
    }

    /// Ends the pass.
    pub(super) fn finish(mut self) -> Survey<F> {
        self.end_fingerprint();
        self.survey
    }

    fn end_fingerprint(&mut self) {
        if self.is_held && !self.is_left {
            self.survey.gone.push(self.fingerprint);
        }
        (self.is_left, self.is_held) = (false, false);
    }
}
