//! Recent changes of documents, by key and by id.

use std::collections::HashMap;
use std::sync::Arc;

use crate::documents::{MAX_FIXED_BYTES, most_record_bytes};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint, Record};
use crate::store::log::{Before, DocumentChange, document_key};

/// What the database knew about a document after each commit that changed it here.
#[derive(Debug)]
struct History<F> {
    key: Arc<[u8]>,
    /// Whether older sources have the document.
    replaces: bool,
    /// Whether it is an original there.
    replaces_original: bool,
    /// The state after the first change, with the number of the commit.
    first: State<F>,
    /// The states after the others, oldest first. Nearly always empty.
    more: Vec<State<F>>,
}

type State<F> = (u64, Option<Document<F>>);

impl<F: Fingerprint> History<F> {
    /// Returns the last state up to and including commit `seq`, and the commit that made it.
    #[inline]
    fn at(&self, seq: u64) -> Option<&State<F>> {
        self.more.iter().rev().chain([&self.first]).find(|(at, _)| *at <= seq)
    }
}

/// A document's record in one source.
#[derive(Debug, Clone)]
pub(crate) struct RecentDocument<F> {
    pub key: Arc<[u8]>,
    /// Whether older sources have the document.
    pub replaces: bool,
    /// Whether it is an original there.
    pub replaces_original: bool,
    /// `None` if it was removed.
    pub document: Option<Document<F>>,
}

/// The documents that were changed here.
#[derive(Debug)]
pub(super) struct Documents<F> {
    by_key: HashMap<Arc<[u8]>, usize>,
    /// In databases with names, also of those that are removed now.
    by_id: HashMap<DocId, usize>,
    histories: Vec<History<F>>,
    key_bytes: usize,
    /// The most bytes that the records take in a segment.
    most_bytes: u64,
    changes: usize,
    /// By how much the number of documents is greater than in the older sources.
    gain: i64,
    /// The same for originals.
    original_gain: i64,
    /// The next id of a database with names.
    next_doc: u64,
}

impl<F: Fingerprint> Documents<F> {
    pub(super) fn new(next_doc: u64) -> Self {
        let (by_key, by_id, histories) = (HashMap::new(), HashMap::new(), Vec::new());
        Self {
            by_key,
            by_id,
            histories,
            key_bytes: 0,
            most_bytes: 0,
            changes: 0,
            gain: 0,
            original_gain: 0,
            next_doc,
        }
    }

    /// Returns the problem of a change that no log can have after those applied so far.
    pub(super) fn contradiction(&self, change: &DocumentChange<F>) -> Option<String> {
        let (id, next) = (change.id, self.next_doc);
        let is_new = change.before == Before::Absent;
        let fits = change.name.is_none() || if is_new { id.0 == next } else { id.0 < next };
        (!fits).then(|| format!("document id {id} in the log, where the next new one is {next}"))
    }

    /// Applies a change of commit `seq`. Returns the number of the document, and whether it was an
    /// original with the same fingerprint here before.
    pub(super) fn apply(&mut self, seq: u64, change: &DocumentChange<F>) -> (usize, bool) {
        let replaces = change.before != Before::Absent;
        let replaces_original = matches!(change.before, Before::Original(_));
        let (key, state) = (change.key(), (seq, change.after));
        let known = self.by_key.get(&*key).copied();
        let before = known.and_then(|at| self.histories[at].at(u64::MAX)?.1);
        let was_same = before.and_then(Document::entry) == change.after.and_then(Document::entry);
        let at = match known {
            Some(at) => {
                self.histories[at].more.push(state);
                at
            }
            None => {
                let (key, at): (Arc<[u8]>, _) = (key.into(), self.histories.len());
                self.key_bytes += key.len();
                self.most_bytes += most_record_bytes(F::BYTES, key.len());
                self.by_key.insert(key.clone(), at);
                let (first, more) = (state, Vec::new());
                self.histories.push(History { key, replaces, replaces_original, first, more });
                at
            }
        };
        self.changes += 1;
        self.gain += i64::from(change.after.is_some()) - i64::from(replaces);
        let is_original = change.after.is_some_and(|after| after.is_original());
        self.original_gain += i64::from(is_original) - i64::from(replaces_original);
        if change.name.is_some() {
            self.by_id.insert(change.id, at);
            self.next_doc = self.next_doc.max(change.id.0 + 1);
        }
        (at, was_same)
    }

    /// Makes room for this many more documents.
    pub(super) fn reserve(&mut self, documents: usize) {
        self.by_key.reserve(documents);
        self.by_id.reserve(documents);
        self.histories.reserve(documents);
    }

    /// Returns the number of documents that were changed here.
    pub(super) fn len(&self) -> usize {
        self.histories.len()
    }

    /// Returns the document with a number at commit `seq`, and the commit that made it what it is;
    /// `None` if it was not there.
    #[inline]
    pub(super) fn at(&self, number: usize, seq: u64) -> Option<(u64, &Document<F>)> {
        let (changed, document) = self.histories.get(number)?.at(seq)?;
        Some((*changed, document.as_ref()?))
    }

    /// Returns whether the document of an entry is an original with its fingerprint at commit
    /// `seq`, or `None` if no commit up to then changed it.
    pub(super) fn is_original(&self, entry: Entry<F>, seq: u64) -> Option<bool> {
        let number = match self.by_id.is_empty() {
            true => self.by_key.get(&*document_key(None, entry.id)),
            false => self.by_id.get(&entry.id),
        };
        let &(_, document) = self.histories[*number?].at(seq)?;
        Some(document.and_then(Document::entry) == Some(entry))
    }

    /// Returns the state of a document at commit `seq` and the commit that made it, if one up to
    /// `seq` changed it.
    pub(super) fn get(&self, key: &[u8], seq: u64) -> Option<State<F>> {
        self.histories[*self.by_key.get(key)?].at(seq).copied()
    }

    /// Returns the key of a document of a database with names, and its state at commit `seq`.
    pub(super) fn by_id(&self, id: DocId, seq: u64) -> Option<Record<'_, F>> {
        let history = &self.histories[*self.by_id.get(&id)?];
        let &(_, document) = history.at(seq)?;
        // The name may have been removed and inserted again, under another id.
        Some((&history.key, document.filter(|document| document.id == id)))
    }

    /// Returns all documents that a commit up to `seq` changed, by key.
    pub(super) fn sorted(&self, seq: u64) -> Vec<RecentDocument<F>> {
        // Not the documents themselves, so that sorting is compiled once for all widths.
        let numbered = self.histories.iter().zip(0usize..);
        let mut order: Vec<(&[u8], usize)> =
            numbered.map(|(h, number)| (&*h.key, number)).collect();
        order.sort_unstable();
        let recent = order.into_iter().filter_map(|(_, number)| {
            let history = &self.histories[number];
            let &(_, document) = history.at(seq)?;
            let History { replaces, replaces_original, .. } = *history;
            let key = history.key.clone();
            // Of one that came and went here, nothing is left.
            let is_left = replaces || document.is_some();
            is_left.then_some(RecentDocument { key, replaces, replaces_original, document })
        });
        recent.collect()
    }

    pub(super) fn gain(&self) -> i64 {
        self.gain
    }

    pub(super) fn original_gain(&self) -> i64 {
        self.original_gain
    }

    pub(super) fn next_doc(&self) -> u64 {
        self.next_doc
    }

    pub(super) fn key_bytes(&self) -> usize {
        self.key_bytes
    }

    /// Returns the most bytes that these documents take in a segment.
    pub(super) fn most_bytes(&self) -> u64 {
        if self.histories.is_empty() { 0 } else { MAX_FIXED_BYTES + self.most_bytes }
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        // Hash tables are up to seven eighths full, and twice as large after they have grown.
        let per_slot = (size_of::<(Arc<[u8]>, usize)>() + 1) * 2;
        let per_id = (size_of::<(DocId, usize)>() + 1) * 2;
        let per_key = 2 * size_of::<usize>();
        self.key_bytes
            + self.histories.len() * (per_slot + per_key + size_of::<History<F>>())
            + self.by_id.len() * per_id
            + (self.changes - self.histories.len()) * size_of::<State<F>>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(fingerprint: u64, id: u64) -> Document {
        Document { fingerprint, id: DocId(id), stamp: None, duplicate_of: None }
    }

    fn change(name: &str, id: u64, before: Option<u64>, after: Option<u64>) -> DocumentChange<u64> {
        DocumentChange {
            name: Some(name.into()),
            id: DocId(id),
            before: before.map_or(Before::Absent, Before::Original),
            after: after.map(|fingerprint| document(fingerprint, id)),
        }
    }

    #[test]
    fn document_that_came_and_went_leaves_nothing_unless_older_sources_have_it() {
        let mut documents = Documents::new(9);
        documents.apply(1, &change("b", 9, None, Some(1)));
        documents.apply(2, &change("b", 9, Some(1), None));
        documents.apply(2, &change("a", 3, Some(4), None));
        let keys = |seq| {
            let sorted = documents.sorted(seq).into_iter();
            sorted.map(|d| (d.key[0], d.replaces, d.document.is_some())).collect::<Vec<_>>()
        };
        assert_eq!((keys(1), keys(2)), (vec![(b'b', false, true)], vec![(b'a', true, false)]));
        assert_eq!(documents.gain(), -1);
    }

    #[test]
    fn new_names_have_the_next_id_and_known_ones_an_earlier_id() {
        let mut documents = Documents::new(9);
        assert!(documents.contradiction(&change("a", 10, None, Some(1))).is_some());
        assert!(documents.contradiction(&change("a", 9, Some(2), Some(1))).is_some());
        assert!(documents.contradiction(&change("a", 9, None, Some(1))).is_none());
        assert!(documents.contradiction(&change("a", 8, Some(2), Some(1))).is_none());
        documents.apply(1, &change("a", 9, None, Some(1)));
        assert!(documents.contradiction(&change("b", 9, None, Some(1))).is_some());
    }
}
