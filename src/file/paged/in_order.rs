//! The memory of a reader in order: chunks of a file, in buffers that are used again and again.
//!
//! Fresh memory for each page would take longer than the reading: the system clears it, and handles
//! a page fault for it.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, OnceLock};

use super::PAGE;
use super::open_file::CHUNK;
use crate::base::error::Result;
use crate::base::parallel::lock;

/// Most pages that a reader in order keeps; it may keep one chunk more.
const MOST_PAGES: usize = 8 * CHUNK;

/// Reads and checks pages.
pub(super) type Read<'a> = &'a dyn Fn(Range<usize>, &mut [u8]) -> Result<()>;

/// Chunks of a file's body that were read and checked. They stay where they are until they
/// are [forgotten](Self::forget).
#[derive(Debug)]
pub(super) struct InOrder {
    /// The body's length.
    len: usize,
    first: OnceLock<Box<Chunk>>,
    /// How many pages the chunks have.
    pages: AtomicUsize,
    /// How many pages the next chunk has.
    ahead: AtomicUsize,
    /// Buffers of chunks that were forgotten.
    free: Mutex<Vec<Vec<u8>>>,
}

/// Some pages, and the chunk that was read after them.
#[derive(Debug)]
struct Chunk {
    /// The offset of the first byte.
    start: usize,
    bytes: Vec<u8>,
    next: OnceLock<Box<Chunk>>,
}

impl InOrder {
    /// Makes the memory for a body of this length.
    pub(super) fn new(len: usize) -> Self {
        let (first, free, pages) = Default::default();
        Self { len, first, pages, ahead: AtomicUsize::new(1), free }
    }

    /// Returns these bytes if they are all in one chunk.
    pub(super) fn get(&self, offset: usize, len: usize) -> Option<&[u8]> {
        let mut chunk = self.first.get();
        while let Some(Chunk { start, bytes, next }) = chunk.map(|chunk| &**chunk) {
            let bytes = offset.checked_sub(*start).and_then(|at| bytes.get(at..)?.get(..len));
            if bytes.is_some() {
                return bytes;
            }
            chunk = next.get();
        }
        None
    }

    /// Reads a chunk that has these bytes of the body. Each chunk has more pages than the one
    /// before, up to [`CHUNK`], so a reader in order waits less often. One that reads little does
    /// not read much more than it needs.
    pub(super) fn read(&self, offset: usize, len: usize, read: Read<'_>) -> Result<()> {
        let needed = offset / PAGE..offset.saturating_add(len).div_ceil(PAGE);
        let ahead = self.ahead.load(Relaxed);
        self.ahead.store((ahead * 2).min(CHUNK), Relaxed);
        // Later reads often have the same length.
        let ahead = ahead / needed.len().max(1) * needed.len();
        let end = needed.start.saturating_add(ahead).min(self.len.div_ceil(PAGE)).max(needed.end);
        let mut bytes = lock(&self.free).pop().unwrap_or_default();
        let mut pages = needed.start..end;
        let mut result = read(pages.clone(), self.room(&pages, &mut bytes));
        if result.is_err() && pages != needed {
            // An error in a page that nobody needs does not matter.
            pages = needed;
            result = read(pages.clone(), self.room(&pages, &mut bytes));
        }
        if let Err(error) = result {
            // The error is about the first page that has one.
            let mut page = |page| read(page..page + 1, self.room(&(page..page + 1), &mut bytes));
            return pages.into_iter().try_for_each(&mut page).and(Err(error));
        }
        self.pages.fetch_add(pages.len(), Relaxed);
        let mut chunk = Box::new(Chunk { start: pages.start * PAGE, bytes, next: OnceLock::new() });
        let mut place = &self.first;
        while let Err(refused) = place.set(chunk) {
            chunk = refused;
            let Some(last) = place.get() else { return Ok(()) };
            place = &last.next;
        }
        Ok(())
    }

    /// Gives the buffer the length of these pages.
    fn room<'a>(&self, pages: &Range<usize>, buffer: &'a mut Vec<u8>) -> &'a mut [u8] {
        let end = pages.end.saturating_mul(PAGE).min(self.len);
        buffer.resize(end.saturating_sub(pages.start.saturating_mul(PAGE)), 0);
        buffer
    }

    /// Returns whether there are so many pages that they should be forgotten.
    pub(super) fn is_full(&self) -> bool {
        self.pages.load(Relaxed) > MOST_PAGES
    }

    /// Forgets all chunks but the last, in which the reader is, and keeps their memory for the next
    /// ones.
    pub(super) fn forget(&mut self) {
        let mut first = self.first.take();
        while let Some(mut chunk) = first {
            let Some(next) = chunk.next.take() else {
                *self.pages.get_mut() = chunk.bytes.len().div_ceil(PAGE);
                self.first = OnceLock::from(chunk);
                break;
            };
            let free = &mut *lock(&self.free);
            // A longer one was for a single read.
            if chunk.bytes.capacity() <= CHUNK * PAGE && free.len() * CHUNK < MOST_PAGES {
                free.push(chunk.bytes);
            }
            first = Some(next);
        }
    }
}

/// Drops one chunk after another: nested calls could be too many for the stack.
impl Drop for InOrder {
    fn drop(&mut self) {
        let mut first = self.first.take();
        while let Some(mut chunk) = first {
            first = chunk.next.take();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;
    use crate::base::error::Error;

    /// Bytes of the body, whose last page is not full.
    const LEN: usize = 1500 * PAGE + 100;

    fn byte(offset: usize) -> u8 {
        u8::try_from((offset / PAGE * 7 + offset % 241) % 251).unwrap()
    }

    /// Reads a file of which some pages are damaged. Notes what was read.
    struct File {
        damaged: &'static [usize],
        reads: RefCell<Vec<Range<usize>>>,
    }

    impl InOrder {
        /// Returns the bytes of all buffers.
        fn capacity(&self) -> usize {
            let free: usize = lock(&self.free).iter().map(Vec::capacity).sum();
            let mut chunk = self.first.get();
            let chunks = std::iter::from_fn(|| {
                let Chunk { bytes, next, .. } = &**chunk?;
                chunk = next.get();
                Some(bytes.capacity())
            });
            free + chunks.sum::<usize>()
        }
    }

    impl File {
        fn new(damaged: &'static [usize]) -> Self {
            Self { damaged, reads: RefCell::default() }
        }

        fn bytes<'a>(&self, memory: &'a InOrder, offset: usize, len: usize) -> Result<&'a [u8]> {
            if memory.get(offset, len).is_none() {
                memory.read(offset, len, &|pages, to| {
                    self.reads.borrow_mut().push(pages.clone());
                    if let Some(page) = self.damaged.iter().find(|page| pages.contains(page)) {
                        return Err(Error::corruption("damaged").at_offset(*page as u64));
                    }
                    assert_eq!(to.len(), (pages.end * PAGE).min(LEN) - pages.start * PAGE);
                    to.iter_mut().zip(pages.start * PAGE..).for_each(|(to, at)| *to = byte(at));
                    Ok(())
                })?;
            }
            Ok(memory.get(offset, len).unwrap())
        }
    }

    #[test]
    fn all_bytes_are_read_about_once_into_few_buffers() {
        for len in [100, PAGE, PAGE + 1, 16 * PAGE, 23 * PAGE] {
            let (file, mut memory) = (File::new(&[]), InOrder::new(LEN));
            for offset in (0..LEN).step_by(len) {
                if memory.is_full() {
                    memory.forget();
                }
                let bytes = file.bytes(&memory, offset, len.min(LEN - offset)).unwrap();
                assert!(bytes.iter().zip(offset..).all(|(&found, at)| found == byte(at)));
            }
            let reads = file.reads.into_inner();
            let pages: usize = reads.iter().map(Range::len).sum();
            assert!(pages < 1501 * 110 / 100, "{len}: {pages} pages");
            assert!(reads.len() < 1501 / CHUNK * 3 / 2 + 10, "{len}: {} reads", reads.len());
            let kept = memory.capacity();
            assert!(kept <= (MOST_PAGES + 2 * CHUNK) * PAGE, "{len}: {kept} bytes");
        }
    }

    #[test]
    fn memory_of_a_long_read_is_not_kept_nor_that_of_many_short_ones() {
        let (file, mut memory) = (File::new(&[]), InOrder::new(LEN));
        file.bytes(&memory, 0, 1000 * PAGE).unwrap();
        for round in 0..3 {
            for page in 0..1500 {
                memory.ahead.store(1, Relaxed);
                file.bytes(&memory, page * PAGE, PAGE).unwrap();
            }
            memory.forget();
            assert!(memory.capacity() <= (MOST_PAGES + CHUNK) * PAGE, "{round}");
        }
    }

    #[test]
    fn any_number_of_chunks_is_dropped() {
        let mut first = OnceLock::new();
        for _ in 0..1 << 20 {
            let next = std::mem::take(&mut first);
            first = OnceLock::from(Box::new(Chunk { start: 0, bytes: Vec::new(), next }));
        }
        let mut memory = InOrder::new(LEN);
        memory.first = first;
        drop(memory);
    }

    #[test]
    fn references_stay_valid_while_other_places_are_read() {
        let (file, memory) = (File::new(&[]), InOrder::new(LEN));
        let read = |offset| file.bytes(&memory, offset, 10).unwrap();
        let places: Vec<usize> = (0..LEN - 10).step_by(77_777).collect();
        let all: Vec<&[u8]> = places.iter().map(|&offset| read(offset)).collect();
        for (&offset, bytes) in places.iter().zip(all) {
            assert!(bytes.iter().zip(offset..).all(|(&found, at)| found == byte(at)));
        }
    }

    #[test]
    fn a_damaged_page_is_an_error_for_those_who_need_it_only() {
        let (file, mut memory) = (File::new(&[40, 41, 300]), InOrder::new(LEN));
        for page in 0..1500 {
            if memory.is_full() {
                memory.forget();
            }
            let result = file.bytes(&memory, page * PAGE, PAGE);
            let is_damaged = file.damaged.contains(&page);
            assert_eq!(
                result.map_err(|error| error.offset()).err(),
                is_damaged.then_some(Some(page as u64))
            );
        }
        let error = file.bytes(&memory, 38 * PAGE, 5 * PAGE).unwrap_err();
        assert_eq!(error.offset(), Some(40));
        assert!(file.bytes(&memory, 38 * PAGE, 2 * PAGE).is_ok());
    }
}
