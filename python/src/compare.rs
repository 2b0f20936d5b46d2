//! The rows of a deduplication, chunk by chunk, as Python passes them.

mod decisions;

use std::collections::HashSet;
use std::path::PathBuf;

use fpdb::text::Recipe;
use fpdb::text::jaccard::Mixed;
use fpdb::{Db, Jaccard, Matcher, Sketch};
use fpdb_dedup::FeatureStore;
use pyo3::prelude::*;

use crate::arrays::{array, with_numbers};
use crate::candidates::{Candidates, EARLIER, Like};
use crate::crowds::Crowds;
use crate::errors::{self, OrRaise};
use crate::interrupt::interruptible;
use crate::jaccard::words_of;
use crate::kept::Kept;
use crate::names;
use crate::numbers::Number;
use crate::parallel;
use crate::reader::Reader;
use crate::rows::{Kind, Row, Rows, key_of};
use crate::rule::MatchRule;
use crate::strings::Strings;
use crate::width::Bits;

/// Documents with which a row is compared, the nearest first. Without a limit, each text of a crowd
/// whose sketches are near, but whose texts are not alike, would be compared with all others.
pub(crate) const MOST_CANDIDATES: usize = 256;

type Array<'py> = Bound<'py, PyAny>;
/// What rows are like, how similar they are, for which rows this is estimated, what gives way to
/// which row, which rows are in the crowd, and how many kept rows have more candidates than they
/// are compared with.
type Decided<'py> = (Array<'py>, Array<'py>, Array<'py>, Vec<(usize, usize)>, Array<'py>, usize);

/// What was decided of a row.
#[derive(Debug, Default)]
struct Decision {
    like: Option<(Like, f64)>,
    /// Whether its similarity to that is estimated from the sketches.
    is_estimated: bool,
    /// The documents of earlier runs that give way to it, if it is kept.
    replaced: Vec<usize>,
    /// Whether there are more candidates than it was compared with.
    is_crowded: bool,
    /// Whether it is kept, and found by what it shares with others and not by its sketch.
    is_in_crowd: bool,
}

/// Compares the rows of a deduplication with those before them, chunk by chunk.
///
/// A row is like another one if their sketches match by the rule, and if the exact similarity of
/// their texts is at least the threshold. Of several, it is like the most similar one. If exact is
/// false, the sketches decide alone. Where neither the text nor the features of an earlier document
/// are known, the sketches decide, too.
#[pyclass(module = "fpdb_engine._native")]
pub(crate) struct Comparer {
    rows: Rows,
    rule: fpdb::MatchRule,
    matcher: Matcher,
    similarity: f64,
    threads: usize,
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
    /// Hashes of the names of rows.
    names: HashSet<u64>,
}

#[pymethods]
impl Comparer {
    /// rule is the match rule of a database, which has all rows that are kept. Without it, a rule
    /// is chosen, and rows that `decide` says are in the crowd need not be in a database. `features`
    /// is the folder with the features of its documents.
    #[new]
    #[pyo3(signature = (*, similarity, recall, recipe, rule, features, expected, ngram, exact, threads))]
    #[expect(clippy::too_many_arguments, reason = "only called by dedup")]
    fn new(
        similarity: f64,
        recall: f64,
        recipe: &str,
        rule: Option<&MatchRule>,
        features: Option<PathBuf>,
        expected: Number,
        ngram: Option<Number>,
        exact: bool,
        threads: Option<Number>,
    ) -> PyResult<Self> {
        let ngram = words_of(ngram)?;
        let recipe = Recipe::for_sketches(recipe).or_raise()?;
        let jaccard = Jaccard::at_least(similarity).recall(recall);
        let has_crowds = exact && rule.is_none();
        let rule = match rule {
            Some(rule) => rule.rule,
            None => fpdb::MatchRule::for_similarity(jaccard, expected.0).or_raise()?,
        };
        let crowds = has_crowds.then(|| Crowds::new(rule, similarity, expected.0)).transpose()?;
        let stored = features.filter(|_| exact).map(|folder| {
            // With other words, there are other features.
            let of =
                ngram.map_or(recipe.name().to_owned(), |n| format!("{}, {n} words", recipe.name()));
            FeatureStore::open(&folder, &of, Db::options()).or_raise()
        });
        let stored = stored.transpose()?;
        Ok(Self {
            rows: Rows { recipe, ngram, is_exact: exact },
            rule,
            matcher: rule.matcher(),
            similarity,
            threads: parallel::threads(threads),
            kept: exact.then(Kept::new).transpose()?,
            crowds,
            stored,
            chunk: Vec::new(),
            is_kept: Vec::new(),
            in_crowd: Vec::new(),
            before: 0,
            names: HashSet::new(),
        })
    }

    /// Returns the names and aliases of the recipes that make sketches. None is loaded.
    #[staticmethod]
    fn recipes() -> Vec<&'static str> {
        let aliases = Recipe::aliases().map(|(alias, _)| alias);
        Recipe::names_for_sketches().chain(aliases).collect()
    }

    /// Reads the next chunk. Returns the sketches, and what is compared of each row: 0 for nothing,
    /// 1 for the sketch, and 2 for whether the texts are equal.
    /// Rows of different groups are never alike.
    #[pyo3(signature = (texts, groups = None))]
    fn read<'py>(
        &mut self,
        texts: &Bound<'py, PyAny>,
        groups: Option<Vec<Option<String>>>,
    ) -> PyResult<(Array<'py>, Array<'py>)> {
        let py = texts.py();
        // The caller may try again with other texts, so nothing changes before these are accepted.
        let strings = Strings::new(texts, "text")?;
        let texts = strings.all()?;
        let group_of = |row: usize| groups.as_ref()?.get(row)?.as_deref();
        let keys = (0..).map(|row| group_of(row).map_or(0, key_of));
        let texts: Vec<_> = texts.into_iter().zip(keys).collect();
        if let Some(kept) = &mut self.kept {
            let rows = self.chunk.iter().zip(&self.is_kept);
            kept.append(rows.map(|(row, &is_kept)| is_kept.then_some(&row.features)))?;
        }
        if let Some(crowds) = &mut self.crowds {
            let rows = self.in_crowd.drain(..).map(|row| (row, &self.chunk[row]));
            crowds.extend(rows.map(|(row, it)| (self.before + row, it.sketch, &it.features)))?;
        }
        self.before += self.chunk.len();
        let read = |&(text, key): &(Option<&str>, u64)| {
            let text = text.unwrap_or_default();
            let row = self.rows.row(text);
            if key == 0 { row } else { self.rows.in_group(row, text, key) }
        };
        self.chunk = interruptible(py, |cancel| parallel::map(&texts, self.threads, cancel, read))?;
        self.is_kept = vec![false; self.chunk.len()];
        let sketches = self.chunk.iter().map(|row| row.sketch).collect();
        let kinds = self.chunk.iter().map(|row| row.kind as u8).collect();
        Ok((Sketch::into_array(sketches, py)?, array::<u8>(py, kinds)))
    }

    /// Closes a database that is thrown away, without writing what it has in memory.
    #[staticmethod]
    fn throw_away(db: &Bound<'_, Reader>) -> PyResult<()> {
        db.get().handle.throw_away(db.py())
    }

    /// Returns which names have not occurred before.
    fn are_new(&mut self, names: Vec<String>) -> Vec<bool> {
        names.iter().map(|name| self.names.insert(key_of(name))).collect()
    }

    /// Returns the first names of a database that are greater than `after` and begin with a prefix,
    /// at most `most`, and the ids of their documents.
    #[staticmethod]
    fn names_after(
        db: &Bound<'_, Reader>,
        after: &str,
        prefix: &str,
        most: usize,
    ) -> PyResult<Vec<(String, u64)>> {
        names::after(&db.get().handle.snapshot_now()?, db.py(), (after, prefix), most)
    }

    /// Returns, for each pair of a row of the chunk and a sketch, whether the sketches do not tell
    /// on which side of the threshold the similarity is: their estimate is within three standard
    /// errors of it, or exact similarities are of other features.
    fn are_unsure<'py>(
        &self,
        rows: &Bound<'py, PyAny>,
        sketches: &Bound<'py, PyAny>,
    ) -> PyResult<Array<'py>> {
        let py = rows.py();
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let is_unsure = |(&row, &sketch): (&u64, &Sketch)| {
            let own = self.chunk.get(Number(row).count());
            own.is_some_and(|own| self.is_unsure(own, sketch))
        };
        Ok(array(py, rows.iter().zip(&sketches).map(is_unsure).map(u8::from).collect()))
    }

    /// Keeps the features of these rows of the chunk, which are about to be stored under these
    /// names.
    fn keep_features(&mut self, rows: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<()> {
        let Some(stored) = &mut self.stored else { return Ok(()) };
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let rows = rows.iter().filter_map(|&row| self.chunk.get(Number(row).count()));
        let rows = rows.zip(&names).filter(|(row, _)| row.kind == Kind::Sketch);
        let seed = stored.seed();
        let mixed: Vec<_> = rows
            .map(|(row, name)| (&**name, row.sketch, Mixed::new(&row.features, seed)))
            .collect();
        stored.insert(mixed.iter().map(|(name, sketch, mixed)| (*name, *sketch, mixed))).or_raise()
    }

    /// Gives the features of stored documents free for others, whatever became of the run.
    fn release(&mut self) {
        self.stored = None;
    }

    /// Makes sure that the features that were kept survive a power failure.
    fn finish(&mut self) -> PyResult<()> {
        self.stored.take().map_or(Ok(()), |stored| stored.close().or_raise())
    }

    /// Decides about the chunk that was read. The candidates of row i are the elements offsets[i]
    /// to offsets[i + 1] of the lists: rows of earlier chunks that are kept, or 2^63 + p for the
    /// text at position p in earlier, whose name and sketch are at p in names and sketches. Rows of
    /// the chunk itself are found here.
    ///
    /// Returns what each row is like, in the same form, or 2^64 - 1 for a row to keep; the
    /// similarities, and whether each is estimated; pairs of a row and a position in earlier that gives way to it; whether each
    /// row is in the crowd, and found without being among the candidates; and how many rows to keep
    /// have more candidates than they are compared with.
    #[expect(clippy::too_many_arguments, reason = "only called by dedup")]
    fn decide<'py>(
        &mut self,
        offsets: &Bound<'py, PyAny>,
        of: &Bound<'py, PyAny>,
        distances: &Bound<'py, PyAny>,
        gives_way: &Bound<'py, PyAny>,
        earlier: &Bound<'py, PyAny>,
        names: Vec<String>,
        sketches: &Bound<'py, PyAny>,
    ) -> PyResult<Decided<'py>> {
        let py = of.py();
        let earlier = Strings::new(earlier, "text")?;
        let earlier = earlier.all()?;
        let numbers = |list, what| with_numbers(list, what, |it| Ok(it.to_vec()));
        let (offsets, of) = (numbers(offsets, "offset")?, numbers(of, "row")?);
        let (distances, gives_way) = (numbers(distances, "distance")?, numbers(gives_way, "flag")?);
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let decided = interruptible(py, |cancel| {
            let make = |text: &Option<&str>| text.map(|text| self.rows.sketch_and_features(text).1);
            let earlier = parallel::map(&earlier, self.threads, cancel, make);
            let candidates = Candidates {
                offsets: &offsets,
                of: &of,
                distances: &distances,
                gives_way: &gives_way,
                earlier,
                names: &names,
                sketches: &sketches,
            };
            self.decisions(&candidates, cancel)
        })?;
        let decided = decided
            .or_raise()?
            .ok_or_else(|| errors::invalid("the candidates do not fit the texts"))?;
        let of = decided.iter().map(|decision| match decision.like {
            None => u64::MAX,
            Some((Like::Row(row), _)) => row as u64,
            Some((Like::Earlier(place), _)) => EARLIER + place as u64,
        });
        let similarities =
            decided.iter().map(|it| it.like.map_or(f64::NAN, |(_, similarity)| similarity));
        let replaced = (0..).zip(&decided);
        let replaced =
            replaced.flat_map(|(row, it)| it.replaced.iter().map(move |&place| (row, place)));
        let crowded = decided.iter().filter(|it| it.is_crowded && it.like.is_none()).count();
        let (of, similarities) = (array(py, of.collect()), array(py, similarities.collect()));
        let flags = |flag: fn(&Decision) -> bool| {
            array(py, decided.iter().map(|it| u8::from(flag(it))).collect())
        };
        let (estimated, in_crowd) = (flags(|it| it.is_estimated), flags(|it| it.is_in_crowd));
        Ok((of, similarities, estimated, replaced.collect(), in_crowd, crowded))
    }
}
