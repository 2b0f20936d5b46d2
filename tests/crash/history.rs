//! What a crash may leave: the contents that the database has had, and when each of them may be
//! found after a crash.

use std::collections::BTreeSet;
use std::sync::Arc;

use fpdb::Fingerprint;

use super::combine::Combined;
use super::common::documents::Model;
use super::documents::UNKNOWN;
use super::script::Doc;

/// What a database holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct State<F> {
    pub(crate) entries: BTreeSet<Doc<F>>,
    /// Its documents, if it keeps any.
    pub(crate) documents: Model<F>,
}

impl<F: Fingerprint> State<F> {
    /// Whether these are the same contents, as far as their next ids are known.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let next_ids = [self.documents.next_id, other.documents.next_id];
        self.entries == other.entries
            && self.documents.documents == other.documents.documents
            && (next_ids.contains(&UNKNOWN) || next_ids[0] == next_ids[1])
    }
}

pub(crate) type Contents<F> = Arc<State<F>>;

/// Contents that a call requested. Times are numbers of operations, as in `Sim::operations`.
#[derive(Debug, Clone)]
struct Candidate<F> {
    contents: Contents<F>,
    /// The number of operations before the call; `None` if the contents were there at the start.
    requested: Option<usize>,
    /// When other contents were acknowledged as durable.
    superseded: Option<usize>,
}

/// The history of one workload. All calls come from one thread, so a crash leaves the result of
/// some prefix of the calls, which includes all acknowledged ones: batches are complete, and
/// nothing that was removed comes back.
#[derive(Debug, Clone)]
pub(crate) struct History<F> {
    candidates: Vec<Candidate<F>>,
    /// The last contents for which a call returned Ok.
    current: usize,
    /// The time when the creation was acknowledged.
    created: Option<usize>,
    /// The contents of the last backup, and when it was acknowledged.
    backup: Option<(Contents<F>, Option<usize>)>,
    /// The last merge or rebuild.
    pub(crate) combined: Option<Combined<F>>,
}

/// What may be found after a crash, in a form that can be compared with that after another crash of
/// the same run.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Allowed {
    /// The places of the legal contents.
    legal: Vec<usize>,
    is_created: bool,
    is_copied: bool,
    combined: Option<(bool, bool)>,
}

impl<F: Fingerprint> History<F> {
    /// Returns the history of a folder without a database.
    pub(crate) fn of_nothing() -> Self {
        Self { created: None, ..Self::since(Arc::new(State::default())) }
    }

    /// Returns the history of a database that durably has these contents.
    pub(crate) fn since(contents: Contents<F>) -> Self {
        let candidates = vec![Candidate { contents, requested: None, superseded: None }];
        Self { candidates, current: 0, created: Some(0), backup: None, combined: None }
    }

    pub(crate) fn current(&self) -> &Contents<F> {
        &self.candidates[self.current].contents
    }

    /// Records that a call that requested these contents returned Ok.
    pub(crate) fn became(&mut self, contents: Contents<F>, requested: usize) {
        // A call that changes nothing need not write anything.
        if !contents.agrees(self.current()) {
            self.may_be(contents, requested);
            self.current = self.candidates.len() - 1;
        }
    }

    /// Records that a call that requested these contents failed.
    pub(crate) fn may_be(&mut self, contents: Contents<F>, requested: usize) {
        self.candidates.push(Candidate { contents, requested: Some(requested), superseded: None });
    }

    /// Records that the current contents were acknowledged as durable.
    pub(crate) fn durable(&mut self, at: usize) {
        let current = self.current;
        for (place, candidate) in self.candidates.iter_mut().enumerate() {
            if place != current {
                candidate.superseded.get_or_insert(at);
            }
        }
    }

    /// Records the contents that were found after the process ended and the database was opened
    /// again, without a loss of power. Returns false if they cannot be explained.
    pub(crate) fn reopened(&mut self, found: &Contents<F>, at: usize) -> bool {
        // The results of calls that failed after the last successful one may be there.
        let explained = (self.current..self.candidates.len())
            .find(|&place| self.candidates[place].contents.agrees(found));
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

    /// Returns the contents that may be found after a crash after `at` operations.
    pub(crate) fn legal(&self, at: usize) -> Vec<&Contents<F>> {
        self.legal_places(at).map(|place| &self.candidates[place].contents).collect()
    }

    fn legal_places(&self, at: usize) -> impl Iterator<Item = usize> {
        let is_legal = move |c: &Candidate<F>| {
            c.requested.is_none_or(|requested| requested < at)
                && c.superseded.is_none_or(|end| at < end)
        };
        (0..self.candidates.len()).filter(move |&place| is_legal(&self.candidates[place]))
    }

    /// Returns all that a check of a state after `at` operations learns from this history.
    pub(crate) fn allowed(&self, at: usize) -> Allowed {
        Allowed {
            legal: self.legal_places(at).collect(),
            is_created: self.is_created(at),
            is_copied: self.is_copied(at),
            combined: self.combined.as_ref().map(|combined| combined.progress(at)),
        }
    }

    /// Records that a backup of the current contents begins.
    pub(crate) fn begins_backup(&mut self) {
        self.backup = Some((self.current().clone(), None));
    }

    pub(crate) fn backed_up(&mut self, at: usize) {
        if let Some((_, done)) = &mut self.backup {
            *done = Some(at);
        }
    }

    /// Returns whether the last backup was acknowledged by the time of `at` operations.
    pub(crate) fn is_copied(&self, at: usize) -> bool {
        self.backup().and_then(|(_, done)| done).is_some_and(|done| done <= at)
    }

    /// Returns the contents of the last backup, and when it was acknowledged.
    pub(crate) fn backup(&self) -> Option<(&Contents<F>, Option<usize>)> {
        self.backup.as_ref().map(|(contents, done)| (contents, *done))
    }
}
