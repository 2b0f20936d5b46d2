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
        let mut profile = Profile::<F>::new(self.settings.code);
        pass(&mut |fingerprint, _| {
            profile.add(fingerprint);
            Ok(())
        })?;
        let mut builder = self.entries_builder(&profile)?;
        pass(&mut |fingerprint, ids| {
            ids.iter().try_for_each(|&id| builder.push(Entry { fingerprint, id }))
        })?;
        self.add_entries(builder.finish()?);
        Ok(())
    }

    /// Begins table 0 and the postings. From any thread, beside [`table_builder`](Self::table_builder).
    pub(crate) fn entries_builder<F: Fingerprint>(
        &self,
        profile: &Profile<F>,
    ) -> Result<EntriesBuilder<F>> {
        let table = self.table_builder(0, profile)?;
        let name = FileName::Postings(self.id).to_string();
        let header = self.settings.header(FileKind::Postings, 0, self.id);
        let postings = PostingsBuilder::create(&**self.storage, &name, &header)?;
        let (fingerprints, last) = (profile.count(), None);
        Ok(EntriesBuilder { table, postings, fingerprints, last })
    }

    /// Takes in table 0 and the postings, before all other tables.
    pub(crate) fn add_entries(&mut self, written: WrittenEntries) {
        debug_assert!(self.files.tables.is_empty());
        self.files.tables.push(written.table);
        self.files.postings = Some(written.postings);
        self.files.fingerprints = written.fingerprints;
        self.files.entries = written.entries;
    }

    /// Takes in the next table, which has so many fingerprints.
    pub(crate) fn add_table(&mut self, table: FileSummary, fingerprints: u64) -> Result<()> {
        if fingerprints != self.files.fingerprints {
            return Err(Error::corruption(format!(
                "table {} would have {fingerprints} fingerprints, table 0 has {}",
                self.files.tables.len(),
                self.files.fingerprints
            ))
            .at_path(self.storage.root()));
        }
        self.files.tables.push(table);
        Ok(())
    }

    /// Writes the next table; `pass` as in [`entries`](Self::entries), with fingerprints in the
    /// table's bit order.
    pub(crate) fn table<F: Fingerprint>(
        &mut self,
        mut pass: impl FnMut(Visit<'_, F>) -> Result<()>,
    ) -> Result<()> {
        let mut profile = Profile::<F>::new(self.settings.code);
        pass(&mut |fingerprint| {
            profile.add(fingerprint);
            Ok(())
        })?;
        let mut table = self.table_builder(self.files.tables.len(), &profile)?;
        pass(&mut |fingerprint| table.push(fingerprint).map(drop))?;
        self.add_table(table.finish()?, profile.count())
    }

    /// Begins a table; from any thread. It is finished with [`add_table`](Self::add_table).
    pub(crate) fn table_builder<F: Fingerprint>(
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

/// Writes table 0 and the postings as a stream of ascending entries.
#[derive(Debug)]
pub(crate) struct EntriesBuilder<F> {
    table: TableBuilder<F>,
    postings: PostingsBuilder,
    fingerprints: u64,
    last: Option<F>,
}

/// Table 0 and the postings, written.
#[derive(Debug)]
pub(crate) struct WrittenEntries {
    table: FileSummary,
    postings: FileSummary,
    fingerprints: u64,
    entries: u64,
}

impl<F: Fingerprint> EntriesBuilder<F> {
    /// Adds an entry greater than the one before.
    #[inline]
    pub(crate) fn push(&mut self, entry: Entry<F>) -> Result<()> {
        if self.last != Some(entry.fingerprint) {
            self.last = Some(entry.fingerprint);
            let new_block = self.table.push(entry.fingerprint)?;
            self.postings.next_fingerprint(new_block)?;
        }
        self.postings.push(entry.id);
        Ok(())
    }

    /// Both files are durable afterwards.
    pub(crate) fn finish(self) -> Result<WrittenEntries> {
        let (fingerprints, entries) = (self.fingerprints, self.postings.entries());
        let (table, postings) = (self.table.finish()?, self.postings.finish()?);
        Ok(WrittenEntries { table, postings, fingerprints, entries })
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
