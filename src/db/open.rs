//! Creating and opening: recovery, and the sweep of what a crash left.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Condvar, Mutex, OnceLock};

use super::commit::Writer;
use super::core::{Core, WriterLock};
use super::group::Groups;
use super::options::{DEFAULT_BLOCK, DEFAULT_DISTANCE, Options, other_recipe};
use super::signals::Signals;
use super::{Db, RecoveryReport};
use crate::codec::header::FileKind;
use crate::compaction::write_changes;
use crate::error::{Error, ErrorKind, Result};
use crate::files::{FileName, MANIFEST, MANIFEST_TMP};
use crate::fingerprint::Fingerprint;
use crate::layout::Layout;
use crate::log::{LogWriter, Op, ReadMode, Start, read_log};
use crate::manifest::{LogRef, Manifest};
use crate::memtable::Memtable;
use crate::query::Planner;
use crate::segment::Segment;
use crate::settings::{Ids, Settings};
use crate::storage::{LOCK, Storage};
use crate::version::{Current, Version};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Create,
    Open,
    OpenOrCreate,
}

pub(super) fn open<F: Fingerprint>(options: Options<F>, path: &Path, mode: Mode) -> Result<Db<F>> {
    let storage = options.storage_at(path);
    if mode == Mode::Open {
        // Before the lock, which would leave a file in a folder that is no database.
        Manifest::read(&*storage).map_err(|e| explain_missing(&*storage, e))?;
    } else {
        storage.create_root()?;
        // Before the lock, which would leave a file among somebody else's.
        refuse_others_files(&*storage)?;
    }
    let lock = WriterLock::take(&*storage)?;
    let manifest = match Manifest::read(&*storage) {
        Ok(_) if mode == Mode::Create => {
            return Err(Error::new(
                ErrorKind::AlreadyExists,
                "there is a database already: open it",
            )
            .at_path(path));
        }
        Ok(manifest) => {
            options.agree(&manifest.settings)?;
            manifest
        }
        Err(error) if error.kind() == ErrorKind::NotFound && mode != Mode::Open => {
            create(&options, &*storage)?
        }
        Err(error) => return Err(error),
    };
    Db::start(recover(options, storage, manifest, lock)?)
}

/// Why there is no manifest: no database, or a broken one.
pub(super) fn explain_missing(storage: &dyn Storage, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    match storage.list() {
        Ok(Some(names)) if names.iter().any(|name| FileName::parse(name).is_some()) => {
            Error::corruption("the manifest is missing beside the database's other files")
                .at_path(storage.root().join(MANIFEST))
        }
        _ => Error::new(ErrorKind::NotFound, "no database here: create one, or check the path")
            .at_path(storage.root()),
    }
}

/// Refuses a folder without a manifest in which there is a file that is not of a database.
fn refuse_others_files(storage: &dyn Storage) -> Result<()> {
    let names = storage.list()?.unwrap_or_default();
    let is_ours =
        |name: &str| [LOCK, MANIFEST_TMP].contains(&name) || FileName::parse(name).is_some();
    match names.iter().find(|name| !is_ours(name)) {
        Some(other) if !names.iter().any(|name| name == MANIFEST) => {
            let message =
                format!("the folder is not empty, it holds {other}: choose another place");
            Err(Error::new(ErrorKind::AlreadyExists, message).at_path(storage.root()))
        }
        _ => Ok(()),
    }
}

/// Makes a new database (protocol P2). The folder may hold what a broken-off creation left.
fn create<F: Fingerprint>(options: &Options<F>, storage: &dyn Storage) -> Result<Manifest> {
    let names = storage.list()?.unwrap_or_default();
    if names.iter().any(|name| FileName::parse(name).is_some()) {
        let missing = Error::new(ErrorKind::NotFound, "no manifest");
        return Err(explain_missing(storage, missing));
    }
    refuse_others_files(storage)?;
    let max_distance = options.max_distance.unwrap_or(DEFAULT_DISTANCE);
    let entries = options.expected_entries;
    let (layout, auto_filter) = match &options.layout {
        Some(layout) => (layout.clone(), layout.auto_filter(max_distance, entries)),
        None => Layout::auto(F::BITS, max_distance, entries),
    };
    let settings = Settings {
        database_id: storage.fresh_id()?,
        layout,
        max_distance,
        ids: options.ids.unwrap_or(Ids::User),
        recipe: options.recipe.clone(),
        block_size: options.block_size.unwrap_or(DEFAULT_BLOCK),
        code: options.code.unwrap_or_default(),
        filter_bits: options.filter_bits.unwrap_or(auto_filter),
    };
    settings.check()?;
    if settings.layout.bits() != F::BITS {
        return Err(Error::invalid(format!(
            "a layout of {} bits cannot hold {}-bit fingerprints",
            settings.layout.bits(),
            F::BITS
        )));
    }
    let manifest = Manifest::new(settings);
    manifest.install(storage)?;
    Ok(manifest)
}

/// Brings a database from what its manifest says to a state that takes writes: what the logs hold
/// is written as a segment, never trusted to be durable where it is (a sync may have failed).
fn recover<F: Fingerprint>(
    options: Options<F>,
    storage: Arc<dyn Storage>,
    mut manifest: Manifest,
    lock: WriterLock,
) -> Result<Core<F>> {
    // The process before may have ended between the manifest's rename and the sync. As long as a
    // loss of power could bring back the manifest before, or none, nothing is removed or created.
    storage.sync_dir()?;
    let mut segments = open_segments(&storage, &manifest, &[])?;
    let (recovery, recovered) = write_replayed(&storage, &mut manifest)?;
    segments.extend(recovered);
    adopt_recipe(options.recipe, &mut manifest, segments.is_empty(), storage.root())?;
    let writer = begin_log(&*storage, &mut manifest, recovery.log_end)?;

    let (seq, settings) = (writer.seq, Arc::new(manifest.settings.clone()));
    let capacity = options.tuning.memtable_entries;
    let active = Memtable::new(settings.permutations(), capacity, manifest.next_doc);
    let version =
        Version { segments, frozen: None, active: Arc::new(active), flushed: seq, loads: 0 };
    Ok(Core {
        planner: Arc::new(Planner::of(&settings, options.costs)),
        current: Current::new(version),
        visible: AtomicU64::new(seq),
        log_bytes: AtomicU64::new(writer.log.len()),
        lead: Mutex::new(()),
        writer: Mutex::new(writer),
        gathered: Condvar::new(),
        manifest: Mutex::new(manifest),
        maintenance: Mutex::new(()),
        flushing: Mutex::new(()),
        signals: Signals::default(),
        poison: OnceLock::new(),
        recovery,
        folder: Mutex::new(Some(Arc::new(lock))),
        spare: Mutex::new(None),
        stalled: AtomicU64::new(0),
        storage,
        settings,
        tuning: options.tuning.settled(options.storage.is_none()),
    })
}

/// Replays the logs, sweeps what is dead, and writes what the logs hold as a segment, if there is
/// anything.
fn write_replayed<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &mut Manifest,
) -> Result<(RecoveryReport, Option<Arc<Segment<F>>>)> {
    let settings = manifest.settings.clone();
    let memtable = Memtable::<F>::new(settings.permutations(), 1 << 16, manifest.next_doc);
    let report = replay(&**storage, manifest, ReadMode::Recover, &memtable)?;
    // Only now: what an older manifest that was put back does not name must not be lost.
    sweep::<F>(&**storage, manifest)?;
    let names = memtable.names();
    manifest.next_doc = names.0.0 + names.1.len() as u64;
    manifest.last_seq = manifest.last_seq.max(memtable.last_seq());
    let id = manifest.next_file;
    manifest.next_file += 1;
    let changes = memtable.net_changes(u64::MAX);
    let Some(meta) = write_changes(storage, &settings, id, &changes, &names)? else {
        return Ok((report, None));
    };
    let segment = Segment::open(storage, &settings, meta.clone())?;
    manifest.bytes_flushed += meta.bytes();
    manifest.segments.push(meta);
    Ok((report, Some(Arc::new(segment))))
}

/// A database without a recipe takes on the one asked for, as long as it is empty.
fn adopt_recipe(
    asked: Option<String>,
    manifest: &mut Manifest,
    is_empty: bool,
    path: &Path,
) -> Result<()> {
    match (asked, &manifest.settings.recipe) {
        (Some(asked), None) if is_empty => {
            manifest.settings.recipe = Some(asked);
            manifest.settings.check()
        }
        (Some(asked), None) => Err(other_recipe(&asked, "no named recipe").at_path(path)),
        _ => Ok(()),
    }
}

/// Begins a new log and installs the manifest that names it, and what was recovered; then the old
/// logs go.
fn begin_log(storage: &dyn Storage, manifest: &mut Manifest, old_end: u64) -> Result<Writer> {
    let ended = std::mem::take(&mut manifest.logs);
    let log_id = manifest.next_file;
    manifest.next_file += 1;
    let start = Start {
        previous_log: ended.last().map_or(0, |log| log.id),
        previous_end: old_end,
        last_seq: manifest.last_seq,
    };
    let header = manifest.settings.header(FileKind::Log, 0, log_id);
    let file = storage.create(&FileName::Log(log_id).to_string())?;
    let log = LogWriter::begin(file, header, start)?;
    // One sync for the names of segment and log: the manifest must not outlive them.
    storage.sync_dir()?;
    manifest.logs.push(LogRef { id: log_id, end: None });
    manifest.generation += 1;
    manifest.install(storage)?;
    for log in ended {
        // What fails is swept at the next open.
        let _ = storage.remove(&FileName::Log(log.id).to_string());
    }
    let (seq, next_doc) = (manifest.last_seq, manifest.next_doc);
    let groups = Groups::default();
    Ok(Writer { committed_end: log.len(), log, log_id, seq, next_doc, presynced: false, groups })
}

/// Removes what a crash left: numbered files that the manifest does not name.
fn sweep<F: Fingerprint>(storage: &dyn Storage, manifest: &Manifest) -> Result<()> {
    let mut live: BTreeSet<FileName> =
        manifest.segments.iter().flat_map(|s| s.files()).map(|(name, _)| name).collect();
    live.extend(manifest.logs.iter().map(|log| FileName::Log(log.id)));
    let names = storage.list()?.unwrap_or_default();
    let stray: Vec<FileName> = names
        .iter()
        .filter_map(|name| FileName::parse(name))
        .filter(|name| !live.contains(name))
        .collect();
    for name in &stray {
        if let FileName::Log(id) = *name
            && id >= manifest.next_file
        {
            refuse_newer_log::<F>(storage, manifest, id)?;
        }
    }
    // Only now: the newer manifest, if one is restored, needs what this one does not name.
    stray.iter().try_for_each(|name| storage.remove(&name.to_string()))
}

/// A manifest names a log before anything is committed to it. A later log with commits says that
/// an older manifest was put back.
fn refuse_newer_log<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    id: u64,
) -> Result<()> {
    let name = FileName::Log(id).to_string();
    let (path, bytes) = (storage.root().join(&name), storage.read(&name)?);
    let header = manifest.settings.header(FileKind::Log, 0, id);
    match read_log::<F>(&bytes, &path, &header, None, ReadMode::Recover) {
        Ok(contents) if !contents.commits.is_empty() => Err(Error::corruption(
            "a log holds commits that the manifest is too old to know of: restore the newer one",
        )
        .at_path(path)),
        // Unreadable: its creation was broken off.
        _ => Ok(()),
    }
}

/// Opens what the manifest names, but for what is open already.
pub(super) fn open_segments<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    known: &[Arc<Segment<F>>],
) -> Result<Vec<Arc<Segment<F>>>> {
    let mut segments: Vec<Arc<Segment<F>>> = Vec::with_capacity(manifest.segments.len());
    let mut next_doc = 0;
    for meta in &manifest.segments {
        let segment = match known.iter().find(|segment| segment.meta() == meta) {
            Some(segment) => segment.clone(),
            None => Segment::open(storage, &manifest.settings, meta.clone())
                .map(Arc::new)
                .map_err(missing_is_corruption)?,
        };
        if let Some(ids) = segment.names().map(crate::names::Names::ids) {
            if ids.start < next_doc || ids.end > manifest.next_doc {
                let path = storage.root().join(FileName::Names(meta.id).to_string());
                return Err(Error::corruption("names of ids that are others'").at_path(path));
            }
            next_doc = ids.end;
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// A file that the manifest names must be there.
fn missing_is_corruption(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => {
            error.repeat_as(ErrorKind::Corruption, "a file that the manifest names is missing: ")
        }
        _ => error,
    }
}

/// Applies the commits of the manifest's logs to a memtable.
pub(super) fn replay<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    mode: ReadMode,
    memtable: &Memtable<F>,
) -> Result<RecoveryReport> {
    let mut report = RecoveryReport::default();
    let mut last_seq = manifest.last_seq;
    for log in &manifest.logs {
        let name = FileName::Log(log.id).to_string();
        let bytes = storage.read(&name).map_err(missing_is_corruption)?;
        let path = storage.root().join(name);
        let damage = |message: String| Error::corruption(message).at_path(&path);
        let header = manifest.settings.header(FileKind::Log, 0, log.id);
        let contents = read_log::<F>(&bytes, &path, &header, log.end, mode)?;
        if contents.start.is_none() {
            return Err(damage("a log that the manifest names is empty".into()));
        }
        report.log_end = contents.valid_end;
        report.log_bytes += bytes.len() as u64;
        report.torn_tail |= contents.torn;
        for (seq, ops) in contents.commits {
            if Some(seq) != last_seq.checked_add(1) {
                return Err(damage(format!("commit {seq} follows commit {last_seq}")));
            }
            if !ops.iter().all(|op| fits(op, manifest.settings.ids)) {
                return Err(damage(format!(
                    "commit {seq} has operations of the other kind of ids"
                )));
            }
            memtable.apply(seq, &ops).map_err(|e| e.at_path(&path))?;
            last_seq = seq;
            report.commits += 1;
            report.operations += ops.len() as u64;
        }
    }
    Ok(report)
}

/// Whether a database with this kind of ids has such operations.
fn fits<F>(op: &Op<F>, ids: Ids) -> bool {
    match op {
        Op::Insert { .. } => ids == Ids::User,
        Op::InsertNamed { name, .. } => ids == Ids::Names && !name.is_empty(),
        Op::Remove { .. } => true,
    }
}
