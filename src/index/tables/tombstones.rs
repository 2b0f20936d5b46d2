//! Tombstones: the entries that a segment removes from *older* segments.
//!
//! The file is a sorted array of (fingerprint, id) records, which is searched in place. Each record
//! removes exactly one live entry of an older segment, so entry counts stay exact. A segment's
//! tombstones do not affect its own entries. storage-format.md, "Tombstones".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;

use crate::base::error::Result;
use crate::base::inspection::Inspection;
use crate::file::codec::bytes::{Fields, PutFields};
use crate::file::codec::header::{FileHeader, HEADER_LEN};
use crate::file::paged::{FileSummary, OpenPaged, Paged, PagedFile, PagedWriter, Sequential};
use crate::file::storage::Storage;
use crate::fingerprint::{DocId, Entry, Word};

/// Writes a file of tombstones for these entries, which must ascend.
pub(crate) fn write<F: Word>(
    storage: &dyn Storage,
    name: &str,
    header: &FileHeader,
    entries: impl IntoIterator<Item = Entry<F>>,
) -> Result<FileSummary> {
    let mut writer = PagedWriter::create(storage, name, header)?;
    let mut record = Vec::new();
    let mut count = 0u64;
    for entry in entries {
        record.clear();
        record.put_fingerprint(entry.fingerprint);
        record.put_u64(entry.id.0);
        writer.write(&record)?;
        count += 1;
    }
    let mut meta = Vec::new();
    meta.put_u64(count);
    writer.finish(&meta)
}

/// An open file of tombstones.
#[derive(Debug)]
pub(crate) struct Tombstones<F> {
    file: PagedFile,
    count: usize,
    width: PhantomData<F>,
}

impl<F> Paged for Tombstones<F> {
    fn file(&self) -> &PagedFile {
        &self.file
    }

    fn file_mut(&mut self) -> &mut PagedFile {
        &mut self.file
    }

    fn with_file(&self, file: PagedFile) -> Self {
        Self { file, count: self.count, width: PhantomData }
    }
}

impl<F: Word> OpenPaged for Tombstones<F> {
    fn from_file(file: PagedFile) -> Result<Self> {
        let count = usize::try_from(file.meta().u64("tombstone count")?).unwrap_or(usize::MAX);
        let len = count.checked_mul(Self::RECORD_LEN);
        file.expect_body_end(len.and_then(|len| HEADER_LEN.checked_add(len)))?;
        Ok(Self { file, count, width: PhantomData })
    }
}

impl<F: Word> Tombstones<F> {
    const RECORD_LEN: usize = F::BYTES + 8;

    /// Returns the number of tombstones.
    pub(crate) fn count(&self) -> usize {
        self.count
    }

    /// Returns the tombstone at an index.
    fn get(&self, index: usize) -> Result<Entry<F>> {
        let offset = HEADER_LEN.saturating_add(index.saturating_mul(Self::RECORD_LEN));
        let mut fields = Fields::new(self.file.bytes(offset, Self::RECORD_LEN)?, offset as u64);
        let fingerprint = fields.fingerprint("fingerprint")?;
        Ok(Entry { fingerprint, id: DocId(fields.u64("id")?) })
    }

    /// Returns the index of the first tombstone that is at least `target`.
    pub(crate) fn lower_bound(&self, target: Entry<F>) -> Result<usize> {
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle)? < target {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
    }

    /// Returns whether there is a tombstone for this entry.
    pub(crate) fn contains(&self, entry: Entry<F>) -> Result<bool> {
        let index = self.lower_bound(entry)?;
        Ok(index < self.count && self.get(index)? == entry)
    }

    /// Returns the tombstones from index `from` on, ascending.
    pub(crate) fn iter_from(&self, from: usize) -> impl Iterator<Item = Result<Entry<F>>> {
        let mut reader = Sequential::new(self);
        (from..self.count).map(move |index| reader.get()?.get(index))
    }

    /// Reads the entire file and, if its checksums match, checks the order of its entries.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        inspection: &mut Inspection<'_>,
    ) -> Result<()> {
        if !self.file.verify(expected, inspection)? {
            return Ok(());
        }
        let mut previous = None;
        for entry in self.iter_from(0) {
            match entry {
                Ok(entry) if previous.is_none_or(|p| p < entry) => previous = Some(entry),
                Ok(_) => {
                    let message = "the tombstones do not ascend";
                    inspection.report(self.file.corruption(HEADER_LEN, message));
                }
                Err(error) => inspection.report(error),
            }
        }
        Ok(())
    }

    /// Returns the memory used in addition to pages, in bytes.
    pub(crate) fn memory(&self) -> usize {
        self.file.memory()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::codec::header::FileKind;
    use crate::file::storage::Sim;

    fn round_trip<F: Word>() {
        let header = FileHeader {
            kind: FileKind::Tombstones,
            bits: F::BITS,
            part: 0,
            file_id: 1,
            nonce: 8,
            database_id: 2,
        };
        let sim = Sim::new();
        sim.create_root().unwrap();
        let entries: Vec<Entry<F>> = (0..500u64)
            .map(|i| Entry { fingerprint: F::from_u128(u128::from(i / 3)), id: DocId(i * 2) })
            .collect();
        let summary = write(&*sim, "d", &header, entries.iter().copied()).unwrap();
        let file = Tombstones::<F>::open(&*sim, "d", &header, summary.len).unwrap();
        let mut inspection = Inspection::new(None);
        file.verify(summary, &mut inspection).unwrap();
        assert_eq!(inspection.found(), 0);
        for &entry in &entries {
            assert!(file.contains(entry).unwrap());
            assert!(!file.contains(Entry { id: DocId(entry.id.0 + 1), ..entry }).unwrap());
        }
        let all: Vec<Entry<F>> = file.iter_from(0).map(Result::unwrap).collect();
        assert_eq!(all, entries);
    }

    #[test]
    fn records_are_found_at_both_widths() {
        round_trip::<u64>();
        round_trip::<u128>();
    }
}
