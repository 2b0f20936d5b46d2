//! The exact similarity of texts.

use std::collections::BTreeMap;

use fpdb::text::Recipe;
use fpdb::text::jaccard::Shingles;
use pyo3::prelude::*;

use crate::base::arrays::{array, with_numbers};
use crate::base::errors::{self, OrRaise};
use crate::base::interrupt::{Cancel, interruptible};
use crate::base::numbers::Number;
use crate::base::parallel;
use crate::base::strings::Strings;
use crate::base::width::Bits;

/// Pairs whose texts have their features in memory at the same time.
const BLOCK: usize = 1 << 14;

/// Makes the set of features of a text.
pub(crate) type Features = Box<dyn Fn(&str) -> Shingles + Send + Sync>;

/// Returns what makes the features of a recipe, or the runs of some number of words.
pub(crate) fn features(recipe: &str, ngram: Option<Number>) -> PyResult<Features> {
    fn of<F: Bits>(recipe: Recipe<F>, ngram: Option<usize>) -> Features {
        Box::new(move |text| fpdb_dedup::features_of(&recipe, text, ngram))
    }
    let ngram = words_of(ngram)?;
    // The features are the same at all widths.
    match Recipe::<u64>::find(recipe) {
        Ok(recipe) => Ok(of(recipe, ngram)),
        Err(_) => Ok(of(Recipe::<u128>::find(recipe).or_raise()?, ngram)),
    }
}

/// Checks the number of words of a run.
pub(crate) fn words_of(ngram: Option<Number>) -> PyResult<Option<usize>> {
    match ngram {
        Some(Number(words)) if !(1..=1000).contains(&words) => {
            Err(errors::invalid(format!("ngram {words}: expected 1 to 1000 words")))
        }
        words => Ok(words.map(Number::count)),
    }
}

/// Returns the similarity of two sets of features: NaN if both are empty.
fn similarity(a: &Shingles, b: &Shingles) -> f64 {
    if a.is_empty() && b.is_empty() { f64::NAN } else { a.jaccard(b) }
}

/// Returns the exact Jaccard similarity of two texts: the number of features that both have,
/// divided by the number of features that one of them has. NaN if both texts are empty.
///
/// By default, the features are those from which the recipe makes fingerprints, such as pairs of
/// neighbouring words. With ngram, they are the runs of this number of words, cut as the recipe
/// does: a Chinese character is a word, and case and punctuation make no difference. Most MinHash
/// programs use such runs: datatrove takes 5 words by default. A text that is too short for a
/// feature is one feature as a whole.
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

/// Returns the exact Jaccard similarities of pairs of texts, as jaccard() defines it: element i is
/// that of texts[a[i]] and texts[b[i]], or of texts[a[i]] and others[b[i]]. A missing text has no
/// features.
///
/// It measures the pairs that a search for near fingerprints has found, if their ids are positions
/// of texts.
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
