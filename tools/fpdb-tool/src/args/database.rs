//! Finds, describes and creates the database that a command names.

use std::fs;
use std::io;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use fpdb::{
    Db, Description, DocId, ErrorKind, Fingerprint, Ids, Jaccard, Key, Layout, MatchRule, Options,
    PassageSettings, Sketch,
};

use crate::args::numbers::parse_count;
use crate::args::suggested;

/// Width of sketches in bits.
pub(crate) const SKETCH_BITS: u32 = <Sketch as Fingerprint>::BITS;

/// Evaluates an expression with options of a database's width: `u64`, `u128` or `Sketch`. Those for
/// sketches can be given.
macro_rules! by_width {
    ($bits:expr, |$options:ident| $body:expr) => {
        $crate::args::database::by_width!($bits, fpdb::Options::sketches(), |$options| $body)
    };
    ($bits:expr, $sketches:expr, |$options:ident| $body:expr) => {
        if $bits == $crate::args::database::SKETCH_BITS {
            let $options = $sketches;
            $body
        } else {
            $crate::args::database::by_word!($bits, |$options| $body)
        }
    };
}
pub(crate) use by_width;

/// The same for a database whose fingerprints are words: `u64` or `u128`.
macro_rules! by_word {
    ($bits:expr, |$options:ident| $body:expr) => {
        if $bits == 128 {
            let $options = fpdb::Options::bits128();
            $body
        } else {
            let $options = fpdb::Options::<u64>::default();
            $body
        }
    };
}
pub(crate) use by_word;

/// Says what a database of this width stores, for messages.
pub(crate) fn stored(bits: u32) -> String {
    if bits == SKETCH_BITS { "sketches".to_owned() } else { format!("{bits}-bit fingerprints") }
}

/// Says what a distance counts at this width.
pub(crate) fn unit(bits: u32) -> &'static str {
    if bits == SKETCH_BITS { "minima" } else { "bits" }
}

/// Says by which bands a database of sketches finds documents; `None` for one of fingerprints.
pub(crate) fn bands(rule: &MatchRule) -> Option<String> {
    let (bands, minima) = rule.bands()?;
    let distance = rule.distance();
    Some(format!("{bands} bands of {minima} minima, of 128 at most {distance} may differ"))
}

/// The options of a new database, which keeps them for good.
#[derive(clap::Args, Clone)]
pub(crate) struct NewDatabase {
    /// Max distance in bits, from 0 to 12 (10 at 128 bits), within which documents are duplicates.
    /// Queries can use any other distance [default: 3]
    #[arg(short = 'k', long, value_name = "BITS", help_heading = "A new database")]
    max_distance: Option<u32>,

    /// Documents are duplicates if their Jaccard similarity is at least this, from 0.5 to 1, such
    /// as 0.8. The database stores sketches of them instead of fingerprints, so options for bits,
    /// layouts, blocks and filters do not apply. Needs a one-bit MinHash recipe, such as pairs/1
    #[arg(
        long,
        value_name = "SIMILARITY",
        conflicts_with = "max_distance",
        help_heading = "A new database"
    )]
    jaccard: Option<f64>,

    /// Share of the pairs of exactly this similarity to find, from 0.5 to 0.999 [default: 0.95]
    #[arg(long, value_name = "SHARE", requires = "jaccard", help_heading = "A new database")]
    recall: Option<f64>,

    /// Layout of the tables: a preset such as ring-4 or half-2, a ring of cells of these widths,
    /// such as ring:25/19/20, or `auto`, which chooses by distance and expected entries [default:
    /// auto]
    #[arg(long, value_name = "NAME", value_parser = suggested::layouts(), hide_possible_values = true, help_heading = "A new database")]
    layout: Option<String>,

    /// Expected number of entries, for which the layout is chosen, or with --jaccard the keys
    /// [default: 1000000]
    #[arg(long = "expected", value_name = "ENTRIES", value_parser = parse_count, help_heading = "A new database")]
    expected_entries: Option<u64>,

    /// Size of a table's blocks in bytes, a power of two from 128 to 4096. Small blocks are faster
    /// to probe, large blocks take less space [default: 128]
    #[arg(long, value_name = "BYTES", help_heading = "A new database")]
    block_size: Option<usize>,

    /// Size of the prefix filter in bits per fingerprint and table, from 0 to 32, where 0 means no
    /// filter. The filter avoids most lookups that would find nothing [default: 8 if the layout and
    /// the number of entries benefit from it]
    #[arg(long, value_name = "BITS", help_heading = "A new database")]
    filter_bits: Option<u32>,
}

impl NewDatabase {
    /// Returns the width of a new database, given the value of `--bits`.
    pub(crate) fn bits(&self, requested: Option<u32>) -> Result<u32> {
        new_bits(self.jaccard.is_some(), requested)
    }

    /// Returns options for a database of sketches with the similarity.
    pub(crate) fn sketches(&self) -> Options<Sketch> {
        let options = Options::sketches();
        match self.jaccard {
            Some(similarity) => options.similar(jaccard(similarity, self.recall)),
            None => options,
        }
    }

    /// Adds all but the similarity to `options`. The library has defaults for those that are
    /// absent, and refuses to open an existing database whose options differ.
    pub(crate) fn options<F: Fingerprint>(&self, mut options: Options<F>) -> Result<Options<F>> {
        self.check(F::BITS)?;
        if let Some(max_distance) = self.max_distance {
            options = options.max_distance(max_distance);
        }
        if let Some(entries) = self.expected_entries {
            options = options.expected_entries(entries);
        }
        if let Some(bytes) = self.block_size {
            options = options.block_size(bytes);
        }
        if let Some(bits) = self.filter_bits {
            options = options.filter_bits(bits);
        }
        match self.layout.as_deref() {
            None | Some("auto") => Ok(options),
            Some(name) => Ok(options.layout(Layout::preset(name, F::BITS)?)),
        }
    }

    /// Refuses options that a database of this width does not have.
    fn check(&self, bits: u32) -> Result<()> {
        if bits != SKETCH_BITS {
            return match self.jaccard {
                Some(_) => bail!(
                    "--jaccard needs a database of sketches, and this one has {}: leave it out, or \
                     make a new database of the documents",
                    stored(bits)
                ),
                None => Ok(()),
            };
        }
        let others = [
            ("--max-distance", self.max_distance.is_some()),
            ("--layout", self.layout.as_ref().is_some_and(|name| name != "auto")),
            ("--block-size", self.block_size.is_some()),
            ("--filter-bits", self.filter_bits.is_some()),
        ];
        match others.iter().find(|(_, is_given)| *is_given) {
            Some((option, _)) => bail!(
                "{option} is for databases of fingerprints, and one for --jaccard has sketches: leave \
                 it out"
            ),
            None => Ok(()),
        }
    }
}

/// Returns the width of a new database, given whether it is for a similarity, and the value of
/// `--bits`.
pub(crate) fn new_bits(by_similarity: bool, requested: Option<u32>) -> Result<u32> {
    match requested {
        Some(bits) if by_similarity => bail!(
            "--jaccard makes a database of sketches, and --bits {bits} one of fingerprints: leave out \
             one of the two"
        ),
        None if by_similarity => Ok(SKETCH_BITS),
        requested => Ok(requested.unwrap_or(64)),
    }
}

/// Returns the similarity that `--jaccard` and `--recall` ask for.
pub(crate) fn jaccard(similarity: f64, recall: Option<f64>) -> Jaccard {
    let similar = Jaccard::at_least(similarity);
    recall.map_or(similar, |recall| similar.recall(recall))
}

/// A database that a run stores in, and may have created.
pub(crate) struct Target<F: Fingerprint> {
    pub(crate) db: Db<F>,
    is_new: bool,
    has_new_folder: bool,
}

impl<F: Fingerprint> Target<F> {
    /// Opens a database that was there, or else creates it.
    pub(crate) fn open(options: Options<F>, path: &Path, is_there: bool) -> fpdb::Result<Self> {
        let has_new_folder = !path.exists();
        let opened = |db| Self { db, is_new: false, has_new_folder: false };
        if is_there {
            return options.open(path).map(opened);
        }
        match options.clone().create(path) {
            // Another process has created it in the meantime.
            Err(error)
                if error.kind() == ErrorKind::AlreadyExists && Description::read(path).is_ok() =>
            {
                options.open(path).map(opened)
            }
            db => Ok(Self { db: db?, is_new: true, has_new_folder }),
        }
    }

    /// Closes the database after a run, even if the run failed, so that what is stored by now is
    /// durable. A failed run that has stored nothing in a new database removes it: otherwise the
    /// next run would find its settings, which may be what was wrong.
    pub(crate) fn close(self, succeeded: bool) -> fpdb::Result<()> {
        if succeeded || !self.is_new {
            return self.db.close();
        }
        let path = self.db.path().to_owned();
        self.db.close()?;
        if remove_if_empty::<F>(&path) && self.has_new_folder {
            // If somebody else has put something into it, it stays.
            let _ = fs::remove_dir(path);
        }
        Ok(())
    }
}

/// The files of a database before its first commit, in the order in which they are removed: the
/// copy alone would look like a damaged database.
const FILES: [&str; 3] = ["MANIFEST.copy", "MANIFEST", "LOCK"];

/// Removes the files of a database that was closed, if it holds nothing. Returns whether it did.
/// The database is open meanwhile, so that no other process can write to it.
fn remove_if_empty<F: Fingerprint>(path: &Path) -> bool {
    let Ok(_locked) = Options::<F>::default().background(false).open(path) else { return false };
    let is_own = |entry: io::Result<fs::DirEntry>| {
        entry
            .is_ok_and(|entry| entry.file_name().to_str().is_some_and(|name| FILES.contains(&name)))
    };
    fs::read_dir(path).is_ok_and(|mut all| all.all(is_own))
        && FILES.iter().all(|name| fs::remove_file(path.join(name)).is_ok())
}

/// `--ids`
#[derive(ValueEnum, Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IdKind {
    /// You choose numbers, and one number may have several fingerprints
    User,
    /// You choose numbers, each for one document, which can be found by it and updated
    Unique,
    /// You choose names, such as URLs, each for one document, and the database numbers them
    Names,
}

impl From<IdKind> for Ids {
    fn from(kind: IdKind) -> Self {
        match kind {
            IdKind::User => Ids::User,
            IdKind::Unique => Ids::Unique,
            IdKind::Names => Ids::Names,
        }
    }
}

/// Says what a database is for.
pub(crate) fn purpose(description: &Description) -> String {
    match description.passages {
        None => "near-duplicates".to_owned(),
        Some(PassageSettings { min_words, bits, .. }) => {
            format!("index of passages of {min_words} words, windows of {bits} bits")
        }
    }
}

/// Parses a width of fingerprints, the value of `--bits`.
pub(crate) fn parse_bits(text: &str) -> Result<u32, String> {
    match text {
        "64" => Ok(64),
        "128" => Ok(128),
        _ => Err("fingerprints have 64 or 128 bits".to_owned()),
    }
}

/// Returns the width of an existing database's fingerprints, or the requested width for a new one.
pub(crate) fn width(
    existing: Option<&Description>,
    requested: Option<u32>,
    new: &NewDatabase,
) -> Result<u32> {
    match (existing, requested) {
        (Some(existing), Some(requested)) if existing.bits != requested => {
            bail!("the database has {}, not {}", stored(existing.bits), stored(requested))
        }
        (Some(existing), _) => Ok(existing.bits),
        (None, requested) => new.bits(requested),
    }
}

/// Returns the description of a database, or `None` if there is none yet or its creation was
/// interrupted.
pub(crate) fn find(path: &Path) -> Result<Option<Description>> {
    match fpdb::Description::read(path) {
        Ok(description) => Ok(Some(description)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Refuses a database whose kind of ids is not the one that a command needs.
pub(crate) fn need_ids(existing: &Description, needed: Ids, command: &str) -> Result<()> {
    if existing.ids != needed {
        bail!(
            "{command} needs a database created with --ids {needed}; this one has --ids {}",
            existing.ids
        );
    }
    Ok(())
}

/// Refuses a database whose ids do not identify documents.
pub(crate) fn need_documents(existing: &Description, command: &str) -> Result<()> {
    if existing.ids == Ids::User {
        bail!(
            "{command} needs a database created with --ids names or --ids unique; this one has \
             --ids user"
        );
    }
    Ok(())
}

/// Returns the key that an argument or a line of a file gives: a name or, in a database with unique
/// ids, a number.
pub(crate) fn parse_key(ids: Ids, text: &str) -> Result<Key<'_>> {
    if ids == Ids::Names { Ok(Key::Name(text)) } else { Ok(Key::Id(parse_id(text)?)) }
}

pub(crate) fn parse_id(text: &str) -> Result<DocId> {
    let id = text.trim().parse().map(DocId);
    id.with_context(|| format!("{text:?} is not a number from 0 to {}", u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_in(folder: &Path) -> Vec<String> {
        let all = fs::read_dir(folder).unwrap();
        let names = all.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn a_failed_run_removes_a_new_database_only_if_it_holds_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("db");
        let target = || Target::open(Db::options(), &path, false).unwrap();
        target().close(false).unwrap();
        assert!(!path.exists());
        // A file that is not the database's stays, and so does what may explain it.
        let new = target();
        fs::write(path.join("notes"), "").unwrap();
        new.close(false).unwrap();
        assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "MANIFEST.copy", "notes"]);
        fs::remove_dir_all(&path).unwrap();
        let new = target();
        new.db.insert(7, 1).unwrap();
        new.close(false).unwrap();
        assert!(Db::open(&path).unwrap().snapshot().contains(7).unwrap());
    }
}
