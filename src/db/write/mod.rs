//! Writes: insert, insert unless something is near, update, remove.
//!
//! A write looks up what it has to know, decides, commits (`db/commit/mod.rs`) and waits until the
//! commit may be acknowledged (`db/commit/sync.rs`). The expensive part is the search for
//! near-duplicates among the visible entries. It runs without a lock. Under the writer's lock only
//! newer commits are searched (`since.rs`).
//!
//! `entries.rs` does this for databases whose ids do not identify documents, and `documents.rs` for
//! all others.

mod backpressure;
pub(crate) mod condition;
pub(crate) mod confirm;
mod documents;
mod entries;
pub(crate) mod expire;
pub(crate) mod load;
pub(crate) mod load_documents;
pub(crate) mod load_space;
pub(crate) mod outcome;
mod since;

use condition::{Callbacks, Condition};
use documents::{Edit, Given};
use outcome::Outcome;

use crate::base::error::{Error, Result};
use crate::db::read::reader::Reader;
use crate::db::state::core::Core;
use crate::db::state::key::{DocumentKey, Key, Stamped, entry_id, expect_documents};
use crate::fingerprint::{DocId, Entry, Fingerprint};

/// Writes documents in turn, in one commit. An error of a callback abandons it.
pub(crate) fn write<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Stamped<'_>)],
    condition: Condition,
    callbacks: Callbacks<'_, F>,
) -> Result<Vec<Outcome<F>>> {
    let at_root = |error: Error| error.at_path(core.storage.root());
    if core.settings.ids.identify_documents() {
        let mut all = Vec::with_capacity(documents.len());
        for &document in documents {
            all.push(given(core, document).map_err(at_root)?);
        }
        return documents::write(core, &all, condition, callbacks);
    }
    if condition.or_update.is_some() {
        expect_documents(core.settings.ids, "cannot update documents").map_err(at_root)?;
    }
    let mut entries = Vec::with_capacity(documents.len());
    for &document in documents {
        entries.push(entry(core, document).map_err(at_root)?);
    }
    entries::write(core, &entries, condition, callbacks)
}

/// Writes one document.
pub(crate) fn write_one<F: Fingerprint>(
    core: &Core<F>,
    document: (F, Stamped<'_>),
    condition: Condition,
) -> Result<Outcome<F>> {
    let outcomes = write(core, &[document], condition, Callbacks::NONE)?;
    outcomes.into_iter().next().ok_or_else(|| Error::invalid("the document was not written"))
}

fn given<'k, F: Fingerprint>(
    core: &Core<F>,
    (fingerprint, Stamped { key, stamp }): (F, Stamped<'k>),
) -> Result<Given<'k, F>> {
    let key = DocumentKey::new(core.settings.ids, key, "has no documents")?;
    Ok(Given { fingerprint, key, stamp })
}

fn entry<F: Fingerprint>(
    core: &Core<F>,
    (fingerprint, Stamped { key, stamp }): (F, Stamped<'_>),
) -> Result<Entry<F>> {
    if stamp.is_some() {
        expect_documents(core.settings.ids, "has no stamps")?;
    }
    Ok(Entry { fingerprint, id: entry_id(key)? })
}

/// Removes the documents with these keys, in one commit if all of them are keys that the caller
/// gave. Returns for each whether there was something to remove.
pub(crate) fn remove<F: Fingerprint>(
    core: &Core<F>,
    reader: &Reader<F>,
    keys: &[Key<'_>],
) -> Result<Vec<bool>> {
    if core.settings.ids.identify_documents() {
        let given =
            keys.iter().map(|&key| DocumentKey::new(core.settings.ids, key, "has no names"));
        if let Ok(given) = given.collect::<Result<Vec<_>>>() {
            return documents::edit(core, &given, &|_, _| Edit::Remove);
        }
    }
    keys.iter().map(|&key| remove_one(core, reader, key)).collect()
}

/// Removes the document with a key, which may be an id that a database with names assigned. With
/// user ids, removes all entries with the id. Returns false if there is nothing to remove.
fn remove_one<F: Fingerprint>(core: &Core<F>, reader: &Reader<F>, key: Key<'_>) -> Result<bool> {
    match key {
        Key::Id(id) if !core.settings.ids.identify_documents() => {
            remove_all_with_id(core, reader, id)
        }
        Key::Id(id) => remove_if(core, id, |_| true),
        Key::Name(_) => {
            let key = DocumentKey::new(core.settings.ids, key, "has no names");
            let key = key.map_err(|e| e.at_path(core.storage.root()))?;
            let removed = documents::edit(core, &[key], &|_, _| Edit::Remove)?;
            Ok(removed == [true])
        }
    }
}

/// Removes entries, in one commit if the ids are the user's. Returns for each whether it existed.
pub(crate) fn remove_entries<F: Fingerprint>(
    core: &Core<F>,
    entries: &[Entry<F>],
) -> Result<Vec<bool>> {
    if !core.settings.ids.identify_documents() {
        return entries::remove(core, entries);
    }
    let has = |entry: &Entry<F>, fingerprint| fingerprint == Some(entry.fingerprint);
    entries.iter().map(|entry| remove_if(core, entry.id, |found| has(entry, found))).collect()
}

/// Removes the document with an id if its entry has a fingerprint that `accept` accepts. A
/// remembered duplicate has no entry.
fn remove_if<F: Fingerprint>(
    core: &Core<F>,
    id: DocId,
    accept: impl Fn(Option<F>) -> bool,
) -> Result<bool> {
    let (version, seq) = core.visible_version();
    let Some((name, _)) = version.document_by_id(id, seq)? else {
        return core.poison.check().map(|()| false);
    };
    let key = DocumentKey::of_stored(name.as_deref().map_or(Key::Id(id), Key::Name));
    let removed = documents::edit(core, &[key], &|_, document| {
        let fingerprint = document.entry().map(|entry| entry.fingerprint);
        if document.id == id && accept(fingerprint) { Edit::Remove } else { Edit::Keep }
    })?;
    Ok(removed == [true])
}

/// Most entries that a removal of all entries with an id removes in one commit.
const MOST_REMOVED: usize = 1000;

/// Reads all entries to find those with the id.
fn remove_all_with_id<F: Fingerprint>(
    core: &Core<F>,
    reader: &Reader<F>,
    id: DocId,
) -> Result<bool> {
    let with_id = reader.iter().filter(|entry| entry.as_ref().map_or(true, |entry| entry.id == id));
    let mut any = false;
    for entries in with_id.collect::<Result<Vec<_>>>()?.chunks(MOST_REMOVED) {
        any |= entries::remove(core, entries)?.contains(&true);
    }
    Ok(any)
}

/// Raises the stamps of documents, in one commit. Returns for each whether there is one with this
/// key.
pub(crate) fn touch<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(Key<'_>, u64)],
) -> Result<Vec<bool>> {
    let key = |&(key, _): &(_, _)| DocumentKey::new(core.settings.ids, key, "has no stamps");
    let keys = documents.iter().map(key).collect::<Result<Vec<_>>>();
    let keys = keys.map_err(|e| e.at_path(core.storage.root()))?;
    documents::edit(core, &keys, &|at, _| Edit::Stamp(documents[at].1))
}
