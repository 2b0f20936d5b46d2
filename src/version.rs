//! Versions: all sources of entries at one moment, shared by readers and never changed.
//!
//! Sources have an age. A newer source may remove entries of older ones. The files of a segment stay
//! open until the last version that contains the segment is dropped.

use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Memtable;
use crate::segment::Segment;
use crate::storage::PageBudget;

/// All sources of entries at one moment.
#[derive(Debug, Clone)]
pub(crate) struct Version<F> {
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

    /// Returns the same sources, with empty memory for the pages of the segments.
    pub(crate) fn renewed(&self) -> Result<Self> {
        let renewed = self
            .segments
            .iter()
            .map(|segment| Ok(segment.renewed()?.map_or_else(|| segment.clone(), Arc::new)));
        Ok(Self { segments: renewed.collect::<Result<_>>()?, ..self.clone() })
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
        for segment in self.segments.iter().rev() {
            // The entries of a segment are newer than its tombstones.
            if segment.contains(entry)? {
                return Ok(true);
            }
            if segment.removes(entry)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// Returns the name of a document. Returns `None` if no document has this id, or if it was
    /// removed and compaction has dropped its name.
    pub(crate) fn name(&self, id: DocId) -> Result<Option<String>> {
        if let Some(name) = self.memtables().rev().find_map(|m| m.name(id)) {
            return Ok(Some(name));
        }
        // Newer segments have the names of higher ids.
        let count =
            self.segments.partition_point(|s| s.names().is_none_or(|n| n.ids().start <= id.0));
        for segment in self.segments.iter().take(count).rev() {
            if let Some(name) = segment.name(id)? {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }
}

/// Holds the current version.
///
/// If the pages in memory exceed their [budget](PageBudget), it is replaced by one with the same
/// sources and empty memory for pages. The old memory is freed with the last reference to the old
/// version. So a query takes its version once, and needs no lock or count per page.
pub(crate) struct Current<F> {
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
        if version.pages.is_exceeded() { self.renew(version) } else { version }
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
        renewed.pages.accept_rest();
        (self.on_renewal)(&renewed);
        renewed
    }

    /// Replaces the version by one that `change` makes from it. Readers keep the version they have.
    pub(crate) fn update(&self, change: impl FnOnce(&Version<F>) -> Version<F>) {
        let mut current = self.version.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(change(&current));
    }
}

impl<F> std::fmt::Debug for Current<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Current").finish_non_exhaustive()
    }
}
