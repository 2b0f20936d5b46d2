//! Recent changes of documents, by key and by id.

mod keys;
mod state;

pub(super) use state::Commits;

use std::collections::HashMap;

use keys::{Ids, Keys};
use state::{Column, Flags, Last, State};

use crate::documents::{MAX_FIXED_BYTES, most_record_bytes};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::store::log::{Before, DocumentChange, KeyBytes, MAX_LOG_LEN, document_key};

/// The documents that were changed here. Each has a number, counted from 0 in the order of their
/// first changes.
///
/// A state is seen by its commit's number within the memtable: `commits` is how many commits the
/// reader sees.
#[derive(Debug)]
pub(super) struct Documents<F> {
    keys: Keys,
    /// In databases with names, also of those that are removed now.
    ids: Ids,
    /// The last state of each document.
    last: Vec<Last<F>>,
    /// Their stamps, and the originals of duplicates.
    stamps: Column,
    originals: Column,
    /// The states before the last one, oldest first, of the few documents that have any.
    earlier: HashMap<u32, Vec<State<F>>>,
    /// The most bytes that the records take in a segment.
    most_bytes: u64,
    /// By how much the number of documents is greater than in the older sources.
    gain: i64,
    /// The same for originals.
    original_gain: i64,
    /// Whether ids of documents may be missing, in a database with names.
    may_miss_ids: bool,
}

impl<F: Fingerprint> Documents<F> {
    /// `next_doc` is the next id of a database with names.
    pub(super) fn new(next_doc: u64) -> Self {
        Self {
            keys: Keys::default(),
            ids: Ids::new(next_doc),
            last: Vec::new(),
            stamps: Column::default(),
            originals: Column::default(),
            earlier: HashMap::new(),
            most_bytes: 0,
            gain: 0,
            original_gain: 0,
            may_miss_ids: false,
        }
    }

    /// From now on, changes of documents are applied although others before them were lost.
    pub(super) fn allow_missing_ids(&mut self) {
        self.may_miss_ids = true;
    }

    /// Returns the problem of a change that no log can have after those applied so far.
    pub(super) fn contradiction(&self, change: &DocumentChange<F>) -> Option<String> {
        let (id, next) = (change.id, self.next_doc());
        let is_new = change.before == Before::Absent;
        let fits = if self.may_miss_ids {
            // All lost logs together do not hold as many documents.
            id.0 < next.saturating_add(MAX_LOG_LEN)
        } else if is_new {
            id.0 == next
        } else {
            id.0 < next
        };
        let fits = fits || change.name.is_none();
        (!fits).then(|| format!("document id {id} in the log, where the next new one is {next}"))
    }

    /// Applies a change of the commit with this number. Returns the number of the document, and
    /// whether it was an original with the same fingerprint here before.
    pub(super) fn apply(&mut self, commit: u32, change: &DocumentChange<F>) -> (u32, bool) {
        let replaces = change.before != Before::Absent;
        let replaces_original = matches!(change.before, Before::Original(_));
        let key = change.key();
        let known = self.keys.find(&key, |number| self.last[number as usize].id);
        let (number, before) = match known {
            Some(number) => (number, self.keep(number)),
            // A lost change may have removed the document from older sources before.
            None => {
                let replaces = replaces || self.may_miss_ids;
                (self.add(key, change.id, replaces, replaces_original), None)
            }
        };
        self.set_last(number, known.is_some(), commit, change);
        self.gain += i64::from(change.after.is_some()) - i64::from(replaces);
        let is_original = change.after.is_some_and(|after| after.is_original());
        self.original_gain += i64::from(is_original) - i64::from(replaces_original);
        if change.name.is_some() {
            self.ids.set(change.id, number);
        }
        let was_same = before.and_then(Document::entry) == change.after.and_then(Document::entry);
        (number, was_same)
    }

    /// Keeps the last state of a document among the earlier ones, and returns the document.
    fn keep(&mut self, number: u32) -> Option<Document<F>> {
        let state = self.last_state(number);
        // Most of these documents have one earlier state.
        self.earlier.entry(number).or_insert_with(|| Vec::with_capacity(1)).push(state);
        state.document
    }

    /// Adds a document, and returns its number. Its state is set then.
    fn add(&mut self, key: KeyBytes<'_>, id: DocId, replaces: bool, of_original: bool) -> u32 {
        // This cannot fail in practice: as many documents take 2^36 bytes.
        let number = u32::try_from(self.last.len()).unwrap_or(u32::MAX);
        self.most_bytes += most_record_bytes(F::BYTES, key.len());
        let flags =
            Flags::NONE.with(Flags::REPLACES, replaces).with(Flags::REPLACES_ORIGINAL, of_original);
        self.last.push(Last { fingerprint: F::default(), id, commit: 0, flags });
        self.keys.push(number, key, |number| self.last[number as usize].id);
        number
    }

    /// Makes the outcome of a change the last state of a document.
    fn set_last(
        &mut self,
        number: u32,
        has_earlier: bool,
        commit: u32,
        change: &DocumentChange<F>,
    ) {
        let at = number as usize;
        let last = &mut self.last[at];
        let flags = last.flags.with_document(change.after.as_ref());
        (last.id, last.commit) = (change.id, commit);
        last.flags = flags.with(Flags::HAS_EARLIER, has_earlier);
        let Some(after) = &change.after else { return };
        last.fingerprint = after.fingerprint;
        if let Some(stamp) = after.stamp {
            self.stamps.set(at, stamp);
        }
        if let Some(original) = after.duplicate_of {
            self.originals.set(at, original.0);
        }
    }

    /// Makes room for this many more documents.
    pub(super) fn reserve(&mut self, documents: usize) {
        self.keys.reserve(documents, |number| self.last[number as usize].id);
        self.ids.reserve(documents);
        self.last.reserve(documents);
    }

    /// Returns the number of documents that were changed here.
    pub(super) fn len(&self) -> usize {
        self.last.len()
    }

    /// Returns the last state of a document.
    fn last_state(&self, number: u32) -> State<F> {
        let at = number as usize;
        let Last { fingerprint, id, commit, flags } = self.last[at];
        let document = flags.has(Flags::EXISTS).then(|| Document {
            fingerprint,
            id,
            stamp: flags.has(Flags::HAS_STAMP).then(|| self.stamps.get(at)),
            duplicate_of: flags.has(Flags::IS_DUPLICATE).then(|| DocId(self.originals.get(at))),
        });
        State { commit, document }
    }

    /// Returns the state of a document that a reader sees, if it sees a change of the document.
    fn state(&self, number: u32, commits: u32) -> Option<State<F>> {
        match self.last[number as usize].commit < commits {
            true => Some(self.last_state(number)),
            false => self.earlier_state(number, commits).copied(),
        }
    }

    #[cold]
    fn earlier_state(&self, number: u32, commits: u32) -> Option<&State<F>> {
        if !self.last[number as usize].flags.has(Flags::HAS_EARLIER) {
            return None;
        }
        self.earlier.get(&number)?.iter().rev().find(|state| state.commit < commits)
    }

    /// Returns the fingerprint and the id of a document that one of these commits made what it is
    /// at their end, with the commit, if it is an original then.
    #[inline]
    pub(super) fn original(&self, number: u32, commits: &Commits) -> Option<(&F, DocId, u32)> {
        let last = self.last.get(number as usize)?;
        let original = match last.commit < commits.end {
            true => last.flags.is_original().then_some((&last.fingerprint, last.id, last.commit)),
            false => self.earlier_original(number, commits.end),
        };
        original.filter(|&(_, _, commit)| commit >= commits.start)
    }

    #[cold]
    fn earlier_original(&self, number: u32, commits: u32) -> Option<(&F, DocId, u32)> {
        let State { commit, document } = self.earlier_state(number, commits)?;
        let document = document.as_ref().filter(|document| document.is_original())?;
        Some((&document.fingerprint, document.id, *commit))
    }

    /// Returns whether the document of an entry is an original with its fingerprint, or `None` if
    /// the reader sees no change of it.
    pub(super) fn is_original(&self, entry: Entry<F>, commits: u32) -> Option<bool> {
        let number = match self.ids.is_empty() {
            true => self.find(&document_key(None, entry.id)),
            false => self.ids.find(entry.id),
        };
        let State { document, .. } = self.state(number?, commits)?;
        Some(document.and_then(Document::entry) == Some(entry))
    }

    /// Returns the number of the document with a key.
    pub(super) fn find(&self, key: &[u8]) -> Option<u32> {
        self.keys.find(key, |number| self.last[number as usize].id)
    }

    /// Returns the key of a document.
    pub(super) fn key(&self, number: u32) -> KeyBytes<'_> {
        self.keys.key(number, self.last[number as usize].id)
    }

    /// Returns the state of a document that a reader sees, and the commit that made it, if the
    /// reader sees a change of the document.
    pub(super) fn get(&self, number: u32, commits: u32) -> Option<(u32, Option<Document<F>>)> {
        let State { commit, document } = self.state(number, commits)?;
        Some((commit, document))
    }

    /// Returns the key of a document of a database with names, and the state that a reader sees.
    pub(super) fn by_id(
        &self,
        id: DocId,
        commits: u32,
    ) -> Option<(KeyBytes<'_>, Option<Document<F>>)> {
        let number = self.ids.find(id)?;
        let State { document, .. } = self.state(number, commits)?;
        // The name may have been removed and inserted again, under another id.
        Some((self.key(number), document.filter(|document| document.id == id)))
    }

    /// Returns the numbers of the documents with keys after `after` of which a reader sees a
    /// change, by key.
    pub(super) fn sorted(&self, commits: u32, after: Option<&[u8]>) -> Vec<u32> {
        let mut numbers: Vec<u32> = (0..).take(self.len()).collect();
        numbers.retain(|&number| {
            after.is_none_or(|after| *self.key(number) > *after) && self.leaves_any(number, commits)
        });
        self.keys.sort(&mut numbers, &|number| self.last[number as usize].id);
        numbers
    }

    /// Returns whether a reader sees that a change did something: of a document that came and went
    /// here, nothing is left.
    fn leaves_any(&self, number: u32, commits: u32) -> bool {
        let Last { commit, flags, .. } = self.last[number as usize];
        if commit < commits {
            return flags.has(Flags::REPLACES) || flags.has(Flags::EXISTS);
        }
        let state = self.earlier_state(number, commits);
        state.is_some_and(|state| flags.has(Flags::REPLACES) || state.document.is_some())
    }

    /// Returns how many of these documents older sources have, and how many are originals there.
    pub(super) fn replaced(&self, numbers: &[u32]) -> (u64, u64) {
        let count = |flag| {
            let has = |&&number: &&u32| self.last[number as usize].flags.has(flag);
            numbers.iter().filter(has).count() as u64
        };
        (count(Flags::REPLACES), count(Flags::REPLACES_ORIGINAL))
    }

    pub(super) fn gain(&self) -> i64 {
        self.gain
    }

    pub(super) fn original_gain(&self) -> i64 {
        self.original_gain
    }

    /// Returns the next id of a database with names.
    pub(super) fn next_doc(&self) -> u64 {
        self.ids.next()
    }

    /// Returns how many bytes the names have.
    pub(super) fn name_bytes(&self) -> usize {
        self.keys.name_bytes()
    }

    /// Returns the most bytes that these documents take in a segment.
    pub(super) fn most_bytes(&self) -> u64 {
        if self.last.is_empty() { 0 } else { MAX_FIXED_BYTES + self.most_bytes }
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        let earlier: usize = self.earlier.values().map(Vec::capacity).sum();
        self.keys.memory()
            + self.ids.memory()
            + self.last.len() * size_of::<Last<F>>()
            + self.stamps.memory()
            + self.originals.memory()
            + self.earlier.len() * 2 * size_of::<(u32, Vec<State<F>>)>()
            + earlier * size_of::<State<F>>()
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
        documents.apply(0, &change("b", 9, None, Some(1)));
        documents.apply(1, &change("b", 9, Some(1), None));
        documents.apply(1, &change("a", 3, Some(4), None));
        let keys = |commits| {
            let state = |&number: &u32| documents.get(number, commits).unwrap().1.is_some();
            let sorted = documents.sorted(commits, None).into_iter();
            sorted.map(|it| (documents.key(it).to_vec(), state(&it))).collect::<Vec<_>>()
        };
        let name = |name: &str| name.as_bytes().to_vec();
        assert_eq!((keys(1), keys(2)), (vec![(name("b"), true)], vec![(name("a"), false)]));
        assert_eq!(documents.replaced(&[0, 1]), (1, 1));
        assert_eq!(documents.sorted(2, Some(b"a")), []);
        assert_eq!(documents.gain(), -1);
    }

    #[test]
    fn new_names_have_the_next_id_and_known_ones_an_earlier_id() {
        let mut documents = Documents::new(9);
        assert!(documents.contradiction(&change("a", 10, None, Some(1))).is_some());
        assert!(documents.contradiction(&change("a", 9, Some(2), Some(1))).is_some());
        assert!(documents.contradiction(&change("a", 9, None, Some(1))).is_none());
        assert!(documents.contradiction(&change("a", 8, Some(2), Some(1))).is_none());
        documents.apply(0, &change("a", 9, None, Some(1)));
        assert!(documents.contradiction(&change("b", 9, None, Some(1))).is_some());
    }

    /// Each reader sees a document as it was after the commits that it sees, with all that belongs
    /// to it: stamp, original and id.
    #[test]
    fn every_earlier_state_stays_visible_to_its_readers() {
        let at = |id, fingerprint: u64, stamp, duplicate_of: Option<u64>| {
            let duplicate_of = duplicate_of.map(DocId);
            Some(Document { fingerprint, id: DocId(id), stamp, duplicate_of })
        };
        let states = [
            at(0, 7, None, None),
            at(0, 7, Some(5), None),
            at(0, 8, Some(6), Some(3)),
            None,
            at(1, 9, None, None),
            at(1, 9, None, Some(2)),
        ];
        let mut documents = Documents::new(0);
        let mut last = None;
        for (commit, state) in (0..).zip(states) {
            let id = state.or(last).map_or(DocId(0), |document| document.id);
            let before = Before::of(last);
            let change = DocumentChange { name: Some("a".into()), id, before, after: state };
            assert_eq!(documents.contradiction(&change), None);
            let (number, was_same) = documents.apply(commit, &change);
            assert_eq!(number, 0);
            let original = state.and_then(Document::entry);
            assert!(original.is_none() || was_same == (last.and_then(Document::entry) == original));
            last = state;
        }
        assert_eq!(documents.get(0, 0), None);
        for (commit, state) in (0..).zip(states) {
            assert_eq!(documents.get(0, commit + 1), Some((commit, state)));
            let original = state.and_then(Document::entry);
            let found = documents.original(0, &(0..commit + 1));
            let entry = |(&fingerprint, id, _)| Entry { fingerprint, id };
            assert_eq!(found.map(entry), original);
            assert_eq!(documents.original(0, &(commit + 1..commit + 1)), None);
            let id = state.map_or(DocId(0), |document| document.id);
            assert_eq!(documents.by_id(id, commit + 1).unwrap().1, state);
            let other = DocId(u64::from(id.0 == 0));
            let hidden = documents.by_id(other, commit + 1);
            assert!(hidden.is_none_or(|(_, document)| document.is_none()));
            if let Some(entry) = original {
                assert_eq!(documents.is_original(entry, commit + 1), Some(true));
            }
        }
        assert_eq!((documents.len(), documents.gain(), documents.original_gain()), (1, 1, 0));
    }

    #[test]
    fn keys_of_names_and_of_ids_are_found_and_sorted() {
        for has_names in [true, false] {
            let mut documents = Documents::new(0);
            let name = |i: u64| has_names.then(|| format!("{:03}", i * 7919 % 1000).into());
            let key = |i: u64| document_key(name(i).as_deref(), DocId(i)).to_vec();
            for i in 0..1000_u64 {
                assert_eq!(documents.find(&key(i)), None);
                let (id, after) = (DocId(i), Some(document(i, i)));
                let change = DocumentChange { name: name(i), id, before: Before::Absent, after };
                documents.apply(0, &change);
            }
            let mut keys: Vec<_> = (0..1000).map(key).collect();
            assert!((0..).zip(&keys).all(|(number, key)| documents.find(key) == Some(number)));
            keys.sort_unstable();
            let sorted = documents.sorted(1, None).into_iter();
            assert!(sorted.map(|it| documents.key(it).to_vec()).eq(keys));
        }
    }
}
