//! The write path: insert, insert if novel, remove; single and in batches.
//!
//! The search for near-duplicates, the dear part, runs without a lock on what is acknowledged. Under
//! the writer's lock only what is newer than that is looked at again.

use std::collections::BTreeSet;
use std::io;

use super::commit::Writer;
use super::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint, Match};
use crate::log::{MAX_NAME_LEN, Op};
use crate::memtable::Memtable;
use crate::query::{QueryOptions, View};
use crate::settings::Ids;
use crate::version::Version;

/// What the caller calls a document: a number or a name, as the database has it.
///
/// # Examples
///
/// ```
/// use fpdb::{DocId, Key};
/// assert_eq!(Key::from(7), Key::Id(DocId(7)));
/// assert_eq!(Key::from("https://example.org/"), Key::Name("https://example.org/"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Key<'a> {
    /// For a database with [user ids](Ids::User).
    Id(DocId),
    /// For a database with [names](Ids::Names): 1 to 65,535 bytes.
    Name(&'a str),
}

impl From<DocId> for Key<'_> {
    fn from(id: DocId) -> Self {
        Self::Id(id)
    }
}

impl From<u64> for Key<'_> {
    fn from(id: u64) -> Self {
        Self::Id(DocId(id))
    }
}

impl<'a> From<&'a str> for Key<'a> {
    fn from(name: &'a str) -> Self {
        Self::Name(name)
    }
}

impl<'a> From<&'a String> for Key<'a> {
    fn from(name: &'a String) -> Self {
        Self::Name(name)
    }
}

/// What became of a document that was to be inserted if novel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[must_use]
pub enum Novelty<F = u64> {
    /// Nothing was within the distance: it is in the database now, under this id.
    Inserted(DocId),
    /// The nearest entry within the distance; nothing was written.
    Duplicate(Match<F>),
}

/// What a search without the lock found for one document.
struct Looked<F> {
    found: Option<Match<F>>,
    /// The fingerprint in each table's bit order.
    permuted: Vec<F>,
}

/// The verdict on one document, and the commit that must be acknowledged with it.
struct Verdict<F> {
    novelty: Novelty<F>,
    depends_on: u64,
}

impl<F: Fingerprint> Core<F> {
    /// Inserts entries in one commit; those that stand already are left alone.
    pub(super) fn insert_all(&self, documents: &[(F, Key<'_>)]) -> Result<Vec<DocId>> {
        documents.iter().try_for_each(|(_, key)| self.check_key(key))?;
        loop {
            let (version, seq) = self.view();
            let stands = |&(fingerprint, key): &(F, Key<'_>)| match key {
                Key::Id(id) => version.contains(Entry { fingerprint, id }, seq),
                Key::Name(_) => Ok(false),
            };
            let standing: Vec<bool> = documents.iter().map(stands).collect::<Result<_>>()?;
            let mut writer = self.writer_with_room()?;
            let now = self.current.get();
            if now.outgrows(&version, seq) {
                continue;
            }
            let (ids, ops) = insert_ops(&now, &writer, documents, &standing);
            let seq = if ops.is_empty() { writer.seq } else { self.commit(&mut writer, &ops)? };
            // An entry that stands already may be another writer's, not yet durable.
            self.acknowledge(writer, seq)?;
            return Ok(ids);
        }
    }

    /// Inserts the documents that have nothing within the distance, as if one by one, in one
    /// commit. `before_commit` sees the verdicts; its error abandons all.
    pub(super) fn insert_novel(
        &self,
        documents: &[(F, Key<'_>)],
        before_commit: impl FnOnce(&[Novelty<F>]) -> io::Result<()>,
    ) -> Result<Vec<Novelty<F>>> {
        documents.iter().try_for_each(|(_, key)| self.check_key(key))?;
        loop {
            let (version, seq) = self.view();
            let looked = self.look_up(&version, seq, documents)?;
            let mut writer = self.writer_with_room()?;
            let now = self.current.get();
            if now.outgrows(&version, seq) {
                continue;
            }
            let (verdicts, ops) = self.judge(&now, &writer, documents, &looked, seq);
            let novelties: Vec<Novelty<F>> = verdicts.iter().map(|v| v.novelty).collect();
            before_commit(&novelties).map_err(|source| {
                Error::io("go on: the caller ended the batch", self.storage.root(), source)
            })?;
            let committed = if ops.is_empty() { 0 } else { self.commit(&mut writer, &ops)? };
            let depends_on = verdicts.iter().map(|v| v.depends_on).max().unwrap_or(0);
            self.acknowledge(writer, committed.max(depends_on))?;
            return Ok(novelties);
        }
    }

    fn look_up(
        &self,
        version: &Version<F>,
        seq: u64,
        documents: &[(F, Key<'_>)],
    ) -> Result<Vec<Looked<F>>> {
        let view = View { version, seq, planner: &self.planner };
        let nearest = QueryOptions::within(self.settings.max_distance).limit(1);
        let look = |&(fingerprint, _): &(F, Key<'_>)| {
            let permuted = self.planner.permuted(fingerprint);
            let found = view.query_permuted(&permuted, nearest)?.pop();
            Ok(Looked { found, permuted })
        };
        documents.iter().map(look).collect()
    }

    /// Decides on each document in turn: by what was found without the lock, by what was committed
    /// since, and by what comes before it in the batch.
    fn judge(
        &self,
        version: &Version<F>,
        writer: &Writer,
        documents: &[(F, Key<'_>)],
        looked: &[Looked<F>],
        seen: u64,
    ) -> (Vec<Verdict<F>>, Vec<Op<F>>) {
        // A single document has nothing before it in the batch.
        let batch = (documents.len() > 1)
            .then(|| Memtable::new(self.planner.permutations().to_vec(), documents.len(), 0));
        let mut ops = Vec::new();
        let mut next_doc = writer.next_doc;
        let verdicts = documents.iter().zip(looked).map(|(&(fingerprint, key), looked)| {
            let in_version = version.memtables().filter_map(|m| self.newer(m, looked, seen));
            let in_batch = batch.as_ref().and_then(|batch| self.newer(batch, looked, 0));
            let in_batch = in_batch.map(|(found, _)| (found, 0));
            let seen_before = looked.found.map(|found| (found, 0));
            let nearest = in_version.chain(in_batch).chain(seen_before).min();
            if let Some((found, depends_on)) = nearest {
                return Verdict { novelty: Novelty::Duplicate(found), depends_on };
            }
            let (id, op) = new_entry(fingerprint, key, &mut next_doc);
            ops.push(op);
            if let Some(batch) = &batch {
                let in_batch = [Op::Insert { fingerprint, id }];
                // Only names can be refused, and this has none.
                let _ = batch.apply(ops.len() as u64, &in_batch);
            }
            Verdict { novelty: Novelty::Inserted(id), depends_on: 0 }
        });
        let verdicts = verdicts.collect();
        (verdicts, ops)
    }

    /// The nearest match among what the memtable took in after commit `seen`, with its commit.
    fn newer(
        &self,
        memtable: &Memtable<F>,
        looked: &Looked<F>,
        seen: u64,
    ) -> Option<(Match<F>, u64)> {
        let distance = self.settings.max_distance;
        let capacity = memtable.capacity();
        let plan = |entries| self.planner.plan_in_memory(entries, capacity, distance);
        let (seq, entry, distance) =
            memtable.newer_match(&looked.permuted, plan, distance, seen)?;
        Some((Match { distance, fingerprint: entry.fingerprint, id: entry.id }, seq))
    }

    /// Removes an entry; false if it does not stand.
    pub(super) fn remove(&self, entry: Entry<F>) -> Result<bool> {
        let mut writer = self.writer_with_room()?;
        let stands = self.current.get().contains(entry, u64::MAX)?;
        let seq = match stands {
            true => self.commit(
                &mut writer,
                &[Op::Remove { fingerprint: entry.fingerprint, id: entry.id }],
            )?,
            // That it is gone may be another writer's doing, not yet durable.
            false => writer.seq,
        };
        self.acknowledge(writer, seq)?;
        Ok(stands)
    }

    fn check_key(&self, key: &Key<'_>) -> Result<()> {
        let problem = match (self.settings.ids, key) {
            (Ids::User, Key::Id(_)) => return Ok(()),
            (Ids::Names, Key::Name(name)) if (1..=MAX_NAME_LEN).contains(&name.len()) => {
                return Ok(());
            }
            (Ids::Names, Key::Name(name)) => {
                format!("a name has 1 to {MAX_NAME_LEN} bytes, this one {}", name.len())
            }
            (Ids::User, Key::Name(_)) => {
                "this database has user ids: give a DocId instead of a name".into()
            }
            (Ids::Names, Key::Id(_)) => {
                "this database allots ids itself: give a name instead of a DocId".into()
            }
        };
        Err(Error::new(ErrorKind::InvalidArgument, problem).at_path(self.storage.root()))
    }
}

/// Operations for the documents that do not stand yet, and the ids of all.
fn insert_ops<F: Fingerprint>(
    version: &Version<F>,
    writer: &Writer,
    documents: &[(F, Key<'_>)],
    standing: &[bool],
) -> (Vec<DocId>, Vec<Op<F>>) {
    let mut batch = BTreeSet::new();
    let mut ops = Vec::with_capacity(documents.len());
    let mut next_doc = writer.next_doc;
    let ids = documents.iter().zip(standing).map(|(&(fingerprint, key), &stood)| {
        let (id, op) = new_entry(fingerprint, key, &mut next_doc);
        let entry = Entry { fingerprint, id };
        let newer = version.memtables().rev().find_map(|m| m.state(entry, u64::MAX));
        if !newer.unwrap_or(stood) && batch.insert(entry) {
            ops.push(op);
        }
        id
    });
    let ids = ids.collect();
    (ids, ops)
}

/// The id of a new entry, and the operation that makes it.
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
