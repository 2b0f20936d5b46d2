//! Spares: what a repair needs of a segment if the manifest, or the end of one of the segment's
//! files, is lost. storage-format.md, "Spare".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use super::Manifest;
use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::codec::header::{FileHeader, FileKind, HEADER_LEN};
use crate::file::names::{FileId, FileName};
use crate::file::paged::{FileSummary, PagedFile, PagedWriter, tail};
use crate::file::storage::{LockedFolder, Storage};
use crate::store::segment::SegmentMeta;

/// Writes the spare of a new segment, and returns what a manifest says about both. `manifest` is
/// the next one, which need not name the segment yet.
pub(crate) fn write(
    folder: &LockedFolder,
    mut manifest: Manifest,
    segment: SegmentMeta,
) -> Result<SegmentMeta> {
    let (storage, name) = (&**folder.storage(), FileName::Spare(segment.id).to_string());
    let id = FileId { number: segment.id, nonce: segment.nonce };
    let header = manifest.settings.header(FileKind::Spare, 0, id);
    manifest.generation += 1;
    manifest.add_segment(segment.clone());
    let mut writer = PagedWriter::create(storage, &name, &header)?;
    let written = write_body(&mut writer, storage, &manifest, &segment)
        .and_then(|()| writer.finish(&[]))
        .inspect_err(|_| folder.remove(&name))?;
    Ok(SegmentMeta { spare: Some(written), ..segment })
}

fn write_body(
    writer: &mut PagedWriter<'_>,
    storage: &dyn Storage,
    manifest: &Manifest,
    segment: &SegmentMeta,
) -> Result<()> {
    let manifest = manifest.encode();
    let tails = || {
        let files = segment.files().into_iter();
        files.map(|(name, file)| tail(storage, &name.to_string(), file.len))
    };
    let mut front = Vec::new();
    front.put_u32(u32::try_from(manifest.len()).unwrap_or(u32::MAX));
    front.extend_from_slice(&manifest);
    // Each tail is read twice, because the tail of a large file takes much memory.
    for tail in tails() {
        front.put_u64(tail?.len() as u64);
    }
    writer.write(&front)?;
    tails().try_for_each(|tail| writer.write(&tail?))
}

#[derive(Debug)]
pub(crate) struct Spare {
    file: PagedFile,
    /// The manifest that was the first to name the segment, without the spare.
    pub(crate) manifest: Manifest,
    /// What it says about the segment.
    segment: SegmentMeta,
    /// Where the tails of the files are.
    tails: Vec<(FileName, Range<usize>)>,
}

impl Spare {
    /// Opens the spare of a segment.
    pub(crate) fn open(storage: &dyn Storage, number: u64) -> Result<Self> {
        let name = FileName::Spare(number).to_string();
        let path = storage.root().join(&name);
        Self::open_file(storage, number, &name).map_err(|error| error.at_path(path))
    }

    fn open_file(storage: &dyn Storage, number: u64, name: &str) -> Result<Self> {
        let source = storage.open(name)?;
        let mut bytes = [0; HEADER_LEN];
        let is_long_enough = source.length() >= HEADER_LEN as u64;
        if !is_long_enough || source.read_at(0, &mut bytes).is_err() {
            return Err(Error::corruption("the file header cannot be read"));
        }
        let header = FileHeader::decode(FileKind::Spare, &bytes)?;
        let file = PagedFile::open(storage, name, &header, source.length())?;
        let read = |at: usize, len: usize| file.bytes(at, len);
        let len = Fields::new(read(HEADER_LEN, 4)?, HEADER_LEN as u64).u32("manifest length")?;
        let (start, len) = (HEADER_LEN + 4, len as usize);
        let manifest = Manifest::decode(read(start, len)?)?;
        let id = FileId { number, nonce: header.nonce };
        let segment = manifest.segments.iter().find(|segment| segment.id == number).cloned();
        let segment =
            segment.filter(|_| manifest.settings.header(FileKind::Spare, 0, id) == header);
        let segment = segment.filter(|segment| segment.nonce == header.nonce);
        let segment = segment.ok_or_else(|| Error::corruption("this is another file's spare"))?;
        let (files, at) = (segment.files(), start + len);
        let mut next = at + 8 * files.len();
        let mut lens = Fields::new(read(at, 8 * files.len())?, at as u64);
        let mut tails = Vec::with_capacity(files.len());
        for (name, _) in files {
            let len = usize::try_from(lens.u64("length of a tail")?).unwrap_or(usize::MAX);
            let end = next.saturating_add(len);
            tails.push((name, next..end));
            next = end;
        }
        Ok(Self { file, manifest, segment, tails })
    }

    /// Returns whether this is the spare of this segment of this database.
    pub(crate) fn is_of(&self, database_id: u128, segment: FileId) -> bool {
        self.manifest.settings.database_id == database_id && self.segment.nonce == segment.nonce
    }

    /// Returns whether the writer with this number wrote the segment or, as far as is known, was
    /// one before.
    pub(crate) fn knows(&self, nonce: u64) -> bool {
        let Manifest { session, earlier_sessions, .. } = &self.manifest;
        [self.segment.nonce, *session].contains(&nonce)
            || earlier_sessions.iter().any(|earlier| earlier.nonce == nonce)
    }

    /// Returns what a manifest says about the segment.
    pub(crate) fn segment(&self) -> Result<SegmentMeta> {
        let (mut len, mut crc) = (0, crc32fast::Hasher::new());
        self.file.for_each_chunk(|bytes| {
            len += bytes.len() as u64;
            crc.update(bytes);
            Ok(())
        })?;
        let spare = Some(FileSummary { len, crc: crc.finalize() });
        Ok(SegmentMeta { spare, ..self.segment.clone() })
    }

    /// Returns the tail of a file of the segment.
    pub(crate) fn tail(&self, name: FileName) -> Result<&[u8]> {
        let place = self.tails.iter().find(|(other, _)| *other == name);
        let place = place.map_or(0..0, |(_, place)| place.clone());
        self.file.bytes(place.start, place.len())
    }
}
