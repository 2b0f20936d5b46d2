//! Which process opened a handle.
//!
//! After `fork()`, parent and child have the same handle, but only one may write to the folder, and
//! the child has none of the handle's threads. So a handle works only in the process that opened it.

#![cfg_attr(
    target_os = "linux",
    expect(unsafe_code, clippy::disallowed_types, reason = "marks memory that fork() clears")
)]

use crate::error::{Error, ErrorKind, Result};

/// The process that made this value.
#[derive(Debug)]
pub(crate) struct Process {
    id: u32,
    /// One byte that is 1 in this process and 0 in its children. Comparing ids takes a system call.
    #[cfg(target_os = "linux")]
    mark: Option<memmap2::MmapMut>,
}

impl Process {
    /// Returns the calling process.
    pub(crate) fn current() -> Self {
        Self {
            id: std::process::id(),
            #[cfg(target_os = "linux")]
            mark: mark(),
        }
    }

    /// Returns whether this is the calling process.
    #[inline]
    pub(crate) fn is_current(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(mark) = &self.mark {
            return mark.first() == Some(&1);
        }
        self.id == std::process::id()
    }

    /// Returns an error unless this is the calling process.
    #[inline]
    pub(crate) fn expect_current(&self) -> Result<()> {
        if self.is_current() { Ok(()) } else { Err(forked()) }
    }
}

#[cold]
fn forked() -> Error {
    let message = "the database was opened before this process was forked: open it in the process \
                   that uses it";
    Error::new(ErrorKind::Closed, message)
}

/// Returns memory that is cleared in children; `None` where the system cannot do that.
#[cfg(target_os = "linux")]
fn mark() -> Option<memmap2::MmapMut> {
    let mut map = memmap2::MmapMut::map_anon(1).ok()?;
    // SAFETY: the address is that of a private anonymous map of at least this length, which is
    // exclusively borrowed. The advice changes nothing in this process; in a child, it clears the
    // map, for which any bytes are valid. Tested by `handle_does_not_work_after_a_fork` in
    // tests/api/fork.rs; that it costs queries nothing is counted by benches/instructions.rs.
    let advised = unsafe {
        rustix::mm::madvise(map.as_mut_ptr().cast(), 1, rustix::mm::Advice::LinuxWipeOnFork)
    };
    advised.ok()?;
    *map.first_mut()? = 1;
    Some(map)
}
