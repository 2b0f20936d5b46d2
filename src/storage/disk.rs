//! A folder of the file system as a storage.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the only module that uses files"
)]

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use super::access::Access;
use super::map::Map;
use super::mmap::Mapping;
use super::{LOCK, LOCK_IS_TAKEN, Storage, WriteFile, failed, path_in};
use crate::error::{Error, ErrorKind, Result};

/// A folder of the file system: the normal [`Storage`] of a database.
///
/// # Examples
///
/// ```
/// use fpdb::storage::{Disk, Storage};
///
/// # let parent = tempfile::tempdir().unwrap();
/// # let folder = parent.path().join("crawl.fpdb");
/// let disk = Disk::new(&folder);
/// assert_eq!(disk.list()?, None);
/// disk.create_root()?;
/// let file = disk.create("a.log")?;
/// file.append(b"some bytes")?;
/// file.sync()?; // now the bytes survive a loss of power,
/// disk.sync_dir()?; // and now the name does too
/// assert_eq!(&*disk.map("a.log")?, b"some bytes");
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    access: Access,
}

impl Disk {
    /// Makes a storage for the folder at `root`, which need not exist yet. Does not access the file
    /// system.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into(), access: Access::default() }
    }

    /// Sets how the files of segments are read. Default: [`Access::Mapped`].
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Access;
    /// use fpdb::storage::{Disk, Storage};
    ///
    /// # let folder = tempfile::tempdir().unwrap();
    /// let disk = Disk::new(folder.path()).access(Access::Resident);
    /// disk.create("a.log")?.append(b"some bytes")?;
    /// assert_eq!(&*disk.map("a.log")?, b"some bytes");
    /// # Ok::<(), fpdb::Error>(())
    /// ```
    #[must_use]
    pub fn access(self, access: Access) -> Self {
        Self { access, ..self }
    }

    fn map_as(&self, name: &str, access: Access) -> Result<Map> {
        let path = path_in(&self.root, name)?;
        let unmappable = |e| failed("map the file", &path, e);
        let file = File::open(&path).map_err(unmappable)?;
        // Not every system can map an empty file.
        if file.metadata().map_err(unmappable)?.len() == 0 {
            return Ok(Map::from_bytes(Arc::default()));
        }
        Mapping::new(&file, access).map(Map::from_mapping).map_err(unmappable)
    }
}

impl Storage for Disk {
    fn root(&self) -> &Path {
        &self.root
    }

    fn create_root(&self) -> Result<()> {
        create_folder(&self.root)
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        let unlistable = |e| failed("list the folder", &self.root, e);
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(unlistable(e)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(unlistable)?;
            if entry.file_type().map_err(unlistable)?.is_file() {
                // fpdb makes no file whose name is not UTF-8.
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(Some(names))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let path = path_in(&self.root, name)?;
        let file = OpenOptions::new()
            .append(true)
            .create_new(true)
            .open(&path)
            .map_err(|e| failed("create the file", &path, e))?;
        let (file, write_back) = (Arc::new(file), Mutex::new(WriteBack::default()));
        Ok(Arc::new(DiskFile { file, path, appending: Mutex::new(()), write_back }))
    }

    fn map(&self, name: &str) -> Result<Map> {
        self.map_as(name, Access::Mapped)
    }

    fn map_for_queries(&self, name: &str) -> Result<Map> {
        self.map_as(name, self.access)
    }

    fn read(&self, name: &str) -> Result<Vec<u8>> {
        let path = path_in(&self.root, name)?;
        fs::read(&path).map_err(|e| failed("read the file", &path, e))
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let (from, to) = (path_in(&self.root, from)?, path_in(&self.root, to)?);
        fs::rename(&from, &to)
            .map_err(|e| failed(&format!("rename the file to {}", to.display()), &from, e))
    }

    fn remove(&self, name: &str) -> Result<()> {
        let path = path_in(&self.root, name)?;
        fs::remove_file(&path).map_err(|e| failed("remove the file", &path, e))
    }

    fn sync_dir(&self) -> Result<()> {
        sync_folder(&self.root)
    }

    fn lock(&self) -> Result<Box<dyn Send + Sync>> {
        Ok(Box::new(lock(&self.root.join(LOCK))?))
    }

    fn fresh_id(&self) -> Result<u128> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|e| {
            failed(
                "get random numbers from the system",
                &self.root,
                io::Error::other(e.to_string()),
            )
        })?;
        Ok(u128::from_le_bytes(bytes))
    }

    fn free_space(&self) -> Result<u64> {
        fs2::available_space(&self.root)
            .map_err(|e| failed("get the free space of the folder", &self.root, e))
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        Arc::new(Self::new(root).access(self.access))
    }
}

/// A file opened for appending.
#[derive(Debug)]
struct DiskFile {
    file: Arc<File>,
    path: PathBuf,
    /// Held during an append, which may need several system calls. A sync does not wait for it.
    appending: Mutex<()>,
    write_back: Mutex<WriteBack>,
}

impl WriteFile for DiskFile {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        let _one_at_a_time = self.appending.lock().unwrap_or_else(PoisonError::into_inner);
        (&*self.file).write_all(bytes).map_err(|e| failed("append to the file", &self.path, e))
    }

    fn sync(&self) -> Result<()> {
        let mut write_back = self.write_back.lock().unwrap_or_else(PoisonError::into_inner);
        write_back.wait().map_err(|e| failed("sync the file", &self.path, e))?;
        // The promise includes the file's length, and the file has nearly always grown, so
        // `sync_data` would save nothing. Some file systems have also been seen to lose a length
        // after it.
        self.file.sync_all().map_err(|e| failed("sync the file", &self.path, e))
    }

    fn write_back(&self) {
        let mut write_back = self.write_back.lock().unwrap_or_else(PoisonError::into_inner);
        write_back.begin(&self.file);
    }
}

/// A sync that a thread of its own does, so that the device works while the file grows.
#[derive(Debug, Default)]
struct WriteBack {
    running: Option<JoinHandle<io::Result<()>>>,
    /// The system reports a failure only once, so it is kept for the next real sync.
    failed: Option<io::Error>,
}

impl WriteBack {
    /// Begins a sync unless one is running or has failed.
    fn begin(&mut self, file: &Arc<File>) {
        if self.running.as_ref().is_some_and(|running| !running.is_finished()) {
            return;
        }
        self.collect();
        if self.failed.is_none() {
            let file = file.clone();
            let thread = std::thread::Builder::new().name("fpdb-write-back".into());
            self.running = thread.spawn(move || file.sync_data()).ok();
        }
    }

    /// Waits for the running sync.
    fn collect(&mut self) {
        let Some(running) = self.running.take() else { return };
        let panicked = || Err(io::Error::other("the thread that syncs has panicked"));
        self.failed = running.join().unwrap_or_else(|_| panicked()).err().or(self.failed.take());
    }

    /// Waits for the running sync, and returns an error if any sync has failed.
    fn wait(&mut self) -> io::Result<()> {
        self.collect();
        self.failed.take().map_or(Ok(()), Err)
    }
}

/// Creates the folder and its missing parents. Each name becomes durable in its parent.
fn create_folder(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => {}
        // The process that created it may have crashed before the name was durable, so the parent
        // is synced in this case too.
        Err(_) if path.is_dir() => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let parent = parent(path).filter(|parent| !parent.exists());
            create_folder(parent.ok_or_else(|| failed("create the folder", path, e))?)?;
            fs::create_dir(path).map_err(|e| failed("create the folder", path, e))?;
        }
        Err(e) => return Err(failed("create the folder", path, e)),
    }
    parent(path).map_or(Ok(()), sync_folder)
}

/// Returns the folder that contains the name of `path`, or `None` for the root of a file system.
fn parent(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

#[cfg(unix)]
fn sync_folder(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|folder| folder.sync_all())
        .map_err(|e| failed("sync the folder", path, e))
}

/// On other systems, folders cannot be synced, and the file system journals their entries.
#[cfg(not(unix))]
fn sync_folder(_: &Path) -> Result<()> {
    Ok(())
}

/// Opens and locks the lock file. It is never removed: otherwise a second writer could lock a new
/// one. The lock belongs to this open file, and ends when the file is closed.
fn lock(path: &Path) -> Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(path)
        .map_err(|e| failed("open the lock file", path, e))?;
    if !try_lock_exclusive(&file).map_err(|e| failed("lock the lock file", path, e))? {
        return Err(locked(LOCK_IS_TAKEN, path));
    }
    if !is_named(&file, path).map_err(|e| failed("check the lock file", path, e))? {
        return Err(locked(
            "the lock file was replaced, although it must not be removed: try again",
            path,
        ));
    }
    Ok(file)
}

fn locked(message: &str, path: &Path) -> Error {
    Error::new(ErrorKind::Locked, message).at_path(path)
}

/// Returns `false` if the lock is taken. The method is called by its full path, because since Rust
/// 1.89 `File` has its own methods with these names.
fn try_lock_exclusive(file: &File) -> io::Result<bool> {
    match fs2::FileExt::try_lock_exclusive(file) {
        Ok(()) => Ok(true),
        Err(e) if e.raw_os_error() == fs2::lock_contended_error().raw_os_error() => Ok(false),
        Err(e) => Err(e),
    }
}

/// Returns whether the open file is still the one with this name.
#[cfg(unix)]
fn is_named(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let opened = file.metadata()?;
    match fs::metadata(path) {
        Ok(named) => Ok((opened.dev(), opened.ino()) == (named.dev(), named.ino())),
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(e) => Err(e),
    }
}

/// On other systems, an open file keeps its name.
#[cfg(not(unix))]
fn is_named(_: &File, _: &Path) -> io::Result<bool> {
    Ok(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn removed_or_replaced_lock_file_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(LOCK);
        let held = lock(&path).unwrap();
        assert!(is_named(&held, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_named(&held, &path).unwrap());
        fs::write(&path, b"").unwrap();
        assert!(!is_named(&held, &path).unwrap());
    }

    /// Syncing this device fails.
    #[cfg(unix)]
    #[test]
    fn failure_of_a_write_back_is_reported_by_the_next_sync() {
        let mut write_back = WriteBack::default();
        write_back.begin(&Arc::new(File::open("/dev/null").unwrap()));
        assert!(write_back.wait().is_err());
        write_back.wait().unwrap();
    }

    #[test]
    fn file_can_be_appended_to_during_a_write_back() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        let file = disk.create("a.run").unwrap();
        for part in 0..10u8 {
            file.append(&[part; 10_000]).unwrap();
            file.write_back();
        }
        file.sync().unwrap();
        let expected: Vec<u8> = (0..10u8).flat_map(|part| [part; 10_000]).collect();
        assert_eq!(disk.read("a.run").unwrap(), expected);
    }

    #[test]
    fn relative_folder_has_a_parent_to_sync() {
        assert_eq!(parent(Path::new("db")), Some(Path::new(".")));
        assert_eq!(parent(Path::new("a/db")), Some(Path::new("a")));
        assert_eq!(parent(Path::new("/")), None);
    }
}
