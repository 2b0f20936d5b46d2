//! Deduplicates rows among themselves, with a database of its own.

use std::path::PathBuf;

use fpdb::text::Recipe;
use fpdb::{Db, Durability, Jaccard, Sketch};
use tempfile::TempDir;

use crate::candidates::{Candidate, Like};
use crate::comparer::{Comparer, Verdict};
use crate::error::{Error, Result};
use crate::nearest::Nearest;
use crate::options::Options;
use crate::rows::{Kind, Row};

/// Rows that are compared with each other in memory, before they are written to the database.
const CHUNK: usize = 1 << 12;

/// Drops the near-duplicates among texts: chunks of them in, a [`Verdict`] on each out.
///
/// Two texts are near-duplicates if the Jaccard similarity of their features, such as pairs of
/// words with the recipe `pairs/1`, reaches the threshold of the options. A text is kept unless it
/// is like one that is kept already. Sketches find what to compare: of pairs of exactly this
/// similarity the share [`recall`](Jaccard::recall), .95 by default, and of more similar ones more.
/// Then all features are compared, so no text is dropped that is less similar. A text is compared
/// with at most 256 others, the nearest by their sketches; [`Verdict::is_crowded`] says where there
/// are more.
///
/// Texts that share a band of their sketches with a hundred kept ones and more than by chance, such
/// as pages of one template, are not searched by their sketches. Instead, what they share is
/// counted ([`Crowd`](fpdb::text::jaccard::Crowd)), in 6 bytes of memory for each feature that few
/// others have, up to 1 GiB.
///
/// The time grows linearly with the length of the texts. Temporary files take about 1.3 times the
/// size of the kept texts. There, each feature is 48 bits of a hash, so one of 10^10 comparisons of
/// texts with 160 features each takes two different features for the same.
///
/// In memory, it takes about 120 MB for recent texts and what is found, 4.25 bytes for each text,
/// what [`Options::expected`] says, and the pages of the database of sketches, 290 bytes for each
/// kept text, of which at most [`Options::memory`] are in memory.
///
/// # Examples
///
/// ```
/// use fpdb::Jaccard;
/// use fpdb::text::Recipe;
/// use fpdb_dedup::Dedup;
///
/// let texts = [
///     "The quick brown fox jumps over the lazy dog and runs into the forest behind the old mill.",
///     "Trains leave for the airport every ten minutes, until midnight, from platform number four.",
///     "The quick brown fox jumps over the lazy dog, and runs into the forest behind the old mill!",
/// ];
/// let recipe = Recipe::for_sketches("pairs/1")?;
/// let mut dedup = Dedup::options(recipe, Jaccard::at_least(0.8)).start()?;
/// let verdicts = dedup.add(&texts)?;
/// assert!(verdicts.iter().map(|it| it.is_kept()).eq([true, true, false]));
/// assert_eq!((verdicts[2].duplicate_of(), verdicts[2].similarity), (Some(0), Some(1.0)));
///
/// // Rows are counted on from chunk to chunk.
/// assert_eq!(dedup.add(&["", texts[1]])?[1].duplicate_of(), Some(1));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Dedup {
    comparer: Comparer,
    nearest: Nearest,
    jaccard: Jaccard,
    expected: u64,
    memory: u64,
    threads: usize,
    scratch: Option<PathBuf>,
    /// Kept rows of the last chunk, which are not in the database yet.
    waiting: Vec<(Sketch, u64)>,
    /// The kept rows of earlier chunks. Only if there is more than one chunk.
    stored: Option<Stored>,
    /// Whether an error has left rows of which nobody knows the verdicts.
    has_failed: bool,
}

/// A database in a folder that is removed when this is dropped.
#[derive(Debug)]
struct Stored {
    // Dropped first.
    db: Db<Sketch>,
    _folder: TempDir,
}

impl Dedup {
    /// Returns options: texts are near-duplicates if they are this similar by the features of this
    /// recipe.
    ///
    /// See the example of [`Dedup`].
    #[must_use]
    pub fn options(recipe: Recipe<Sketch>, similar: Jaccard) -> Options {
        Options::new(recipe, similar)
    }

    /// Takes the next texts, and returns a verdict on each. An empty text is kept; one that is too
    /// short for a sketch is dropped only if it is equal to a kept one, but for case and
    /// punctuation.
    ///
    /// # Errors
    ///
    /// [`Error::File`] and [`Error::Index`], such as for a full disk; [`Error::Cancelled`]. After
    /// an error, the deduplication has ended: [`Error::Invalid`].
    ///
    /// See the example of [`Dedup`].
    pub fn add<T: AsRef<str>>(&mut self, texts: &[T]) -> Result<Vec<Verdict>> {
        let texts: Vec<_> = texts.iter().map(|text| (text.as_ref(), None)).collect();
        self.add_in_groups(&texts)
    }

    /// Takes the next texts, and the group of each, such as a language or a site. Texts of
    /// different groups are never alike, and those without a group are a group, too.
    ///
    /// # Errors
    ///
    /// Those of [`add`](Self::add).
    ///
    /// # Examples
    ///
    /// ```
    /// use fpdb::Jaccard;
    /// use fpdb::text::Recipe;
    /// use fpdb_dedup::Dedup;
    ///
    /// let recipe = Recipe::for_sketches("pairs/1")?;
    /// let mut dedup = Dedup::options(recipe, Jaccard::at_least(0.8)).start()?;
    /// let rows = [("No.", Some("en")), ("No.", Some("it")), ("No!", Some("it"))];
    /// let verdicts = dedup.add_in_groups(&rows)?;
    /// assert!(verdicts.iter().map(|it| it.duplicate_of()).eq([None, None, Some(1)]));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn add_in_groups(&mut self, texts: &[(&str, Option<&str>)]) -> Result<Vec<Verdict>> {
        if self.has_failed {
            let what = "the deduplication has ended with an error: begin again".to_owned();
            return Err(Error::Invalid { what });
        }
        self.has_failed = true;
        let mut verdicts = Vec::with_capacity(texts.len());
        for chunk in texts.chunks(CHUNK) {
            verdicts.extend(self.add_chunk(chunk)?);
        }
        self.has_failed = false;
        Ok(verdicts)
    }

    fn add_chunk(&mut self, texts: &[(&str, Option<&str>)]) -> Result<Vec<Verdict>> {
        self.comparer.read(texts)?;
        self.store_waiting()?;
        let near = self.near()?;
        let verdicts = self.comparer.decide(&near, &[])?;
        let rows = self.comparer.rows().iter().zip(&verdicts).zip(self.comparer.before() as u64..);
        let is_stored = |(row, verdict): (&Row, &Verdict)| {
            row.kind != Kind::Nothing && verdict.is_kept() && !verdict.is_in_crowd
        };
        self.waiting.extend(
            rows.filter(|((row, verdict), _)| is_stored((row, verdict)))
                .map(|((row, _), number)| (row.sketch, number)),
        );
        Ok(verdicts)
    }

    /// Writes the kept rows of the last chunk to the database.
    fn store_waiting(&mut self) -> Result<()> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        let stored = match &self.stored {
            Some(stored) => stored,
            None => {
                let created = self.create()?;
                self.stored.insert(created)
            }
        };
        stored.db.write(&self.waiting).run()?;
        self.waiting.clear();
        Ok(())
    }

    fn create(&self) -> Result<Stored> {
        let mut folder = tempfile::Builder::new();
        let folder = folder.prefix("fpdb-");
        let scratch = self.scratch.clone().unwrap_or_else(std::env::temp_dir);
        let folder = folder.tempdir_in(&scratch).map_err(Error::file(&scratch))?;
        let options = fpdb::Options::sketches()
            .similar(self.jaccard)
            .expected_entries(self.expected)
            .durability(Durability::Buffered)
            .memtable_entries(1 << 16)
            .page_memory(self.memory)
            .threads(self.threads);
        let db = options.create(folder.path().join("dedup.fpdb"))?;
        Ok(Stored { db, _folder: folder })
    }

    /// Returns the rows of earlier chunks near each row of the chunk.
    fn near(&self) -> Result<Vec<Vec<Candidate>>> {
        let rows = self.comparer.rows();
        let mut near = vec![Vec::new(); rows.len()];
        let Some(Stored { db, .. }) = &self.stored else { return Ok(near) };
        let compared = rows.iter().zip(&mut near).filter(|(row, _)| row.kind != Kind::Nothing);
        let (sketches, places): (Vec<_>, Vec<_>) =
            compared.map(|(row, place)| (row.sketch, place)).unzip();
        let until = self.comparer.until().clone();
        let snapshot = db.snapshot().on_progress(move |_| until.flow());
        let found = self.nearest.find(&snapshot, &sketches)?;
        for (place, found) in places.into_iter().zip(found) {
            let found = found.into_iter().map(|(distance, id)| {
                let row = usize::try_from(id.0).unwrap_or(usize::MAX);
                Candidate { distance, of: Like::Row(row), gives_way: false }
            });
            place.extend(found);
        }
        Ok(near)
    }
}

impl Options {
    /// Begins a deduplication of texts among themselves.
    ///
    /// # Errors
    ///
    /// [`Error::Index`] if the similarity or the recall is none that can be found;
    /// [`Error::File`] if there cannot be a temporary file.
    ///
    /// See the example of [`Dedup`].
    pub fn start(self) -> Result<Dedup> {
        let Self { jaccard, expected, memory, threads, .. } = self;
        let scratch = self.scratch.clone();
        let comparer = Comparer::alone(self)?;
        Ok(Dedup {
            comparer,
            nearest: Nearest::default(),
            jaccard,
            expected,
            memory,
            threads,
            scratch,
            waiting: Vec::new(),
            stored: None,
            has_failed: false,
        })
    }
}

#[cfg(test)]
mod tests;
