//! Bulk load: many entries at once, sorted outside memory, without the log.

use super::core::{Core, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Entry, Fingerprint};
use crate::segment::{SegmentMeta, SegmentWriter, VisitIds};
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
        let inserted = match self.write_load(sorter)? {
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
    fn write_load(&self, sorter: Sorter<'_, Entry<F>>) -> Result<Option<SegmentMeta>> {
        let mut entries = self.only_new(sorter)?;
        let mut is_empty = true;
        entries.for_each(|_| {
            is_empty = false;
            Ok(())
        })?;
        if is_empty {
            return Ok(None);
        }
        let id = self.next();
        let mut writer = SegmentWriter::new(&self.storage, &self.settings, id);
        writer.entries(|visit| for_each_group(&mut entries, visit))?;
        for permutation in self.planner.permutations().iter().skip(1) {
            let mut rows = Sorter::new(&self.storage, self, self.sort_memory());
            for_each_group(&mut entries, &mut |fingerprint, _| {
                rows.push(Row(permutation.apply(fingerprint)))
            })?;
            writer.table(|visit| rows.for_each(|row| visit(row.0)))?;
        }
        writer.finish().map(Some)
    }

    /// The entries without those that stand already, which are looked for in order.
    fn only_new<'a>(&'a self, mut entries: Sorter<'a, Entry<F>>) -> Result<Sorter<'a, Entry<F>>> {
        let version = self.current.get();
        if version.segments.is_empty() {
            return Ok(entries);
        }
        let mut new = Sorter::new(&self.storage, self, self.sort_memory());
        entries.for_each(|entry| match version.contains(entry, u64::MAX)? {
            true => Ok(()),
            false => new.push(entry),
        })?;
        Ok(new)
    }
}

/// Gives each fingerprint with its ids.
fn for_each_group<F: Fingerprint>(
    entries: &mut Sorter<'_, Entry<F>>,
    visit: VisitIds<'_, F>,
) -> Result<()> {
    let (mut current, mut ids) = (F::ZERO, Vec::new());
    entries.for_each(|entry| {
        if entry.fingerprint != current && !ids.is_empty() {
            visit(current, &ids)?;
            ids.clear();
        }
        current = entry.fingerprint;
        ids.push(entry.id);
        Ok(())
    })?;
    if ids.is_empty() { Ok(()) } else { visit(current, &ids) }
}
