//! Merges segments into one.

use std::sync::Arc;

use super::survey::{Survey, Surveyor};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::merge::{Merge, Rows};
use crate::segment::{Segment, SegmentContents, SegmentMeta, SegmentWriter, TableContents};
use crate::settings::Settings;
use crate::storage::Storage;
use crate::table::Profile;

/// Merges a run of segments, contiguous in age, into one.
pub(crate) struct Merger<'a, F> {
    pub storage: &'a Arc<dyn Storage>,
    pub settings: &'a Settings,
    /// The segments to merge, oldest first.
    pub inputs: &'a [Arc<Segment<F>>],
    /// Whether no older segment exists, so that tombstones have nothing left to remove.
    pub is_oldest: bool,
    /// Called after each batch of rows, with their number. It may do more urgent work first, and
    /// its error ends the merge.
    pub pause: &'a (dyn Fn(u64) -> Result<()> + Sync),
    /// How many tables are written in parallel.
    pub threads: usize,
}

impl<F: Fingerprint> Merger<'_, F> {
    /// Writes segment `id`, or returns `None` if nothing is left. Takes 8 bytes of memory or more
    /// per removed entry, and the block keys of each table that is being written.
    pub(crate) fn run(&self, id: u64) -> Result<Option<SegmentMeta>> {
        self.require_space()?;
        let survey = self.survey()?;
        if survey.is_empty() {
            return Ok(None);
        }
        let mut writer = SegmentWriter::new(self.storage, self.settings, id);
        writer.tables(&Output { merger: self, survey: &survey }, self.threads)?;
        writer.tombstones(&survey.tombstones)?;
        self.write_names(&mut writer, &survey.gone_docs)?;
        self.check_counts(writer.counts())?;
        writer.finish().map(Some)
    }

    /// Returns about how many rows a merge of these segments passes to `pause`.
    pub(crate) fn work(settings: &Settings, inputs: &[Arc<Segment<F>>]) -> u64 {
        let rows: u64 = inputs.iter().map(|s| s.meta().fingerprints).sum();
        let entries: u64 = inputs.iter().map(|s| s.meta().entries).sum();
        let other_tables = settings.layout.tables() as u64 - 1;
        let passes = if Profile::<F>::of_count(settings.code, 0).is_some() { 1 } else { 2 };
        rows + entries + other_tables * passes * rows
    }

    /// Requires as much free space as the inputs take: the output is no larger, except for
    /// rounding.
    fn require_space(&self) -> Result<()> {
        let needed: u64 = self.inputs.iter().map(|s| s.meta().bytes()).sum();
        let free = self.storage.free_space()?;
        if free >= needed {
            return Ok(());
        }
        let message = format!(
            "compaction needs {needed} bytes of free disk space, but there are only {free}: make room"
        );
        Err(Error::new(ErrorKind::Io, message).at_path(self.storage.root()))
    }

    fn entries(&self) -> Result<Merge<'_, F>> {
        Merge::of_segments(self.inputs.iter().map(|s| &**s), F::ZERO)
    }

    fn survey(&self) -> Result<Survey<F>> {
        if self.inputs.iter().all(|s| s.meta().removed == 0) {
            return self.survey_without_removals();
        }
        let mut surveyor = Surveyor::new(self.settings.code, self.is_oldest);
        let mut merge = self.entries()?;
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                return Ok(surveyor.finish());
            }
            batch.iter().for_each(|merged| surveyor.add(merged));
            (self.pause)(batch.len() as u64)?;
        }
    }

    /// Makes the survey if nothing is removed. Every entry is kept, so reading one table is enough.
    fn survey_without_removals(&self) -> Result<Survey<F>> {
        let entries = self.inputs.iter().map(|s| s.meta().entries).sum();
        let mut survey = Survey { entries, ..Survey::new(self.settings.code) };
        self.for_each_row(0, &[], |rows| {
            rows.iter().for_each(|&row| survey.profile.add(row));
            Ok(())
        })?;
        Ok(survey)
    }

    /// Passes the fingerprints in table `table` of the inputs to `visit`, in batches: each once, in
    /// the table's bit order, without those in `gone`.
    fn for_each_row(
        &self,
        table: usize,
        gone: &[F],
        mut visit: impl FnMut(&[F]) -> Result<()>,
    ) -> Result<()> {
        let mut gone = gone.iter().copied().peekable();
        let mut kept = Vec::new();
        let mut rows = Rows::of_segments(self.inputs.iter().map(|s| &**s), table)?;
        loop {
            let batch = rows.next_batch()?;
            let Some(&last) = batch.last() else { return Ok(()) };
            let len = batch.len() as u64;
            if gone.peek().is_some_and(|&g| g <= last) {
                kept.clear();
                kept.extend(batch.iter().filter(|&&row| {
                    while gone.next_if(|&g| g < row).is_some() {}
                    gone.peek() != Some(&row)
                }));
                visit(&kept)?;
            } else {
                visit(batch)?;
            }
            (self.pause)(len)?;
        }
    }

    fn write_names(&self, writer: &mut SegmentWriter<'_>, gone: &[DocId]) -> Result<()> {
        let runs = || self.inputs.iter().filter_map(|s| s.names());
        let Some(first) = runs().map(|names| names.ids().start).min() else { return Ok(()) };
        let mut next = first;
        let names = runs().flat_map(|names| {
            // Where entire segments were removed, ids are missing between runs.
            let missing = std::mem::replace(&mut next, names.ids().end)..names.ids().start;
            missing.map(|_| Ok("")).chain(names.iter())
        });
        let mut gone = gone.iter().peekable();
        let kept = (first..).zip(names).map(|(id, name)| {
            while gone.next_if(|g| g.0 < id).is_some() {}
            if gone.peek().is_some_and(|g| g.0 == id) { name.map(|_| "") } else { name }
        });
        writer.names(DocId(first), kept)
    }

    /// Checks that each dropped tombstone dropped one entry with it, and that no other entry was
    /// lost.
    fn check_counts(&self, (left, tombstones): (u64, u64)) -> Result<()> {
        let entries: u64 = self.inputs.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.inputs.iter().map(|s| s.meta().removed).sum();
        let dropped = (entries.checked_sub(left), removed.checked_sub(tombstones));
        if matches!(dropped, (Some(entries), Some(tombstones)) if entries == tombstones) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "compaction of {entries} entries and {removed} tombstones would leave {left} and \
             {tombstones}, so an input is damaged: run verify"
        ))
        .at_path(self.storage.root()))
    }
}

/// The contents of the merged segment.
struct Output<'a, F> {
    merger: &'a Merger<'a, F>,
    survey: &'a Survey<F>,
}

impl<F: Fingerprint> SegmentContents<F> for Output<'_, F> {
    type Table<'s>
        = OutputTable<'s, F>
    where
        Self: 's;

    fn profile(&self) -> Result<Profile<F>> {
        Ok(self.survey.profile.clone())
    }

    #[inline]
    fn for_each_entry(&self, mut push: impl FnMut(Entry<F>) -> Result<()>) -> Result<()> {
        let mut merge = self.merger.entries()?;
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                return Ok(());
            }
            let len = batch.len() as u64;
            let mut live = batch.iter().filter(|merged| merged.net.inserted);
            live.try_for_each(|merged| push(merged.entry))?;
            (self.merger.pause)(len)?;
        }
    }

    fn table(&self, table: usize) -> Result<OutputTable<'_, F>> {
        let permutations = self.merger.settings.permutations::<F>();
        let mut gone: Vec<F> =
            self.survey.gone.iter().map(|&f| permutations[table].apply(f)).collect();
        gone.sort_unstable();
        let fingerprints = self.survey.profile.count();
        Ok(OutputTable { merger: self.merger, table, gone, fingerprints })
    }
}

/// The contents of one table of the merged segment.
struct OutputTable<'a, F> {
    merger: &'a Merger<'a, F>,
    table: usize,
    /// Fingerprints to leave out, in the table's bit order.
    gone: Vec<F>,
    /// How many fingerprints are left: as many as in table 0.
    fingerprints: u64,
}

impl<F: Fingerprint> TableContents<F> for OutputTable<'_, F> {
    fn profile(&self) -> Result<Profile<F>> {
        let code = self.merger.settings.code;
        if let Some(profile) = Profile::of_count(code, self.fingerprints) {
            return Ok(profile);
        }
        let mut profile = Profile::new(code);
        self.merger.for_each_row(self.table, &self.gone, |rows| {
            rows.iter().for_each(|&row| profile.add(row));
            Ok(())
        })?;
        Ok(profile)
    }

    #[inline]
    fn for_each(&self, mut push: impl FnMut(F) -> Result<()>) -> Result<()> {
        self.merger
            .for_each_row(self.table, &self.gone, |rows| rows.iter().try_for_each(|&row| push(row)))
    }
}
