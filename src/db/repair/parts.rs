//! The files of a damaged segment, as far as each can be opened by itself.

use crate::codec::header::{FileHeader, FileKind};
use crate::documents::Documents;
use crate::error::{Error, ErrorKind, Result};
use crate::file_names::{FileId, FileName};
use crate::fingerprint::Fingerprint;
use crate::inspection::Inspection;
use crate::keys::Keys;
use crate::layout::Permutation;
use crate::paged::{FileSummary, OpenPaged, Paged};
use crate::postings::Postings;
use crate::segment::{DocumentsMeta, SegmentMeta};
use crate::settings::Settings;
use crate::storage::Storage;
use crate::table::Table;
use crate::tombstones::Tombstones;

/// The files of a segment. Those that cannot be opened are `None`; of the others, any page may be
/// damaged.
pub(super) struct Parts<F: Fingerprint> {
    pub(super) meta: SegmentMeta,
    /// The tables of blocks, in the order of the layout.
    pub(super) tables: Vec<Option<Table<F::Word>>>,
    pub(super) postings: Option<Postings>,
    pub(super) tombstones: Option<Tombstones<F::Word>>,
    pub(super) documents: Option<Documents<F>>,
    pub(super) permutations: Vec<Permutation<F::Word>>,
}

impl<F: Fingerprint> Parts<F> {
    /// Opens and reads all files of a segment, and reports all damage.
    pub(super) fn open(
        storage: &dyn Storage,
        settings: &Settings,
        meta: &SegmentMeta,
        inspection: &mut Inspection<'_>,
    ) -> Result<Self> {
        let id = FileId { number: meta.id, nonce: meta.nonce };
        let header = |kind, part| settings.header(kind, part, id);
        let mut tables = Vec::new();
        for (part, &file) in (0u16..).zip(&meta.tables) {
            let name = FileName::Table(meta.id, part).to_string();
            let opened = Table::open(storage, &name, &header(FileKind::Table, part), file.len)
                .and_then(|table| match table.count() == meta.fingerprints {
                    true => Ok(table),
                    false => Err(other_count(storage, &name)),
                });
            tables.push(readable(opened, file, inspection)?);
        }
        for (part, &file) in (0u16..).zip(&meta.keys) {
            let name = FileName::Keys(meta.id, part).to_string();
            let header = header(FileKind::Keys, part);
            // Keys are made of the documents, so they prove nothing.
            readable(Keys::open(storage, &name, &header, file.len), file, inspection)?;
        }
        let blocks = tables.first().and_then(Option::as_ref).map(Table::blocks);
        let postings =
            open_postings(storage, meta, &header(FileKind::Postings, 0), blocks, inspection)?;
        let tombstones = match meta.tombstones {
            Some(file) => {
                let name = FileName::Tombstones(meta.id).to_string();
                let header = header(FileKind::Tombstones, 0);
                readable(Tombstones::open(storage, &name, &header, file.len), file, inspection)?
            }
            None => None,
        };
        let documents = match meta.documents {
            Some(DocumentsMeta { file, .. }) => {
                let name = FileName::Documents(meta.id).to_string();
                let header = header(FileKind::Documents, 0);
                let opened = Documents::open(storage, &name, &header, file.len, settings.ids);
                readable(opened, file, inspection)?
            }
            None => None,
        };
        let permutations = settings.permutations();
        Ok(Self { meta: meta.clone(), tables, postings, tombstones, documents, permutations })
    }
}

/// Opens postings. Without a readable footer, what it said follows from the manifest and from the
/// number of blocks of table 0, if that is known.
fn open_postings(
    storage: &dyn Storage,
    meta: &SegmentMeta,
    header: &FileHeader,
    blocks: Option<usize>,
    inspection: &mut Inspection<'_>,
) -> Result<Option<Postings>> {
    let Some(file) = meta.postings else { return Ok(None) };
    let (name, len) = (FileName::Postings(meta.id).to_string(), file.len);
    let opened = Postings::open(storage, &name, header, len).and_then(|postings| {
        match postings.entries() == meta.entries {
            true => Ok(postings),
            false => Err(other_count(storage, &name)),
        }
    });
    let opened = readable(opened, file, inspection)?;
    let (None, Some(blocks)) = (&opened, blocks) else { return Ok(opened) };
    let entries = meta.entries;
    undamaged(Postings::open_without_footer(storage, &name, header, len, entries, blocks))
}

/// Reads an entire file and reports its damage. Returns it unless it could not be opened.
fn readable<T: Paged>(
    opened: Result<T>,
    expected: FileSummary,
    inspection: &mut Inspection<'_>,
) -> Result<Option<T>> {
    match opened {
        Ok(part) => {
            if !part.file().verify(expected, inspection)? {
                part.file().restore_checksums(expected)?;
            }
            Ok(Some(part))
        }
        Err(error) if is_damage(&error) => {
            inspection.report(error);
            Ok(None)
        }
        Err(error) => Err(error),
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

fn other_count(storage: &dyn Storage, name: &str) -> Error {
    Error::corruption("the file does not have the count that the manifest says")
        .at_path(storage.root().join(name))
}
