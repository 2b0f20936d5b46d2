//! Compares the rows of a deduplication with those before them.

mod decisions;

use std::path::{Path, PathBuf};

use fpdb::text::jaccard::Mixed;
use fpdb::{Db, MatchRule, Matcher};

use crate::candidates::{Candidate, Earlier, Like};
use crate::crowds::Crowds;
use crate::error::{Error, Result};
use crate::kept::Kept;
use crate::options::{Options, Until};
use crate::parallel;
use crate::rows::{Kind, Row, Rows};
use crate::store::FeatureStore;

/// Documents with which a row is compared, the nearest first. Without a limit, each text of a crowd
/// whose sketches are near, but whose texts are not alike, would be compared with all others.
pub const MOST_CANDIDATES: usize = 256;

/// What was decided of a row.
///
/// See the example of [`Dedup`](crate::Dedup).
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Verdict {
    /// What was compared of it.
    pub kind: Kind,
    /// What it is like; `None` if it is kept.
    pub like: Option<Like>,
    /// How similar it is to that; `None` if it is kept.
    pub similarity: Option<f64>,
    /// Whether the similarity is estimated from the sketches.
    pub is_estimated: bool,
    /// The documents of earlier runs that give way to it, if it is kept.
    pub replaced: Vec<usize>,
    /// Whether there are more candidates than it was compared with.
    pub is_crowded: bool,
    /// Whether it is kept, and found by what it shares with others. Otherwise, a kept row must be
    /// in the database.
    pub(crate) is_in_crowd: bool,
}

impl Verdict {
    /// Returns whether the row is like none that is kept.
    #[must_use]
    pub fn is_kept(&self) -> bool {
        self.like.is_none()
    }

    /// Returns the row of this run that it is like, if any.
    #[must_use]
    pub fn duplicate_of(&self) -> Option<usize> {
        match self.like {
            Some(Like::Row(row)) => Some(row),
            Some(Like::Earlier(_)) | None => None,
        }
    }
}

/// Compares the rows of a deduplication with those before them, chunk by chunk, if a database says
/// which ones are near. [`Dedup`](crate::Dedup) has a database itself.
///
/// A row is like another one if their sketches match by the rule, and if the exact similarity of
/// their texts is at least the threshold. Of several, it is like the most similar one. Where
/// neither the text nor the features of an earlier document are known, the sketches decide.
///
/// # Examples
///
/// The documents of earlier runs are in a database, and their features beside it:
///
/// ```
/// use fpdb::text::Recipe;
/// use fpdb::{Db, Ids, Jaccard, Options};
/// use fpdb_dedup::{Candidate, Comparer, Dedup, Earlier, FeatureStore, Kind, Like, Nearest};
///
/// let folder = std::env::temp_dir().join(format!("fpdb-comparer-{}", std::process::id()));
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let similar = Jaccard::at_least(0.8);
/// let db = Options::sketches().similar(similar).ids(Ids::Names).recipe(&recipe).in_memory()?;
///
/// for (run, texts) in [("May", ["one two three four", "red green blue"]), ("June", ["One, two, three, four!", "more"])] {
///     let options = Dedup::options(recipe.clone(), similar);
///     let mut comparer = Comparer::beside(options, db.description().rule, Some(&folder))?;
///     let rows = comparer.read(&texts.map(|text| (text, None)))?;
///     let (sketches, kinds): (Vec<_>, Vec<_>) = rows.iter().map(|it| (it.sketch, it.kind)).unzip();
///
///     let snapshot = db.snapshot();
///     let near = Nearest::default().find(&snapshot, &sketches)?;
///     let mut candidates = vec![Vec::new(); texts.len()];
///     let (mut names, mut theirs) = (Vec::new(), Vec::new());
///     for (row, found) in near.into_iter().enumerate() {
///         for (distance, id) in found {
///             let name = snapshot.name(id)?.unwrap_or_default();
///             theirs.extend(db.get(&*name)?.map(|document| document.fingerprint));
///             let of = Like::Earlier(names.len());
///             names.push(name);
///             candidates[row].push(Candidate { distance, of, gives_way: false });
///         }
///     }
///     let earlier = names.iter().zip(theirs);
///     let earlier: Vec<_> = earlier.map(|(name, sketch)| Earlier { name, sketch, text: None }).collect();
///     let verdicts = comparer.decide(&candidates, &earlier)?;
///
///     let kept: Vec<_> = (0..texts.len()).filter(|&row| verdicts[row].is_kept()).collect();
///     let named = kept.iter().map(|&row| (row, format!("{run}/{row}")));
///     let named: Vec<_> = named.filter(|it| kinds[it.0] != Kind::Nothing).collect();
///     comparer.keep_features(named.iter().map(|(row, name)| (*row, &**name)))?;
///     let documents: Vec<_> = named.iter().map(|(row, name)| (sketches[*row], &**name)).collect();
///     db.write(&documents).run()?;
///     comparer.finish()?;
/// }
/// assert_eq!(db.snapshot().len(), 3);
/// # std::fs::remove_dir_all(&folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Comparer {
    rows: Rows,
    rule: MatchRule,
    matcher: Matcher,
    similarity: f64,
    threads: usize,
    until: Until,
    /// The folder of temporary files, for messages.
    scratch: PathBuf,
    /// `None` if the sketches decide alone.
    kept: Option<Kept>,
    /// `None` if all rows are found by their sketches.
    crowds: Option<Crowds>,
    /// The features of the documents of a database. `None` if there is none.
    stored: Option<FeatureStore>,
    /// The rows of the current chunk, which of them are kept, and which of these are in the crowd.
    chunk: Vec<Row>,
    is_kept: Vec<bool>,
    in_crowd: Vec<usize>,
    /// Number of rows in earlier chunks.
    before: usize,
}

impl Comparer {
    /// Makes a comparer that chooses a rule, and finds itself which rows of crowds are near. All
    /// other rows that are kept must be in a database with this rule.
    pub(crate) fn alone(options: Options) -> Result<Self> {
        let rule = MatchRule::for_similarity(options.jaccard, options.expected)?;
        let scratch = options.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let crowds = options.is_exact.then(|| {
            let similarity = options.jaccard.similarity();
            Crowds::new(rule, similarity, options.expected, &scratch).map_err(Error::file(&scratch))
        });
        let crowds = crowds.transpose()?;
        Self::new(options, rule, crowds, None)
    }

    /// Makes a comparer beside a database with this rule, which has all rows that are kept, and
    /// documents of earlier runs. `features` is the folder of the features of its documents, as
    /// [`FeatureStore::open`] takes it.
    ///
    /// # Errors
    ///
    /// Those of [`FeatureStore::open`]; [`Error::File`] if there cannot be a temporary file.
    pub fn beside(options: Options, rule: MatchRule, features: Option<&Path>) -> Result<Self> {
        let stored = features.filter(|_| options.is_exact).map(|folder| {
            let name = options.recipe.name();
            // With other words, there are other features.
            let of = options.words.map(|words| format!("{name}, {words} words"));
            FeatureStore::open(folder, of.as_deref().unwrap_or(name), Db::options())
        });
        let stored = stored.transpose()?;
        Self::new(options, rule, None, stored)
    }

    fn new(
        options: Options,
        rule: MatchRule,
        crowds: Option<Crowds>,
        stored: Option<FeatureStore>,
    ) -> Result<Self> {
        let Options { recipe, jaccard, words, is_exact, threads, scratch, until, .. } = options;
        let scratch = scratch.unwrap_or_else(std::env::temp_dir);
        let kept = is_exact.then(|| Kept::new(&scratch).map_err(Error::file(&scratch)));
        Ok(Self {
            rows: Rows { recipe, words, is_exact },
            rule,
            matcher: rule.matcher(),
            similarity: jaccard.similarity(),
            threads,
            until,
            scratch,
            kept: kept.transpose()?,
            crowds,
            stored,
            chunk: Vec::new(),
            is_kept: Vec::new(),
            in_crowd: Vec::new(),
            before: 0,
        })
    }

    /// Returns the rows of the chunk.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.chunk
    }

    /// Returns the number of rows in earlier chunks.
    pub(crate) fn before(&self) -> usize {
        self.before
    }

    pub(crate) fn until(&self) -> &Until {
        &self.until
    }

    /// Reads the next chunk: texts, and the group of each, if it has one. Rows of different groups
    /// are never alike.
    ///
    /// # Errors
    ///
    /// [`Error::File`] if a temporary file cannot be written; [`Error::Cancelled`].
    pub fn read(&mut self, texts: &[(&str, Option<&str>)]) -> Result<&[Row]> {
        let (rows, until) = (&self.rows, &self.until);
        let read = |&(text, group): &(&str, Option<&str>)| rows.row(text, group);
        // Nothing changes if the caller wants no more.
        let chunk = parallel::map(texts, self.threads, &|| until.is_reached(), read)?;
        if let Some(kept) = &mut self.kept {
            let rows = self.chunk.iter().zip(&self.is_kept);
            let rows = rows.map(|(row, &is_kept)| is_kept.then_some(&row.features));
            kept.append(rows).map_err(Error::file(&self.scratch))?;
        }
        if let Some(crowds) = &mut self.crowds {
            let rows = self.in_crowd.drain(..);
            let rows = rows.filter_map(|row| Some((self.before + row, self.chunk.get(row)?)));
            let rows = rows.map(|(row, it)| (row, it.sketch, &it.features));
            crowds.extend(rows).map_err(Error::file(&self.scratch))?;
        }
        self.before += self.chunk.len();
        self.chunk = chunk;
        self.is_kept = vec![false; self.chunk.len()];
        Ok(&self.chunk)
    }

    /// Keeps the features of rows of the chunk, which are about to be stored under these names.
    ///
    /// # Errors
    ///
    /// Those of [`FeatureStore::insert`].
    pub fn keep_features<'a>(
        &mut self,
        rows: impl IntoIterator<Item = (usize, &'a str)>,
    ) -> Result<()> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        let rows = rows.into_iter().filter_map(|(row, name)| Some((self.chunk.get(row)?, name)));
        let rows = rows.filter(|(row, _)| row.kind == Kind::Sketch);
        let seed = stored.seed();
        let mixed: Vec<_> =
            rows.map(|(row, name)| (name, row.sketch, Mixed::new(&row.features, seed))).collect();
        stored.insert(mixed.iter().map(|(name, sketch, mixed)| (*name, *sketch, mixed)))
    }

    /// Makes sure that the features that were kept survive a power failure, and lets others open
    /// them.
    ///
    /// # Errors
    ///
    /// Those of [`FeatureStore::close`].
    pub fn finish(self) -> Result<()> {
        self.stored.map_or(Ok(()), FeatureStore::close)
    }

    /// Decides about the chunk that was read. The candidates of each row are rows of earlier chunks
    /// that are kept, and documents of earlier runs, by their position in `earlier`. Rows of the
    /// chunk itself are found here.
    ///
    /// # Errors
    ///
    /// [`Error::Invalid`] if there are no candidates for each row of the chunk, or if there is no
    /// such row or document; [`Error::Cancelled`]; those of [`FeatureStore::get`]; [`Error::File`]
    /// if a temporary file cannot be read.
    pub fn decide(
        &mut self,
        near: &[Vec<Candidate>],
        earlier: &[Earlier<'_>],
    ) -> Result<Vec<Verdict>> {
        let (rows, before) = (self.chunk.len(), self.before);
        let is_known = |candidate: &Candidate| match candidate.of {
            Like::Earlier(place) => place < earlier.len(),
            Like::Row(row) => row < before,
        };
        if near.len() != rows || !near.iter().flatten().all(is_known) {
            let what = "the candidates do not fit the rows that were read".to_owned();
            return Err(Error::Invalid { what });
        }
        self.decisions(near, earlier)
    }
}
