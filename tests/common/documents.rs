//! A plain model of a database that keeps documents: a map from keys to documents.

use std::collections::BTreeMap;

use fpdb::{
    DocId, Document, Entry, Fingerprint, Ids, Key, Match, OnDuplicate, Outcome, Snapshot, Stamped,
};

use super::{Oracle, assert_entries, is_confirmed};

/// What the database should know about a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Known<F> {
    pub(crate) fingerprint: F,
    pub(crate) id: DocId,
    pub(crate) stamp: Option<u64>,
    pub(crate) duplicate_of: Option<DocId>,
}

impl<F: Fingerprint> Known<F> {
    pub(crate) fn entry(&self) -> Option<Entry<F>> {
        let entry = Entry { fingerprint: self.fingerprint, id: self.id };
        self.duplicate_of.is_none().then_some(entry)
    }

    pub(crate) fn of(document: &Document<F>) -> Self {
        let Document { fingerprint, id, stamp, duplicate_of, .. } = *document;
        Self { fingerprint, id, stamp, duplicate_of }
    }

    fn is_old(&self, before: u64) -> bool {
        self.stamp.is_some_and(|stamp| stamp < before)
    }
}

/// The model. Keys sort as in the database: names as bytes, ids by their digits in a base of 256.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Model<F> {
    pub(crate) documents: BTreeMap<Vec<u8>, Known<F>>,
    /// The next id of a database with names.
    pub(crate) next_id: u64,
    pub(crate) is_named: bool,
    /// Whether only what [`is_confirmed`] counts as near.
    pub(crate) confirms: bool,
}

impl<F: Fingerprint> Model<F> {
    pub(crate) fn new(ids: Ids) -> Self {
        Self {
            documents: BTreeMap::new(),
            next_id: 0,
            is_named: ids == Ids::Names,
            confirms: false,
        }
    }

    pub(crate) fn entries(&self) -> impl Iterator<Item = Entry<F>> {
        self.documents.values().filter_map(Known::entry)
    }

    pub(crate) fn oracle(&self) -> Oracle<F> {
        Oracle(self.entries().collect())
    }

    pub(crate) fn duplicates(&self) -> usize {
        self.documents.values().filter(|known| known.duplicate_of.is_some()).count()
    }

    pub(crate) fn has_stamps(&self) -> bool {
        self.documents.values().any(|known| known.stamp.is_some())
    }

    pub(crate) fn nearest(
        &self,
        fingerprint: F,
        distance: u32,
        but: Option<DocId>,
    ) -> Option<Match<F>> {
        let near = self.entries().map(|entry| Match {
            distance: entry.fingerprint.distance(fingerprint),
            fingerprint: entry.fingerprint,
            id: entry.id,
        });
        let counts =
            |found: Match<F>| !self.confirms || is_confirmed(fingerprint, found.fingerprint);
        near.filter(|m| m.distance <= distance && Some(m.id) != but && counts(*m)).min()
    }

    fn id(&mut self, key: &[u8]) -> DocId {
        if let Some(known) = self.documents.get(key) {
            return known.id;
        }
        if !self.is_named {
            return DocId(u64::from_be_bytes(key.try_into().unwrap()));
        }
        self.next_id += 1;
        DocId(self.next_id - 1)
    }

    /// Inserts or replaces a document, and says which.
    pub(crate) fn insert(&mut self, key: &[u8], fingerprint: F, stamp: Option<u64>) -> Outcome<F> {
        let old = self.documents.get(key).copied();
        let id = self.put(key, fingerprint, stamp);
        match old {
            None => Outcome::Inserted(id),
            Some(old) if old.fingerprint == fingerprint && old.duplicate_of.is_none() => {
                Outcome::Unchanged(id)
            }
            Some(Known { fingerprint: from, .. }) => {
                Outcome::Updated { id, from, distance: from.distance(fingerprint) }
            }
        }
    }

    /// Inserts or replaces a document.
    pub(crate) fn put(&mut self, key: &[u8], fingerprint: F, stamp: Option<u64>) -> DocId {
        let id = self.id(key);
        let stamp = stamp.max(self.documents.get(key).and_then(|known| known.stamp));
        let known = Known { fingerprint, id, stamp, duplicate_of: None };
        self.documents.insert(key.to_vec(), known);
        id
    }

    pub(crate) fn insert_if_novel(
        &mut self,
        key: &[u8],
        fingerprint: F,
        stamp: Option<u64>,
        distance: u32,
    ) -> Outcome<F> {
        if let Some(Entry { fingerprint: stored, id }) =
            self.documents.get(key).and_then(Known::entry)
        {
            let distance = stored.distance(fingerprint);
            return Outcome::Exists(Match { distance, fingerprint: stored, id });
        }
        match self.nearest(fingerprint, distance, None) {
            Some(found) => Outcome::Duplicate(found),
            None => self.insert(key, fingerprint, stamp),
        }
    }

    pub(crate) fn upsert(
        &mut self,
        key: &[u8],
        fingerprint: F,
        stamp: Option<u64>,
        distance: u32,
        on_duplicate: OnDuplicate,
    ) -> Outcome<F> {
        let old = self.documents.get(key).copied();
        let kept_stamp = stamp.max(old.and_then(|old| old.stamp));
        let restamp = |model: &mut Self| {
            if let Some(known) = model.documents.get_mut(key) {
                known.stamp = kept_stamp;
            }
        };
        if let Some(old) = old
            && old.fingerprint == fingerprint
            && old.duplicate_of.is_none()
        {
            restamp(self);
            return Outcome::Unchanged(old.id);
        }
        let own = old.and_then(|old| old.entry()).map(|entry| entry.id);
        let Some(found) = self.nearest(fingerprint, distance, own) else {
            return self.insert(key, fingerprint, stamp);
        };
        if let Some(old) = old.filter(|old| old.fingerprint == fingerprint) {
            restamp(self);
            if let Some(known) = self.documents.get_mut(key) {
                known.duplicate_of = Some(found.id);
            }
            return Outcome::UnchangedDuplicate { id: old.id, of: found };
        }
        match on_duplicate {
            OnDuplicate::Remove => drop(self.documents.remove(key)),
            OnDuplicate::Remember => {
                let id = self.id(key);
                let duplicate_of = Some(found.id);
                let known = Known { fingerprint, id, stamp: kept_stamp, duplicate_of };
                self.documents.insert(key.to_vec(), known);
            }
            _ => restamp(self),
        }
        Outcome::Duplicate(found)
    }

    /// Returns whether the document exists.
    pub(crate) fn touch(&mut self, key: &[u8], stamp: u64) -> bool {
        let known = self.documents.get_mut(key);
        known.map(|known| known.stamp = known.stamp.max(Some(stamp))).is_some()
    }

    /// Returns whether the document existed.
    pub(crate) fn remove(&mut self, key: &[u8]) -> bool {
        self.documents.remove(key).is_some()
    }

    /// Removes the document with this entry. Returns whether there was one.
    pub(crate) fn remove_entry(&mut self, entry: Entry<F>) -> bool {
        let before = self.documents.len();
        self.documents.retain(|_, known| known.entry() != Some(entry));
        self.documents.len() < before
    }

    /// Returns the number of removed documents.
    pub(crate) fn expire(&mut self, before: u64) -> u64 {
        let examined = self.documents.len();
        self.documents.retain(|_, known| !known.is_old(before));
        (examined - self.documents.len()) as u64
    }
}

/// Returns the key with these bytes.
pub(crate) fn stamped(key: &[u8], stamp: Option<u64>, ids: Ids) -> Stamped<'_> {
    let key = match ids {
        Ids::Names => Key::Name(std::str::from_utf8(key).unwrap()),
        _ => Key::from(u64::from_be_bytes(key.try_into().unwrap())),
    };
    Stamped { key, stamp }
}

/// Compares everything that a snapshot knows about documents: in order, by key, by id, and their
/// entries.
#[track_caller]
pub(crate) fn assert_documents<F: Fingerprint>(snapshot: &Snapshot<F>, model: &Model<F>) {
    assert_entries(snapshot, &model.oracle());
    let all = snapshot.documents().unwrap().map(Result::unwrap);
    let found: Vec<(Vec<u8>, Known<F>)> = all
        .map(|(name, document)| {
            assert_eq!(name.is_some(), model.is_named);
            let key = name.map_or(document.id.0.to_be_bytes().to_vec(), String::into_bytes);
            (key, Known::of(&document))
        })
        .collect();
    assert!(found.iter().map(|(key, known)| (key, known)).eq(&model.documents), "documents");
    let ids = if model.is_named { Ids::Names } else { Ids::Unique };
    for (key, known) in &model.documents {
        let document = snapshot.get(stamped(key, None, ids).key).unwrap();
        assert_eq!(document.as_ref().map(Known::of), Some(*known));
    }
    if model.is_named {
        let ids: Vec<DocId> = (0..model.next_id + 2).rev().map(DocId).collect();
        let names: BTreeMap<DocId, &[u8]> =
            model.documents.iter().map(|(key, known)| (known.id, &key[..])).collect();
        for (id, name) in ids.iter().zip(snapshot.names(&ids).unwrap()) {
            assert_eq!(name.as_deref().map(str::as_bytes), names.get(id).copied(), "{id}");
        }
    }
}
