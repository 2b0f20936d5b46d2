//! A folder as a path, for systems without handles of folders in Rust's standard library.

#![expect(
    clippy::disallowed_types,
    clippy::disallowed_methods,
    reason = "a part of the module that uses files"
)]

use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use super::not_a_file;

/// A folder.
#[derive(Debug)]
pub(in crate::storage) struct Folder(PathBuf);

impl Folder {
    /// Opens the folder at `path`.
    pub(in crate::storage) fn open(path: &Path) -> io::Result<Self> {
        // Absolute, because a program may change its working directory.
        let path = std::path::absolute(path)?;
        fs::read_dir(&path)?;
        Ok(Self(path))
    }

    /// Returns whether the path at which the folder was opened still leads to it. A folder with
    /// open files keeps its name.
    pub(in crate::storage) fn is_in_place(&self) -> io::Result<bool> {
        self.0.try_exists()
    }

    /// Returns whether the open file still has this name. An open file keeps its name.
    pub(in crate::storage) fn has(&self, name: &str, _: &File) -> io::Result<bool> {
        self.0.join(name).try_exists()
    }

    /// Returns the names of the regular files. fpdb makes no file whose name is not Unicode.
    pub(in crate::storage) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.0)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                names.extend(entry.file_name().into_string());
            }
        }
        Ok(names)
    }

    /// Opens a regular file for reading.
    pub(in crate::storage) fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OpenOptions::new().read(true))
    }

    /// Creates a file to append to. The name must not exist.
    pub(in crate::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        OpenOptions::new().append(true).create_new(true).open(self.0.join(name))
    }

    /// Opens a regular file for writing, or creates it.
    pub(in crate::storage) fn open_or_create_file(&self, name: &str) -> io::Result<File> {
        let mut options = OpenOptions::new();
        self.file(name, options.read(true).write(true).create(true).truncate(false))
    }

    fn file(&self, name: &str, options: &OpenOptions) -> io::Result<File> {
        let path = self.0.join(name);
        match fs::symlink_metadata(&path) {
            Ok(found) if !found.is_file() => return Err(not_a_file()),
            _ => {}
        }
        options.open(path)
    }

    /// Renames a file, and replaces any file that had the new name.
    pub(in crate::storage) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.0.join(from), self.0.join(to))
    }

    /// Removes a file.
    pub(in crate::storage) fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.0.join(name))
    }

    /// Folders cannot be synced here, and the file system journals their entries.
    pub(in crate::storage) fn sync(&self) -> io::Result<()> {
        Ok(())
    }

    /// Returns how many more bytes can be written to the file system.
    pub(in crate::storage) fn free_space(&self) -> io::Result<u64> {
        fs2::available_space(&self.0)
    }

    /// Other systems do not say, so all folders may be on the same one.
    pub(in crate::storage) fn file_system(&self) -> io::Result<u64> {
        Ok(0)
    }

    /// Other systems do not say.
    pub(in crate::storage) fn network_file_system(&self) -> io::Result<Option<&'static str>> {
        Ok(None)
    }
}
