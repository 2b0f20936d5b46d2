//! Backup: copies a database while it is in use.

use std::path::Path;

use super::core::Core;
use super::flush;
use super::locks::lock;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::Fingerprint;
use crate::progress::{Meter, Phase, Report};
use crate::segment::SegmentMeta;
use crate::storage::Storage;
use crate::version::Version;

/// Bytes copied at a time.
const CHUNK: usize = 1 << 20;

/// Copies everything acknowledged so far into another folder, as an independent database.
pub(super) fn backup<F: Fingerprint>(
    core: &Core<F>,
    path: &Path,
    report: Report<'_>,
) -> Result<()> {
    let target = core.storage.at(path);
    target.create_root()?;
    if target.list()?.is_some_and(|names| !names.is_empty()) {
        let message = "the folder for the backup is not empty: choose another one";
        return Err(Error::new(ErrorKind::AlreadyExists, message).at_path(path));
    }
    let writer = flush::flush_all(core)?;
    // While the writer is held, everything acknowledged is in the segments. Compaction may replace
    // some of them during the copy, so all are taken from one version, which keeps their files.
    let version = core.current.get();
    let mut manifest = lock(&core.manifest).clone();
    drop(writer);
    manifest.logs.clear();
    manifest.segments = version.segments.iter().map(|s| s.meta().clone()).collect();
    let bytes = manifest.segments.iter().map(SegmentMeta::bytes).sum();
    let meter = Meter::new(report, Phase::Copy, Some(bytes));
    let copied =
        copy_segments(&version, &*target, &meter).and_then(|()| manifest.install(&*target));
    if copied.is_ok() {
        meter.finish();
    } else {
        for name in target.list().ok().flatten().unwrap_or_default() {
            let _ = target.remove(&name);
        }
    }
    copied
}

/// Copies all files of a version's segments. The manifest is written afterwards, so an interrupted
/// backup is not a database.
fn copy_segments<F: Fingerprint>(
    version: &Version<F>,
    target: &dyn Storage,
    meter: &Meter<'_>,
) -> Result<()> {
    for segment in &version.segments {
        for ((name, expected), bytes) in segment.meta().files().iter().zip(segment.raw_files()) {
            let file = target.create(&name.to_string())?;
            let mut checksum = crc32fast::Hasher::new();
            for chunk in bytes.chunks(CHUNK) {
                checksum.update(chunk);
                file.append(chunk)?;
                meter.advance(chunk.len() as u64)?;
            }
            if checksum.finalize() != expected.crc {
                let message = format!(
                    "{name} does not match its checksum in the manifest, so it was not copied: run \
                     verify"
                );
                return Err(Error::corruption(message).at_path(target.root()));
            }
            file.sync()?;
        }
    }
    target.sync_dir()
}
