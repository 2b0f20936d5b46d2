//! The pass over all entries: fingerprints that several entries share, and those that none has any
//! more.

use crate::base::error::Result;
use crate::fingerprint::{DocId, Entry, Word};
use crate::index::tables::layout::Prefix;
use crate::query::View;
use crate::store::memtable::Net;
use crate::store::merge::{Changes, Merge};

/// Most ids of a group that are passed on at a time. A larger group comes in several parts.
const IDS: usize = if cfg!(test) { 1 << 4 } else { 1 << 16 };

/// Reads the entries of a view, in parts.
#[derive(Debug)]
pub(crate) struct EntryPass<'a, F: Word> {
    view: View<'a, F>,
    /// The changes of each memtable.
    recent: Vec<Vec<(Entry<F>, Net)>>,
}

impl<'a, F: Word> EntryPass<'a, F> {
    pub(crate) fn new(view: &View<'a, F>) -> Self {
        let recent = view.version.memtables().map(|memtable| memtable.net_changes(view.seq));
        Self { view: *view, recent: recent.collect() }
    }

    /// Returns the fingerprints that memtables insert, ascending.
    pub(crate) fn recent(&self) -> Vec<F> {
        let inserted = self.recent.iter().flatten().filter(|(_, net)| net.inserted);
        let mut recent: Vec<F> = inserted.map(|(entry, _)| entry.fingerprint).collect();
        recent.sort_unstable();
        recent.dedup();
        recent
    }

    /// Returns whether entries were removed, or may share fingerprints. If not, no pass is needed.
    pub(crate) fn is_needed(&self) -> bool {
        let version = self.view.version;
        let metas = || version.segments.iter().map(|segment| segment.meta());
        let sources = version.segments.len() + self.recent.iter().filter(|r| !r.is_empty()).count();
        sources > 1
            || metas().any(|meta| meta.removed > 0 || meta.entries != meta.fingerprints)
            || self.recent.iter().any(|changes| {
                let shared = changes.windows(2).any(|w| w[0].0.fingerprint == w[1].0.fingerprint);
                shared || changes.iter().any(|(_, net)| net.removes_older || !net.inserted)
            })
    }

    /// Reads the entries of a part. Passes the ids of each fingerprint that several entries have to
    /// `group`, ascending, and each fingerprint that is held without a live entry to `gone`. Unless
    /// groups must be `whole`, large ones come in several parts, each with the number of ids before
    /// it. Returns the number of entries.
    pub(crate) fn read(
        &self,
        part: Prefix<F>,
        whole: bool,
        mut group: impl FnMut(F, &[DocId], u64) -> Result<()>,
        mut gone: impl FnMut(F),
    ) -> Result<u64> {
        let mut merge = self.merge(part)?;
        let mut ids: Vec<DocId> = Vec::new();
        // The current fingerprint, how many of its ids were passed on, and whether it has a row.
        let (mut current, mut passed, mut is_held) = (part.low(), 0, false);
        let mut entries = 0;
        let mut end =
            |fingerprint, ids: &mut Vec<DocId>, passed: u64, is_held: bool| -> Result<()> {
                if ids.len() > 1 || passed > 0 && !ids.is_empty() {
                    group(fingerprint, ids, passed)?;
                } else if ids.is_empty() && passed == 0 && is_held {
                    gone(fingerprint);
                }
                ids.clear();
                Ok(())
            };
        'parts: loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                break;
            }
            for merged in batch {
                let fingerprint = merged.entry.fingerprint;
                if fingerprint > part.high() {
                    break 'parts;
                }
                if fingerprint != current {
                    end(current, &mut ids, passed, is_held)?;
                    (current, passed, is_held) = (fingerprint, 0, false);
                } else if ids.len() == IDS && !whole {
                    end(current, &mut ids, passed, true)?;
                    passed += IDS as u64;
                }
                is_held |= merged.held;
                if merged.net.inserted {
                    ids.push(merged.entry.id);
                    entries += 1;
                }
            }
        }
        end(current, &mut ids, passed, is_held)?;
        Ok(entries)
    }

    fn merge(&self, part: Prefix<F>) -> Result<Merge<'a, F>> {
        let segments = self.view.version.segments.iter().map(|segment| &**segment);
        let mut merge = Merge::of_segments(segments, part.low())?;
        for changes in &self.recent {
            let from = changes.partition_point(|(entry, _)| entry.fingerprint < part.low());
            let to = changes.partition_point(|(entry, _)| entry.fingerprint <= part.high());
            merge.push(Changes::new(changes[from..to].to_vec()));
        }
        Ok(merge)
    }
}
