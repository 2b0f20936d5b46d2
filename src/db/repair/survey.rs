//! What can be read of a database that may be damaged, and all damage of one that cannot be opened.

use std::path::Path;
use std::sync::Arc;

use super::damaged_segment::{DamagedSegment, is_damage};
use super::logs;
use super::manifests::{newest_manifest, read_manifest};
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::inspection::Inspection;
use crate::base::progress::{Meter, Phase};
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::db::handle::read_only::ReadOnlyHandle;
use crate::db::options::Options;
use crate::db::read::stats::Description;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::recovery::orphans;
use crate::db::recovery::recover::{open_segments, replay};
use crate::file::names::MANIFEST_COPY;
use crate::file::storage::{Disk, Storage};
use crate::fingerprint::Fingerprint;
use crate::settings::Settings;
use crate::store::log::ReadMode;
use crate::store::manifest::Manifest;
use crate::store::memtable::Memtable;
use crate::store::segment::{Segment, SegmentMeta};

/// How often a manifest may be replaced while files are compared with it.
const ATTEMPTS: usize = 16;

/// Adds what opening for writing would refuse to the report, and what is lost with it.
pub(super) fn check_opening<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    report: &mut BuildReport,
) -> Result<()> {
    let strays = orphans::strays::<F>(&**storage, manifest)?;
    if !strays.is_empty() {
        let (count, path) = (Some(strays.len() as u64), storage.root().to_owned());
        report.losses.push(Loss::new(LossKind::Files, count, path));
        report.damage.extend(strays);
    }
    if report.damage.is_empty() {
        let memtable = Memtable::<F>::new(&manifest.settings.index, manifest.next_doc);
        let opened = manifest
            .settings
            .check()
            .and_then(|()| open_segments::<F>(storage, manifest, &[]))
            .and_then(|_| replay(&**storage, manifest, ReadMode::Recover, &memtable));
        match opened {
            Err(error) if is_damage(&error) => report.damage.push(error),
            Err(error) => return Err(error),
            Ok(_) => {}
        }
    }
    Ok(())
}

impl Description {
    /// Does what [`read`](Self::read) does for a database that may be damaged: it reads the
    /// manifest that a repair uses.
    ///
    /// # Errors
    ///
    /// The same, if the copy and the spares of all segments are lost, too.
    ///
    /// ```
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("db");
    /// fpdb::Options::bits128().create(&path)?.close()?;
    /// std::fs::remove_file(path.join("MANIFEST"))?;
    /// assert!(fpdb::Description::read(&path).is_err());
    /// assert_eq!(fpdb::Description::read_damaged(&path)?.bits, 128);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn read_damaged(path: impl AsRef<Path>) -> Result<Self> {
        read_manifest(&Disk::new(path.as_ref()), &mut BuildReport::default()).map(Self::of)
    }
}

/// Verifies a database. If it is so damaged that it cannot be opened, checks each file by itself.
pub(crate) fn verify<F: Fingerprint>(
    options: Options<F>,
    path: &Path,
    level: VerifyLevel,
) -> Result<VerifyReport> {
    let opened = ReadOnlyHandle::open(options.clone(), path);
    let storage = options.storage_at(path);
    let error = match opened.and_then(|db| db.reader().verify(level)) {
        Err(error) if is_damage(&error) => error,
        Ok(mut report) => {
            let (strays, remark) = beside_a_writer::<F>(&*storage)?;
            report.errors.extend(strays);
            report.remarks.extend(remark);
            return Ok(report);
        }
        Err(error) => return Err(error),
    };
    let mut found = BuildReport::default();
    let manifest = newest_manifest::<F>(&*storage, &mut found)?;
    let mut report = VerifyReport::default();
    let bytes = manifest.segments.iter().map(SegmentMeta::bytes).sum();
    let meter = Meter::new(&options.watch, Phase::Check, Some(bytes));
    let mut inspection = Inspection::new(Some(&meter));
    for meta in &manifest.segments {
        report.files += meta.files().len();
        report.bytes += meta.bytes();
        verify_segment::<F>(&storage, &manifest.settings, meta, level, &mut inspection)?;
    }
    meter.finish();
    found.damage.append(&mut inspection.into_errors());
    let _ = logs::replay::<F>(&*storage, &manifest, &mut found)?;
    check_opening::<F>(&storage, &manifest, &mut found)?;
    report.errors = found.damage;
    if report.errors.is_empty() {
        report.errors.push(error);
    }
    Ok(report)
}

/// Returns what opening for writing would refuse although readers do not, and what is wrong with
/// the copy of the manifest. Another process may be writing to the database.
fn beside_a_writer<F: Fingerprint>(storage: &dyn Storage) -> Result<(Vec<Error>, Option<Error>)> {
    for _ in 0..ATTEMPTS {
        let manifest = Manifest::read(storage)?;
        let strays = orphans::strays::<F>(storage, &manifest);
        let remark = remark_on_copy(storage, &manifest);
        if Manifest::read(storage)?.generation == manifest.generation {
            return Ok((strays?, remark?));
        }
    }
    Ok((Vec::new(), None))
}

/// Returns why the copy cannot replace the manifest.
fn remark_on_copy(storage: &dyn Storage, manifest: &Manifest) -> Result<Option<Error>> {
    let path = storage.root().join(MANIFEST_COPY);
    let message = match Manifest::read_copy(storage) {
        Ok(copy) if copy == *manifest => return Ok(None),
        Ok(copy) if copy.settings.database_id != manifest.settings.database_id => {
            "the copy of the manifest is that of another database"
        }
        Ok(_) => "the copy of the manifest is earlier or later than the manifest",
        Err(error) if error.kind() == ErrorKind::NotFound => "the copy of the manifest is missing",
        Err(error) if is_damage(&error) => "the copy of the manifest is damaged",
        Err(error) => return Err(error),
    };
    let message = format!(
        "{message}, so a repair could not use it if the manifest were lost: the next write to \
         the database replaces it"
    );
    Ok(Some(Error::corruption(message).at_path(path)))
}

fn verify_segment<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    settings: &Settings,
    meta: &SegmentMeta,
    level: VerifyLevel,
    inspection: &mut Inspection<'_>,
) -> Result<()> {
    match Segment::<F>::open(storage, settings, meta.clone()) {
        Ok(segment) if level == VerifyLevel::Quick => segment.verify_checksums(inspection),
        Ok(segment) => segment.verify(settings, inspection),
        Err(error) if is_damage(&error) => {
            let found = inspection.found();
            DamagedSegment::<F>::open(&**storage, settings, meta, inspection)?;
            if inspection.found() == found {
                inspection.report(error);
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}
