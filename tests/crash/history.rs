//! What a crash may leave: the contents that the database has had, and from when to when each of
//! them is a legal find.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::script::Doc;

/// The entries of a database.
pub(crate) type Contents<F> = Arc<BTreeSet<Doc<F>>>;

/// Contents that were asked for. Places are numbers of operations, as of `Sim::operations`.
#[derive(Debug, Clone)]
struct Candidate<F> {
    contents: Contents<F>,
    /// The operations before the call; `None` if they were there from the beginning.
    asked: Option<usize>,
    /// When other contents were acknowledged as durable.
    superseded: Option<usize>,
}

/// One workload's past. All calls come from one thread, so what a crash leaves is what some prefix
/// of the calls made: acknowledged ones whole, batches whole, nothing removed comes back.
#[derive(Debug, Clone)]
pub(crate) struct History<F> {
    candidates: Vec<Candidate<F>>,
    /// The last one that a call returned Ok for.
    current: usize,
    /// When the creation was acknowledged.
    created: Option<usize>,
    backups: Vec<(usize, Contents<F>)>,
}

impl<F: Ord> History<F> {
    /// Of a folder in which there is no database.
    pub(crate) fn of_nothing() -> Self {
        Self { created: None, ..Self::since(Arc::default()) }
    }

    /// Of a database with these contents, durably.
    pub(crate) fn since(contents: Contents<F>) -> Self {
        let candidates = vec![Candidate { contents, asked: None, superseded: None }];
        Self { candidates, current: 0, created: Some(0), backups: Vec::new() }
    }

    pub(crate) fn current(&self) -> &Contents<F> {
        &self.candidates[self.current].contents
    }

    /// A call that asked for these contents returned Ok.
    pub(crate) fn became(&mut self, contents: Contents<F>, asked: usize) {
        // A call that changes nothing need not write anything.
        if contents != *self.current() {
            self.may_be(contents, asked);
            self.current = self.candidates.len() - 1;
        }
    }

    /// A call that asked for these contents failed.
    pub(crate) fn may_be(&mut self, contents: Contents<F>, asked: usize) {
        self.candidates.push(Candidate { contents, asked: Some(asked), superseded: None });
    }

    /// The current contents were acknowledged as durable.
    pub(crate) fn durable(&mut self, at: usize) {
        let current = self.current;
        for (place, candidate) in self.candidates.iter_mut().enumerate() {
            if place != current {
                candidate.superseded.get_or_insert(at);
            }
        }
    }

    /// The process ended and the database was opened again, without a loss of power: these contents
    /// were found. False if they cannot be explained.
    pub(crate) fn reopened(&mut self, found: &Contents<F>, at: usize) -> bool {
        // What failed calls after the last good one asked for may be there.
        let explained = (self.current..self.candidates.len())
            .find(|&place| self.candidates[place].contents == *found);
        if let Some(place) = explained {
            self.current = place;
            self.durable(at);
            self.created.get_or_insert(at);
        }
        explained.is_some()
    }

    pub(crate) fn is_created(&self, at: usize) -> bool {
        self.created.is_some_and(|created| created <= at)
    }

    /// What may be found after a crash after `at` operations.
    pub(crate) fn legal(&self, at: usize) -> Vec<&Contents<F>> {
        let asked = |c: &&Candidate<F>| c.asked.is_none_or(|asked| asked < at);
        let stands = |c: &&Candidate<F>| c.superseded.is_none_or(|end| at < end);
        self.candidates.iter().filter(asked).filter(stands).map(|c| &c.contents).collect()
    }

    pub(crate) fn backed_up(&mut self, at: usize) {
        self.backups.push((at, self.current().clone()));
    }

    /// What the backup must hold, if it was acknowledged by then.
    pub(crate) fn backup(&self, at: usize) -> Option<&Contents<F>> {
        self.backups.iter().find(|(done, _)| *done <= at).map(|(_, contents)| contents)
    }
}
