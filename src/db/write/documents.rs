//! Writes in databases that keep documents.
//!
//! As `write/mod.rs` says, a write looks up without a lock whatever is expensive. Under the
//! writer's lock, it looks up only what was committed since, and decides what each document
//! becomes. Within a batch, each document sees what becomes of those before it.

use std::sync::MutexGuard;

use crate::base::error::{Error, Result};
use crate::db::state::core::{Core, Writer};
use crate::db::state::key::DocumentKey;
use crate::db::write::backpressure::{writer_with_room, writer_with_space};
use crate::db::write::condition::{Callbacks, Condition, ask};
use crate::db::write::confirm::{Candidate, Confirm};
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::db::write::since::{Near, Since};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint, Match};
use crate::query::{QueryOptions, View};
use crate::store::log::{Before, DocumentChange, Op};
use crate::store::manifest::COUNTER_LIMIT;
use crate::store::version::Version;

/// A document that the caller gives, with a key that fits the database.
#[derive(Clone, Copy)]
pub(super) struct Given<'k, F> {
    pub(super) fingerprint: F,
    pub(super) key: DocumentKey<'k>,
    pub(super) stamp: Option<u64>,
}

/// Writes documents in turn, in one commit.
pub(super) fn write<F: Fingerprint>(
    core: &Core<F>,
    documents: &[Given<'_, F>],
    condition: Condition,
    mut callbacks: Callbacks<'_, F>,
) -> Result<Vec<Outcome<F>>> {
    loop {
        let (version, seq) = core.visible_version();
        let view = View::new(&version, seq, &core.planner);
        let lookups = look_up_all(core, view, documents, condition, &mut callbacks.confirm)?;
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let mut batch = Batch::new(core, &now, seq, writer.next_doc, documents.len());
        let mut outcomes = Vec::with_capacity(documents.len());
        for (at, lookup) in lookups.iter().enumerate() {
            let confirm = callbacks.confirm.as_mut();
            outcomes.push(batch.decide((at, &documents[at]), lookup, condition, confirm)?);
        }
        let Some(writer) = writer_with_space(core, writer, batch.since.ops())? else { continue };
        ask(core, callbacks.before_commit, &outcomes)?;
        batch.commit(writer)?;
        return Ok(outcomes);
    }
}

/// What becomes of an existing document.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edit {
    Keep,
    Stamp(u64),
    Remove,
}

/// Edits the documents with these keys, in one commit; `edit` gets the position of the key, too.
/// Returns for each whether it was stamped or removed.
pub(super) fn edit<F: Fingerprint>(
    core: &Core<F>,
    keys: &[DocumentKey<'_>],
    edit: &dyn Fn(usize, &Document<F>) -> Edit,
) -> Result<Vec<bool>> {
    loop {
        let (version, seq) = core.visible_version();
        let lookups = keys.iter().map(|key| version.document(&key.to_bytes(), seq));
        let lookups = lookups.collect::<Result<Vec<_>>>()?;
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let mut batch = Batch::new(core, &now, seq, writer.next_doc, keys.len());
        let edited = keys.iter().zip(&lookups).enumerate().map(|(at, (&key, lookup))| {
            let old = batch.since.document(key, *lookup);
            match old.map(|old| (old, edit(at, &old))) {
                Some((old, Edit::Remove)) => batch.change(key, old.id, Some(old), None)?,
                Some((old, Edit::Stamp(stamp))) => {
                    let new = Document { stamp: old.stamp.max(Some(stamp)), ..old };
                    batch.change(key, old.id, Some(old), Some(new))?;
                }
                Some((_, Edit::Keep)) | None => return Ok(false),
            }
            Ok(true)
        });
        let edited = edited.collect::<Result<Vec<_>>>()?;
        let Some(writer) = writer_with_space(core, writer, batch.since.ops())? else { continue };
        batch.commit(writer)?;
        return Ok(edited);
    }
}

/// What was found without a lock.
struct Lookup<F> {
    /// The document with the key.
    old: Option<Document<F>>,
    /// The nearest other document, unless none was searched for.
    nearest: Option<Option<Match<F>>>,
}

/// Looks up all documents of a batch.
fn look_up_all<F: Fingerprint>(
    core: &Core<F>,
    view: View<'_, F>,
    documents: &[Given<'_, F>],
    condition: Condition,
    confirm: &mut Option<Confirm<'_, F>>,
) -> Result<Vec<Lookup<F>>> {
    if confirm.is_none()
        && let Condition { unless_near: Some(within), or_update: None } = condition
        && documents.len() > 1
    {
        let queries: Vec<F> = documents.iter().map(|document| document.fingerprint).collect();
        let nearest = view.nearest_of_each(&queries, within, core.threads())?;
        let lookup = |(document, nearest): (&Given<'_, F>, _)| {
            let old = view.version.document(&document.key.to_bytes(), view.seq)?;
            Ok(Lookup { old, nearest: Some(nearest) })
        };
        return documents.iter().zip(nearest).map(lookup).collect();
    }
    let look_up = |document| look_up(core, view, document, condition, confirm.as_mut());
    documents.iter().enumerate().map(look_up).collect()
}

fn look_up<F: Fingerprint>(
    core: &Core<F>,
    view: View<'_, F>,
    (at, &Given { fingerprint, key, .. }): (usize, &Given<'_, F>),
    condition: Condition,
    confirm: Option<&mut Confirm<'_, F>>,
) -> Result<Lookup<F>> {
    let old = view.version.document(&key.to_bytes(), view.seq)?;
    let Some(within) = condition.unless_near else { return Ok(Lookup { old, nearest: None }) };
    let own = old.and_then(Document::entry);
    if own.is_some_and(|own| condition.or_update.is_none() || own.fingerprint == fingerprint) {
        // Nothing depends on other documents.
        return Ok(Lookup { old, nearest: None });
    }
    // One more than is needed, because the key's own entry may be the nearest.
    let needed = confirm.as_ref().map_or(1, |confirm| confirm.most);
    let limit = needed.saturating_add(usize::from(own.is_some()));
    let found = view.query(fingerprint, QueryOptions::within(within).limit(limit))?;
    let mut others = found.into_iter().filter(|found| Some(found.entry()) != own);
    let nearest = match confirm {
        None => others.next(),
        Some(confirm) => confirm.first(core.storage.root(), at, others.map(Candidate::stored))?,
    };
    Ok(Lookup { old, nearest: Some(nearest) })
}

/// A batch whose documents are decided in turn.
struct Batch<'a, F: Fingerprint> {
    since: Since<'a, F>,
    core: &'a Core<F>,
    /// The id of the next document with a new name.
    next_doc: u64,
}

impl<'a, F: Fingerprint> Batch<'a, F> {
    fn new(
        core: &'a Core<F>,
        version: &'a Version<F>,
        seen: u64,
        next_doc: u64,
        documents: usize,
    ) -> Self {
        let since = Since::new(core, version, seen, next_doc, documents);
        Self { since, core, next_doc }
    }

    fn commit(self, writer: MutexGuard<'_, Writer>) -> Result<()> {
        self.since.commit(writer)
    }

    /// Decides what a document becomes, and adds the change to the commit.
    fn decide(
        &mut self,
        (at, given): (usize, &Given<'_, F>),
        lookup: &Lookup<F>,
        condition: Condition,
        confirm: Option<&mut Confirm<'_, F>>,
    ) -> Result<Outcome<F>> {
        let &Given { fingerprint, key, stamp } = given;
        let old = self.since.document(key, lookup.old);
        let stamp = stamp.max(old.and_then(|old| old.stamp));
        let own = old.and_then(Document::entry);
        let is_same = own.is_some_and(|own| own.fingerprint == fingerprint);
        let nearest = match (condition, own) {
            (Condition { unless_near: None, .. }, _) => None,
            (Condition { or_update: None, .. }, Some(Entry { fingerprint: stored, id })) => {
                let distance = stored.distance(fingerprint);
                return Ok(Outcome::Exists(Match { distance, fingerprint: stored, id }));
            }
            (Condition { or_update: Some(_), .. }, _) if is_same => None,
            (Condition { unless_near: Some(within), .. }, own) => {
                let near = Near { fingerprint, within, own };
                match confirm {
                    None => self.since.nearest(near, lookup.nearest)?,
                    Some(confirm) => self.since.confirmed(near, lookup.nearest, at, confirm)?,
                }
            }
        };
        if let Some(found) = nearest {
            return match condition.or_update {
                None => Ok(Outcome::Duplicate(found)),
                Some(choice) => self.duplicate(&Given { stamp, ..*given }, old, found, choice),
            };
        }
        let id = old.map_or_else(|| key.id(self.next_doc), |old| old.id);
        self.change(key, id, old, Some(Document { fingerprint, id, stamp, duplicate_of: None }))?;
        self.since.gave(at, Entry { fingerprint, id });
        Ok(match old {
            Some(_) if is_same => Outcome::Unchanged(id),
            Some(Document { fingerprint: from, .. }) => {
                Outcome::Updated { id, from, distance: from.distance(fingerprint) }
            }
            None => Outcome::Inserted(id),
        })
    }

    /// Decides what becomes of the key of a duplicate.
    fn duplicate(
        &mut self,
        &Given { fingerprint, key, stamp }: &Given<'_, F>,
        old: Option<Document<F>>,
        found: Match<F>,
        on_duplicate: OnDuplicate,
    ) -> Result<Outcome<F>> {
        if let Some(old) = old.filter(|old| old.fingerprint == fingerprint) {
            // A remembered duplicate that is still one. What it was a duplicate of may be gone.
            let new = Document { stamp, duplicate_of: Some(found.id), ..old };
            self.change(key, old.id, Some(old), Some(new))?;
            return Ok(Outcome::UnchangedDuplicate { id: old.id, of: found });
        }
        let id = old.map_or_else(|| key.id(self.next_doc), |old| old.id);
        let new = match on_duplicate {
            OnDuplicate::Keep => old.map(|kept| Document { stamp, ..kept }),
            OnDuplicate::Remove => None,
            OnDuplicate::Remember => {
                Some(Document { fingerprint, id, stamp, duplicate_of: Some(found.id) })
            }
        };
        self.change(key, id, old, new)?;
        Ok(Outcome::Duplicate(found))
    }

    /// Adds the change of a document to the commit, unless nothing changes.
    fn change(
        &mut self,
        key: DocumentKey<'_>,
        id: DocId,
        before: Option<Document<F>>,
        after: Option<Document<F>>,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let name = key.name().map(Into::into);
        if name.is_some() && before.is_none() {
            self.next_doc = id.0 + 1;
            if self.next_doc >= COUNTER_LIMIT {
                return Err(Error::invalid("there are not enough ids left for these documents")
                    .at_path(self.core.storage.root()));
            }
        }
        let before = Before::of(before);
        self.since.push(Op::Change(DocumentChange { name, id, before, after }))
    }
}
