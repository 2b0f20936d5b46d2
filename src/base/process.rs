//! Which process opened a handle, and the priority of its threads.
//!
//! After `fork()`, parent and child have the same handle, but only one may write to the folder, and
//! the child has none of the handle's threads. So a handle works only in the process that opened
//! it.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, clippy::disallowed_types, reason = "marks memory that fork() clears")
)]

#[cfg(target_os = "linux")]
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};

use crate::base::error::{Error, ErrorKind, Result};

/// The process that made this value.
#[derive(Debug)]
pub(crate) struct Process {
    /// The number of the process in `mark`, or its id if there is no mark.
    number: u64,
    /// Comparing ids takes a system call.
    #[cfg(target_os = "linux")]
    mark: Option<&'static AtomicU64>,
}

impl Process {
    /// Returns the calling process.
    pub(crate) fn current() -> Self {
        #[cfg(target_os = "linux")]
        if let Some(mark) = mark() {
            return Self { number: number(mark), mark: Some(mark) };
        }
        Self {
            number: std::process::id().into(),
            #[cfg(target_os = "linux")]
            mark: None,
        }
    }

    /// Returns whether this is the calling process.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(mark) = self.mark {
            return mark.load(Ordering::Relaxed) == self.number;
        }
        self.number == u64::from(std::process::id())
    }

    /// Returns an error unless this is the calling process.
    #[inline]
    pub(crate) fn expect_current(&self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(forked()) }
    }
}

/// Lets other threads go before the calling one, if the system is busy. This is a hint. It cannot
/// be taken back.
pub(crate) fn let_others_go_first() {
    // Measured while four to six programs wanted to run on two processors: with 5, the slowest
    // percent of queries took a half to three quarters as long while files were read, and reading
    // took almost twice as long. 10 was no better for queries, and reading took two to five times
    // as long.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::nice(5);
}

#[cold]
fn forked() -> Error {
    let message = "the database was opened before this process was forked: open it in the process \
                   that uses it";
    Error::new(ErrorKind::Closed, message)
}

/// Returns the number of this process in memory that `fork()` clears. A child's own number is
/// larger than all that its parent had by then, so it differs from the numbers of handles that it
/// inherited.
#[cfg(target_os = "linux")]
fn number(mark: &AtomicU64) -> u64 {
    static LAST: AtomicU64 = AtomicU64::new(0);
    match mark.load(Ordering::Acquire) {
        0 => {
            let new = LAST.fetch_add(1, Ordering::AcqRel) + 1;
            // Another thread may have been first.
            mark.compare_exchange(0, new, Ordering::AcqRel, Ordering::Acquire)
                .map_or_else(|n| n, |_| new)
        }
        number => number,
    }
}

/// Returns memory that is cleared in children, the same for all handles; `None` where the system
/// cannot do that. There is no lock that a fork could leave locked.
#[cfg(target_os = "linux")]
fn mark() -> Option<&'static AtomicU64> {
    static MARK: AtomicPtr<AtomicU64> = AtomicPtr::new(std::ptr::null_mut());
    let mut address = MARK.load(Ordering::Acquire);
    if address.is_null() {
        let map = cleared_by_fork()?;
        let new = map.as_mut_ptr().cast();
        let first = MARK.compare_exchange(address, new, Ordering::AcqRel, Ordering::Acquire);
        address = match first {
            Ok(_) => {
                // It is used until the process ends.
                std::mem::forget(map);
                new
            }
            Err(first) => first,
        };
    }
    // SAFETY: the address is the start of a map of at least this length, aligned to a page, that is
    // never unmapped, and whose bytes are only used as this atomic number. Tested by
    // `handle_does_not_work_after_a_fork` in tests/api/fork.rs; that it costs queries nothing is
    // counted by benches/instructions.rs.
    Some(unsafe { &*address })
}

/// Returns a map of one number, 0, that is 0 again in children, and in their children.
#[cfg(target_os = "linux")]
fn cleared_by_fork() -> Option<memmap2::MmapRaw> {
    let len = size_of::<AtomicU64>();
    let map = memmap2::MmapMut::map_anon(len).ok()?;
    let map = memmap2::MmapRaw::from(map);
    // SAFETY: the address is the start of a private anonymous map of at least this length, to which
    // there is no reference. The advice changes nothing in this process; in a child, it clears the
    // map, for which any bytes are valid. Tested by `handle_does_not_work_after_a_fork` in
    // tests/api/fork.rs.
    let advised = unsafe {
        rustix::mm::madvise(map.as_mut_ptr().cast(), len, rustix::mm::Advice::LinuxWipeOnFork)
    };
    advised.ok().map(|()| map)
}
