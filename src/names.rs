//! Names: the document names of one segment, by id.
//!
//! Assigned ids have no gaps, so a file holds the names of consecutive ids. Names are stored in
//! chunks of 64: first the length of each name, then the bytes of all. There is one offset per
//! chunk. The name of a removed document becomes empty; no other name is empty. storage-format.md,
//! "Names".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use crate::codec::bytes::{Fields, PutFields};
use crate::codec::header::FileHeader;
use crate::error::{Error, Result};
use crate::fingerprint::DocId;
use crate::inspection::Inspection;
use crate::paged::{FileSummary, PagedFile, PagedWriter};
use crate::storage::Storage;

/// Number of names in a chunk.
const CHUNK: usize = 64;

/// Writes names in id order.
#[derive(Debug)]
pub(crate) struct NamesBuilder {
    writer: PagedWriter<'static>,
    first: DocId,
    count: u64,
    /// The offset of each chunk.
    offsets: Vec<u8>,
    /// The lengths of the names in the open chunk.
    lengths: Vec<u8>,
    /// The names in the open chunk.
    bytes: Vec<u8>,
}

impl NamesBuilder {
    /// Creates the file. `first` is the id of the first name.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        first: DocId,
    ) -> Result<Self> {
        let writer = PagedWriter::create(storage, name, header)?;
        let (offsets, lengths, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { writer, first, count: 0, offsets, lengths, bytes })
    }

    /// Adds the name of the next id; an empty name if the document was removed.
    pub(crate) fn push(&mut self, name: &str) -> Result<()> {
        self.lengths.put_u16(u16::try_from(name.len()).unwrap_or(u16::MAX));
        self.bytes.extend_from_slice(name.as_bytes());
        self.count += 1;
        if self.lengths.len() == CHUNK * 2 { self.end_chunk() } else { Ok(()) }
    }

    fn end_chunk(&mut self) -> Result<()> {
        self.offsets.put_u64(self.writer.position());
        self.lengths.append(&mut self.bytes);
        self.writer.write(&self.lengths)?;
        self.lengths.clear();
        Ok(())
    }

    /// Writes the last chunk, the offsets and the footer. The file's bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        if !self.lengths.is_empty() {
            self.end_chunk()?;
        }
        let offsets_at = self.writer.position();
        self.offsets.put_u64(offsets_at);
        self.writer.write(&self.offsets)?;
        let mut meta = Vec::new();
        meta.put_u64(self.first.0);
        meta.put_u64(self.count);
        meta.put_u64(offsets_at);
        self.writer.finish(&meta)
    }
}

/// An open file of names.
#[derive(Debug)]
pub(crate) struct Names {
    file: PagedFile,
    ids: Range<u64>,
    offsets_at: usize,
}

impl Names {
    /// Opens the file; reads only its header and footer.
    pub(crate) fn open(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        len: u64,
    ) -> Result<Self> {
        let file = PagedFile::open(storage, name, header, len)?;
        let mut meta = file.meta();
        let first = meta.u64("first id")?;
        let count = meta.u64("name count")?;
        let offsets_at = usize::try_from(meta.u64("offsets")?).unwrap_or(usize::MAX);
        meta.finish("names footer")?;
        let Some(end) = first.checked_add(count) else {
            return Err(file.corruption(0, "the ids of the names exceed 64 bits"));
        };
        let chunks = usize::try_from(count).ok().map(|count| count.div_ceil(CHUNK));
        let ends = chunks.and_then(|n| n.checked_add(1)?.checked_mul(8));
        file.expect_body_end(ends.and_then(|len| offsets_at.checked_add(len)))?;
        Ok(Self { file, ids: first..end, offsets_at })
    }

    /// Returns the ids whose names the file holds.
    pub(crate) fn ids(&self) -> Range<u64> {
        self.ids.clone()
    }

    /// Returns the name of a document; `None` if its id is not in this file or the document was
    /// removed.
    pub(crate) fn get(&self, id: DocId) -> Result<Option<&str>> {
        if !self.ids.contains(&id.0) {
            return Ok(None);
        }
        let index = usize::try_from(id.0 - self.ids.start).unwrap_or(usize::MAX);
        let name = self.chunk(index / CHUNK)?.nth(index % CHUNK).transpose()?;
        Ok(name.filter(|name| !name.is_empty()))
    }

    /// Returns all names in id order; the names of removed documents are empty.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<&str>> {
        let chunks = usize::try_from(self.ids.end - self.ids.start).unwrap_or(0).div_ceil(CHUNK);
        (0..chunks).flat_map(|chunk| {
            let (names, error) = match self.chunk(chunk) {
                Ok(names) => (Some(names), None),
                Err(error) => (None, Some(Err(error))),
            };
            names.into_iter().flatten().chain(error)
        })
    }

    /// Returns the names of a chunk.
    fn chunk(&self, chunk: usize) -> Result<Chunk<'_>> {
        let at = self.offsets_at.saturating_add(chunk * 8);
        let mut offsets = Fields::new(self.file.bytes(at, 16)?, at as u64);
        let start = usize::try_from(offsets.u64("chunk offset")?).unwrap_or(usize::MAX);
        let end = usize::try_from(offsets.u64("chunk end")?).unwrap_or(usize::MAX);
        let Some(len) = end.checked_sub(start) else {
            return Err(self.file.corruption(at, "a chunk of names ends before it begins"));
        };
        let left = (self.ids.end - self.ids.start).saturating_sub((chunk * CHUNK) as u64);
        let count = usize::try_from(left).unwrap_or(CHUNK).min(CHUNK);
        let mut fields = Fields::new(self.file.bytes(start, len)?, start as u64);
        let lengths = fields.bytes(count * 2, "lengths of names").map_err(|e| self.at_path(e))?;
        Ok(Chunk { names: self, lengths: Fields::new(lengths, start as u64), bytes: fields })
    }

    /// Adds the file's path to an error.
    fn at_path(&self, error: Error) -> Error {
        error.at_path(self.file.path())
    }

    /// Reads the entire file and, if its checksums match, decodes all names.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if self.file.verify(expected, inspection)? {
            self.iter().filter_map(Result::err).for_each(|error| inspection.report(error));
        }
        Ok(())
    }

    /// Returns all bytes of the file, for a copy.
    pub(crate) fn raw(&self) -> &[u8] {
        self.file.raw()
    }

    /// Returns the memory used in addition to the map, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.file.memory()
    }
}

/// An iterator over the names of one chunk, in order.
struct Chunk<'a> {
    names: &'a Names,
    lengths: Fields<'a>,
    bytes: Fields<'a>,
}

impl<'a> Iterator for Chunk<'a> {
    type Item = Result<&'a str>;

    fn next(&mut self) -> Option<Self::Item> {
        let len = self.lengths.u16("length of a name").ok()?;
        let at = self.bytes.offset();
        let name = self.bytes.bytes(usize::from(len), "name").and_then(|bytes| {
            std::str::from_utf8(bytes)
                .map_err(|_| Error::corruption("a name is not valid UTF-8").at_offset(at))
        });
        Some(name.map_err(|e| self.names.at_path(e)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::header::FileKind;
    use crate::storage::Sim;

    const HEADER: FileHeader = FileHeader {
        kind: FileKind::Names,
        bits: 64,
        part: 0,
        file_id: 1,
        nonce: 8,
        database_id: 2,
    };

    #[test]
    fn names_are_found_by_id_at_chunk_boundaries() {
        for count in [0usize, 1, 63, 64, 65, 200] {
            let sim = Sim::new();
            sim.create_root().unwrap();
            let names: Vec<String> = (0..count)
                .map(|i| if i % 7 == 3 { String::new() } else { format!("https://例/{i}") })
                .collect();
            let mut builder = NamesBuilder::create(&*sim, "n", &HEADER, DocId(40)).unwrap();
            names.iter().for_each(|n| builder.push(n).unwrap());
            let summary = builder.finish().unwrap();
            let file = Names::open(&*sim, "n", &HEADER, summary.len).unwrap();
            let mut inspection = Inspection::new(None);
            file.verify(summary, &mut inspection).unwrap();
            assert_eq!(inspection.found(), 0);
            assert_eq!(file.ids(), 40..40 + count as u64);
            for (id, name) in (40..).zip(&names) {
                let expected = Some(name.as_str()).filter(|n| !n.is_empty());
                assert_eq!(file.get(DocId(id)).unwrap(), expected);
            }
            assert_eq!(file.get(DocId(39)).unwrap(), None);
            assert_eq!(file.get(DocId(40 + count as u64)).unwrap(), None);
            let all: Vec<&str> = file.iter().map(Result::unwrap).collect();
            assert_eq!(all, names);
        }
    }
}
