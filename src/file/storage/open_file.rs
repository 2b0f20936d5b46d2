//! A file of the file system that is open for reading.

#![expect(clippy::disallowed_types, reason = "reads files, as the storage of a folder does")]

use std::fs::File;
use std::io;
#[cfg(target_os = "linux")]
use std::{
    os::fd::AsRawFd,
    sync::OnceLock,
    sync::atomic::{AtomicBool, Ordering::Relaxed},
};

use super::read_file::ReadFile;

/// `RWF_DONTCACHE`, of Linux 6.14: pages that a read or a write brings into the cache leave it
/// again, after a write as soon as they are on the device. Pages that were in the cache before
/// stay.
#[cfg(target_os = "linux")]
pub(super) const DONT_CACHE: rustix::io::ReadWriteFlags =
    rustix::io::ReadWriteFlags::from_bits_retain(0x80);

/// A file opened for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    length: u64,
    /// The same file with read-ahead, for [`read_once`](ReadFile::read_once), if `file` is without
    /// it and could be opened again.
    #[cfg(target_os = "linux")]
    in_order: OnceLock<Option<File>>,
    /// Whether the system is asked not to keep what is read once. Not every kernel and file system
    /// can do that.
    #[cfg(target_os = "linux")]
    reads_once: AtomicBool,
}

impl OpenFile {
    pub(super) fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            length,
            #[cfg(target_os = "linux")]
            in_order: OnceLock::from(None),
            #[cfg(target_os = "linux")]
            reads_once: AtomicBool::new(true),
        })
    }

    /// Turns off the system's read-ahead, except for [`read_once`](ReadFile::read_once). It takes
    /// queries that meet the background for one long read, and then reads megabytes ahead, for
    /// which the next queries wait.
    #[cfg(target_os = "linux")]
    pub(super) fn without_read_ahead(self) -> Self {
        let _ = rustix::fs::fadvise(&self.file, 0, None, rustix::fs::Advice::Random);
        Self { in_order: OnceLock::new(), ..self }
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn without_read_ahead(self) -> Self {
        self
    }

    /// Returns the file with read-ahead. Since that is a property of an open file, it is opened a
    /// second time. If that fails, for lack of `/proc` for example, reading in order takes longer.
    #[cfg(target_os = "linux")]
    fn in_order(&self) -> &File {
        let open = || File::open(format!("/proc/self/fd/{}", self.file.as_raw_fd())).ok();
        self.in_order.get_or_init(open).as_ref().unwrap_or(&self.file)
    }
}

impl ReadFile for OpenFile {
    fn length(&self) -> u64 {
        self.length
    }

    #[cfg(unix)]
    fn read_at(&self, offset: u64, to: &mut [u8]) -> io::Result<()> {
        std::os::unix::fs::FileExt::read_exact_at(&self.file, to, offset)
    }

    #[cfg(windows)]
    fn read_at(&self, mut offset: u64, mut to: &mut [u8]) -> io::Result<()> {
        while !to.is_empty() {
            match std::os::windows::fs::FileExt::seek_read(&self.file, to, offset) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    to = to.get_mut(read..).unwrap_or_default();
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }

    #[cfg(target_os = "linux")]
    fn prefetch(&self, offset: u64, len: u64) {
        let len = std::num::NonZeroU64::new(len);
        let _ = rustix::fs::fadvise(&self.file, offset, len, rustix::fs::Advice::WillNeed);
    }

    #[cfg(target_os = "linux")]
    fn read_once(&self, mut offset: u64, mut to: &mut [u8]) -> io::Result<()> {
        let file = self.in_order();
        while !to.is_empty() && self.reads_once.load(Relaxed) {
            let mut parts = [io::IoSliceMut::new(to)];
            match rustix::io::preadv2(file, &mut parts, offset, DONT_CACHE) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => {
                    offset += read as u64;
                    to = to.get_mut(read..).unwrap_or_default();
                }
                Err(rustix::io::Errno::INTR) => {}
                Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {
                    self.reads_once.store(false, Relaxed);
                }
                Err(e) => return Err(e.into()),
            }
        }
        std::os::unix::fs::FileExt::read_exact_at(file, to, offset)
    }

    #[cfg(target_os = "linux")]
    fn forget(&self, offset: u64, len: u64) {
        let len = std::num::NonZeroU64::new(len);
        let _ = rustix::fs::fadvise(&self.file, offset, len, rustix::fs::Advice::DontNeed);
    }

    #[cfg(target_os = "linux")]
    fn discard(&self, offset: u64, len: u64) -> bool {
        use rustix::fs::FallocateFlags as Flags;
        let flags = Flags::PUNCH_HOLE | Flags::KEEP_SIZE;
        len == 0 || rustix::fs::fallocate(&self.file, flags, offset, len).is_ok()
    }
}
