//! The files of a damaged segment, as far as each can be opened by itself.

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::documents::Documents;
use crate::file::codec::header::{FileHeader, FileKind};
use crate::file::names::{FileId, FileName};
use crate::file::paged::{FileSummary, OpenPaged, Paged, PagedFile};
use crate::file::storage::Storage;
use crate::fingerprint::Fingerprint;
use crate::index::bands::BandTable;
use crate::index::tables::layout::BitOrder;
use crate::index::tables::postings::Postings;
use crate::index::tables::table::Table;
use crate::index::tables::tombstones::Tombstones;
use crate::settings::Settings;
use crate::store::manifest::spare::Spare;
use crate::store::segment::{DocumentsMeta, IndexFiles, SegmentMeta};

/// The files of a segment. Those that cannot be opened are `None`; of the others, any page may be
/// damaged.
pub(super) struct DamagedSegment<F: Fingerprint> {
    pub(super) meta: SegmentMeta,
    /// The tables of blocks, in the order of the layout.
    pub(super) tables: Vec<Option<Table<F::Word>>>,
    pub(super) postings: Option<Postings>,
    pub(super) tombstones: Option<Tombstones<F::Word>>,
    pub(super) documents: Option<Documents<F>>,
    pub(super) bit_orders: Vec<BitOrder>,
}

impl<F: Fingerprint> DamagedSegment<F> {
    /// Opens and reads all files of a segment, and reports all damage.
    pub(super) fn open(
        storage: &dyn Storage,
        settings: &Settings,
        meta: &SegmentMeta,
        inspection: &mut Inspection<'_>,
    ) -> Result<Self> {
        let id = FileId { number: meta.id, nonce: meta.nonce };
        let spare = undamaged(Spare::open(storage, meta.id))?;
        let spare = spare.filter(|spare| spare.is_of(settings.database_id, id));
        let mut files = Files { storage, spare, inspection };
        let header = |kind, part| settings.header(kind, part, id);
        let (mut tables, mut postings, mut tombstones) = (Vec::new(), None, None);
        match &meta.index {
            IndexFiles::Tables(of_index) => {
                for (part, &file) in (0u16..).zip(&of_index.tables) {
                    let name = FileName::Table(id.number, part);
                    let read = |file| Table::from_file(file).map(|table| (table.count(), table));
                    let header = header(FileKind::Table, part);
                    tables.push(files.open(name, &header, file, meta.fingerprints, &read)?);
                }
                let (name, file) = (FileName::Postings(id.number), of_index.postings);
                let read = |file| Postings::from_file(file).map(|part| (part.entries(), part));
                let expected = header(FileKind::Postings, 0);
                postings = files.open(name, &expected, file, meta.entries, &read)?;
                if let Some(file) = of_index.tombstones {
                    let name = FileName::Tombstones(id.number);
                    let read =
                        |file| Tombstones::from_file(file).map(|part| (part.count() as u64, part));
                    let header = header(FileKind::Tombstones, 0);
                    tombstones = files.open(name, &header, file, meta.removed, &read)?;
                }
            }
            IndexFiles::Bands(of_index) => {
                for (part, &file) in (0u16..).zip(of_index) {
                    let name = FileName::Band(id.number, part);
                    let read =
                        |file| BandTable::from_file(file).map(|bands| (bands.rows() as u64, bands));
                    // Bands are made of the documents, so they prove nothing.
                    files.open(name, &header(FileKind::Bands, part), file, meta.entries, &read)?;
                }
            }
        }
        let documents = meta.documents.map(|DocumentsMeta { file, live, removed, .. }| {
            let (name, header) = (FileName::Documents(id.number), header(FileKind::Documents, 0));
            let read = |file| Documents::from_file(file, settings.ids);
            let read = |file| read(file).map(|part| (part.records(), part));
            files.open(name, &header, file, live + removed, &read)
        });
        let documents = documents.transpose()?.flatten();
        if let Some(file) = meta.spare {
            let header = header(FileKind::Spare, 0);
            files.check_spare(FileName::Spare(id.number), &header, file)?;
        }
        let bit_orders = settings.bit_orders();
        Ok(Self { meta: meta.clone(), tables, postings, tombstones, documents, bit_orders })
    }
}

/// The files of a segment, while they are opened.
struct Files<'a, 'm> {
    storage: &'a dyn Storage,
    spare: Option<Spare>,
    inspection: &'a mut Inspection<'m>,
}

impl Files<'_, '_> {
    /// Opens and reads an entire file and reports its damage. Returns it unless it cannot be opened
    /// even with what the spare has of it. `read` reads the footer, and returns a count as well,
    /// which must be `expected`.
    fn open<T: Paged>(
        &mut self,
        name: FileName,
        header: &FileHeader,
        file: FileSummary,
        expected: u64,
        read: &dyn Fn(PagedFile) -> Result<(u64, T)>,
    ) -> Result<Option<T>> {
        let (storage, name_in_folder) = (self.storage, name.to_string());
        let path = storage.root().join(&name_in_folder);
        let read = |opened: PagedFile| match read(opened) {
            Ok((count, part)) if count == expected => Ok(part),
            Ok(_) => {
                let message = "the file does not have the count that the manifest says";
                Err(Error::corruption(message).at_path(&path))
            }
            Err(error) => Err(error.at_path(&path)),
        };
        let opened = PagedFile::open(storage, &name_in_folder, header, file.len).and_then(read);
        let part = match opened {
            Ok(part) if part.file().verify(file, self.inspection)? => return Ok(Some(part)),
            Ok(part) => Some(part),
            Err(error) if is_damage(&error) => {
                self.inspection.report(error);
                None
            }
            Err(error) => return Err(error),
        };
        let tail = self.spare.as_ref().map(|spare| undamaged(spare.tail(name)));
        let Some(tail) = tail.transpose()?.flatten() else { return Ok(part) };
        let mended = PagedFile::open_mended(storage, &name_in_folder, header, file.len, tail);
        let Some(mended) = undamaged(mended.and_then(read))? else { return Ok(part) };
        // If the file ends early, this would report each of the lost pages.
        let is_complete = || storage.open(&name_in_folder).is_ok_and(|f| f.length() == file.len);
        if part.is_none() && is_complete() {
            mended.file().verify(file, self.inspection)?;
        }
        Ok(Some(mended))
    }

    /// Reads the spare and reports its damage.
    fn check_spare(
        &mut self,
        name: FileName,
        header: &FileHeader,
        file: FileSummary,
    ) -> Result<()> {
        match PagedFile::open(self.storage, &name.to_string(), header, file.len) {
            Ok(spare) => spare.verify(file, self.inspection).map(drop),
            Err(error) if is_damage(&error) => {
                self.inspection.report(error);
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Returns whether an error says that a file is damaged or missing. Others, such as a failing
/// device, end a repair.
pub(super) fn is_damage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NotFound)
}

/// Returns what was read, or `None` if it is damaged.
pub(super) fn undamaged<T>(read: Result<T>) -> Result<Option<T>> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_damage(&error) => Ok(None),
        Err(error) => Err(error),
    }
}
