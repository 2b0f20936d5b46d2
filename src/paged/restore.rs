//! Making lost checksums of pages again, for a repair.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;

use super::open_file::OpenFile;
use super::reader::PagedFile;
use super::{CHECKSUM_PAGE_FLAG, CHECKSUMS_PER_PAGE, FileSummary, PAGE};
use crate::codec::bytes::PutFields;
use crate::error::{ErrorKind, Result};

impl PagedFile {
    /// For a repair: if checksums of pages are lost, makes them again, where the checksum of the
    /// entire file in the manifest proves that they are right.
    pub(crate) fn restore_checksums(&self, expected: FileSummary) -> Result<()> {
        self.file.restore_checksums(expected)
    }
}

impl OpenFile {
    /// Computes damaged checksum pages from the pages. They are used only if the file then has the
    /// checksum that the manifest says, which proves that nothing else is damaged.
    fn restore_checksums(&self, expected: FileSummary) -> Result<()> {
        let mut lost: BTreeMap<usize, Vec<u8>> = BTreeMap::new();
        for number in 0..self.checksum_pages() {
            match self.checksum_page(number) {
                Err(error) if error.kind() == ErrorKind::Corruption => {
                    lost.insert(number, Vec::new());
                }
                read => drop(read?),
            }
        }
        if lost.is_empty() {
            return Ok(());
        }
        let mut file_crc = crc32fast::Hasher::new();
        self.for_each_chunk(|start, bytes| {
            let body = bytes.get(..self.body_len.saturating_sub(start)).unwrap_or(bytes);
            file_crc.update(body);
            for (page, bytes) in (start / PAGE..).zip(body.chunks(PAGE)) {
                if let Some(checksums) = lost.get_mut(&(page / CHECKSUMS_PER_PAGE)) {
                    checksums.put_u32(self.checksum.piece(page as u64, bytes));
                }
            }
            Ok(())
        })?;
        for number in 0..self.checksum_pages() {
            let checksums = match lost.get(&number) {
                Some(checksums) => checksums,
                None => self.checksum_page(number)?,
            };
            let own = self.checksum.piece(CHECKSUM_PAGE_FLAG | number as u64, checksums);
            file_crc.update(checksums);
            file_crc.update(&own.to_le_bytes());
        }
        file_crc.update(&self.footer()?);
        if file_crc.finalize() == expected.crc {
            lost.into_iter().for_each(|(number, checksums)| self.set_checksums(number, checksums));
        }
        Ok(())
    }
}
