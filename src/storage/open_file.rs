//! A file of the file system that is open for reading.

#![expect(clippy::disallowed_types, reason = "reads files, as the storage of a folder does")]

use std::fs::File;
use std::io;

use super::access::Access;
use super::mmap::FileMap;
use super::read_file::ReadFile;

/// A file opened for reading.
#[derive(Debug)]
pub(super) struct OpenFile {
    file: File,
    length: u64,
    access: Access,
}

impl OpenFile {
    pub(super) fn new(file: File, access: Access) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self { file, length, access })
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

    fn access(&self) -> Access {
        self.access
    }

    fn map(&self) -> io::Result<Option<FileMap>> {
        let len = usize::try_from(self.length).map_err(io::Error::other)?;
        // Not every system can map an empty file.
        if len == 0 { Ok(None) } else { FileMap::new(&self.file, len).map(Some) }
    }
}
