//! A folder of the file system as a storage.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "the only module that uses files"
)]

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use super::append_file::AppendFile;
use super::folder::Folder;
use super::open_file::OpenFile;
use super::page::PAGE;
use super::temporary::TemporaryFile;
use super::{
    FILE_REPLACED, FOLDER_REPLACED, FolderLock, LOCK, LOCK_IS_TAKEN, LOCK_REPLACED, PageBudget,
    ReadFile, Storage, WriteFile, failed, path_in, too_long,
};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::process::Process;

/// A folder of the file system: the normal [`Storage`] of a database.
///
/// The folder is opened when it is first used. From then on, its files are the files in this
/// folder, even if another one takes its place; see [`check_root`](Storage::check_root).
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
/// assert_eq!(disk.read("a.log", 100)?, b"some bytes");
/// # Ok::<(), fpdb::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Disk {
    root: PathBuf,
    pages: Arc<PageBudget>,
    trusts_file_system: bool,
    folder: OnceLock<Arc<Folder>>,
    /// The folders that [`create_root`](Storage::create_root) created, the outermost first.
    created: OnceLock<Vec<PathBuf>>,
}

impl Disk {
    /// Makes a storage for the folder at `root`, which need not exist yet. Does not access the file
    /// system.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self {
            root: root.into(),
            pages: Arc::new(PageBudget::default()),
            trusts_file_system: false,
            folder: OnceLock::new(),
            created: OnceLock::new(),
        }
    }

    /// Sets whether the folder can be locked on any file system; see
    /// [`Options::trust_file_system`](crate::Options::trust_file_system).
    #[must_use]
    pub fn trust_file_system(self, trusts: bool) -> Self {
        Self { trusts_file_system: trusts, ..self }
    }

    /// Sets how much memory the pages of files may take; see
    /// [`Options::page_memory`](crate::Options::page_memory).
    #[must_use]
    pub fn page_memory(self, bytes: u64) -> Self {
        Self { pages: Arc::new(PageBudget::new(bytes)), ..self }
    }

    fn folder(&self) -> io::Result<&Arc<Folder>> {
        if let Some(folder) = self.folder.get() {
            return Ok(folder);
        }
        let opened = Arc::new(Folder::open(&self.root)?);
        Ok(self.folder.get_or_init(|| opened))
    }

    /// Does something with a file of the folder.
    fn with<T>(
        &self,
        doing: &str,
        name: &str,
        work: impl FnOnce(&Folder) -> io::Result<T>,
    ) -> Result<T> {
        let path = path_in(&self.root, name)?;
        self.folder().and_then(|folder| work(folder)).map_err(|e| failed(doing, &path, e))
    }
}

impl Storage for Disk {
    fn root(&self) -> &Path {
        &self.root
    }

    fn create_root(&self) -> Result<()> {
        let mut created = Vec::new();
        let result = create_folder(&self.root, &mut created);
        match result {
            // The first call created what was missing.
            Ok(()) => drop(self.created.set(created)),
            Err(_) => remove_folders(&created),
        }
        result
    }

    fn remove_root(&self) {
        let _ = fs::remove_dir(&self.root);
        remove_folders(self.created.get().map_or(&[], Vec::as_slice));
    }

    fn check_root(&self) -> Result<()> {
        let in_place = self.folder().and_then(|folder| folder.is_in_place());
        match in_place.map_err(|e| failed("check the folder", &self.root, e))? {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Replaced, FOLDER_REPLACED).at_path(&self.root)),
        }
    }

    fn list(&self) -> Result<Option<Vec<String>>> {
        let mut names = match self.folder().and_then(|folder| folder.names()) {
            Ok(names) => names,
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(e) => return Err(failed("list the folder", &self.root, e)),
        };
        names.sort_unstable();
        Ok(Some(names))
    }

    fn create(&self, name: &str) -> Result<Arc<dyn WriteFile>> {
        let path = path_in(&self.root, name)?;
        let file = self.with("create the file", name, |folder| folder.create_file(name))?;
        let (disk, name, file) = (self.clone(), name.to_owned(), AppendFile::new(file));
        Ok(Arc::new(DiskFile { disk, name, file, path }))
    }

    fn open(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let file =
            self.with("open the file", name, |folder| OpenFile::new(folder.open_file(name)?))?;
        Ok(Arc::new(file.without_read_ahead()))
    }

    fn open_scratch(&self, name: &str) -> Result<Arc<dyn ReadFile>> {
        let file = self.with("open the file", name, |folder| {
            OpenFile::new(folder.open_or_create_file(name)?)
        })?;
        Ok(Arc::new(file))
    }

    fn can_discard(&self) -> bool {
        let tried = || -> Result<bool> {
            let file = TemporaryFile::create(&self.root)?;
            file.append(&[1; 2 * PAGE])?;
            Ok(file.finish()?.discard(0, PAGE as u64))
        };
        tried().unwrap_or(false)
    }

    fn read(&self, name: &str, limit: u64) -> Result<Vec<u8>> {
        self.with("read the file", name, |folder| {
            let file = folder.open_file(name)?;
            let len = file.metadata()?.len();
            if len > limit {
                return Err(too_long(len, limit));
            }
            let mut bytes = Vec::new();
            bytes.try_reserve_exact(usize::try_from(len).map_err(io::Error::other)?)?;
            // It may grow while it is being read.
            let read = file.take(limit.saturating_add(1)).read_to_end(&mut bytes)? as u64;
            if read > limit { Err(too_long(read, limit)) } else { Ok(bytes) }
        })
    }

    fn rename(&self, from: &str, to: &str) -> Result<()> {
        let doing = format!("rename the file to {}", path_in(&self.root, to)?.display());
        self.with(&doing, from, |folder| folder.rename(from, to))
    }

    fn remove(&self, name: &str) -> Result<()> {
        self.with("remove the file", name, |folder| folder.remove(name))
    }

    fn keep_copy(&self, name: &str, copy: &str) {
        // A file of its own, not another name for the same one, which would decay with it.
        let _ = self.read(name, u64::MAX).and_then(|bytes| {
            let _ = self.remove(copy);
            self.create(copy)?.append(&bytes)
        });
    }

    fn sync_dir(&self) -> Result<()> {
        let synced = self.folder().and_then(|folder| folder.sync());
        synced.map_err(|e| failed("sync the folder", &self.root, e))
    }

    fn lock(&self) -> Result<Box<dyn FolderLock>> {
        let doubtful = self.folder().and_then(|folder| folder.doubtful_file_system());
        let doubtful = doubtful.map_err(|e| failed("check the folder", &self.root, e))?;
        if let Some(name) = doubtful.filter(|_| !self.trusts_file_system) {
            let message = format!(
                "it is on a file system ({name}) whose locks and syncs may not keep what fpdb \
                 promises: put it on a local disk, open it read-only, or if you know that they do, \
                 set trust_file_system"
            );
            let unsupported = io::Error::new(io::ErrorKind::Unsupported, message);
            return Err(failed("write to the folder", &self.root, unsupported).into_fatal());
        }
        let file =
            self.with("open the lock file", LOCK, |folder| folder.open_or_create_file(LOCK))?;
        let is_locked = self.with("lock the lock file", LOCK, |_| try_lock_exclusive(&file))?;
        if !is_locked {
            let path = self.root.join(LOCK);
            return Err(Error::new(ErrorKind::Locked, LOCK_IS_TAKEN).at_path(path));
        }
        let lock = DiskLock { disk: self.clone(), file, process: Process::current() };
        lock.check()?;
        Ok(Box::new(lock))
    }

    fn page_budget(&self) -> Arc<PageBudget> {
        self.pages.clone()
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
        let free = self.folder().and_then(|folder| folder.free_space());
        free.map_err(|e| failed("get the free space of the folder", &self.root, e))
    }

    fn file_system(&self) -> Result<u64> {
        let number = self.folder().and_then(|folder| folder.file_system());
        number.map_err(|e| failed("find the file system of the folder", &self.root, e))
    }

    fn at(&self, root: &Path) -> Arc<dyn Storage> {
        let pages = Arc::new(PageBudget::new(self.pages.limit()));
        Arc::new(Self { pages, ..Self::new(root).trust_file_system(self.trusts_file_system) })
    }
}

/// The lock on a folder. It belongs to the open lock file. The lock file is never removed:
/// otherwise a second writer could lock a new one.
#[derive(Debug)]
struct DiskLock {
    disk: Disk,
    file: File,
    process: Process,
}

/// A child that another thread is starting has the file open until it runs its program. So to close
/// the file is not enough. In a forked child, the lock is still the parent's.
impl Drop for DiskLock {
    fn drop(&mut self) {
        if self.process.is_current() {
            // If this fails, closing the file unlocks it.
            let _ = fs2::FileExt::unlock(&self.file);
        }
    }
}

impl FolderLock for DiskLock {
    fn check(&self) -> Result<()> {
        self.disk.check_root()?;
        let disk = &self.disk;
        match disk.with("check the lock file", LOCK, |folder| folder.has(LOCK, &self.file))? {
            true => Ok(()),
            false => {
                let path = disk.root.join(LOCK);
                Err(Error::new(ErrorKind::Replaced, LOCK_REPLACED).at_path(path))
            }
        }
    }
}

/// A file that is being written.
#[derive(Debug)]
struct DiskFile {
    disk: Disk,
    name: String,
    file: AppendFile,
    path: PathBuf,
}

impl DiskFile {
    fn check(&self, doing: &str, result: io::Result<()>) -> Result<()> {
        result.map_err(|e| failed(doing, &self.path, e))
    }
}

impl WriteFile for DiskFile {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.check("append to the file", self.file.append(bytes))
    }

    fn append_once(&self, bytes: &[u8]) -> Result<()> {
        self.check("append to the file", self.file.append_once(bytes))
    }

    fn sync(&self) -> Result<()> {
        self.check("sync the file", self.file.sync())
    }

    fn check_name(&self) -> Result<()> {
        let is_named = |folder: &Folder| folder.has(&self.name, self.file.file());
        match self.disk.with("check the file", &self.name, is_named)? {
            true => Ok(()),
            false => Err(Error::new(ErrorKind::Replaced, FILE_REPLACED).at_path(&self.path)),
        }
    }

    fn write_back(&self) {
        self.file.write_back();
    }
}

/// Creates the folder and its missing parents, and adds them to `created`, the outermost first.
/// Each name becomes durable in its parent.
fn create_folder(path: &Path, created: &mut Vec<PathBuf>) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => created.push(path.to_owned()),
        // The process that created it may have crashed before the name was durable, so the parent
        // is synced in this case too.
        Err(_) if path.is_dir() => {}
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let parent = parent(path).filter(|parent| !parent.exists());
            let parent = parent.ok_or_else(|| failed("create the folder", path, e))?;
            create_folder(parent, created)?;
            fs::create_dir(path).map_err(|e| failed("create the folder", path, e))?;
            created.push(path.to_owned());
        }
        Err(e) => return Err(failed("create the folder", path, e)),
    }
    parent(path).map_or(Ok(()), sync_folder)
}

/// Removes folders, the innermost first, up to one that has something in it.
fn remove_folders(created: &[PathBuf]) {
    for folder in created.iter().rev() {
        if fs::remove_dir(folder).is_err_and(|e| e.kind() != io::ErrorKind::NotFound) {
            return;
        }
    }
}

/// Returns the folder that contains the name of `path`, or `None` for the root of a file system.
fn parent(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    Some(if parent.as_os_str().is_empty() { Path::new(".") } else { parent })
}

fn sync_folder(path: &Path) -> Result<()> {
    let synced = Folder::open(path).and_then(|folder| folder.sync());
    synced.map_err(|e| failed("sync the folder", path, e))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn removed_or_replaced_lock_file_or_folder_is_noticed() {
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("db");
        let disk = Disk::new(&root);
        disk.create_root().unwrap();
        let kind = |lock: &dyn FolderLock| lock.check().unwrap_err().kind();

        let held = disk.lock().unwrap();
        held.check().unwrap();
        fs::remove_file(root.join(LOCK)).unwrap();
        assert_eq!(kind(&*held), ErrorKind::Replaced);
        fs::write(root.join(LOCK), b"").unwrap();
        assert_eq!(kind(&*held), ErrorKind::Replaced);

        let held = disk.lock().unwrap();
        fs::rename(&root, parent.path().join("moved")).unwrap();
        assert_eq!(kind(&*held), ErrorKind::Replaced);
        fs::create_dir(&root).unwrap();
        assert_eq!(kind(&*held), ErrorKind::Replaced);
        assert_eq!(disk.lock().unwrap_err().kind(), ErrorKind::Locked, "still the moved folder");
    }

    #[test]
    fn folder_is_unlocked_even_if_a_child_still_has_the_lock_file_open() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        let file = disk.folder().unwrap().open_or_create_file(LOCK).unwrap();
        assert!(try_lock_exclusive(&file).unwrap());
        let childs = file.try_clone().unwrap();
        let lock = DiskLock { disk: disk.clone(), file, process: Process::current() };
        assert_eq!(disk.lock().unwrap_err().kind(), ErrorKind::Locked);
        drop(lock);
        assert!(disk.lock().is_ok());
        drop(childs);
    }

    #[cfg(unix)]
    #[test]
    fn files_are_those_of_the_folder_that_was_opened() {
        let parent = tempfile::tempdir().unwrap();
        let (root, moved) = (parent.path().join("db"), parent.path().join("moved"));
        let disk = Disk::new(&root);
        disk.create_root().unwrap();
        disk.create("a").unwrap();
        fs::rename(&root, &moved).unwrap();
        fs::create_dir(&root).unwrap();
        fs::write(root.join("a"), b"another").unwrap();
        assert_eq!(disk.read("a", 100).unwrap(), b"");
        fs::rename(&root, parent.path().join("another")).unwrap();
        assert!(disk.free_space().unwrap() > 0);
        fs::rename(parent.path().join("another"), &root).unwrap();
        disk.rename("a", "b").unwrap();
        disk.create("c").unwrap();
        disk.remove("b").unwrap();
        assert_eq!(disk.list().unwrap().unwrap(), ["c"]);
        assert_eq!(fs::read(root.join("a")).unwrap(), b"another");
        assert_eq!(fs::read_dir(&root).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_pipes_and_folders_are_not_opened() {
        use std::os::unix::fs::symlink;
        let parent = tempfile::tempdir().unwrap();
        let root = parent.path().join("db");
        let disk = Disk::new(&root);
        disk.create_root().unwrap();
        let outside = parent.path().join("outside");
        fs::write(&outside, b"outside").unwrap();
        symlink(&outside, root.join("link")).unwrap();
        symlink(parent.path().join("missing"), root.join("dangling")).unwrap();
        symlink("/dev/zero", root.join("endless")).unwrap();
        fs::create_dir(root.join("folder")).unwrap();
        let status = std::process::Command::new("mkfifo").arg(root.join("pipe")).status();
        assert!(status.unwrap().success());
        for name in ["link", "dangling", "endless", "folder", "pipe"] {
            assert!(disk.read(name, 100).is_err(), "{name}");
            assert!(disk.open(name).is_err(), "{name}");
            assert!(disk.create(name).is_err(), "{name}");
        }
        symlink(parent.path().join("missing"), root.join(LOCK)).unwrap();
        assert!(disk.lock().is_err());
        assert!(!parent.path().join("missing").exists());
        assert_eq!(disk.list().unwrap().unwrap(), Vec::<String>::new());
    }

    #[test]
    fn file_that_is_longer_than_the_limit_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let disk = Disk::new(folder.path());
        disk.create("a").unwrap().append(&[7; 100]).unwrap();
        assert_eq!(disk.read("a", 100).unwrap(), [7; 100]);
        let error = disk.read("a", 99).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Corruption);
        let long = File::create(folder.path().join("b")).unwrap();
        long.set_len(1 << 40).unwrap();
        assert_eq!(disk.read("b", 1 << 26).unwrap_err().kind(), ErrorKind::Corruption);
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
        assert_eq!(disk.read("a.run", 1 << 20).unwrap(), expected);
    }

    #[test]
    fn parents_that_were_created_are_removed_with_the_folder() {
        let parent = tempfile::tempdir().unwrap();
        let outer = parent.path().join("a");
        let disk = Disk::new(outer.join("b/db"));
        for other in [None, Some(outer.join("another"))] {
            disk.create_root().unwrap();
            if let Some(other) = &other {
                fs::write(other, b"").unwrap();
            }
            disk.clone().remove_root();
            assert!(!outer.join("b").exists());
            assert_eq!(outer.exists(), other.is_some());
        }
        // Neither they nor the folder, which cannot be created, are left.
        let disk = Disk::new(parent.path().join("c/d").join("x".repeat(1000)));
        disk.create_root().unwrap_err();
        assert!(!parent.path().join("c").exists());
        // What was there stays.
        fs::create_dir(parent.path().join("e")).unwrap();
        let disk = Disk::new(parent.path().join("e/db"));
        disk.create_root().unwrap();
        disk.remove_root();
        assert!(parent.path().join("e").exists());
    }

    #[test]
    fn relative_folder_has_a_parent_to_sync() {
        assert_eq!(parent(Path::new("db")), Some(Path::new(".")));
        assert_eq!(parent(Path::new("a/db")), Some(Path::new("a")));
        assert_eq!(parent(Path::new("/")), None);
    }
}
