//! Writes: insert, insert if novel, update, remove.
//!
//! A write looks up what it has to know, decides, commits (`commit.rs`) and waits until the commit
//! may be acknowledged (`sync.rs`). The expensive part is the search for near-duplicates among the
//! visible entries. It runs without a lock. Under the writer's lock only newer commits are
//! searched.
//!
//! `entries.rs` does this for databases whose ids do not identify documents, and `documents.rs` for
//! all others.

use std::io;

use super::core::Core;
use super::documents::{self, Edit, Rule};
use super::entries::{self, Novelty};
use super::key::{self, Key, Stamped};
use super::snapshot::Snapshot;
use super::upsert::{Outcome, UpsertOptions};
use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};

/// Inserts documents in one commit. Returns their ids.
pub(super) fn insert<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Stamped<'_>)],
) -> Result<Vec<DocId>> {
    documents.iter().try_for_each(|(_, key)| check_key(core, key))?;
    if !core.settings.ids.identify_documents() {
        return entries::insert(core, &entries_of(documents));
    }
    let outcomes = documents::write(core, documents, Rule::Insert, |_| Ok(()))?;
    Ok(outcomes.into_iter().map(|(_, id)| id).collect())
}

/// Inserts the documents that have nothing within `distance`, as if one by one, in one commit.
/// `before_commit` sees the decisions, and its error abandons the commit.
pub(super) fn insert_if_novel<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Stamped<'_>)],
    distance: u32,
    before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
) -> Result<Vec<Novelty<F>>> {
    documents.iter().try_for_each(|(_, key)| check_key(core, key))?;
    if !core.settings.ids.identify_documents() {
        return entries::insert_if_novel(core, &entries_of(documents), distance, before_commit);
    }
    let novelty = |&(outcome, id): &(Outcome<F>, DocId)| match outcome {
        Outcome::Duplicate(found) => Novelty::Duplicate(found),
        Outcome::Inserted(_) | Outcome::Updated { .. } | Outcome::Unchanged => {
            Novelty::Inserted(id)
        }
    };
    let mut novelties = Vec::new();
    documents::write(core, documents, Rule::InsertIfNovel { distance }, |outcomes| {
        novelties = outcomes.iter().map(novelty).collect();
        before_commit(&novelties)
    })?;
    Ok(novelties)
}

/// Inserts or updates documents, as if one by one, in one commit. `before_commit` sees the outcomes,
/// and its error abandons the commit.
pub(super) fn upsert_if_novel<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Stamped<'_>)],
    options: UpsertOptions,
    before_commit: impl FnOnce(&[Outcome<F>]) -> io::Result<()>,
) -> Result<Vec<Outcome<F>>> {
    documents.iter().try_for_each(|(_, key)| check_key(core, key))?;
    expect_documents(core, "cannot update documents")?;
    let mut found = Vec::new();
    let rule = Rule::of(options, core.settings.max_distance);
    documents::write(core, documents, rule, |outcomes| {
        found = outcomes.iter().map(|&(outcome, _)| outcome).collect();
        before_commit(&found)
    })?;
    Ok(found)
}

/// Removes an entry. Returns false if it does not exist.
pub(super) fn remove<F: Fingerprint>(core: &Core<F>, entry: Entry<F>) -> Result<bool> {
    if !core.settings.ids.identify_documents() {
        return entries::remove(core, entry);
    }
    let (version, seq) = core.visible_version();
    let Some((name, _)) = version.document_by_id(entry.id, seq)? else { return absent(core) };
    let key = name.as_deref().map_or(Key::Id(entry.id), Key::Name);
    let remove = documents::edit(core, &[key], |document| match document.entry() == Some(entry) {
        true => Edit::Remove,
        false => Edit::Keep,
    });
    remove.map(|removed| removed == [true])
}

/// Removes the documents with these keys. Returns for each whether it existed.
pub(super) fn remove_documents<F: Fingerprint>(
    core: &Core<F>,
    keys: &[Key<'_>],
) -> Result<Vec<bool>> {
    keys.iter().try_for_each(|&key| check_key(core, &key.into()))?;
    expect_documents(core, "finds no entries by id alone")?;
    documents::edit(core, keys, |_| Edit::Remove)
}

/// Removes the document with this id, or all entries with it. Returns whether there was any.
pub(super) fn remove_by_id<F: Fingerprint>(
    core: &Core<F>,
    snapshot: &Snapshot<F>,
    id: DocId,
) -> Result<bool> {
    if core.settings.ids.identify_documents() {
        let found = snapshot.version.document_by_id(id, snapshot.seq)?;
        let Some((name, _)) = found else { return absent(core) };
        let key = name.as_deref().map_or(Key::Id(id), Key::Name);
        let removed = documents::edit(core, &[key], |document| match document.id == id {
            true => Edit::Remove,
            false => Edit::Keep,
        })?;
        return Ok(removed == [true]);
    }
    let mut any = false;
    for entry in snapshot.iter() {
        let entry = entry?;
        if entry.id == id {
            any |= entries::remove(core, entry)?;
        }
    }
    Ok(any)
}

/// Returns that there is nothing to remove, unless the handle accepts no writes.
fn absent<F: Fingerprint>(core: &Core<F>) -> Result<bool> {
    core.poison.check().map(|()| false)
}

/// Gives documents a stamp. Returns for each whether it exists.
pub(super) fn touch<F: Fingerprint>(
    core: &Core<F>,
    keys: &[Key<'_>],
    stamp: u64,
) -> Result<Vec<bool>> {
    keys.iter().try_for_each(|&key| check_key(core, &Stamped::new(key, stamp)))?;
    documents::edit(core, keys, |_| Edit::Stamp(stamp))
}

/// Returns the entries to insert. Keys were checked.
fn entries_of<F: Fingerprint>(documents: &[(F, Stamped<'_>)]) -> Vec<Entry<F>> {
    let id = |key: Key<'_>| match key {
        Key::Id(id) => id,
        Key::Name(_) => DocId::default(),
    };
    documents
        .iter()
        .map(|&(fingerprint, Stamped { key, .. })| Entry { fingerprint, id: id(key) })
        .collect()
}

/// Refuses a key of the wrong kind or length, or a stamp that cannot be kept.
fn check_key<F: Fingerprint>(core: &Core<F>, stamped: &Stamped<'_>) -> Result<()> {
    if stamped.stamp.is_some() {
        expect_documents(core, "has no stamps")?;
    }
    key::check(core.settings.ids, &stamped.key).map_err(|e| e.at_path(core.storage.root()))
}

/// Refuses a database that does not keep documents.
fn expect_documents<F: Fingerprint>(core: &Core<F>, what: &str) -> Result<()> {
    key::expect_documents(core.settings.ids, what).map_err(|e| e.at_path(core.storage.root()))
}
