//! New databases from existing ones.

use std::path::{Path, PathBuf};

use super::report::BuildReport;
use super::texts::refuse_different_texts;
use super::unfinished::build;
use super::union::Union;
use crate::base::error::{Error, ErrorKind, Result};
use crate::base::progress::Watch;
use crate::db::handle::WriteHandle;
use crate::db::handle::open;
use crate::db::options::Options;
use crate::db::read::reader::Reader;
use crate::db::write::load::load;
use crate::db::write::load_documents::{DocumentsToLoad, load_documents};
use crate::documents::SymbolTable;
use crate::fingerprint::Fingerprint;
use crate::fingerprint::Ids;

/// Leaves of a source from whose keys the symbols of the new file are chosen.
const SAMPLED_LEAVES: u64 = 32;

/// Creates a database of everything that the sources hold, or nothing.
pub(crate) fn of_databases<F: Fingerprint>(
    options: Options<F>,
    sources: &[PathBuf],
    out: &Path,
) -> Result<BuildReport> {
    let readers: Vec<Reader<F>> = sources
        .iter()
        .map(|path| Ok(open::open_read_only(options.for_reading(), path)?.reader()))
        .collect::<Result<_>>()?;
    let options = options.like(sources, &readers, out)?;
    if let Some(passages) = options.passages {
        refuse_different_texts(passages, &readers, sources)?;
    }
    let watch = options.watch.clone();
    build(options, out, |db| fill(db, &readers, &watch))
}

impl<F: Fingerprint> Options<F> {
    /// Returns options to read a source in the same way.
    fn for_reading(&self) -> Self {
        let mut options = Self::default();
        (options.tuning, options.storage) = (self.tuning.clone(), self.storage.clone());
        options
    }

    /// Takes what is not set from the first source, after comparing all of them.
    fn like(mut self, paths: &[PathBuf], sources: &[Reader<F>], out: &Path) -> Result<Self> {
        let (Some(first), Some(first_path)) = (sources.first(), paths.first()) else {
            let message = "there is nothing to merge: give at least one database";
            return Err(Error::invalid(message).at_path(out));
        };
        let first = &*first.settings;
        for (path, source) in paths.iter().zip(sources) {
            let found = &*source.settings;
            if first.passages != found.passages {
                let message = "indexes of passages can be merged if they have the same min_words, number of bits and seed, \
                               and not with other databases";
                return Err(Error::new(ErrorKind::InvalidArgument, message).at_path(path));
            }
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
        let found = first.index.rule();
        let has_new_rule = match (self.rule, self.max_distance, self.similar) {
            (Some(rule), ..) => rule != found,
            (None, None, None) => false,
            (None, distance, similar) => {
                (distance, similar) != (found.by_distance(), found.jaccard())
            }
        };
        if !has_new_rule {
            (self.rule, self.max_distance, self.similar) = (Some(found), None, None);
        }
        self.ids = self.ids.or(Some(first.ids));
        self.recipe = self.recipe.or_else(|| first.recipe.clone());
        self.extraction = self.extraction.or_else(|| first.extraction.clone());
        self.passages = first.passages;
        let entries = sources.iter().map(Reader::len).sum();
        self.expected_entries = self.expected_entries.max(entries);
        if let Some(tables) = first.index.tables() {
            self.block_size = self.block_size.or(Some(tables.block_size));
            if self.layout.is_none() && !has_new_rule {
                self.layout = Some(tables.layout.clone());
                self.filter_bits = self.filter_bits.or(Some(tables.filter_bits));
            }
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
    watch: &Watch,
) -> Result<BuildReport> {
    let has_documents = db.description().ids.identify_documents();
    let count = |source: &Reader<F>| match has_documents {
        true => source.version.documents(source.seq),
        false => source.len(),
    };
    let read = sources.iter().map(count).sum();
    if has_documents {
        load_union(db, sources, watch)?;
    } else {
        let _ = load(db.core(), &mut sources.iter().flat_map(Reader::iter), watch)?;
    }
    let written = count(&db.reader());
    Ok(BuildReport { read, written, ..BuildReport::default() })
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
    let mut union = Union::new(sources, db.description().ids == Ids::Names)?;
    let next_doc = union.next_doc();
    let bytes = in_files + recent as u64;
    let given = DocumentsToLoad { documents: &mut union, most, bytes, symbols, next_doc };
    load_documents(db.core(), given, watch).map(|_| ())
}
