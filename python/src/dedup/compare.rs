//! The rows of a deduplication, chunk by chunk, as Python passes them.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use fpdb::text::{FeatureHash, Recipe};
use fpdb::{Jaccard, Sketch};
use fpdb_dedup::{Candidate, Dedup, Earlier, Kind, Like, Row, Verdict};
use pyo3::prelude::*;

use crate::base::arrays::{array, with_numbers};
use crate::base::errors::{self, OrRaise};
use crate::base::interrupt::{Cancel, interruptible};
use crate::base::numbers::Number;
use crate::base::parallel;
use crate::base::strings::Strings;
use crate::base::width::Bits;
use crate::db::names;
use crate::db::reader::Reader;
use crate::db::rule::MatchRule;
use crate::text::jaccard::words_of;

type Array<'py> = Bound<'py, PyAny>;
/// What rows are like, how similar they are, for which rows this is estimated, what gives way to
/// which row, and how many kept rows have more candidates than they are compared with.
type Decided<'py> = (Array<'py>, Array<'py>, Array<'py>, Vec<(usize, usize)>, usize);

/// Added to positions of documents of earlier runs, where rows are expected.
const EARLIER: u64 = 1 << 63;

/// Decides about the rows of a deduplication: among themselves, or also beside a database.
#[pyclass(module = "fpdb_engine._native")]
pub(crate) struct Comparer {
    /// `None` once it was released.
    compares: Option<Compares>,
    /// What ends the current call.
    cancel: Shared,
    /// Hashes of the names of rows.
    names: HashSet<u64>,
}

/// What rows are compared with.
enum Compares {
    Alone(Dedup),
    Beside(fpdb_dedup::Comparer),
}

/// What ends the current call, for threads that began in an earlier one.
type Shared = Arc<Mutex<Option<Arc<Cancel>>>>;

#[pymethods]
impl Comparer {
    /// rule is the match rule of a database, which has all rows that are kept. `features` is the
    /// folder with the features of its documents. Without a rule, rows are compared with each
    /// other. `scratch` is the folder of temporary files.
    #[new]
    #[pyo3(signature = (*, similarity, recall, recipe, rule, features, expected, ngram, exact, threads, scratch))]
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
        scratch: PathBuf,
    ) -> PyResult<Self> {
        let recipe = Recipe::for_sketches(recipe).or_raise()?;
        let cancel = Shared::default();
        let shared = cancel.clone();
        let current = move || shared.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let mut options = Dedup::options(recipe, Jaccard::at_least(similarity).recall(recall))
            .expected(expected.0)
            .threads(parallel::threads(threads))
            .scratch_folder(scratch)
            .until(move || current().is_some_and(|cancel| cancel.is_cancelled()));
        if let Some(words) = words_of(ngram)? {
            options = options.words(words);
        }
        if !exact {
            options = options.estimated();
        }
        let compares = match rule {
            None => Compares::Alone(options.start().or_raise()?),
            Some(rule) => {
                let features = features.as_deref();
                let comparer = fpdb_dedup::Comparer::beside(options, rule.rule, features);
                Compares::Beside(comparer.or_raise()?)
            }
        };
        Ok(Self { compares: Some(compares), cancel, names: HashSet::new() })
    }

    /// Returns the names and aliases of the recipes that make sketches. None is loaded.
    #[staticmethod]
    fn recipes() -> Vec<&'static str> {
        let aliases = Recipe::aliases().map(|(alias, _)| alias);
        Recipe::names_for_sketches().chain(aliases).collect()
    }

    /// Decides about the next chunk of rows that are compared with each other. Rows of different
    /// groups are never alike.
    ///
    /// Returns what is compared of each row: 0 for nothing, 1 for the sketch, and 2 for whether the
    /// texts are equal; and what decide() returns.
    #[pyo3(signature = (texts, groups = None))]
    fn add<'py>(
        &mut self,
        texts: &Bound<'py, PyAny>,
        groups: Option<Vec<Option<String>>>,
    ) -> PyResult<(Array<'py>, Decided<'py>)> {
        let py = texts.py();
        let strings = Strings::new(texts, "text")?;
        let texts = in_groups(strings.all()?, groups.as_deref());
        let Some(Compares::Alone(dedup)) = &mut self.compares else { return Err(released()) };
        let verdicts = with_cancel(py, &self.cancel, || dedup.add_in_groups(&texts))?;
        let kinds = verdicts.iter().map(|it| kind(it.kind)).collect();
        Ok((array::<u8>(py, kinds), decided(py, verdicts)))
    }

    /// Reads the next chunk of rows that are compared with the documents of a database, too.
    /// Returns the sketches, and what is compared of each row, as add() does.
    fn read<'py>(&mut self, texts: &Bound<'py, PyAny>) -> PyResult<(Array<'py>, Array<'py>)> {
        let py = texts.py();
        let strings = Strings::new(texts, "text")?;
        let texts = in_groups(strings.all()?, None);
        let Some(Compares::Beside(comparer)) = &mut self.compares else { return Err(released()) };
        let of = |row: &Row| (row.sketch, kind(row.kind));
        let (sketches, kinds) = with_cancel(py, &self.cancel, || {
            comparer.read(&texts).map(|rows| rows.iter().map(of).unzip())
        })?;
        Ok((Sketch::into_array(sketches, py)?, array::<u8>(py, kinds)))
    }

    /// Returns which names have not occurred before.
    fn are_new(&mut self, names: Vec<String>) -> Vec<bool> {
        let hash = |name: &String| FeatureHash::Xxh3.hash(name).unwrap_or_default();
        names.iter().map(|name| self.names.insert(hash(name))).collect()
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
        let Some(Compares::Beside(comparer)) = &self.compares else { return Err(released()) };
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let is_unsure = |(&row, &sketch): (&u64, &Sketch)| {
            u8::from(comparer.is_unsure(Number(row).count(), sketch))
        };
        Ok(array(py, rows.iter().zip(&sketches).map(is_unsure).collect()))
    }

    /// Keeps the features of these rows of the chunk, which are about to be stored under these
    /// names.
    fn keep_features(&mut self, rows: &Bound<'_, PyAny>, names: Vec<String>) -> PyResult<()> {
        let Some(Compares::Beside(comparer)) = &mut self.compares else { return Err(released()) };
        let rows = with_numbers(rows, "row", |it| Ok(it.to_vec()))?;
        let rows = rows.iter().map(|&row| Number(row).count());
        comparer.keep_features(rows.zip(names.iter().map(String::as_str))).or_raise()
    }

    /// Removes temporary files, and gives the features of stored documents free for others,
    /// whatever became of the run.
    fn release(&mut self, py: Python<'_>) {
        let ended = self.compares.take();
        py.detach(|| drop(ended));
    }

    /// Makes sure that the features that were kept survive a power failure.
    fn finish(&mut self, py: Python<'_>) -> PyResult<()> {
        let ended = self.compares.take();
        let finish = || match ended {
            Some(Compares::Beside(comparer)) => comparer.finish(),
            Some(Compares::Alone(_)) | None => Ok(()),
        };
        py.detach(finish).or_raise()
    }

    /// Decides about the chunk that was read. The candidates of row i are the elements offsets[i]
    /// to offsets[i + 1] of the lists: rows of earlier chunks that are kept, or 2^63 + p for the
    /// text at position p in earlier, whose name and sketch are at p in names and sketches. Rows of
    /// the chunk itself are found here.
    ///
    /// Returns what each row is like, in the same form, or 2^64 - 1 for a row to keep; the
    /// similarities, and whether each is estimated; pairs of a row and a position in earlier that
    /// gives way to it; and how many rows to keep have more candidates than they are compared with.
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
        let strings = Strings::new(earlier, "text")?;
        let numbers = |list, what| with_numbers(list, what, |it| Ok(it.to_vec()));
        let (offsets, of) = (numbers(offsets, "offset")?, numbers(of, "row")?);
        let (distances, gives_way) = (numbers(distances, "distance")?, numbers(gives_way, "flag")?);
        let near = candidates(&offsets, &of, &distances, &gives_way)?;
        let sketches = Sketch::with_batch(sketches, |all| Ok(all.to_vec()))?;
        let earlier = names.iter().zip(sketches).zip(strings.all()?);
        let earlier: Vec<_> =
            earlier.map(|((name, sketch), text)| Earlier { name, sketch, text }).collect();
        let Some(Compares::Beside(comparer)) = &mut self.compares else { return Err(released()) };
        let verdicts = with_cancel(py, &self.cancel, || comparer.decide(&near, &earlier))?;
        Ok(decided(py, verdicts))
    }
}

/// Pairs texts with their groups.
fn in_groups<'a>(
    texts: Vec<Option<&'a str>>,
    groups: Option<&'a [Option<String>]>,
) -> Vec<(&'a str, Option<&'a str>)> {
    let group_of = |row: usize| groups?.get(row)?.as_deref();
    let texts = texts.into_iter().enumerate();
    texts.map(|(row, text)| (text.unwrap_or_default(), group_of(row))).collect()
}

/// Does work that a signal handler can end.
fn with_cancel<T: Send>(
    py: Python<'_>,
    shared: &Shared,
    work: impl FnOnce() -> fpdb_dedup::Result<T> + Send,
) -> PyResult<T> {
    interruptible(py, |cancel| {
        *shared.lock().unwrap_or_else(PoisonError::into_inner) = Some(cancel.clone());
        work()
    })?
    .or_raise()
}

fn kind(kind: Kind) -> u8 {
    match kind {
        Kind::Nothing => 0,
        Kind::Sketch => 1,
        Kind::Equality => 2,
    }
}

fn released() -> PyErr {
    errors::invalid("the comparison has ended, or is of another kind")
}

/// Returns the candidates of each row.
fn candidates(
    offsets: &[u64],
    of: &[u64],
    distances: &[u64],
    gives_way: &[u64],
) -> PyResult<Vec<Vec<Candidate>>> {
    let fits = [distances.len(), gives_way.len()] == [of.len(); 2];
    let all: Vec<_> = of
        .iter()
        .zip(distances)
        .zip(gives_way)
        .map(|((&of, &distance), &gives_way)| {
            let like = match of.checked_sub(EARLIER) {
                Some(place) => Like::Earlier(Number(place).count()),
                None => Like::Row(Number(of).count()),
            };
            let distance = u32::try_from(distance).unwrap_or(u32::MAX);
            Candidate { distance, of: like, gives_way: gives_way != 0 }
        })
        .collect();
    let of_row = |pair: &[u64]| {
        let (begin, end) = (Number(pair[0]).count(), Number(pair[1]).count());
        all.get(begin..end).map(<[_]>::to_vec).filter(|_| fits)
    };
    let near: Option<_> = offsets.windows(2).map(of_row).collect();
    near.ok_or_else(|| errors::invalid("the candidates do not fit the texts"))
}

/// Returns verdicts in columns.
fn decided(py: Python<'_>, verdicts: Vec<Verdict>) -> Decided<'_> {
    let of = |verdict: &Verdict| match verdict.like {
        None => u64::MAX,
        Some(Like::Row(row)) => row as u64,
        Some(Like::Earlier(place)) => EARLIER + place as u64,
    };
    let of = array(py, verdicts.iter().map(of).collect());
    let similarities =
        array(py, verdicts.iter().map(|it| it.similarity.unwrap_or(f64::NAN)).collect());
    let estimated = verdicts.iter().map(|it| u8::from(it.is_estimated)).collect();
    let crowded = verdicts.iter().filter(|it| it.is_crowded && it.is_kept()).count();
    let replaced = (0..).zip(&verdicts);
    let replaced =
        replaced.flat_map(|(row, it)| it.replaced.iter().map(move |&place| (row, place))).collect();
    (of, similarities, array::<u8>(py, estimated), replaced, crowded)
}
