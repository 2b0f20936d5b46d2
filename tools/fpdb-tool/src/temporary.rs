//! Folders for temporary databases. They are removed at the end of a run, after an error, and when
//! Ctrl-C, SIGTERM or SIGHUP ends the tool.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Context as _, Result, bail};
use fpdb::Layout;
use tempfile::TempDir;

use crate::output::iec;

/// The exit code that shells report for a process ended by Ctrl-C.
const INTERRUPTED: i32 = 130;

/// The folders that exist now.
static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

/// A folder that is removed when this value is dropped.
pub(crate) struct Temporary(TempDir);

impl Temporary {
    /// Creates a folder in `parent`, or in the system's folder for temporary files.
    pub(crate) fn new(parent: Option<&Path>) -> Result<Self> {
        remove_when_ended()?;
        let parent = parent.map_or_else(std::env::temp_dir, Path::to_owned);
        // Locked before the folder is created: a Ctrl-C before its path is recorded must not leave
        // it on disk.
        let mut folders = folders();
        let folder = tempfile::Builder::new().prefix("fpdb-tool-").tempdir_in(&parent);
        let folder = folder.with_context(|| format!("cannot write to {}", parent.display()))?;
        folders.insert(folder.path().to_owned());
        Ok(Self(folder))
    }

    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Fails if the disk has less free space than this.
    pub(crate) fn need(&self, bytes: u64) -> Result<()> {
        let path = self.path();
        let parent = path.parent().unwrap_or(path).display();
        let free = fs2::available_space(path);
        let free = free.with_context(|| format!("cannot tell how much space {parent} has"))?;
        if free < bytes {
            bail!(
                "up to {} are needed in {parent}, which has {} free: choose another --folder or \
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
        // An error is ignored: the signal handler may have removed the folder, and files without
        // permission to remove them are for the user to remove.
        let _ = fs::remove_dir_all(self.path());
        folders().remove(self.path());
    }
}

/// Returns the most bytes of disk that loading `n` entries into a new database takes: the tables,
/// at a quarter more than raw fingerprints, the ids, and the files that the load sorts through.
pub(crate) fn room_for(layout: &Layout, filter_bits: u32, n: u64) -> u64 {
    /// The header, footer and last page of a file, and the log.
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

/// Installs the signal handler that removes all folders, once per process.
fn remove_when_ended() -> Result<()> {
    static HANDLER: OnceLock<Result<(), String>> = OnceLock::new();
    let installed = HANDLER.get_or_init(|| ctrlc::set_handler(end).map_err(|e| e.to_string()));
    installed.clone().map_err(|e| anyhow::anyhow!("cannot handle Ctrl-C: {e}"))
}

/// Removes the folders and ends the process. Runs in its own thread, while other threads may still
/// write to the folders.
fn end() {
    let folders = folders();
    for folder in folders.iter() {
        // A file created after the folder was listed makes the removal fail, so try again. Once the
        // folder is gone, no file can be created in it.
        for _ in 0..100 {
            if fs::remove_dir_all(folder).is_ok() || !folder.exists() {
                break;
            }
        }
    }
    std::process::exit(INTERRUPTED)
}
