//! A folder as a path, for systems without handles of folders in Rust's standard library.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a part of the module that uses files"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::not_a_file;

use crate::base::parallel::lock;

/// How long to wait for a program that has the file open which a rename replaces. Readers of a
/// database keep the manifest open for less than a millisecond.
const LONGEST_WAIT: Duration = Duration::from_secs(10);

/// How long to wait before the first repetition. Each further wait is twice as long.
const FIRST_WAIT: Duration = Duration::from_millis(1);

#[derive(Debug)]
pub(in crate::file::storage) struct Folder {
    path: PathBuf,
    /// Files that are to be removed when no program has them open any more. After a restart, the
    /// database finds those that are still there among its orphans.
    in_use: Mutex<Vec<String>>,
}

impl Folder {
    /// Opens the folder at `path`.
    pub(in crate::file::storage) fn open(path: &Path) -> io::Result<Self> {
        // Absolute, because a program may change its working directory.
        let path = std::path::absolute(path)?;
        fs::read_dir(&path)?;
        Ok(Self { path, in_use: Mutex::default() })
    }

    /// Returns whether the path at which the folder was opened still leads to it. A folder with
    /// open files keeps its name.
    pub(in crate::file::storage) fn is_in_place(&self) -> io::Result<bool> {
        self.path.try_exists()
    }

    /// Returns whether the open file still has this name. An open file keeps its name.
    pub(in crate::file::storage) fn has(&self, name: &str, _: &File) -> io::Result<bool> {
        self.path.join(name).try_exists()
    }

    /// Returns the names of the regular files. fpdb makes no file whose name is not Unicode.
    pub(in crate::file::storage) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    /// Opens a regular file for reading.
    pub(in crate::file::storage) fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OpenOptions::new().read(true))
    }

    /// Creates a file to append to. The name must not exist.
    pub(in crate::file::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        let file = OpenOptions::new().append(true).create_new(true).open(self.path.join(name))?;
        self.keep(name);
        Ok(file)
    }

    /// Opens a regular file for writing, or creates it.
    pub(in crate::file::storage) fn open_or_create_file(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        self.file(name, options.read(true).write(true).create(true).truncate(false))
    }

    fn file(&self, name: &str, options: &OpenOptions) -> io::Result<File> {
        let path = self.path.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => return Err(not_a_file()),
            _ => {}
        }
        options.open(path)
    }

    /// Renames a file, and replaces any file that had the new name. Waits while another program has
    /// that file open.
    pub(in crate::file::storage) fn rename(&self, old: &str, new: &str) -> io::Result<()> {
        let (from, to) = (self.path.join(old), self.path.join(new));
        let (begin, mut wait) = (Instant::now(), FIRST_WAIT);
        loop {
            match fs::rename(&from, &to) {
                Err(e) if is_in_use(&e) && begin.elapsed() < LONGEST_WAIT => {
                    std::thread::sleep(wait);
                    wait *= 2;
                }
                Ok(()) => {
                    self.keep(new);
                    return Ok(());
                }
                result => return result,
            }
        }
    }

    /// Removes a file, or remembers to do so later if a program has it open.
    pub(in crate::file::storage) fn remove(&self, name: &str) -> io::Result<()> {
        let mut in_use = self.in_use();
        in_use.retain(|name| self.is_in_use_now(name).unwrap_or(false));
        if self.is_in_use_now(name)? {
            in_use.push(name.to_owned());
        }
        Ok(())
    }

    /// Removes a file, or returns true if a program has it open.
    fn is_in_use_now(&self, name: &str) -> io::Result<bool> {
        match fs::remove_file(self.path.join(name)) {
            Ok(()) => Ok(false),
            Err(e) if is_in_use(&e) => Ok(true),
            Err(e) => Err(e),
        }
    }

    /// Does not remove a file later that has this name now: it is another one.
    fn keep(&self, name: &str) {
        self.in_use().retain(|in_use| in_use != name);
    }

    fn in_use(&self) -> MutexGuard<'_, Vec<String>> {
        lock(&self.in_use)
    }

    /// Folders cannot be synced here, and the file system journals their entries.
    pub(in crate::file::storage) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns how many more bytes can be written to the file system.
    pub(in crate::file::storage) fn free_space(&self) -> io::Result<u64> {
        fs2::available_space(&self.path)
    }

    /// Other systems do not say, so all folders may be on the same one.
    pub(in crate::file::storage) fn file_system(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// Other systems do not say.
    pub(in crate::file::storage) fn doubtful_file_system(
        &self,
    ) -> io::Result<Option<&'static str>> {
        Ok(None)
    }
}

/// Whether an error says that a program has the file open. Windows reports a sharing violation, or
/// denies access.
fn is_in_use(error: &io::Error) -> bool {
    const SHARING_VIOLATION: i32 = 32;
    error.kind() == io::ErrorKind::PermissionDenied
        || cfg!(windows) && error.raw_os_error() == Some(SHARING_VIOLATION)
}

#[cfg(all(test, windows))]
mod tests {
    use std::io::Write;
    use std::os::windows::fs::OpenOptionsExt;

    use super::*;

    /// Opens a file so that nobody can remove or replace it.
    fn hold(folder: &Folder, name: &str) -> File {
        OpenOptions::new().read(true).share_mode(1).open(folder.path.join(name)).unwrap()
    }

    fn create(folder: &Folder, name: &str) {
        folder.create_file(name).unwrap().write_all(name.as_bytes()).unwrap();
    }

    #[test]
    fn file_in_use_is_removed_when_another_file_is_removed_later() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(root.path()).unwrap();
        ["a", "b", "c"].iter().for_each(|name| create(&folder, name));
        let held = hold(&folder, "a");
        folder.remove("a").unwrap();
        folder.remove("b").unwrap();
        assert_eq!(folder.names().unwrap().len(), 2);
        drop(held);
        folder.remove("c").unwrap();
        assert_eq!(folder.names().unwrap().len(), 0);
    }

    #[test]
    fn new_file_with_the_name_of_a_removed_one_stays() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(root.path()).unwrap();
        ["a", "b"].iter().for_each(|name| create(&folder, name));
        let held = hold(&folder, "a");
        folder.remove("a").unwrap();
        drop(held);
        fs::remove_file(folder.path.join("a")).unwrap();
        create(&folder, "a");
        folder.remove("b").unwrap();
        assert_eq!(folder.names().unwrap(), ["a"]);
    }

    #[test]
    fn file_in_use_is_replaced_when_it_is_closed() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::open(root.path()).unwrap();
        ["a", "b"].iter().for_each(|name| create(&folder, name));
        let held = hold(&folder, "b");
        std::thread::scope(|scope| {
            let rename = scope.spawn(|| folder.rename("a", "b"));
            std::thread::sleep(Duration::from_millis(20));
            drop(held);
            rename.join().unwrap().unwrap();
        });
        assert_eq!(fs::read(folder.path.join("b")).unwrap(), b"a");
    }
}
