//! The key filter: a Bloom filter that says of most keys that are not in the file that they are
//! not.
//!
//! All bits of a key are in one block of 64 bytes, so that a check costs one access to memory
//! (Putze, Sanders, Singler, 2007). storage-format.md, "Documents".

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use twox_hash::XxHash3_64;

use crate::base::error::Result;
use crate::file::paged::Body;
use crate::file::scratch::ScratchFiles;
use crate::file::sorter::Sorter;

/// Bytes of a block.
pub(super) const BLOCK: usize = 64;
/// Bits of the filter per key.
const BITS_PER_KEY: u64 = 10;
/// Bits that are set for a key.
const BITS: u32 = 6;
/// Most blocks.
pub(super) const MAX_BLOCKS: u64 = u32::MAX as u64;
/// Multiplied with a hash, so that the bits within a block do not depend on the block alone.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct KeyHash(pub(crate) u64);

/// Hashes the keys of a database.
///
/// Names come from strangers. The hashes depend on the database's random id, so that nobody can
/// choose names that fill one line of the filter, or that all filters let pass.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyHasher {
    seed: u64,
}

impl KeyHasher {
    /// Creates the hasher of the database with this id.
    pub(crate) fn of_database(id: u128) -> Self {
        let [a, b, c, d, e, f, g, h, ..] = id.to_le_bytes();
        Self { seed: u64::from_le_bytes([a, b, c, d, e, f, g, h]) }
    }

    /// Returns the hash of a key: its XXH3-64 with the seed.
    pub(crate) fn hash(self, key: &[u8]) -> KeyHash {
        KeyHash(XxHash3_64::oneshot_with_seed(self.seed, key))
    }
}

#[inline]
fn block_of(hash: u64, blocks: u64) -> u64 {
    (hash >> 32).wrapping_mul(blocks) >> 32
}

/// Returns the numbers of the bits, below 512, that a hash sets in its block.
#[inline]
fn bits_of(hash: u64) -> impl Iterator<Item = u64> {
    let mixed = hash.wrapping_mul(MULTIPLIER);
    (0..BITS).map(move |i| mixed >> (u64::BITS - 9 * (i + 1)) & 511)
}

/// The filter of an open file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Filter {
    pub(super) offset: usize,
    pub(super) blocks: u64,
}

impl Filter {
    /// Returns the bytes of the filter.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.blocks).unwrap_or(usize::MAX).saturating_mul(BLOCK)
    }

    /// Returns false only if the file does not mention the key with this hash.
    #[inline]
    pub(super) fn may_contain(&self, body: &Body<'_>, hash: KeyHash) -> Result<bool> {
        let block = usize::try_from(block_of(hash.0, self.blocks)).unwrap_or(usize::MAX);
        let at = self.offset.saturating_add(block.saturating_mul(BLOCK));
        let bytes = body.bytes(at, BLOCK)?;
        let is_set = |bit: u64| {
            let byte = usize::try_from(bit / 8).ok().and_then(|at| bytes.get(at));
            byte.is_some_and(|byte| byte >> (bit % 8) & 1 == 1)
        };
        Ok(bits_of(hash.0).all(is_set))
    }
}

/// Most hashes that are kept in memory if there are scratch files.
const IN_MEMORY: u64 = if cfg!(test) { 1 << 10 } else { 1 << 21 };
/// Memory for sorting more than that.
const SORTER_MEMORY: usize = 32 << 20;

/// Collects the hashes of keys, and makes a filter that fits their number.
#[derive(Debug)]
pub(super) enum FilterBuilder<'a> {
    Memory(Vec<u64>),
    Sorter(Box<Sorter<'a, u64>>, u64),
}

impl<'a> FilterBuilder<'a> {
    /// Creates a filter for at most `most` keys. Without scratch files, the hashes are in memory.
    pub(super) fn new(most: u64, scratch: Option<ScratchFiles<'a>>) -> Self {
        match scratch.filter(|_| most > IN_MEMORY) {
            Some(files) => Self::Sorter(Box::new(Sorter::new(files, SORTER_MEMORY, 1)), 0),
            None => Self::Memory(Vec::new()),
        }
    }

    pub(super) fn push(&mut self, hash: KeyHash) -> Result<()> {
        match self {
            Self::Memory(hashes) => {
                hashes.push(hash.0);
                Ok(())
            }
            Self::Sorter(sorter, count) => {
                *count += 1;
                sorter.push(hash.0)
            }
        }
    }

    /// Passes the blocks of the filter to `put`, in order. Returns their number.
    pub(super) fn finish(self, mut put: impl FnMut(&[u8]) -> Result<()>) -> Result<u64> {
        let blocks_for = |keys: u64| (keys * BITS_PER_KEY).div_ceil(512).min(MAX_BLOCKS);
        let mut block = OpenBlock { number: 0, bytes: [0; BLOCK] };
        let blocks = match self {
            Self::Memory(mut hashes) => {
                let blocks = blocks_for(hashes.len() as u64);
                hashes.sort_unstable();
                hashes.iter().try_for_each(|&hash| block.add(hash, blocks, &mut put))?;
                blocks
            }
            Self::Sorter(sorter, count) => {
                let blocks = blocks_for(count);
                sorter.finish(&|_| Ok(()))?.with_passes(1).for_each(&mut |hashes| {
                    hashes.iter().try_for_each(|&hash| block.add(hash, blocks, &mut put))
                })?;
                blocks
            }
        };
        block.advance_to(blocks, &mut put)?;
        Ok(blocks)
    }
}

/// The block that hashes in ascending order are being added to.
struct OpenBlock {
    number: u64,
    bytes: [u8; BLOCK],
}

impl OpenBlock {
    fn add(
        &mut self,
        hash: u64,
        blocks: u64,
        put: &mut impl FnMut(&[u8]) -> Result<()>,
    ) -> Result<()> {
        self.advance_to(block_of(hash, blocks), put)?;
        for bit in bits_of(hash) {
            if let Some(byte) = usize::try_from(bit / 8).ok().and_then(|at| self.bytes.get_mut(at))
            {
                *byte |= 1 << (bit % 8);
            }
        }
        Ok(())
    }

    /// Passes on the blocks before this one.
    fn advance_to(&mut self, number: u64, put: &mut impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
        while self.number < number {
            put(&self.bytes)?;
            self.bytes = [0; BLOCK];
            self.number += 1;
        }
        Ok(())
    }
}
