//! Checking an entire table.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use super::directory::{Bytes, DirectoryBuilder};
use super::filter::Filter;
use super::reader::Table;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::file::paged::{FileSummary, PAGE, Paged, Sequential};
use crate::fingerprint::Word;
use crate::index::tables::block;

/// How many blocks are decoded between two reports of progress.
const BLOCKS_PER_STEP: usize = 4096;

/// Words of a filter that are computed at a time: 16 MiB.
const MIN_PART: u64 = 1 << 21;

/// Most parts of a filter, for each of which all blocks are decoded. The parts of filters of more
/// than 256 MiB are longer.
const MAX_PARTS: u64 = 16;

impl<F: Word> Table<F> {
    /// Reads the entire file and, if its checksums match, decodes it strictly. Returns the sum of
    /// `hash` over all fingerprints, which does not depend on their order, or `None` for a damaged
    /// file.
    pub(crate) fn verify(
        &self,
        expected: FileSummary,
        hash: impl Fn(F) -> u64,
        inspection: &mut Inspection<'_>,
    ) -> Result<Option<u64>> {
        if !self.file.verify(expected, inspection)? {
            return Ok(None);
        }
        let found = inspection.found();
        let (mut sum, mut count, mut previous) = (0u64, 0u64, None);
        let mut directory = DirectoryBuilder::new(self.blocks() as u64, Bytes::default())?;
        let mut reader = Sequential::new(self);
        for block in 0..self.blocks() {
            let mut ascends = true;
            let checked = reader.get()?.packed(block).and_then(|packed| {
                block::check(&packed, |f| {
                    ascends &= previous.is_none_or(|previous| previous < f);
                    previous = Some(f);
                    sum = sum.wrapping_add(hash(f));
                    count += 1;
                })?;
                let message = "the fingerprints do not ascend from the previous block to this one";
                ascends.then_some(()).ok_or_else(|| Error::corruption(message))
            });
            if let Err(error) = checked {
                inspection.report(self.in_block(block, error));
            }
            previous.iter().try_for_each(|&last| directory.push(last))?;
            if (block + 1) % BLOCKS_PER_STEP == 0 {
                inspection.advance(BLOCKS_PER_STEP * self.block_size)?;
            }
        }
        // The rest of the file, so that every file is counted twice.
        let counted = self.blocks() / BLOCKS_PER_STEP * BLOCKS_PER_STEP * self.block_size;
        let len = usize::try_from(expected.len).unwrap_or(usize::MAX);
        inspection.advance(len.saturating_sub(counted))?;
        // The directory of damaged blocks is not known.
        if inspection.found() == found
            && let Err(error) = self.index.check(&reader.get()?.file.body(), directory)
        {
            inspection.report(error);
        }
        if count != self.count && inspection.found() == found {
            inspection.report(self.file.corruption(
                0,
                "the blocks do not hold as many fingerprints as the table's footer says",
            ));
        }
        if inspection.found() == found
            && let Some(filter) = self.filter
            && let Err(error) = self.verify_filter(filter, MIN_PART, inspection)
        {
            match error.kind() {
                ErrorKind::Cancelled => return Err(error),
                _ => inspection.report(error),
            }
        }
        Ok((inspection.found() == found).then_some(sum))
    }

    /// Computes the filter that follows from the fingerprints, in parts of at least this many
    /// words, and compares the table's filter with it. If a bit were missing, queries would not
    /// find a fingerprint.
    pub(super) fn verify_filter(
        &self,
        filter: Filter,
        least_part: u64,
        inspection: &Inspection<'_>,
    ) -> Result<()> {
        let part = least_part.max(filter.words.div_ceil(MAX_PARTS));
        let mut expected = Vec::new();
        let mut first = 0;
        while first < filter.words {
            let words = usize::try_from(part.min(filter.words - first)).unwrap_or(usize::MAX);
            expected.clear();
            expected.resize(words, 0);
            self.visit_all(|fingerprint| {
                let (word, bits) = filter.place_of(fingerprint);
                let word = usize::try_from(word.wrapping_sub(first)).unwrap_or(usize::MAX);
                if let Some(word) = expected.get_mut(word) {
                    *word |= bits;
                }
            })?;
            inspection.advance(0)?;
            self.compare_filter(filter, first, &expected)?;
            first += part;
        }
        Ok(())
    }

    /// Compares words of the filter with those that are expected.
    fn compare_filter(&self, filter: Filter, first: u64, expected: &[u64]) -> Result<()> {
        let mut reader = Sequential::new(self);
        let mut offset = filter.offset_of(first);
        for expected in expected.chunks(PAGE / 8) {
            let body = reader.get()?.file().body();
            let bytes = body.bytes_of_pages(offset, expected.len() * 8)?;
            for (&found, &expected) in bytes.as_chunks().0.iter().zip(expected) {
                let found = u64::from_le_bytes(found);
                if expected & !found != 0 {
                    let message = "the prefix filter rules out a fingerprint that the table holds";
                    return Err(self.file.corruption(offset, message));
                }
                if found != expected {
                    let message = "the prefix filter has a bit that no fingerprint sets";
                    return Err(self.file.corruption(offset, message));
                }
                offset += 8;
            }
        }
        Ok(())
    }
}
