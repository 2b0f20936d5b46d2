//! Writes in databases that keep documents: insert, insert if novel, update, remove, touch.
//!
//! As `write.rs` says, a write looks up without a lock whatever is expensive. Under the writer's
//! lock, it looks up only what was committed since, and decides what each document becomes. Within
//! a batch, each document sees what becomes of those before it.

use std::io;
use std::sync::MutexGuard;

use super::backpressure::writer_with_room;
use super::commit::commit;
use super::core::{Core, Writer};
use super::key::{Key, Stamped};
use super::sync::acknowledge;
use super::upsert::{OnDuplicate, Outcome, UpsertOptions};
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint, Match};
use crate::log::{Before, DocumentChange, Op};
use crate::manifest::COUNTER_LIMIT;
use crate::memtable::Memtable;
use crate::query::{QueryOptions, View};
use crate::version::Version;

/// How it is decided what a document becomes.
#[derive(Debug, Clone, Copy)]
pub(super) enum Rule {
    /// It is inserted, or replaces the old version of its key.
    Insert,
    /// The same, but only if no entry is within the distance, not even the key's old version.
    InsertIfNovel { distance: u32 },
    /// The old version of its key does not count as a duplicate of it.
    Upsert { distance: u32, on_duplicate: OnDuplicate },
}

impl Rule {
    /// Returns the rule of these options in a database with this maximum distance.
    pub(super) fn of(options: UpsertOptions, max_distance: u32) -> Self {
        let distance = options.distance.unwrap_or(max_distance);
        Self::Upsert { distance, on_duplicate: options.on_duplicate }
    }

    /// Returns the distance within which other documents count; `None` if they do not.
    fn distance(self) -> Option<u32> {
        match self {
            Self::Insert => None,
            Self::InsertIfNovel { distance } | Self::Upsert { distance, .. } => Some(distance),
        }
    }
}

/// Writes documents, as if one by one, in one commit. Returns the outcomes with the ids of the
/// documents. `before_commit` sees the outcomes, and its error abandons the commit.
pub(super) fn write<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Stamped<'_>)],
    rule: Rule,
    before_commit: impl FnOnce(&[(Outcome<F>, DocId)]) -> io::Result<()>,
) -> Result<Vec<(Outcome<F>, DocId)>> {
    loop {
        let (version, seq) = core.visible_version();
        let view = View { version: &version, seq, planner: &core.planner };
        let lookups = look_up_all(core, view, documents, rule)?;
        let writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let mut batch = Batch::new(core, &now, seq, writer.next_doc, documents.len());
        let outcomes = documents.iter().zip(&lookups);
        let outcomes = outcomes.map(|(document, lookup)| batch.decide(document, lookup, rule));
        let outcomes = outcomes.collect::<Result<Vec<_>>>()?;
        before_commit(&outcomes)
            .map_err(|source| Error::ended_by_caller(core.storage.root(), source))?;
        batch.commit(writer)?;
        return Ok(outcomes);
    }
}

/// What becomes of a document that exists.
#[derive(Debug, Clone, Copy)]
pub(super) enum Edit {
    Keep,
    Stamp(u64),
    Remove,
}

/// Edits those of the documents that exist, in one commit. Returns for each whether it exists and
/// was not kept as it is.
pub(super) fn edit<F: Fingerprint>(
    core: &Core<F>,
    keys: &[Key<'_>],
    edit: impl Fn(&Document<F>) -> Edit,
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
        let edited = keys.iter().zip(&lookups).map(|(&key, lookup)| {
            let old = batch.document(key, *lookup);
            match old.map(|old| (old, edit(&old))) {
                Some((old, Edit::Remove)) => batch.change(key, old.id, Some(old), None)?,
                Some((old, Edit::Stamp(stamp))) => {
                    let new = Document { stamp: Some(stamp), ..old };
                    batch.change(key, old.id, Some(old), Some(new))?;
                }
                Some((_, Edit::Keep)) | None => return Ok(false),
            }
            Ok(true)
        });
        let edited = edited.collect::<Result<Vec<_>>>()?;
        batch.commit(writer)?;
        return Ok(edited);
    }
}

/// What was found about a document without a lock.
struct Lookup<F> {
    /// The key's old version.
    old: Option<Document<F>>,
    /// The nearest match that the rule counts; `None` if it was not searched for.
    nearest: Option<Option<Match<F>>>,
}

fn look_up_all<F: Fingerprint>(
    core: &Core<F>,
    view: View<'_, F>,
    documents: &[(F, Stamped<'_>)],
    rule: Rule,
) -> Result<Vec<Lookup<F>>> {
    if let Rule::InsertIfNovel { distance } = rule
        && documents.len() > 1
    {
        let queries: Vec<F> = documents.iter().map(|&(fingerprint, _)| fingerprint).collect();
        let nearest = view.nearest_of_each(&queries, distance, core.threads())?;
        let lookup = |((_, Stamped { key, .. }), nearest): (&(F, Stamped<'_>), _)| {
            let old = view.version.document(&key.to_bytes(), view.seq)?;
            Ok(Lookup { old, nearest: Some(nearest) })
        };
        return documents.iter().zip(nearest).map(lookup).collect();
    }
    documents.iter().map(|document| look_up(view, document, rule)).collect()
}

fn look_up<F: Fingerprint>(
    view: View<'_, F>,
    &(fingerprint, Stamped { key, .. }): &(F, Stamped<'_>),
    rule: Rule,
) -> Result<Lookup<F>> {
    let old = view.version.document(&key.to_bytes(), view.seq)?;
    let Some(distance) = rule.distance() else { return Ok(Lookup { old, nearest: None }) };
    let own = match (rule, old) {
        // Nothing depends on other documents.
        (Rule::Upsert { .. }, Some(old)) if is_unchanged_original(&old, fingerprint) => {
            return Ok(Lookup { old: Some(old), nearest: None });
        }
        (Rule::Upsert { .. }, Some(old)) => old.entry(),
        _ => None,
    };
    // One more than is needed, because the key's own entry may be the nearest.
    let limit = 1 + usize::from(own.is_some());
    let found = view.query(fingerprint, QueryOptions::within(distance).limit(limit))?;
    let nearest = found.into_iter().find(|found| Some(entry_of(found)) != own);
    Ok(Lookup { old, nearest: Some(nearest) })
}

fn is_unchanged_original<F: Fingerprint>(old: &Document<F>, fingerprint: F) -> bool {
    old.fingerprint == fingerprint && old.duplicate_of.is_none()
}

fn entry_of<F: Fingerprint>(found: &Match<F>) -> Entry<F> {
    Entry { fingerprint: found.fingerprint, id: found.id }
}

/// The documents of a commit that is being made, under the writer's lock.
struct Batch<'a, F> {
    core: &'a Core<F>,
    /// Everything that is committed.
    version: &'a Version<F>,
    /// The last commit that the lookups without a lock saw.
    seen: u64,
    /// The next id of a database with names.
    next_doc: u64,
    ops: Vec<Op<F>>,
    /// The changes so far, unless the batch is a single document.
    changes: Option<Memtable<F>>,
    /// The commit that must be acknowledged with this one, because it was read.
    depends_on: u64,
}

impl<'a, F: Fingerprint> Batch<'a, F> {
    fn new(
        core: &'a Core<F>,
        version: &'a Version<F>,
        seen: u64,
        next_doc: u64,
        documents: usize,
    ) -> Self {
        let memtable = || Memtable::for_batch(documents, core.planner.permutations(), next_doc);
        let changes = (documents > 1).then(memtable);
        Self { core, version, seen, next_doc, ops: Vec::new(), changes, depends_on: 0 }
    }

    /// Commits the changes, and waits until they and what was read may be acknowledged.
    fn commit(self, mut writer: MutexGuard<'_, Writer>) -> Result<()> {
        let Self { core, ops, depends_on, .. } = self;
        let committed = if ops.is_empty() { 0 } else { commit(core, &mut writer, &ops)? };
        acknowledge(core, writer, committed.max(depends_on))
    }

    /// Decides what a document becomes. Returns the outcome and the id of the key, or, for a
    /// duplicate without one, that of its match.
    fn decide(
        &mut self,
        &(fingerprint, Stamped { key, stamp }): &(F, Stamped<'_>),
        lookup: &Lookup<F>,
        rule: Rule,
    ) -> Result<(Outcome<F>, DocId)> {
        let old = self.document(key, lookup.old);
        let stamp = stamp.or(old.and_then(|old| old.stamp));
        let is_same = old.is_some_and(|old| is_unchanged_original(&old, fingerprint));
        let nearest = match rule {
            Rule::Insert => None,
            Rule::Upsert { .. } if is_same => None,
            Rule::Upsert { distance, .. } => self.nearest(fingerprint, distance, old, lookup)?,
            Rule::InsertIfNovel { distance } => {
                self.nearest(fingerprint, distance, None, lookup)?
            }
        };
        if let Some(found) = nearest {
            return self.duplicate(fingerprint, key, old, stamp, found, rule);
        }
        let id = match (old, key) {
            (Some(old), _) => old.id,
            (None, Key::Id(id)) => id,
            (None, Key::Name(_)) => DocId(self.next_doc),
        };
        self.change(key, id, old, Some(Document { fingerprint, id, stamp, duplicate_of: None }))?;
        let outcome = match old {
            Some(_) if is_same => Outcome::Unchanged,
            Some(old) => {
                let from = old.fingerprint;
                Outcome::Updated { from, distance: from.distance(fingerprint) }
            }
            None => Outcome::Inserted(id),
        };
        Ok((outcome, id))
    }

    /// Decides what becomes of a document that has a match.
    fn duplicate(
        &mut self,
        fingerprint: F,
        key: Key<'_>,
        old: Option<Document<F>>,
        stamp: Option<u64>,
        found: Match<F>,
        rule: Rule,
    ) -> Result<(Outcome<F>, DocId)> {
        let outcome = Outcome::Duplicate(found);
        let id = old.map_or(found.id, |old| old.id);
        let Rule::Upsert { on_duplicate, .. } = rule else { return Ok((outcome, id)) };
        if let Some(old) = old.filter(|old| old.fingerprint == fingerprint) {
            // A remembered duplicate that is still one.
            self.change(key, id, Some(old), Some(Document { stamp, ..old }))?;
            return Ok((Outcome::Unchanged, id));
        }
        match (on_duplicate, old) {
            (OnDuplicate::Keep | OnDuplicate::Remove, None) => {}
            (OnDuplicate::Keep, Some(kept)) => {
                self.change(key, id, old, Some(Document { stamp, ..kept }))?;
            }
            (OnDuplicate::Remove, Some(_)) => {
                self.change(key, id, old, None)?;
            }
            (OnDuplicate::Remember, _) => {
                let id = match (old, key) {
                    (Some(old), _) => old.id,
                    (None, Key::Id(id)) => id,
                    (None, Key::Name(_)) => DocId(self.next_doc),
                };
                let duplicate_of = Some(found.id);
                let new = Document { fingerprint, id, stamp, duplicate_of };
                self.change(key, id, old, Some(new))?;
                return Ok((outcome, id));
            }
        }
        Ok((outcome, id))
    }

    /// Returns the document with this key now. `seen` is what the lookup found.
    fn document(&mut self, key: Key<'_>, seen: Option<Document<F>>) -> Option<Document<F>> {
        let key = key.to_bytes();
        let in_batch = self.changes.as_ref().and_then(|changes| changes.document(&key, u64::MAX));
        if let Some((_, document)) = in_batch {
            return document;
        }
        let mut newer = self.version.memtables().rev().filter(|m| m.last_seq() > self.seen);
        match newer.find_map(|m| m.document(&key, u64::MAX)) {
            Some((seq, document)) if seq > self.seen => {
                self.depends_on = self.depends_on.max(seq);
                document
            }
            _ => seen,
        }
    }

    /// Adds the change of a document to the commit, unless nothing changes.
    fn change(
        &mut self,
        key: Key<'_>,
        id: DocId,
        before: Option<Document<F>>,
        after: Option<Document<F>>,
    ) -> Result<()> {
        if before == after {
            return Ok(());
        }
        let name = match key {
            Key::Name(name) => Some(name.into()),
            Key::Id(_) => None,
        };
        if name.is_some() && before.is_none() {
            self.next_doc = id.0 + 1;
            if self.next_doc >= COUNTER_LIMIT {
                return Err(Error::invalid("there are not enough ids left for these documents")
                    .at_path(self.core.storage.root()));
            }
        }
        let op = Op::Change(DocumentChange { name, id, before: Before::of(before), after });
        if let Some(changes) = &self.changes {
            changes.apply(self.ops.len() as u64 + 1, std::slice::from_ref(&op))?;
        }
        self.ops.push(op);
        Ok(())
    }

    /// Returns the nearest match now, except for the entry of `own`.
    fn nearest(
        &mut self,
        fingerprint: F,
        distance: u32,
        own: Option<Document<F>>,
        lookup: &Lookup<F>,
    ) -> Result<Option<Match<F>>> {
        let own = own.and_then(Document::entry);
        let in_batch = self.changes.as_ref();
        let is_gone = |source: &Memtable<F>, entry| source.state(entry, u64::MAX) == Some(false);
        let accept =
            |entry| Some(entry) != own && !in_batch.is_some_and(|changes| is_gone(changes, entry));
        let is_live = |found: &Match<F>| {
            let mut memtables = self.version.memtables().rev();
            let state = memtables.find_map(|m| m.state(entry_of(found), u64::MAX));
            accept(entry_of(found)) && state != Some(false)
        };
        let mut depends_on = 0;
        let seen = match lookup.nearest {
            Some(found) if found.is_none_or(|found| is_live(&found)) => found,
            // It was not searched for, or it was removed or updated since.
            _ => {
                let (seq, planner) = (u64::MAX, &*self.core.planner);
                let view = View { version: self.version, seq, planner };
                let found = view.query(fingerprint, QueryOptions::within(distance))?;
                depends_on = self.version.active.last_seq();
                found.into_iter().find(|found| accept(entry_of(found)))
            }
        };
        let plan = |entries| self.core.planner.plan_in_memory(entries, distance);
        let matching = |(seq, entry, distance): (u64, Entry<F>, u32)| {
            (Match { distance, fingerprint: entry.fingerprint, id: entry.id }, seq)
        };
        let Version { frozen, active, .. } = self.version;
        let newer = active.newer_match(fingerprint, plan, distance, self.seen, accept);
        let frozen = frozen.as_ref().and_then(|frozen| {
            let accept = |entry| accept(entry) && !is_gone(active, entry);
            frozen.newer_match(fingerprint, plan, distance, self.seen, accept)
        });
        let newer = newer.into_iter().chain(frozen).map(matching).min();
        let is_other = |entry| Some(entry) != own;
        let batched = in_batch
            .and_then(|changes| changes.newer_match(fingerprint, plan, distance, 0, is_other));
        let batched = batched.map(|found| (matching(found).0, 0));
        let nearest = [seen.map(|found| (found, depends_on)), newer, batched];
        let nearest = nearest.into_iter().flatten().min();
        depends_on = nearest.map_or(depends_on, |(_, seq)| seq.max(depends_on));
        self.depends_on = self.depends_on.max(depends_on);
        Ok(nearest.map(|(found, _)| found))
    }
}
