//! Writing segments from changes in memory (flush) and from other segments (compaction).

use std::sync::Arc;

use crate::codec::block_code::BlockCode;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Net;
use crate::merge::{Merge, Merged, Rows};
use crate::paged::FileSummary;
use crate::parallel;
use crate::segment::{Segment, SegmentMeta, SegmentWriter, VisitIds, WrittenEntries};
use crate::settings::Settings;
use crate::storage::Storage;
use crate::table::Profile;

/// Writes the changes of a memtable, in order, as segment `id`. `None` if nothing is left of them
/// and there are no names.
pub(crate) fn write_changes<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    settings: &Settings,
    id: u64,
    changes: &[(Entry<F>, Net)],
    names: &(DocId, Vec<Box<str>>),
) -> Result<Option<SegmentMeta>> {
    let (first_doc, names) = names;
    if names.is_empty() && changes.iter().all(|(_, net)| *net == Net::default()) {
        return Ok(None);
    }
    let mut writer = SegmentWriter::new(storage, settings, id);
    let held: Vec<Entry<F>> =
        changes.iter().filter(|(_, net)| net.inserted).map(|&(entry, _)| entry).collect();
    writer.entries(|visit: VisitIds<'_, F>| {
        held.chunk_by(|a, b| a.fingerprint == b.fingerprint).try_for_each(|group| {
            let ids: Vec<DocId> = group.iter().map(|entry| entry.id).collect();
            group.first().map_or(Ok(()), |entry| visit(entry.fingerprint, &ids))
        })
    })?;
    let mut fingerprints: Vec<F> = held.iter().map(|entry| entry.fingerprint).collect();
    fingerprints.dedup();
    for permutation in settings.permutations::<F>().iter().skip(1) {
        let mut permuted: Vec<F> = fingerprints.iter().map(|&f| permutation.apply(f)).collect();
        permuted.sort_unstable();
        writer.table(|visit| permuted.iter().try_for_each(|&f| visit(f)))?;
    }
    let removed: Vec<Entry<F>> =
        changes.iter().filter(|(_, net)| net.removes_older).map(|&(entry, _)| entry).collect();
    writer.tombstones(&removed)?;
    if !names.is_empty() {
        let mut standing: Vec<DocId> = held.iter().map(|entry| entry.id).collect();
        standing.sort_unstable();
        let kept = (first_doc.0..).zip(names).map(|(id, name)| {
            let stands = standing.binary_search(&DocId(id)).is_ok();
            Ok(if stands { &**name } else { "" })
        });
        writer.names(*first_doc, kept)?;
    }
    writer.finish().map(Some)
}

/// Merges a run of segments, contiguous in age, into one.
pub(crate) struct Merger<'a, F> {
    pub storage: &'a Arc<dyn Storage>,
    pub settings: &'a Settings,
    /// Oldest first.
    pub inputs: &'a [Arc<Segment<F>>],
    /// No older segment stays outside: tombstones have nothing left to remove.
    pub is_oldest: bool,
    /// Called again and again: may do more urgent work, and ends the merge by an error.
    pub pause: &'a (dyn Fn() -> Result<()> + Sync),
    /// Tables that are written at a time.
    pub threads: usize,
}

/// What one thread writes.
enum Written {
    Entries(WrittenEntries),
    Table(FileSummary, u64),
}

/// What the first pass over the inputs finds.
struct Survey<F> {
    /// Of table 0.
    profile: Profile<F>,
    /// Fingerprints of some input's tables that have no entry left, in order.
    gone: Vec<F>,
    /// Documents whose entry is removed, in order.
    gone_docs: Vec<DocId>,
    tombstones: Vec<Entry<F>>,
    entries: u64,
}

impl<F: Fingerprint> Survey<F> {
    fn new(code: BlockCode) -> Self {
        let (gone, gone_docs, tombstones) = (Vec::new(), Vec::new(), Vec::new());
        Self { profile: Profile::new(code), gone, gone_docs, tombstones, entries: 0 }
    }
}

impl<F: Fingerprint> Merger<'_, F> {
    /// Writes segment `id`; `None` if no entry is left. Memory: eight bytes and more for each
    /// removed entry, and one output table's keys.
    pub(crate) fn run(&self, id: u64) -> Result<Option<SegmentMeta>> {
        self.require_space()?;
        let survey = self.survey()?;
        if survey.entries == 0 && survey.tombstones.is_empty() {
            return Ok(None);
        }
        let mut writer = SegmentWriter::new(self.storage, self.settings, id);
        self.write_tables(&mut writer, &survey)?;
        writer.tombstones(&survey.tombstones)?;
        self.write_names(&mut writer, &survey.gone_docs)?;
        self.check_counts(writer.counts())?;
        writer.finish().map(Some)
    }

    /// The output is at most as large as the inputs, but for rounding.
    fn require_space(&self) -> Result<()> {
        let needed: u64 = self.inputs.iter().map(|s| s.meta().bytes()).sum();
        let free = self.storage.free_space()?;
        if free >= needed {
            return Ok(());
        }
        let message = format!("compaction needs {needed} bytes of disk, {free} are free");
        Err(Error::new(ErrorKind::Io, message).at_path(self.storage.root()))
    }

    fn entries(&self) -> Result<Merge<'_, F>> {
        Merge::of_segments(self.inputs.iter().map(|s| &**s), F::ZERO)
    }

    fn rows(&self, table: usize) -> Result<Rows<'_, F>> {
        Rows::of_segments(self.inputs.iter().map(|s| &**s), table)
    }

    fn survey(&self) -> Result<Survey<F>> {
        if self.inputs.iter().all(|s| s.meta().removed == 0) {
            return self.survey_of_all();
        }
        let mut survey = Survey::new(self.settings.code);
        let mut merge = self.entries()?;
        let mut group = Group::default();
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                break;
            }
            for merged in batch {
                if group.begins(merged) {
                    group.end(&mut survey);
                }
                group.add(merged);
                survey.entries += u64::from(merged.net.inserted);
                if merged.net.removes_older && !self.is_oldest {
                    survey.tombstones.push(merged.entry);
                }
                if merged.held && !merged.net.inserted {
                    survey.gone_docs.push(merged.entry.id);
                }
            }
            (self.pause)()?;
        }
        group.end(&mut survey);
        survey.gone_docs.sort_unstable();
        Ok(survey)
    }

    /// As [`survey`](Self::survey), where nothing is removed: every entry stands.
    fn survey_of_all(&self) -> Result<Survey<F>> {
        let entries = self.inputs.iter().map(|s| s.meta().entries).sum();
        let mut survey = Survey { entries, ..Survey::new(self.settings.code) };
        self.for_each_row(0, &[], |rows| {
            rows.iter().for_each(|&row| survey.profile.add(row));
            Ok(())
        })?;
        Ok(survey)
    }

    /// Writes the tables side by side, each by one thread: its bytes are one stream.
    fn write_tables(&self, writer: &mut SegmentWriter<'_>, survey: &Survey<F>) -> Result<()> {
        let permutations = self.settings.permutations::<F>();
        let mut written: Vec<Option<Written>> = permutations.iter().map(|_| None).collect();
        let shared = &*writer;
        parallel::for_each(
            self.threads,
            written.iter_mut().zip(&permutations).enumerate(),
            || (),
            |(), (table, (written, permutation))| {
                *written = Some(match table {
                    0 => Written::Entries(self.write_entries(shared, survey)?),
                    _ => {
                        let mut gone: Vec<F> =
                            survey.gone.iter().map(|&f| permutation.apply(f)).collect();
                        gone.sort_unstable();
                        self.write_table(shared, table, &gone, survey.profile.count())?
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
        Ok(())
    }

    fn write_entries(
        &self,
        writer: &SegmentWriter<'_>,
        survey: &Survey<F>,
    ) -> Result<WrittenEntries> {
        let mut builder = writer.entries_builder(&survey.profile)?;
        let mut merge = self.entries()?;
        loop {
            let batch = merge.next_batch()?;
            if batch.is_empty() {
                return builder.finish();
            }
            let mut standing = batch.iter().filter(|merged| merged.net.inserted);
            standing.try_for_each(|merged| builder.push(merged.entry))?;
            (self.pause)()?;
        }
    }

    /// Writes a table which should have so many `fingerprints`, as table 0 has.
    fn write_table(
        &self,
        writer: &SegmentWriter<'_>,
        table: usize,
        gone: &[F],
        fingerprints: u64,
    ) -> Result<Written> {
        let code = self.settings.code;
        let profile = match Profile::of_count(code, fingerprints) {
            Some(profile) => profile,
            None => self.profile(table, gone)?,
        };
        let mut builder = writer.table_builder(table, &profile)?;
        let mut count = 0;
        self.for_each_row(table, gone, |rows| {
            count += rows.len() as u64;
            rows.iter().try_for_each(|&row| builder.push(row).map(drop))
        })?;
        Ok(Written::Table(builder.finish()?, count))
    }

    fn profile(&self, table: usize, gone: &[F]) -> Result<Profile<F>> {
        let mut profile = Profile::new(self.settings.code);
        self.for_each_row(table, gone, |rows| {
            rows.iter().for_each(|&row| profile.add(row));
            Ok(())
        })?;
        Ok(profile)
    }

    /// Gives each fingerprint of the inputs' tables `table`, once, in its bit order, without those
    /// that are gone; some at a time.
    fn for_each_row(
        &self,
        table: usize,
        gone: &[F],
        mut visit: impl FnMut(&[F]) -> Result<()>,
    ) -> Result<()> {
        let mut gone = gone.iter().copied().peekable();
        let mut kept = Vec::new();
        let mut rows = self.rows(table)?;
        loop {
            let batch = rows.next_batch()?;
            let Some(&last) = batch.last() else { return Ok(()) };
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
            (self.pause)()?;
        }
    }

    fn write_names(&self, writer: &mut SegmentWriter<'_>, gone: &[DocId]) -> Result<()> {
        let runs = || self.inputs.iter().filter_map(|s| s.names());
        let Some(first) = runs().map(|names| names.ids().start).min() else { return Ok(()) };
        let mut next = first;
        let names = runs().flat_map(|names| {
            // Where whole segments were removed, ids are missing between runs.
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

    /// Every tombstone that went took one entry with it, and no other entry went.
    fn check_counts(&self, (left, tombstones): (u64, u64)) -> Result<()> {
        let entries: u64 = self.inputs.iter().map(|s| s.meta().entries).sum();
        let removed: u64 = self.inputs.iter().map(|s| s.meta().removed).sum();
        if entries.checked_sub(left) == removed.checked_sub(tombstones) {
            return Ok(());
        }
        Err(Error::corruption(format!(
            "compaction of {entries} entries and {removed} tombstones would leave {left} and \
             {tombstones}"
        ))
        .at_path(self.storage.root()))
    }
}

/// The entries of one fingerprint.
struct Group<F> {
    fingerprint: F,
    standing: bool,
    held: bool,
}

impl<F: Fingerprint> Default for Group<F> {
    fn default() -> Self {
        Self { fingerprint: F::ZERO, standing: false, held: false }
    }
}

impl<F: Fingerprint> Group<F> {
    /// Whether this entry is of another fingerprint.
    fn begins(&self, merged: &Merged<F>) -> bool {
        merged.entry.fingerprint != self.fingerprint
    }

    fn add(&mut self, merged: &Merged<F>) {
        self.fingerprint = merged.entry.fingerprint;
        self.held |= merged.held;
        self.standing |= merged.net.inserted;
    }

    /// Tells of the fingerprint: that it has entries left, or that it has a row in an input and none.
    fn end(&mut self, survey: &mut Survey<F>) {
        match (self.standing, self.held) {
            (true, _) => survey.profile.add(self.fingerprint),
            (false, true) => survey.gone.push(self.fingerprint),
            (false, false) => {}
        }
        (self.standing, self.held) = (false, false);
    }
}
