//! Backup: copies a database while it is in use.

use std::path::Path;
use std::sync::Arc;

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;
use crate::base::progress::{Meter, Phase, Watch};
use crate::db::commit::space;
use crate::db::read::reader::Reader;
use crate::db::state::core::{Core, next_number};
use crate::db::upkeep::flush::{self, write_memtable};
use crate::db::upkeep::new_folder::NewFolder;
use crate::file::storage::{LockedFolder, Storage};
use crate::fingerprint::Fingerprint;
use crate::store::manifest::{Manifest, spare};
use crate::store::memtable::Memtable;
use crate::store::segment::SegmentMeta;
use crate::store::version::Version;

/// Bytes that a file system may need for a file in addition to its contents.
const PER_FILE: u64 = 8192;

/// What needs space, for messages.
const OPERATION: &str = "the backup";

/// Copies everything acknowledged so far into another folder, as an independent database.
pub(crate) fn backup<F: Fingerprint>(core: &Core<F>, path: &Path, watch: &Watch) -> Result<()> {
    core.poison.check()?;
    let target = core.storage.at(path);
    into_new_folder(&target, |target| {
        let mut writer = flush::flush_all(core)?;
        // While the writer is held, everything acknowledged is in the segments. Compaction may
        // replace some of them during the copy, so all are taken from one version, which keeps
        // their files.
        let version = core.current.get();
        let manifest = lock(&core.manifest).clone();
        let source = Source { version: &version, manifest, unflushed: None };
        let most = source.bytes() + source.files() * PER_FILE;
        let is_shared = target.storage().file_system()? == core.storage.file_system()?;
        let claim = match is_shared {
            true => space::claim(core, &mut writer, most, OPERATION)?,
            false => {
                space::require(&**target.storage(), most, OPERATION)?;
                writer.space.claim(0)
            }
        };
        drop(writer);
        let target = target.counting(claim.written().clone());
        source.copy(&target, watch)
    })
}

/// Copies what a reading process sees into another folder, as an independent database.
pub(crate) fn backup_of_reader<F: Fingerprint>(
    storage: &dyn Storage,
    reader: &Reader<F>,
    manifest: Manifest,
    path: &Path,
) -> Result<()> {
    into_new_folder(&storage.at(path), |target| {
        let unflushed = Some(&*reader.version.active);
        let source = Source { version: &reader.version, manifest, unflushed };
        let most = source.bytes() + source.files() * PER_FILE;
        let recent = space::flush_bytes(&reader.settings, &reader.version.active);
        space::require(&**target.storage(), most + recent, OPERATION)?;
        source.copy(target, &reader.watch)
    })
}

/// Has `copy` fill a folder with everything but the name of its manifest.
fn into_new_folder(
    target: &Arc<dyn Storage>,
    copy: impl FnOnce(&LockedFolder) -> Result<()>,
) -> Result<()> {
    let folder = NewFolder::new(target)?;
    expect_empty(&folder)?;
    let copied = folder.storage().create_root().and_then(|()| {
        let target = LockedFolder::lock(folder.storage())?;
        // Again: another process may have written to it before it released the lock.
        expect_empty(&folder)?;
        copy(&target)?;
        Manifest::publish(&**target.storage())
    });
    copied.inspect_err(|_| folder.discard())
}

/// What a backup copies.
struct Source<'a, F: Fingerprint> {
    version: &'a Version<F>,
    /// The last manifest.
    manifest: Manifest,
    /// What is not in a segment yet.
    unflushed: Option<&'a Memtable<F>>,
}

impl<F: Fingerprint> Source<'_, F> {
    fn metas(&self) -> impl Iterator<Item = &SegmentMeta> {
        self.version.segments.iter().map(|segment| segment.meta())
    }

    fn bytes(&self) -> u64 {
        self.metas().map(SegmentMeta::bytes).sum()
    }

    /// Returns the number of files, with both manifests.
    fn files(&self) -> u64 {
        self.metas().map(|meta| meta.files().len() as u64).sum::<u64>() + 2
    }

    /// Until the copy has its own manifest, another one says that it is unfinished: nobody uses it,
    /// and the next backup into the folder removes it.
    fn copy(mut self, target: &LockedFolder, watch: &Watch) -> Result<()> {
        let mut unfinished = Manifest::new(self.manifest.settings.clone(), target.session());
        unfinished.is_unfinished = true;
        unfinished.install(&**target.storage())?;
        let meter = Meter::new(watch, Phase::Copy, Some(self.bytes()));
        copy_segments(self.version, target, &meter)?;
        let segments = self.metas().cloned().collect();
        let manifest = &mut self.manifest;
        manifest.logs.clear();
        manifest.segments = segments;
        if let Some(memtable) = self.unflushed {
            let number = next_number(target, manifest.generation)?;
            let written = write_memtable(target, &manifest.settings, number, memtable)?;
            manifest.next_doc = manifest.next_doc.max(memtable.next_doc());
            manifest.last_seq = manifest.last_seq.max(memtable.last_seq());
            if let Some(written) = written {
                manifest.add_segment(spare::write(target, manifest.clone(), written)?);
            }
        }
        // The files are of earlier generations. What this database creates now is not in the copy.
        manifest.begin_session(target.session(), manifest.generation - 1);
        manifest.note_writer(target.storage().program());
        manifest.generation += 1;
        target.check()?;
        manifest.prepare(&**target.storage())?;
        meter.finish();
        Ok(())
    }
}

/// Returns an error if the folder contains anything but what an interrupted backup may leave.
fn expect_empty(folder: &NewFolder) -> Result<()> {
    if folder.is_empty()? {
        return Ok(());
    }
    let message = "the folder for the backup is not empty: choose another one";
    Err(Error::new(ErrorKind::AlreadyExists, message).at_path(folder.storage().root()))
}

/// Copies all files of a version's segments.
fn copy_segments<F: Fingerprint>(
    version: &Version<F>,
    target: &LockedFolder,
    meter: &Meter<'_>,
) -> Result<()> {
    let storage = target.storage();
    for segment in &version.segments {
        let spare = segment.spare()?;
        let files = segment.files().into_iter().chain(&spare);
        for ((name, expected), from) in segment.meta().files().iter().zip(files) {
            let file = storage.create(&name.to_string())?;
            let mut checksum = crc32fast::Hasher::new();
            from.for_each_chunk(|chunk| {
                checksum.update(chunk);
                file.append_once(chunk)?;
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
