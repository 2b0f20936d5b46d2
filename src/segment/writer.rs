//! Writing a segment's files.

use std::sync::Arc;

use super::SegmentMeta;
use crate::codec::header::FileKind;
use crate::error::{Error, Result};
use crate::files::FileName;
use crate::fingerprint::{DocId, Entry, Fingerprint};
use crate::names::NamesBuilder;
use crate::paged::FileSummary;
use crate::postings::PostingsBuilder;
use crate::settings::Settings;
use crate::storage::Storage;
use crate::table::{Profile, TableBuilder};
use crate::tombstones;

/// Takes a fingerprint of a sorted sequence.
pub(crate) type Visit<'a, F> = &'a mut dyn FnMut(F) -> Result<()>;

/// Takes a fingerprint of a sorted sequence, with its ascending ids.
pub(crate) type VisitIds<'a, F> = &'a mut dyn FnMut(F, &[DocId]) -> Result<()>;

/// Writes the files of one new segment. If it is dropped before [`finish`](Self::finish), what it
/// wrote is removed.
#[derive(Debug)]
pub(crate) struct SegmentWriter<'a> {
    storage: &'a Arc<dyn Storage>,
    settings: &'a Settings,
    id: u64,
    files: SegmentFiles,
    finished: bool,
}

/// What was written so far.
#[derive(Debug, Default)]
struct SegmentFiles {
    fingerprints: u64,
    entries: u64,
    removed: u64,
    tables: Vec<FileSummary>,
    postings: Option<FileSummary>,
    tombstones: Option<FileSummary>,
    names: Option<FileSummary>,
}

impl<'a> SegmentWriter<'a> {
    pub(crate) fn new(storage: &'a Arc<dyn Storage>, settings: &'a Settings, id: u64) -> Self {
        Self { storage, settings, id, files: SegmentFiles::default(), finished: false }
    }

    /// Writes table 0 and the postings. `pass` gives the entries in order, the same at each call:
    /// it is called once for the distribution and once to write.
    pub(crate) fn entries<F: Fingerprint>(
        &mut self,
        mut pass: impl FnMut(VisitIds<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let mut profile = Profile::<F>::default();
        pass(&mut |fingerprint, _| {
            profile.add(fingerprint);
            Ok(())
        })?;
        let mut table = self.table_builder(0, &profile)?;
        let name = FileName::Postings(self.id).to_string();
        let header = self.settings.header(FileKind::Postings, 0, self.id);
        let mut postings = PostingsBuilder::create(&**self.storage, &name, &header)?;
        let mut entries = 0u64;
        pass(&mut |fingerprint, ids| {
            postings.next_fingerprint(table.push(fingerprint)?)?;
            ids.iter().for_each(|&id| postings.push(id));
            entries += ids.len() as u64;
            Ok(())
        })?;
        self.files.tables.push(table.finish()?);
        self.files.postings = Some(postings.finish()?);
        self.files.fingerprints = profile.count();
        self.files.entries = entries;
        Ok(())
    }

    /// Writes the next table; `pass` as in [`entries`](Self::entries), with fingerprints in the
    /// table's bit order.
    pub(crate) fn table<F: Fingerprint>(
        &mut self,
        mut pass: impl FnMut(Visit<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let mut profile = Profile::<F>::default();
        pass(&mut |fingerprint| {
            profile.add(fingerprint);
            Ok(())
        })?;
        if profile.count() != self.files.fingerprints {
            return Err(Error::corruption(format!(
                "table {} would have {} fingerprints, table 0 has {}",
                self.files.tables.len(),
                profile.count(),
                self.files.fingerprints
            ))
            .at_path(self.storage.root()));
        }
        let mut table = self.table_builder(self.files.tables.len(), &profile)?;
        pass(&mut |fingerprint| table.push(fingerprint).map(drop))?;
        self.files.tables.push(table.finish()?);
        Ok(())
    }

    fn table_builder<F: Fingerprint>(
        &self,
        table: usize,
        profile: &Profile<F>,
    ) -> Result<TableBuilder<F>> {
        let part = u16::try_from(table).unwrap_or(u16::MAX);
        let name = FileName::Table(self.id, part).to_string();
        let header = self.settings.header(FileKind::Table, part, self.id);
        let options = self.settings.table_options(table);
        TableBuilder::create(&**self.storage, &name, &header, options, profile)
    }

    /// Writes the tombstones, if there are any; ascending.
    pub(crate) fn tombstones<F: Fingerprint>(&mut self, entries: &[Entry<F>]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let name = FileName::Tombstones(self.id).to_string();
        let header = self.settings.header(FileKind::Tombstones, 0, self.id);
        let file = tombstones::write(&**self.storage, &name, &header, entries.iter().copied())?;
        self.files.tombstones = Some(file);
        self.files.removed = entries.len() as u64;
        Ok(())
    }

    /// Writes the names of the documents from `first` on; an empty one for a removed document.
    pub(crate) fn names<'n>(
        &mut self,
        first: DocId,
        names: impl Iterator<Item = Result<&'n str>>,
    ) -> Result<()> {
        let name = FileName::Names(self.id).to_string();
        let header = self.settings.header(FileKind::Names, 0, self.id);
        let mut builder = NamesBuilder::create(&**self.storage, &name, &header, first)?;
        for name in names {
            builder.push(name?)?;
        }
        self.files.names = Some(builder.finish()?);
        Ok(())
    }

    /// Entries and tombstones written so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.files.entries, self.files.removed)
    }

    /// All files are written and durable; their names become so by `sync_dir`.
    pub(crate) fn finish(mut self) -> Result<SegmentMeta> {
        let files = std::mem::take(&mut self.files);
        let Some(postings) = files.postings else {
            return Err(Error::invalid("a segment needs entries before it is finished"));
        };
        self.finished = true;
        Ok(SegmentMeta {
            id: self.id,
            fingerprints: files.fingerprints,
            entries: files.entries,
            removed: files.removed,
            tables: files.tables,
            postings,
            tombstones: files.tombstones,
            names: files.names,
        })
    }
}

impl Drop for SegmentWriter<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // A disk that is full gets its space back at once; what stays is swept at the next open.
        let tables = (0..self.settings.layout.tables()).filter_map(|t| u16::try_from(t).ok());
        let others =
            [FileName::Postings(self.id), FileName::Tombstones(self.id), FileName::Names(self.id)];
        for name in tables.map(|t| FileName::Table(self.id, t)).chain(others) {
            let _ = self.storage.remove(&name.to_string());
        }
    }
}
