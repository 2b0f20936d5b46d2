//! What a write has to know beyond its lookup.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::MutexGuard;

use crate::base::error::Result;
use crate::db::commit::commit;
use crate::db::commit::sync::acknowledge;
use crate::db::state::core::{Core, Writer};
use crate::db::state::key::DocumentKey;
use crate::db::write::confirm::{Candidate, Confirm};
use crate::fingerprint::{Document, Entry, Fingerprint, Match};
use crate::query::{NewMatch, QueryOptions, View, Within};
use crate::store::log::Op;
use crate::store::memtable::Memtable;
use crate::store::version::Version;

/// Answers what was committed since the lookup of a write, and what became of earlier documents in
/// its batch. Exists under the writer's lock, so nothing is committed in the meantime.
pub(super) struct Since<'a, F: Fingerprint> {
    core: &'a Core<F>,
    version: &'a Version<F>,
    /// The last commit that the lookup saw.
    seen: u64,
    ops: Vec<Op<F>>,
    /// What `ops` change. A batch of one has nothing before it.
    changes: Option<Memtable<F>>,
    /// The last commit that must be acknowledged with this one.
    depends_on: u64,
    /// The positions of the documents in the batch that have these entries.
    given: BTreeMap<Entry<F>, usize>,
}

/// A search for the nearest other document.
#[derive(Clone, Copy)]
pub(super) struct Near<F> {
    pub(super) fingerprint: F,
    pub(super) within: Within,
    /// The entry of the document itself, which does not count.
    pub(super) own: Option<Entry<F>>,
}

impl<'a, F: Fingerprint> Since<'a, F> {
    /// Begins a batch of `documents` documents, whose lookup saw the commits up to `seen`. The next
    /// document with a new name gets the id `next_doc`.
    pub(super) fn new(
        core: &'a Core<F>,
        version: &'a Version<F>,
        seen: u64,
        next_doc: u64,
        documents: usize,
    ) -> Self {
        let memtable = || Memtable::for_batch(documents, &core.settings.index, next_doc);
        let changes = (documents > 1).then(memtable);
        let given = BTreeMap::new();
        Self { core, version, seen, ops: Vec::new(), changes, depends_on: 0, given }
    }

    /// Adds an operation to the commit.
    pub(super) fn push(&mut self, op: Op<F>) -> Result<()> {
        if let Some(changes) = &self.changes {
            changes.apply(self.ops.len() as u64 + 1, std::slice::from_ref(&op))?;
        }
        self.ops.push(op);
        Ok(())
    }

    /// Notes that the document at this position in the batch has this entry, once it is pushed.
    pub(super) fn gave(&mut self, position: usize, entry: Entry<F>) {
        if self.changes.is_some() {
            self.given.insert(entry, position);
        }
    }

    /// Returns the operations so far.
    pub(super) fn ops(&self) -> &[Op<F>] {
        &self.ops
    }

    /// Commits and acknowledges the operations.
    pub(super) fn commit(self, mut writer: MutexGuard<'_, Writer>) -> Result<()> {
        let Self { core, ops, depends_on, .. } = self;
        let committed = if ops.is_empty() { 0 } else { commit(core, &mut writer, &ops)? };
        acknowledge(core, writer, committed.max(depends_on))
    }

    /// Returns the document with this key now. `seen` is what the lookup found.
    pub(super) fn document(
        &mut self,
        key: DocumentKey<'_>,
        seen: Option<Document<F>>,
    ) -> Option<Document<F>> {
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

    /// Returns the nearest match now. `lookup` is what the lookup found, if it searched.
    pub(super) fn nearest(
        &mut self,
        near: Near<F>,
        lookup: Option<Option<Match<F>>>,
    ) -> Result<Option<Match<F>>> {
        let seen = match lookup {
            Some(found) if found.is_none_or(|found| self.is_live(&found, near)) => found,
            // It was not searched for, or it was removed or updated since.
            _ => self.search_again(near)?,
        };
        let nearest = [seen.map(|found| (found, 0)), self.newer(near), self.in_batch(near)];
        let nearest = nearest.into_iter().flatten().min();
        self.depends_on = nearest.map_or(0, |(_, seq)| seq).max(self.depends_on);
        Ok(nearest.map(|(found, _)| found))
    }

    /// Returns the first match now that is confirmed for the document at this position in the
    /// batch. `lookup` is the first one that was confirmed of what the lookup found, if it
    /// searched.
    pub(super) fn confirmed(
        &mut self,
        near: Near<F>,
        lookup: Option<Option<Match<F>>>,
        position: usize,
        confirm: &mut Confirm<'_, F>,
    ) -> Result<Option<Match<F>>> {
        let folder = self.core.storage.root();
        let seen = match lookup {
            Some(found) if found.is_none_or(|found| self.is_live(&found, near)) => found,
            _ => {
                let found = self.all_again(near)?.into_iter().map(Candidate::stored);
                confirm.first(folder, position, found)?
            }
        };
        let mut newer = self.all_newer(near);
        newer.sort_unstable();
        newer.retain(|&found| seen.is_none_or(|seen| found < seen));
        let given = |found: &Match<F>| self.given.get(&found.entry()).copied();
        let newer = newer.into_iter().map(|found| Candidate { found, given: given(&found) });
        let nearest = confirm.first(folder, position, newer)?.or(seen);
        // Whichever was refused may be as new as the one that was confirmed.
        self.depends_on = self.depends_on.max(self.version.active.last_seq());
        Ok(nearest)
    }

    /// Returns whether an entry is there now.
    pub(super) fn has(&mut self, entry: Entry<F>) -> bool {
        let Version { active, frozen, .. } = self.version;
        let newer = self.changes.iter().chain([&**active]).chain(frozen.as_deref());
        let is_there = newer.filter_map(|memtable| memtable.state(entry, u64::MAX)).next();
        if is_there == Some(true) {
            self.depends_on = self.depends_on.max(active.last_seq());
        }
        is_there == Some(true)
    }

    /// Returns whether an entry counts: it is not the document's own, and the batch did not remove
    /// it.
    fn counts(&self, entry: Entry<F>, near: Near<F>) -> bool {
        Some(entry) != near.own && !self.changes.as_ref().is_some_and(|m| is_gone(m, entry))
    }

    /// Returns whether what the lookup found is still there, and counts.
    pub(super) fn is_live(&self, found: &Match<F>, near: Near<F>) -> bool {
        let mut memtables = self.version.memtables().rev();
        let state = memtables.find_map(|m| m.state(found.entry(), u64::MAX));
        self.counts(found.entry(), near) && state != Some(false)
    }

    fn search_again(&mut self, near: Near<F>) -> Result<Option<Match<F>>> {
        Ok(self.all_again(near)?.into_iter().next())
    }

    /// Returns all matches of what is stored now.
    fn all_again(&mut self, near: Near<F>) -> Result<Vec<Match<F>>> {
        let view = View::new(self.version, u64::MAX, &self.core.planner);
        let mut found = view.query(near.fingerprint, QueryOptions::within(near.within))?;
        self.depends_on = self.depends_on.max(self.version.active.last_seq());
        found.retain(|found| self.counts(found.entry(), near));
        Ok(found)
    }

    /// Returns the matches that were committed since the lookup, and those among the earlier
    /// documents in the batch, in any order.
    fn all_newer(&self, near: Near<F>) -> Vec<Match<F>> {
        let Version { frozen, active, .. } = self.version;
        // A search for the nearest entry, which accepts none, shows every match to `accept`.
        let found = RefCell::new(Vec::new());
        let note = |entry: Entry<F>, counts: bool| {
            found.borrow_mut().extend(counts.then_some(entry));
            false
        };
        self.nearest_in(active, near, self.seen, &|entry| note(entry, self.counts(entry, near)));
        if let Some(frozen) = frozen {
            let counts = |entry| self.counts(entry, near) && !is_gone(active, entry);
            self.nearest_in(frozen, near, self.seen, &|entry| note(entry, counts(entry)));
        }
        if let Some(changes) = &self.changes {
            self.nearest_in(changes, near, 0, &|entry| note(entry, Some(entry) != near.own));
        }
        let found_at = |Entry { fingerprint, id }| {
            let distance = near.fingerprint.distance(fingerprint);
            Match { distance, fingerprint, id }
        };
        found.into_inner().into_iter().map(found_at).collect()
    }

    /// Returns the nearest of the entries that were committed since the lookup, and its commit.
    fn newer(&self, near: Near<F>) -> Option<(Match<F>, u64)> {
        let Version { frozen, active, .. } = self.version;
        let recent = self.nearest_in(active, near, self.seen, &|entry| self.counts(entry, near));
        let older = frozen.as_ref().and_then(|frozen| {
            let counts = |entry| self.counts(entry, near) && !is_gone(active, entry);
            self.nearest_in(frozen, near, self.seen, &counts)
        });
        recent.into_iter().chain(older).min()
    }

    /// Returns the nearest of the earlier documents in the batch. It belongs to no earlier commit.
    fn in_batch(&self, near: Near<F>) -> Option<(Match<F>, u64)> {
        let changes = self.changes.as_ref()?;
        let found = self.nearest_in(changes, near, 0, &|entry| Some(entry) != near.own)?;
        Some((found.0, 0))
    }

    /// Returns the nearest entry of a memtable that a commit after `after` inserted, among those
    /// that `accept` accepts. `accept` is called for matches only.
    fn nearest_in(
        &self,
        memtable: &Memtable<F>,
        near: Near<F>,
        after: u64,
        accept: &dyn Fn(Entry<F>) -> bool,
    ) -> Option<(Match<F>, u64)> {
        let Near { fingerprint, within, .. } = near;
        let wanted = NewMatch { fingerprint, within, after, accept };
        self.core.planner.nearest_new(memtable, &wanted)
    }
}

fn is_gone<F: Fingerprint>(memtable: &Memtable<F>, entry: Entry<F>) -> bool {
    memtable.state(entry, u64::MAX) == Some(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Db;
    use crate::fingerprint::DocId;

    /// With the writer's lock, another thread cannot remove it any more.
    #[test]
    fn a_match_that_was_removed_since_the_lookup_is_searched_for_again() {
        let db = Db::options().in_memory().unwrap();
        db.write(&[(0b0001, 1), (0b0111, 2)]).run().unwrap();
        let (core, near) =
            (db.core(), Near { fingerprint: 0, within: Within::Distance(3), own: None });
        let (_, seen) = core.visible_version();
        let lookup = db.nearest(0, 3).unwrap();
        assert_eq!(lookup.map(|found| found.id), Some(DocId(1)));
        for (removed, left) in [((0b0001, 1), Some(DocId(2))), ((0b0111, 2), None)] {
            assert!(db.remove_entry(removed.0, removed.1).unwrap());
            let now = core.current.get();
            let mut since = Since::new(core, &now, seen, 0, 1);
            let found = since.nearest(near, Some(lookup)).unwrap();
            assert_eq!(found.map(|found| found.id), left);
            // The answer depends on the removal, which must be durable first.
            assert_eq!(since.depends_on, now.active.last_seq());
        }
    }
}
