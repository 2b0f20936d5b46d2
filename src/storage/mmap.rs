//! Maps of immutable files, and memory for copies of them: the only `unsafe` code of the storage.

#![expect(unsafe_code, reason = "mapping a file is unsafe; the rule below makes it sound here")]
#![expect(clippy::disallowed_types, reason = "the only module that maps files")]

use std::fs::File;
use std::io::{self, Read};
use std::ops::{Deref, DerefMut};

use super::access::Access;
use crate::error::{Error, ErrorKind, Result};

/// The bytes of an entire file, mapped or copied.
#[derive(Debug)]
pub(super) struct Mapping {
    map: memmap2::Mmap,
    access: Access,
}

impl Mapping {
    pub(super) fn new(file: &File, access: Access) -> io::Result<Self> {
        if access == Access::Resident {
            return Ok(Self { map: copy(file)?, access });
        }
        // SAFETY: the engine maps only files that are complete and that nobody writes to again:
        // segment files are created, synced and then only ever unlinked, never truncated or
        // rewritten (storage-format.md, "Files"), and only the holder of the lock creates any. A
        // process that breaks this rule from outside can make a read fault; `Db::open` documents
        // it. Tested by
        // `map_stays_valid_after_the_file_is_removed` in tests.rs.
        let map = unsafe { memmap2::Mmap::map(file)? };
        #[cfg(unix)]
        if access == Access::Cold {
            // Otherwise, the system would also read the pages around each requested page.
            let _ = map.advise(memmap2::Advice::Random);
        }
        Ok(Self { map, access })
    }

    /// See [`Map::is_cold`](super::map::Map::is_cold).
    #[inline]
    pub(super) fn is_cold(&self) -> bool {
        self.access == Access::Cold
    }

    /// See [`Map::is_resident`](super::map::Map::is_resident).
    pub(super) fn is_resident(&self) -> bool {
        self.access == Access::Resident
    }

    /// See [`Map::prefetch`](super::map::Map::prefetch).
    #[cfg(unix)]
    pub(super) fn prefetch(&self, offset: usize, len: usize) {
        let _ = self.map.advise_range(memmap2::Advice::WillNeed, offset, len);
    }

    #[cfg(not(unix))]
    pub(super) fn prefetch(&self, _offset: usize, _len: usize) {}

    /// See [`Map::populate`](super::map::Map::populate).
    #[cfg(target_os = "linux")]
    pub(super) fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        match self.map.advise_range(memmap2::Advice::PopulateRead, offset, len) {
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
        &self.map
    }
}

/// Copies the bytes of the file to memory.
fn copy(mut file: &File) -> io::Result<memmap2::Mmap> {
    let len = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
    let mut map = in_huge_pages(len)?;
    file.read_exact(&mut map)?;
    map.make_read_only()
}

/// Allocates zeroed memory, in huge pages if the system has them.
fn in_huge_pages(len: usize) -> io::Result<memmap2::MmapMut> {
    let map = memmap2::MmapMut::map_anon(len)?;
    #[cfg(target_os = "linux")]
    {
        // This is a hint: some systems have no huge pages.
        let _ = map.advise(memmap2::Advice::HugePage);
    }
    Ok(map)
}

/// Memory outside of the heap, zeroed, in huge pages if the system has them. Dropping it returns it
/// to the system at once.
#[derive(Debug)]
pub(crate) struct Pages(memmap2::MmapMut);

impl Pages {
    /// Allocates `len` bytes, at least one. They take no memory until they are first used.
    pub(crate) fn new(len: usize) -> Result<Self> {
        let failed = |e| Error::new(ErrorKind::Io, format!("allocate {len} bytes of memory: {e}"));
        in_huge_pages(len).map(Self).map_err(failed)
    }
}

impl Deref for Pages {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        &self.0
    }
}

impl DerefMut for Pages {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.0
    }
}
