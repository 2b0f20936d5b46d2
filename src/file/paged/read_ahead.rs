//! Recognises reads in order, so that the next pages are on their way before they are needed.
//!
//! The system's own read-ahead is off for paged files: where queries meet a reader in order, it
//! reads megabytes that nobody needs soon.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::open_file::CHUNK;

/// After so many reads that follow each other, the next pages are prefetched. A query, too, may
/// read two adjacent pages.
const IN_A_ROW: usize = 4;

/// A read follows another if it begins at most this many pages after its end. The pages between
/// them may be in memory.
const NEAR: usize = 8;

/// What was read last of a file. If several threads read it in order at the same time, none of them
/// may be recognised.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    /// The end of the last read.
    end: AtomicUsize,
    /// How many reads have followed each other.
    in_a_row: AtomicUsize,
    /// The end of the pages that were prefetched.
    prefetched: AtomicUsize,
}

impl ReadAhead {
    /// Notes that these pages are being read. Returns the pages to prefetch now, at most [`CHUNK`].
    /// They may be after the end of the file.
    pub(super) fn after(&self, pages: &Range<usize>) -> Range<usize> {
        let before = self.end.swap(pages.end, Relaxed);
        if pages.start.wrapping_sub(before) > NEAR {
            self.in_a_row.store(1, Relaxed);
            return 0..0;
        }
        if self.in_a_row.fetch_add(1, Relaxed) < IN_A_ROW {
            self.prefetched.store(pages.end, Relaxed);
            return 0..0;
        }
        let prefetched = self.prefetched.load(Relaxed).max(pages.end);
        if prefetched > pages.end.saturating_add(CHUNK / 2) {
            return 0..0;
        }
        let end = pages.end.saturating_add(CHUNK);
        self.prefetched.store(end, Relaxed);
        prefetched..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_read_in_order_are_prefetched_once_and_in_advance() {
        for step in [1, 2, 5] {
            let (ahead, mut prefetched) = (ReadAhead::default(), Vec::new());
            for first in (1000..2000).step_by(step) {
                let more = ahead.after(&(first..first + step));
                assert!(more.len() <= CHUNK);
                prefetched.extend(more);
                // Not by the first reads.
                if first > 1000 + 5 * step {
                    assert!(prefetched.contains(&(first + step)), "{first} {step}");
                }
            }
            assert!(prefetched.is_sorted_by(|a, b| a < b));
            assert!(prefetched.last().unwrap() - 2000 <= CHUNK);
        }
    }

    #[test]
    fn pages_in_memory_are_passed_over() {
        let ahead = ReadAhead::default();
        let read = |page: usize| ahead.after(&(page..page + 1)).len();
        assert_eq!([10, 11, 14, 15, 16].map(read), [0, 0, 0, 0, CHUNK]);
        assert_eq!([25, 33, 41, 49].map(read), [0, 0, 0, 33]);
    }

    #[test]
    fn queries_prefetch_nothing() {
        let ahead = ReadAhead::default();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let page = random.usize(0..1 << 20);
            assert_eq!(ahead.after(&(page..page + 1)), 0..0);
            assert_eq!(ahead.after(&(page + 1..page + 2)), 0..0);
        }
    }
}
