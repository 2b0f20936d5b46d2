//! The memtable: recent entries in memory, searchable in every table's order.
//!
//! It keeps every change with the number of the commit that made it, so that a reader sees the
//! state at its own commit while writers continue. A reader holds the lock for one lookup at a
//! time.

mod band_table;
mod bands;
mod buckets;
mod documents;
mod history;
mod recent;
mod sketches;
mod tables;

pub(crate) use history::Net;
pub(crate) use recent::RecentDocuments;
pub(crate) use sketches::Similar;

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bands::RecentBands;
use documents::Documents;
use tables::{RecentTables, SCAN_NEWER};

use crate::base::error::{Error, Result};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::index::tables::layout::Plan;
use crate::settings::IndexSettings;
use crate::store::log::{DocumentChange, Op};

/// Bytes of names that fill a memtable as much as an entry does.
const LONG_NAME: usize = 512;

/// Most documents in a batch of sketches that are compared one by one.
const SCAN_SKETCHES: usize = 64;

/// What the memtable held after a commit.
#[derive(Debug, Clone, Copy)]
struct Commit {
    seq: u64,
    /// By how much the number of live entries after this commit is greater than in the older
    /// sources. A log, and so a memtable, has fewer than 2^31 entries.
    gain: i32,
    /// The same for documents.
    document_gain: i32,
}

impl Commit {
    fn new(seq: u64, gain: i64, document_gain: i64) -> Self {
        let narrow =
            |gain: i64| i32::try_from(gain).unwrap_or(if gain < 0 { i32::MIN } else { i32::MAX });
        Self { seq, gain: narrow(gain), document_gain: narrow(document_gain) }
    }
}

/// How recent fingerprints are found: by one of the two kinds of index.
#[derive(Debug)]
enum Recent<F: Fingerprint> {
    Tables(RecentTables<F::Word>),
    Bands(RecentBands),
    /// Not at all: the few sketches of a batch are compared one by one.
    FewSketches,
}

impl<F: Fingerprint> Recent<F> {
    fn new(index: &IndexSettings) -> Self {
        match index {
            IndexSettings::Tables(tables) => {
                Self::Tables(RecentTables::new(tables.layout.bit_orders()))
            }
            IndexSettings::Bands(rule) => Self::Bands(RecentBands::new(*rule)),
        }
    }

    /// Returns the entries in a database of fingerprints.
    fn tables(&self) -> Option<&RecentTables<F::Word>> {
        match self {
            Self::Tables(tables) => Some(tables),
            Self::Bands(_) | Self::FewSketches => None,
        }
    }
}

#[derive(Debug)]
struct Inner<F: Fingerprint> {
    recent: Recent<F>,
    commits: Vec<Commit>,
    documents: Documents<F>,
    /// Operations applied: more than entries, if some are inserted and removed again.
    changes: usize,
}

impl<F: Fingerprint> Inner<F> {
    /// Returns the number of commits up to and including `seq`.
    fn commits_until(&self, seq: u64) -> u32 {
        let commits = self.commits.partition_point(|commit| commit.seq <= seq);
        u32::try_from(commits).unwrap_or(u32::MAX)
    }

    /// Returns the state after commit `seq`.
    fn after(&self, seq: u64) -> Commit {
        let last = self.commits_until(seq).checked_sub(1).map(|last| self.commits[last as usize]);
        last.unwrap_or(Commit { seq: 0, gain: 0, document_gain: 0 })
    }

    /// Applies an operation of commit `seq`.
    fn apply(&mut self, seq: u64, op: &Op<F>) -> Result<()> {
        match (op, &mut self.recent) {
            (Op::Change(change), _) => return self.change(seq, change),
            (Op::Insert { fingerprint, id }, Recent::Tables(tables)) => {
                let entry = Entry { fingerprint: *fingerprint, id: *id }.word();
                entry.into_iter().for_each(|entry| tables.insert(seq, entry));
            }
            (Op::Remove { fingerprint, id }, Recent::Tables(tables)) => {
                let entry = Entry { fingerprint: *fingerprint, id: *id }.word();
                entry.into_iter().for_each(|entry| tables.remove(seq, entry));
            }
            (_, Recent::Bands(_) | Recent::FewSketches) => {
                return Err(Error::corruption(
                    "the log inserts or removes a single entry, which a database of sketches does not have",
                ));
            }
        }
        Ok(())
    }

    /// Applies the change of a document, in the commit after those that are counted. Readers see
    /// the change only after its commit is counted, too.
    fn change(&mut self, seq: u64, change: &DocumentChange<F>) -> Result<()> {
        if let Some(problem) = self.documents.contradiction(change) {
            return Err(Error::corruption(problem));
        }
        let (number, was_same) = self.documents.apply(self.commits_until(u64::MAX), change);
        match &mut self.recent {
            Recent::Tables(tables) => {
                let (removed, inserted) = change.entries();
                let word = |entry: Option<Entry<F>>| entry.and_then(Entry::word);
                word(removed).into_iter().for_each(|entry| tables.remove(seq, entry));
                word(inserted).into_iter().for_each(|entry| tables.insert(seq, entry));
            }
            Recent::Bands(bands) => {
                let original = change.after.and_then(Document::entry).filter(|_| !was_same);
                let sketch = original.as_ref().and_then(|entry| entry.fingerprint.sketch());
                sketch.into_iter().for_each(|sketch| bands.add(number, sketch));
            }
            Recent::FewSketches => {}
        }
        Ok(())
    }
}

/// Recent entries in memory. See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Memtable<F: Fingerprint> {
    /// Number of entries changed here. A reader that sees a commit sees it counted.
    entries: AtomicUsize,
    /// Whether any entry was ever removed here. If not, readers need not check each id.
    has_removals: AtomicBool,
    /// Bytes of its segment that are written already.
    flushed: Arc<AtomicU64>,
    inner: RwLock<Inner<F>>,
}

impl<F: Fingerprint> Memtable<F> {
    /// Makes an empty memtable, which takes little memory. `next_doc` is the next document id of a
    /// database with names.
    pub(crate) fn new(index: &IndexSettings, next_doc: u64) -> Self {
        Self::with(Recent::new(index), next_doc)
    }

    /// Makes an empty memtable for the changes of a batch of this many documents, in which only
    /// [`newer_match`](Self::newer_match) and [`newer_similar`](Self::newer_similar) search. They
    /// compare few entries one by one, so these need no index.
    pub(crate) fn for_batch(documents: usize, index: &IndexSettings, next_doc: u64) -> Self {
        let new = Self::with(
            match index {
                IndexSettings::Tables(_) if documents <= SCAN_NEWER => {
                    Recent::Tables(RecentTables::new(Vec::new()))
                }
                IndexSettings::Bands(_) if documents <= SCAN_SKETCHES => Recent::FewSketches,
                index => Recent::new(index),
            },
            next_doc,
        );
        new.write().documents.reserve(documents);
        new
    }

    /// Makes an empty memtable for what can be read of the log of a damaged database. Ids of
    /// documents may be missing in it.
    pub(crate) fn for_repair(index: &IndexSettings, next_doc: u64) -> Self {
        let new = Self::new(index, next_doc);
        new.write().documents.allow_missing_ids();
        new
    }

    fn with(recent: Recent<F>, next_doc: u64) -> Self {
        let documents = Documents::new(next_doc);
        let inner = RwLock::new(Inner { recent, commits: Vec::new(), documents, changes: 0 });
        let (entries, has_removals) = (AtomicUsize::new(0), AtomicBool::new(false));
        Self { entries, has_removals, flushed: Arc::default(), inner }
    }

    // A panic while the lock is held at worst leaves changes of a commit that was not counted, which
    // are seen with the next commit.
    fn read(&self) -> RwLockReadGuard<'_, Inner<F>> {
        self.inner.read().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Inner<F>> {
        self.inner.write().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Applies the operations of commit `seq`, which is at least as high as those before. Returns
    /// the next document id of a database with names. If an operation fails, those before it remain
    /// applied.
    pub(crate) fn apply(&self, seq: u64, ops: &[Op<F>]) -> Result<u64> {
        let inner = &mut *self.write();
        inner.changes += ops.len();
        let applied = ops.iter().try_for_each(|op| inner.apply(seq, op));
        let documents = inner.documents.len();
        let (gain, entries) = match &mut inner.recent {
            Recent::Tables(tables) => {
                tables.end_commit();
                if tables.has_removals() {
                    self.has_removals.store(true, Ordering::Relaxed);
                }
                (tables.gain(), tables.len().max(documents))
            }
            Recent::Bands(_) | Recent::FewSketches => (inner.documents.original_gain(), documents),
        };
        inner.commits.push(Commit::new(seq, gain, inner.documents.gain()));
        self.entries.store(entries, Ordering::Relaxed);
        applied.map(|()| inner.documents.next_doc())
    }

    /// Returns how full the memtable is, in entries: the operations applied or, with long names,
    /// the entries whose share of bytes the names take.
    pub(crate) fn fill(&self) -> usize {
        let inner = self.read();
        inner.changes.max(inner.documents.name_bytes() / LONG_NAME)
    }

    /// Returns the most bytes that the documents changed here take in a segment.
    pub(crate) fn most_document_bytes(&self) -> u64 {
        self.read().documents.most_bytes()
    }

    /// Counts the bytes of its segment that are written already, while it is flushed.
    pub(crate) fn flushed(&self) -> &Arc<AtomicU64> {
        &self.flushed
    }

    /// Returns whether nothing was ever changed here.
    pub(crate) fn is_empty(&self) -> bool {
        self.read().changes == 0
    }

    /// Returns the number of entries changed here, live or removed.
    pub(crate) fn len(&self) -> usize {
        self.entries.load(Ordering::Relaxed)
    }

    /// Returns the last commit applied; 0 before the first.
    pub(crate) fn last_seq(&self) -> u64 {
        self.read().commits.last().map_or(0, |commit| commit.seq)
    }

    /// Returns by how much the number of live entries grows, compared with the older sources, up to
    /// and including commit `seq`. May be negative.
    pub(crate) fn net_entries(&self, seq: u64) -> i64 {
        self.read().after(seq).gain.into()
    }

    /// Returns the same for documents.
    pub(crate) fn net_documents(&self, seq: u64) -> i64 {
        self.read().after(seq).document_gain.into()
    }

    /// Returns about how many bytes the memtable occupies.
    pub(crate) fn memory(&self) -> usize {
        let inner = self.read();
        let recent = match &inner.recent {
            Recent::Tables(tables) => tables.memory(),
            Recent::Bands(bands) => bands.memory(),
            Recent::FewSketches => 0,
        };
        recent + inner.commits.len() * size_of::<Commit>() + inner.documents.memory()
    }

    /// Visits every fingerprint that matches the query, each once, whether or not one of its
    /// entries is live at the reader's commit. The plan should be for about as many entries as
    /// there are.
    pub(crate) fn search(
        &self,
        query: F::Word,
        plan: &Plan,
        distance: u32,
        visit: impl FnMut(F::Word, u32),
    ) {
        if let Some(tables) = self.read().recent.tables() {
            tables.search(query, plan, distance, visit);
        }
    }

    /// Returns the nearest (and lowest) of the matching live entries that a commit after
    /// `seq` inserted and that `accept` accepts, with its last commit and its distance. `plan` is
    /// called, with the number of entries, only if there are many newer entries.
    pub(crate) fn newer_match<'p>(
        &self,
        query: F::Word,
        plan: impl FnOnce(usize) -> &'p Plan,
        distance: u32,
        seq: u64,
        accept: impl Fn(Entry<F::Word>) -> bool,
    ) -> Option<(u64, Entry<F::Word>, u32)> {
        let inner = self.read();
        let after = (seq, inner.commits_until(seq) as usize);
        inner.recent.tables()?.newer_match(query, plan, distance, after, accept)
    }

    /// Returns whether the entry is live here at commit `seq`, or `None` if no commit up to then
    /// changed it.
    pub(crate) fn state(&self, entry: Entry<F>, seq: u64) -> Option<bool> {
        let inner = self.read();
        match &inner.recent {
            Recent::Tables(tables) => Some(tables.history(entry.word()?)?.at(seq)?.inserted),
            Recent::Bands(_) | Recent::FewSketches => {
                inner.documents.is_original(entry, inner.commits_until(seq))
            }
        }
    }

    /// Returns whether anything was removed here. It never misses a commit that a reader sees,
    /// since the reader took the lock after that commit.
    pub(crate) fn has_removals(&self) -> bool {
        self.has_removals.load(Ordering::Relaxed)
    }

    /// Returns whether the entry is removed from older sources, up to and including commit `seq`.
    pub(crate) fn removes(&self, entry: Entry<F::Word>, seq: u64) -> bool {
        let inner = self.read();
        let history = inner.recent.tables().and_then(|tables| tables.history(entry));
        history.is_some_and(|history| history.net(seq).removes_older)
    }

    /// Returns the live ids of a fingerprint at commit `seq`, ascending, at most `limit`.
    pub(crate) fn ids(&self, fingerprint: F::Word, seq: u64, limit: usize) -> Vec<DocId> {
        let inner = self.read();
        let Some(tables) = inner.recent.tables() else { return Vec::new() };
        tables
            .entries_of(fingerprint)
            .filter(|(_, history)| history.at(seq).is_some_and(|c| c.inserted))
            .map(|(entry, _)| entry.id)
            .take(limit)
            .collect()
    }

    /// Returns the sum of changes of every entry up to and including commit `seq`, in order.
    pub(crate) fn net_changes(&self, seq: u64) -> Vec<(Entry<F::Word>, Net)> {
        self.read().recent.tables().map_or_else(Vec::new, |tables| tables.net_changes(seq))
    }

    /// Returns the state of a document at commit `seq` and the commit that made it, if one up to
    /// `seq` changed it. The state is `None` if the document was removed.
    pub(crate) fn document(&self, key: &[u8], seq: u64) -> Option<(u64, Option<Document<F>>)> {
        let inner = self.read();
        let number = inner.documents.find(key)?;
        let (commit, document) = inner.documents.get(number, inner.commits_until(seq))?;
        Some((inner.commits[commit as usize].seq, document))
    }

    /// Returns the name of a document, and its state at commit `seq`, if a commit up to `seq`
    /// changed it.
    pub(crate) fn document_by_id(
        &self,
        id: DocId,
        seq: u64,
    ) -> Option<(String, Option<Document<F>>)> {
        let inner = self.read();
        let (name, document) = inner.documents.by_id(id, inner.commits_until(seq))?;
        Some((String::from_utf8_lossy(&name).into_owned(), document))
    }

    /// Returns the next document id of a database with names.
    pub(crate) fn next_doc(&self) -> u64 {
        self.read().documents.next_doc()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::tables::layout::{Layout, Terms};
    use crate::settings::TableSettings;
    use crate::store::log::{Before, DocumentChange};

    fn memtable(layout: &Layout) -> Memtable<u64> {
        Memtable::new(&index(layout), 0)
    }

    fn index(layout: &Layout) -> IndexSettings {
        let layout = layout.clone();
        let tables = TableSettings { layout, distance: 3, block_size: 1024, filter_bits: 0 };
        IndexSettings::Tables(tables)
    }

    fn within(distance: u32) -> u32 {
        distance
    }

    fn insert(fingerprint: u64, id: u64) -> Op<u64> {
        Op::Insert { fingerprint, id: DocId(id) }
    }

    fn named(name: &str, id: u64, before: Before<u64>, after: Option<u64>) -> Op<u64> {
        let id = DocId(id);
        let after =
            after.map(|fingerprint| Document { fingerprint, id, stamp: None, duplicate_of: None });
        Op::Change(DocumentChange { name: Some(name.into()), id, before, after })
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
                    table.search(query, &plan, within(distance), |f, d| {
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
    fn newer_match_finds_only_newer_entries_few_or_many() {
        let layout = Layout::preset("half-2", 64).unwrap();
        let table = memtable(&layout);
        let plan = layout.plan_for(1000, 3, &Terms::default());
        let plan = |_| &plan;
        table.apply(1, &[insert(0xff, 0)]).unwrap();
        for (seq, id) in (2..).zip(1..3 * SCAN_NEWER as u64) {
            table.apply(seq, &[insert(id << 40 | 0xffff_0000, id)]).unwrap();
            assert_eq!(table.newer_match(0xfe, plan, within(3), 1, |_| true), None);
        }
        let found = table.newer_match(0xfe, plan, within(3), 0, |_| true).unwrap();
        assert_eq!(found, (1, Entry { fingerprint: 0xff, id: DocId(0) }, 1));
    }

    #[test]
    fn newer_match_finds_every_document_of_a_batch_few_or_many() {
        let layout = Layout::preset("half-2", 64).unwrap();
        let plan = layout.plan_for(1000, 3, &Terms::default());
        for documents in [2, SCAN_NEWER, SCAN_NEWER + 1] {
            let batch = Memtable::for_batch(documents, &index(&layout), 0);
            for id in 0..documents as u64 {
                assert_eq!(batch.newer_match(id << 32, |_| &plan, within(0), 0, |_| true), None);
                batch.apply(id + 1, &[insert(id << 32, id)]).unwrap();
                let found =
                    batch.newer_match(id << 32 | 1, |_| &plan, within(1), 0, |_| true).unwrap();
                assert_eq!((found.1.id, found.2), (DocId(id), 1));
            }
        }
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
        table.apply(1, &[named(&"x".repeat(60_000), 0, Before::Absent, Some(1))]).unwrap();
        assert!((100..1000).contains(&table.fill()));
    }

    #[test]
    fn names_out_of_id_order_are_refused_unless_ids_may_be_missing() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        let new = |name, id| named(name, id, Before::Absent, Some(1));
        table.apply(1, &[new("a", 0), new("b", 1)]).unwrap();
        assert!(table.apply(2, &[new("d", 3)]).is_err());
        let repaired = Memtable::for_repair(&index(&Layout::preset("single", 64).unwrap()), 4);
        repaired.apply(1, &[new("a", 4), new("b", 7)]).unwrap();
        repaired.apply(2, &[named("c", 9, Before::Original(1), Some(2)), new("d", 5)]).unwrap();
        repaired.apply(3, &[named("e", 2, Before::Original(1), Some(2))]).unwrap();
        assert_eq!(repaired.next_doc(), 10);
        for (id, name) in [(4, "a"), (7, "b"), (9, "c"), (5, "d"), (2, "e")] {
            assert_eq!(repaired.document_by_id(DocId(id), 3).unwrap().0, name);
        }
        assert_eq!(repaired.document_by_id(DocId(6), 3), None);
        assert_eq!(table.document_by_id(DocId(1), 1).unwrap().0, "b");
        assert_eq!(table.document_by_id(DocId(2), 1), None);
    }

    /// Reads all of the documents, with their fingerprints.
    fn read_all(mut documents: RecentDocuments<'_, u64>) -> Vec<(String, Option<u64>)> {
        let mut key = Vec::new();
        let mut all = Vec::new();
        while let Some(document) = documents.next(&mut key) {
            let name = String::from_utf8(key.clone()).unwrap();
            all.push((name, document.map(|it| it.fingerprint)));
        }
        all
    }

    #[test]
    fn operations_before_one_that_fails_are_seen_everywhere() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        let new = |name, id| named(name, id, Before::Absent, Some(id + 7));
        assert!(table.apply(1, &[new("a", 0), new("b", 5)]).is_err());
        assert_eq!(read_all(table.documents(1, None)), [("a".into(), Some(7))]);
        assert_eq!(table.state(Entry { fingerprint: 7, id: DocId(0) }, 1), Some(true));
        assert_eq!((table.net_documents(1), table.net_entries(1), table.len()), (1, 1, 1));
    }

    #[test]
    fn documents_are_read_as_they_were_when_reading_began() {
        let table = memtable(&Layout::preset("single", 64).unwrap());
        let new = |name, id| named(name, id, Before::Absent, Some(id));
        // One commit may change a document twice.
        let changed = named("b", 1, Before::Original(1), Some(9));
        table.apply(1, &[new("a", 0), new("b", 1), changed, new("d", 2)]).unwrap();
        let (begun, after_a) = (table.documents(1, None), table.documents(1, Some(b"a")));
        table.apply(2, &[named("a", 0, Before::Original(0), Some(8)), new("c", 3)]).unwrap();
        table.apply(3, &[named("b", 1, Before::Original(9), None), new("b", 4)]).unwrap();
        table.apply(4, &[named("d", 2, Before::Original(2), None)]).unwrap();
        let name = |name: &str, fingerprint| (name.to_owned(), fingerprint);
        let at_first = [name("a", Some(0)), name("b", Some(9)), name("d", Some(2))];
        assert_eq!(read_all(begun), at_first);
        assert_eq!(read_all(after_a), at_first[1..]);
        let now = [name("a", Some(8)), name("b", Some(4)), name("c", Some(3))];
        assert_eq!(read_all(table.documents(4, None)), now);
        assert_eq!(table.document_by_id(DocId(1), 4), Some(("b".into(), None)));
        assert_eq!(table.document_by_id(DocId(1), 2).unwrap().1.unwrap().fingerprint, 9);
    }

    #[test]
    fn change_of_a_document_moves_its_entry_and_keeps_the_count() {
        let table = memtable(&Layout::preset("half-2", 64).unwrap());
        table.apply(1, &[named("a", 0, Before::Absent, Some(7))]).unwrap();
        table.apply(2, &[named("a", 0, Before::Original(7), Some(8))]).unwrap();
        table.apply(3, &[named("a", 0, Before::Original(8), Some(8))]).unwrap();
        let ids = |fingerprint, seq| table.ids(fingerprint, seq, 9).len();
        assert_eq!([ids(7, 1), ids(8, 1), ids(7, 2), ids(8, 2), ids(8, 3)], [1, 0, 0, 1, 1]);
        assert_eq!((table.net_entries(3), table.net_documents(3)), (1, 1));
        table.apply(4, &[named("a", 0, Before::Original(8), None)]).unwrap();
        assert_eq!((table.net_entries(4), table.net_documents(4)), (0, 0));
        let accepts_none = |_| false;
        let plan = Layout::preset("half-2", 64).unwrap().plan_for(9, 3, &Terms::default());
        assert_eq!(table.newer_match(8, |_| &plan, within(3), 0, |_| true), None);
        table.apply(5, &[named("b", 1, Before::Absent, Some(8))]).unwrap();
        assert!(table.newer_match(8, |_| &plan, within(3), 0, |_| true).is_some());
        assert_eq!(table.newer_match(8, |_| &plan, within(3), 0, accepts_none), None);
    }
}
