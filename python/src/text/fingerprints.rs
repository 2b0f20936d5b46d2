//! Fingerprints of texts.

use std::path::Path;

use fpdb::Sketch;
use fpdb::text::Recipe;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::base::arrays::array;
use crate::base::errors::{self, OrRaise};
use crate::base::interrupt::interruptible;
use crate::base::numbers::{Distance, Number};
use crate::base::parallel;
use crate::base::strings::Strings;
use crate::base::width::{Bits, SKETCH_BITS, Value, check_bits};

/// Returns the fingerprint of a text, or None if the text is too short to be compared. One of 64 or
/// 128 bits is an int. With bits=1824, it is a sketch: bytes of length 228.
///
/// >>> hex(fingerprint("The quick brown fox jumps over the lazy dog."))
/// '0x73dc8cc2bd0c5d6e'
/// >>> fingerprint("The quick brown fox jumps over the lazy dog.", bits=1824)[:8].hex()
/// '9d5cd72674a1d7de'
/// >>> fingerprint("Page not found") is None
/// True
#[pyfunction]
#[pyo3(signature = (text, recipe="default", *, bits=Distance(64)), text_signature = "(text, recipe='default', *, bits=64)")]
pub(crate) fn fingerprint<'py>(
    py: Python<'py>,
    text: &str,
    recipe: &str,
    bits: Distance,
) -> PyResult<Option<Bound<'py, PyAny>>> {
    let found = match check_bits(bits.0)? {
        64 => one::<u64>(py, text, recipe)?,
        128 => one::<u128>(py, text, recipe)?,
        _ => one::<Sketch>(py, text, recipe)?,
    };
    found.map(|found| found.object(py)).transpose()
}

fn one<F: Bits>(py: Python<'_>, text: &str, recipe: &str) -> PyResult<Option<Value>> {
    let recipe = Recipe::<F>::find(recipe).or_raise()?;
    Ok(py.detach(|| recipe.fingerprint(text).fingerprint).map(F::value))
}

/// Returns the fingerprints of texts, and whether each has one: those that are too short or missing
/// have none, and 0 in its place.
///
/// The texts are strings, or an Arrow array of strings, which is not copied. Those of 128 bits have
/// two columns, the high half first. Sketches, with bits=1824, are of dtype V228.
///
/// >>> texts = ["The quick brown fox jumps over the lazy dog.", "too short"]
/// >>> fingerprints, has_one = fingerprint_batch(texts)
/// >>> [hex(f) for f in fingerprints], has_one.tolist()
/// (['0x73dc8cc2bd0c5d6e', '0x0'], [True, False])
#[pyfunction]
#[pyo3(signature = (texts, recipe="default", *, bits=Distance(64), threads=None), text_signature = "(texts, recipe='default', *, bits=64, threads=None)")]
pub(crate) fn fingerprint_batch<'py>(
    texts: &Bound<'py, PyAny>,
    recipe: &str,
    bits: Distance,
    threads: Option<Number>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    match check_bits(bits.0)? {
        64 => many::<u64>(texts, recipe, threads),
        128 => many::<u128>(texts, recipe, threads),
        _ => many::<Sketch>(texts, recipe, threads),
    }
}

fn many<'py, F: Bits>(
    texts: &Bound<'py, PyAny>,
    recipe: &str,
    threads: Option<Number>,
) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let py = texts.py();
    let found = fingerprints::<F>(texts, &Recipe::find(recipe).or_raise()?, threads)?;
    let has_one = found.iter().map(Option::is_some).collect();
    let found = found.into_iter().map(Option::unwrap_or_default).collect();
    Ok((F::into_array(found, py)?, array(py, has_one)))
}

/// Makes the fingerprints of texts in several threads. Texts that are too short or missing have
/// none.
pub(crate) fn fingerprints<F: Bits>(
    texts: &Bound<'_, PyAny>,
    recipe: &Recipe<F>,
    threads: Option<Number>,
) -> PyResult<Vec<Option<F>>> {
    let py = texts.py();
    let strings = Strings::new(texts, "text")?;
    let texts = strings.all()?;
    let threads = parallel::threads(threads);
    let one = |text: &Option<&str>| recipe.fingerprint((*text)?).fingerprint;
    interruptible(py, |cancel| parallel::map(&texts, threads, cancel, one))
}

/// Returns the estimated Jaccard similarity of two texts whose sketches are at this distance, and
/// the standard error of the estimate; with bits=64 or 128, of two whose fingerprints are. The
/// recipe decides what is compared: pairs of words with `pairs/1`, runs of five words with
/// `fives/1`. Raises `ValueError` for a recipe that is not a MinHash, whose distances do not tell a
/// similarity.
///
/// >>> similarity, error = estimate_jaccard(25)
/// >>> round(similarity, 2), round(error, 2)
/// (0.8, 0.04)
#[pyfunction]
#[pyo3(signature = (distance, recipe="default", *, bits=Distance(SKETCH_BITS)), text_signature = "(distance, recipe='default', *, bits=1824)")]
pub(crate) fn estimate_jaccard(
    distance: Distance,
    recipe: &str,
    bits: Distance,
) -> PyResult<(f64, f64)> {
    let estimate = match check_bits(bits.0)? {
        64 => Recipe::<u64>::find(recipe).or_raise()?.similarity(distance.0),
        128 => Recipe::<u128>::find(recipe).or_raise()?.similarity(distance.0),
        _ => Recipe::<Sketch>::find(recipe).or_raise()?.similarity(distance.0),
    };
    estimate.ok_or_else(|| {
        PyValueError::new_err(format!(
            "the recipe {recipe} is not a MinHash: its distances do not tell a similarity; use \
             pairs/1 or fives/1"
        ))
    })
}

/// Returns the names of all recipes of this width, each with what it is for.
///
/// >>> "pairs/1" in recipes()
/// True
#[pyfunction]
#[pyo3(signature = (*, bits=Distance(64)), text_signature = "(*, bits=64)")]
pub(crate) fn recipes(py: Python<'_>, bits: Distance) -> PyResult<Bound<'_, PyDict>> {
    match check_bits(bits.0)? {
        64 => purposes::<u64>(py, Recipe::names()),
        128 => purposes::<u128>(py, Recipe::names128()),
        _ => purposes::<Sketch>(py, Recipe::names_for_sketches()),
    }
}

fn purposes<F: Bits>(
    py: Python<'_>,
    names: impl Iterator<Item = &'static str>,
) -> PyResult<Bound<'_, PyDict>> {
    let recipes = PyDict::new(py);
    for name in names {
        recipes.set_item(name, Recipe::<F>::find(name).or_raise()?.purpose())?;
    }
    Ok(recipes)
}

/// Returns the recipe of a database.
pub(crate) fn stored_recipe<F: Bits>(name: Option<&str>, path: &Path) -> PyResult<Recipe<F>> {
    let Some(name) = name else {
        return Err(errors::unsupported(format!(
            "{} has no recipe: create it, or open it while it is empty, with recipe=...",
            path.display()
        )));
    };
    Recipe::find(name).or_raise()
}
