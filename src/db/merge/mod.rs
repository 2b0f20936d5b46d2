//! New databases, each of which is complete or not there: from existing ones (merge and rebuild),
//! and from what the caller gives.

mod build;
mod given;
mod union;

pub(crate) use build::build;
pub(crate) use given::{create_with_documents, create_with_entries};

use std::path::Path;

use crate::db::handle::WriteHandle;
use crate::db::handle::open;
use crate::db::merge::union::Union;
use crate::db::read::reader::Reader;
use crate::db::state::key::Stamped;
use crate::db::state::options::Options;
use crate::db::write::load::{DocumentsToLoad, load_documents};
use crate::db::write::outcome::{OnDuplicate, Outcome};
use crate::db::write::rule::Rule;
use crate::db::write::write;
use crate::documents::SymbolTable;
use crate::error::{Error, ErrorKind, Result};
use crate::fingerprint::{Document, Entry, Fingerprint};
use crate::progress::{Meter, Phase, Watch};
use crate::query::Within;
use crate::settings::Ids;

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
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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

pub(crate) fn merge<F: Fingerprint>(
    options: Options<F>,
    sources: &[&Path],
    out: &Path,
    drop_duplicates: bool,
) -> Result<MergeReport> {
    let readers: Vec<Reader<F>> = sources
        .iter()
        .map(|path| Ok(open::open_read_only(options.for_reading(), path)?.reader()))
        .collect::<Result<_>>()?;
    let options = options.like(sources, &readers, out)?;
    let watch = options.watch.clone();
    build(options, out, |db| fill(db, &readers, drop_duplicates, &watch))
}

impl<F: Fingerprint> Options<F> {
    /// Returns options to read a source in the same way.
    fn for_reading(&self) -> Self {
        let mut options = Self::new();
        (options.tuning, options.storage) = (self.tuning.clone(), self.storage.clone());
        options
    }

    /// Takes what is not set from the first source, after comparing all of them.
    fn like(mut self, paths: &[&Path], sources: &[Reader<F>], out: &Path) -> Result<Self> {
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
        let found = (first.rule.by_distance(), first.rule.jaccard());
        let has_new_rule = match (self.max_distance, self.similar) {
            (None, None) => {
                (self.max_distance, self.similar) = found;
                false
            }
            asked => asked != found,
        };
        let keeps_layout = self.layout.is_none() && !has_new_rule;
        if keeps_layout {
            self.rule = Some(first.rule.clone());
        }
        self.ids = self.ids.or(Some(first.ids));
        self.recipe = self.recipe.or_else(|| first.recipe.clone());
        self.extraction = self.extraction.or_else(|| first.extraction.clone());
        self.block_size = self.block_size.or(Some(first.block_size));
        let entries = sources.iter().map(Reader::len).sum();
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
        Ok(self)
    }
}

/// Writes everything into the new database.
fn fill<F: Fingerprint>(
    db: &WriteHandle<F>,
    sources: &[Reader<F>],
    drop_duplicates: bool,
    watch: &Watch,
) -> Result<MergeReport> {
    let has_documents = db.description().ids.identify_documents();
    let count = |source: &Reader<F>| match has_documents {
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
        let entries = together.iter().flat_map(Reader::iter);
        let _ = crate::db::write::load::load(db.core(), entries, watch)?;
        for source in one_by_one {
            dropped += add_entries(db, source, watch)?;
        }
    }
    let written = count(&db.reader());
    Ok(MergeReport { read, written, dropped })
}

/// Loads the documents of all sources.
fn load_union<F: Fingerprint>(
    db: &WriteHandle<F>,
    sources: &[Reader<F>],
    watch: &Watch,
) -> Result<()> {
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
fn add_entries<F: Fingerprint>(
    db: &WriteHandle<F>,
    source: &Reader<F>,
    watch: &Watch,
) -> Result<u64> {
    let meter = Meter::new(watch, Phase::Write, Some(source.len()));
    let mut dropped = 0;
    let mut entries = source.iter();
    loop {
        let batch = entries.by_ref().take(BATCH).collect::<Result<Vec<Entry<F>>>>()?;
        if batch.is_empty() {
            meter.finish();
            return Ok(dropped);
        }
        let documents = batch.iter().map(|entry| (entry.fingerprint, entry.id.into()));
        let documents: Vec<(F, Stamped<'_>)> = documents.collect();
        let unless_near = Some(Within::Rule);
        let rule = Rule { unless_near, or_update: None };
        let outcomes = write(db.core(), &documents, rule, None)?;
        dropped += duplicates(&outcomes);
        meter.advance(batch.len() as u64)?;
    }
}

/// Adds the documents of a source that have nothing near: originals first, then what was remembered
/// as a duplicate. Returns the number of those left out.
fn add_documents<F: Fingerprint>(
    db: &WriteHandle<F>,
    source: &Reader<F>,
    watch: &Watch,
) -> Result<u64> {
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
                    && db.read()?.get(key.key)?.is_none_or(|there| there.stamp <= stamp)
                {
                    documents.push((fingerprint, Stamped { stamp, ..key }));
                }
            }
            let unless_near = Some(Within::Rule);
            let rule = Rule { unless_near, or_update: Some(on_duplicate) };
            let outcomes = write(db.core(), &documents, rule, None)?;
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
