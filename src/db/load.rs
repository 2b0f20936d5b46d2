//! Bulk load: many entries at once, sorted outside memory, without the log.

use super::core::{Core, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::segment::{SegmentMeta, SegmentWriter};
use crate::settings::Ids;
use crate::sorter::{FileNumbers, Row, Sorter};

/// What a bulk load did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct LoadReport {
    /// Entries given.
    pub read: u64,
    /// Entries that are new in the database.
    pub inserted: u64,
}

impl<F: Fingerprint> Core<F> {
    /// Loads entries as one segment, durable when this returns. Other writers wait while tables
    /// are written.
    pub(super) fn load(
        &self,
        entries: impl IntoIterator<Item = Result<Entry<F>>>,
    ) -> Result<LoadReport> {
        if self.settings.ids != Ids::User {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a bulk load brings its own ids, and this database allots ids to names",
            )
            .at_path(self.storage.root()));
        }
        let mut sorter = Sorter::new(&self.storage, self, self.sort_memory());
        let mut read = 0;
        for entry in entries {
            sorter.push(entry?)?;
            read += 1;
        }
        let mut writer = lock(&self.writer);
        self.make_room(&mut writer)?;
        self.flush_all(&mut writer)?;
        let inserted = match self.write_load(&mut sorter)? {
            Some(meta) => {
                let inserted = meta.entries;
                self.add_segment(meta)?;
                inserted
            }
            None => 0,
        };
        drop(writer);
        self.signals.work();
        Ok(LoadReport { read, inserted })
    }

    /// Two sorters work at a time: of entries, and of one table's rows.
    fn sort_memory(&self) -> usize {
        self.tuning.bulk_memory / 2
    }

    /// Writes the entries that do not stand yet; all else is in segments.
    fn write_load(&self, sorter: &mut Sorter<'_, Entry<F>>) -> Result<Option<SegmentMeta>> {
        let version = self.current.get();
        let is_new = |entry| match version.segments.is_empty() {
            true => Ok(true),
            false => version.contains(entry, u64::MAX).map(|stands| !stands),
        };
        let mut entries = 0u64;
        sorter.for_each(|entry| {
            entries += u64::from(is_new(entry)?);
            Ok(())
        })?;
        if entries == 0 {
            return Ok(None);
        }
        let id = self.next();
        let mut writer = SegmentWriter::new(&self.storage, &self.settings, id);
        writer.entries(|visit| {
            let mut group: (F, Vec<DocId>) = (F::ZERO, Vec::new());
            sorter.for_each(|entry| {
                if !is_new(entry)? {
                    return Ok(());
                }
                if entry.fingerprint != group.0 && !group.1.is_empty() {
                    visit(group.0, &group.1)?;
                    group.1.clear();
                }
                group.0 = entry.fingerprint;
                group.1.push(entry.id);
                Ok(())
            })?;
            if group.1.is_empty() { Ok(()) } else { visit(group.0, &group.1) }
        })?;
        for permutation in self.planner.permutations().iter().skip(1) {
            let mut rows = Sorter::new(&self.storage, self, self.sort_memory());
            let mut last = None;
            sorter.for_each(|entry| {
                if last != Some(entry.fingerprint) && is_new(entry)? {
                    last = Some(entry.fingerprint);
                    rows.push(Row(permutation.apply(entry.fingerprint)))?;
                }
                Ok(())
            })?;
            writer.table(|visit| rows.for_each(|row| visit(row.0)))?;
        }
        writer.finish().map(Some)
    }
}
