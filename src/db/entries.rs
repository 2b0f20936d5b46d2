//! Writes in databases whose ids do not identify documents: their entries are a set.

use std::collections::BTreeSet;
use std::io;

use super::backpressure::writer_with_room;
use super::commit::commit;
use super::core::Core;
use super::sync::acknowledge;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::log::Op;
use crate::memtable::Memtable;
use crate::query::{QueryOptions, View};
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
pub(super) fn insert<F: Fingerprint>(core: &Core<F>, entries: &[Entry<F>]) -> Result<Vec<DocId>> {
    loop {
        let (version, seq) = core.visible_version();
        let existing = entries.iter().map(|&entry| version.contains(entry, seq));
        let existing: Vec<bool> = existing.collect::<Result<_>>()?;
        let mut writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let ops = insert_ops(&now, entries, &existing);
        let seq = if ops.is_empty() { writer.seq } else { commit(core, &mut writer, &ops)? };
        // An entry that exists already may be another writer's and not yet durable.
        acknowledge(core, writer, seq)?;
        return Ok(entries.iter().map(|entry| entry.id).collect());
    }
}

/// Inserts the entries that have nothing within `distance`, as if one by one, in one commit.
/// `before_commit` sees the decisions, and its error abandons the commit.
pub(super) fn insert_if_novel<F: Fingerprint>(
    core: &Core<F>,
    entries: &[Entry<F>],
    distance: u32,
    before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
) -> Result<Vec<Novelty<F>>> {
    loop {
        let (version, seq) = core.visible_version();
        let lookups = look_up(core, &version, seq, entries, distance)?;
        let mut writer = writer_with_room(core)?;
        let now = core.current.get();
        if now.outgrows(&version, seq) {
            continue;
        }
        let newer = Newer { core, version: &now, after: seq, distance };
        let Decisions { novelties, depends_on, ops } = decide(&newer, entries, &lookups);
        before_commit(&novelties)
            .map_err(|source| Error::ended_by_caller(core.storage.root(), source))?;
        let committed = if ops.is_empty() { 0 } else { commit(core, &mut writer, &ops)? };
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

/// Returns the operations for the entries that do not exist yet.
fn insert_ops<F: Fingerprint>(
    version: &Version<F>,
    entries: &[Entry<F>],
    existing: &[bool],
) -> Vec<Op<F>> {
    let mut batch = BTreeSet::new();
    let mut ops = Vec::with_capacity(entries.len());
    for (&entry, &existed) in entries.iter().zip(existing) {
        let newer = version.memtables().rev().find_map(|m| m.state(entry, u64::MAX));
        if !newer.unwrap_or(existed) && batch.insert(entry) {
            ops.push(Op::Insert { fingerprint: entry.fingerprint, id: entry.id });
        }
    }
    ops
}

/// Returns the nearest match of each entry, searched without a lock.
fn look_up<F: Fingerprint>(
    core: &Core<F>,
    version: &Version<F>,
    seq: u64,
    entries: &[Entry<F>],
    distance: u32,
) -> Result<Vec<Option<Match<F>>>> {
    let view = View { version, seq, planner: &core.planner };
    if let [entry] = entries {
        let options = QueryOptions::within(distance).limit(1);
        return Ok(vec![view.query(entry.fingerprint, options)?.pop()]);
    }
    let queries: Vec<F> = entries.iter().map(|entry| entry.fingerprint).collect();
    view.nearest_of_each(&queries, distance, core.threads())
}

/// What was decided on each entry.
struct Decisions<F> {
    novelties: Vec<Novelty<F>>,
    /// The last commit that must be acknowledged with them.
    depends_on: u64,
    ops: Vec<Op<F>>,
}

/// Decides on each entry in turn: by what the search without a lock found, by what was committed
/// since, and by the entries before it in the batch.
fn decide<F: Fingerprint>(
    newer: &Newer<'_, F>,
    entries: &[Entry<F>],
    lookups: &[Option<Match<F>>],
) -> Decisions<F> {
    // A single entry has none before it.
    let permutations = newer.core.planner.permutations();
    let batch = (entries.len() > 1).then(|| Memtable::for_batch(entries.len(), permutations, 0));
    let (mut depends_on, mut ops) = (0, Vec::new());
    let novelties = entries.iter().zip(lookups).map(|(&Entry { fingerprint, id }, lookup)| {
        let committed = newer.nearest(fingerprint);
        let in_batch = batch.as_ref().and_then(|batch| newer.nearest_in(batch, fingerprint, 0));
        let in_batch = in_batch.map(|(found, _)| (found, 0));
        let before = lookup.map(|found| (found, 0));
        let nearest = [committed, in_batch, before].into_iter().flatten().min();
        if let Some((found, seq)) = nearest {
            depends_on = depends_on.max(seq);
            return Novelty::Duplicate(found);
        }
        ops.push(Op::Insert { fingerprint, id });
        if let Some(batch) = &batch {
            // This cannot fail: only documents can be refused.
            let _ = batch.apply(ops.len() as u64, &[Op::Insert { fingerprint, id }]);
        }
        Novelty::Inserted(id)
    });
    let novelties = novelties.collect();
    Decisions { novelties, depends_on, ops }
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
            memtable.newer_match(fingerprint, plan, self.distance, after, |_| true)?;
        Some((Match { distance, fingerprint: entry.fingerprint, id: entry.id }, seq))
    }
}
