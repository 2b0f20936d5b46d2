//! Records in memory, kept apart by leading bits from the moment they come.
//!
//! A bucket is a list of chunks, so that none is ever moved to grow and none has to be counted
//! first: sorting takes the memory of the records, and a scratch of one bucket.

use super::radix;
use super::record::Record;

/// Records in a list of chunks: those of one bucket in any order, or sorted.
pub(super) type Chunks<R> = Vec<Vec<R>>;

/// Bytes of a chunk. Longer ones leave more memory unused, shorter ones take more allocations.
const CHUNK_BYTES: usize = 8192;
/// Records of a bucket's first chunk; each next one has four times as many.
const FIRST_CHUNK: usize = 16;
/// Bytes in which records are sorted at once, half of them a copy: about what the second-level
/// cache holds.
pub(super) const SCRATCH_BYTES: usize = 2 << 20;
/// Bits by which a bucket is split that has more.
const SPLIT_BITS: u32 = 8;

/// Records in buckets by some of their bits; all before those are equal.
#[derive(Debug)]
pub(super) struct Buckets<R> {
    from: u32,
    bits: u32,
    /// The chunk of each bucket that is being filled. Apart from the others: these are what `push`
    /// needs in the cache.
    open: Vec<Vec<R>>,
    full: Vec<Chunks<R>>,
    /// Records that the chunks have room for.
    room: usize,
}

impl<R: Record> Buckets<R> {
    /// Buckets by `bits` bits from bit `from` on.
    pub(super) fn new(from: u32, bits: u32) -> Self {
        let count = 1 << bits;
        let (open, full) = (0..count).map(|_| (Vec::new(), Vec::new())).unzip();
        Self { from, bits, open, full, room: 0 }
    }

    /// Adds a record, unless that takes memory for more than `limit` records.
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

    /// The chunks of each bucket, in order.
    pub(super) fn into_chunks(self) -> impl Iterator<Item = Chunks<R>> {
        self.full.into_iter().zip(self.open).map(|(mut chunks, open)| {
            if !open.is_empty() {
                chunks.push(open);
            }
            chunks
        })
    }

    /// Takes what is there, and begins again.
    pub(super) fn take(&mut self) -> Self {
        std::mem::replace(self, Self::new(self.from, self.bits))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.room == 0
    }
}

/// What sorting needs beside the records.
#[derive(Debug)]
pub(super) struct Scratch<R> {
    records: Vec<R>,
    other: Vec<R>,
    /// Most records that are sorted at once.
    leaf: usize,
}

impl<R: Record> Scratch<R> {
    /// Within `memory` bytes, of which it takes at most [`SCRATCH_BYTES`].
    pub(super) fn new(memory: usize) -> Self {
        let leaf = memory.min(SCRATCH_BYTES) / 2 / size_of::<R>();
        Self { records: Vec::new(), other: Vec::new(), leaf: leaf.max(FIRST_CHUNK) }
    }

    /// Sorts a bucket, each record once.
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

    /// Sorts a bucket of too many records in parts. A chunk is freed when its records have moved.
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

/// Sorts records and keeps each once. `scratch` may hold anything.
pub(super) fn sort_once<R: Record>(records: &mut Vec<R>, scratch: &mut Vec<R>) {
    scratch.truncate(records.len());
    scratch.extend_from_slice(&records[scratch.len()..]);
    if radix::sort(records, scratch) {
        std::mem::swap(records, scratch);
    }
    records.dedup();
}
