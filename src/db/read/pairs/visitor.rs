//! Passes what is found to the caller's function.

use std::ops::ControlFlow;
use std::sync::{Mutex, PoisonError};

use super::found::{Found, Pair, PairsReport};
use crate::base::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::query::tables::pairs::Report;

/// Pairs that are passed on at a time, at most.
pub(super) const PAIRS: usize = 1 << 14;

/// What takes the results of a search. Any thread may call it.
pub(super) struct Sink<'a, F> {
    /// Gets a fingerprint, the ids of a group or of a part of it, and how many were in parts
    /// before.
    pub(super) group: &'a Group<'a, F>,
    pub(super) pairs: Report<'a, F>,
    /// Gets the entries of two fingerprints that match, and their distance.
    pub(super) between: &'a Between<'a, F>,
}

type Group<'a, F> = dyn Fn(F, &[DocId], u64) -> Result<()> + Sync + 'a;

type Between<'a, F> = dyn Fn(&[Entry<F>], &[Entry<F>], u32) -> Result<()> + Sync + 'a;

/// The caller's function, and what was passed to it.
pub(super) struct Visitor<'a, 'v, F>(Mutex<Visits<'a, 'v, F>>);

/// The caller's function.
pub(crate) type Visit<'v, F> = dyn FnMut(Found<'_, F>) -> ControlFlow<()> + Send + 'v;

struct Visits<'a, 'v, F> {
    visit: &'a mut Visit<'v, F>,
    pairs: Vec<u64>,
    groups: u64,
    is_stopped: bool,
}

impl<'a, 'v, F: Fingerprint> Visitor<'a, 'v, F> {
    pub(super) fn new(visit: &'a mut Visit<'v, F>, distance: u32) -> Self {
        let pairs = vec![0; distance.min(F::BITS) as usize + 1];
        Self(Mutex::new(Visits { visit, pairs, groups: 0, is_stopped: false }))
    }

    fn visit(&self, found: Found<'_, F>, count: impl FnOnce(&mut Visits<'a, 'v, F>)) {
        let mut visits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        count(&mut visits);
        visits.is_stopped |= (visits.visit)(found).is_break();
    }

    pub(super) fn group(&self, fingerprint: F, ids: &[DocId]) -> Result<()> {
        self.visit(Found::Group { fingerprint, ids }, |visits| visits.groups += 1);
        Ok(())
    }

    /// Passes on all pairs of a group.
    pub(super) fn all_of_group(&self, fingerprint: F, ids: &[DocId]) -> Result<()> {
        let mut some = Vec::new();
        let entry = |&id| Entry { fingerprint, id };
        for (position, a) in ids.iter().enumerate() {
            for b in &ids[position + 1..] {
                self.push(&mut some, Pair { a: entry(a), b: entry(b), distance: 0 });
            }
        }
        self.pairs(&some);
        Ok(())
    }

    pub(super) fn pairs(&self, pairs: &[Pair<F>]) {
        if !pairs.is_empty() {
            self.visit(Found::Pairs(pairs), |visits| {
                pairs.iter().for_each(|pair| visits.pairs[pair.distance as usize] += 1);
            });
        }
    }

    /// Passes on the pairs between the entries of two fingerprints: all, or one.
    pub(super) fn between(&self, a: &[Entry<F>], b: &[Entry<F>], distance: u32, all: bool) {
        let limit = if all { usize::MAX } else { 1 };
        let mut some = Vec::new();
        for &a in a.iter().take(limit) {
            for &b in b.iter().take(limit) {
                self.push(&mut some, Pair { a, b, distance });
            }
        }
        self.pairs(&some);
    }

    /// Adds a pair to those that are passed on together.
    pub(super) fn push(&self, some: &mut Vec<Pair<F>>, pair: Pair<F>) {
        if some.len() == PAIRS {
            self.pairs(some);
            some.clear();
        }
        some.push(pair);
    }

    pub(super) fn is_stopped(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_stopped
    }

    pub(super) fn report(self) -> PairsReport {
        let Visits { pairs, groups, .. } =
            self.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        PairsReport { pairs, groups }
    }
}
