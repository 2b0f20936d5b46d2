//! The exact similarity of texts.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use fpdb::text::Recipe;
use fpdb::text::jaccard::Shingles;
use fpdb::{Fingerprint, Sketch};
use pyo3::prelude::*;

use crate::arrays::{array, with_numbers};
use crate::errors::{self, OrRaise};
use crate::interrupt::{Cancel, interruptible};
use crate::numbers::{Distance, Number};
use crate::parallel;
use crate::strings::Strings;
use crate::width::Bits;

/// Pairs whose texts have their features in memory at the same time.
const BLOCK: usize = 1 << 14;
/// Documents with which a text is compared, the nearest first. Without a limit, each text of a crowd
/// whose fingerprints are near, but whose texts are not alike, would be compared with all others.
pub(crate) const MOST_CANDIDATES: usize = 64;

/// Makes the set of features of a text.
type Features = Box<dyn Fn(&str) -> Shingles + Send + Sync>;

/// Returns what makes the features of a recipe, or the runs of some number of words.
fn features(recipe: &str, ngram: Option<Number>) -> PyResult<Features> {
    if let Some(Number(words)) = ngram {
        if !(1..=1000).contains(&words) {
            return Err(errors::invalid(format!("ngram {words}: expected 1 to 1000 words")));
        }
        let words = Number(words).count();
        return Ok(Box::new(move |text| Shingles::of_words(text, words)));
    }
    // The features are the same at all widths.
    if let Ok(recipe) = Recipe::<u64>::find(recipe) {
        return Ok(Box::new(move |text| recipe.features(text)));
    }
    let recipe = Recipe::<u128>::find(recipe).or_raise()?;
    Ok(Box::new(move |text| recipe.features(text)))
}

/// Returns the similarity of two sets of features: NaN if both are empty.
fn similarity(a: &Shingles, b: &Shingles) -> f64 {
    if a.is_empty() && b.is_empty() { f64::NAN } else { a.jaccard(b) }
}

/// Returns the exact Jaccard similarity of two texts: the number of features that both have, divided by the
/// number of features that one of them has. NaN if neither has any.
///
/// By default, the features are those from which the recipe makes fingerprints, such as pairs of neighbouring words.
/// With ngram, they are the runs of this number of words, in lower case and without punctuation. Most MinHash
/// programs use such runs: datatrove takes 5 words by default.
///
/// >>> a, b = "The cat sat on the mat.", "the cat sat on the sofa"
/// >>> jaccard(a, b)  # four of six pairs
/// 0.6666666666666666
/// >>> jaccard(a, b, ngram=5)  # one of three runs of five words
/// 0.3333333333333333
#[pyfunction]
#[pyo3(signature = (a, b, *, recipe="default", ngram=None))]
pub(crate) fn jaccard(
    py: Python<'_>,
    a: &str,
    b: &str,
    recipe: &str,
    ngram: Option<Number>,
) -> PyResult<f64> {
    let features = features(recipe, ngram)?;
    Ok(py.detach(|| similarity(&features(a), &features(b))))
}

/// Returns the exact Jaccard similarities of pairs of texts, as jaccard() defines it: element i is that of
/// texts[a[i]] and texts[b[i]], or of texts[a[i]] and others[b[i]]. A missing text has no features.
///
/// It measures the pairs that a search for near fingerprints has found, if their ids are positions of texts.
///
/// >>> texts = ["The cat sat on the mat.", "the cat sat on the sofa", "Trains leave at nine."]
/// >>> jaccard_pairs(texts, [0, 0], [1, 2]).round(2).tolist()
/// [0.67, 0.0]
#[pyfunction]
#[pyo3(signature = (texts, a, b, *, others=None, recipe="default", ngram=None, threads=None))]
pub(crate) fn jaccard_pairs<'py>(
    texts: &Bound<'py, PyAny>,
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    others: Option<&Bound<'py, PyAny>>,
    recipe: &str,
    ngram: Option<Number>,
    threads: Option<Number>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = texts.py();
    let (features, threads) = (features(recipe, ngram)?, parallel::threads(threads));
    let texts = Strings::new(texts, "text")?;
    let others = others.map(|others| Strings::new(others, "text")).transpose()?;
    let mut all = texts.all()?;
    let first = all.len();
    let others_begin = if others.is_some() { first } else { 0 };
    if let Some(others) = &others {
        all.append(&mut others.all()?);
    }
    let found = with_numbers(a, "position", |a| {
        with_numbers(b, "position", |b| {
            if a.len() != b.len() {
                let (a, b) = (a.len(), b.len());
                return Err(errors::invalid(format!("{a} positions in a, but {b} in b")));
            }
            let a = positions(a, "a", 0, first)?;
            let b = positions(b, "b", others_begin, all.len() - others_begin)?;
            let pairs: Vec<_> = a.into_iter().zip(b).collect();
            interruptible(py, |cancel| {
                let blocks = pairs.chunks(BLOCK);
                blocks.flat_map(|it| block(&features, &all, it, threads, cancel)).collect()
            })
        })
    })?;
    Ok(array::<f64>(py, found))
}

/// Returns positions in a list of this length, which begins there.
fn positions(given: &[u64], what: &str, begin: usize, len: usize) -> PyResult<Vec<usize>> {
    let position = |&position: &u64| match usize::try_from(position) {
        Ok(position) if position < len => Ok(begin + position),
        _ => {
            Err(errors::invalid(format!("{what}: position {position}, but there are {len} texts")))
        }
    };
    given.iter().map(position).collect()
}

/// Returns the similarities of some pairs, or nothing if it is cancelled.
fn block(
    features: &Features,
    texts: &[Option<&str>],
    pairs: &[(usize, usize)],
    threads: usize,
    cancel: &Cancel,
) -> Vec<f64> {
    let mut places: BTreeMap<usize, usize> =
        pairs.iter().flat_map(|&(a, b)| [(a, 0), (b, 0)]).collect();
    let wanted: Vec<usize> = places.keys().copied().collect();
    places.values_mut().zip(0..).for_each(|(place, at)| *place = at);
    let of = |&at: &usize| features(texts[at].unwrap_or_default());
    let sets = parallel::map(&wanted, threads, cancel, of);
    if sets.len() < wanted.len() {
        return Vec::new();
    }
    parallel::map(pairs, threads, cancel, |(a, b)| similarity(&sets[places[a]], &sets[places[b]]))
}

/// The candidates for the rows of a chunk among the documents of earlier chunks and runs: documents
/// whose fingerprints are near.
struct Earlier<'a> {
    /// Where the candidates of each row of the chunk begin, and where the last ones end.
    offsets: Vec<usize>,
    /// Positions in `texts`.
    places: Vec<u64>,
    distances: Vec<u64>,
    texts: Vec<Option<&'a str>>,
}

impl Earlier<'_> {
    fn of(&self, row: usize) -> impl Iterator<Item = (u32, usize)> {
        let range = self.offsets[row]..self.offsets[row + 1];
        let candidates = self.distances[range.clone()].iter().zip(&self.places[range]);
        candidates.map(|(&distance, &place)| {
            (u32::try_from(distance).unwrap_or(u32::MAX), Number(place).count())
        })
    }
}

/// A chunk of texts in which near-duplicates are looked for.
struct Chunk<'a> {
    texts: Vec<Option<&'a str>>,
    sketches: &'a [Sketch],
    /// The rows that have each key of each number, ascending.
    by_key: Vec<HashMap<u64, Vec<usize>>>,
    /// Minima per key.
    minima: u32,
    /// The distance within which sketches are near.
    within: u32,
    /// From which similarity on two texts are alike.
    similarity: f64,
    /// Which rows are kept in any case.
    is_stored: Vec<u64>,
}

/// What a row is like.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Like {
    Earlier(usize),
    Row(usize),
}

impl Chunk<'_> {
    /// Returns, for each row, what it is like and how similar the two are: an earlier document, or a
    /// row before it that is kept. `None` for a row to keep.
    fn duplicates(
        &self,
        earlier: &Earlier<'_>,
        features: &Features,
        threads: usize,
        cancel: &Cancel,
    ) -> Vec<Option<(Like, f64)>> {
        let rows: Vec<usize> = (0..self.texts.len()).collect();
        let is_near = |&row: &usize| {
            if self.is_stored[row] != 0 {
                return false;
            }
            earlier.of(row).next().is_some() || self.near(row).next().is_some()
        };
        let near = parallel::map(&rows, threads, cancel, is_near);
        let near: Vec<usize> =
            rows.iter().copied().zip(near).filter(|it| it.1).map(|it| it.0).collect();
        let of = |&row: &usize| features(self.texts[row].unwrap_or_default());
        let sets = parallel::map(&near, threads, cancel, of);
        let mut known: HashMap<Like, Shingles> =
            near.iter().map(|&row| Like::Row(row)).zip(sets).collect();
        let mut found = vec![None; rows.len()];
        for &row in &near {
            if cancel.is_cancelled() {
                break;
            }
            let kept = self.near(row).filter(|&(_, other)| found[other].is_none());
            let kept = kept.map(|(distance, other)| (distance, Like::Row(other)));
            let mut candidates: Vec<_> = earlier
                .of(row)
                .map(|(distance, at)| (distance, Like::Earlier(at)))
                .chain(kept)
                .collect();
            candidates.sort_unstable();
            candidates.truncate(MOST_CANDIDATES);
            found[row] = candidates.into_iter().find_map(|(_, like)| {
                let text = || match like {
                    Like::Earlier(place) => earlier.texts[place],
                    Like::Row(other) => self.texts[other],
                };
                known.entry(like).or_insert_with(|| features(text().unwrap_or_default()));
                let similarity = similarity(&known[&Like::Row(row)], &known[&like]);
                (similarity >= self.similarity).then_some((like, similarity))
            });
        }
        found
    }

    /// Returns the rows before this one whose sketches are near, with their distances.
    fn near(&self, row: usize) -> impl Iterator<Item = (u32, usize)> {
        let own = self.sketches[row];
        let share_key = (0..).zip(&self.by_key).flat_map(|(number, rows)| {
            let rows = &rows[&own.key(number, self.minima)];
            rows.iter().copied().take_while(|&other| other < row)
        });
        let others: BTreeSet<usize> = share_key.collect();
        let others =
            others.into_iter().map(move |other| (own.distance(self.sketches[other]), other));
        others.filter(|&(distance, _)| distance <= self.within)
    }
}

/// Returns the rows that have each key of each number, ascending.
fn by_key(sketches: &[Sketch], keys: u32, minima: u32) -> Vec<HashMap<u64, Vec<usize>>> {
    let of_number = |number| {
        let mut rows: HashMap<u64, Vec<usize>> = HashMap::new();
        for (row, sketch) in sketches.iter().enumerate() {
            rows.entry(sketch.key(number, minima)).or_default().push(row);
        }
        rows
    };
    (0..keys).map(of_number).collect()
}

/// Decides which texts of a chunk are duplicates of a kept row before them or of an earlier document. All
/// texts have a sketch.
///
/// Rows whose is_stored is not 0 are kept. The candidates of row i among earlier documents are the elements
/// offsets[i] to offsets[i + 1] of places, which are positions in earlier, and of distances. Within the chunk,
/// rows whose sketches share one of the keys, and are at most within apart, are candidates. keys says how many
/// keys a sketch has, and of how many minima each.
///
/// Returns what each row is like, and how similar it is. With n rows, 0 to n - 1 is a row, n + p is the document
/// at position p in earlier, and -1 is a row to keep.
#[pyfunction]
#[pyo3(signature = (texts, sketches, is_stored, offsets, places, distances, earlier, *, keys, within, similarity, recipe, ngram, threads))]
#[expect(clippy::too_many_arguments, reason = "only called by dedup")]
pub(crate) fn verified_duplicates<'py>(
    texts: &Bound<'py, PyAny>,
    sketches: &Bound<'py, PyAny>,
    is_stored: &Bound<'py, PyAny>,
    offsets: &Bound<'py, PyAny>,
    places: &Bound<'py, PyAny>,
    distances: &Bound<'py, PyAny>,
    earlier: &Bound<'py, PyAny>,
    keys: (u32, u32),
    within: Distance,
    similarity: f64,
    recipe: &str,
    ngram: Option<Number>,
    threads: Option<Number>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = texts.py();
    let (features, threads) = (features(recipe, ngram)?, parallel::threads(threads));
    let (texts, earlier) = (Strings::new(texts, "text")?, Strings::new(earlier, "text")?);
    let (texts, earlier) = (texts.all()?, earlier.all()?);
    let rows = texts.len();
    let numbers = |list, what| with_numbers(list, what, |it| Ok(it.to_vec()));
    let offsets = numbers(offsets, "offset")?;
    let (places, distances) = (numbers(places, "position")?, numbers(distances, "distance")?);
    let is_stored = numbers(is_stored, "flag")?;
    let offsets: Vec<usize> = offsets.into_iter().map(|at| Number(at).count()).collect();
    let found = Sketch::with_batch(sketches, |sketches| {
        let is_consistent = [sketches.len(), is_stored.len()] == [rows; 2]
            && offsets.len() == rows + 1
            && offsets.is_sorted()
            && [places.len(), distances.len()] == [offsets[rows]; 2]
            && places.iter().all(|&place| Number(place).count() < earlier.len());
        if !is_consistent {
            return Err(errors::invalid("the candidates do not fit the texts"));
        }
        let earlier = Earlier { offsets, places, distances, texts: earlier };
        interruptible(py, |cancel| {
            let (keys, minima) = keys;
            let by_key = by_key(sketches, keys, minima);
            let within = within.0;
            let chunk = Chunk { texts, sketches, by_key, minima, within, similarity, is_stored };
            chunk.duplicates(&earlier, &features, threads, cancel)
        })
    })?;
    let of = found.iter().map(|found| match found {
        None => -1,
        Some((Like::Row(row), _)) => *row as i64,
        Some((Like::Earlier(place), _)) => (rows + place) as i64,
    });
    let similarities =
        found.iter().map(|found| found.map_or(f64::NAN, |(_, similarity)| similarity));
    Ok((array(py, of.collect()), array(py, similarities.collect())))
}
