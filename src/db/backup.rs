//! A copy of a database, made while it is in use.

use std::path::Path;

use super::core::{Core, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::storage::Storage;
use crate::version::Version;

/// Bytes copied at a time.
const PIECE: usize = 1 << 20;

impl<F: Fingerprint> Core<F> {
    /// Copies everything acknowledged so far into another folder, where it is a database of its own.
    pub(super) fn backup(&self, path: &Path) -> Result<()> {
        let target = self.storage.at(path);
        target.create_root()?;
        if target.list()?.is_some_and(|names| !names.is_empty()) {
            let message = "the folder for the backup is not empty: choose another place";
            return Err(Error::new(ErrorKind::AlreadyExists, message).at_path(path));
        }
        let writer = self.flush_all()?;
        // Under the writer's lock nothing acknowledged is outside the segments. Compaction may
        // replace some meanwhile, so they are taken from one version, which keeps their files.
        let version = self.current.get();
        let mut manifest = lock(&self.manifest).clone();
        drop(writer);
        manifest.logs.clear();
        manifest.segments = version.segments.iter().map(|s| s.meta().clone()).collect();
        let copied = copy_segments(&version, &*target).and_then(|()| manifest.install(&*target));
        if copied.is_err() {
            for name in target.list().ok().flatten().unwrap_or_default() {
                let _ = target.remove(&name);
            }
        }
        copied
    }
}

/// Copies all files of a version's segments. The manifest comes afterwards, so a backup that is
/// broken off is no database.
fn copy_segments<F: Fingerprint>(version: &Version<F>, target: &dyn Storage) -> Result<()> {
    for segment in &version.segments {
        for ((name, expected), bytes) in segment.meta().files().iter().zip(segment.raw_files()) {
            let file = target.create(&name.to_string())?;
            let mut whole = crc32fast::Hasher::new();
            for piece in bytes.chunks(PIECE) {
                whole.update(piece);
                file.append(piece)?;
            }
            if whole.finalize() != expected.crc {
                let message = format!("{name} fails the manifest's checksum: it was not copied");
                return Err(Error::corruption(message).at_path(target.root()));
            }
            file.sync()?;
        }
    }
    target.sync_dir()
}
