//! The bytes of a file in memory.

use std::io;
use std::ops::Deref;
use std::sync::Arc;

use super::mmap::Mapping;

/// The bytes of an immutable file, shared and cheap to clone. Dereferences to `[u8]`.
///
/// # Examples
///
/// ```
/// use fpdb::storage::Map;
///
/// let map = Map::from_bytes(b"some bytes"[..].into());
/// assert_eq!(&map[..4], b"some");
/// ```
#[derive(Debug, Clone)]
pub struct Map(Bytes);

#[cfg(test)]
thread_local! {
    /// Bytes that this thread has asked the system to read before they are used.
    pub(crate) static READ_AHEAD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[derive(Debug, Clone)]
enum Bytes {
    Mapped(Arc<Mapping>),
    Owned(Arc<[u8]>),
}

impl Map {
    /// Makes a map of bytes in memory.
    #[must_use]
    pub fn from_bytes(bytes: Arc<[u8]>) -> Self {
        Self(Bytes::Owned(bytes))
    }

    /// Reads a range of the file into memory, so that a range that cannot be read is an error here
    /// and not a fault later. Does nothing where the system has no such call.
    pub(crate) fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        #[cfg(test)]
        READ_AHEAD.set(READ_AHEAD.get() + len);
        match &self.0 {
            Bytes::Mapped(mapping) => mapping.populate(offset, len),
            Bytes::Owned(_) => Ok(()),
        }
    }

    /// Returns whether single pages are read on demand, so that callers should prefetch.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        matches!(&self.0, Bytes::Mapped(mapping) if mapping.is_cold())
    }

    /// Returns whether the map is a copy in memory that has been requested as such.
    pub(crate) fn is_resident(&self) -> bool {
        matches!(&self.0, Bytes::Mapped(mapping) if mapping.is_resident())
    }

    /// Prefetches a range of a cold file without waiting for it. This is a hint: errors are
    /// ignored.
    pub(crate) fn prefetch(&self, offset: usize, len: usize) {
        if let Bytes::Mapped(mapping) = &self.0
            && mapping.is_cold()
        {
            #[cfg(test)]
            READ_AHEAD.set(READ_AHEAD.get() + len);
            mapping.prefetch(offset, len);
        }
    }

    pub(super) fn from_mapping(mapping: Mapping) -> Self {
        Self(Bytes::Mapped(Arc::new(mapping)))
    }
}

impl Deref for Map {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        match &self.0 {
            Bytes::Mapped(mapping) => mapping,
            Bytes::Owned(bytes) => bytes,
        }
    }
}
