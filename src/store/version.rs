//! Versions: all sources of entries at one moment, shared by readers and never changed.
//!
//! Sources have an age. A newer source may remove entries of older ones. The files of a segment
//! stay open until the last version that contains the segment is dropped.

use std::sync::{Arc, PoisonError, RwLock};

use crate::base::error::Result;
use crate::documents::KeyHasher;
use crate::file::paged::PagedFile;
use crate::file::storage::PageBudget;
use crate::fingerprint::Ids;
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::index::tables::table::Table;
use crate::store::log::document_key;
use crate::store::memtable::Memtable;
use crate::store::segment::{Loadable, Segment};

/// How many entries are looked up together. Each may need a page of every segment.
const TOGETHER: usize = 1 << 13;

/// All sources of entries at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Version<F: Fingerprint> {
    /// Oldest first.
    pub segments: Vec<Arc<Segment<F>>>,
    /// The memtable that is being written as a segment. Newer than all segments.
    pub frozen: Option<Arc<Memtable<F>>>,
    /// The memtable that takes the writes. In a process that only reads, it holds what is in the
    /// log. Newer than all other sources.
    pub active: Arc<Memtable<F>>,
    /// The last commit that is in the segments, and no longer in the memtables.
    pub flushed: u64,
    /// Number of bulk loads so far. Their entries are in segments, and never in a memtable.
    pub loads: u64,
    /// What the pages of segments in memory count towards.
    pub pages: Arc<PageBudget>,
    /// The generation of the pages that are not set aside.
    pub generation: u64,
    /// Where document ids come from.
    pub ids: Ids,
    /// Hashes the keys of documents.
    pub hasher: KeyHasher,
}

impl<F: Fingerprint> Version<F> {
    /// Returns the memtables, oldest first.
    pub(crate) fn memtables(&self) -> impl DoubleEndedIterator<Item = &Memtable<F>> {
        self.frozen.iter().map(|m| &**m).chain([&*self.active])
    }

    /// Returns the bytes of memory that the loaded indexes take.
    pub(crate) fn loaded_indexes_len(&self) -> u64 {
        self.segments.iter().map(|segment| segment.loaded_indexes_len()).sum()
    }

    /// Returns whether another generation of pages has begun, so that reads should use a
    /// [renewed](Self::renewed) version.
    #[inline]
    pub(crate) fn is_spent(&self) -> bool {
        self.generation != self.pages.generation()
    }

    /// Returns the same sources for the generation of pages that has begun: with empty memory for
    /// the pages of files for which no memory is set aside.
    pub(crate) fn renewed(&self) -> Result<Self> {
        // The limit may be lower than before.
        self.make_room_for_copies();
        let generation = self.pages.generation();
        let renewed = self.segments.iter().map(|segment| segment.renewed().map(Arc::new));
        Ok(Self { segments: renewed.collect::<Result<_>>()?, generation, ..self.clone() })
    }

    /// Counts the copies of indexes of files for which no memory is set aside, and returns their
    /// bytes.
    fn count_copies(&self) -> u64 {
        let copies = self.segments.iter().map(|segment| segment.separate_copies_len()).sum();
        self.pages.set_copies(copies);
        copies
    }

    /// Takes back memory that is set aside for files until the others and the copies of indexes
    /// fit, because more queries use the copies. The next operation frees the pages of these files.
    pub(crate) fn make_room_for_copies(&self) {
        let files = self.files().filter(|file| file.set_aside() > 0).collect();
        make_room(&self.pages, files, &|| self.count_copies());
    }

    /// Returns whether anything is not loaded into memory yet that should be.
    pub(crate) fn needs_loading(&self) -> bool {
        let needs =
            |segment: &Arc<Segment<F>>| segment.needs_indexes() || segment.missing_pages_len() > 0;
        self.segments.iter().any(needs)
    }

    /// Returns the segments, to load them.
    pub(crate) fn loadable(&self) -> Vec<Arc<dyn Loadable>> {
        let segments = self.segments.iter().cloned();
        segments.map(|segment| segment as Arc<dyn Loadable>).collect()
    }

    /// Takes back all memory that is set aside for files, and lets the next operation drop all
    /// pages.
    pub(crate) fn release_memory(&self) {
        self.files().for_each(PagedFile::release);
        self.pages.release();
    }

    fn files(&self) -> impl Iterator<Item = &PagedFile> {
        self.segments.iter().flat_map(|segment| segment.files())
    }

    /// Returns whether the segments of this version have anything that was not visible to a reader
    /// of `earlier` at commit `seq`. If not, everything newer is in the memtables.
    pub(crate) fn outgrows(&self, earlier: &Self, seq: u64) -> bool {
        self.flushed > seq || self.loads != earlier.loads
    }

    /// Returns whether the entry is live at commit `seq`.
    pub(crate) fn contains(&self, entry: Entry<F>, seq: u64) -> Result<bool> {
        for memtable in self.memtables().rev() {
            if let Some(is_live) = memtable.state(entry, seq) {
                return Ok(is_live);
            }
        }
        let Some(entry) = entry.word() else { return Ok(false) };
        for part in self.segments.iter().rev().filter_map(|segment| segment.tables()) {
            // The entries of a segment are newer than its tombstones.
            if part.contains(entry)? {
                return Ok(true);
            }
            if part.removes(entry)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Passes each entry to `visit`, in order, with whether it is live at commit `seq`. The blocks
    /// of many are fetched before the first is read.
    pub(crate) fn look_up(
        &self,
        entries: &[Entry<F::Word>],
        seq: u64,
        mut visit: impl FnMut(Entry<F::Word>, bool) -> Result<()>,
    ) -> Result<()> {
        for entries in entries.chunks(TOGETHER) {
            self.fetch(entries)?;
            for &entry in entries {
                visit(entry, self.contains(Entry::of_word(entry), seq)?)?;
            }
        }
        Ok(())
    }

    fn fetch(&self, entries: &[Entry<F::Word>]) -> Result<()> {
        let tables = || self.segments.iter().filter_map(|segment| segment.table(0));
        if entries.len() == 1 || !tables().any(Table::is_cold) {
            return Ok(());
        }
        let mut fingerprints: Vec<F::Word> =
            entries.iter().map(|entry| entry.fingerprint).collect();
        fingerprints.sort_unstable();
        tables().try_for_each(|table| table.fetch_each(&fingerprints))
    }

    /// Returns the document with this key at commit `seq`.
    pub(crate) fn document(&self, key: &[u8], seq: u64) -> Result<Option<Document<F>>> {
        Ok(self.newest(key, seq, 0)?.flatten())
    }

    /// Returns what the newest source says about the document with this key at commit `seq`, of the
    /// segments from number `from` on and the memtables. The outer `None`: nothing; the inner one:
    /// it was removed.
    pub(crate) fn newest(
        &self,
        key: &[u8],
        seq: u64,
        from: usize,
    ) -> Result<Option<Option<Document<F>>>> {
        if let Some((_, document)) = self.memtables().rev().find_map(|m| m.document(key, seq)) {
            return Ok(Some(document));
        }
        let hash = self.hasher.hash(key);
        for segment in self.segments.iter().skip(from).rev() {
            if let Some(document) = segment.document(key, hash)? {
                return Ok(Some(document));
            }
        }
        Ok(None)
    }

    /// Returns the document with this id at commit `seq`, with its name if it has one.
    pub(crate) fn document_by_id(
        &self,
        id: DocId,
        seq: u64,
    ) -> Result<Option<(Option<String>, Document<F>)>> {
        if self.ids == Ids::Unique {
            let document = self.document(&document_key(None, id), seq)?;
            return Ok(document.map(|document| (None, document)));
        }
        let recent = self.memtables().rev().find_map(|m| m.document_by_id(id, seq));
        if let Some((name, document)) = recent {
            return Ok(document.map(|document| (Some(name), document)));
        }
        for (number, segment) in self.segments.iter().enumerate().rev() {
            if let Some((name, document)) = segment.document_by_id(id)? {
                // A newer source may have removed the name, or given it another id.
                let newer = self.newest(name.as_bytes(), seq, number + 1)?;
                let same = newer.unwrap_or(Some(document)).filter(|document| document.id == id);
                return Ok(same.map(|document| (Some(name), document)));
            }
        }
        Ok(None)
    }

    /// Returns the number of documents at commit `seq`.
    pub(crate) fn documents(&self, seq: u64) -> u64 {
        let in_segments: i64 = self.segments.iter().map(|s| s.meta().document_gain()).sum();
        let recent: i64 = self.memtables().map(|m| m.net_documents(seq)).sum();
        u64::try_from(in_segments + recent).unwrap_or(0)
    }
}

/// Takes back memory that is set aside for these files until the others and the copies fit.
fn make_room(pages: &PageBudget, mut files: Vec<&PagedFile>, count_copies: &dyn Fn() -> u64) {
    files.sort_by_key(|file| file.set_aside());
    let mut kept: u64 = files.iter().map(|file| file.set_aside()).sum();
    let most = pages.most_fixed();
    let mut is_changed = false;
    // The copy of an index takes the place of pages only if memory is set aside for the file.
    while let Some(missing) = (kept + count_copies()).checked_sub(most + 1)
        && !files.is_empty()
    {
        // The smallest file that is enough, or else the largest.
        let at = files.partition_point(|file| file.set_aside() <= missing);
        let file = files.remove(at.min(files.len() - 1));
        kept -= file.set_aside();
        file.release();
        is_changed = true;
    }
    if is_changed {
        pages.begin_generation();
    }
}

/// Reads a version in parts, so that the pages of one part can be dropped before the next.
#[derive(Debug)]
pub(crate) struct InParts<'a, F: Fingerprint> {
    given: &'a Version<F>,
    renewed: Option<Version<F>>,
}

impl<'a, F: Fingerprint> InParts<'a, F> {
    pub(crate) fn new(given: &'a Version<F>) -> Self {
        Self { given, renewed: None }
    }

    /// Returns what to read the next part with. Frees pages that were read for earlier parts.
    #[inline]
    pub(crate) fn get(&mut self) -> &Version<F> {
        if self.renewed.as_ref().unwrap_or(self.given).is_spent() {
            self.renew();
        }
        self.renewed.as_ref().unwrap_or(self.given)
    }

    #[cold]
    fn renew(&mut self) {
        // Without memory for that, the pages stay as they are.
        if let Ok(renewed) = self.given.renewed() {
            self.renewed = Some(renewed);
        }
    }
}

/// Holds the current version.
///
/// When another generation of pages begins (see [`PageBudget`]), it is replaced by one with the
/// same sources and empty memory for pages. The old memory is freed with the last reference to the
/// old version. So a query takes its version once, and needs no lock or count per page.
pub(crate) struct Current<F: Fingerprint> {
    version: RwLock<Arc<Version<F>>>,
    /// Called with each version that replaces another because of its pages.
    on_renewal: Box<OnRenewal<F>>,
}

type OnRenewal<F> = dyn Fn(&Version<F>) + Send + Sync;

impl<F: Fingerprint> Current<F> {
    pub(crate) fn new(
        version: Arc<Version<F>>,
        on_renewal: impl Fn(&Version<F>) + Send + Sync + 'static,
    ) -> Self {
        Self { version: RwLock::new(version), on_renewal: Box::new(on_renewal) }
    }

    pub(crate) fn get(&self) -> Arc<Version<F>> {
        let version = self.version.read().unwrap_or_else(PoisonError::into_inner).clone();
        if version.is_spent() { self.renew(version) } else { version }
    }

    /// Replaces `version` by one with empty memory for pages, and returns the current version.
    #[cold]
    fn renew(&self, version: Arc<Version<F>>) -> Arc<Version<F>> {
        // Without memory for that, the pages stay as they are.
        let Ok(renewed) = version.renewed().map(Arc::new) else { return version };
        let mut current = self.version.write().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&current, &version) {
            return current.clone();
        }
        *current = renewed.clone();
        drop(current);
        drop(version);
        (self.on_renewal)(&renewed);
        renewed
    }

    /// Replaces the version by one that `change` makes from it. Readers keep the version they have.
    pub(crate) fn update(&self, change: impl FnOnce(&Version<F>) -> Version<F>) {
        let mut current = self.version.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(change(&current));
    }
}

impl<F: Fingerprint> std::fmt::Debug for Current<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").finish_non_exhaustive()
    }
}
