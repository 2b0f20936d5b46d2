//! Merge and rebuild: new databases from existing ones.

mod union;

use std::path::Path;
use std::sync::Arc;

use crate::db::handle::Db;
use crate::db::handle::open;
use crate::db::merge::union::Union;
use crate::db::read::snapshot::Snapshot;
use crate::db::state::key::Stamped;
use crate::db::state::options::{Durability, Options};
use crate::db::upkeep::install;
use crate::db::upkeep::new_folder::NewFolder;
use crate::db::write::load::{DocumentsToLoad, load_documents};
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::documents::SymbolTable;
use crate::error::{Error, ErrorKind, Result};
use crate::file_names::{FileName, MANIFEST};
use crate::fingerprint::{DocId, Document, Entry, Fingerprint};
use crate::progress::{Meter, Phase, Watch};
use crate::settings::Ids;
use crate::storage::{LockedFolder, Storage};

/// Documents that are written together.
const BATCH: usize = 1 << 10;
/// Leaves of a source from whose keys the symbols of the new file are chosen.
const SAMPLED_LEAVES: u64 = 32;

/// What a merge or rebuild did.
///
/// # Examples
///
/// ```
/// use fpdb::Db;
/// # let folder = tempfile::tempdir()?;
/// let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
/// for (path, id) in [(&a, 1), (&b, 2)] {
///     let db = Db::options().create(path)?;
///     db.insert(7, id)?;
///     db.close()?;
/// }
/// let report = Db::options().merge(&[&a, &b], &out)?;
/// assert_eq!((report.read, report.written, report.dropped), (2, 2, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
#[non_exhaustive]
pub struct MergeReport {
    /// Number of documents of all sources; of entries, if they have user ids.
    pub read: u64,
    /// Number of documents or entries in the new database.
    pub written: u64,
    /// Number of documents or entries left out because they are near-duplicates of others.
    pub dropped: u64,
}

impl<F: Fingerprint> Options<F> {
    /// Combines databases into a new one. Other processes may write to them; the new database gets
    /// what is committed when the merge begins.
    ///
    /// All databases must have the same width, recipe, extraction and kind of ids. Options that are
    /// not set are taken from the first one. What becomes of ids depends on their kind:
    ///
    /// - [User ids](Ids::User) stay as they are. Equal entries become one.
    /// - [Unique ids](Ids::Unique) stay as they are. If several databases have a document with the
    ///   same id, the one with the greatest stamp is taken, and of equal stamps the last one.
    /// - [Names](Ids::Names) stay as they are, and the same document is taken. The ids of the first
    ///   database stay, too. The ids of each further database are raised by the number of ids that
    ///   the databases before it have assigned. A name that several databases have keeps the id
    ///   that it has in the first of them.
    ///
    /// Reads and writes in order, within [`bulk_memory`](Options::bulk_memory). After an error,
    /// nothing of the new database is left, unless its last sync failed after it was complete. If
    /// the process ends before the merge does, the new database cannot be opened; the same merge
    /// can be repeated.
    ///
    /// # Errors
    ///
    /// `AlreadyExists` if there is anything at `out`; `Unsupported` for databases of different
    /// recipes, extractions or widths; `InvalidArgument` without sources, for different kinds of
    /// ids, or for options that no database can have; the errors of opening the sources; `NoSpace`;
    /// `Corruption`; `Io`.
    ///
    /// ```
    /// use fpdb::{Db, Ids};
    /// # let folder = tempfile::tempdir()?;
    /// let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
    /// for (path, name) in [(&a, "https://a.example/"), (&b, "https://b.example/")] {
    ///     let db = Db::options().ids(Ids::Names).create(path)?;
    ///     db.insert(0x00ff, name)?;
    ///     db.close()?;
    /// }
    /// let report = Db::options().merge(&[&a, &b], &out)?;
    /// assert_eq!(report.written, 2);
    /// let merged = Db::open(&out)?;
    /// assert_eq!(merged.snapshot().name(fpdb::DocId(1))?.as_deref(), Some("https://b.example/"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge<P: AsRef<Path>>(
        self,
        sources: &[P],
        out: impl AsRef<Path>,
    ) -> Result<MergeReport> {
        merge(self, sources, out.as_ref(), false)
    }

    /// Does the same as [`merge`](Options::merge), but inserts the documents of each database
    /// except the first only if nothing that is already there is within the maximum distance, as if
    /// by [`upsert_if_novel`](crate::Db::upsert_if_novel). This takes about as long as inserting
    /// them.
    ///
    /// # Errors
    ///
    /// The same as [`merge`](Options::merge).
    ///
    /// ```
    /// use fpdb::Db;
    /// # let folder = tempfile::tempdir()?;
    /// let [a, b, out] = ["a", "b", "out"].map(|name| folder.path().join(name));
    /// for (path, fingerprint, id) in [(&a, 0b0000, 1), (&b, 0b0001, 2)] {
    ///     let db = Db::options().create(path)?;
    ///     db.insert(fingerprint, id)?;
    ///     db.close()?;
    /// }
    /// let report = Db::options().merge_novel(&[&a, &b], &out)?;
    /// assert_eq!((report.written, report.dropped), (1, 1));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn merge_novel<P: AsRef<Path>>(
        self,
        sources: &[P],
        out: impl AsRef<Path>,
    ) -> Result<MergeReport> {
        merge(self, sources, out.as_ref(), true)
    }

    /// Writes a database again with other options: another layout, maximum distance, block size,
    /// code or filter. Options that are not set stay as they are, except that a new maximum
    /// distance without a layout leads to the layout that a new database would have. Ids, names and
    /// stamps stay. The source is not changed.
    ///
    /// # Errors
    ///
    /// The same as [`merge`](Options::merge).
    ///
    /// ```
    /// use fpdb::{Db, Layout};
    /// # let folder = tempfile::tempdir()?;
    /// let [small, fast] = ["small", "fast"].map(|name| folder.path().join(name));
    /// let db = Db::options().layout(Layout::preset("single", 64)?).create(&small)?;
    /// db.insert(7, 1)?;
    /// db.close()?;
    /// let _ = Db::options().layout(Layout::preset("half-2", 64)?).rebuild(&small, &fast)?;
    /// let db = Db::open(&fast)?;
    /// assert_eq!((db.description().layout.tables(), db.snapshot().contains(7)?), (2, true));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn rebuild(self, source: impl AsRef<Path>, out: impl AsRef<Path>) -> Result<MergeReport> {
        self.merge(&[source.as_ref()], out)
    }
}

fn merge<F: Fingerprint, P: AsRef<Path>>(
    options: Options<F>,
    sources: &[P],
    out: &Path,
    drop_duplicates: bool,
) -> Result<MergeReport> {
    let sources: &[&Path] = &sources.iter().map(AsRef::as_ref).collect::<Vec<_>>();
    let snapshots: Vec<Snapshot<F>> = sources
        .iter()
        .map(|path| Ok(options.for_reading().open_read_only(path)?.snapshot()))
        .collect::<Result<_>>()?;
    let options = options.like(sources, &snapshots, out)?;
    let folder = NewFolder::new(&options.storage_at(out))?;
    remove_unfinished(folder.storage())?;
    let is_empty = folder.is_empty()?;
    let watch = options.watch.clone();
    let merged = open::create_unfinished(options, out).and_then(|db| {
        let report = fill(&db, &snapshots, drop_duplicates, &watch)?;
        db.finish().map(|()| report)
    });
    merged.inspect_err(|_| {
        // Otherwise there is something else, and nothing was created. What cannot be removed now is
        // removed by the next merge into this folder.
        if is_empty {
            folder.discard(remove_files);
        }
    })
}

/// Removes what an interrupted merge left behind.
fn remove_unfinished(storage: &Arc<dyn Storage>) -> Result<()> {
    match crate::manifest::Manifest::read(&**storage) {
        Ok(manifest) if manifest.is_unfinished => remove_files(&LockedFolder::lock(storage)?),
        _ => Ok(()),
    }
}

/// Removes all files of an unfinished database, the manifest last.
fn remove_files(folder: &LockedFolder) -> Result<()> {
    let storage = folder.storage();
    // Again, now that nobody else can write.
    if crate::manifest::Manifest::read(&**storage).is_ok_and(|manifest| !manifest.is_unfinished) {
        let message = "there is a database already: choose another folder";
        return Err(Error::new(ErrorKind::AlreadyExists, message).at_path(storage.root()));
    }
    let names = storage.list()?.unwrap_or_default();
    for name in names.iter().filter(|name| FileName::parse(name).is_some()) {
        storage.remove(name)?;
    }
    if names.iter().any(|name| name == MANIFEST) {
        // If a crash brought files back but not the manifest, they would look like a damaged
        // database.
        storage.sync_dir()?;
        storage.remove(MANIFEST)?;
    }
    Ok(())
}

impl<F: Fingerprint> Options<F> {
    /// Returns options to read a source in the same way.
    fn for_reading(&self) -> Self {
        let mut options = Self::new();
        (options.tuning, options.storage) = (self.tuning.clone(), self.storage.clone());
        options
    }

    /// Takes what is not set from the first source, after comparing all of them.
    fn like(mut self, paths: &[&Path], sources: &[Snapshot<F>], out: &Path) -> Result<Self> {
        let (Some(first), Some(first_path)) = (sources.first(), paths.first()) else {
            let message = "there is nothing to merge: give at least one database";
            return Err(Error::invalid(message).at_path(out));
        };
        let first = &*first.settings;
        for (path, source) in paths.iter().zip(sources) {
            let found = &*source.settings;
            let shown = |name: &Option<String>| name.as_deref().unwrap_or("none").to_owned();
            for (what, a, b) in [
                ("recipe", &first.recipe, &found.recipe),
                ("extraction", &first.extraction, &found.extraction),
            ] {
                if a != b {
                    let message = format!(
                        "the database has the {what} {}, but the first one has {}: only databases \
                         with the same one can be merged",
                        shown(b),
                        shown(a)
                    );
                    return Err(Error::new(ErrorKind::Unsupported, message).at_path(path));
                }
            }
            if first.ids != found.ids {
                let message = format!(
                    "the database has {} ids, but the first one has {} ids: only databases with the \
                     same kind can be merged",
                    found.ids, first.ids
                );
                return Err(Error::invalid(message).at_path(path));
            }
        }
        let has_new_distance = self.max_distance.is_some_and(|k| k != first.max_distance);
        let keeps_layout = self.layout.is_none() && !has_new_distance;
        self.max_distance = self.max_distance.or(Some(first.max_distance));
        self.ids = self.ids.or(Some(first.ids));
        self.recipe = self.recipe.or_else(|| first.recipe.clone());
        self.extraction = self.extraction.or_else(|| first.extraction.clone());
        self.block_size = self.block_size.or(Some(first.block_size));
        self.code = self.code.or(Some(first.code));
        let entries = sources.iter().map(Snapshot::len).sum();
        self.expected_entries = self.expected_entries.max(entries);
        if keeps_layout {
            self.layout = Some(first.layout.clone());
            self.filter_bits = self.filter_bits.or(Some(first.filter_bits));
        }
        if self.ids != Some(first.ids) {
            return Err(Error::invalid(format!(
                "the database has {} ids, which cannot become others",
                first.ids
            ))
            .at_path(first_path));
        }
        for (what, asked, found) in [
            ("recipe", &self.recipe, &first.recipe),
            ("extraction", &self.extraction, &first.extraction),
        ] {
            if asked != found {
                let message = format!("the {what} of a database cannot change");
                return Err(Error::invalid(message).at_path(first_path));
            }
        }
        self.tuning.background = false;
        self.tuning.durability = Durability::Buffered;
        Ok(self)
    }
}

/// Writes everything into the new database.
fn fill<F: Fingerprint>(
    db: &Db<F>,
    sources: &[Snapshot<F>],
    drop_duplicates: bool,
    watch: &Watch,
) -> Result<MergeReport> {
    let has_documents = db.description().ids.identify_documents();
    let count = |source: &Snapshot<F>| match has_documents {
        true => source.version.documents(source.seq),
        false => source.len(),
    };
    let read = sources.iter().map(count).sum();
    let (together, one_by_one) = match drop_duplicates {
        true => sources.split_at(1.min(sources.len())),
        false => (sources, &[][..]),
    };
    let mut dropped = 0;
    if has_documents {
        load_union(db, together, watch)?;
        for source in one_by_one {
            dropped += add_documents(db, source, watch)?;
        }
    } else {
        let entries = together.iter().flat_map(Snapshot::iter);
        let _ = crate::db::write::load::load(db.core(), entries, watch)?;
        for source in one_by_one {
            dropped += add_entries(db, source, watch)?;
        }
    }
    let written = count(&db.snapshot());
    Ok(MergeReport { read, written, dropped })
}

/// Loads the documents of all sources.
fn load_union<F: Fingerprint>(db: &Db<F>, sources: &[Snapshot<F>], watch: &Watch) -> Result<()> {
    let files = || sources.iter().flat_map(|s| &s.version.segments).filter_map(|s| s.documents());
    let mut sample = Vec::new();
    for documents in files() {
        sample.append(&mut documents.sample(SAMPLED_LEAVES)?);
    }
    let symbols = SymbolTable::train(&sample.iter().map(Vec::as_slice).collect::<Vec<_>>());
    let most = sources.iter().map(|s| s.version.documents(s.seq)).sum();
    let in_files: u64 = sources
        .iter()
        .flat_map(|s| &s.version.segments)
        .filter_map(|segment| segment.meta().documents)
        .map(|documents| documents.file.len)
        .sum();
    let recent: usize =
        sources.iter().flat_map(|s| s.version.memtables()).map(|m| m.memory()).sum();
    let union = Union::new(sources, db.description().ids == Ids::Names)?;
    let next_doc = union.next_doc();
    let bytes = in_files + recent as u64;
    let given = DocumentsToLoad { documents: union, most, bytes, symbols, next_doc };
    load_documents(db.core(), given, watch).map(|_| ())
}

/// Adds the entries of a source that have nothing near. Returns the number of the others.
fn add_entries<F: Fingerprint>(db: &Db<F>, source: &Snapshot<F>, watch: &Watch) -> Result<u64> {
    let meter = Meter::new(watch, Phase::Write, Some(source.len()));
    let mut dropped = 0;
    let mut entries = source.iter();
    loop {
        let batch = entries.by_ref().take(BATCH).collect::<Result<Vec<Entry<F>>>>()?;
        if batch.is_empty() {
            meter.finish();
            return Ok(dropped);
        }
        let documents: Vec<(F, DocId)> = batch.iter().map(|e| (e.fingerprint, e.id)).collect();
        let outcomes = db.write(&documents).unless_near(db.description().max_distance).run()?;
        dropped += duplicates(&outcomes);
        meter.advance(batch.len() as u64)?;
    }
}

/// Adds the documents of a source that have nothing near: originals first, then what was remembered
/// as a duplicate. Returns the number of those left out.
fn add_documents<F: Fingerprint>(db: &Db<F>, source: &Snapshot<F>, watch: &Watch) -> Result<u64> {
    let meter = Meter::new(watch, Phase::Write, Some(2 * source.version.documents(source.seq)));
    let mut dropped = 0;
    for (is_duplicate, on_duplicate) in [(false, OnDuplicate::Keep), (true, OnDuplicate::Remember)]
    {
        let mut all = source.documents()?;
        loop {
            let batch = all.by_ref().take(BATCH).collect::<Result<Vec<_>>>()?;
            if batch.is_empty() {
                break;
            }
            meter.advance(batch.len() as u64)?;
            let mut documents: Vec<(F, Stamped<'_>)> = Vec::new();
            for (name, document) in &batch {
                let Document { fingerprint, id, stamp, duplicate_of, .. } = *document;
                let key: Stamped<'_> = match name {
                    Some(name) => name.as_str().into(),
                    None => id.into(),
                };
                if duplicate_of.is_some() == is_duplicate
                    && db.get(key.key)?.is_none_or(|there| there.stamp <= stamp)
                {
                    documents.push((fingerprint, Stamped { stamp, ..key }));
                }
            }
            let write = db.write(&documents).unless_near(db.description().max_distance);
            let outcomes = write.or_update(on_duplicate).run()?;
            if !is_duplicate {
                dropped += duplicates(&outcomes);
            }
        }
    }
    meter.finish();
    Ok(dropped)
}

fn duplicates<F>(outcomes: &[Outcome<F>]) -> u64 {
    outcomes.iter().filter(|outcome| outcome.is_duplicate()).count() as u64
}

impl<F: Fingerprint> Db<F> {
    /// Makes everything durable, lets others open the database, and closes it.
    fn finish(self) -> Result<()> {
        self.flush()?;
        let core = self.core();
        let folder = core.keep_folder()?;
        install::manifest(core, &folder, |manifest| manifest.is_unfinished = false)?;
        drop(folder);
        self.close()
    }
}
