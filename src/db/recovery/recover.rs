//! Recovery: brings a database from what its manifest and logs say to a state that accepts writes.
//! storage-format.md, "Open".

use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

use crate::base::error::{Error, ErrorKind, Result};
use crate::base::events::Event;
use crate::db::commit::install;
use crate::db::options::Options;
use crate::db::options::mismatch::{other_extraction, other_recipe};
use crate::db::recovery::orphans;
use crate::db::state::core::{Base, Core, Log, Writer, next_number};
use crate::db::state::index_loader::IndexLoader;
use crate::db::state::poison::Poison;
use crate::db::state::signals::Signals;
use crate::db::upkeep::flush;
use crate::documents::KeyHasher;
use crate::file::codec::header::FileKind;
use crate::file::names::{FileId, FileName, MANIFEST, MANIFEST_COPY};
use crate::file::storage::{LockedFolder, Storage};
use crate::fingerprint::Fingerprint;
use crate::fingerprint::Ids;
use crate::query::Planner;
use crate::store::log::{LogWriter, MAX_LOG_LEN, Op, ReadMode, Start, read_log};
use crate::store::manifest::{LogRef, Manifest, spare};
use crate::store::memtable::Memtable;
use crate::store::segment::Segment;
use crate::store::version::{Current, Version};

/// What opening a database found in its log.
///
/// # Examples
///
/// ```
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("db");
/// let db = fpdb::Db::options().create(&path)?;
/// db.insert(7, 1)?;
/// drop(db); // without closing it
/// let db = fpdb::Db::options().open(&path)?;
/// assert_eq!((db.recovery().commits, db.recovery().torn_tail), (1, false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct RecoveryReport {
    /// Number of commits that were in the log and not yet in a segment.
    pub commits: u64,
    /// Number of operations in these commits.
    pub operations: u64,
    /// Whether the log ended in a torn write, which a crash had interrupted. The torn commit was
    /// never acknowledged, except under [`Durability::Buffered`](crate::Durability::Buffered),
    /// where a loss of power may destroy what was not yet synced.
    pub torn_tail: bool,
    /// Number of orphans that were removed: files that no manifest names, left by an interrupted
    /// flush, compaction or bulk load.
    pub orphans: u64,
    /// Where the valid part of the last log ends.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) log_end: u64,
    #[cfg_attr(feature = "serde", serde(skip))]
    pub(crate) log_bytes: u64,
}

impl RecoveryReport {
    /// Reports an event, if there was anything to recover.
    fn report(&self, path: &Path) {
        let Self { commits, operations, torn_tail, orphans, .. } = *self;
        if commits > 0 || torn_tail || orphans > 0 {
            Event::Recovered { path, commits, operations, torn_tail, orphans }.report();
        }
    }
}

/// Recovers a database. The entries of the logs are written as a segment, because they cannot be
/// assumed to be durable in the logs: a sync may have failed.
pub(crate) fn recover<F: Fingerprint>(
    options: Options<F>,
    folder: LockedFolder,
    found: Manifest,
) -> Result<(Core<F>, RecoveryReport)> {
    let storage = folder.storage().clone();
    // The previous process may have ended between renaming the manifest and syncing the folder. As
    // long as a loss of power could bring back the previous manifest, nothing is removed or
    // created.
    storage.sync_dir()?;
    let mut manifest = found.clone();
    let mut segments = open_segments(&storage, &manifest, &[])?;
    let (recovery, recovered) = write_replayed(&folder, &mut manifest)?;
    segments.extend(recovered);
    let (settings, is_empty) = (&mut manifest.settings, segments.is_empty());
    adopt(options.recipe, &mut settings.recipe, is_empty, other_recipe)
        .and_then(|()| {
            let found = &mut settings.extraction;
            adopt(options.extraction, found, is_empty, other_extraction)
        })
        .map_err(|error| error.at_path(storage.root()))?;
    settings.check()?;
    // After a clean close there is nothing to write, so opening syncs no more than the folder.
    let writer = if manifest == found && found.logs.is_empty() {
        Writer::not_begun(&manifest.settings, manifest.last_seq, manifest.next_doc)
    } else {
        begin_log(&folder, &found, &mut manifest, recovery.log_end)?
    };
    recovery.report(storage.root());

    let (seq, settings) = (writer.seq, Arc::new(manifest.settings.clone()));
    let active = Memtable::new(&settings.index, manifest.next_doc);
    let (active, pages) = (Arc::new(active), storage.page_budget());
    let version = Version {
        segments,
        frozen: None,
        active,
        flushed: seq,
        loads: 0,
        generation: pages.generation(),
        pages,
        ids: settings.ids,
        hasher: KeyHasher::of_database(settings.database_id),
    };
    let indexes = IndexLoader::new(&options.tuning, storage.page_budget());
    let on_renewal = {
        let indexes = indexes.clone();
        move |version: &Version<F>| indexes.offer(|| version.needs_loading())
    };
    let candidates = options.tuning.most_candidate_pages(storage.page_budget().limit());
    let base = Base {
        planner: Arc::new(Planner::of(&settings, options.costs, candidates)),
        visible: AtomicU64::new(seq),
        log: Log::new(writer),
        manifest: Mutex::new(manifest),
        compacting: Mutex::new(()),
        flushing: Mutex::new(()),
        signals: Signals::default(),
        poison: Poison::new(),
        folder: Mutex::new(Some(Arc::new(folder))),
        indexes,
        stalled: AtomicU64::new(0),
        refused: AtomicU64::new(0),
        storage,
        settings,
        tuning: options.tuning.resolved(options.storage.is_none()),
    };
    let current = Current::new(Arc::new(version), on_renewal);
    Ok((Core { base, current }, recovery))
}

/// Reads the manifest, or explains that there is none.
pub(crate) fn read_manifest(storage: &dyn Storage) -> Result<Manifest> {
    let error = match Manifest::read(storage) {
        Err(error) if error.kind() == ErrorKind::NotFound => explain_missing(storage, error),
        read => return read,
    };
    // Another process may have created the database since. The manifest is its first file, so if
    // any other was seen, it is there now.
    match error.kind() {
        ErrorKind::Corruption => Manifest::read(storage).map_err(|_| error),
        _ => Err(error),
    }
}

/// Explains a missing manifest: there is no database, or a damaged one.
pub(crate) fn explain_missing(storage: &dyn Storage, error: Error) -> Error {
    if error.kind() != ErrorKind::NotFound {
        return error;
    }
    match storage.list() {
        Ok(Some(names)) if names.iter().any(|name| belongs_to_database(name)) => {
            let message = "the manifest is missing, but other files of a database are there: restore a \
                           backup, or repair the database";
            Error::corruption(message).at_path(storage.root().join(MANIFEST))
        }
        _ => Error::new(ErrorKind::NotFound, "there is no database: create one, or check the path")
            .at_path(storage.root()),
    }
}

/// Returns whether a file with this name proves that its folder is, or was, a database.
pub(crate) fn belongs_to_database(name: &str) -> bool {
    name == MANIFEST_COPY || FileName::parse(name).is_some()
}

/// Replays the logs, removes orphans, and writes the entries of the logs as a segment, if there are
/// any.
fn write_replayed<F: Fingerprint>(
    folder: &LockedFolder,
    manifest: &mut Manifest,
) -> Result<(RecoveryReport, Option<Arc<Segment<F>>>)> {
    let storage = folder.storage();
    let settings = manifest.settings.clone();
    let memtable = Memtable::<F>::new(&settings.index, manifest.next_doc);
    let mut report = replay(&**storage, manifest, ReadMode::Recover, &memtable)?;
    // Only now: if an older manifest was put back, what it does not name must not be lost.
    report.orphans = orphans::remove::<F>(folder, manifest)?;
    manifest.next_doc = memtable.next_doc();
    manifest.last_seq = manifest.last_seq.max(memtable.last_seq());
    let number = next_number(folder, manifest.generation)?;
    let Some(meta) = flush::write_memtable(folder, &settings, number, &memtable)? else {
        return Ok((report, None));
    };
    let meta = spare::write(folder, manifest.clone(), meta)?;
    let segment = Segment::open(storage, &settings, meta.clone())?;
    manifest.bytes_flushed += meta.bytes();
    manifest.add_segment(meta);
    Ok((report, Some(Arc::new(segment))))
}

/// Gives an empty database without a recipe or extraction the requested one. A database with
/// entries refuses it.
fn adopt(
    requested: Option<String>,
    found: &mut Option<String>,
    is_empty: bool,
    refused: fn(&str, Option<&str>) -> Error,
) -> Result<()> {
    match requested {
        Some(requested) if found.is_none() && is_empty => *found = Some(requested),
        Some(requested) if found.is_none() => return Err(refused(&requested, None)),
        _ => {}
    }
    Ok(())
}

/// Begins a new log, installs the manifest that names it and the recovered segment, and removes the
/// old logs.
fn begin_log(
    folder: &LockedFolder,
    found: &Manifest,
    manifest: &mut Manifest,
    old_end: u64,
) -> Result<Writer> {
    let storage = &**folder.storage();
    let ended = std::mem::take(&mut manifest.logs);
    let number = next_number(folder, manifest.generation)?;
    let log_id = FileId { number, nonce: folder.session() };
    let start = Start {
        previous_log: ended.last().map_or(0, |log| log.id.number),
        previous_end: old_end,
        last_seq: manifest.last_seq,
    };
    let header = manifest.settings.header(FileKind::Log, 0, log_id);
    let file = storage.create(&FileName::Log(log_id.number).to_string())?;
    let log = LogWriter::begin(file, header, start)?;
    // One sync for the file names of segment and log, which the manifest needs.
    storage.sync_dir()?;
    manifest.begin_session(folder.session(), manifest.generation);
    manifest.note_writer(storage.program());
    manifest.logs.push(LogRef { id: log_id, end: None });
    manifest.generation += 1;
    install::expect_installed(folder, found)?;
    manifest.install(storage)?;
    ended.iter().for_each(|log| install::remove_file(folder, FileName::Log(log.id.number)));
    Ok(Writer::new(log, log_id, manifest.last_seq, manifest.next_doc))
}

/// Opens the segments that the manifest names, except those that are `known` and open already.
pub(crate) fn open_segments<F: Fingerprint>(
    storage: &Arc<dyn Storage>,
    manifest: &Manifest,
    known: &[Arc<Segment<F>>],
) -> Result<Vec<Arc<Segment<F>>>> {
    let mut segments: Vec<Arc<Segment<F>>> = Vec::with_capacity(manifest.segments.len());
    for meta in &manifest.segments {
        let segment = match known.iter().find(|segment| segment.meta() == meta) {
            Some(segment) => segment.clone(),
            None => Segment::open(storage, &manifest.settings, meta.clone())
                .map(Arc::new)
                .map_err(missing_is_corruption)?,
        };
        let greatest_id = segment.documents().and_then(|documents| documents.greatest_id());
        if manifest.settings.ids == Ids::Names
            && greatest_id.is_some_and(|greatest| greatest.0 >= manifest.next_doc)
        {
            let path = storage.root().join(FileName::Documents(meta.id).to_string());
            let message = "this file has ids that were not yet assigned: restore a backup";
            return Err(Error::corruption(message).at_path(path));
        }
        segments.push(segment);
    }
    Ok(segments)
}

/// Reports a missing file that the manifest names as damage.
fn missing_is_corruption(error: Error) -> Error {
    match error.kind() {
        ErrorKind::NotFound => {
            error.repeat_as(ErrorKind::Corruption, "a file that the manifest names is missing: ")
        }
        _ => error,
    }
}

/// Applies the commits of the manifest's logs to a memtable.
pub(crate) fn replay<F: Fingerprint>(
    storage: &dyn Storage,
    manifest: &Manifest,
    mode: ReadMode,
    memtable: &Memtable<F>,
) -> Result<RecoveryReport> {
    let mut report = RecoveryReport::default();
    let mut last_seq = manifest.last_seq;
    for log in &manifest.logs {
        let name = FileName::Log(log.id.number).to_string();
        let bytes = storage.read(&name, MAX_LOG_LEN).map_err(missing_is_corruption)?;
        let path = storage.root().join(name);
        let damage = |message: String| Error::corruption(message).at_path(&path);
        let header = manifest.settings.header(FileKind::Log, 0, log.id);
        let contents = read_log::<F>(&bytes, &path, &header, log.end, mode)?;
        if contents.start.is_none() {
            return Err(damage("the manifest names this log, but it is empty".into()));
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
                    "commit {seq} has operations for the other kind of ids"
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

/// Whether a database with this kind of ids can have such an operation.
pub(crate) fn fits<F>(op: &Op<F>, ids: Ids) -> bool {
    match op {
        Op::Insert { .. } | Op::Remove { .. } => !ids.identify_documents(),
        Op::Change(change) => {
            ids.identify_documents() && (ids == Ids::Names) == change.name.is_some()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::storage::Sim;
    use crate::fingerprint::DocId;
    use crate::index::tables::layout::Layout;
    use crate::settings::{IndexSettings, Settings, TableSettings};
    use crate::store::log::{Before, DocumentChange};

    const FINGERPRINT: u64 = 7;

    /// Returns the manifest of a database in a new folder.
    fn manifest(ids: Ids) -> (Arc<Sim>, Manifest) {
        let sim = Sim::new();
        sim.create_root().unwrap();
        let settings = Settings {
            database_id: 42,
            ids,
            recipe: None,
            extraction: None,
            passages: None,
            index: IndexSettings::Tables(TableSettings {
                layout: Layout::preset("half-2", 64).unwrap(),
                distance: 3,
                block_size: 256,
                filter_bits: 10,
            }),
        };
        (sim, Manifest::new(settings, 90))
    }

    /// Writes a log that the manifest names, with these commits after commit `before`.
    fn write_log(sim: &Sim, manifest: &mut Manifest, before: u64, commits: &[&[Op<u64>]]) {
        let id = FileId { number: manifest.logs.len() as u64 + 1, nonce: 90 };
        manifest.logs.push(LogRef { id, end: None });
        let file = sim.create(&FileName::Log(id.number).to_string()).unwrap();
        let header = manifest.settings.header(FileKind::Log, 0, id);
        let start = Start { previous_log: id.number - 1, previous_end: 0, last_seq: before };
        let mut log = LogWriter::begin(file, header, start).unwrap();
        for (seq, ops) in (before + 1..).zip(commits) {
            log.append(seq, ops).unwrap();
        }
        log.write().unwrap();
    }

    fn replayed(sim: &Sim, manifest: &Manifest) -> Result<RecoveryReport> {
        let memtable = Memtable::<u64>::new(&manifest.settings.index, manifest.next_doc);
        replay(sim, manifest, ReadMode::Recover, &memtable)
    }

    fn insert(id: u64) -> Op<u64> {
        Op::Insert { fingerprint: FINGERPRINT, id: DocId(id) }
    }

    #[test]
    fn replay_counts_commits_operations_and_bytes_of_all_logs() {
        let (sim, mut manifest) = manifest(Ids::User);
        manifest.last_seq = 40;
        write_log(&sim, &mut manifest, 40, &[&[insert(1), insert(2)], &[insert(3)]]);
        write_log(&sim, &mut manifest, 42, &[&[insert(4)]]);
        let report = replayed(&sim, &manifest).unwrap();
        assert_eq!((report.commits, report.operations, report.torn_tail), (3, 4, false));
        let lens = ["0000000000000001.log", "0000000000000002.log"]
            .map(|name| sim.contents(name).unwrap().len() as u64);
        assert_eq!((report.log_bytes, report.log_end), (lens[0] + lens[1], lens[1]));
    }

    #[test]
    fn torn_tail_is_reported() {
        let (sim, mut manifest) = manifest(Ids::User);
        write_log(&sim, &mut manifest, 0, &[&[insert(1)], &[insert(2)]]);
        let name = "0000000000000001.log";
        let mut log = sim.contents(name).unwrap();
        log.pop();
        sim.set_contents(name, &log);
        let report = replayed(&sim, &manifest).unwrap();
        assert_eq!((report.commits, report.torn_tail), (1, true));
    }

    #[test]
    fn an_operation_fits_only_its_kind_of_ids() {
        let change = |name: Option<&str>| {
            let (name, id) = (name.map(Into::into), DocId(0));
            Op::Change(DocumentChange { name, id, before: Before::Absent, after: None })
        };
        let remove = Op::Remove { fingerprint: FINGERPRINT, id: DocId(1) };
        let operations = [insert(1), remove, change(None), change(Some("a"))];
        for (ids, allowed) in [
            (Ids::User, [true, true, false, false]),
            (Ids::Unique, [false, false, true, false]),
            (Ids::Names, [false, false, false, true]),
        ] {
            assert_eq!(operations.each_ref().map(|op| fits(op, ids)), allowed, "{ids}");
        }
    }
}
