//! A copy of a database, made while it is in use.

use std::path::Path;

use super::core::{Core, lock};
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;

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
        let mut writer = lock(&self.writer);
        self.flush_all(&mut writer)?;
        // Under the writer's lock nothing acknowledged is outside the segments. Compaction may
        // replace some meanwhile, so they are taken from one version, which keeps their files.
        let version = self.current.get();
        let mut manifest = lock(&self.manifest).clone();
        drop(writer);
        manifest.logs.clear();
        manifest.segments = version.segments.iter().map(|s| s.meta().clone()).collect();
        for segment in &version.segments {
            let names = segment.meta().files();
            for ((name, _), bytes) in names.iter().zip(segment.raw_files()) {
                let file = target.create(&name.to_string())?;
                bytes.chunks(PIECE).try_for_each(|piece| file.append(piece))?;
                // The manifest comes last, so a broken-off backup is no database.
                file.sync()?;
            }
        }
        target.sync_dir()?;
        manifest.install(&*target)
    }
}
