//! Counts memory: every allocation of this program goes through an allocator that adds up sizes.

#![expect(unsafe_code, reason = "an allocator is unsafe by its trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

#[global_allocator]
static COUNTING: Counting = Counting;

static LIVE: AtomicUsize = AtomicUsize::new(0);

/// Returns the bytes that are allocated now, as requested: without what the allocator adds.
pub fn live() -> usize {
    LIVE.load(Relaxed)
}

struct Counting;

// SAFETY: every call is passed to the system's allocator unchanged; counting allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: the caller's promises are those that the system's allocator requires.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        LIVE.fetch_add(layout.size(), Relaxed);
        // SAFETY: as above.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, old: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        LIVE.fetch_add(size, Relaxed);
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; `old` came from the system's allocator.
        unsafe { System.realloc(old, layout, size) }
    }

    unsafe fn dealloc(&self, old: *mut u8, layout: Layout) {
        LIVE.fetch_sub(layout.size(), Relaxed);
        // SAFETY: as above; `old` came from the system's allocator.
        unsafe { System.dealloc(old, layout) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allocated_bytes_are_counted_until_they_are_freed() {
        const SIZE: usize = 1 << 28;
        let before = live();
        let mut bytes: Vec<u8> = Vec::with_capacity(SIZE);
        assert!(live() >= before + SIZE);
        bytes.reserve_exact(2 * SIZE);
        assert!(live() >= before + 2 * SIZE && live() < before + 3 * SIZE);
        drop(bytes);
        assert!(live() < before + SIZE);
    }
}
