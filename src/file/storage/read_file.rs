//! Files that are open for reading.

use std::fmt::Debug;
use std::io;

#[cfg(test)]
thread_local! {
    /// Bytes that this thread has asked the system to read before they are used.
    pub(crate) static READ_AHEAD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// A file that is open for reading, and that nobody in this process writes to any more. Several
/// threads can use it.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{ReadFile, Sim, Storage};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// sim.create("a.log")?.append(b"some bytes")?;
/// let file: std::sync::Arc<dyn ReadFile> = sim.open("a.log")?;
/// let mut bytes = [0; 5];
/// file.read_at(5, &mut bytes).unwrap();
/// assert_eq!((file.length(), &bytes), (10, b"bytes"));
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait ReadFile: Debug + Send + Sync {
    /// Returns the number of bytes that the file had when it was opened.
    fn length(&self) -> u64;

    /// Reads the bytes from `offset` on, as many as `to` has.
    ///
    /// # Errors
    /// [`UnexpectedEof`](io::ErrorKind::UnexpectedEof) if the file ends earlier, and other I/O
    /// errors.
    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<()>;

    /// Asks the system to read these bytes soon, without waiting for them. This is a hint: errors
    /// are ignored. The default does nothing.
    fn prefetch(&self, _offset: u64, _len: u64) {}

    /// Does what [`read_at`](Self::read_at) does for bytes that will not be read again soon: the
    /// system need not keep them. The default does the same as `read_at`.
    ///
    /// # Errors
    /// The same.
    fn read_once(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        self.read_at(offset, to)
    }

    /// Tells the system that these bytes will not be read again, because they are in memory, so
    /// that it drops its own copy. This is a hint: errors are ignored. The default does nothing.
    fn forget(&self, _offset: u64, _len: u64) {}

    /// Gives back the disk space of these bytes, which nobody reads any more. Returns whether that
    /// is possible: for files that were opened with [`open_scratch`](super::Storage::open_scratch),
    /// on some file systems. The default does nothing.
    fn discard(&self, _offset: u64, _len: u64) -> bool {
        false
    }
}

impl dyn ReadFile + '_ {
    /// Does what [`ReadFile::prefetch`] does, and counts the bytes in tests.
    pub(crate) fn prefetch_counted(&self, offset: usize, len: usize) {
        #[cfg(test)]
        READ_AHEAD.set(READ_AHEAD.get() + len);
        self.prefetch(offset as u64, len as u64);
    }
}
