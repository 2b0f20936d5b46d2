//! The steps on databases that keep documents. A plain model predicts each result exactly.

use std::sync::Arc;

use fpdb::{Db, DocId, Entry, Fingerprint, Ids, OnDuplicate, Outcome, Snapshot, Stamped};

use super::common::documents::{Known, Model, stamped};
use super::history::{Contents, State};
use super::oracle::{Verdict, text};
use super::runner::Runner;
use super::script::{DISTANCE, Doc, Setup, key_of, name_of};

/// Stands for a next id that nothing shows.
pub(crate) const UNKNOWN: u64 = u64::MAX;

/// A document to insert or update, with its stamp.
pub(crate) type StampedDoc<F> = (Doc<F>, Option<u64>);

/// Returns the bytes of the document's key.
fn bytes_of(ids: Ids, key: u64) -> Vec<u8> {
    if ids == Ids::Names { name_of(key).into_bytes() } else { key.to_be_bytes().to_vec() }
}

/// Returns the number of the document with this key.
fn number_of(ids: Ids, key: &[u8]) -> Option<u64> {
    match ids {
        Ids::Names => key_of(std::str::from_utf8(key).ok()?),
        _ => Some(u64::from_be_bytes(key.try_into().ok()?)),
    }
}

impl<F: Fingerprint> State<F> {
    /// Returns the state of a database with these documents.
    pub(crate) fn of_documents(ids: Ids, documents: Model<F>) -> Verdict<Self> {
        let originals = documents.documents.iter().filter(|(_, known)| known.entry().is_some());
        let doc = |(key, known): (&Vec<u8>, &Known<F>)| {
            let number = number_of(ids, key).ok_or_else(|| format!("unknown key {key:?}"))?;
            Ok((known.fingerprint, number))
        };
        let entries = originals.map(doc).collect::<Verdict<_>>()?;
        Ok(Self { entries, documents })
    }
}

/// Returns all documents. Checks that they are in order, that every third one is found by its key
/// and its id, and that their numbers are right. Which ones are found depends on how many there
/// are, so that over many states it is each of them.
pub(crate) fn documents<F: Fingerprint>(
    setup: &Setup<F>,
    db: &Db<F>,
    snapshot: &Snapshot<F>,
) -> Verdict<Model<F>> {
    let mut model = Model::new(setup.ids);
    let (stats, mut searched) = (db.stats(), Vec::new());
    for (n, found) in (stats.documents..).zip(snapshot.documents().map_err(text("documents"))?) {
        let (name, document) = found.map_err(text("documents"))?;
        if name.is_some() != model.is_named {
            return Err(format!("document {} has the name {name:?}", document.id));
        }
        let key = name.map_or(document.id.0.to_be_bytes().to_vec(), String::into_bytes);
        let last = model.documents.last_key_value();
        if last.is_some_and(|(last, _)| *last >= key) {
            return Err(format!("key {key:?} does not follow the one before"));
        }
        if n % 3 == 0 {
            let by_key = snapshot.get(stamped(&key, None, setup.ids).key).map_err(text("get"))?;
            if by_key != Some(document) {
                return Err(format!("get finds {by_key:?}, not {document:?}"));
            }
            searched.push((document.id, key.clone()));
        }
        model.documents.insert(key, Known::of(&document));
    }
    let unused = bytes_of(setup.ids, u64::MAX / 3);
    let unused = snapshot.get(stamped(&unused, None, setup.ids).key).map_err(text("get"))?;
    if let Some(document) = unused {
        return Err(format!("get finds {document:?}, which was never written"));
    }
    if model.is_named {
        let (ids, keys): (Vec<DocId>, Vec<Vec<u8>>) = searched.into_iter().unzip();
        let names = snapshot.names(&ids).map_err(text("names"))?;
        let names = names.into_iter().map(|name| name.map(String::into_bytes));
        if !names.eq(keys.into_iter().map(Some)) {
            return Err("the names of the ids are not the names of the documents".to_owned());
        }
    }
    let expected = (model.documents.len() as u64, model.duplicates() as u64);
    if (stats.documents, stats.duplicates) != expected {
        let counted = (stats.documents, stats.duplicates);
        return Err(format!("{expected:?} documents and duplicates, {counted:?} counted"));
    }
    model.next_id = if model.is_named { UNKNOWN } else { 0 };
    Ok(model)
}

/// Finds out the next id of a database with names that was just opened: from the outcome of an
/// update that is abandoned before it writes anything.
pub(crate) fn with_next_id<F: Fingerprint>(
    setup: &Setup<F>,
    db: &Db<F>,
    found: Contents<F>,
) -> Verdict<Contents<F>> {
    if setup.ids != Ids::Names {
        return Ok(found);
    }
    let is_free = |f: &F| found.entries.iter().all(|doc| doc.0 != *f);
    let bit = |bit| F::ZERO.with_flipped(bit);
    let unused = (0..F::BITS).map(bit).find(is_free).ok_or("all fingerprints are taken")?;
    let probe = [(unused, "https://例子/never")];
    let mut next_id = None;
    let result = db
        .write(&probe)
        .unless_near(0)
        .or_update(OnDuplicate::Keep)
        .before_commit(|outcomes| {
            if let [Outcome::Inserted(id)] = outcomes {
                next_id = Some(id.0);
            }
            Err(std::io::Error::other("abandoned"))
        })
        .run();
    let Some(next_id) = next_id else { return Err(format!("probe: {result:?}")) };
    let mut found = Arc::unwrap_or_clone(found);
    found.documents.next_id = next_id;
    Ok(Arc::new(found))
}

/// Returns documents as the arguments of a call.
fn arguments<'k, F: Fingerprint>(
    ids: Ids,
    docs: &[StampedDoc<F>],
    keys: &'k [Vec<u8>],
) -> Vec<(F, Stamped<'k>)> {
    let argument =
        |(&((f, _), stamp), key): (&StampedDoc<F>, &'k Vec<u8>)| (f, stamped(key, stamp, ids));
    docs.iter().zip(keys).map(argument).collect()
}

fn unstamped<F: Fingerprint>(docs: &[Doc<F>]) -> Vec<StampedDoc<F>> {
    docs.iter().map(|&doc| (doc, None)).collect()
}

impl<F: Fingerprint> Runner<'_, F> {
    fn model(&self) -> Model<F> {
        let is_named = self.setup.ids == Ids::Names;
        Model { is_named, ..self.history.current().documents.clone() }
    }

    fn write_documents(
        &mut self,
        after: Model<F>,
        call: impl FnOnce() -> fpdb::Result<bool>,
    ) -> Verdict {
        let after = State::of_documents(self.setup.ids, after)?;
        self.write(Some(after), false, call)
    }

    fn keys(&self, docs: &[StampedDoc<F>]) -> Vec<Vec<u8>> {
        docs.iter().map(|((_, key), _)| bytes_of(self.setup.ids, *key)).collect()
    }

    pub(super) fn insert_documents(&mut self, db: &Db<F>, docs: &[Doc<F>]) -> Verdict {
        let (mut after, docs) = (self.model(), unstamped(docs));
        let keys = self.keys(&docs);
        let put = |(&((f, _), stamp), key): (&StampedDoc<F>, &Vec<u8>)| after.insert(key, f, stamp);
        let expected: Vec<Outcome<F>> = docs.iter().zip(&keys).map(put).collect();
        let arguments = arguments(self.setup.ids, &docs, &keys);
        self.write_documents(after, || match &arguments[..] {
            [(fingerprint, key)] => Ok(db.insert(*fingerprint, *key)? == expected[0].id()),
            batch => Ok(db.write(batch).run()? == expected),
        })
    }

    pub(super) fn insert_documents_if_novel(&mut self, db: &Db<F>, docs: &[Doc<F>]) -> Verdict {
        let (mut after, docs) = (self.model(), unstamped(docs));
        let keys = self.keys(&docs);
        let insert = |(&((f, _), stamp), key): (&StampedDoc<F>, &Vec<u8>)| {
            after.insert_if_novel(key, f, stamp, DISTANCE)
        };
        let expected: Vec<Outcome<F>> = docs.iter().zip(&keys).map(insert).collect();
        let arguments = arguments(self.setup.ids, &docs, &keys);
        self.write_documents(after, || match &arguments[..] {
            [(fingerprint, key)] => Ok(vec![db.insert_if_novel(*fingerprint, *key)?] == expected),
            batch => Ok(db.write(batch).unless_near(DISTANCE).run()? == expected),
        })
    }

    pub(super) fn upsert(
        &mut self,
        db: &Db<F>,
        docs: &[StampedDoc<F>],
        on_duplicate: OnDuplicate,
    ) -> Verdict {
        let (mut after, keys) = (self.model(), self.keys(docs));
        let upsert = |(&((f, _), stamp), key): (&StampedDoc<F>, &Vec<u8>)| {
            after.upsert(key, f, stamp, DISTANCE, on_duplicate)
        };
        let expected: Vec<Outcome<F>> = docs.iter().zip(&keys).map(upsert).collect();
        let arguments = arguments(self.setup.ids, docs, &keys);
        self.write_documents(after, || match (&arguments[..], on_duplicate) {
            ([(f, key)], OnDuplicate::Keep) => Ok(vec![db.upsert_if_novel(*f, *key)?] == expected),
            (batch, _) => {
                let write = db.write(batch).unless_near(DISTANCE).or_update(on_duplicate);
                Ok(write.run()? == expected)
            }
        })
    }

    pub(super) fn touch(&mut self, db: &Db<F>, key: u64, stamp: u64) -> Verdict {
        let (mut after, ids) = (self.model(), self.setup.ids);
        let key = bytes_of(ids, key);
        let expected = after.touch(&key, stamp);
        let key = stamped(&key, None, ids).key;
        self.write_documents(after, || Ok(db.touch(key, stamp)? == expected))
    }

    pub(super) fn remove_by_key(&mut self, db: &Db<F>, number: u64) -> Verdict {
        let mut after = self.model();
        let expected = after.remove(&bytes_of(self.setup.ids, number));
        let is_named = after.is_named;
        self.write_documents(after, || {
            let removed = match is_named {
                true => db.remove(&name_of(number))?,
                false => db.remove(number)?,
            };
            Ok(removed == expected)
        })
    }

    pub(super) fn remove_document(&mut self, db: &Db<F>, doc: Doc<F>) -> Verdict {
        let mut after = self.model();
        let known = after.documents.get(&bytes_of(self.setup.ids, doc.1));
        // An id that was never assigned.
        let id = known.map_or(DocId(u64::MAX - 1), |known| known.id);
        let expected = after.remove_entry(Entry { fingerprint: doc.0, id });
        self.write_documents(after, || Ok(db.remove_entry(doc.0, id)? == expected))
    }

    /// Removes old documents. There are few enough for one commit.
    pub(super) fn expire(&mut self, db: &Db<F>, before: u64) -> Verdict {
        let mut after = self.model();
        // Refused, unless there are no documents.
        if !after.has_stamps() {
            return Ok(());
        }
        let examined = after.documents.len() as u64;
        let removed = after.expire(before);
        self.write_documents(after, || {
            let report = db.expire(before)?;
            Ok((report.examined, report.removed) == (examined, removed))
        })
    }
}
