//! Backup: copies a database while it is in use.

use std::path::Path;

use crate::db::state::core::Core;
use crate::db::state::locks::lock;
use crate::db::upkeep::flush;
use crate::db::upkeep::install;
use crate::db::upkeep::new_folder::NewFolder;
use crate::db::upkeep::space;
use crate::error::{Error, ErrorKind, Result};
use crate::file_names::FileName;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::progress::{Meter, Phase, Watch};
use crate::segment::SegmentMeta;
use crate::storage::LockedFolder;
use crate::version::Version;

/// Bytes that a file system may need for a file in addition to its contents.
const PER_FILE: u64 = 8192;

/// Copies everything acknowledged so far into another folder, as an independent database.
pub(crate) fn backup<F: Fingerprint>(core: &Core<F>, path: &Path, watch: &Watch) -> Result<()> {
    core.poison.check()?;
    let folder = NewFolder::new(&core.storage.at(path))?;
    expect_empty(&folder)?;
    let mut created = Vec::new();
    let prepared = folder.storage().create_root().and_then(|()| {
        let target = LockedFolder::lock(folder.storage())?;
        // Again: another process may have written to it before it released the lock.
        expect_empty(&folder)?;
        copy(core, &target, watch, &mut created).map(|()| target)
    });
    let target = prepared.inspect_err(|_| {
        folder.discard(|target| {
            created.iter().for_each(|&name| install::remove_file(target, name));
            expect_empty(&folder)
        });
    })?;
    // If this fails, the copy may be complete.
    Manifest::publish(&**target.storage())
}

/// Copies everything but the name of the manifest, without which there is no database.
fn copy<F: Fingerprint>(
    core: &Core<F>,
    target: &LockedFolder,
    watch: &Watch,
    created: &mut Vec<FileName>,
) -> Result<()> {
    let writer = flush::flush_all(core)?;
    // While the writer is held, everything acknowledged is in the segments. Compaction may replace
    // some of them during the copy, so all are taken from one version, which keeps their files.
    let version = core.current.get();
    let mut manifest = lock(&core.manifest).clone();
    drop(writer);
    manifest.logs.clear();
    manifest.segments = version.segments.iter().map(|s| s.meta().clone()).collect();
    // The files are of earlier generations. What this database creates now is not in the copy.
    manifest.begin_session(target.session(), manifest.generation - 1);
    manifest.generation += 1;
    let bytes: u64 = manifest.segments.iter().map(SegmentMeta::bytes).sum();
    let files = manifest.segments.iter().map(|meta| meta.files().len() as u64).sum::<u64>() + 1;
    space::require(&**target.storage(), bytes + files * PER_FILE, "the backup")?;
    let meter = Meter::new(watch, Phase::Copy, Some(bytes));
    copy_segments(&version, target, &meter, created)?;
    target.check()?;
    manifest.prepare(&**target.storage())?;
    meter.finish();
    Ok(())
}

/// Returns an error if the folder contains anything but what an interrupted backup may leave.
fn expect_empty(folder: &NewFolder) -> Result<()> {
    if folder.is_empty()? {
        return Ok(());
    }
    let message = "the folder for the backup is not empty: choose another one";
    Err(Error::new(ErrorKind::AlreadyExists, message).at_path(folder.storage().root()))
}

/// Copies all files of a version's segments. The manifest is written afterwards, so an interrupted
/// backup is not a database.
fn copy_segments<F: Fingerprint>(
    version: &Version<F>,
    target: &LockedFolder,
    meter: &Meter<'_>,
    created: &mut Vec<FileName>,
) -> Result<()> {
    let storage = target.storage();
    for segment in &version.segments {
        for ((name, expected), from) in segment.meta().files().iter().zip(segment.files()) {
            let file = storage.create(&name.to_string())?;
            created.push(*name);
            let mut checksum = crc32fast::Hasher::new();
            from.for_each_chunk(|chunk| {
                checksum.update(chunk);
                file.append(chunk)?;
                meter.advance(chunk.len() as u64)
            })?;
            if checksum.finalize() != expected.crc {
                let message = format!(
                    "{name} does not match its checksum in the manifest, so it was not copied: run \
                     verify"
                );
                return Err(Error::corruption(message).at_path(storage.root()));
            }
            file.sync()?;
        }
    }
    storage.sync_dir()
}
