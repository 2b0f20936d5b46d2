//! Noticing readers in order, so that the next pages are on their way before they are needed.
//!
//! The system reads nothing ahead of files of pages: it cannot tell a reader in order from queries that
//! meet one, and reads far more.

#![deny(clippy::indexing_slicing, clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::open_file::CHUNK;

/// How many reads in a row, each soon after the end of the one before, make a reader in order. A query
/// may read two adjacent pages.
const IN_A_ROW: usize = 4;

/// A read that begins at most as many pages after the end of the one before follows it. Those between
/// may be in memory.
const NEAR: usize = 8;

/// What was read last of a file. Of several threads that read at the same time, none may be noticed.
#[derive(Debug, Default)]
pub(super) struct ReadAhead {
    /// The end of the last read.
    end: AtomicUsize,
    /// How many reads have followed each other.
    in_a_row: AtomicUsize,
    /// The end of the pages that were asked for.
    asked: AtomicUsize,
}

impl ReadAhead {
    /// Notes that these pages are being read. Returns the pages to ask for now, at most [`CHUNK`] and
    /// possibly after the end of the file.
    pub(super) fn after(&self, pages: &Range<usize>) -> Range<usize> {
        let before = self.end.swap(pages.end, Relaxed);
        if pages.start.wrapping_sub(before) > NEAR {
            self.in_a_row.store(1, Relaxed);
            return 0..0;
        }
        if self.in_a_row.fetch_add(1, Relaxed) < IN_A_ROW {
            self.asked.store(pages.end, Relaxed);
            return 0..0;
        }
        let asked = self.asked.load(Relaxed).max(pages.end);
        if asked > pages.end.saturating_add(CHUNK / 2) {
            return 0..0;
        }
        let end = pages.end.saturating_add(CHUNK);
        self.asked.store(end, Relaxed);
        asked..end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reader_in_order_has_all_its_pages_asked_for_once_and_in_advance() {
        for step in [1, 2, 5] {
            let (ahead, mut asked) = (ReadAhead::default(), Vec::new());
            for first in (1000..2000).step_by(step) {
                let more = ahead.after(&(first..first + step));
                assert!(more.len() <= CHUNK);
                asked.extend(more);
                // Not by the first reads.
                if first > 1000 + 5 * step {
                    assert!(asked.contains(&(first + step)), "{first} {step}");
                }
            }
            assert!(asked.is_sorted_by(|a, b| a < b));
            assert!(asked.last().unwrap() - 2000 <= CHUNK);
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
    fn queries_ask_for_nothing_ahead() {
        let ahead = ReadAhead::default();
        let mut random = fastrand::Rng::with_seed(1);
        for _ in 0..10_000 {
            let page = random.usize(0..1 << 20);
            assert_eq!(ahead.after(&(page..page + 1)), 0..0);
            assert_eq!(ahead.after(&(page + 1..page + 2)), 0..0);
        }
    }
}
