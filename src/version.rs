//! A version: all sources of entries at one moment, shared by its readers and never changed.
//!
//! Sources have an age. A newer one may remove entries of older ones. A file may go when the last
//! version that names its segment is dropped.

use std::sync::{Arc, PoisonError, RwLock};

use crate::error::Result;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Memtable;
use crate::segment::Segment;

/// All sources of entries.
#[derive(Debug, Clone)]
pub(crate) struct Version<F> {
    /// Oldest first.
    pub segments: Vec<Arc<Segment<F>>>,
    /// Being written as a segment; newer than all segments.
    pub frozen: Option<Arc<Memtable<F>>>,
    /// Takes the writes, or, in a process that only reads, holds what the log tells; newer than all
    /// else.
    pub active: Arc<Memtable<F>>,
    /// The last commit that is in the segments: what the memtables no longer tell.
    pub flushed: u64,
    /// Bulk loads so far: what they brought no memtable tells.
    pub loads: u64,
}

impl<F: Fingerprint> Version<F> {
    /// The memtables, oldest first.
    pub(crate) fn memtables(&self) -> impl DoubleEndedIterator<Item = &Memtable<F>> {
        self.frozen.iter().map(|m| &**m).chain([&*self.active])
    }

    /// Whether this version's segments hold anything that was not visible to a reader of `earlier`
    /// at commit `seq`. If not, the memtables tell all that is newer.
    pub(crate) fn outgrows(&self, earlier: &Self, seq: u64) -> bool {
        self.flushed > seq || self.loads != earlier.loads
    }

    /// Whether the entry stands, as of commit `seq`.
    pub(crate) fn contains(&self, entry: Entry<F>, seq: u64) -> Result<bool> {
        for memtable in self.memtables().rev() {
            if let Some(standing) = memtable.state(entry, seq) {
                return Ok(standing);
            }
        }
        for segment in self.segments.iter().rev() {
            // What a segment holds is newer than what it removes.
            if segment.contains(entry)? {
                return Ok(true);
            }
            if segment.removes(entry)? {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// The name of a document; `None` if there is none of this id or it was removed and forgotten.
    pub(crate) fn name(&self, id: DocId) -> Result<Option<String>> {
        if let Some(name) = self.memtables().rev().find_map(|m| m.name(id)) {
            return Ok(Some(name));
        }
        // Runs of ids ascend with age.
        let after =
            self.segments.partition_point(|s| s.names().is_none_or(|n| n.ids().start <= id.0));
        for segment in self.segments.iter().take(after).rev() {
            if let Some(name) = segment.name(id)? {
                return Ok(Some(name.to_owned()));
            }
        }
        Ok(None)
    }
}

/// The place where the current version is found.
#[derive(Debug)]
pub(crate) struct Current<F>(RwLock<Arc<Version<F>>>);

impl<F: Fingerprint> Current<F> {
    pub(crate) fn new(version: Version<F>) -> Self {
        Self(RwLock::new(Arc::new(version)))
    }

    pub(crate) fn get(&self) -> Arc<Version<F>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Replaces the version by one made from it. Readers keep what they have.
    pub(crate) fn update(&self, change: impl FnOnce(&Version<F>) -> Version<F>) {
        let mut current = self.0.write().unwrap_or_else(PoisonError::into_inner);
        *current = Arc::new(change(&current));
    }
}
