//! Writes postings as a stream.

use super::head::{GROUPS, HEAD_LEN, NewHead};
use super::lists;
use crate::base::error::Result;
use crate::file::codec::bits::LowBitWriter;
use crate::file::codec::bytes::PutFields;
use crate::file::codec::header::FileHeader;
use crate::file::paged::{FileSummary, PagedWriter};
use crate::file::scratch::{ScratchFiles, Spool};
use crate::file::storage::Storage;
use crate::fingerprint::DocId;

/// Returns the number of bits that hold every value up to `greatest`, inclusive.
fn width_of(greatest: u64) -> u32 {
    u64::BITS - greatest.leading_zeros()
}

/// Writes postings: the fingerprints in the order of table 0, each with its ascending ids.
#[derive(Debug)]
pub(crate) struct PostingsBuilder<'a> {
    writer: PagedWriter<'a>,
    section: Section,
    heads: Spool<'a>,
    entries: u64,
    groups: u64,
    /// The encoded bytes of a section.
    encoded: Vec<u8>,
    bits: LowBitWriter,
}

/// The section that is being filled.
#[derive(Debug, Default)]
struct Section {
    /// The number of fingerprints up to the end of each id group that has ended.
    ends: Vec<u32>,
    /// The number of fingerprints so far.
    fingerprints: u32,
    ids: Vec<u64>,
    /// The places of the ids that are not the first of their fingerprint.
    repeated: Vec<usize>,
}

impl<'a> PostingsBuilder<'a> {
    /// Creates the file. Without scratch files, the heads are in memory until the end.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        scratch: Option<ScratchFiles<'a>>,
    ) -> Result<Self> {
        Ok(Self {
            writer: PagedWriter::create(storage, name, header)?.with_scratch(scratch),
            section: Section::default(),
            heads: Spool::new(scratch),
            entries: 0,
            groups: 0,
            encoded: Vec::new(),
            bits: LowBitWriter::default(),
        })
    }

    /// Adds the next fingerprints, each with a single id.
    pub(crate) fn push_single(&mut self, ids: impl ExactSizeIterator<Item = DocId>) {
        self.section.fingerprints += u32::try_from(ids.len()).unwrap_or(u32::MAX);
        self.section.ids.extend(ids.map(|id| id.0));
    }

    /// Adds an id: the first of the next fingerprint, or a greater one of the same fingerprint.
    pub(crate) fn push(&mut self, id: DocId, is_first: bool) {
        let Section { ids, repeated, fingerprints, .. } = &mut self.section;
        if is_first {
            *fingerprints += 1;
        } else {
            repeated.push(ids.len());
        }
        ids.push(id.0);
    }

    /// Returns the number of entries so far.
    pub(crate) fn entries(&self) -> u64 {
        self.entries + self.section.ids.len() as u64
    }

    /// Ends an id group, because table 0 ended a block.
    pub(crate) fn end_group(&mut self) -> Result<()> {
        self.groups += 1;
        self.section.ends.push(self.section.fingerprints);
        if self.section.ends.len() == GROUPS { self.end_section() } else { Ok(()) }
    }

    /// Encodes and writes the section.
    fn end_section(&mut self) -> Result<()> {
        let Section { ends, fingerprints, ids, repeated, .. } = &mut self.section;
        let (base, greatest) =
            ids.iter().fold((u64::MAX, 0), |(least, most), &id| (id.min(least), id.max(most)));
        let width = width_of(greatest.saturating_sub(base));
        let head = NewHead::new(ends);
        self.encoded.clear();
        head.put(self.writer.position(), base, width, !repeated.is_empty(), &mut self.encoded);
        self.heads.push(&self.encoded)?;

        self.encoded.clear();
        if head.is_wide() {
            ends.iter().for_each(|&end| self.encoded.put_u32(end));
        }
        if !repeated.is_empty() {
            lists::put(ids.len(), repeated, &mut self.encoded);
        }
        self.bits.start_at(0);
        ids.iter().for_each(|&id| self.bits.put(id - base, width));
        self.encoded.extend_from_slice(self.bits.finish());
        self.entries += ids.len() as u64;
        *fingerprints = 0;
        ends.clear();
        ids.clear();
        repeated.clear();
        self.writer.write(&self.encoded)
    }

    /// Writes the last section, the heads and the footer. The file's bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        if self.section.fingerprints > 0 {
            self.end_group()?;
        }
        if !self.section.ends.is_empty() {
            self.end_section()?;
        }
        self.writer.align(HEAD_LEN)?;
        let heads_at = self.writer.position();
        self.heads.read(|heads| self.writer.write(heads))?;
        let mut meta = Vec::new();
        meta.put_u64(self.entries);
        meta.put_u64(self.groups);
        meta.put_u64(heads_at);
        self.writer.finish(&meta)
    }
}
