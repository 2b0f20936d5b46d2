//! Names: the document names of one segment, by id.
//!
//! A chunk has the names of up to 64 ids with the same quotient id / 64. A bitmap says which of
//! these ids have a name, so an id without one costs a bit, and a chunk without names is not
//! stored: a gap in the ids costs nothing, however long it is. An index has the number and the
//! offset of each chunk. storage-format.md, "Names".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;

use crate::codec::bytes::{Fields, PutFields};
use crate::codec::header::FileHeader;
use crate::error::{Error, Result};
use crate::fingerprint::DocId;
use crate::inspection::Inspection;
use crate::paged::{FileSummary, Paged, PagedFile, PagedWriter, Sequential};
use crate::storage::Storage;

/// Number of ids that share a chunk.
const CHUNK: u64 = 64;
/// Bytes per chunk in the index: its number and its offset.
const INDEX_ENTRY: usize = 16;

/// Writes names in id order.
#[derive(Debug)]
pub(crate) struct NamesBuilder {
    writer: PagedWriter<'static>,
    /// The ids of the first and the last name.
    ids: Option<(u64, u64)>,
    count: u64,
    /// The number and the offset of each chunk.
    index: Vec<u8>,
    /// Which ids of the open chunk have a name.
    present: u64,
    /// The lengths of the names in the open chunk.
    lengths: Vec<u8>,
    /// The names in the open chunk.
    bytes: Vec<u8>,
}

impl NamesBuilder {
    /// Creates the file.
    pub(crate) fn create(storage: &dyn Storage, name: &str, header: &FileHeader) -> Result<Self> {
        let writer = PagedWriter::create(storage, name, header)?;
        let (index, lengths, bytes) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { writer, ids: None, count: 0, index, present: 0, lengths, bytes })
    }

    /// Adds the name of a document. Fails unless its id is greater than those before and the name
    /// has 1 to 65,535 bytes.
    pub(crate) fn push(&mut self, id: DocId, name: &str) -> Result<()> {
        let len = u16::try_from(name.len()).unwrap_or(0);
        let first = match self.ids {
            _ if len == 0 => return Err(Error::corruption("a name is empty or too long")),
            Some((_, last)) if id.0 <= last => {
                return Err(Error::corruption("the ids of names do not ascend: run verify"));
            }
            Some((first, last)) => {
                if id.0 / CHUNK != last / CHUNK {
                    self.end_chunk(last / CHUNK)?;
                }
                first
            }
            None => id.0,
        };
        self.ids = Some((first, id.0));
        self.count += 1;
        self.present |= 1 << (id.0 % CHUNK);
        self.lengths.put_u16(len);
        self.bytes.extend_from_slice(name.as_bytes());
        Ok(())
    }

    fn end_chunk(&mut self, number: u64) -> Result<()> {
        self.index.put_u64(number);
        self.index.put_u64(self.writer.position());
        self.writer.write(&self.present.to_le_bytes())?;
        self.lengths.append(&mut self.bytes);
        self.writer.write(&self.lengths)?;
        self.lengths.clear();
        self.present = 0;
        Ok(())
    }

    /// Writes the last chunk, the index and the footer. The file's bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        let (first, last) = self.ids.unwrap_or_default();
        if self.present != 0 {
            self.end_chunk(last / CHUNK)?;
        }
        let index_at = self.writer.position();
        self.writer.write(&self.index)?;
        let mut meta = Vec::new();
        meta.put_u64(first);
        meta.put_u64(last);
        meta.put_u64(self.count);
        meta.put_u64(index_at);
        meta.put_u64((self.index.len() / INDEX_ENTRY) as u64);
        self.writer.finish(&meta)
    }
}

/// An open file of names.
#[derive(Debug)]
pub(crate) struct Names {
    file: PagedFile,
    /// From the first id with a name to the last one.
    ids: Range<u64>,
    count: u64,
    index_at: usize,
    /// Number of chunks, at least 1.
    chunks: usize,
}

impl Paged for Names {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        let Self { ref ids, count, index_at, chunks, .. } = *self;
        Self { file, ids: ids.clone(), count, index_at, chunks }
    }
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
        let (first, last) = (meta.u64("first id")?, meta.u64("last id")?);
        let count = meta.u64("name count")?;
        let index_at = usize::try_from(meta.u64("index of names")?).unwrap_or(usize::MAX);
        let chunks = usize::try_from(meta.u64("chunk count")?).unwrap_or(usize::MAX);
        meta.finish("names footer")?;
        let index_len = chunks.checked_mul(INDEX_ENTRY);
        file.expect_body_end(index_len.and_then(|len| index_at.checked_add(len)))?;
        let names = Self { file, ids: first..last.saturating_add(1), count, index_at, chunks };
        let chunk_ids = (last / CHUNK).checked_sub(first / CHUNK);
        if first > last || last == u64::MAX || chunks == 0 || chunk_ids < Some(chunks as u64 - 1) {
            return Err(names.file.corruption(index_at, "the ids of the names are contradictory"));
        }
        Ok(names)
    }

    /// Returns the ids from the first one to the last one with a name in the file. Not all of them
    /// need have a name.
    pub(crate) fn ids(&self) -> Range<u64> {
        self.ids.clone()
    }

    /// Returns the number of names.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the name of a document; `None` if the file does not have it.
    pub(crate) fn get(&self, id: DocId) -> Result<Option<&str>> {
        if !self.ids.contains(&id.0) {
            return Ok(None);
        }
        let Some(index) = self.find_chunk(id.0 / CHUNK)? else { return Ok(None) };
        let mut names = self.chunk(index)?;
        names
            .find(|name| name.as_ref().is_ok_and(|&(found, _)| found == id) || name.is_err())
            .transpose()
            .map(|name| name.map(|(_, name)| name))
    }

    /// Returns the place of the chunk with this number in the index.
    fn find_chunk(&self, number: u64) -> Result<Option<usize>> {
        // Chunk numbers ascend, so those before this one, and those after it, are at most as many
        // as the numbers between. Where no chunk is missing, this leaves one place.
        let before = number.saturating_sub(self.ids.start / CHUNK);
        let after = ((self.ids.end - 1) / CHUNK).saturating_sub(number);
        let most = |numbers: u64| usize::try_from(numbers).unwrap_or(usize::MAX);
        let mut low = self.chunks.saturating_sub(most(after).saturating_add(1));
        let mut high = most(before).saturating_add(1).min(self.chunks);
        while low < high {
            let middle = low + (high - low) / 2;
            let found = self.chunk_number(middle)?;
            if found == number {
                return Ok(Some(middle));
            }
            if found < number { low = middle + 1 } else { high = middle }
        }
        Ok(None)
    }

    fn chunk_number(&self, index: usize) -> Result<u64> {
        let at = self.index_at.saturating_add(index * INDEX_ENTRY);
        Fields::new(self.file.bytes(at, 8)?, at as u64).u64("chunk number")
    }

    /// Returns all names with their ids, ascending. Ends after an error.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Result<(DocId, String)>> {
        let (mut reader, mut previous) = (Sequential::new(self), None);
        let mut chunk = move |index| -> Result<Vec<_>> {
            let chunk = reader.get()?.chunk(index)?;
            let last = previous.replace(chunk.number);
            if last.is_some_and(|last| last >= chunk.number) {
                return Err(self.misplaced(index));
            }
            Ok(chunk.map(|name| name.map(|(id, name)| (id, name.to_owned()))).collect())
        };
        let names = (0..self.chunks)
            .flat_map(move |index| chunk(index).unwrap_or_else(|error| vec![Err(error)]));
        let mut failed = false;
        names.take_while(move |name| {
            let goes_on = !failed;
            failed = name.is_err();
            goes_on
        })
    }

    fn misplaced(&self, index: usize) -> Error {
        let at = self.index_at.saturating_add(index * INDEX_ENTRY);
        self.file.corruption(at, "a chunk of names is out of place")
    }

    /// Returns the names of the chunk with this place in the index.
    fn chunk(&self, index: usize) -> Result<Chunk<'_>> {
        let at = self.index_at.saturating_add(index * INDEX_ENTRY);
        let is_last = index + 1 == self.chunks;
        let entries = self.file.bytes(at, INDEX_ENTRY * if is_last { 1 } else { 2 })?;
        let mut entries = Fields::new(entries, at as u64);
        let number = entries.u64("chunk number")?;
        let start = usize::try_from(entries.u64("chunk offset")?).unwrap_or(usize::MAX);
        let end = if is_last {
            self.index_at
        } else {
            entries.u64("chunk number")?;
            usize::try_from(entries.u64("chunk offset")?).unwrap_or(usize::MAX)
        };
        let Some(len) = end.checked_sub(start) else {
            return Err(self.file.corruption(at, "a chunk of names ends before it begins"));
        };
        if !(self.ids.start / CHUNK..=(self.ids.end - 1) / CHUNK).contains(&number) {
            return Err(self.misplaced(index));
        }
        let at_path = |error: Error| error.at_path(self.file.path());
        let mut fields = Fields::new(self.file.bytes(start, len)?, start as u64);
        let present = fields.u64("bitmap of names").map_err(at_path)?;
        let count = present.count_ones() as usize;
        let lengths = fields.bytes(count * 2, "lengths of names").map_err(at_path)?;
        let lengths = Fields::new(lengths, start as u64 + 8);
        let chunk = Chunk { names: self, number, present, lengths, bytes: fields };
        chunk.check(len.saturating_sub(8 + count * 2))?;
        Ok(chunk)
    }

    /// Reads the entire file and, if its checksums match, decodes all names.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if self.file.verify(expected, inspection)?
            && let Err(error) = self.check_all()
        {
            inspection.report(error);
        }
        Ok(())
    }

    /// Decodes all names and compares their ids and their number with the footer.
    fn check_all(&self) -> Result<()> {
        let (mut first, mut last, mut count) = (None, None, 0);
        for name in self.iter() {
            let (id, _) = name?;
            first = first.or(Some(id.0));
            last = Some(id.0);
            count += 1;
        }
        let end = last.map_or(0, |last| last + 1);
        if (first, end, count) == (Some(self.ids.start), self.ids.end, self.count) {
            return Ok(());
        }
        Err(self.file.corruption(self.index_at, "the names are not those that the footer says"))
    }

    /// Returns the memory used in addition to pages, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.file.memory()
    }
}

/// An iterator over the names of one chunk, in id order.
struct Chunk<'a> {
    names: &'a Names,
    number: u64,
    /// The ids whose names are still to come.
    present: u64,
    lengths: Fields<'a>,
    bytes: Fields<'a>,
}

impl Chunk<'_> {
    /// Checks that the chunk has names, none of them empty, and that they take `len` bytes.
    fn check(&self, len: usize) -> Result<()> {
        let mut lengths = self.lengths.clone();
        let mut sum = 0;
        for _ in 0..self.present.count_ones() {
            match lengths.u16("length of a name")? {
                0 => return Err(self.corruption("a name is empty")),
                len => sum += usize::from(len),
            }
        }
        if sum == len && self.present != 0 {
            return Ok(());
        }
        Err(self.corruption("a chunk of names does not have the length of its names"))
    }

    fn corruption(&self, message: &str) -> Error {
        let at = usize::try_from(self.lengths.offset()).unwrap_or(usize::MAX);
        self.names.file.corruption(at, message)
    }
}

impl<'a> Iterator for Chunk<'a> {
    type Item = Result<(DocId, &'a str)>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.present == 0 {
            return None;
        }
        let id = DocId(self.number * CHUNK + u64::from(self.present.trailing_zeros()));
        self.present &= self.present - 1;
        let at = self.bytes.offset();
        let len = self.lengths.u16("length of a name");
        let name =
            len.and_then(|len| self.bytes.bytes(usize::from(len), "name")).and_then(|bytes| {
                std::str::from_utf8(bytes)
                    .map_err(|_| Error::corruption("a name is not valid UTF-8").at_offset(at))
            });
        Some(name.map(|name| (id, name)).map_err(|e| e.at_path(self.names.file.path())))
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

    fn written(sim: &Sim, names: &[(u64, String)]) -> FileSummary {
        let mut builder = NamesBuilder::create(sim, "n", &HEADER).unwrap();
        names.iter().for_each(|(id, name)| builder.push(DocId(*id), name).unwrap());
        builder.finish().unwrap()
    }

    fn check(names: &[(u64, String)]) {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let summary = written(&sim, names);
        let file = Names::open(&*sim, "n", &HEADER, summary.len).unwrap();
        let mut inspection = Inspection::new(None);
        file.verify(summary, &mut inspection).unwrap();
        assert_eq!(inspection.found(), 0);
        assert_eq!(file.ids(), names[0].0..names[names.len() - 1].0 + 1);
        assert_eq!(file.count(), names.len() as u64);
        for (id, name) in names {
            assert_eq!(file.get(DocId(*id)).unwrap(), Some(name.as_str()));
            for other in [id.wrapping_sub(64), id.wrapping_sub(1), id + 1, id + 64, id + 640] {
                let is_there = names.binary_search_by_key(&other, |(id, _)| *id).is_ok();
                assert_eq!(file.get(DocId(other)).unwrap().is_some(), is_there);
            }
        }
        let all: Vec<(u64, String)> =
            file.iter().map(|name| name.map(|(id, name)| (id.0, name)).unwrap()).collect();
        assert_eq!(all, names);
    }

    fn names(ids: impl IntoIterator<Item = u64>) -> Vec<(u64, String)> {
        ids.into_iter().map(|id| (id, format!("https://例/{id}"))).collect()
    }

    #[test]
    fn names_are_found_by_id_at_chunk_boundaries() {
        for count in [1, 24, 25, 88, 89, 300] {
            check(&names(40..40 + count));
            check(&names((40..40 + count).filter(|id| id % 7 != 3)));
            check(&names((40..40 + count).filter(|id| id % 100 < 3 || *id == 40)));
        }
        check(&names((0..200).map(|i| i * i * i)));
        check(&names([0, 1 << 20, (1 << 40) + 5, (1 << 40) + 7, (1 << 62) - 1]));
    }

    #[test]
    fn gap_in_the_ids_costs_at_most_a_chunk() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let without = written(&sim, &names(0..64)).len;
        sim.remove("n").unwrap();
        let with_gaps = written(&sim, &names((0..64).map(|i| i << 40))).len;
        let name_bytes =
            |ids: &[(u64, String)]| ids.iter().map(|(_, n)| n.len() as u64).sum::<u64>();
        let more = name_bytes(&names((0..64).map(|i| i << 40))) - name_bytes(&names(0..64));
        assert_eq!(with_gaps - without - more, 63 * (8 + 16));
    }

    #[test]
    fn names_that_do_not_ascend_or_are_empty_are_refused() {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let mut builder = NamesBuilder::create(&*sim, "n", &HEADER).unwrap();
        assert!(builder.push(DocId(7), "").is_err());
        assert!(builder.push(DocId(7), &"x".repeat(65_536)).is_err());
        builder.push(DocId(7), "a").unwrap();
        assert!(builder.push(DocId(7), "b").is_err());
        assert!(builder.push(DocId(6), "b").is_err());
    }
}
