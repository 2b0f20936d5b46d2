//! Installing manifests and segments: the only way in which the set of live files changes.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::core::Core;
use super::locks::lock;
use crate::error::Result;
use crate::files::FileName;
use crate::fingerprint::Fingerprint;
use crate::manifest::Manifest;
use crate::segment::{Segment, SegmentMeta};
use crate::version::Version;

/// How long the background thread waits for the readers of a version that it has replaced.
const SHORT_READ: Duration = Duration::from_millis(10);

/// How long it sleeps between two checks. Operating systems do not sleep for less.
const SHORTEST_SLEEP: Duration = Duration::from_micros(50);

/// Changes the manifest, durably. Whatever the new one names must be durable already.
///
/// After a failure the old manifest is still valid, or no more writes are accepted if it is unknown
/// which of the two the next open will find.
pub(super) fn manifest<F: Fingerprint>(
    core: &Core<F>,
    change: impl FnOnce(&mut Manifest),
) -> Result<()> {
    let mut manifest = lock(&core.manifest);
    core.poison.check()?;
    let mut next = manifest.clone();
    change(&mut next);
    next.generation += 1;
    next.prepare(&*core.storage)?;
    Manifest::publish(&*core.storage).map_err(|e| core.poison.set(e))?;
    *manifest = next;
    Ok(())
}

/// Does the same as [`manifest`], for a manifest that names a new segment. Removes the segment's
/// files at once if no manifest can name it any more.
pub(super) fn segment<F: Fingerprint>(
    core: &Core<F>,
    segment: Option<&Segment<F>>,
    change: impl FnOnce(&mut Manifest),
) -> Result<()> {
    let installed = manifest(core, change);
    if let (Err(_), false, Some(segment)) = (&installed, core.poison.is_set(), segment) {
        segment.retire();
    }
    installed
}

/// Opens a segment that was just written, after making its file names durable: no manifest may name
/// it earlier.
pub(super) fn open_new<F: Fingerprint>(
    core: &Core<F>,
    meta: SegmentMeta,
) -> Result<Arc<Segment<F>>> {
    core.storage.sync_dir().map_err(|e| core.poison.set(e))?;
    let files = meta.files();
    let opened = Segment::open(&core.storage, &core.settings, meta);
    if opened.is_err() {
        files.iter().for_each(|(name, _)| remove_file(core, *name));
    }
    opened.map(Arc::new)
}

/// Removes a file that no manifest names any more. If that fails, the file is an orphan, which the
/// next open removes.
pub(super) fn remove_file<F: Fingerprint>(core: &Core<F>, name: FileName) {
    let _ = core.storage.remove(&name.to_string());
}

/// Replaces the version, and drops the old one after its short-lived readers. The last one to drop
/// a version frees a memtable or removes files, and that should not be a query.
pub(super) fn version<F: Fingerprint>(
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
    core.indexes.offer(&core.current.get());
}
