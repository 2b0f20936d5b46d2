//! Installing manifests and segments: the only way in which the set of live files changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::parallel::lock;
use crate::db::state::core::{Base, Core};
use crate::file::names::{FileName, MANIFEST};
use crate::file::storage::LockedFolder;
use crate::fingerprint::Fingerprint;
use crate::store::manifest::{Manifest, spare};
use crate::store::segment::{Segment, SegmentMeta};
use crate::store::version::Version;

/// How long the background thread waits for the readers of a version that it has replaced.
const SHORT_READ: Duration = Duration::from_millis(10);

/// How long it sleeps between two checks. Operating systems do not sleep for less.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

/// Changes the manifest, durably. Whatever the new one names must be durable already.
///
/// After a failure the old manifest is still valid, or no more writes are accepted if it is unknown
/// which of the two the next open will find.
pub(crate) fn manifest(
    core: &Base,
    folder: &LockedFolder,
    change: &mut dyn FnMut(&mut Manifest),
) -> Result<()> {
    let mut manifest = lock(&core.manifest);
    core.poison.check()?;
    core.poison.after(expect_installed(folder, &manifest))?;
    let mut next = manifest.clone();
    change(&mut next);
    next.generation += 1;
    next.prepare(&*core.storage)?;
    Manifest::publish(&*core.storage).map_err(|e| core.poison.set(e))?;
    *manifest = next;
    Ok(())
}

/// Returns an error unless the folder still belongs to this handle and its manifest is the one that
/// this handle installed last. Otherwise the folder was replaced, for instance by a backup that was
/// restored, and nothing in it may be touched.
pub(crate) fn expect_installed(folder: &LockedFolder, manifest: &Manifest) -> Result<()> {
    folder.check()?;
    let storage = &**folder.storage();
    let found = match Manifest::read(storage) {
        Ok(found) => found == *manifest,
        Err(error) if [ErrorKind::NotFound, ErrorKind::Corruption].contains(&error.kind()) => false,
        Err(error) => return Err(error),
    };
    if found {
        return Ok(());
    }
    let message = "the manifest was replaced or removed while the database was open, perhaps by a \
                   restored backup: nothing more is written, open the database again";
    Err(Error::new(ErrorKind::Replaced, message).at_path(storage.root().join(MANIFEST)))
}

/// Does the same as [`manifest`], for a manifest that names new segments. Removes their files at
/// once if no manifest can name them any more.
pub(crate) fn segments(
    core: &Base,
    folder: &LockedFolder,
    segments: &[SegmentMeta],
    change: &mut dyn FnMut(&mut Manifest),
) -> Result<()> {
    let installed = manifest(core, folder, change);
    if let Err(error) = &installed
        && cannot_be_named(core, error)
    {
        segments.iter().for_each(|segment| remove_segment(folder, segment));
    }
    installed
}

/// Returns whether no manifest can name a new file, after this failure to install one.
pub(crate) fn cannot_be_named(core: &Base, error: &Error) -> bool {
    // That the folder was replaced or the handle closed was noticed before anything was renamed.
    !core.poison.is_set() || matches!(error.kind(), ErrorKind::Replaced | ErrorKind::Closed)
}

/// Writes the spare of a segment that was just written, makes the names of the files durable, and
/// opens the segment: no manifest may name it earlier. `change` is what the next manifest changes
/// besides.
pub(crate) fn open_new<F: Fingerprint>(
    core: &Core<F>,
    folder: &LockedFolder,
    meta: SegmentMeta,
    change: &dyn Fn(&mut Manifest),
) -> Result<Arc<Segment<F>>> {
    let meta = write_spare(core, folder, meta, change)?;
    Segment::open(&core.storage, &core.settings, meta.clone())
        .inspect_err(|_| remove_segment(folder, &meta))
        .map(Arc::new)
}

fn write_spare(
    core: &Base,
    folder: &LockedFolder,
    meta: SegmentMeta,
    change: &dyn Fn(&mut Manifest),
) -> Result<SegmentMeta> {
    let mut manifest = lock(&core.manifest).clone();
    change(&mut manifest);
    let meta = spare::write(folder, manifest, meta.clone())
        .inspect_err(|_| remove_segment(folder, &meta))?;
    core.storage.sync_dir().map_err(|e| core.poison.set(e))?;
    Ok(meta)
}

/// Does the same with all segments that a merge wrote, or opens none.
pub(crate) fn open_all_new<F: Fingerprint>(
    core: &Core<F>,
    folder: &LockedFolder,
    written: &[SegmentMeta],
) -> Result<Vec<Arc<Segment<F>>>> {
    let mut opened: Vec<Arc<Segment<F>>> = Vec::new();
    for (at, meta) in written.iter().enumerate() {
        match open_new(core, folder, meta.clone(), &|_| ()) {
            Ok(segment) => opened.push(segment),
            Err(error) => {
                opened.iter().for_each(|segment| remove_segment(folder, segment.meta()));
                written.iter().skip(at + 1).for_each(|meta| remove_segment(folder, meta));
                return Err(error);
            }
        }
    }
    Ok(opened)
}

/// Removes the files of a segment that no manifest names any more. Readers that have them open can
/// still read them.
pub(crate) fn remove_segment(folder: &LockedFolder, meta: &SegmentMeta) {
    meta.files().iter().for_each(|(name, _)| remove_file(folder, *name));
}

/// Removes a file that no manifest names any more. If that fails, the file is an orphan, which the
/// next open removes.
pub(crate) fn remove_file(folder: &LockedFolder, name: FileName) {
    folder.remove(&name.to_string());
}

/// Replaces the version, and drops the old one after its short-lived readers. The last one to drop
/// a version frees a memtable or a segment, and that should not be a query.
pub(crate) fn version<F: Fingerprint>(
    core: &Core<F>,
    change: impl FnOnce(&Version<F>) -> Version<F>,
) {
    let replaced = core.current.get();
    core.current.update(change);
    core.signals.step();
    if core.tuning.background {
        let deadline = Instant::now() + SHORT_READ;
        while Arc::strong_count(&replaced) > 1 && Instant::now() < deadline {
            std::thread::sleep(SHORTEST_SLEEP);
        }
    }
    // Copies of segments that are no longer used are freed first.
    drop(replaced);
    core.indexes.offer(|| core.current.get().needs_loading());
}
