//! Writes the files of a segment.

use std::sync::{Mutex, PoisonError};

use super::{DocumentsMeta, IndexFiles, SegmentMeta};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel;
use crate::documents::{DocumentsBuilder, SymbolTable};
use crate::file::codec::header::FileKind;
use crate::file::names::{FileId, FileName};
use crate::file::paged::FileSummary;
use crate::file::scratch::Scratch;
use crate::file::storage::{LockedFolder, Storage};
use crate::fingerprint::{Entry, Word};
use crate::index::tables::TableFiles;
use crate::index::tables::postings::PostingsBuilder;
use crate::index::tables::table::{Profile, TableBuilder};
use crate::index::tables::tombstones;
use crate::settings::Settings;

/// The contents of a new segment, from which its tables are written. Flush, bulk load and
/// compaction each provide their own; how a segment is written from them is the same for all.
///
/// Tables are written in parallel, so the contents are read from several threads.
pub(crate) trait SegmentContents<F: Word>: Sync {
    /// Returns the profile of table 0.
    fn profile(&self) -> Result<Profile>;

    /// Passes all entries to `push`, in ascending order, a few at a time.
    fn for_each_entry(&self, push: &mut dyn FnMut(&[Entry<F>]) -> Result<()>) -> Result<()>;

    /// Returns the contents of `table`, which is not table 0.
    fn table(&self, table: usize) -> Result<Box<dyn TableContents<F> + '_>>;
}

/// The fingerprints of a table in its bit order.
pub(crate) trait TableContents<F: Word> {
    /// Returns the profile of the table.
    fn profile(&self) -> Result<Profile>;

    /// Passes all fingerprints to `push`, in ascending order, each once, a few at a time.
    fn for_each(&self, push: &mut dyn FnMut(&[F]) -> Result<()>) -> Result<()>;
}

/// Bytes of memory in which the rows of bands are sorted, unless a writer has more.
pub(super) const SORT_MEMORY: usize = 64 << 20;

/// Writes the files of one new segment. If it is dropped before [`finish`](Self::finish), it
/// removes what it wrote.
#[derive(Debug)]
pub(crate) struct SegmentWriter<'a> {
    pub(super) folder: &'a LockedFolder,
    pub(super) settings: &'a Settings,
    pub(super) id: FileId,
    /// What this writer has created, and nobody else has.
    created: Mutex<Vec<FileName>>,
    scratch: Option<Scratch<'a>>,
    /// Bytes of memory for sorting the rows of bands.
    pub(super) sort_memory: usize,
    pub(super) files: SegmentFiles,
    finished: bool,
}

/// How many documents of older segments a new segment replaces or removes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Replaced {
    pub documents: u64,
    /// Those that are originals.
    pub originals: u64,
}

/// The files written so far.
#[derive(Debug, Default)]
pub(super) struct SegmentFiles {
    fingerprints: u64,
    entries: u64,
    removed: u64,
    /// Once a table is written.
    pub(super) index: Option<IndexFiles>,
    pub(super) documents: Option<DocumentsMeta>,
}

impl<'a> SegmentWriter<'a> {
    /// Begins the segment with this number.
    pub(crate) fn new(folder: &'a LockedFolder, settings: &'a Settings, number: u64) -> Self {
        let id = FileId { number, nonce: folder.session() };
        let (created, files) = (Mutex::default(), SegmentFiles::default());
        let (scratch, sort_memory) = (None, SORT_MEMORY);
        Self { folder, settings, id, created, scratch, sort_memory, files, finished: false }
    }

    /// Sets how much memory the rows of bands are sorted in. The default is 64 MiB. Rows that do
    /// not fit are in scratch files.
    pub(crate) fn set_sort_memory(&mut self, bytes: usize) {
        self.sort_memory = bytes;
    }

    /// Sets the scratch space of each table. The default is memory without a limit.
    pub(crate) fn set_scratch(&mut self, scratch: Scratch<'a>) {
        self.scratch = Some(scratch);
    }

    /// Writes table 0 with the postings, and all other tables, on up to `threads` threads. A table
    /// is one stream of bytes, so each is written by one thread.
    pub(crate) fn tables<F: Word>(
        &mut self,
        contents: &dyn SegmentContents<F>,
        threads: usize,
    ) -> Result<()> {
        let tables = self.settings.index.tables().map_or(0, |tables| tables.layout.tables());
        let mut written: Vec<Option<WrittenTable>> = (0..tables).map(|_| None).collect();
        parallel::for_each(
            threads,
            written.iter_mut().enumerate(),
            || (),
            |(), (table, written)| {
                *written = Some(match table {
                    0 => self.write_entries(contents)?,
                    _ => self.write_table(table, &*contents.table(table)?)?,
                });
                Ok(())
            },
        )?;
        written.into_iter().flatten().try_for_each(|table| self.add_table(table))?;
        Ok(())
    }

    fn write_entries<F: Word>(&self, contents: &dyn SegmentContents<F>) -> Result<WrittenTable> {
        let mut builder = self.entries_builder(&contents.profile()?)?;
        contents.for_each_entry(&mut |entries| builder.push_all(entries))?;
        builder.finish()
    }

    fn write_table<F: Word>(
        &self,
        table: usize,
        contents: &dyn TableContents<F>,
    ) -> Result<WrittenTable> {
        let mut builder = self.table_builder(table, &contents.profile()?)?;
        contents.for_each(&mut |fingerprints| builder.push_all(fingerprints))?;
        let fingerprints = builder.count();
        Ok(WrittenTable { file: builder.finish()?, fingerprints, postings: None })
    }

    fn entries_builder<F: Word>(&self, profile: &Profile) -> Result<EntriesBuilder<'a, F>> {
        let table = self.table_builder(0, profile)?;
        let header = self.settings.header(FileKind::Postings, 0, self.id);
        let files = self.scratch.map(|scratch| scratch.files);
        let postings = self.create(FileName::Postings(self.id.number), |storage, name| {
            PostingsBuilder::create(storage, name, &header, files)
        })?;
        Ok(EntriesBuilder { table, postings, last: None, fingerprints: Vec::new() })
    }

    /// Records the next table. All tables must have as many fingerprints as table 0.
    fn add_table(&mut self, table: WrittenTable) -> Result<()> {
        if let Some((postings, entries)) = table.postings {
            (self.files.fingerprints, self.files.entries) = (table.fingerprints, entries);
            let (tables, tombstones) = (vec![table.file], None);
            let files = TableFiles { tables, postings, tombstones };
            self.files.index = Some(IndexFiles::Tables(files));
            return Ok(());
        }
        let expected = self.files.fingerprints;
        let files = self.table_files()?;
        if table.fingerprints != expected {
            return Err(Error::corruption(format!(
                "table {} would have {} fingerprints, but table 0 has {expected}: run verify",
                files.tables.len(),
                table.fingerprints,
            ))
            .at_path(self.folder.storage().root()));
        }
        files.tables.push(table.file);
        Ok(())
    }

    /// Returns the files of the tables, of which table 0 is written.
    fn table_files(&mut self) -> Result<&mut TableFiles> {
        match &mut self.files.index {
            Some(IndexFiles::Tables(files)) => Ok(files),
            _ => Err(no_entries()),
        }
    }

    fn table_builder<F: Word>(
        &self,
        table: usize,
        profile: &Profile,
    ) -> Result<TableBuilder<'a, F>> {
        let Some(tables) = self.settings.index.tables() else {
            return Err(Error::invalid("a database of sketches has no tables"));
        };
        let part = u16::try_from(table).unwrap_or(u16::MAX);
        let header = self.settings.header(FileKind::Table, part, self.id);
        let options = tables.options(table);
        self.create(FileName::Table(self.id.number, part), |storage, name| {
            TableBuilder::create(storage, name, &header, options, profile, self.scratch)
        })
    }

    /// Begins a file, and remembers that this writer created it.
    pub(super) fn create<T>(
        &self,
        name: FileName,
        begin: impl FnOnce(&'a dyn Storage, &str) -> Result<T>,
    ) -> Result<T> {
        let begun = begin(&**self.folder.storage(), &name.to_string());
        self.note_created(name, begun.as_ref().err());
        begun
    }

    fn note_created(&self, name: FileName, error: Option<&Error>) {
        // If the name was taken, the file is somebody else's.
        if error.is_none_or(|error| error.kind() != ErrorKind::AlreadyExists) {
            self.created.lock().unwrap_or_else(PoisonError::into_inner).push(name);
        }
    }

    /// Writes the tombstones, which must ascend. Without any, no file is written.
    pub(crate) fn tombstones<F: Word>(&mut self, entries: &[Entry<F>]) -> Result<()> {
        if entries.is_empty() {
            return Ok(());
        }
        let header = self.settings.header(FileKind::Tombstones, 0, self.id);
        let file = self.create(FileName::Tombstones(self.id.number), |storage, name| {
            tombstones::write(storage, name, &header, entries.iter().copied())
        })?;
        self.table_files()?.tombstones = Some(file);
        self.files.removed = entries.len() as u64;
        Ok(())
    }

    /// Writes the documents: `write` passes at most `most` of them, in the order of their keys, and
    /// returns how many of older segments they replace. In a database of sketches, each original is
    /// an entry.
    pub(crate) fn documents(
        &mut self,
        symbols: SymbolTable,
        most: u64,
        write: &mut dyn FnMut(&mut DocumentsBuilder<'a>) -> Result<Replaced>,
    ) -> Result<()> {
        let header = self.settings.header(FileKind::Documents, 0, self.id);
        let (ids, files) = (self.settings.ids, self.scratch.map(|scratch| scratch.files));
        let mut builder = self.create(FileName::Documents(self.id.number), |storage, name| {
            DocumentsBuilder::create(storage, name, &header, ids, symbols, most, files)
        })?;
        let at_root = |error: Error| error.at_path(self.folder.storage().root());
        let replaced = write(&mut builder).map_err(at_root)?;
        let (live, removed, duplicates) = builder.counts();
        let file = builder.finish()?;
        if self.settings.index.bands().is_some() {
            self.files.entries = live.saturating_sub(duplicates);
            self.files.fingerprints = self.files.entries;
            self.files.removed = replaced.originals;
        }
        let replaced = replaced.documents;
        self.files.documents = Some(DocumentsMeta { live, removed, replaced, file });
        Ok(())
    }

    /// Returns the numbers of entries and tombstones written so far.
    pub(crate) fn counts(&self) -> (u64, u64) {
        (self.files.entries, self.files.removed)
    }

    /// Ends the segment. Its files are durable; their names become durable with the next
    /// `sync_dir`.
    pub(crate) fn finish(mut self) -> Result<SegmentMeta> {
        let files = std::mem::take(&mut self.files);
        let index = files.index.ok_or_else(no_entries)?;
        self.finished = true;
        Ok(SegmentMeta {
            id: self.id.number,
            nonce: self.id.nonce,
            ages: self.id.number..=self.id.number,
            fingerprints: files.fingerprints,
            entries: files.entries,
            removed: files.removed,
            index,
            documents: files.documents,
            spare: None,
        })
    }
}

#[cold]
fn no_entries() -> Error {
    Error::invalid("a segment needs entries before it has anything else")
}

/// A table that is written and durable.
#[derive(Debug)]
struct WrittenTable {
    file: FileSummary,
    fingerprints: u64,
    /// For table 0: the postings, and how many entries they have.
    postings: Option<(FileSummary, u64)>,
}

/// Writes table 0 and the postings as a stream of ascending entries.
#[derive(Debug)]
struct EntriesBuilder<'a, F> {
    table: TableBuilder<'a, F>,
    postings: PostingsBuilder<'a>,
    last: Option<F>,
    /// The different fingerprints of some entries.
    fingerprints: Vec<F>,
}

/// Most entries that are added together.
const ADDED_TOGETHER: usize = 1 << 9;

impl<F: Word> EntriesBuilder<'_, F> {
    /// Adds ascending entries, all greater than those before.
    fn push_all(&mut self, entries: &[Entry<F>]) -> Result<()> {
        entries.chunks(ADDED_TOGETHER).try_for_each(|entries| self.push_some(entries))
    }

    fn push_some(&mut self, mut entries: &[Entry<F>]) -> Result<()> {
        let before = self.last;
        self.fingerprints.clear();
        for entry in entries {
            if self.last.replace(entry.fingerprint) != Some(entry.fingerprint) {
                self.fingerprints.push(entry.fingerprint);
            }
        }
        let are_different = self.fingerprints.len() == entries.len();
        let (mut last, mut added) = (before, 0);
        loop {
            let more = self.table.push_to_block(&self.fingerprints[added..])?;
            added += more;
            if are_different {
                let (of_block, others) = entries.split_at(more);
                self.postings.push_single(of_block.iter().map(|entry| entry.id));
                entries = others;
            } else {
                entries = self.push_ids(entries, &mut last, more);
            }
            if added == self.fingerprints.len() {
                return Ok(());
            }
            self.postings.end_group()?;
        }
    }

    /// Adds the ids of the next `fingerprints` fingerprints, after further ids of the `last` one.
    /// Returns the other entries.
    fn push_ids<'e>(
        &mut self,
        entries: &'e [Entry<F>],
        last: &mut Option<F>,
        mut fingerprints: usize,
    ) -> &'e [Entry<F>] {
        for (i, entry) in entries.iter().enumerate() {
            let is_first = *last != Some(entry.fingerprint);
            if is_first && fingerprints == 0 {
                return &entries[i..];
            }
            fingerprints -= usize::from(is_first);
            *last = Some(entry.fingerprint);
            self.postings.push(entry.id, is_first);
        }
        &[]
    }

    /// Makes both files durable.
    fn finish(self) -> Result<WrittenTable> {
        let (fingerprints, entries) = (self.table.count(), self.postings.entries());
        let (file, postings) = (self.table.finish()?, self.postings.finish()?);
        Ok(WrittenTable { file, fingerprints, postings: Some((postings, entries)) })
    }
}

impl Drop for SegmentWriter<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        // This frees the space at once if the disk is full. What cannot be removed now is an
        // orphan, which the next open removes.
        let created = self.created.get_mut().unwrap_or_else(PoisonError::into_inner);
        for name in created.drain(..) {
            self.folder.remove(&name.to_string());
        }
    }
}
