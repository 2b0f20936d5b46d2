//! Records in memory, in buckets by their leading bits.
//!
//! A bucket is a list of chunks. So no bucket is ever moved to grow, and no records have to be
//! counted first. Sorting needs the memory of the records, and scratch space for one bucket.

use super::radix;
use super::record::Record;

/// Records in a list of chunks, either those of one bucket in any order, or sorted.
pub(super) type Chunks<R> = Vec<Vec<R>>;

/// Bytes of a chunk. Longer chunks leave more memory unused, shorter ones need more allocations.
const CHUNK_BYTES: usize = 8192;
/// Records of a bucket's first chunk. Each following chunk has four times as many, up to
/// [`CHUNK_BYTES`].
const FIRST_CHUNK: usize = 16;
/// Bytes of scratch space for sorting, half of which is a copy: about the size of the second-level
/// cache.
pub(super) const SCRATCH_BYTES: usize = 2 << 20;
/// Bits by which a bucket with more records is split.
const SPLIT_BITS: u32 = 8;

/// Records in buckets by some of their bits. All bits before those are equal.
#[derive(Debug)]
pub(super) struct Buckets<R> {
    from: u32,
    bits: u32,
    /// For each bucket, the chunk that is being filled. Separate from the full chunks, because
    /// `push` needs only these in the cache.
    open: Vec<Vec<R>>,
    full: Vec<Chunks<R>>,
    /// Number of records that the chunks have room for.
    room: usize,
}

impl<R: Record> Buckets<R> {
    /// Makes buckets by `bits` bits from bit `from` on.
    pub(super) fn new(from: u32, bits: u32) -> Self {
        let count = 1 << bits;
        let (open, full) = (0..count).map(|_| (Vec::new(), Vec::new())).unzip();
        Self { from, bits, open, full, room: 0 }
    }

    /// Adds a record, unless that needs memory for more than `limit` records. Returns whether it
    /// was added.
    #[inline]
    #[must_use]
    pub(super) fn push(&mut self, record: R, limit: usize) -> bool {
        let bucket = record.digit(self.from, self.bits);
        let open = &mut self.open[bucket];
        if open.len() < open.capacity() {
            open.push(record);
            return true;
        }
        self.begin_chunk(bucket, record, limit)
    }

    #[cold]
    fn begin_chunk(&mut self, bucket: usize, record: R, limit: usize) -> bool {
        let full = &mut self.full[bucket];
        let most = (CHUNK_BYTES / size_of::<R>()).max(FIRST_CHUNK);
        let len = (FIRST_CHUNK << (2 * full.len()).min(16)).min(most);
        if self.room + len > limit {
            return false;
        }
        self.room += len;
        let chunk = std::mem::replace(&mut self.open[bucket], Vec::with_capacity(len));
        if !chunk.is_empty() {
            full.push(chunk);
        }
        self.open[bucket].push(record);
        true
    }

    /// Returns the chunks of each bucket, in order.
    pub(super) fn into_chunks(self) -> impl Iterator<Item = Chunks<R>> {
        self.full.into_iter().zip(self.open).map(|(mut chunks, open)| {
            if !open.is_empty() {
                chunks.push(open);
            }
            chunks
        })
    }

    /// Takes all records, and leaves empty buckets.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.from, self.bits))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.room == 0
    }
}

/// Scratch space for sorting.
#[derive(Debug)]
pub(super) struct Scratch<R> {
    records: Vec<R>,
    other: Vec<R>,
    /// Most records that are sorted at once.
    leaf: usize,
}

impl<R: Record> Scratch<R> {
    /// Makes scratch space of at most `memory` bytes and at most [`SCRATCH_BYTES`].
    pub(super) fn new(memory: usize) -> Self {
        let leaf = memory.min(SCRATCH_BYTES) / 2 / size_of::<R>();
        Self { records: Vec::new(), other: Vec::new(), leaf: leaf.max(FIRST_CHUNK) }
    }

    /// Sorts a bucket, and removes duplicate records.
    pub(super) fn sort(&mut self, bucket: &mut Chunks<R>) {
        let len = bucket.iter().map(Vec::len).sum::<usize>();
        if len > self.leaf {
            *bucket = self.split(std::mem::take(bucket));
            return;
        }
        self.records.clear();
        self.records.reserve_exact(len);
        bucket.iter().for_each(|chunk| self.records.extend_from_slice(chunk));
        sort_once(&mut self.records, &mut self.other);
        let mut rest = &self.records[..];
        for chunk in bucket.iter_mut() {
            let (head, tail) = rest.split_at(chunk.len().min(rest.len()));
            chunk.clear();
            chunk.extend_from_slice(head);
            rest = tail;
        }
        bucket.retain(|chunk| !chunk.is_empty());
    }

    /// Sorts a bucket of too many records in parts. A chunk is freed once its records have moved.
    fn split(&mut self, bucket: Chunks<R>) -> Chunks<R> {
        let Some(from) = radix::common(bucket.iter().flatten().copied()) else {
            return vec![bucket[0][..1].to_vec()];
        };
        let mut parts = Buckets::new(from, SPLIT_BITS);
        for chunk in bucket {
            for record in chunk {
                let _no_limit = parts.push(record, usize::MAX);
            }
        }
        parts
            .into_chunks()
            .flat_map(|mut part| {
                self.sort(&mut part);
                part
            })
            .collect()
    }
}

/// Sorts records, and removes duplicates. `scratch` may contain anything.
pub(super) fn sort_once<R: Record>(records: &mut Vec<R>, scratch: &mut Vec<R>) {
    scratch.truncate(records.len());
    scratch.extend_from_slice(&records[scratch.len()..]);
    if radix::sort(records, scratch) {
        std::mem::swap(records, scratch);
    }
    records.dedup();
}
