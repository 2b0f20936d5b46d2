//! Writing a table in one pass over its fingerprints.

use super::TableOptions;
use super::directory::{DirectoryBuilder, DirectorySink};
use super::filter_builder::FilterBuilder;
use super::profile::Profile;
use crate::base::error::Result;
use crate::file::codec::bytes::PutFields;
use crate::file::codec::header::FileHeader;
use crate::file::codec::huffman::Code;
use crate::file::paged::{FileSummary, PagedWriter};
use crate::file::scratch::{Scratch, Spool};
use crate::file::storage::Storage;
use crate::fingerprint::Word;
use crate::index::tables::block::{self, BlockBuilder};

/// Writes one table from a stream of ascending fingerprints, whose leading differences must have
/// codewords according to the profile. Without scratch space, the block keys and the filter are in
/// memory until the table is complete.
#[derive(Debug)]
pub(crate) struct TableBuilder<'a, F> {
    writer: PagedWriter<'a>,
    options: TableOptions,
    code: Code,
    /// See [`Profile`].
    zeros: u32,
    block: BlockBuilder<F>,
    /// The bytes of the block that was finished last, or its key.
    bytes: Vec<u8>,
    /// The keys of the finished blocks.
    keys: Spool<'a>,
    /// Number of the finished blocks.
    blocks: u64,
    filter: Option<FilterBuilder<'a>>,
    scratch: Option<Scratch<'a>>,
    count: u64,
}

impl<'a, F: Word> TableBuilder<'a, F> {
    /// Creates the file of a table with this profile.
    pub(crate) fn create(
        storage: &dyn Storage,
        name: &str,
        header: &FileHeader,
        options: TableOptions,
        profile: &Profile,
        scratch: Option<Scratch<'a>>,
    ) -> Result<Self> {
        let files = scratch.map(|scratch| scratch.files);
        let mut writer = PagedWriter::create(storage, name, header)?.with_scratch(files);
        // The header takes the place of a block, so that blocks never straddle a page.
        writer.align(options.block_size)?;
        let zeros = profile.zeros;
        let code = Code::from_histogram(&profile.histogram.above(zeros));
        Ok(Self {
            writer,
            options,
            block: BlockBuilder::new(options.block_size, &code, zeros),
            code,
            zeros,
            bytes: Vec::with_capacity(options.block_size),
            keys: Spool::new(files),
            blocks: 0,
            filter: FilterBuilder::new(
                options.filter_bits,
                options.filter_depth,
                profile.fingerprints,
                scratch,
            )?,
            scratch,
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

    /// Adds ascending fingerprints, all greater than those before, to the current block, and
    /// returns how many. If these are not all, the block has ended, and the others go to the next
    /// one.
    pub(crate) fn push_to_block(&mut self, fingerprints: &[F]) -> Result<usize> {
        let added = self.block.push_all(fingerprints);
        let (in_block, others) = fingerprints.split_at(added);
        if let Some(filter) = &mut self.filter {
            filter.add_all(in_block)?;
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
        self.bytes.clear();
        self.bytes.put_fingerprint(self.block.last());
        self.keys.push(&self.bytes)?;
        self.blocks += 1;
        self.bytes.clear();
        self.block.finish(&mut self.bytes);
        self.writer.write(&self.bytes)
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
        let overflow = self.write_index()?;
        let filter_depth = self.filter.as_ref().map_or(0, FilterBuilder::depth);
        let filter_words = self.filter.as_ref().map_or(0, FilterBuilder::words);
        if let Some(filter) = self.filter.take() {
            filter.finish(|word| self.writer.write(&word.to_le_bytes()))?;
        }
        let mut meta = Vec::new();
        meta.put_u64(self.count);
        meta.put_u64(self.blocks);
        meta.put_u32(u32::try_from(self.options.block_size).unwrap_or(0));
        meta.put_u32(filter_depth);
        meta.put_u64(overflow);
        meta.put_u64(filter_words);
        meta.put_u8(block::CODE);
        meta.extend_from_slice(self.code.lengths(F::BITS));
        meta.put_u8(u8::try_from(self.zeros).unwrap_or(0));
        self.writer.finish(&meta)
    }

    /// Writes the directory and the overflow. Returns the number of keys in the overflow.
    fn write_index(&mut self) -> Result<u64> {
        let files = self.scratch.map(|scratch| scratch.files);
        let keys = std::mem::replace(&mut self.keys, Spool::new(None));
        let sink = IndexSink { writer: &mut self.writer, keys: 0, overflow: Spool::new(files) };
        let mut directory = DirectoryBuilder::<F, _>::new(self.blocks, sink)?;
        keys.read(|keys| {
            let mut keys = keys.chunks_exact(F::BYTES).filter_map(F::read_le);
            keys.try_for_each(|key| directory.push(key))
        })?;
        let sink = directory.finish()?;
        sink.overflow.read(|bytes| sink.writer.write(bytes))?;
        Ok(sink.keys)
    }
}

/// Writes the directory to the table, and keeps the overflow, which follows it.
struct IndexSink<'w, 'a> {
    writer: &'w mut PagedWriter<'a>,
    overflow: Spool<'a>,
    /// Number of keys in the overflow.
    keys: u64,
}

impl DirectorySink for IndexSink<'_, '_> {
    fn slot(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write(bytes)
    }

    fn overflow(&mut self, key: &[u8]) -> Result<()> {
        self.keys += 1;
        self.overflow.push(key)
    }
}
