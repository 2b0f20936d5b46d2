//! The storage: everything that fpdb does with a file system goes through [`Storage`].
//!
//! [`Disk`] is a folder of the file system. `Sim` (with the feature `sim`) keeps files in memory,
//! remembers which writes were synced, and can lose the others, so that crashes can be tested at
//! every operation. No other module uses `std::fs`.
//!
//! The engine makes the assumptions about a storage that storage-format.md, "Assumptions" lists:
//! bytes are durable after the file's `sync`, names after `sync_dir`, and `rename` is atomic.

#![cfg_attr(
    not(feature = "sim"),
    allow(unreachable_pub, dead_code, reason = "public, and used, with the feature `sim` only")
)]

mod append_file;
mod available;
mod counted;
mod disk;
mod folder;
mod in_memory;
mod kept;
mod locked;
mod memory;
mod mmap;
mod open_file;
mod page;
mod page_budget;
mod read_file;
#[cfg(feature = "sim")]
mod sim;
mod temporary;

use std::fmt::Debug;
use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use crate::base::error::{Error, Result};

pub use disk::Disk;
pub(crate) use in_memory::InMemory;
pub(crate) use kept::Kept;
pub(crate) use locked::LockedFolder;
pub(crate) use memory::{MemoryBudget, Reservation};
pub(crate) use mmap::{PageBytes, PageMemory, Pages};
pub(crate) use page::PAGE;
pub use page_budget::PageBudget;
#[cfg(test)]
pub(crate) use read_file::READ_AHEAD;
pub use read_file::ReadFile;
#[cfg(feature = "sim")]
pub use sim::{CrashLimits, CrashStates, Fault, Sim};
pub(crate) use temporary::TemporaryFile;

/// A folder of files. Names are plain file names within the folder.
///
/// Every error has the path of the file concerned.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{Sim, Storage};
///
/// fn names(storage: &dyn Storage) -> fpdb::Result<Vec<String>> {
///     Ok(storage.list()?.unwrap_or_default())
/// }
/// assert!(names(&*Sim::new())?.is_empty());
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait Storage: Debug + Send + Sync {
    /// Returns the path of the folder, for messages.
    fn root(&self) -> &Path;

    /// Creates the folder if it is missing, and makes its name durable in its parent. If it fails,
    /// nothing that it created is left.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and other I/O errors.
    fn create_root(&self) -> Result<()>;

    /// Removes the folder if it is empty, and then the parents that
    /// [`create_root`](Self::create_root) created with it, as far as they are empty. What cannot be
    /// removed stays.
    fn remove_root(&self) {}

    /// Returns an error if the [path](Storage::root) does not lead to this folder any more.
    ///
    /// # Errors
    /// [`Replaced`](crate::ErrorKind::Replaced) if the folder was moved or removed.
    fn check_root(&self) -> Result<()>;

    /// Returns the names of the files in the folder, sorted, or `None` if there is no such folder.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and other I/O errors.
    fn list(&self) -> Result<Option<Vec<String>>>;

    /// Creates a new, empty file to append to.
    ///
    /// # Errors
    /// [`AlreadyExists`](crate::ErrorKind::AlreadyExists) if the name is taken.
    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>>;

    /// Opens a file for reading, which must not be written to any more.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>>;

    /// Opens a file that nobody needs after this process, so that its parts can be
    /// [discarded](ReadFile::discard). The default does the same as [`open`](Self::open).
    ///
    /// # Errors
    /// The same.
    fn open_scratch(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        self.open(name)
    }

    /// Returns whether parts of files can be [discarded](ReadFile::discard). The default is false.
    fn can_discard(&self) -> bool {
        false
    }

    /// Reads an entire (small) file as it is at this moment.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing;
    /// [`Corruption`](crate::ErrorKind::Corruption) if it has more than `limit` bytes.
    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>>;

    /// Renames a file, and atomically replaces any file that had the new name. Durable only after
    /// [`sync_dir`](Storage::sync_dir).
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn rename(&self, from: &str, to: &str) -> Result<()>;

    /// Removes the name of a file. Files that are open stay readable.
    ///
    /// # Errors
    /// [`NotFound`](crate::ErrorKind::NotFound) if it is missing.
    fn remove(&self, name: &str) -> Result<()>;

    /// Replaces `copy` by a copy of the small file `name`, in case `name` is damaged some day.
    /// Nothing depends on it: a failure is not reported, and nothing becomes durable. The default
    /// does nothing, which is right where files do not decay, such as in memory.
    fn keep_copy(&self, _name: &str, _copy: &str) {}

    /// Makes the current names in the folder durable.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io). The caller must not write any more.
    fn sync_dir(&self) -> Result<()>;

    /// Takes the writer's exclusive lock on the folder. Dropping the value releases it.
    ///
    /// # Errors
    /// [`Locked`](crate::ErrorKind::Locked) if another handle or process has it;
    /// [`InvalidArgument`](crate::ErrorKind::InvalidArgument) on a file system on which locks may
    /// not work.
    fn lock(&self) -> Result<Box<dyn FolderLock>>;

    /// Returns the limit for the memory that pages of files take. The default is none.
    fn page_budget(&self) -> Arc<PageBudget> {
        PageBudget::unlimited()
    }

    /// Returns a number that no other database has: random on disk, counted in a simulation.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) if the system has no random numbers.
    fn fresh_id(&self) -> Result<u128>;

    /// Returns the program that files name as their writer: this one, with its version. A
    /// simulation has a name of its own, so that its files are the same in every version.
    fn program(&self) -> &'static str {
        concat!("fpdb ", env!("CARGO_PKG_VERSION"))
    }

    /// Returns how many more bytes can be written to the file system.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and other I/O errors.
    fn free_space(&self) -> Result<u64>;

    /// Returns a number that folders share if they share their free space, and may share
    /// otherwise.
    ///
    /// # Errors
    /// [`Io`](crate::ErrorKind::Io) and other I/O errors.
    fn file_system(&self) -> Result<u64>;

    /// Returns the same kind of storage in another folder.
    fn at(&self, root: &Path) -> Arc<dyn Storage>;
}

/// A file that is being written: append and sync, nothing else. Several threads can use it.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{Sim, Storage, WriteFile};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// let file: std::sync::Arc<dyn WriteFile> = sim.create("a.log")?;
/// file.append(b"some bytes")?;
/// file.sync()?;
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait WriteFile: Debug + Send + Sync {
    /// Appends all of `bytes`.
    ///
    /// # Errors
    /// [`NoSpace`](crate::ErrorKind::NoSpace); [`Io`](crate::ErrorKind::Io). It is unknown how much
    /// was written, so the file must not be used any more.
    fn append(&self, bytes: &[u8]) -> Result<()>;

    /// Does what [`append`](WriteFile::append) does for bytes that will not be read again soon:
    /// after the next [`sync`](WriteFile::sync), the system need not keep anything of the file in
    /// memory. The default does the same as `append`.
    ///
    /// # Errors
    /// The same.
    fn append_once(&self, bytes: &[u8]) -> Result<()> {
        self.append(bytes)
    }

    /// Makes everything appended so far, and the file's length, durable. The file's *name* becomes
    /// durable with [`Storage::sync_dir`].
    ///
    /// # Errors
    /// [`NoSpace`](crate::ErrorKind::NoSpace); [`Io`](crate::ErrorKind::Io). The file must not be
    /// used any more; a second sync proves nothing.
    fn sync(&self) -> Result<()>;

    /// Returns an error if the file does not have the name any more that it was created with.
    ///
    /// # Errors
    /// [`Replaced`](crate::ErrorKind::Replaced) if it was removed, renamed or replaced.
    fn check_name(&self) -> Result<()>;

    /// Asks the system to write what was appended so far to the device, so that a later
    /// [`sync`](WriteFile::sync) has less to wait for. Does not wait, and makes nothing durable.
    /// The default does nothing.
    fn write_back(&self) {}
}

/// The writer's exclusive lock on a folder.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{FolderLock, Sim, Storage};
///
/// let sim = Sim::new();
/// sim.create_root()?;
/// let lock: Box<dyn FolderLock> = sim.lock()?;
/// lock.check()?;
/// sim.remove("LOCK")?; // somebody removes the lock file, and another writer can lock a new one
/// assert_eq!(lock.check().unwrap_err().kind(), fpdb::ErrorKind::Replaced);
/// # Ok::<(), fpdb::Error>(())
/// ```
pub trait FolderLock: Debug + Send + Sync {
    /// Removes the folder if it is empty, where that is possible. Nothing depends on it.
    fn remove_root(&self) {}

    /// Returns an error unless this is still the lock of the folder at the storage's path.
    ///
    /// # Errors
    /// [`Replaced`](crate::ErrorKind::Replaced) if the folder or the lock file was moved, removed
    /// or replaced, so that another process may be writing.
    fn check(&self) -> Result<()>;
}

/// The lock file: empty, created by the first lock and never removed.
pub(crate) const LOCK: &str = "LOCK";

/// Message of a refused lock.
const LOCK_IS_TAKEN: &str = "another process or another handle is writing to this database: wait \
                             until it has ended, or open the database for reading only";

/// Message of a lock that holds no longer.
const LOCK_REPLACED: &str = "the lock file was removed or replaced, so another process may be writing to \
                             this database: nothing more is written, open it again";

/// Message of a file that lost its name while it was written.
const FILE_REPLACED: &str = "the file was removed or replaced while it was written: open the database \
                             again";

/// Message of a folder that is not at its path any more.
const FOLDER_REPLACED: &str = "the folder was moved, removed or replaced by another one: open the \
                               database again";

/// Returns the path of the file `name` in the folder `root`. Refuses names that are not plain file
/// names on every system, so that no name that was read from a file leads out of the folder.
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

/// Makes an error for a failed system call on `path`. If the disk is full, the message says what to
/// do.
fn failed(doing: &str, path: &Path, source: io::Error) -> Error {
    match source.kind() {
        io::ErrorKind::StorageFull => {
            let why = "the disk is full or has no free inodes";
            Error::io(&format!("{doing}: {why}, free some space or remove files"), path, source)
        }
        io::ErrorKind::QuotaExceeded => {
            let why = "the disk quota is used up";
            Error::io(&format!("{doing}: {why}, free some space or remove files"), path, source)
        }
        io::ErrorKind::FileTooLarge => {
            let why = "the file would be longer than `ulimit -f` or the file system allows";
            Error::io(&format!("{doing}: {why}, raise the limit"), path, source)
        }
        // What is there is not a file of fpdb.
        io::ErrorKind::InvalidData => Error::corruption(format!("{doing}: {source}")).at_path(path),
        _ => Error::io(doing, path, source),
    }
}

/// The error for a file that has more bytes than any file of fpdb.
fn too_long(len: u64, limit: u64) -> io::Error {
    let message = format!("it has {len} bytes, but such a file has at most {limit}");
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests;
