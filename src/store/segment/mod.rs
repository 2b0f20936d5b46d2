//! A segment: an immutable set of entries. It has an index, which is tables of fingerprints with
//! ids and tombstones, or tables of bands; and documents.
//!
//! Segments are ordered by age. A segment never holds an entry that is still live in an older one,
//! and its tombstones only remove entries of older segments. storage-format.md, "Segment".

mod bands;
pub(crate) mod bound;
mod ids;
mod index;
mod meta;
mod writer;

pub(crate) use bands::BandsPlan;
pub(crate) use ids::IdFinder;
pub(crate) use index::Loadable;
pub(crate) use meta::{DocumentsMeta, IndexFiles, SegmentMeta};
pub(crate) use writer::{Replaced, SegmentContents, SegmentWriter, TableContents};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::documents::{Documents, KeyHash};
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::names::{FileId, FileName};
use crate::file::paged::{Paged, PagedFile};
use crate::file::storage::{PageBudget, ReadFile, Storage};
use crate::fingerprint::{DocId, Document, Fingerprint, Word};
use crate::index::bands::BandsPart;
use crate::index::tables::TablesPart;
use crate::index::tables::table::Table;
use crate::settings::Settings;

/// The index of a segment: one of the two kinds.
#[derive(Debug)]
pub(crate) enum Part<W: Word> {
    Tables(TablesPart<W>),
    Bands(BandsPart),
}

#[derive(Debug)]
pub(crate) struct Segment<F: Fingerprint> {
    meta: SegmentMeta,
    part: Part<F::Word>,
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
        let part = match &meta.index {
            IndexFiles::Tables(files) => Part::Tables(TablesPart::open(s, id, files, &header)?),
            IndexFiles::Bands(files) => Part::Bands(BandsPart::open(s, id, files, &header)?),
        };
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
            part,
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
        let of_index = match &self.part {
            Part::Tables(part) => part.miscounted_file(fingerprints, entries, removed),
            Part::Bands(part) => part.miscounted_file(entries),
        };
        let is_right = self.has_counted_documents(settings);
        of_index.or_else(|| (!is_right).then_some(FileName::Documents(id)))
    }

    /// Returns whether there are as many documents as the manifest says, and enough for all
    /// entries: in a database of sketches, each original is one.
    fn has_counted_documents(&self, settings: &Settings) -> bool {
        let found = self.documents.as_ref().map_or((0, 0), |d| (d.records(), d.removals()));
        let expected = self.meta.documents.map_or((0, 0), |d| (d.live + d.removed, d.removed));
        // Each entry is an original, where documents are kept.
        let entries = if settings.ids.identify_documents() { self.meta.entries } else { 0 };
        let duplicates = self.documents.as_ref().map_or(0, |d| d.duplicates());
        let (needed, live) = (entries + duplicates, expected.0 - expected.1);
        found == expected && (needed == live || needed < live && self.tables().is_some())
    }

    /// Returns the same segment with all its files [renewed](PagedFile::renewed).
    pub(crate) fn renewed(&self) -> Result<Self> {
        let part = match &self.part {
            Part::Tables(part) => Part::Tables(part.renewed()?),
            Part::Bands(part) => Part::Bands(part.renewed()?),
        };
        Ok(Self {
            part,
            documents: self.documents.as_ref().map(Documents::renewed).transpose()?,
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

    /// Returns the index.
    pub(crate) fn part(&self) -> &Part<F::Word> {
        &self.part
    }

    /// Returns the index of a segment of fingerprints.
    #[inline]
    pub(crate) fn tables(&self) -> Option<&TablesPart<F::Word>> {
        match &self.part {
            Part::Tables(part) => Some(part),
            Part::Bands(_) => None,
        }
    }

    /// Returns this table of a segment of fingerprints.
    #[inline]
    pub(crate) fn table(&self, number: usize) -> Option<&Table<F::Word>> {
        self.tables()?.tables().get(number)
    }

    /// Returns the index of a segment of sketches.
    #[inline]
    pub(crate) fn bands(&self) -> Option<&BandsPart> {
        match &self.part {
            Part::Tables(_) => None,
            Part::Bands(part) => Some(part),
        }
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

    /// Reads and checks every byte of every file, and that all tables hold the same fingerprints.
    /// What follows from damage that was reported is not reported again.
    pub(crate) fn verify(
        &self,
        settings: &Settings,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if let Part::Tables(part) = &self.part {
            part.verify(&settings.bit_orders(), &self.root, inspection)?;
        }
        let found = inspection.found();
        if let (Some(documents), Some(meta)) = (&self.documents, self.meta.documents) {
            documents.verify(meta.file, inspection)?;
        }
        if let Part::Bands(part) = &self.part {
            let sound = self.documents.as_ref().filter(|_| inspection.found() == found);
            let minima = settings.index.bands().map_or(0, |rule| rule.minima);
            part.verify(minima, sound, inspection)?;
        }
        self.verify_spare(inspection)
    }

    /// Reads every byte of every file and compares it with its checksums.
    pub(crate) fn verify_checksums(&self, inspection: &mut Inspection<'_>) -> Result<()> {
        for (file, (_, expected)) in self.files().into_iter().zip(self.meta.files()) {
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
        let decoded = match &self.meta.index {
            IndexFiles::Tables(files) => files.tables.iter().map(|file| file.len).sum(),
            IndexFiles::Bands(_) => 0,
        };
        self.meta.bytes() + decoded
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
    pub(crate) fn files(&self) -> Vec<&PagedFile> {
        let mut files = match &self.part {
            Part::Tables(part) => part.files(),
            Part::Bands(part) => part.files(),
        };
        files.extend(self.documents.as_ref().map(Documents::file));
        files
    }
}

#[cfg(test)]
mod tests;
