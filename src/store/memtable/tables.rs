//! Recent fingerprints, searchable in every table's order.

use std::collections::{BTreeMap, btree_map};

use super::buckets::Buckets;
use super::history::{Change, History, Net};
use crate::base::cpu;
use crate::fingerprint::{DocId, Entry, Word};
use crate::index::tables::layout::{BitOrder, Plan};

/// Most newer entries that are compared one by one. With more of them, probing costs less.
pub(super) const SCAN_NEWER: usize = 1024;

/// The entries that were changed here, and the fingerprints of those that were inserted.
#[derive(Debug)]
pub(super) struct RecentTables<W> {
    bit_orders: Vec<BitOrder>,
    /// The fingerprints in each of these orders.
    tables: Vec<Buckets<W>>,
    entries: BTreeMap<Entry<W>, History>,
    /// Inserted entries in commit order.
    inserted: Vec<Entry<W>>,
    /// How many entries were inserted up to and including each commit.
    ends: Vec<usize>,
    gain: i64,
    /// Whether any entry was ever removed here.
    has_removals: bool,
}

impl<W: Word> RecentTables<W> {
    /// Without bit orders, only [`newer_match`](Self::newer_match) can search, and only for entries
    /// so few that it compares them one by one.
    pub(super) fn new(bit_orders: Vec<BitOrder>) -> Self {
        Self {
            tables: bit_orders.iter().map(|_| Buckets::new()).collect(),
            bit_orders,
            entries: BTreeMap::new(),
            inserted: Vec::new(),
            ends: Vec::new(),
            gain: 0,
            has_removals: false,
        }
    }

    pub(super) fn insert(&mut self, seq: u64, entry: Entry<W>) {
        for (table, order) in self.tables.iter_mut().zip(&self.bit_orders) {
            let value = order.apply(entry.fingerprint);
            // Another entry may have it. Then all tables have it.
            if table.contains(value) {
                break;
            }
            table.insert(value);
        }
        self.change(entry, Change { seq, inserted: true });
        self.inserted.push(entry);
    }

    pub(super) fn remove(&mut self, seq: u64, entry: Entry<W>) {
        self.has_removals = true;
        self.change(entry, Change { seq, inserted: false });
    }

    fn change(&mut self, entry: Entry<W>, change: Change) {
        let mut before = Net::default();
        let history = match self.entries.entry(entry) {
            btree_map::Entry::Vacant(place) => place.insert(History::new(change)),
            btree_map::Entry::Occupied(place) => {
                let history = place.into_mut();
                before = history.net;
                history.push(change);
                history
            }
        };
        self.gain += history.net.gain() - before.gain();
    }

    /// Ends a commit.
    pub(super) fn end_commit(&mut self) {
        self.ends.push(self.inserted.len());
    }

    /// Returns by how much the number of live entries is greater than in the older sources.
    pub(super) fn gain(&self) -> i64 {
        self.gain
    }

    pub(super) fn has_removals(&self) -> bool {
        self.has_removals
    }

    /// Returns the number of entries changed here, live or removed.
    pub(super) fn len(&self) -> usize {
        self.entries.len()
    }

    /// Returns about how many bytes this occupies.
    pub(super) fn memory(&self) -> usize {
        let tables = self.tables.iter().map(Buckets::memory).sum::<usize>();
        // B-tree nodes are three quarters full on average.
        let per_entry = (size_of::<Entry<W>>() + size_of::<History>()) * 4 / 3;
        tables
            + self.entries.len() * per_entry
            + self.inserted.len() * size_of::<Entry<W>>()
            + self.ends.len() * size_of::<usize>()
    }

    /// Does what [`Memtable::search`](super::Memtable::search) does.
    #[inline]
    pub(super) fn search(
        &self,
        query: W,
        plan: &Plan,
        distance: u32,
        mut visit: impl FnMut(W, u32),
    ) {
        if plan.is_scan() {
            // Not over the buckets: there are many of them even if there are few entries.
            let mut near = near_entries(&self.inserted, query, distance);
            near.sort_unstable();
            near.dedup_by_key(|(_, entry)| entry.fingerprint);
            near.into_iter().for_each(|(d, entry)| visit(entry.fingerprint, d));
            return;
        }
        cpu::with_native_instructions(
            #[inline(always)]
            || {
                for table in plan.tables() {
                    let buckets = &self.tables[table.number()];
                    let permuted = table.order().apply(query);
                    for probe in table.probes() {
                        let mask = W::prefix_mask(u32::from(probe.depth));
                        let low = (permuted ^ probe.flips()) & mask;
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

    /// Does what [`Memtable::newer_match`](super::Memtable::newer_match) does, for the entries
    /// after commit `seq`, which is one of the first `commits` commits.
    pub(super) fn newer_match<'p>(
        &self,
        query: W,
        plan: impl FnOnce(usize) -> &'p Plan,
        distance: u32,
        (seq, commits): (u64, usize),
        accept: impl Fn(Entry<W>) -> bool,
    ) -> Option<(u64, Entry<W>, u32)> {
        let before = commits.checked_sub(1).map_or(0, |last| self.ends[last]);
        let newer = &self.inserted[before..];
        if newer.len() <= SCAN_NEWER {
            let mut near = near_entries(newer, query, distance);
            near.sort_unstable();
            return near.into_iter().find_map(|(d, entry)| {
                let last = self.entries.get(&entry)?.at(u64::MAX)?;
                (last.inserted && accept(entry)).then_some((last.seq, entry, d))
            });
        }
        let mut near = Vec::new();
        let plan = plan(self.entries.len());
        self.search(query, plan, distance, |fingerprint, d| near.push((d, fingerprint)));
        near.sort_unstable();
        near.into_iter().find_map(|(d, fingerprint)| {
            self.entries_of(fingerprint)
                .filter_map(|(entry, history)| Some((history.at(u64::MAX)?, *entry)))
                .find(|(last, entry)| last.inserted && last.seq > seq && accept(*entry))
                .map(|(last, entry)| (last.seq, entry, d))
        })
    }

    /// Returns the changes of an entry.
    pub(super) fn history(&self, entry: Entry<W>) -> Option<&History> {
        self.entries.get(&entry)
    }

    /// Returns the entries of a fingerprint with their changes, by id.
    pub(super) fn entries_of(&self, fingerprint: W) -> impl Iterator<Item = (&Entry<W>, &History)> {
        let (first, last) = (DocId(0), DocId(u64::MAX));
        self.entries.range(Entry { fingerprint, id: first }..=Entry { fingerprint, id: last })
    }

    /// Returns the sum of changes of every entry up to and including commit `seq`, in order.
    pub(super) fn net_changes(&self, seq: u64) -> Vec<(Entry<W>, Net)> {
        self.entries.iter().map(|(&entry, history)| (entry, history.net(seq))).collect()
    }
}

/// Returns the entries that match the query, with their distances.
fn near_entries<W: Word>(entries: &[Entry<W>], query: W, distance: u32) -> Vec<(u32, Entry<W>)> {
    let mut near = Vec::new();
    cpu::with_native_instructions(
        #[inline(always)]
        || {
            for &entry in entries {
                let d = entry.fingerprint.distance(query);
                if d <= distance {
                    near.push((d, entry));
                }
            }
        },
    );
    near
}
