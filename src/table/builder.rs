//! Writing a table in one pass over its fingerprints.

use super::TableOptions;
use super::filter::FilterBuilder;
use super::index::DirectoryBuilder;
use super::profile::Profile;
use crate::block::{BlockBuilder, Coding};
use crate::codec::bytes::PutFields;
use crate::codec::header::FileHeader;
use crate::error::Result;
use crate::fingerprint::Fingerprint;
use crate::paged::{FileSummary, PagedWriter};
use crate::storage::Storage;

/// Writes one table from a stream of ascending fingerprints, whose leading differences must have
/// codewords according to the profile. Memory: the index, and the filter if there is one.
#[derive(Debug)]
pub(crate) struct TableBuilder<F> {
    writer: PagedWriter,
    options: TableOptions,
    coding: Coding,
    block: BlockBuilder<F>,
    /// The bytes of the block that was finished last.
    scratch: Vec<u8>,
    /// The keys of the finished blocks.
    keys: Vec<F>,
    filter: Option<FilterBuilder>,
    count: u64,
}

impl<F: Fingerprint> TableBuilder<F> {
    /// Creates the file of a table with this profile.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        options: TableOptions,
        profile: &Profile,
    ) -> Result<Self> {
        let mut writer = PagedWriter::create(storage, name, header)?;
        // The header takes the place of a block, so that blocks never straddle a page.
        writer.align(options.block_size)?;
        let coding = Coding::new(options.code, &profile.histogram);
        Ok(Self {
            writer,
            options,
            block: BlockBuilder::new(options.block_size, &coding),
            coding,
            scratch: Vec::with_capacity(options.block_size),
            keys: Vec::new(),
            filter: FilterBuilder::new(
                options.filter_bits,
                options.filter_depth,
                profile.fingerprints,
            ),
            count: 0,
        })
    }

    /// Adds ascending fingerprints, all greater than those before.
    pub(crate) fn push_all(&mut self, mut fingerprints: &[F]) -> Result<()> {
        while !fingerprints.is_empty() {
            let added = self.push_to_block(fingerprints)?;
            fingerprints = fingerprints.get(added..).unwrap_or_default();
        }
        Ok(())
    }

    /// Adds ascending fingerprints, all greater than those before, to the current block, and returns
    /// how many. If these are not all, the block has ended, and the others go to the next one.
    pub(crate) fn push_to_block(&mut self, fingerprints: &[F]) -> Result<usize> {
        let added = self.block.push_all(fingerprints);
        let (added_ones, others) = fingerprints.split_at(added);
        if let Some(filter) = &mut self.filter {
            filter.add_all(added_ones);
        }
        self.count += added as u64;
        if !others.is_empty() {
            debug_assert!(!self.block.is_empty(), "an empty block takes any fingerprint");
            self.end_block()?;
        }
        Ok(added)
    }

    /// Writes the current block.
    fn end_block(&mut self) -> Result<()> {
        self.keys.push(self.block.last());
        self.block.finish(&mut self.scratch);
        self.writer.write(&self.scratch)?;
        self.scratch.clear();
        Ok(())
    }

    /// Returns the number of fingerprints so far.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Writes the index, the filter and the footer. The file's bytes are durable afterwards.
    pub(crate) fn finish(mut self) -> Result<FileSummary> {
        if !self.block.is_empty() {
            self.end_block()?;
        }
        let blocks = self.keys.len();
        let mut directory = DirectoryBuilder::new(blocks)?;
        self.keys.into_iter().for_each(|key| directory.push(key));
        let (directory, overflow) = directory.finish();
        self.writer.write(&directory)?;
        let filter_depth = self.filter.as_ref().map_or(0, FilterBuilder::depth);
        let filter_words = self.filter.map_or_else(Vec::new, FilterBuilder::finish);
        for word in &filter_words {
            self.writer.write(&word.to_le_bytes())?;
        }
        let mut meta = Vec::new();
        meta.put_u64(self.count);
        meta.put_u64(blocks as u64);
        meta.put_u32(u32::try_from(self.options.block_size).unwrap_or(0));
        meta.put_u32(filter_depth);
        meta.put_u64(overflow as u64);
        meta.put_u64(filter_words.len() as u64);
        self.coding.put(F::BITS, &mut meta);
        self.writer.finish(&meta)
    }
}
