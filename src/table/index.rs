//! The index of a table: which block may hold a fingerprint.
//!
//! Keys, the last fingerprint of each block, and over their leading bits a directory: for each
//! prefix, how many keys lie before it. A look-up reads two neighbouring entries of the directory
//! and then the one or two keys between them, however many blocks there are; where fingerprints
//! crowd behind one prefix it bisects. (The paper, section 3.2, interpolates over the keys: as few
//! steps on even data, but more misses of the cache, one waiting for the other.)

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::marker::PhantomData;
use std::ops::Range;

use crate::codec::bytes::PutFields;
use crate::error::{Error, Result};
use crate::fingerprint::Fingerprint;
use crate::paged::Body;

/// Bytes of an entry of the directory.
const ENTRY: usize = 4;

/// Keys that are looked at at once; among more it bisects.
const FEW: usize = 4;

/// Where keys and directory lie in a file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Index<F> {
    blocks: usize,
    keys: usize,
    directory: usize,
    /// Leading bits that the directory tells apart.
    depth: u32,
    width: PhantomData<F>,
}

/// Blocks among which is the first one whose key is at least some target; `last` may be one behind
/// the last block, for none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cell {
    first: usize,
    last: usize,
}

/// So many that a prefix has one key or two.
fn depth_for(blocks: usize) -> u32 {
    blocks.checked_ilog2().unwrap_or(0)
}

/// The `depth` leading bits as a number.
#[inline(always)]
fn prefix<F: Fingerprint>(fingerprint: F, depth: u32) -> usize {
    // In two shifts: one of all 64 bits cannot be.
    (fingerprint.top64() >> 1 >> (63 - depth)) as usize
}

/// Appends the directory of these keys, ascending and `blocks` of them.
pub(super) fn put_directory<F: Fingerprint>(
    blocks: usize,
    keys: impl Iterator<Item = F>,
    out: &mut Vec<u8>,
) -> Result<()> {
    let depth = depth_for(blocks);
    if u32::try_from(blocks).is_err() {
        return Err(Error::invalid(format!("{blocks} blocks are too many for one table")));
    }
    let (mut next, mut before) = (0, 0u32);
    for key in keys {
        let cell = prefix(key, depth);
        while next <= cell {
            out.put_u32(before);
            next += 1;
        }
        before += 1;
    }
    while next <= 1 << depth {
        out.put_u32(before);
        next += 1;
    }
    Ok(())
}

impl<F: Fingerprint> Index<F> {
    /// The index of so many blocks, its keys from `offset` on; `None` if that is beyond all files.
    pub(super) fn new(blocks: usize, offset: usize) -> Option<Self> {
        let depth = depth_for(u32::try_from(blocks).ok()? as usize);
        let directory = offset.checked_add(blocks.checked_mul(F::BYTES)?)?;
        let index = Self { blocks, keys: offset, directory, depth, width: PhantomData };
        directory.checked_add(index.entries() * ENTRY)?;
        Some(index)
    }

    fn entries(&self) -> usize {
        (1 << self.depth) + 1
    }

    /// Where it begins in the file.
    pub(super) fn start(&self) -> usize {
        self.keys
    }

    /// Where it ends in the file.
    pub(super) fn end(&self) -> usize {
        self.directory + self.entries() * ENTRY
    }

    /// Bytes of keys and directory.
    pub(super) fn len(&self) -> usize {
        self.end() - self.keys
    }

    /// Number of blocks.
    pub(super) fn count(&self) -> usize {
        self.blocks
    }

    /// The key of a block.
    #[inline(always)]
    pub(super) fn key(&self, body: &Body<'_>, block: usize) -> Result<F> {
        let offset = self.keys.saturating_add(block.saturating_mul(F::BYTES));
        let bytes = body.bytes(offset, F::BYTES)?;
        F::read_le(bytes).ok_or_else(|| body.corruption(offset, "key cut short"))
    }

    #[inline(always)]
    fn entry_of(&self, target: F) -> usize {
        self.directory + prefix(target, self.depth) * ENTRY
    }

    /// Fetches the directory's entry ahead.
    #[inline(always)]
    pub(super) fn prefetch_directory(&self, body: &Body<'_>, target: F) {
        body.prefetch(self.entry_of(target));
    }

    /// Fetches the first keys of a cell ahead.
    #[inline(always)]
    pub(super) fn prefetch_keys(&self, body: &Body<'_>, cell: Cell) {
        body.prefetch(self.keys.saturating_add(cell.first.saturating_mul(F::BYTES)));
    }

    /// Where the directory says that `target` is.
    #[inline(always)]
    pub(super) fn cell(&self, body: &Body<'_>, target: F) -> Result<Cell> {
        let offset = self.entry_of(target);
        let pair = body.bytes(offset, 2 * ENTRY)?;
        let pair = pair.first_chunk().map_or(0, |pair| u64::from_le_bytes(*pair));
        let (first, last) = ((pair & 0xffff_ffff) as usize, (pair >> 32) as usize);
        if first > last || last > self.blocks {
            return Err(body.corruption(offset, "the directory leads to blocks that are not there"));
        }
        Ok(Cell { first, last })
    }

    /// The first block whose key is at least `target`, whose cell is given.
    #[inline(always)]
    pub(super) fn first_at_least(&self, body: &Body<'_>, cell: Cell, target: F) -> Result<usize> {
        match self.few(body, cell, |key| key < target)? {
            Some(less) => Ok(cell.first + less),
            None => self.bisect(body, cell, target),
        }
    }

    /// The blocks that hold what there is from `low`, whose cell is given, to `high`.
    #[inline(always)]
    pub(super) fn blocks(
        &self,
        body: &Body<'_>,
        cell: Cell,
        low: F,
        high: F,
    ) -> Result<Range<usize>> {
        let mut before_end = 0;
        let few = self.few(body, cell, |key| {
            before_end += usize::from(key < high);
            key < low
        })?;
        if let Some(less) = few
            && before_end < FEW
        {
            return Ok(cell.first + less..(cell.first + before_end + 1).min(self.blocks));
        }
        let first = self.bisect(body, cell, low)?;
        let mut end = first;
        while end < self.blocks {
            end += 1;
            if self.key(body, end - 1)? >= high {
                break;
            }
        }
        Ok(first..end)
    }

    /// How many of the cell's keys are less, as `is_less` says of each; `None` if it has more than
    /// few. Maybe some keys behind the cell are asked of, which are not less.
    ///
    /// All few are compared, however many count: a processor would often guess wrong where to stop.
    #[inline(always)]
    fn few(
        &self,
        body: &Body<'_>,
        cell: Cell,
        mut is_less: impl FnMut(F) -> bool,
    ) -> Result<Option<usize>> {
        let Cell { first, last } = cell;
        if last - first > FEW || first + FEW > self.blocks {
            return Ok(None);
        }
        let offset = self.keys.saturating_add(first.saturating_mul(F::BYTES));
        let keys = body.bytes(offset, FEW * F::BYTES)?.chunks_exact(F::BYTES);
        let less = keys.map(|key| usize::from(F::read_le(key).is_some_and(&mut is_less)));
        Ok(Some(less.sum()))
    }

    /// As [`first_at_least`](Self::first_at_least), among many keys or near the last.
    fn bisect(&self, body: &Body<'_>, cell: Cell, target: F) -> Result<usize> {
        let Cell { mut first, mut last } = cell;
        while first < last {
            let middle = first + (last - first) / 2;
            if self.key(body, middle)? < target {
                first = middle + 1;
            } else {
                last = middle;
            }
        }
        Ok(first)
    }

    /// Whether the directory is that of the keys.
    pub(super) fn check(&self, body: &Body<'_>) -> Result<()> {
        let mut keys = Vec::with_capacity(self.blocks);
        for block in 0..self.blocks {
            keys.push(self.key(body, block)?);
        }
        let mut expected = Vec::with_capacity(self.entries() * ENTRY);
        put_directory(self.blocks, keys.into_iter(), &mut expected)?;
        if body.bytes(self.directory, expected.len())? != expected {
            return Err(body.corruption(self.directory, "the directory is not that of the keys"));
        }
        Ok(())
    }
}
