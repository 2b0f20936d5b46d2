//! Memory for the pages of files: the only `unsafe` code of the storage.

#![expect(unsafe_code, reason = "threads share pages without locks; the rule below makes it sound")]
#![expect(clippy::disallowed_types, reason = "the only module that maps memory")]

use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut, Range};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use memmap2::{MmapMut, MmapOptions, MmapRaw};

use super::page::PAGE;
use crate::base::cpu;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;

/// Memory up to this length is on the heap. A map of its own takes three system calls and a page
/// fault, and while one thread makes or drops one, other threads of the process wait for it.
const HEAP: usize = 64 << 10;

/// Where memory is.
#[derive(Debug)]
enum Memory {
    /// Memory of its own.
    Map(MmapRaw),
    /// The atomic type allows writes through a shared reference, as a map does.
    Heap(Box<[MaybeUninit<AtomicU64>]>),
    /// Not written to.
    Complete(Box<[u8]>),
}

impl Memory {
    /// Returns the address of the first byte.
    #[inline(always)]
    fn start(&self) -> *mut u8 {
        match self {
            Self::Map(map) => map.as_mut_ptr(),
            Self::Heap(bytes) => bytes.as_ptr().cast_mut().cast(),
            Self::Complete(bytes) => bytes.as_ptr().cast_mut(),
        }
    }
}

/// Memory for the pages of a file. Each page becomes *ready* once, and its bytes never change after
/// that. Only the bytes of ready pages can be accessed, so what happens to a file on disk does not
/// affect pages that are ready.
#[derive(Debug)]
pub(crate) struct PageMemory {
    /// No reference to its bytes exists except to bytes of ready pages.
    memory: Memory,
    len: usize,
    /// Whether all pages are ready. Then that of each need not be looked up.
    is_complete: AtomicBool,
    /// Whether all pages that are ever needed are ready.
    is_warm: AtomicBool,
    /// One bit per page, and some that mean nothing after the last page.
    ready: Box<[AtomicU64]>,
    /// Pages that were inserted. Locked while one is copied to the memory.
    inserted: Mutex<usize>,
}

impl PageMemory {
    /// Reserves private memory for `len` bytes, in which no page is ready. A page takes no memory
    /// before it is, unless the memory is on the heap or `huge_pages` are wanted and the system has
    /// them. These are for files that are read completely, and at hundreds of places by a query
    /// (bench `similar`).
    pub(crate) fn private(len: usize, huge_pages: bool) -> Result<Self> {
        if len <= HEAP {
            let memory = Box::new_uninit_slice(len.div_ceil(size_of::<AtomicU64>()));
            return Ok(Self::new(Memory::Heap(memory), len));
        }
        let failed = |e| Error::new(ErrorKind::Io, format!("reserve {len} bytes of memory: {e}"));
        let memory = MmapOptions::new().len(len).no_reserve_swap().map_anon();
        let memory = memory.map_err(failed)?;
        #[cfg(target_os = "linux")]
        {
            use memmap2::Advice::{HugePage, NoHugePage};
            // A hint. Huge pages are zeroed for single pages of the file, while queries wait, and
            // for most files they made queries no faster (docs/benchmarks.md).
            let _ = memory.advise(if huge_pages { HugePage } else { NoHugePage });
        }
        #[cfg(not(target_os = "linux"))]
        let _ = huge_pages;
        Ok(Self::new(Memory::Map(memory.into()), len))
    }

    fn new(memory: Memory, len: usize) -> Self {
        let words = len.div_ceil(PAGE).div_ceil(64);
        let ready = (0..words).map(|_| AtomicU64::new(0)).collect();
        let (is_warm, inserted) = (AtomicBool::new(false), Mutex::new(0));
        let is_complete = AtomicBool::new(false);
        Self { memory, len, is_complete, is_warm, ready, inserted }
    }

    /// Uses memory whose pages are all ready.
    pub(crate) fn complete(pages: Pages, len: usize) -> Self {
        let len = len.min(pages.len());
        let bytes = match pages {
            Pages::Map(map) => Memory::Map(map.into()),
            Pages::Heap(bytes) => Memory::Complete(bytes),
        };
        let memory = Self {
            is_complete: AtomicBool::new(true),
            is_warm: AtomicBool::new(true),
            ..Self::new(bytes, len)
        };
        memory.ready.iter().for_each(|word| word.store(u64::MAX, Ordering::Relaxed));
        memory
    }

    /// Returns whether all pages that are ever needed are ready.
    #[inline(always)]
    pub(crate) fn is_warm(&self) -> bool {
        self.is_warm.load(Ordering::Relaxed)
    }

    /// Notes that all pages that are ever needed are ready. This decides only whether they are
    /// looked for before they are used, so nothing is wrong if one is not.
    pub(crate) fn set_warm(&self) {
        if self.bytes().are_ready(0..self.len.div_ceil(PAGE)) {
            self.is_complete.store(true, Ordering::Release);
        }
        self.is_warm.store(true, Ordering::Relaxed);
    }

    #[inline(always)]
    fn is_complete(&self) -> bool {
        self.is_complete.load(Ordering::Acquire)
    }

    /// Returns the bytes of memory used in addition to the pages.
    pub(crate) fn overhead(&self) -> usize {
        self.ready.len() * 8
    }

    /// Returns the number of pages that were [inserted](Self::insert).
    pub(crate) fn count_inserted(&self) -> usize {
        *lock(&self.inserted)
    }

    /// Returns access to the bytes of pages that are ready.
    #[inline(always)]
    pub(crate) fn bytes(&self) -> PageBytes<'_> {
        PageBytes { start: self.memory.start().cast_const(), memory: self }
    }

    /// Has the system allocate the memory of these pages now, so that inserting them takes less
    /// time. They do not become ready. This is a hint: Linux knows it since version 5.14, and other
    /// systems do not.
    pub(crate) fn populate(&self, pages: Range<usize>) {
        #[cfg(target_os = "linux")]
        if let Memory::Map(map) = &self.memory {
            let start = pages.start.saturating_mul(PAGE);
            let len = self.len.saturating_sub(start).min(pages.len().saturating_mul(PAGE));
            let _ = map.advise_range(memmap2::Advice::PopulateWrite, start, len);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = pages;
    }

    /// Copies one page to private memory and makes it ready, unless it is ready already. Returns
    /// whether it was not. Does nothing if `bytes` does not have the page's length.
    pub(crate) fn insert(&self, page: usize, bytes: &[u8]) -> bool {
        let start = page.saturating_mul(PAGE);
        let len = self.len.saturating_sub(start).min(PAGE);
        let mut inserted = lock(&self.inserted);
        let is_needed = !self.is_complete() && !self.bytes().is_ready(page);
        if !is_needed || len == 0 || bytes.len() != len {
            return false;
        }
        // SAFETY: the `len` bytes from `start` on are in `memory`, which has at least `self.len`
        // bytes and is writable because it is not complete. `bytes` is
        // elsewhere: references to bytes of `memory` exist only for pages that are ready. This page
        // is not, and no other thread makes it ready or writes to it, because this one holds
        // `inserted`. So nobody reads or writes these bytes at the same time. Tested by
        // `threads_see_complete_pages_only` in tests.rs; measured by the bench `query`.
        unsafe {
            let to = self.memory.start().add(start);
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), to, len);
        }
        self.set_ready(page);
        *inserted += 1;
        if *inserted == self.len.div_ceil(PAGE) {
            self.set_warm();
        }
        true
    }

    fn set_ready(&self, page: usize) {
        if let Some(word) = self.ready.get(page / 64) {
            // Whoever sees the bit also sees the page's bytes.
            word.fetch_or(1 << (page % 64), Ordering::Release);
        }
    }
}

/// The bytes of a [`PageMemory`]. Only the bytes of ready pages can be read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PageBytes<'a> {
    /// Where the memory begins.
    start: *const u8,
    memory: &'a PageMemory,
}

impl<'a> PageBytes<'a> {
    #[inline(always)]
    pub(crate) fn is_ready(&self, page: usize) -> bool {
        let word = self.memory.ready.get(page / 64);
        word.is_some_and(|word| word.load(Ordering::Acquire) >> (page % 64) & 1 == 1)
    }

    /// Returns whether all of these pages are ready.
    #[inline(always)]
    pub(crate) fn are_ready(&self, pages: Range<usize>) -> bool {
        let Some(words) = self.memory.ready.get(pages.start / 64..pages.end.div_ceil(64)) else {
            return false;
        };
        let last = words.len().saturating_sub(1);
        words.iter().enumerate().all(|(number, word)| {
            let mut missing = !word.load(Ordering::Acquire);
            if number == 0 {
                missing &= u64::MAX << (pages.start % 64);
            }
            if number == last {
                missing &= u64::MAX >> (pages.end.wrapping_neg() % 64);
            }
            missing == 0
        })
    }

    /// Returns `len` bytes if they are within one page that is ready.
    #[inline(always)]
    pub(crate) fn within_page(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        let is_ready = len <= PAGE - offset % PAGE && self.is_ready(offset / PAGE);
        if is_ready && self.has(offset, len) { Some(self.slice(offset, len)) } else { None }
    }

    /// Returns the bytes from `offset` to the end of its page, at least `len`, if that page is
    /// ready.
    #[inline(always)]
    pub(crate) fn until_page_end(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        let rest = (PAGE - offset % PAGE).min(self.memory.len.wrapping_sub(offset));
        let is_ready = len <= rest && self.is_ready(offset / PAGE);
        if is_ready && self.has(offset, rest) { Some(self.slice(offset, rest)) } else { None }
    }

    /// Returns these bytes if all of their pages are ready.
    #[inline(always)]
    pub(crate) fn get(&self, offset: usize, len: usize) -> Option<&'a [u8]> {
        if !self.has(offset, len) {
            return None;
        }
        let pages = offset / PAGE..offset.wrapping_add(len).div_ceil(PAGE);
        let are_ready = self.memory.is_complete() || self.are_ready(pages);
        if are_ready { Some(self.slice(offset, len)) } else { None }
    }

    /// Returns all bytes from `offset` on if all pages of the memory are known to be ready.
    #[inline(always)]
    pub(crate) fn complete_from(&self, offset: usize) -> Option<&'a [u8]> {
        let len = self.memory.len.wrapping_sub(offset);
        let has_all = self.memory.is_complete() && self.has(offset, len);
        if has_all { Some(self.slice(offset, len)) } else { None }
    }

    /// Returns whether the memory has these bytes.
    #[inline(always)]
    fn has(&self, offset: usize, len: usize) -> bool {
        let end = offset.wrapping_add(len);
        offset <= end && end <= self.memory.len
    }

    /// Returns bytes that are in memory and whose pages are all ready.
    #[inline(always)]
    fn slice(&self, offset: usize, len: usize) -> &'a [u8] {
        debug_assert!(self.has(offset, len));
        // SAFETY: all callers are above, and have checked that the bytes are within the `len` bytes
        // of the memory, which exists as long as `'a`, and that their pages are ready. Nobody
        // writes to ready pages (see `insert`), and the write that filled a page
        // happened before the load that found it ready, since that load acquires what `set_ready`
        // released, or what `set_warm` released after it had found all of them ready. Tested by
        // `threads_see_complete_pages_only` in tests.rs; measured by the bench `query`.
        unsafe { std::slice::from_raw_parts(self.start.add(offset), len) }
    }

    /// Prefetches the cache line of a byte without waiting for it.
    #[inline(always)]
    pub(crate) fn prefetch(&self, offset: usize) {
        cpu::prefetch_address(self.start.wrapping_add(offset));
    }
}

/// Zeroed memory. If it is large, it is outside of the heap, in huge pages if the system has them,
/// and dropping it returns it to the system at once.
#[derive(Debug)]
pub(crate) enum Pages {
    Map(MmapMut),
    Heap(Box<[u8]>),
}

impl Pages {
    /// Allocates `len` bytes. If they are many, they take no memory until they are first used.
    pub(crate) fn new(len: usize) -> Result<Self> {
        if len <= HEAP {
            return Ok(Self::Heap(vec![0; len].into()));
        }
        let failed = |e| Error::new(ErrorKind::Io, format!("allocate {len} bytes of memory: {e}"));
        let memory = MmapMut::map_anon(len).map_err(failed)?;
        #[cfg(target_os = "linux")]
        {
            // This is a hint: some systems have no huge pages.
            let _ = memory.advise(memmap2::Advice::HugePage);
        }
        Ok(Self::Map(memory))
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match self {
            Self::Map(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Map(map) => map,
            Self::Heap(bytes) => bytes,
        }
    }
}
