//! Merging: the entries of several sources as one sequence, in order of fingerprint and id.
//!
//! Sources have an age, and the changes of a newer source apply on top of the changes of older
//! ones. Snapshots iterate over all sources, a flush over one, a compaction over a run of segments.

use std::ops::Range;

use crate::base::error::Result;
use crate::file::paged::Sequential;
use crate::fingerprint::{DocId, Entry, Fingerprint, Word};
use crate::index::tables::postings::Postings;
use crate::index::tables::table::Cursor;
use crate::store::memtable::Net;
use crate::store::segment::Segment;

/// An entry with the sum of its changes in all sources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Merged<F> {
    pub entry: Entry<F>,
    pub net: Net,
    /// Whether some source holds the entry, even if a newer source removes it. If so, its
    /// fingerprint has a row in that source's tables.
    pub held: bool,
}

impl<F> Merged<F> {
    /// Applies the changes of a newer source. Always returns true, for use in `dedup_by`.
    fn add(&mut self, newer: &Self) -> bool {
        if newer.net.removes_older {
            self.net.apply(false);
        }
        if newer.net.inserted {
            self.net.apply(true);
            self.held = true;
        }
        true
    }
}

/// The changes of one source to an entry.
pub(crate) type EntryChange<F> = (Entry<F>, Net);

/// Entries of a source that are prepared at a time.
const STEP: usize = 4096;

/// Most entries of a segment that are prepared at a time; few in unit tests. One fingerprint may
/// have more.
const MOST: usize = if cfg!(test) { 1 << 3 } else { 4 * STEP };

/// A source, whose entries are read in order.
pub(crate) trait Source<F> {
    /// Returns the next changes, ascending, as far as they are prepared. Empty only at the end.
    fn ready(&self) -> &[EntryChange<F>];
    /// Skips the next `count` of these changes.
    fn skip(&mut self, count: usize) -> Result<()>;
}

/// A source of changes that are all in memory.
#[derive(Debug)]
pub(crate) struct Changes<F>(std::vec::IntoIter<EntryChange<F>>);

impl<F> Changes<F> {
    /// Makes a source of `changes`, which ascend.
    pub(crate) fn new(changes: Vec<EntryChange<F>>) -> Self {
        Self(changes.into_iter())
    }
}

impl<W: Word> Source<W> for Changes<W> {
    fn ready(&self) -> &[EntryChange<W>] {
        let rest = self.0.as_slice();
        &rest[..rest.len().min(STEP)]
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.0.by_ref().take(count).for_each(drop);
        Ok(())
    }
}

/// A source of the entries and tombstones of a segment.
pub(crate) struct SegmentSource<'a, F> {
    postings: Sequential<'a, Postings>,
    cursor: Cursor<'a, F>,
    tombstones: Box<dyn Iterator<Item = Result<Entry<F>>> + Send + 'a>,
    /// The next tombstone.
    removed: Option<Entry<F>>,
    /// The block whose ids are being prepared, where its lists begin, and the ids that are left.
    block: Option<usize>,
    starts: Vec<u64>,
    left: Range<u64>,
    ready: Vec<EntryChange<F>>,
    at: usize,
}

impl<'a, W: Word> SegmentSource<'a, W> {
    /// Starts at the first entry whose fingerprint is at least `low`. Returns `None` for an empty
    /// segment.
    pub(crate) fn new<F: Fingerprint<Word = W>>(
        segment: &'a Segment<F>,
        low: W,
    ) -> Result<Option<Self>> {
        let Some(part) = segment.tables() else { return Ok(None) };
        let cursor = part.first().cursor(low)?;
        let mut tombstones: Box<dyn Iterator<Item = _> + Send> = match part.tombstones() {
            Some(tombstones) => {
                let from = tombstones.lower_bound(Entry { fingerprint: low, id: DocId(0) })?;
                Box::new(tombstones.iter_from(from))
            }
            None => Box::new(std::iter::empty()),
        };
        let removed = tombstones.next().transpose()?;
        let postings = Sequential::new(part.postings());
        let (starts, ready) = (Vec::new(), Vec::new());
        let (block, left) = (None, 0..0);
        let mut source =
            Self { postings, cursor, tombstones, removed, block, starts, left, ready, at: 0 };
        source.fill()?;
        Ok(Some(source))
    }

    fn fill(&mut self) -> Result<()> {
        self.ready.clear();
        self.at = 0;
        self.prepare_entries()?;
        let entries = self.ready.len();
        self.prepare_tombstones()?;
        if entries < self.ready.len() {
            self.ready.sort_by_key(|&(entry, _)| entry);
            self.ready.dedup_by(|(entry, net), (first, sum)| {
                sum.inserted |= *entry == *first && net.inserted;
                sum.removes_older |= *entry == *first && net.removes_older;
                *entry == *first
            });
        }
        Ok(())
    }

    /// Prepares entries of the blocks that the cursor has decoded, and moves it past the blocks
    /// whose entries are all prepared.
    fn prepare_entries(&mut self) -> Result<()> {
        const HOLDS: Net = Net { removes_older: false, inserted: true };
        let Self { postings, cursor, block: begun, starts, left, ready, .. } = self;
        let postings = postings.get()?;
        postings.prefetch(cursor.block_numbers())?;
        let mut passed = 0;
        for (block, len, rows) in cursor.blocks() {
            let skipped = len.saturating_sub(rows.len());
            let group = postings.id_group(block, len)?;
            if begun.replace(block) != Some(block) {
                group.find_all(starts)?;
                *left = group.places_from(starts, skipped);
            }
            let room = MOST.saturating_sub(ready.len()) as u64;
            let end = left.end.min(left.start.saturating_add(room));
            group.for_each(starts, left.start..end, |index, id| {
                if let Some(&fingerprint) = index.checked_sub(skipped).and_then(|i| rows.get(i)) {
                    ready.push((Entry { fingerprint, id }, HOLDS));
                }
            })?;
            left.start = end;
            if left.start < left.end {
                break;
            }
            passed += rows.len();
        }
        cursor.skip(passed)
    }

    /// Prepares the tombstones among these entries.
    fn prepare_tombstones(&mut self) -> Result<()> {
        const REMOVES: Net = Net { removes_older: true, inserted: false };
        let last = self.ready.last().map(|&(entry, _)| entry);
        let most = if last.is_some() { usize::MAX } else { STEP };
        for _ in 0..most {
            let belongs = |entry: &Entry<W>| last.is_none_or(|last| *entry <= last);
            let Some(entry) = self.removed.filter(belongs) else { break };
            self.ready.push((entry, REMOVES));
            self.removed = self.tombstones.next().transpose()?;
        }
        Ok(())
    }
}

impl<W: Word> Source<W> for SegmentSource<'_, W> {
    fn ready(&self) -> &[EntryChange<W>] {
        &self.ready[self.at..]
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.at += count;
        if self.at == self.ready.len() && count > 0 { self.fill() } else { Ok(()) }
    }
}

/// Merges sources, which are given oldest first. Ends after an error.
///
/// It merges in batches. A batch has the prepared changes of all sources, up to the least of their
/// last entries. It is sorted with a sort that is fast for a few ascending runs.
pub(crate) struct Merge<'a, F> {
    sources: Vec<Box<dyn Source<F> + Send + 'a>>,
    batch: Vec<Merged<F>>,
    /// Position of the iterator in `batch`.
    at: usize,
}

impl<'a, W: Word> Merge<'a, W> {
    /// Merges segments, oldest first, from the first entry whose fingerprint is at least `low`.
    pub(crate) fn of_segments<F: Fingerprint<Word = W>>(
        segments: impl IntoIterator<Item = &'a Segment<F>>,
        low: W,
    ) -> Result<Self> {
        let mut sources: Vec<Box<dyn Source<W> + Send + 'a>> = Vec::new();
        for segment in segments {
            if let Some(source) = SegmentSource::new(segment, low)? {
                sources.push(Box::new(source));
            }
        }
        Ok(Self::new(sources))
    }

    /// Merges sources, oldest first.
    pub(crate) fn new(sources: Vec<Box<dyn Source<W> + Send + 'a>>) -> Self {
        Self { sources, batch: Vec::new(), at: 0 }
    }

    /// Adds a source newer than the others.
    pub(crate) fn push(&mut self, source: impl Source<W> + Send + 'a) {
        self.sources.push(Box::new(source));
    }

    /// Returns the next batch of entries. Empty at the end.
    pub(crate) fn next_batch(&mut self) -> Result<&[Merged<W>]> {
        self.next_changes()?;
        if self.sources.len() > 1 {
            self.batch.dedup_by(|newer, sum| newer.entry == sum.entry && sum.add(newer));
        }
        Ok(&self.batch)
    }

    /// Returns the changes of the next batch by entry, and of the same entry from the oldest source
    /// to the newest. Empty at the end.
    pub(crate) fn next_changes(&mut self) -> Result<&[Merged<W>]> {
        self.batch.clear();
        self.at = 0;
        let ready = self.sources.iter().filter_map(|s| s.ready().last());
        let Some(bound) = ready.map(|&(entry, _)| entry).min() else { return Ok(&[]) };
        for source in &mut self.sources {
            let ready = source.ready();
            let count = ready.partition_point(|&(entry, _)| entry <= bound);
            let merged = |&(entry, net): &EntryChange<W>| Merged { entry, net, held: net.inserted };
            self.batch.extend(ready[..count].iter().map(merged));
            source.skip(count)?;
        }
        if self.sources.len() > 1 {
            // The sort is stable: among equal entries, the one from the oldest source comes first.
            self.batch.sort_by_key(|merged| merged.entry);
        }
        Ok(&self.batch)
    }
}

impl<W: Word> Iterator for Merge<'_, W> {
    type Item = Result<Merged<W>>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at == self.batch.len()
            && let Err(error) = self.next_batch()
        {
            self.sources.clear();
            self.batch.clear();
            return Some(Err(error));
        }
        let merged = *self.batch.get(self.at)?;
        self.at += 1;
        Some(Ok(merged))
    }
}

/// The fingerprints of several tables with the same bit order, as one ascending sequence.
pub(crate) struct Rows<'a, F> {
    cursors: Vec<Cursor<'a, F>>,
    batch: Vec<F>,
    /// How many fingerprints of the batch were left out because another table holds them too.
    repeated: usize,
}

impl<'a, W: Word> Rows<'a, W> {
    /// Reads table `table` of these segments from the first fingerprint that is at least `low`.
    pub(crate) fn of_segments<F: Fingerprint<Word = W>>(
        segments: impl IntoIterator<Item = &'a Segment<F>>,
        table: usize,
        low: W,
    ) -> Result<Self> {
        let tables = segments.into_iter().filter_map(|segment| segment.table(table));
        let cursors = tables.map(|table| table.cursor(low)).collect::<Result<_>>()?;
        Ok(Self { cursors, batch: Vec::new(), repeated: 0 })
    }

    /// Returns the next batch of fingerprints, each once. Empty at the end. Works as
    /// [`Merge::next_batch`] does.
    pub(crate) fn next_batch(&mut self) -> Result<&[W]> {
        self.batch.clear();
        let ready = self.cursors.iter().filter_map(|cursor| cursor.rows().last());
        let Some(&bound) = ready.min() else { return Ok(&[]) };
        for cursor in &mut self.cursors {
            let rows = cursor.rows();
            let count = rows.partition_point(|&row| row <= bound);
            self.batch.extend_from_slice(&rows[..count]);
            cursor.skip(count)?;
        }
        self.batch.sort();
        let len = self.batch.len();
        self.batch.dedup();
        self.repeated = len - self.batch.len();
        Ok(&self.batch)
    }

    /// Returns how many fingerprints were left out of the last batch because another table holds
    /// them too.
    pub(crate) fn repeated(&self) -> usize {
        self.repeated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::error::Error;
    use crate::db::Db;
    use crate::file::storage::Sim;

    const HOLDS: Net = Net { removes_older: false, inserted: true };
    const REMOVES: Net = Net { removes_older: true, inserted: false };
    const REPLACES: Net = Net { removes_older: true, inserted: true };

    fn changes(list: &[(u64, u64, Net)]) -> Box<dyn Source<u64> + Send> {
        let entry = |f, id| Entry { fingerprint: f, id: DocId(id) };
        Box::new(Changes::new(list.iter().map(|&(f, id, net)| (entry(f, id), net)).collect()))
    }

    #[test]
    fn changes_of_newer_sources_apply_on_top_of_older_ones() {
        let oldest = changes(&[(1, 1, HOLDS), (2, 1, HOLDS), (5, 1, REMOVES), (6, 6, HOLDS)]);
        let middle = changes(&[(1, 1, REMOVES), (2, 2, HOLDS), (5, 1, HOLDS)]);
        let newest = changes(&[(1, 1, HOLDS), (2, 1, REMOVES), (4, 4, REMOVES), (6, 6, REPLACES)]);
        let merged: Vec<_> = Merge::new(vec![oldest, middle, newest]).map(Result::unwrap).collect();
        let as_tuple = |m: &Merged<u64>| (m.entry.fingerprint, m.entry.id.0, m.net, m.held);
        let gone = Net::default();
        assert_eq!(
            merged.iter().map(as_tuple).collect::<Vec<_>>(),
            [
                (1, 1, HOLDS, true),
                (2, 1, gone, true),
                (2, 2, HOLDS, true),
                (4, 4, REMOVES, false),
                (5, 1, REPLACES, true),
                (6, 6, HOLDS, true),
            ]
        );
    }

    struct Broken;

    impl Source<u64> for Broken {
        fn ready(&self) -> &[EntryChange<u64>] {
            &[(Entry { fingerprint: 0, id: DocId(0) }, HOLDS)]
        }
        fn skip(&mut self, _: usize) -> Result<()> {
            Err(Error::corruption("broken"))
        }
    }

    #[test]
    fn merge_ends_after_an_error() {
        let mut merge = Merge::new(vec![Box::new(Broken), changes(&[(7, 7, HOLDS)])]);
        assert!(merge.next().unwrap().is_err());
        assert!(merge.next().is_none());
    }

    #[test]
    fn ids_of_a_fingerprint_are_prepared_in_parts_and_removed_by_tombstones_between_them() {
        let db = Db::options().storage(Sim::new()).background(false).create("db").unwrap();
        let entry = |id: u64| Entry { fingerprint: id / 100, id: DocId(id) };
        let is_removed = |id: &u64| *id < 100 && id.is_multiple_of(2);
        // So many that the second segment is not merged with it.
        for id in (0..100).filter(is_removed).chain(1000..3000) {
            db.insert(0, id).unwrap();
        }
        db.flush().unwrap();
        for id in (0..300).filter(|id| !is_removed(id)) {
            db.insert(id / 100, id).unwrap();
        }
        (0..100).filter(is_removed).for_each(|id| assert!(db.remove_entry(0, id).unwrap()));
        db.flush().unwrap();
        let version = db.core().current.get();
        let mut source = SegmentSource::new(&version.segments[1], 0).unwrap().unwrap();
        let mut changes = Vec::new();
        while !source.ready().is_empty() {
            assert!(source.ready().iter().filter(|(_, net)| net.inserted).count() <= MOST);
            changes.extend_from_slice(source.ready());
            source.skip(source.ready().len()).unwrap();
        }
        let expected = |id| (entry(id), if is_removed(&id) { REMOVES } else { HOLDS });
        assert!(changes.into_iter().eq((0..300).map(expected)));
        let mut live = Vec::new();
        for merged in Merge::of_segments(version.segments.iter().map(|s| &**s), 1).unwrap() {
            live.push(merged.unwrap().entry);
        }
        assert!(live.into_iter().eq((100..300).map(entry)));
    }

    #[test]
    fn sources_of_many_batches_are_merged_completely() {
        let list = |step: usize| -> Vec<(u64, u64, Net)> {
            (0..30_000).step_by(step).map(|f| (f, f % 3, HOLDS)).collect()
        };
        let merged: Vec<_> = Merge::new(vec![changes(&list(7)), changes(&list(1))])
            .map(|merged| merged.unwrap().entry.fingerprint)
            .collect();
        assert!(merged.into_iter().eq(0..30_000));
    }
}
