//! The memtable: recent entries in memory, searchable in every table's order.
//!
//! It keeps every change with the number of the commit that made it, so that a reader sees the
//! state at its own commit while writers continue. A reader holds the lock for one lookup at a
//! time.

mod buckets;

use std::collections::{BTreeMap, btree_map};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};

use buckets::Buckets;

use crate::cpu;
use crate::error::{Error, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::layout::{Permutation, Plan};
use crate::log::Op;

/// Bytes of names that fill a memtable as much as an entry does.
const LONG_NAME: usize = 512;

/// Most newer entries that are compared one by one. With more of them, probing costs less.
const SCAN_NEWER: usize = 1024;

/// What a commit did to an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Change {
    seq: u64,
    inserted: bool,
}

/// The changes of one entry. Nearly all entries have exactly one.
#[derive(Debug)]
struct History {
    first: Change,
    /// The others, oldest first.
    #[expect(clippy::box_collection, reason = "one word, since it is nearly always empty")]
    more: Option<Box<Vec<Change>>>,
    /// The sum of all changes.
    net: Net,
}

impl History {
    fn new(first: Change) -> Self {
        let mut net = Net::default();
        net.apply(first.inserted);
        Self { first, more: None, net }
    }

    fn push(&mut self, change: Change) {
        self.net.apply(change.inserted);
        self.more.get_or_insert_default().push(change);
    }

    fn changes(&self) -> impl DoubleEndedIterator<Item = &Change> {
        [&self.first].into_iter().chain(self.more.iter().flat_map(|more| more.iter()))
    }

    /// Returns whether the entry was inserted by any change.
    fn was_inserted(&self) -> bool {
        self.changes().any(|change| change.inserted)
    }

    /// Returns the last change up to and including commit `seq`.
    fn at(&self, seq: u64) -> Option<Change> {
        self.changes().rev().find(|c| c.seq <= seq).copied()
    }

    /// Returns the sum of all changes up to and including commit `seq`.
    fn net(&self, seq: u64) -> Net {
        if self.changes().next_back().is_some_and(|last| last.seq <= seq) {
            return self.net;
        }
        let mut net = Net::default();
        for change in self.changes().filter(|c| c.seq <= seq) {
            net.apply(change.inserted);
        }
        net
    }
}

/// The sum of the changes to one entry within one source, or within several merged sources: it may
/// remove the entry from older sources, and it may insert the entry again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Net {
    pub removes_older: bool,
    pub inserted: bool,
}

impl Net {
    pub(crate) fn apply(&mut self, inserted: bool) {
        match (inserted, self.inserted) {
            (true, _) => self.inserted = true,
            // The entry was inserted in this source: older sources do not have it.
            (false, true) => self.inserted = false,
            (false, false) => self.removes_older = true,
        }
    }

    /// Returns by how much the number of live entries grows over that of the older sources.
    fn gain(self) -> i64 {
        i64::from(self.inserted) - i64::from(self.removes_older)
    }
}

/// What the memtable held after a commit.
#[derive(Debug, Clone, Copy)]
struct Commit {
    seq: u64,
    /// Number of entries inserted up to and including this commit.
    inserted: usize,
    /// Live entries after this commit, beyond those of the older sources.
    gain: i64,
}

#[derive(Debug)]
struct Inner<F> {
    tables: Vec<Buckets<F>>,
    entries: BTreeMap<Entry<F>, History>,
    /// Inserted entries in commit order.
    inserted: Vec<Entry<F>>,
    commits: Vec<Commit>,
    names: Vec<Box<str>>,
    name_bytes: usize,
    /// Operations applied: more than entries, if some are inserted and removed again.
    changes: usize,
    gain: i64,
}

impl<F> Inner<F> {
    /// Returns the state after commit `seq`.
    fn after(&self, seq: u64) -> Commit {
        let commits = self.commits.partition_point(|commit| commit.seq <= seq);
        let last = commits.checked_sub(1).map(|last| self.commits[last]);
        last.unwrap_or(Commit { seq: 0, inserted: 0, gain: 0 })
    }
}

/// Recent entries in memory. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Memtable<F> {
    permutations: Vec<Permutation<F>>,
    /// The document id that the first name gets.
    first_doc: u64,
    /// Number of entries changed here. A reader that sees a commit sees it counted.
    entries: AtomicUsize,
    /// Whether any entry was ever removed here. If not, readers need not check each id.
    has_removals: AtomicBool,
    inner: RwLock<Inner<F>>,
}

impl<F: Fingerprint> Memtable<F> {
    /// Makes an empty memtable, which takes little memory. `first_doc` is the next document id of a
    /// database with names.
    pub(crate) fn new(permutations: Vec<Permutation<F>>, first_doc: u64) -> Self {
        let inner = Inner {
            tables: permutations.iter().map(|_| Buckets::new()).collect(),
            entries: BTreeMap::new(),
            inserted: Vec::new(),
            commits: Vec::new(),
            names: Vec::new(),
            name_bytes: 0,
            changes: 0,
            gain: 0,
        };
        let has_removals = AtomicBool::new(false);
        let entries = AtomicUsize::new(0);
        Self { permutations, first_doc, entries, has_removals, inner: RwLock::new(inner) }
    }

    // A panic while the lock is held at worst leaves an entry whose commit never becomes visible.
    fn read(&self) -> RwLockReadGuard<'_, Inner<F>> {
        self.inner.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<F>> {
        self.inner.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Applies the operations of commit `seq`, which is higher than those before.
    pub(crate) fn apply(&self, seq: u64, ops: &[Op<F>]) -> Result<()> {
        let mut inner = self.write();
        inner.changes += ops.len();
        for op in ops {
            match op {
                Op::Insert { fingerprint, id } => {
                    self.insert(&mut inner, seq, Entry { fingerprint: *fingerprint, id: *id });
                }
                Op::InsertNamed { fingerprint, id, name } => {
                    let next = self.first_doc + inner.names.len() as u64;
                    if id.0 != next {
                        return Err(Error::corruption(format!(
                            "document id {id} in the log, expected {next}"
                        )));
                    }
                    inner.names.push(name.as_str().into());
                    inner.name_bytes += name.len();
                    self.insert(&mut inner, seq, Entry { fingerprint: *fingerprint, id: *id });
                }
                Op::Remove { fingerprint, id } => {
                    let entry = Entry { fingerprint: *fingerprint, id: *id };
                    self.has_removals.store(true, Ordering::Relaxed);
                    change(&mut inner, entry, Change { seq, inserted: false });
                }
            }
        }
        let (inserted, gain) = (inner.inserted.len(), inner.gain);
        inner.commits.push(Commit { seq, inserted, gain });
        self.entries.store(inner.entries.len(), Ordering::Relaxed);
        Ok(())
    }

    fn insert(&self, inner: &mut Inner<F>, seq: u64, entry: Entry<F>) {
        if entries_of(inner, entry.fingerprint).all(|(_, history)| !history.was_inserted()) {
            for (table, permutation) in inner.tables.iter_mut().zip(&self.permutations) {
                table.insert(permutation.apply(entry.fingerprint));
            }
        }
        change(inner, entry, Change { seq, inserted: true });
        inner.inserted.push(entry);
    }

    /// Returns how full the memtable is, in entries: the operations applied or, with long names,
    /// the entries whose share of bytes the names take.
    pub(crate) fn fill(&self) -> usize {
        let inner = self.read();
        inner.changes.max(inner.name_bytes / LONG_NAME)
    }

    /// Returns the number of entries changed here, live or removed.
    pub(crate) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Returns the last commit applied; 0 before the first.
    pub(crate) fn last_seq(&self) -> u64 {
        self.read().commits.last().map_or(0, |commit| commit.seq)
    }

    /// Returns by how much the number of live entries grows over that of the older sources, up to
    /// and including commit `seq`. May be negative.
    pub(crate) fn net_entries(&self, seq: u64) -> i64 {
        self.read().after(seq).gain
    }

    /// Returns about how many bytes the memtable occupies.
    pub(crate) fn memory(&self) -> usize {
        let inner = self.read();
        let tables = inner.tables.iter().map(Buckets::memory).sum::<usize>();
        // B-tree nodes are three quarters full on average.
        let per_entry = (size_of::<Entry<F>>() + size_of::<History>()) * 4 / 3;
        let per_name = size_of::<Box<str>>() * 2;
        tables
            + inner.entries.len() * per_entry
            + inner.inserted.len() * size_of::<Entry<F>>()
            + inner.commits.len() * size_of::<Commit>()
            + inner.names.len() * per_name
            + inner.name_bytes
    }

    /// Visits every fingerprint within `distance` of the query, each once, whether or not one of
    /// its entries is live at the reader's commit. The plan should be for
    /// about as many entries as there are.
    pub(crate) fn search(
        &self,
        query: F,
        plan: &Plan<F>,
        distance: u32,
        mut visit: impl FnMut(F, u32),
    ) {
        let inner = self.read();
        if plan.is_scan() {
            // Not over the buckets: there are many of them even if there are few entries.
            let mut last = None;
            for (&Entry { fingerprint, .. }, history) in &inner.entries {
                let d = fingerprint.distance(query);
                if d <= distance && last != Some(fingerprint) && history.was_inserted() {
                    last = Some(fingerprint);
                    visit(fingerprint, d);
                }
            }
            return;
        }
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for table in plan.tables() {
                    let buckets = &inner.tables[table.number()];
                    let permuted = table.order().apply(query);
                    for probe in table.probes() {
                        let mask = F::prefix_mask(u32::from(probe.depth));
                        let low = (permuted ^ probe.flips) & mask;
                        let bounds = (low, low | !mask);
                        buckets.for_each_near(bounds, permuted, distance, |value, d| {
                            let fingerprint = table.order().invert(value);
                            if plan.reports(table.number(), fingerprint ^ query) {
                                visit(fingerprint, d);
                            }
                        });
                    }
                }
            },
        );
    }

    /// Returns the nearest (and lowest) of the live entries within `distance` that a commit after
    /// `seq` inserted, with its last commit and its distance. `plan` is called, with the number of
    /// entries, only if there are many newer entries.
    pub(crate) fn newer_match<'p>(
        &self,
        query: F,
        plan: impl FnOnce(usize) -> &'p Plan<F>,
        distance: u32,
        seq: u64,
    ) -> Option<(u64, Entry<F>, u32)> {
        let inner = self.read();
        let newer = &inner.inserted[inner.after(seq).inserted..];
        if newer.len() <= SCAN_NEWER {
            let near = newer.iter().filter_map(|&entry| {
                let d = entry.fingerprint.distance(query);
                if d > distance {
                    return None;
                }
                let last = inner.entries.get(&entry)?.at(u64::MAX)?;
                last.inserted.then_some((d, entry, last.seq))
            });
            return near.min().map(|(d, entry, seq)| (seq, entry, d));
        }
        let plan = plan(inner.entries.len());
        drop(inner);
        let mut near = Vec::new();
        self.search(query, plan, distance, |fingerprint, d| near.push((d, fingerprint)));
        near.sort_unstable();
        let inner = self.read();
        near.into_iter().find_map(|(d, fingerprint)| {
            entries_of(&inner, fingerprint)
                .filter_map(|(entry, history)| Some((history.at(u64::MAX)?, *entry)))
                .find(|(last, _)| last.inserted && last.seq > seq)
                .map(|(last, entry)| (last.seq, entry, d))
        })
    }

    /// Returns whether the entry is live here at commit `seq`, or `None` if no commit up to then
    /// changed it.
    pub(crate) fn state(&self, entry: Entry<F>, seq: u64) -> Option<bool> {
        Some(self.read().entries.get(&entry)?.at(seq)?.inserted)
    }

    /// Returns whether anything was removed here. It never misses a commit that a reader sees,
    /// since the reader took the lock after that commit.
    pub(crate) fn has_removals(&self) -> bool {
        self.has_removals.load(Ordering::Relaxed)
    }

    /// Returns whether the entry is removed from older sources, up to and including commit `seq`.
    pub(crate) fn removes(&self, entry: Entry<F>, seq: u64) -> bool {
        self.read().entries.get(&entry).is_some_and(|h| h.net(seq).removes_older)
    }

    /// Returns the live ids of a fingerprint at commit `seq`, ascending, at most `limit`.
    pub(crate) fn ids(&self, fingerprint: F, seq: u64, limit: usize) -> Vec<DocId> {
        let inner = self.read();
        entries_of(&inner, fingerprint)
            .filter(|(_, history)| history.at(seq).is_some_and(|c| c.inserted))
            .map(|(entry, _)| entry.id)
            .take(limit)
            .collect()
    }

    /// Returns the sum of changes of every entry up to and including commit `seq`, in order.
    pub(crate) fn net_changes(&self, seq: u64) -> Vec<(Entry<F>, Net)> {
        let inner = self.read();
        inner.entries.iter().map(|(&entry, history)| (entry, history.net(seq))).collect()
    }

    /// Returns the name of a document, if it is in this memtable.
    pub(crate) fn name(&self, id: DocId) -> Option<String> {
        let index = usize::try_from(id.0.checked_sub(self.first_doc)?).ok()?;
        self.read().names.get(index).map(|name| name.to_string())
    }

    /// Returns the document id of the first name, and all names.
    pub(crate) fn names(&self) -> (DocId, Vec<Box<str>>) {
        (DocId(self.first_doc), self.read().names.clone())
    }
}

fn change<F: Fingerprint>(inner: &mut Inner<F>, entry: Entry<F>, change: Change) {
    let mut before = Net::default();
    let history = match inner.entries.entry(entry) {
        btree_map::Entry::Vacant(place) => place.insert(History::new(change)),
        btree_map::Entry::Occupied(place) => {
            let history = place.into_mut();
            before = history.net;
            history.push(change);
            history
        }
    };
    inner.gain += history.net.gain() - before.gain();
}

fn entries_of<F: Fingerprint>(
    inner: &Inner<F>,
    fingerprint: F,
) -> impl Iterator<Item = (&Entry<F>, &History)> {
    let (first, last) = (DocId(0), DocId(u64::MAX));
    inner.entries.range(Entry { fingerprint, id: first }..=Entry { fingerprint, id: last })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layout::{Layout, Terms};

    fn memtable(layout: &Layout) -> Memtable<u64> {
        Memtable::new(layout.permutations(), 0)
    }

    fn insert(fingerprint: u64, id: u64) -> Op<u64> {
        Op::Insert { fingerprint, id: DocId(id) }
    }

    fn remove(fingerprint: u64, id: u64) -> Op<u64> {
        Op::Remove { fingerprint, id: DocId(id) }
    }

    #[test]
    fn exactly_the_planted_neighbours_are_found_once_in_every_layout() {
        for name in Layout::preset_names() {
            let layout = Layout::preset(name, 64).unwrap();
            let table = memtable(&layout);
            let query = 0x0123_4567_89ab_cdef_u64;
            let mut planted = Vec::new();
            for i in 0..64u32 {
                for weight in 0..=4 {
                    let error = (0..weight).fold(0u64, |e, j| e | 1 << ((i + j * 13) % 64));
                    planted.push(query ^ error);
                }
            }
            planted.sort_unstable();
            planted.dedup();
            for ((id, &fingerprint), further) in (0..).zip(&planted).zip([0, 1, 2].iter().cycle()) {
                // Fingerprints of several ids, some of them removed again. Others are only removed.
                let others = [insert(fingerprint, id + 1000), remove(fingerprint, id)];
                table.apply(id + 1, &[insert(fingerprint, id)]).unwrap();
                table.apply(id + 1, &others[..*further]).unwrap();
                table.apply(id + 1, &[remove(!fingerprint, id), remove(query ^ 3, 7)]).unwrap();
            }
            for distance in 0..=4 {
                let expected: Vec<u64> =
                    planted.iter().copied().filter(|p| p.distance(query) <= distance).collect();
                for (entries, is_scan) in [(1 << 20, false), (1, true)] {
                    let plan = layout.plan_for(entries, distance, &Terms::default());
                    assert_eq!(plan.is_scan(), is_scan);
                    let mut found = Vec::new();
                    table.search(query, &plan, distance, |f, d| {
                        assert_eq!(d, f.distance(query));
                        found.push(f);
                    });
                    found.sort_unstable();
                    assert_eq!(found, expected, "{name} {distance}");
                }
            }
        }
    }

    #[test]
    fn reader_sees_the_state_at_its_own_commit() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        table.apply(1, &[insert(7, 1), insert(7, 2)]).unwrap();
        table.apply(2, &[remove(7, 1)]).unwrap();
        table.apply(3, &[insert(7, 1)]).unwrap();
        let ids = |seq| table.ids(7, seq, 9).iter().map(|id| id.0).collect::<Vec<_>>();
        assert_eq!((ids(0), ids(1), ids(2), ids(3)), (vec![], vec![1, 2], vec![2], vec![1, 2]));
        assert_eq!(table.ids(7, 3, 1).len(), 1);
        assert_eq!((table.net_entries(1), table.net_entries(2), table.net_entries(3)), (2, 1, 2));
    }

    #[test]
    fn entry_inserted_and_removed_here_leaves_older_sources_alone() {
        let table = memtable(&Layout::preset("half-2", 64).unwrap());
        table.apply(1, &[insert(5, 1)]).unwrap();
        table.apply(2, &[remove(5, 1)]).unwrap();
        table.apply(3, &[remove(6, 1)]).unwrap();
        table.apply(4, &[insert(6, 1)]).unwrap();
        let entry = |fingerprint| Entry { fingerprint, id: DocId(1) };
        assert!(!table.removes(entry(5), 9) && table.state(entry(5), 9) == Some(false));
        assert!(table.removes(entry(6), 9) && table.state(entry(6), 9) == Some(true));
        assert_eq!(table.net_entries(9), 0);
    }

    #[test]
    fn newer_match_finds_only_newer_entries_few_or_many() {
        let layout = Layout::preset("half-2", 64).unwrap();
        let table = memtable(&layout);
        let plan = layout.plan_for(1000, 3, &Terms::default());
        let plan = |_| &plan;
        table.apply(1, &[insert(0xff, 0)]).unwrap();
        for (seq, id) in (2..).zip(1..3 * SCAN_NEWER as u64) {
            table.apply(seq, &[insert(id << 40 | 0xffff_0000, id)]).unwrap();
            assert_eq!(table.newer_match(0xfe, plan, 3, 1), None);
        }
        let found = table.newer_match(0xfe, plan, 3, 0).unwrap();
        assert_eq!(found, (1, Entry { fingerprint: 0xff, id: DocId(0) }, 1));
    }

    #[test]
    fn removed_entries_count_towards_the_fill() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        for seq in 0..50 {
            assert!(table.fill() < 100);
            table.apply(2 * seq + 1, &[insert(5, 1)]).unwrap();
            table.apply(2 * seq + 2, &[remove(5, 1)]).unwrap();
        }
        assert!(table.fill() == 100 && table.len() == 1);
    }

    #[test]
    fn long_names_count_towards_the_fill() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        let name = "x".repeat(60_000);
        table.apply(1, &[Op::InsertNamed { fingerprint: 1, id: DocId(0), name }]).unwrap();
        assert!((100..1000).contains(&table.fill()));
    }

    #[test]
    fn names_out_of_id_order_are_refused() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        let named =
            |id, name: &str| Op::InsertNamed { fingerprint: 1, id: DocId(id), name: name.into() };
        table.apply(1, &[named(0, "a"), named(1, "b")]).unwrap();
        assert!(table.apply(2, &[named(3, "d")]).is_err());
        assert_eq!(table.name(DocId(1)).as_deref(), Some("b"));
        assert_eq!(table.name(DocId(2)), None);
    }
}
