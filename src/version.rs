//! Versions: all sources of entries at one moment, shared by readers and never changed.
//!
//! Sources have an age. A newer source may remove entries of older ones. The files of a segment stay
//! open until the last version that contains the segment is dropped.

use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Memtable;
use crate::segment::Segment;

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
#[derive(Debug)]
pub(crate) struct Current<F>(RwLock<Arc<Version<F>>>);

impl<F: Fingerprint> Current<F> {
    pub(crate) fn new(version: Version<F>) -> Self {
        Self(RwLock::new(Arc::new(version)))
    }

    pub(crate) fn get(&self) -> Arc<Version<F>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the version by one that `change` makes from it. Readers keep the version they have.
    pub(crate) fn update(&self, change: impl FnOnce(&Version<F>) -> Version<F>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(change(&current));
    }
}
