//! The files of a database: what kinds there are, and reading some of their bytes.

use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// Bytes of a file header.
pub(super) const HEADER: usize = 64;

/// A file that is shown.
pub(crate) struct File {
    path: PathBuf,
    file: fs::File,
    pub(super) len: u64,
}

/// Returns what a file is by its name.
fn kind_of(name: &str) -> &'static str {
    match name.rsplit_once('.').map(|(_, ending)| ending) {
        Some("log") => "log",
        Some("ids") => "postings",
        Some("del") => "tombstones",
        Some("docs") => "documents",
        Some(ending) if ending.starts_with('t') && ending.len() == 3 => "table",
        Some(ending) if ending.starts_with('c') && ending.len() == 3 => "columns",
        _ if name == "MANIFEST" || name == "MANIFEST.copy" => "manifest",
        _ => "other",
    }
}

impl File {
    pub(crate) fn open(path: &Path) -> Result<Self> {
        let open = || -> io::Result<Self> {
            let file = fs::File::open(path)?;
            let len = file.metadata()?.len();
            Ok(Self { path: path.to_owned(), file, len })
        };
        open().with_context(|| format!("cannot open {}", path.display()))
    }

    pub(super) fn kind(&self) -> &'static str {
        kind_of(&self.path.file_name().unwrap_or_default().to_string_lossy())
    }

    /// Reads some of the file; less at its end.
    pub(super) fn window(&self, at: u64, len: usize) -> Result<Vec<u8>> {
        let mut bytes = Vec::new();
        let mut read = || -> io::Result<()> {
            (&self.file).seek(SeekFrom::Start(at))?;
            (&self.file).take(len as u64).read_to_end(&mut bytes).map(drop)
        };
        read().with_context(|| format!("cannot read {}", self.path.display()))?;
        Ok(bytes)
    }
}
