//! Mapping an immutable file: the one place of `unsafe` in the storage.

#![expect(unsafe_code, reason = "mapping a file is unsafe; the rule below makes it sound here")]
#![expect(clippy::disallowed_types, reason = "this is the door to maps")]

use std::fs::File;
use std::io;
use std::ops::Deref;

/// A read-only map of a whole file.
#[derive(Debug)]
pub(super) struct Mapping(memmap2::Mmap);

impl Mapping {
    pub(super) fn new(file: &File) -> io::Result<Self> {
        // SAFETY: the engine maps only files that are complete and that nobody writes to again:
        // segment files are created, synced and then only ever unlinked, never truncated or
        // rewritten (storage-format.md, "Files"), and only the holder of the lock creates any. A
        // process that breaks this rule from outside can make a read fault; `Db::open` documents
        // it. Tested by `a_map_outlives_the_name` in tests.rs.
        let map = unsafe { memmap2::Mmap::map(file)? };
        Ok(Self(map))
    }

    /// See [`Map::populate`](super::Map::populate).
    #[cfg(target_os = "linux")]
    pub(super) fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        match self.0.advise_range(memmap2::Advice::PopulateRead, offset, len) {
            // Kernels before 5.14 do not know the advice.
            Err(e) if e.kind() == io::ErrorKind::InvalidInput => Ok(()),
            other => other,
        }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn populate(&self, _offset: usize, _len: usize) -> io::Result<()> {
        Ok(())
    }
}

impl Deref for Mapping {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}
