//! A folder as a file descriptor.

#![expect(clippy::disallowed_types, reason = "a part of the module that uses files")]

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, Stat, Uid};
use rustix::io::retry_on_intr;

use super::not_a_file;

/// Flags of every file: no link is followed, and a pipe does not wait for its other end.
const FLAGS: OFlags = OFlags::CLOEXEC.union(OFlags::NOFOLLOW).union(OFlags::NONBLOCK);

/// An open folder. Calls that a signal interrupts are repeated; `tools/power/syscalls.py` tests
/// that.
#[derive(Debug)]
pub(in crate::file::storage) struct Folder {
    fd: File,
    /// Absolute, because a program may change its working directory.
    path: PathBuf,
}

impl Folder {
    /// Opens the folder at `path`, which may be a link to it.
    pub(in crate::file::storage) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let path = std::path::absolute(path)?;
        let open = || rustix::fs::openat(CWD, &path, flags, Mode::empty());
        let fd = retry_on_intr(open)?;
        Ok(Self { fd: fd.into(), path })
    }

    /// Returns whether the path at which the folder was opened still leads to it.
    pub(in crate::file::storage) fn is_in_place(&self) -> io::Result<bool> {
        let found = rustix::fs::statat(CWD, &self.path, AtFlags::empty());
        is_same(&rustix::fs::fstat(&self.fd)?, found)
    }

    /// Returns whether the open file still has this name.
    pub(in crate::file::storage) fn has(&self, name: &str, file: &File) -> io::Result<bool> {
        let named = rustix::fs::statat(&self.fd, name, AtFlags::SYMLINK_NOFOLLOW);
        is_same(&rustix::fs::fstat(file)?, named)
    }

    /// Returns the names of the regular files. fpdb makes no file whose name is not UTF-8.
    pub(in crate::file::storage) fn names(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in retry_on_intr(|| Dir::read_from(&self.fd))? {
            let entry = entry?;
            let kind = match entry.file_type() {
                // Not every file system knows it without looking at the file.
                FileType::Unknown => {
                    let flags = AtFlags::SYMLINK_NOFOLLOW;
                    match rustix::fs::statat(&self.fd, entry.file_name(), flags) {
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
    pub(in crate::file::storage) fn open_file(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDONLY)
    }

    /// Creates a file to append to. The name must not exist, not even as a link.
    pub(in crate::file::storage) fn create_file(&self, name: &str) -> io::Result<File> {
        self.new_file(name, OFlags::WRONLY | OFlags::APPEND)
    }

    /// Opens a regular file for writing, or creates it.
    pub(in crate::file::storage) fn open_or_create_file(&self, name: &str) -> io::Result<File> {
        match self.new_file(name, OFlags::RDWR) {
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
                self.file(name, OFlags::RDWR | OFlags::CREATE)
            }
            file => file,
        }
    }

    /// Creates a file. What root creates belongs to the owner of the folder, who could not open the
    /// database otherwise. A file that was there keeps its owner: it may be a hard link.
    fn new_file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let file = self.file(name, flags | OFlags::CREATE | OFlags::EXCL)?;
        if rustix::process::geteuid().is_root() {
            let folder = self.fd.metadata()?;
            let (owner, group) = (Uid::from_raw(folder.uid()), Gid::from_raw(folder.gid()));
            // Not every file system and container can change owners, and then the file is root's.
            if !owner.is_root() {
                let _ = rustix::fs::fchown(&file, Some(owner), Some(group));
            }
        }
        Ok(file)
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let open = || rustix::fs::openat(&self.fd, name, flags | FLAGS, Mode::from(0o666));
        let file = match retry_on_intr(open) {
            Ok(file) => File::from(file),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::MLINK) => return Err(not_a_file()),
            Err(e) => return Err(e.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(not_a_file()) }
    }

    /// Renames a file, and replaces any file that had the new name.
    pub(in crate::file::storage) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::renameat(&self.fd, from, &self.fd, to))?)
    }

    /// Removes a file.
    pub(in crate::file::storage) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(retry_on_intr(|| rustix::fs::unlinkat(&self.fd, name, AtFlags::empty()))?)
    }

    /// Makes the names durable.
    pub(in crate::file::storage) fn sync(&self) -> io::Result<()> {
        // Not `fsync`, which does not reach the device on every system.
        self.fd.sync_all()
    }

    /// Returns how many more bytes can be written to the file system.
    pub(in crate::file::storage) fn free_space(&self) -> io::Result<u64> {
        let found = retry_on_intr(|| rustix::fs::fstatvfs(&self.fd))?;
        Ok(found.f_bavail.saturating_mul(found.f_frsize))
    }

    pub(in crate::file::storage) fn file_system(&self) -> io::Result<u64> {
        Ok(self.fd.metadata()?.dev())
    }

    /// Returns the name of the file system if its locks and syncs may not work.
    #[cfg(target_os = "linux")]
    pub(in crate::file::storage) fn doubtful_file_system(
        &self,
    ) -> io::Result<Option<&'static str>> {
        // The type of the number differs between processors; the numbers have 32 bits.
        let number = rustix::fs::fstatfs(&self.fd)?.f_type;
        Ok(u32::try_from(number).ok().and_then(doubtful_name))
    }

    /// Other systems do not say.
    #[cfg(not(target_os = "linux"))]
    pub(in crate::file::storage) fn doubtful_file_system(
        &self,
    ) -> io::Result<Option<&'static str>> {
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

/// Returns the name of a file system that reaches another machine, a host or a program, by the
/// number of its type in linux/magic.h or in its own source.
#[cfg(target_os = "linux")]
fn doubtful_name(magic: u32) -> Option<&'static str> {
    match magic {
        0x6969 => Some("NFS"),
        0x517b | 0xfe53_4d42 => Some("SMB"),
        0xff53_4d42 => Some("CIFS"),
        0x5346_414f => Some("AFS"),
        0x7375_7245 => Some("Coda"),
        0x6573_5546 => Some("FUSE"),
        0x0102_1997 => Some("9P"),
        0x00c3_6400 => Some("Ceph"),
        0x0bd0_0bd0 => Some("Lustre"),
        0x4750_4653 => Some("GPFS"),
        0x1983_0326 => Some("BeeGFS"),
        0x786f_4256 => Some("vboxsf"),
        _ => None,
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn doubtful_file_systems_are_recognised_and_local_ones_are_not() {
        let doubtful = [0x6969, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x00c3_6400];
        let names = ["NFS", "SMB", "FUSE", "9P", "Ceph"];
        assert_eq!(doubtful.map(doubtful_name), names.map(Some));
        let [ext4, xfs, btrfs, tmpfs] = [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994];
        assert_eq!([ext4, xfs, btrfs, tmpfs].map(doubtful_name), [None; 4]);
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Folder::open(folder.path()).unwrap().doubtful_file_system().unwrap(), None);
    }
}
