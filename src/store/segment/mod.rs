//! A segment: an immutable set of entries, with one file per table, and files for ids, tombstones
//! and documents.
//!
//! Segments are ordered by age. A segment never holds an entry that is still live in an older one,
//! and its tombstones only remove entries of older segments. storage-format.md, "Segment".

mod bands;
pub(crate) mod bound;
mod ids;
mod index;
mod meta;
mod writer;

pub(crate) use ids::IdFinder;
pub(crate) use meta::{DocumentsMeta, SegmentMeta};
pub(crate) use writer::{Replaced, SegmentContents, SegmentWriter, TableContents};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::documents::{Documents, KeyHash};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::codec::set_hash::set_hash;
use crate::file::names::{FileId, FileName};
use crate::file::paged::{OpenPaged, Paged, PagedFile, Sequential};
use crate::file::storage::{PageBudget, ReadFile, Storage};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::index::bands::BandTable;
use crate::index::tables::postings::Postings;
use crate::index::tables::table::Table;
use crate::index::tables::tombstones::Tombstones;
use crate::settings::Settings;

#[derive(Debug)]
pub(crate) struct Segment<F: Fingerprint> {
    meta: SegmentMeta,
    tables: Vec<Table<F::Word>>,
    bands: Vec<BandTable>,
    /// In a database with tables of entries.
    postings: Option<Postings>,
    tombstones: Option<Tombstones<F::Word>>,
    documents: Option<Documents<F>>,
    /// The spare, of which nothing has been read, or why it cannot be opened: only a repair needs
    /// it.
    spare: Option<Result<(Arc<dyn ReadFile>, FileHeader)>>,
    /// The folder, for messages.
    root: PathBuf,
}

impl<F: Fingerprint> Segment<F> {
    /// Opens all files; reads only their headers and footers.
    pub(crate) fn open(
        storage: &Arc<dyn Storage>,
        settings: &Settings,
        meta: SegmentMeta,
    ) -> Result<Self> {
        let s = &**storage;
        let id = meta.id;
        let header =
            |kind, part| settings.header(kind, part, FileId { number: id, nonce: meta.nonce });
        let mut tables = Vec::with_capacity(meta.tables.len());
        for (t, file) in (0u16..).zip(&meta.tables) {
            let name = FileName::Table(id, t).to_string();
            tables.push(Table::open(s, &name, &header(FileKind::Table, t), file.len)?);
        }
        let mut bands = Vec::with_capacity(meta.bands.len());
        for (t, file) in (0u16..).zip(&meta.bands) {
            let name = FileName::Band(id, t).to_string();
            bands.push(BandTable::open(s, &name, &header(FileKind::Bands, t), file.len)?);
        }
        let postings = meta.postings.map(|file| {
            let name = FileName::Postings(id).to_string();
            Postings::open(s, &name, &header(FileKind::Postings, 0), file.len)
        });
        let tombstones = meta.tombstones.map(|file| {
            let name = FileName::Tombstones(id).to_string();
            Tombstones::open(s, &name, &header(FileKind::Tombstones, 0), file.len)
        });
        let documents = meta.documents.map(|documents| {
            let name = FileName::Documents(id).to_string();
            let header = header(FileKind::Documents, 0);
            Documents::open(s, &name, &header, documents.file.len, settings.ids)
        });
        let spare = meta.spare.map(|_| match s.open(&FileName::Spare(id).to_string()) {
            Err(e) if [ErrorKind::NotFound, ErrorKind::Corruption].contains(&e.kind()) => {
                Ok(Err(e))
            }
            opened => opened.map(|file| Ok((file, header(FileKind::Spare, 0)))),
        });
        let segment = Self {
            tables,
            bands,
            postings: postings.transpose()?,
            tombstones: tombstones.transpose()?,
            documents: documents.transpose()?,
            spare: spare.transpose()?,
            root: storage.root().to_owned(),
            meta,
        };
        segment.check_counts(settings)?;
        Ok(segment)
    }

    /// Checks that the files have the counts that the manifest says.
    fn check_counts(&self, settings: &Settings) -> Result<()> {
        let Some(name) = self.miscounted_file(settings) else { return Ok(()) };
        Err(Error::corruption("the file does not have the counts that the manifest says")
            .at_path(self.root.join(name.to_string())))
    }

    /// Returns the first file that does not have the counts that the manifest says.
    fn miscounted_file(&self, settings: &Settings) -> Option<FileName> {
        let SegmentMeta { id, fingerprints, entries, removed, .. } = self.meta;
        let tables = (0..)
            .zip(&self.tables)
            .map(|(number, table)| (FileName::Table(id, number), table.count() == fingerprints));
        let bands = (0..)
            .zip(&self.bands)
            .map(|(number, bands)| (FileName::Band(id, number), bands.rows() as u64 == entries));
        let has_tables = settings.tables() > 0;
        let blocks = self.identity_table().map(Table::blocks);
        let postings = self.postings.as_ref().is_none_or(|postings| {
            postings.entries() == entries && blocks == Some(postings.groups())
        });
        let tombstones = self.tombstones.as_ref().map_or(0, Tombstones::count) as u64;
        let tombstones = !has_tables || tombstones == removed;
        let others = [
            (FileName::Postings(id), postings),
            (FileName::Tombstones(id), tombstones),
            (FileName::Documents(id), self.has_counted_documents(settings)),
        ];
        let mut files = tables.chain(bands).chain(others);
        files.find(|(_, is_right)| !is_right).map(|(name, _)| name)
    }

    /// Returns whether there are as many documents as the manifest says, and enough for all
    /// entries: in a database of sketches, each original is one.
    fn has_counted_documents(&self, settings: &Settings) -> bool {
        let found = self.documents.as_ref().map_or((0, 0), |d| (d.records(), d.removals()));
        let expected = self.meta.documents.map_or((0, 0), |d| (d.live + d.removed, d.removed));
        // Each entry is an original, where documents are kept.
        let entries = if settings.ids.identify_documents() { self.meta.entries } else { 0 };
        let duplicates = self.documents.as_ref().map_or(0, Documents::duplicates);
        let (needed, live) = (entries + duplicates, expected.0 - expected.1);
        found == expected && (needed == live || needed < live && settings.tables() > 0)
    }

    /// Returns the same segment with all its files [renewed](PagedFile::renewed).
    pub(crate) fn renewed(&self) -> Result<Self> {
        fn renew<T: Paged>(part: Option<&T>) -> Result<Option<T>> {
            part.map(T::renewed).transpose()
        }
        Ok(Self {
            tables: self.tables.iter().map(Table::renewed).collect::<Result<_>>()?,
            bands: self.bands.iter().map(BandTable::renewed).collect::<Result<_>>()?,
            postings: renew(self.postings.as_ref())?,
            tombstones: renew(self.tombstones.as_ref())?,
            documents: renew(self.documents.as_ref())?,
            spare: self.spare.clone(),
            root: self.root.clone(),
            meta: self.meta.clone(),
        })
    }

    /// Returns the folder, for messages.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns what the manifest says about the segment.
    pub(crate) fn meta(&self) -> &SegmentMeta {
        &self.meta
    }

    /// Returns the tables of blocks in the order of the layout.
    pub(crate) fn tables(&self) -> &[Table<F::Word>] {
        &self.tables
    }

    /// Returns table 0, whose bit order is the fingerprint's own.
    pub(crate) fn identity_table(&self) -> Option<&Table<F::Word>> {
        self.tables.first()
    }

    /// Returns whether single pages are read from the disk when they are needed, so that callers
    /// should prefetch.
    pub(crate) fn is_cold(&self) -> bool {
        self.identity_table().is_some_and(Table::is_cold)
    }

    /// Returns the tables of bands, by number.
    pub(crate) fn bands(&self) -> &[BandTable] {
        &self.bands
    }

    /// Returns the ids of the entries, in a database with tables of them.
    pub(crate) fn postings(&self) -> Option<&Postings> {
        self.postings.as_ref()
    }

    /// Returns whether the segment holds this entry, even if something newer removes it.
    pub(crate) fn contains(&self, entry: Entry<F::Word>) -> Result<bool> {
        let Some((table, postings)) = self.identity_table().zip(self.postings()) else {
            return Ok(false);
        };
        let Some((block, index)) = table.locate(entry.fingerprint)? else { return Ok(false) };
        postings.id_group(block, table.block_len(block)?)?.contains(index, entry.id)
    }

    /// Fetches the blocks that hold these fingerprints, which ascend, if they are not in memory.
    pub(crate) fn fetch_each(&self, fingerprints: &[F::Word]) -> Result<()> {
        self.identity_table().map_or(Ok(()), |table| table.fetch_each(fingerprints))
    }

    /// Returns the tombstones, if the segment has any.
    pub(crate) fn tombstones(&self) -> Option<&Tombstones<F::Word>> {
        self.tombstones.as_ref()
    }

    /// Returns whether this segment removes the entry from older segments.
    pub(crate) fn removes(&self, entry: Entry<F::Word>) -> Result<bool> {
        self.tombstones.as_ref().map_or(Ok(false), |t| t.contains(entry))
    }

    /// Returns an upper limit of all ids. Reads the heads of the postings.
    pub(crate) fn most_id(&self) -> Result<u64> {
        self.postings.as_ref().map_or(Ok(0), Postings::most_id)
    }

    /// Returns the documents, if the segment has any.
    pub(crate) fn documents(&self) -> Option<&Documents<F>> {
        self.documents.as_ref()
    }

    /// Returns what the segment says about the document with this key: nothing, that it was
    /// removed, or the document.
    #[expect(clippy::option_option, reason = "each of the three has a meaning")]
    pub(crate) fn document(
        &self,
        key: &[u8],
        hash: KeyHash,
    ) -> Result<Option<Option<Document<F>>>> {
        self.documents.as_ref().map_or(Ok(None), |documents| documents.get(key, hash))
    }

    /// Returns the document with this id and its name, if the segment has it.
    pub(crate) fn document_by_id(&self, id: DocId) -> Result<Option<(String, Document<F>)>> {
        self.documents.as_ref().map_or(Ok(None), |documents| documents.by_id(id))
    }

    /// Returns the bytes that should be in memory for fast answers.
    pub(crate) fn index_memory(&self) -> u64 {
        let tables: u64 = self.tables.iter().map(Table::index_memory).sum();
        let bands: u64 = self.bands.iter().map(BandTable::index_len).sum();
        let others = self.postings.as_ref().map_or(0, Postings::memory)
            + self.tombstones.as_ref().map_or(0, Tombstones::memory)
            + self.documents.as_ref().map_or(0, Documents::memory);
        tables + bands + others as u64
    }

    /// Reads and checks every byte of every file, and that all tables hold the same fingerprints.
    /// What follows from damage that was reported is not reported again.
    pub(crate) fn verify(
        &self,
        settings: &Settings,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        let mut sums = Vec::new();
        let bit_orders = settings.bit_orders();
        for ((table, order), &file) in self.tables.iter().zip(&bit_orders).zip(&self.meta.tables) {
            sums.push(table.verify(file, |f| set_hash(order.invert(f)), inspection)?);
        }
        let mut sound = (0..).zip(&sums).filter_map(|(number, &sum)| Some((number, sum?)));
        if let Some((first, expected)) = sound.next()
            && let Some((other, _)) = sound.find(|&(_, sum)| sum != expected)
        {
            let message = format!("the table does not hold the same fingerprints as table {first}");
            let name = FileName::Table(self.meta.id, other).to_string();
            inspection.report(Error::corruption(message).at_path(self.root.join(name)));
        }
        let is_table_0_sound = sums.first().is_some_and(Option::is_some);
        if let (Some(postings), Some(file)) = (&self.postings, self.meta.postings)
            && postings.verify_file(file, inspection)?
            && is_table_0_sound
        {
            let mut table = self.identity_table().map(Sequential::new);
            let block_len = |block| match &mut table {
                Some(table) => table.get()?.block_len(block),
                None => Ok(0),
            };
            postings.verify_groups(block_len, inspection);
        }
        if let (Some(tombstones), Some(file)) = (&self.tombstones, self.meta.tombstones) {
            tombstones.verify(file, inspection)?;
        }
        let found = inspection.found();
        if let (Some(documents), Some(meta)) = (&self.documents, self.meta.documents) {
            documents.verify(meta.file, inspection)?;
        }
        let sound_documents = self.documents.as_ref().filter(|_| inspection.found() == found);
        let minima = settings.index.bands().map_or(0, |rule| rule.minima);
        for (number, (bands, &file)) in (0..).zip(self.bands.iter().zip(&self.meta.bands)) {
            bands.verify(file, (number, minima), sound_documents, inspection)?;
        }
        self.verify_spare(inspection)
    }

    /// Reads every byte of every file and compares it with its checksums.
    pub(crate) fn verify_checksums(&self, inspection: &mut Inspection<'_>) -> Result<()> {
        for (file, (_, expected)) in self.files().zip(self.meta.files()) {
            file.verify(expected, inspection)?;
        }
        self.verify_spare(inspection)
    }

    fn verify_spare(&self, inspection: &mut Inspection<'_>) -> Result<()> {
        match (self.spare(), self.meta.spare) {
            (Ok(Some(spare)), Some(expected)) => spare.verify(expected, inspection).map(drop)?,
            (Err(error), _) => inspection.report(error),
            _ => {}
        }
        Ok(())
    }

    /// Returns how many bytes [`verify`](Self::verify) counts: all bytes of all files, and the
    /// bytes of the tables a second time for decoding them.
    pub(crate) fn bytes_to_verify(&self) -> u64 {
        self.meta.bytes() + self.meta.tables.iter().map(|file| file.len).sum::<u64>()
    }

    /// Opens the spare, which is the last of [`SegmentMeta::files`].
    pub(crate) fn spare(&self) -> Result<Option<PagedFile>> {
        let Some((spare, expected)) = self.spare.as_ref().zip(self.meta.spare) else {
            return Ok(None);
        };
        let (file, header) = spare.as_ref().map_err(Error::clone)?;
        let path = self.root.join(FileName::Spare(self.meta.id).to_string());
        let pages = PageBudget::unlimited();
        PagedFile::of_source(file.clone(), &path, header, expected.len, pages).map(Some)
    }

    /// Returns the files, in the order of [`SegmentMeta::files`], but for the spare.
    pub(crate) fn files(&self) -> impl Iterator<Item = &PagedFile> {
        let tables = self.tables.iter().map(Table::file);
        tables
            .chain(self.bands.iter().map(BandTable::file))
            .chain(self.postings.as_ref().map(Postings::file))
            .chain(self.tombstones.as_ref().map(Tombstones::file))
            .chain(self.documents.as_ref().map(Documents::file))
    }
}

#[cfg(test)]
mod tests;
