//! Writes: insert, insert if novel, remove.
//!
//! A write looks up what it has to know, decides, commits (`commit.rs`) and waits until the commit
//! may be acknowledged (`sync.rs`). The expensive part is the search for near-duplicates among the
//! visible entries. It runs without a lock. Under the writer's lock only newer commits are
//! searched.

use std::collections::BTreeSet;
use std::io;

use super::backpressure::writer_with_room;
use super::commit::commit;
use super::core::{Core, Writer};
use super::key::Key;
use super::sync::acknowledge;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::log::{MAX_NAME_LEN, Op};
use crate::manifest::COUNTER_LIMIT;
use crate::memtable::Memtable;
use crate::query::{QueryOptions, View};
use crate::settings::Ids;
use crate::version::Version;

/// Whether a document was inserted because it is novel.
///
/// # Examples
///
/// ```
/// use fpdb::Novelty;
/// # let folder = tempfile::tempdir()?;
/// # let db = fpdb::Db::options().create(folder.path().join("db"))?;
/// assert!(matches!(db.insert_if_novel(0b1100, 1)?, Novelty::Inserted(_)));
/// assert!(matches!(db.insert_if_novel(0b1110, 2)?, Novelty::Duplicate(m) if m.distance == 1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Novelty<F = u64> {
    /// Nothing was within the distance. The document is in the database now, under this id.
    Inserted(DocId),
    /// The nearest entry within the distance. Nothing was written.
    Duplicate(Match<F>),
}

/// Inserts entries in one commit. Entries that exist already are left as they are.
pub(super) fn insert<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Key<'_>)],
) -> Result<Vec<DocId>> {
    documents.iter().try_for_each(|(_, key)| check_key(core, key))?;
    loop {
        let (version, seq) = core.visible_version();
        let exists = |&(fingerprint, key): &(F, Key<'_>)| match key {
            Key::Id(id) => version.contains(Entry { fingerprint, id }, seq),
            Key::Name(_) => Ok(false),
        };
        let existing: Vec<bool> = documents.iter().map(exists).collect::<Result<_>>()?;
        let mut writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        check_ids_left(core, &writer, documents.len())?;
        let (ids, ops) = insert_ops(&now, &writer, documents, &existing);
        let seq = if ops.is_empty() { writer.seq } else { commit(core, &mut writer, &ops)? };
        // An entry that exists already may be another writer's and not yet durable.
        acknowledge(core, writer, seq)?;
        return Ok(ids);
    }
}

/// Inserts the documents that have nothing within `distance`, as if one by one, in one commit.
/// `before_commit` sees the decisions, and its error abandons the commit.
pub(super) fn insert_if_novel<F: Fingerprint>(
    core: &Core<F>,
    documents: &[(F, Key<'_>)],
    distance: u32,
    before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
) -> Result<Vec<Novelty<F>>> {
    documents.iter().try_for_each(|(_, key)| check_key(core, key))?;
    loop {
        let (version, seq) = core.visible_version();
        let lookups = look_up(core, &version, seq, documents, distance)?;
        let mut writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let newer = Newer { core, version: &now, after: seq, distance };
        let (decisions, ops) = decide(&newer, &writer, documents, &lookups);
        let novelties: Vec<Novelty<F>> = decisions.iter().map(|d| d.novelty).collect();
        before_commit(&novelties)
            .map_err(|source| Error::ended_by_caller(core.storage.root(), source))?;
        let committed = if ops.is_empty() { 0 } else { commit(core, &mut writer, &ops)? };
        let depends_on = decisions.iter().map(|d| d.depends_on).max().unwrap_or(0);
        acknowledge(core, writer, committed.max(depends_on))?;
        return Ok(novelties);
    }
}

/// Removes an entry. Returns false if it does not exist.
pub(super) fn remove<F: Fingerprint>(core: &Core<F>, entry: Entry<F>) -> Result<bool> {
    let Entry { fingerprint, id } = entry;
    let mut writer = writer_with_room(core)?;
    let exists = core.current.get().contains(entry, u64::MAX)?;
    let seq = match exists {
        true => commit(core, &mut writer, &[Op::Remove { fingerprint, id }])?,
        // Another writer may have removed it, in a commit that is not yet durable.
        false => writer.seq,
    };
    acknowledge(core, writer, seq)?;
    Ok(exists)
}

/// Refuses a key of the wrong kind or length.
fn check_key<F: Fingerprint>(core: &Core<F>, key: &Key<'_>) -> Result<()> {
    let problem = match (core.settings.ids, key) {
        (Ids::User, Key::Id(_)) => return Ok(()),
        (Ids::Names, Key::Name(name)) if (1..=MAX_NAME_LEN).contains(&name.len()) => return Ok(()),
        (Ids::Names, Key::Name(name)) => {
            format!("a name must have 1 to {MAX_NAME_LEN} bytes, and this one has {}", name.len())
        }
        (Ids::User, Key::Name(_)) => {
            "this database has user ids: give a DocId instead of a name".into()
        }
        (Ids::Names, Key::Id(_)) => {
            "this database assigns ids itself: give a name instead of a DocId".into()
        }
    };
    Err(Error::invalid(problem).at_path(core.storage.root()))
}

/// Refuses documents whose ids a manifest could not hold. Only a forged manifest comes near this
/// limit.
fn check_ids_left<F: Fingerprint>(core: &Core<F>, writer: &Writer, documents: usize) -> Result<()> {
    match writer.next_doc.checked_add(documents as u64) {
        Some(next) if next < COUNTER_LIMIT => Ok(()),
        _ => Err(Error::invalid("there are not enough ids left for these documents")
            .at_path(core.storage.root())),
    }
}

/// Returns the ids of all documents, and the operations for those that do not exist yet.
fn insert_ops<F: Fingerprint>(
    version: &Version<F>,
    writer: &Writer,
    documents: &[(F, Key<'_>)],
    existing: &[bool],
) -> (Vec<DocId>, Vec<Op<F>>) {
    let mut batch = BTreeSet::new();
    let mut ops = Vec::with_capacity(documents.len());
    let mut next_doc = writer.next_doc;
    let ids = documents.iter().zip(existing).map(|(&(fingerprint, key), &existed)| {
        let (id, op) = new_entry(fingerprint, key, &mut next_doc);
        let entry = Entry { fingerprint, id };
        let newer = version.memtables().rev().find_map(|m| m.state(entry, u64::MAX));
        if !newer.unwrap_or(existed) && batch.insert(entry) {
            ops.push(op);
        }
        id
    });
    let ids = ids.collect();
    (ids, ops)
}

/// Returns the id of a new entry and the operation that inserts it.
fn new_entry<F: Fingerprint>(fingerprint: F, key: Key<'_>, next_doc: &mut u64) -> (DocId, Op<F>) {
    match key {
        Key::Id(id) => (id, Op::Insert { fingerprint, id }),
        Key::Name(name) => {
            let id = DocId(*next_doc);
            *next_doc += 1;
            (id, Op::InsertNamed { fingerprint, id, name: name.to_owned() })
        }
    }
}

/// Returns the nearest match of each document, searched without a lock.
fn look_up<F: Fingerprint>(
    core: &Core<F>,
    version: &Version<F>,
    seq: u64,
    documents: &[(F, Key<'_>)],
    distance: u32,
) -> Result<Vec<Option<Match<F>>>> {
    let view = View { version, seq, planner: &core.planner };
    let options = QueryOptions::within(distance).limit(1);
    let look_up = |&(fingerprint, _): &(F, Key<'_>)| Ok(view.query(fingerprint, options)?.pop());
    documents.iter().map(look_up).collect()
}

/// The decision on one document, and the commit that must be acknowledged with it.
struct Decision<F> {
    novelty: Novelty<F>,
    depends_on: u64,
}

/// Decides on each document in turn: by what the search without a lock found, by what was committed
/// since, and by the documents before it in the batch.
fn decide<F: Fingerprint>(
    newer: &Newer<'_, F>,
    writer: &Writer,
    documents: &[(F, Key<'_>)],
    lookups: &[Option<Match<F>>],
) -> (Vec<Decision<F>>, Vec<Op<F>>) {
    // A single document has none before it.
    let batch =
        (documents.len() > 1).then(|| Memtable::new(newer.core.planner.permutations().to_vec(), 0));
    let mut ops = Vec::new();
    let mut next_doc = writer.next_doc;
    let decisions = documents.iter().zip(lookups).map(|(&(fingerprint, key), lookup)| {
        let committed = newer.nearest(fingerprint);
        let in_batch = batch.as_ref().and_then(|batch| newer.nearest_in(batch, fingerprint, 0));
        let in_batch = in_batch.map(|(found, _)| (found, 0));
        let before = lookup.map(|found| (found, 0));
        if let Some((found, depends_on)) = [committed, in_batch, before].into_iter().flatten().min()
        {
            return Decision { novelty: Novelty::Duplicate(found), depends_on };
        }
        let (id, op) = new_entry(fingerprint, key, &mut next_doc);
        ops.push(op);
        if let Some(batch) = &batch {
            // This cannot fail: only names can be refused, and this entry has none.
            let _ = batch.apply(ops.len() as u64, &[Op::Insert { fingerprint, id }]);
        }
        Decision { novelty: Novelty::Inserted(id), depends_on: 0 }
    });
    let decisions = decisions.collect();
    (decisions, ops)
}

/// The commits that the search without a lock did not see.
struct Newer<'a, F> {
    core: &'a Core<F>,
    version: &'a Version<F>,
    /// The last commit that it saw.
    after: u64,
    distance: u32,
}

impl<F: Fingerprint> Newer<'_, F> {
    /// Returns the nearest match in these commits, with its commit.
    fn nearest(&self, fingerprint: F) -> Option<(Match<F>, u64)> {
        let memtables = self.version.memtables();
        memtables.filter_map(|memtable| self.nearest_in(memtable, fingerprint, self.after)).min()
    }

    /// Returns the nearest match among what a memtable took in after commit `after`.
    fn nearest_in(
        &self,
        memtable: &Memtable<F>,
        fingerprint: F,
        after: u64,
    ) -> Option<(Match<F>, u64)> {
        let plan = |entries| self.core.planner.plan_in_memory(entries, self.distance);
        let (seq, entry, distance) =
            memtable.newer_match(fingerprint, plan, self.distance, after)?;
        Some((Match { distance, fingerprint: entry.fingerprint, id: entry.id }, seq))
    }
}
