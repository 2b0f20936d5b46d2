//! A folder as a file descriptor.

#![expect(clippy::disallowed_types, reason = "a part of the module that uses files")]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, Stat};
use rustix::io::retry_on_intr;

use super::not_a_file;

/// Flags of every file: no link is followed, and a pipe does not wait for its other end.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// An open folder. Calls that a signal interrupts are repeated; `tools/power/syscalls.py` tests that.
#[derive(Debug)]
pub(in crate::storage) struct Folder(OwnedFd);

impl Folder {
    /// Opens the folder at `path`, which may be a link to it.
    pub(in crate::storage) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        Ok(Self(retry_on_intr(|| rustix::fs::openat(CWD, path, flags, Mode::empty()))?))
    }

    /// Returns whether `path` leads to this folder.
    pub(in crate::storage) fn is_at(&self, path: &Path) -> io::Result<bool> {
        is_same(&rustix::fs::fstat(&self.0)?, rustix::fs::statat(CWD, path, AtFlags::empty()))
    }

    /// Returns whether the name is still that of the open file.
    pub(in crate::storage) fn has(&self, name: &str, file: &File) -> io::Result<bool> {
        let named = rustix::fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW);
        is_same(&rustix::fs::fstat(file)?, named)
    }

    /// Returns the names of the regular files. fpdb makes no file whose name is not UTF-8.
    pub(in crate::storage) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let kind = match entry.file_type() {
                // Not every file system knows it without looking at the file.
                FileType::Unknown => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    match rustix::fs::statat(&self.0, entry.file_name(), flags) {
                        Ok(stat) => FileType::from_raw_mode(stat.st_mode),
                        Err(rustix::io::Errno::NOENT) => continue,
                        Err(e) => return Err(e.into()),
                    }
                }
                known => known,
            };
            if kind == FileType::RegularFile {
                names.extend(entry.file_name().to_str().map(str::to_owned));
            }
        }
        Ok(names)
    }

    /// Opens a regular file for reading.
    pub(in crate::storage) fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDONLY)
    }

    /// Creates a file to append to. The name must not exist, not even as a link.
    pub(in crate::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::WRONLY | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a regular file for writing, or creates it.
    pub(in crate::storage) fn open_or_create_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::CREATE)
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let open = || rustix::fs::openat(&self.0, name, flags | FLAGS, Mode::from(0o666));
        let file = match retry_on_intr(open) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::LOOP) => return Err(not_a_file()),
            Err(e) => return Err(e.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
    }

    /// Renames a file, and replaces any file that had the new name.
    pub(in crate::storage) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.0, from, &self.0, to))?)
    }

    /// Removes a file.
    pub(in crate::storage) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.0, name, AtFlags::empty()))?)
    }

    /// Makes the names durable.
    pub(in crate::storage) fn sync(&self) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::fsync(&self.0))?)
    }

    /// Returns the name of the file system if it is one of another machine.
    #[cfg(target_os = "linux")]
    pub(in crate::storage) fn network_file_system(&self) -> io::Result<Option<&'static str>> {
        // From linux/magic.h, and of CIFS from its sources.
        const TYPES: [(i64, &str); 6] = [
            (0x6969, "NFS"),
            (0x517b, "SMB"),
            (0xff53_4d42, "CIFS"),
            (0xfe53_4d42, "SMB"),
            (0x5346_414f, "AFS"),
            (0x7375_7245, "Coda"),
        ];
        let found = rustix::fs::fstatfs(&self.0)?.f_type;
        Ok(TYPES.iter().find(|(magic, _)| i64::from(found) == *magic).map(|&(_, name)| name))
    }

    /// Other systems do not say.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::storage) fn network_file_system(&self) -> io::Result<Option<&'static str>> {
        Ok(None)
    }
}

/// Returns whether something that was opened is what the name now stands for.
fn is_same(opened: &Stat, named: rustix::io::Result<Stat>) -> io::Result<bool> {
    match named {
        Ok(named) => Ok((opened.st_dev, opened.st_ino) == (named.st_dev, named.st_ino)),
        Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR) => Ok(false),
        Err(e) => Err(e.into()),
    }
}
