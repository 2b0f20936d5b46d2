//! What the manifest says about a segment.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::RangeInclusive;

use crate::base::error::{Error, Result};
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::names::FileName;
use crate::file::paged::FileSummary;
use crate::index::bands;
use crate::index::tables::TableFiles;
use crate::settings::{IndexSettings, Settings};

/// Each count of a segment is below this, so that sums over segments never overflow.
const COUNT_LIMIT: u64 = 1 << 48;

/// What the manifest says about a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SegmentMeta {
    /// The number in its files' names.
    pub id: u64,
    /// The random number of the writer that created it.
    pub nonce: u64,
    /// The numbers of the oldest and the newest segment that it is a merge of; its own number if it
    /// is none.
    pub ages: RangeInclusive<u64>,
    /// Number of distinct fingerprints, which every table holds.
    pub fingerprints: u64,
    /// Number of entries.
    pub entries: u64,
    /// Number of tombstones; in a database of sketches, of originals in older segments that this
    /// one replaces or removes.
    pub removed: u64,
    pub index: IndexFiles,
    /// The file of documents, in a database that keeps them.
    pub documents: Option<DocumentsMeta>,
    /// The spare. Only what a spare says of its own segment lacks it.
    pub spare: Option<FileSummary>,
}

/// The files of a segment's index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum IndexFiles {
    Tables(TableFiles),
    /// The table of each band.
    Bands(Vec<FileSummary>),
}

/// What the manifest says about a segment's file of documents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentsMeta {
    /// Number of documents that it has.
    pub live: u64,
    /// Number of documents that it records as removed.
    pub removed: u64,
    /// Number of documents of older segments that it replaces or removes.
    pub replaced: u64,
    pub file: FileSummary,
}

impl SegmentMeta {
    /// Returns the segment's files with their lengths and checksums.
    pub(crate) fn files(&self) -> Vec<(FileName, FileSummary)> {
        let mut files = match &self.index {
            IndexFiles::Tables(files) => files.named(self.id),
            IndexFiles::Bands(files) => bands::part::named(self.id, files),
        };
        files.extend(self.documents.map(|meta| (FileName::Documents(self.id), meta.file)));
        files.extend(self.spare.map(|file| (FileName::Spare(self.id), file)));
        files
    }

    /// Returns whether this segment is a merge of the other one and of neighbours, or is the other
    /// one.
    pub(crate) fn replaces(&self, other: &Self) -> bool {
        self.ages.contains(other.ages.start()) && self.ages.contains(other.ages.end())
    }

    /// Returns the bytes of all files.
    pub(crate) fn bytes(&self) -> u64 {
        self.files().iter().map(|(_, file)| file.len).sum()
    }

    /// Appends the segment's record in the manifest.
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.put_u64(self.id);
        out.put_u64(self.nonce);
        out.put_u64(*self.ages.start());
        out.put_u64(*self.ages.end());
        out.put_u64(self.fingerprints);
        out.put_u64(self.entries);
        out.put_u64(self.removed);
        let tombstones = match &self.index {
            IndexFiles::Tables(files) => {
                let required = files.tables.iter().chain([&files.postings]);
                required.for_each(|file| put_file(out, Some(file)));
                files.tombstones.as_ref()
            }
            IndexFiles::Bands(files) => {
                files.iter().for_each(|file| put_file(out, Some(file)));
                None
            }
        };
        put_file(out, tombstones);
        put_file(out, self.documents.as_ref().map(|documents| &documents.file));
        if let Some(documents) = &self.documents {
            out.put_u64(documents.live);
            out.put_u64(documents.removed);
            out.put_u64(documents.replaced);
        }
        put_file(out, self.spare.as_ref());
    }

    /// Reads the manifest's record of a segment of a database with these settings.
    pub(crate) fn decode(settings: &Settings, fields: &mut Fields<'_>) -> Result<Self> {
        let (id, nonce) = (fields.u64("segment number")?, fields.u64("segment nonce")?);
        let ages = fields.u64("oldest segment")?..=fields.u64("newest segment")?;
        let fingerprints = fields.u64("fingerprint count")?;
        let entries = fields.u64("entry count")?;
        let removed = fields.u64("tombstone count")?;
        if [fingerprints, entries, removed].iter().any(|&count| count >= COUNT_LIMIT) {
            return Err(fields.corruption("a count of a segment is 2^48 or more"));
        }
        let required = |fields: &mut Fields<'_>, what| match take_file(fields) {
            Ok(Some(file)) => Ok(file),
            Ok(None) => Err(Error::corruption(format!("a segment has no {what}"))),
            Err(error) => Err(error),
        };
        let files = |fields: &mut Fields<'_>, count, what| {
            (0..count).map(|_| required(fields, what)).collect::<Result<Vec<FileSummary>>>()
        };
        let index = match &settings.index {
            IndexSettings::Tables(tables) => {
                let tables = files(fields, tables.layout.tables(), "table file")?;
                let postings = required(fields, "postings file")?;
                IndexFiles::Tables(TableFiles { tables, postings, tombstones: take_file(fields)? })
            }
            IndexSettings::Bands(rule) => {
                let bands = files(fields, rule.bands as usize, "bands file")?;
                if take_file(fields)?.is_some() || fingerprints != entries {
                    return Err(fields.corruption("a segment that no database of sketches has"));
                }
                IndexFiles::Bands(bands)
            }
        };
        let documents = take_file(fields)?.map(|file| {
            let live = fields.u64("document count")?;
            let removed = fields.u64("count of removed documents")?;
            let replaced = fields.u64("count of replaced documents")?;
            if [live, removed, replaced].iter().any(|&count| count >= COUNT_LIMIT) {
                return Err(fields.corruption("a count of a segment is 2^48 or more"));
            }
            Ok(DocumentsMeta { live, removed, replaced, file })
        });
        let documents = documents.transpose()?;
        let spare = take_file(fields)?;
        if matches!(index, IndexFiles::Bands(_)) && documents.is_none() {
            return Err(fields.corruption("a segment has no documents file"));
        }
        Ok(Self { id, nonce, ages, fingerprints, entries, removed, index, documents, spare })
    }

    /// Returns by how much the number of documents grows, compared with the older segments.
    pub(crate) fn document_gain(&self) -> i64 {
        // Counts are below 2^48.
        self.documents.map_or(0, |documents| documents.live as i64 - documents.replaced as i64)
    }
}

/// Appends a file's length and checksum; length 0 stands for no file.
fn put_file(out: &mut Vec<u8>, file: Option<&FileSummary>) {
    out.put_u64(file.map_or(0, |f| f.len));
    out.put_u32(file.map_or(0, |f| f.crc));
}

fn take_file(fields: &mut Fields<'_>) -> Result<Option<FileSummary>> {
    let (len, crc) = (fields.u64("file length")?, fields.u32("file checksum")?);
    if len == 0 && crc != 0 {
        return Err(fields.corruption("a file that does not exist has a checksum"));
    }
    Ok((len > 0).then_some(FileSummary { len, crc }))
}
