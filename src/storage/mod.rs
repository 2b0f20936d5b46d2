//! The one door to files: everything that fpdb does with a file system goes through [`Storage`].
//!
//! [`Disk`] is the real thing; [`Sim`] keeps files in memory, remembers which writes were synced,
//! and can lose the rest, so that crashes are tested at every operation. No other module names
//! `std::fs`.
//!
//! What the engine assumes of a storage is what storage-format.md, "Assumptions" says: bytes are
//! there after the file's `sync`, names after `sync_dir`, `rename` is atomic.

#![cfg_attr(
    not(feature = "sim"),
    allow(unreachable_pub, dead_code, reason = "public, and used, with the feature `sim` only")
)]

mod disk;
mod mmap;
#[cfg(feature = "sim")]
mod sim;

use std::fmt::Debug;
use std::io;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::error::{Error, Result};

pub use disk::Disk;
#[cfg(feature = "sim")]
pub use sim::{CrashLimits, CrashStates, Fault, Sim};

/// One folder of files. Names are plain file names within it.
///
/// Every error carries the path of the file concerned.
pub trait Storage: Debug + Send + Sync {
    /// The folder, for messages.
    fn root(&self) -> &Path;

    /// Makes the folder if it is missing, and makes its name durable in its parent.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and kin.
    fn create_root(&self) -> Result<()>;

    /// The names in the folder, sorted; `None` if there is no such folder.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and kin.
    fn list(&self) -> Result<Option<Vec<String>>>;

    /// A new, empty file to append to.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the name is taken.
    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>>;

    /// Maps a whole file that nobody writes to any more.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn map(&self, name: &str) -> Result<Map>;

    /// Maps a file that queries look things up in, so that they are served best. Default: as
    /// [`map`](Storage::map).
    ///
    /// # Errors
    /// As [`map`](Storage::map).
    fn map_for_queries(&self, name: &str) -> Result<Map> {
        self.map(name)
    }

    /// Reads a whole (small) file as it is at this moment.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn read(&self, name: &str) -> Result<Vec<u8>>;

    /// Gives a file another name, replacing what had that name, atomically. Durable only after
    /// [`sync_dir`](Storage::sync_dir).
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes a file's name; who has the file open or mapped keeps it.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn remove(&self, name: &str) -> Result<()>;

    /// Makes all names in the folder durable as they are.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): the caller must write no more.
    fn sync_dir(&self) -> Result<()>;

    /// Takes the writer's exclusive lock on the folder, held until the value is dropped.
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) if another handle or process has it.
    fn lock(&self) -> Result<Box<dyn Send + Sync>>;

    /// A number that no other database has: random on disk, counted in a simulation.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the system has no random numbers.
    fn fresh_id(&self) -> Result<u128>;

    /// Bytes that can still be written to the file system.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and kin.
    fn free_space(&self) -> Result<u64>;

    /// The same kind of storage in another folder.
    fn at(&self, root: &Path) -> Arc<dyn Storage>;
}

/// A file being written: append and sync, nothing else. Usable from several threads.
pub trait WriteFile: Debug + Send + Sync {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): how much arrived is unknown, so the file must be given up.
    fn append(&self, bytes: &[u8]) -> Result<()>;

    /// Makes everything appended so far (and the file's length) durable. The file's *name* becomes
    /// durable by [`Storage::sync_dir`].
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io): the file must be given up; a second sync proves nothing.
    fn sync(&self) -> Result<()>;
}

/// How the files of segments are read while a database is open.
///
/// # Examples
///
/// ```
/// use fpdb::{Access, Db};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("crawl.fpdb");
/// # Db::options().create(&path)?.close()?;
/// let db = Db::options().access(Access::Cold).open(path)?; // far larger than memory
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Access {
    /// Mapped, and the system keeps in memory what it likes to. Best where most of the database
    /// fits in memory. Where the system can (Linux with ext4 or XFS), large files are mapped in
    /// pages of 2 MiB.
    #[default]
    Mapped,
    /// For a database much larger than memory. Opening it reads the indexes (keys, directories,
    /// filters: half a byte a fingerprint and table, and the filters' bits), which should stay in
    /// memory; all else is read in single pages, and all pages of a query together. Queries whose
    /// pages happen to be in memory take some 20 us longer than mapped.
    Cold,
    /// Copied to memory when it is opened, in pages of 2 MiB where the system has them. Takes as
    /// much memory as the files are large, at once. For the steadiest answers, and where files
    /// cannot be mapped in large pages.
    Resident,
}

/// The bytes of an immutable file, shared and cheap to clone.
#[derive(Debug, Clone)]
pub struct Map(Bytes);

#[derive(Debug, Clone)]
enum Bytes {
    Mapped(Arc<mmap::Mapping>),
    Owned(Arc<[u8]>),
}

impl Map {
    /// Bytes held in memory.
    #[must_use]
    pub fn from_bytes(bytes: Arc<[u8]>) -> Self {
        Self(Bytes::Owned(bytes))
    }

    /// Reads a range of the file into memory, so that an unreadable range is an error here and not a
    /// fault later. Does nothing if the operating system has no such call.
    pub(crate) fn populate(&self, offset: usize, len: usize) -> io::Result<()> {
        match &self.0 {
            Bytes::Mapped(mapping) => mapping.populate(offset, len),
            Bytes::Owned(_) => Ok(()),
        }
    }

    /// Returns whether single pages are read from the disk when they are needed, so that callers should
    /// prefetch.
    #[inline]
    pub(crate) fn is_cold(&self) -> bool {
        matches!(&self.0, Bytes::Mapped(mapping) if mapping.is_cold())
    }

    /// Prefetches a range of a cold file without waiting for it. This is a hint; errors are ignored.
    pub(crate) fn prefetch(&self, offset: usize, len: usize) {
        if let Bytes::Mapped(mapping) = &self.0
            && mapping.is_cold()
        {
            mapping.prefetch(offset, len);
        }
    }

    fn from_mapping(mapping: mmap::Mapping) -> Self {
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

/// The lock file: empty, created by the first lock and never removed.
pub(crate) const LOCK: &str = "LOCK";

/// What a refused lock says.
const TAKEN: &str = "another process or another handle writes to this database: close it, \
                     or read beside it with open_read_only";

/// The path of the file `name` in the folder `root`; refuses what is not a plain file name on every
/// system, so that no name read from a file leads out of the folder.
fn path_in(root: &Path, name: &str) -> Result<PathBuf> {
    let mut parts = Path::new(name).components();
    let plain = matches!((parts.next(), parts.next()), (Some(Component::Normal(part)), None) if part == name)
        && !name.contains(['/', '\\', ':', '\0']);
    if plain {
        Ok(root.join(name))
    } else {
        Err(Error::invalid(format!("{name:?} is not a plain file name")).at_path(root))
    }
}

/// A failed system call on `path`, with a plain word where the disk is full.
fn failed(doing: &str, path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull => {
            Error::io(&format!("{doing}: the disk is full, free some space"), path, source)
        }
        io::ErrorKind::QuotaExceeded => {
            Error::io(&format!("{doing}: the disk quota is used up"), path, source)
        }
        _ => Error::io(doing, path, source),
    }
}

#[cfg(test)]
mod tests;
