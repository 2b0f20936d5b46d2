//! Writing segments from changes in memory (flush) and from other segments (compaction).

use std::sync::Arc;

use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::memtable::Net;
use crate::merge::{Merge, Merged};
use crate::segment::{Segment, SegmentMeta, SegmentWriter, VisitIds};
use crate::settings::Settings;
use crate::storage::Storage;
use crate::table::Cursor;

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
    pub pause: &'a dyn Fn() -> Result<()>,
}

/// What the first pass over the inputs finds.
struct Survey<F> {
    /// Fingerprints of some input's tables that have no entry left, in order.
    gone: Vec<F>,
    /// Documents whose entry is removed, in order.
    gone_docs: Vec<DocId>,
    tombstones: Vec<Entry<F>>,
    entries: u64,
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
        writer.entries(|visit| self.for_each_group(visit))?;
        for (table, permutation) in self.settings.permutations::<F>().iter().enumerate().skip(1) {
            let mut gone: Vec<F> = survey.gone.iter().map(|&f| permutation.apply(f)).collect();
            gone.sort_unstable();
            writer.table(|visit| self.for_each_row(table, &gone, visit))?;
        }
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

    fn survey(&self) -> Result<Survey<F>> {
        let mut survey =
            Survey { gone: Vec::new(), gone_docs: Vec::new(), tombstones: Vec::new(), entries: 0 };
        let mut group = Group::default();
        for merged in self.entries()? {
            let merged = merged?;
            if group.begins(&merged) {
                survey.gone.extend(group.gone());
                (self.pause)()?;
            }
            group.add(&merged);
            survey.entries += u64::from(merged.net.inserted);
            if merged.net.removes_older && !self.is_oldest {
                survey.tombstones.push(merged.entry);
            }
            if merged.held && !merged.net.inserted {
                survey.gone_docs.push(merged.entry.id);
            }
        }
        survey.gone.extend(group.gone());
        survey.gone_docs.sort_unstable();
        Ok(survey)
    }

    /// Gives each fingerprint that has entries left, with their ids.
    fn for_each_group(&self, visit: VisitIds<'_, F>) -> Result<()> {
        let mut group = Group::default();
        for merged in self.entries()? {
            let merged = merged?;
            if group.begins(&merged) {
                group.visit(visit)?;
                (self.pause)()?;
            }
            group.add(&merged);
        }
        group.visit(visit)
    }

    /// Gives each fingerprint of the inputs' tables `table`, once, in its bit order, without those
    /// that are gone.
    fn for_each_row(
        &self,
        table: usize,
        gone: &[F],
        visit: &mut dyn FnMut(F) -> Result<()>,
    ) -> Result<()> {
        let mut cursors = Vec::with_capacity(self.inputs.len());
        for input in self.inputs {
            if let Some(table) = input.tables().get(table) {
                cursors.push(table.cursor(F::ZERO)?);
            }
        }
        let mut gone = gone.iter().peekable();
        while let Some(row) = cursors.iter().filter_map(Cursor::current).min() {
            for cursor in &mut cursors {
                if cursor.current() == Some(row) {
                    cursor.advance()?;
                }
            }
            while gone.next_if(|&&g| g < row).is_some() {}
            if gone.peek() != Some(&&row) {
                visit(row)?;
            }
            (self.pause)()?;
        }
        Ok(())
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
    ids: Vec<DocId>,
    held: bool,
}

impl<F: Fingerprint> Default for Group<F> {
    fn default() -> Self {
        Self { fingerprint: F::ZERO, ids: Vec::new(), held: false }
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
        if merged.net.inserted {
            self.ids.push(merged.entry.id);
        }
    }

    /// Ends the group: its fingerprint, if it has a row in an input and no entry left.
    fn gone(&mut self) -> Option<F> {
        let gone = std::mem::take(&mut self.held) && self.ids.is_empty();
        self.ids.clear();
        gone.then_some(self.fingerprint)
    }

    /// Ends the group: gives its entries, if there are any.
    fn visit(&mut self, visit: VisitIds<'_, F>) -> Result<()> {
        self.held = false;
        if !self.ids.is_empty() {
            visit(self.fingerprint, &self.ids)?;
            self.ids.clear();
        }
        Ok(())
    }
}
