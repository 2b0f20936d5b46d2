//! The entries of damaged segments.

use std::sync::atomic::{AtomicU64, Ordering};

use super::blocks::Blocks;
use super::damaged_segment::{DamagedSegment, undamaged};
use crate::base::error::Result;
use crate::file::paged::Sequential;
use crate::fingerprint::{Entry, Fingerprint, Word};
use crate::index::tables::postings::Postings;
use crate::store::memtable::{Memtable, Net};
use crate::store::merge::{Changes, EntryChange, Merge, Source};
use crate::store::segment::SegmentMeta;

/// Entries that are prepared at a time.
const STEP: usize = 4096;
const HOLDS: Net = Net { removes_older: false, inserted: true };
const REMOVES: Net = Net { removes_older: true, inserted: false };

/// What was read of one segment.
#[derive(Debug, Default)]
pub(super) struct Read {
    entries: AtomicU64,
    removals: AtomicU64,
}

impl Read {
    /// Returns how many entries and removals of the segment were not read.
    pub(super) fn lost<F: Fingerprint>(&self, segment: &DamagedSegment<F>) -> (u64, u64) {
        let SegmentMeta { entries, removed, .. } = segment.meta;
        (
            entries.saturating_sub(self.entries.load(Ordering::Relaxed)),
            removed.saturating_sub(self.removals.load(Ordering::Relaxed)),
        )
    }
}

/// Merges the live entries of segments, oldest first, and of the logs. `read` has a place for each
/// segment, which counts what is read.
pub(super) fn live_entries<'a, F: Fingerprint>(
    segments: &'a [DamagedSegment<F>],
    recent: &Memtable<F>,
    read: &'a [Read],
) -> Result<impl Iterator<Item = Result<Entry<F>>> + Send + 'a> {
    let mut merge = Merge::new(Vec::new());
    for (segment, read) in segments.iter().zip(read) {
        // The entries of a segment are newer than its tombstones.
        merge.push(Changes::new(tombstones(segment, read)?));
        merge.push(SegmentEntries::new(segment, read)?);
    }
    // What the logs say last of an entry holds, also where a lost commit had removed it before.
    let changes = recent.net_changes(u64::MAX).into_iter();
    let changes = changes.map(|(entry, net)| (entry, Net { removes_older: true, ..net }));
    merge.push(Changes::new(changes.collect()));
    Ok(merge.filter_map(|merged| match merged {
        Ok(merged) => merged.net.inserted.then_some(Ok(Entry::of_word(merged.entry))),
        Err(error) => Some(Err(error)),
    }))
}

fn tombstones<F: Fingerprint>(
    segment: &DamagedSegment<F>,
    read: &Read,
) -> Result<Vec<EntryChange<F::Word>>> {
    let mut removed = Vec::new();
    for entry in segment.tombstones.iter().flat_map(|tombstones| tombstones.iter_from(0)) {
        if let Some(entry) = undamaged(entry)? {
            removed.push((entry, REMOVES));
        }
    }
    read.removals.store(removed.len() as u64, Ordering::Relaxed);
    Ok(removed)
}

/// The entries of a segment, as far as its files prove them.
struct SegmentEntries<'a, W> {
    blocks: Blocks<'a, W>,
    postings: Option<Sequential<'a, Postings>>,
    read: &'a Read,
    /// The next block.
    next: usize,
    fingerprints: Vec<W>,
    ready: Vec<EntryChange<W>>,
    at: usize,
}

impl<'a, W: Word> SegmentEntries<'a, W> {
    fn new<F: Fingerprint<Word = W>>(
        segment: &'a DamagedSegment<F>,
        read: &'a Read,
    ) -> Result<Self> {
        let blocks = Blocks::of(segment)?;
        let postings = segment.postings.as_ref().map(Sequential::new);
        let (fingerprints, ready) = (Vec::new(), Vec::new());
        let mut entries = Self { blocks, postings, read, next: 0, fingerprints, ready, at: 0 };
        entries.fill()?;
        Ok(entries)
    }

    fn fill(&mut self) -> Result<()> {
        self.ready.clear();
        self.at = 0;
        while self.ready.len() < STEP && self.next < self.blocks.count() {
            let block = self.next;
            self.next += 1;
            if !self.blocks.read(block, &mut self.fingerprints)? {
                continue;
            }
            let before = self.ready.len();
            if !self.add_entries(block)? {
                self.ready.truncate(before);
            }
        }
        self.read.entries.fetch_add(self.ready.len() as u64, Ordering::Relaxed);
        Ok(())
    }

    /// Adds the entries of a block. Returns false if its ids cannot be read.
    fn add_entries(&mut self, block: usize) -> Result<bool> {
        let Self { postings, fingerprints, ready, .. } = self;
        let Some(postings) = postings else { return Ok(false) };
        let postings = postings.get()?;
        let read = postings.id_group(block, fingerprints.len()).and_then(|group| {
            let mut starts = Vec::new();
            group.find_all(&mut starts)?;
            group.for_each(&starts, group.places_from(&starts, 0), |index, id| {
                if let Some(&fingerprint) = fingerprints.get(index) {
                    ready.push((Entry { fingerprint, id }, HOLDS));
                }
            })
        });
        Ok(undamaged(read)?.is_some())
    }
}

impl<W: Word> Source<W> for SegmentEntries<'_, W> {
    fn ready(&self) -> &[EntryChange<W>] {
        self.ready.get(self.at..).unwrap_or_default()
    }

    fn skip(&mut self, count: usize) -> Result<()> {
        self.at += count;
        if self.at == self.ready.len() && count > 0 { self.fill() } else { Ok(()) }
    }
}
