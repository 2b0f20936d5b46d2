//! Bulk load: many entries at once, sorted outside memory, without the log.

use std::ops::ControlFlow;

use super::core::Core;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Entry, Fingerprint};
use crate::layout::Permutation;
use crate::paged::FileSummary;
use crate::parallel;
use crate::progress::{Meter, Phase, Progress};
use crate::segment::{SegmentMeta, SegmentWriter, WrittenEntries};
use crate::settings::Ids;
use crate::sorter::{FileNumbers, Record, Row, Sorted, Sorter};
use crate::table::Profile;

/// Entries after which the caller is told.
const STEP: u64 = 1 << 14;

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
        report: &mut (dyn FnMut(Progress) -> ControlFlow<()> + Send),
    ) -> Result<LoadReport> {
        if self.settings.ids != Ids::User {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                "a bulk load brings its own ids, and this database allots ids to names",
            )
            .at_path(self.storage.root()));
        }
        let _folder = self.keep_folder()?;
        let entries = entries.into_iter();
        let total = match entries.size_hint() {
            (low, Some(high)) if low == high => Some(low as u64),
            _ => None,
        };
        let load = Load {
            core: self,
            threads: self.tuning.threads.unwrap_or(1),
            meter: Meter::new(report, total),
        };
        let (sorter, read) = load.read(entries)?;
        self.take_background_error()?;
        self.wait_for_flush()?;
        let writer = self.flush_all()?;
        load.meter.begin(Phase::Sort, read)?;
        let sorted = sorter.finish(load.threads, |more| load.meter.advance(more))?;
        let inserted = match load.write(load.only_new(sorted)?, read)? {
            Some(meta) => {
                let inserted = meta.entries;
                self.add_segment(meta)?;
                inserted
            }
            None => 0,
        };
        load.meter.finish();
        drop(writer);
        self.compact_as_needed();
        Ok(LoadReport { read, inserted })
    }
}

/// A bulk load under way.
struct Load<'a, F> {
    core: &'a Core<F>,
    threads: usize,
    meter: Meter<'a>,
}

/// What one thread writes.
#[derive(Debug)]
enum Written {
    Entries(WrittenEntries),
    Table(FileSummary, u64),
}

impl<'a, F: Fingerprint> Load<'a, F> {
    /// A sorter within a share of the memory, in eighths: entries take five, all tables' rows, which
    /// are half as long, the other three.
    fn sorter<R: Record>(&self, eighths: usize, of: usize) -> Sorter<'a, R> {
        let memory = self.core.tuning.bulk_memory / 8 * eighths / of;
        Sorter::new(&self.core.storage, self.core, memory)
    }

    fn read(
        &self,
        entries: impl Iterator<Item = Result<Entry<F>>>,
    ) -> Result<(Sorter<'a, Entry<F>>, u64)> {
        let mut sorter = self.sorter(5, 1);
        let mut read = 0;
        for entry in entries {
            sorter.push(entry?)?;
            read += 1;
            if read % STEP == 0 {
                self.meter.advance(STEP)?;
            }
        }
        self.meter.advance(read % STEP)?;
        Ok((sorter, read))
    }

    /// The entries without those that stand already, which are looked for in order.
    fn only_new(&self, entries: Sorted<'a, Entry<F>>) -> Result<Sorted<'a, Entry<F>>> {
        let version = self.core.current.get();
        if version.segments.is_empty() {
            return Ok(entries);
        }
        let mut new = self.sorter(3, 1);
        entries.for_each(|some| {
            some.iter().try_for_each(|&entry| match version.contains(entry, u64::MAX)? {
                true => Ok(()),
                false => new.push(entry),
            })
        })?;
        drop(entries);
        new.finish(self.threads, |_| Ok(()))
    }

    /// Writes the tables side by side, each by one thread: its bytes are one stream.
    fn write(&self, entries: Sorted<'a, Entry<F>>, read: u64) -> Result<Option<SegmentMeta>> {
        if entries.is_empty() {
            return Ok(None);
        }
        let permutations = self.core.planner.permutations();
        self.meter.begin(Phase::Write, read * permutations.len() as u64)?;
        let core = self.core;
        let mut writer = SegmentWriter::new(&core.storage, &core.settings, core.next());
        let mut written: Vec<Option<Written>> = permutations.iter().map(|_| None).collect();
        let others = self.threads.min(permutations.len() - 1);
        // The others take longer: they begin first.
        let tables = written.iter_mut().zip(permutations).enumerate().rev();
        parallel::for_each(
            self.threads,
            tables,
            || (),
            |(), (table, (written, permutation))| {
                *written = Some(match table {
                    0 => Written::Entries(self.write_entries(&writer, &entries)?),
                    _ => {
                        let rows = self.rows(&entries, permutation, others)?;
                        let (file, count) = self.write_table(&writer, table, &rows)?;
                        Written::Table(file, count)
                    }
                });
                Ok(())
            },
        )?;
        for written in written.into_iter().flatten() {
            match written {
                Written::Entries(entries) => writer.add_entries(entries),
                Written::Table(file, count) => writer.add_table(file, count)?,
            }
        }
        writer.finish().map(Some)
    }

    fn write_entries(
        &self,
        writer: &SegmentWriter<'_>,
        entries: &Sorted<'_, Entry<F>>,
    ) -> Result<WrittenEntries> {
        let mut profile = Profile::new(self.core.settings.code);
        let mut last = None;
        entries.for_each(|some| {
            for entry in some {
                if last != Some(entry.fingerprint) {
                    last = Some(entry.fingerprint);
                    profile.add(entry.fingerprint);
                }
            }
            Ok(())
        })?;
        let mut builder = writer.entries_builder(&profile)?;
        entries.for_each(|some| {
            some.iter().try_for_each(|&entry| builder.push(entry))?;
            self.meter.advance(some.len() as u64)
        })?;
        builder.finish()
    }

    /// The fingerprints in a table's bit order, with one of `of` shares of the memory.
    fn rows(
        &self,
        entries: &Sorted<'_, Entry<F>>,
        permutation: &Permutation<F>,
        of: usize,
    ) -> Result<Sorted<'a, Row<F>>> {
        let mut rows = self.sorter(3, of);
        let mut last = None;
        entries.for_each_unordered(|some| {
            for entry in some {
                if last != Some(entry.fingerprint) {
                    last = Some(entry.fingerprint);
                    rows.push(Row(permutation.apply(entry.fingerprint)))?;
                }
            }
            Ok(())
        })?;
        rows.finish(1, |_| Ok(()))
    }

    fn write_table(
        &self,
        writer: &SegmentWriter<'_>,
        table: usize,
        rows: &Sorted<'_, Row<F>>,
    ) -> Result<(FileSummary, u64)> {
        let mut profile = Profile::new(self.core.settings.code);
        rows.for_each(|some| {
            some.iter().for_each(|row| profile.add(row.0));
            Ok(())
        })?;
        let mut builder = writer.table_builder(table, &profile)?;
        rows.for_each(|some| {
            some.iter().try_for_each(|row| builder.push(row.0).map(drop))?;
            self.meter.advance(some.len() as u64)
        })?;
        Ok((builder.finish()?, profile.count()))
    }
}
