//! What can be read of a database that may be damaged, and all damage of one that cannot be opened.

use std::path::Path;
use std::sync::Arc;

use super::logs;
use super::parts::{Parts, is_damage, undamaged};
use crate::codec::header::{FileHeader, FileKind};
use crate::db::build::{BuildReport, Loss, LossKind};
use crate::db::handle::read_only::ReadOnlyHandle;
use crate::db::options::Options;
use crate::db::read::stats::Description;
use crate::db::read::verify::{VerifyLevel, VerifyReport};
use crate::db::recovery::orphans;
use crate::db::recovery::recover::{explain_missing, open_segments, replay};
use crate::error::{Error, ErrorKind, Result};
use crate::file_names::{FileId, FileName, MANIFEST, generation_of};
use crate::fingerprint::Fingerprint;
use crate::inspection::Inspection;
use crate::log::{MAX_LOG_LEN, ReadMode};
use crate::manifest::spare::Spare;
use crate::manifest::{LogRef, Manifest};
use crate::memtable::Memtable;
use crate::progress::{Meter, Phase};
use crate::segment::{Segment, SegmentMeta};
use crate::settings::Settings;
use crate::storage::{Disk, Storage};

/// What an error says if there is nothing to begin a repair with.
const LOST: &str = "nothing says what the database was, because the copy of the manifest and the spares of \
                    all segments are lost, too; restore a backup: ";

/// How often a manifest may be replaced while files are compared with it.
const ATTEMPTS: usize = 16;

/// Reads the manifest or its copy, whichever is newer. Without both, puts the manifest together from
/// the spares of the segments. Reports what is wrong with them.
pub(super) fn read_manifest(storage: &dyn Storage, report: &mut BuildReport) -> Result<Manifest> {
    let copy = Manifest::read_copy(storage);
    let error = match (Manifest::read(storage), &copy) {
        (Ok(manifest), Ok(copy)) if is_older(&manifest, copy) => {
            let message = "an earlier manifest was put back: its copy is newer";
            Error::corruption(message).at_path(storage.root().join(MANIFEST))
        }
        (Err(error), _) if is_damage(&error) => explain_missing(storage, error),
        (read, _) => return read,
    };
    let found = match copy {
        Ok(copy) => copy,
        Err(_) => match of_spares(storage, report)? {
            Some(manifest) => manifest,
            None if error.kind() == ErrorKind::NotFound => return Err(error),
            None if storage.open(MANIFEST).is_ok() => {
                return Err(error.repeat_as(ErrorKind::Corruption, LOST));
            }
            None => {
                let message = format!("{LOST}the manifest is missing");
                return Err(Error::corruption(message).at_path(storage.root().join(MANIFEST)));
            }
        },
    };
    report.damage.push(error);
    Ok(found)
}

/// Puts the manifest together from the spares of the segments. Each of them has the manifest that was
/// the first to name its segment.
fn of_spares(storage: &dyn Storage, report: &mut BuildReport) -> Result<Option<Manifest>> {
    let names = storage.list()?.unwrap_or_default();
    let names: Vec<FileName> = names.iter().filter_map(|name| FileName::parse(name)).collect();
    let mut spares = Vec::new();
    for name in &names {
        if let FileName::Spare(number) = *name
            && let Some(spare) = undamaged(Spare::open(storage, number))?
        {
            spares.push(spare);
        }
    }
    let Some(newest) = spares.iter().max_by_key(|spare| spare.manifest.generation) else {
        return Ok(None);
    };
    let mut manifest = newest.manifest.clone();
    let database_id = manifest.settings.database_id;
    manifest.segments.retain(|segment| segment.spare.is_some());
    for spare in spares.iter().filter(|s| s.manifest.settings.database_id == database_id) {
        if let Some(segment) = undamaged(spare.segment())? {
            manifest.add_segment(segment);
        }
        manifest.next_doc = manifest.next_doc.max(spare.manifest.next_doc);
        manifest.last_seq = manifest.last_seq.max(spare.manifest.last_seq);
    }
    manifest.logs.clear();
    for name in &names {
        if let FileName::Log(number) = *name
            && let Some(header) = undamaged(log_header(storage, *name))?
            && header.database_id == database_id
        {
            let id = FileId { number, nonce: header.nonce };
            manifest.logs.push(LogRef { id, end: None });
            if !spares.iter().any(|spare| spare.knows(id.nonce)) {
                // It is of a later session, or of one of a copy of the database.
                let path = storage.root().join(name.to_string());
                let message = "no other file proves that this log belongs to the database";
                report.damage.push(Error::corruption(message).at_path(&path));
                report.losses.push(Loss { kind: LossKind::Log, count: None, path });
            }
        }
    }
    // So that each file that is not named counts as lost: no session can have left it.
    let newest = names.iter().map(|name| generation_of(name.number())).max();
    manifest.generation = newest.unwrap_or(0) + 1;
    (manifest.session, manifest.earlier_sessions) = (0, Vec::new());
    Ok(Some(manifest))
}

fn log_header(storage: &dyn Storage, name: FileName) -> Result<FileHeader> {
    FileHeader::decode(FileKind::Log, &storage.read(&name.to_string(), MAX_LOG_LEN)?)
}

/// Returns the manifest for a repair. If files that it does not name prove that it is an old one, puts
/// the right one together from the spares of the segments. Reports what is wrong.
pub(super) fn newest_manifest<F: Fingerprint>(
    storage: &dyn Storage,
    report: &mut BuildReport,
) -> Result<Manifest> {
    let manifest = read_manifest(storage, report)?;
    let strays = orphans::strays::<F>(storage, &manifest)?;
    let mut of_newer = BuildReport::default();
    if !strays.is_empty()
        && let Some(newer) = of_spares(storage, &mut of_newer)?
        && newer.settings.database_id == manifest.settings.database_id
        && newer.generation > manifest.generation
    {
        report.damage.extend(strays.into_iter().chain(of_newer.damage));
        report.losses.append(&mut of_newer.losses);
        return Ok(newer);
    }
    Ok(manifest)
}

/// Returns whether a manifest is from an earlier time than its copy, which is made after it.
fn is_older(manifest: &Manifest, copy: &Manifest) -> bool {
    manifest.settings.database_id == copy.settings.database_id
        && manifest.generation < copy.generation
}

/// Adds what opening for writing would refuse to the report, and what is lost with it.
pub(super) fn check_opening<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    report: &mut BuildReport,
) -> Result<()> {
    let strays = orphans::strays::<F>(&**storage, manifest)?;
    if !strays.is_empty() {
        let (count, path) = (Some(strays.len() as u64), storage.root().to_owned());
        report.losses.push(Loss { kind: LossKind::Files, count, path });
        report.damage.extend(strays);
    }
    if report.damage.is_empty() {
        let memtable = Memtable::<F>::new(manifest.settings.orders(), manifest.next_doc);
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
    /// Does what [`read`](Self::read) does for a database that may be damaged: it reads the manifest
    /// that a repair uses.
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
            report.errors.extend(strays_beside_a_writer::<F>(&*storage)?);
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

/// Returns what opening for writing would refuse although readers do not. Another process may be writing
/// to the database.
fn strays_beside_a_writer<F: Fingerprint>(storage: &dyn Storage) -> Result<Vec<Error>> {
    for _ in 0..ATTEMPTS {
        let manifest = Manifest::read(storage)?;
        let strays = orphans::strays::<F>(storage, &manifest);
        if Manifest::read(storage)?.generation == manifest.generation {
            return strays;
        }
    }
    Ok(Vec::new())
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
            Parts::<F>::open(&**storage, settings, meta, inspection)?;
            if inspection.found() == found {
                inspection.report(error);
            }
            Ok(())
        }
        Err(error) => Err(error),
    }
}
