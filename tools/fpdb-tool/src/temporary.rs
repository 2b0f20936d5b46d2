//! Folders for temporary databases, which do not outlive the run: not at its end, not after an
//! error, and not when somebody ends the tool by Ctrl-C, SIGTERM or SIGHUP.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context as _, Result, bail};
use fpdb::Layout;
use tempfile::TempDir;

use crate::output::iec;

/// The exit code of a process ended by Ctrl-C, as shells count it.
const INTERRUPTED: i32 = 130;

/// The folders there are.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder that goes when it is dropped.
pub(crate) struct Temporary(TempDir);

impl Temporary {
    /// A new folder in `parent`, or in the system's folder for temporary files.
    pub(crate) fn new(parent: Option<&Path>) -> Result<Self> {
        remove_when_ended()?;
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        // Ctrl-C between making the folder and writing it down must not leave it behind.
        let mut folders = folders();
        let folder = tempfile::Builder::new().prefix("fpdb-tool-").tempdir_in(&parent);
        let folder = folder.with_context(|| format!("cannot write to {}", parent.display()))?;
        folders.insert(folder.path().to_owned());
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Refuses to begin what needs more bytes than the disk has left.
    pub(crate) fn need(&self, bytes: u64) -> Result<()> {
        let path = self.path();
        let parent = path.parent().unwrap_or(path).display();
        let free = fs2::available_space(path);
        let free = free.with_context(|| format!("cannot tell how much room {parent} has"))?;
        if free < bytes {
            bail!(
                "up to {} are needed in {parent}, which has {} left: choose another --folder, or \
                 fewer entries",
                iec(bytes),
                iec(free)
            );
        }
        Ok(())
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // The handler may have come first; and whoever made files there that nobody may remove has
        // to remove them.
        let _ = fs::remove_dir_all(self.path());
        folders().remove(self.path());
    }
}

/// Disk that loading `n` entries into a new database takes at most: the tables, at a quarter more
/// than raw fingerprints, the ids, and what is sorted on disk meanwhile.
pub(crate) fn room_for(layout: &Layout, filter_bits: u32, n: u64) -> u64 {
    /// Header, footer and last page of a file, and the log.
    const FILE: u64 = 1 << 14;
    let width = u64::from(layout.bits()) / 8;
    let tables = layout.tables() as u64;
    let table = width + width / 4 + u64::from(filter_bits).div_ceil(8);
    let sorted = 2 * (width + 8) + 2 * width;
    n.saturating_mul(tables * table + 8 + sorted).saturating_add((tables + 4) * FILE)
}

fn folders() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Sees to it that folders are removed when the process is told to end. Once is for all folders.
fn remove_when_ended() -> Result<()> {
    static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
    let installed = HANDLER.get_or_init(|| ctrlc::set_handler(end).map_err(|e| e.to_string()));
    installed.clone().map_err(|e| anyhow::anyhow!("cannot wait for Ctrl-C: {e}"))
}

/// Runs in a thread of its own, while others still write to the folders.
fn end() {
    let folders = folders();
    for folder in folders.iter() {
        // A file made after the folder was listed keeps it from going; nothing can be made in one
        // that has gone.
        for _ in 0..100 {
            if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
                break;
            }
        }
    }
    std::process::exit(INTERRUPTED)
}
