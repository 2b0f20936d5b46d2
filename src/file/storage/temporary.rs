//! Files without a name, for what a reader cannot hold in memory.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::append_file::AppendFile;
use super::open_file::OpenFile;
use super::{ReadFile, WriteFile, failed};
use crate::base::error::Result;

/// A file without a name in some folder. The system removes it when it is closed, even if the
/// process is killed. On Windows, it has a name until then.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    file: AppendFile,
    /// The folder, for messages.
    folder: PathBuf,
}

impl TemporaryFile {
    /// Creates an empty file in this folder.
    pub(crate) fn create(folder: &Path) -> Result<Self> {
        match tempfile::tempfile_in(folder) {
            Ok(file) => Ok(Self { file: AppendFile::new(file), folder: folder.to_owned() }),
            Err(e) => Err(failed("create a temporary file in the folder", folder, e)),
        }
    }

    /// Ends the file, so that it can be read.
    pub(crate) fn finish(self) -> Result<Arc<dyn ReadFile>> {
        match self.file.file().try_clone().and_then(OpenFile::new) {
            Ok(file) => Ok(Arc::new(file)),
            Err(e) => Err(failed("read a temporary file in the folder", &self.folder, e)),
        }
    }
}

impl TemporaryFile {
    fn check(&self, written: io::Result<()>) -> Result<()> {
        written.map_err(|e| failed("write to a temporary file in the folder", &self.folder, e))
    }
}

impl WriteFile for TemporaryFile {
    fn append(&self, bytes: &[u8]) -> Result<()> {
        self.check(self.file.append(bytes))
    }

    fn append_once(&self, bytes: &[u8]) -> Result<()> {
        self.check(self.file.append_once(bytes))
    }

    fn sync(&self) -> Result<()> {
        self.check(self.file.sync())
    }

    fn check_name(&self) -> Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(windows, ignore = "the file has a name there until it is closed")]
    fn what_was_appended_is_read_and_the_folder_stays_empty() {
        let folder = tempfile::tempdir().unwrap();
        let file = TemporaryFile::create(folder.path()).unwrap();
        file.append(b"some ").unwrap();
        file.append_once(b"bytes").unwrap();
        let names = || std::fs::read_dir(folder.path()).unwrap().count();
        assert_eq!(names(), 0);
        let file = file.finish().unwrap();
        let mut bytes = [0; 5];
        file.read_at(5, &mut bytes).unwrap();
        assert_eq!((file.length(), &bytes), (10, b"bytes"));
        assert_eq!(names(), 0);
    }

    #[test]
    fn missing_folder_is_a_clear_error() {
        let folder = tempfile::tempdir().unwrap();
        let missing = folder.path().join("missing");
        let error = TemporaryFile::create(&missing).unwrap_err();
        assert!(error.to_string().contains(&*missing.to_string_lossy()), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn full_disk_is_a_clear_error() {
        let file = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let file = AppendFile::new(file);
        let full = TemporaryFile { file, folder: "folder".into() };
        let error = full.append(b"bytes").unwrap_err();
        assert_eq!(error.kind(), crate::base::error::ErrorKind::NoSpace);
        assert!(error.to_string().contains("free some space"), "{error}");
    }
}
