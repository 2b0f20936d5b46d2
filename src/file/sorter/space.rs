//! How a sorter uses its memory.

use super::chunks::ChunkPool;
use super::record::Record;
use super::runs::BATCH;

/// Most bits that choose a bucket. More bits cost cache misses when records arrive, fewer when they
/// are sorted.
const MAX_BITS: u32 = 10;
/// Bytes of memory per bucket. With less, too much would be unused in chunks that are not full.
const BUCKET_BYTES: usize = 32 << 10;
/// Bytes of a chunk, of which a bucket has at least four if all are equally full.
const CHUNK_BYTES: usize = 8 << 10;
const MIN_CHUNK_BYTES: usize = 512;
/// Bytes of scratch space for sorting, half of which is a copy: about the size of the second-level
/// cache. A larger bucket is sorted at once only if the memory is at least
/// [`MEMORY_PER_SCRATCH`] times as large.
const SCRATCH_BYTES: usize = 2 << 20;
const MEMORY_PER_SCRATCH: usize = 32;

/// How the allowed memory is used.
#[derive(Debug, Clone, Copy)]
pub(super) struct Space {
    pub memory: usize,
    pub threads: usize,
    /// Bytes of scratch space for sorting, of all threads.
    pub scratch: usize,
    /// Bits that choose a bucket.
    pub bits: u32,
}

impl Space {
    pub(super) fn new(memory: usize, threads: usize) -> Self {
        let bits = (memory / BUCKET_BYTES).checked_ilog2().unwrap_or(0).clamp(1, MAX_BITS);
        let scratch = SCRATCH_BYTES.max(memory / MEMORY_PER_SCRATCH).min(memory / 8);
        Self { memory, threads, scratch, bits }
    }

    /// Returns whether this many records on disk can be sorted in memory.
    pub(super) fn holds<R>(self, records: usize) -> bool {
        records <= self.memory.max(BATCH) / 2 / size_of::<R>()
    }

    /// Returns a pool for records.
    pub(super) fn pool(self) -> ChunkPool {
        let chunk = (self.memory >> self.bits >> 2).clamp(MIN_CHUNK_BYTES, CHUNK_BYTES);
        let least = chunk << self.bits;
        ChunkPool::new(chunk, (self.memory - self.scratch).max(least))
    }
}

/// Returns how many copies of each of this many records are on disk in the end, if no space is
/// given back and the records are spread evenly over the buckets.
pub(crate) fn copies<R: Record>(records: u64, memory: usize) -> u64 {
    let space = Space::new(memory, 1);
    let (mut copies, mut in_bucket) = (1, records >> space.bits);
    while !space.holds::<R>(usize::try_from(in_bucket).unwrap_or(usize::MAX)) {
        copies += 1;
        in_bucket >>= space.bits;
    }
    copies
}
