//! MinHash: minima and smallest values of texts, the similarity that they estimate, and bands.

use fpdb::text::jaccard::Shingles;
use fpdb::text::minhash::{self, Bands as Banding};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::base::arrays::{array, normalized};
use crate::base::errors::{self, OrRaise};
use crate::base::interrupt::interruptible;
use crate::base::numbers::Number;
use crate::base::parallel;
use crate::base::strings::Strings;
use crate::text::jaccard::features;

/// Texts whose values are in memory twice at the same time.
const BLOCK: usize = 1 << 12;

/// The most values of a text.
const MAX_VALUES: usize = 1 << 16;

/// Fills up a row that has fewer values.
const NONE: u64 = u64::MAX;

/// An array with a row for each text, similarities, and their standard errors.
type Array<'py> = Bound<'py, PyAny>;

/// Returns the minima of texts under k hash functions: an array of uint64 with a row for each text,
/// and k columns.
///
/// The features are those of jaccard(): see there for recipe and ngram. Under each function, two
/// texts have the same minimum with a probability of their Jaccard similarity (Broder, On the
/// resemblance and containment of documents, 1997). jaccard_of_minima() estimates it, and Bands
/// finds likely pairs. A text without features, because it is empty or missing, has 2**64 - 1 in
/// all columns. The values never change with a version. A database with a similarity does all of
/// this for you, with 228 bytes for each text.
///
/// The texts are strings, or an Arrow array of strings, which is not copied.
///
/// >>> texts = ["The cat sat on the mat.", "The cat sat on the sofa."]
/// >>> values = minima(texts, 256)
/// >>> values.shape
/// (2, 256)
/// >>> similarity, error = jaccard_of_minima(values[:1], values[1:])
/// >>> abs(similarity - jaccard(*texts)) < 3 * error
/// array([ True])
#[pyfunction]
#[pyo3(signature = (texts, k=Number(128), *, recipe="default", ngram=None, threads=None), text_signature = "(texts, k=128, *, recipe='default', ngram=None, threads=None)")]
pub(crate) fn minima<'py>(
    texts: &Bound<'py, PyAny>,
    k: Number,
    recipe: &str,
    ngram: Option<Number>,
    threads: Option<Number>,
) -> PyResult<Array<'py>> {
    let values = |set: &Shingles, k| minhash::minima(set.hashes(), k).unwrap_or_default();
    values_of(texts, (recipe, ngram), k, threads, values)
}

/// Returns the k smallest values of texts under one hash function: an array of uint64 with a row
/// for each text, in ascending order, and k columns.
///
/// The features are those of jaccard(): see there for recipe and ngram. jaccard_of_smallest()
/// estimates the Jaccard similarity of two texts from them (Broder 1997; also called bottom-k): as
/// well as from as many minima, and exactly for texts with fewer than k features, in a fraction of
/// the time. But the values have no fixed places, so they make no bands. A text with fewer features
/// has 2**64 - 1 in the columns that remain. The values never change with a version.
///
/// >>> texts = ["The cat sat on the mat.", "The cat sat on the sofa."]
/// >>> values = smallest(texts, 64)
/// >>> similarity, error = jaccard_of_smallest(values[:1], values[1:])
/// >>> similarity.round(3).tolist(), error.tolist()  # four of six pairs, exactly
/// ([0.667], [0.0])
#[pyfunction]
#[pyo3(signature = (texts, k=Number(128), *, recipe="default", ngram=None, threads=None), text_signature = "(texts, k=128, *, recipe='default', ngram=None, threads=None)")]
pub(crate) fn smallest<'py>(
    texts: &Bound<'py, PyAny>,
    k: Number,
    recipe: &str,
    ngram: Option<Number>,
    threads: Option<Number>,
) -> PyResult<Array<'py>> {
    let values = |set: &Shingles, k| minhash::smallest(set.hashes(), k);
    values_of(texts, (recipe, ngram), k, threads, values)
}

/// Makes an array with the values of each text.
fn values_of<'py>(
    texts: &Bound<'py, PyAny>,
    (recipe, ngram): (&str, Option<Number>),
    k: Number,
    threads: Option<Number>,
    values: impl Fn(&Shingles, usize) -> Vec<u64> + Send + Sync,
) -> PyResult<Array<'py>> {
    let py = texts.py();
    let k = k.count();
    if !(1..=MAX_VALUES).contains(&k) {
        return Err(errors::invalid(format!("k {k}: expected 1 to {MAX_VALUES} values of a text")));
    }
    let (features, threads) = (features(recipe, ngram)?, parallel::threads(threads));
    let strings = Strings::new(texts, "text")?;
    let texts = strings.all()?;
    let of_text = |text: &Option<&str>| values(&features(text.unwrap_or_default()), k);
    let found = interruptible(py, |cancel| {
        let mut found = Vec::with_capacity(texts.len() * k);
        for block in texts.chunks(BLOCK) {
            for row in parallel::map(block, threads, cancel, of_text) {
                found.extend_from_slice(&row);
                found.extend((row.len()..k).map(|_| NONE));
            }
        }
        found
    })?;
    Ok(rows(py, found, k))
}

/// Makes an array with this number of columns.
fn rows(py: Python<'_>, values: Vec<u64>, columns: usize) -> Array<'_> {
    let array = Array2::from_shape_vec((values.len() / columns, columns), values);
    array.expect("whole rows").into_pyarray(py).into_any()
}

/// Returns the estimated Jaccard similarities of pairs of texts, and the standard errors of the
/// estimates, from rows of minima(): row i of a is compared with row i of b.
///
/// An estimate J is the share of the k columns in which the rows are equal. It is unbiased, with a
/// standard error of sqrt(J (1 - J) / k): at most 0.044 for k = 128. If all minima are equal, or
/// none, that is 0, but the similarity may differ from the estimate by up to 3 / k (with 95 %
/// confidence). NaN if a text has no features.
///
/// >>> a, b = minima(["a b c d e f g h", ""]), minima(["a b c d e f g h", "a b c"])
/// >>> [column.tolist() for column in jaccard_of_minima(a, b)]
/// [[1.0, nan], [0.0, nan]]
#[pyfunction]
#[pyo3(signature = (a, b))]
pub(crate) fn jaccard_of_minima<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<(Array<'py>, Array<'py>)> {
    estimates(a, b, |a, b, _| {
        let has_minima = a.first() != Some(&NONE) && b.first() != Some(&NONE);
        has_minima.then(|| minhash::jaccard_of_minima(a, b)).flatten()
    })
}

/// Returns the estimated Jaccard similarities of pairs of texts, and the standard errors of the
/// estimates, from rows of smallest(): row i of a is compared with row i of b.
///
/// An estimate J is the share of the k smallest values of both rows together that are in each of
/// them. It is unbiased, with a standard error of at most sqrt(J (1 - J) / k). If both texts have
/// fewer than k features, it is exact, and the error is 0. NaN if neither text has features.
///
/// >>> a, b = smallest(["the cat sat on the mat", ""]), smallest(["the cat sat on the sofa", ""])
/// >>> [column.round(2).tolist() for column in jaccard_of_smallest(a, b)]
/// [[0.67, nan], [0.0, nan]]
#[pyfunction]
#[pyo3(signature = (a, b))]
pub(crate) fn jaccard_of_smallest<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let filled = |row: &[u64]| row.partition_point(|&value| value != NONE);
    estimates(a, b, |a, b, k| minhash::jaccard_of_smallest(&a[..filled(a)], &b[..filled(b)], k))
}

/// Compares the rows of two arrays.
fn estimates<'py>(
    a: &Bound<'py, PyAny>,
    b: &Bound<'py, PyAny>,
    estimate: impl Fn(&[u64], &[u64], usize) -> Option<(f64, f64)> + Send + Sync,
) -> PyResult<(Array<'py>, Array<'py>)> {
    let py = a.py();
    let [a, b] = [values(a)?, values(b)?];
    if a.shape() != b.shape() {
        let (a, b) = (a.shape(), b.shape());
        return Err(errors::invalid(format!("a has the shape {a:?}, but b has {b:?}")));
    }
    let k = a.shape()[1].max(1);
    let (a, b) = (a.as_slice()?, b.as_slice()?);
    let pairs = a.chunks_exact(k).zip(b.chunks_exact(k));
    let found: (Vec<_>, Vec<_>) =
        py.detach(|| pairs.map(|(a, b)| estimate(a, b, k).unwrap_or((f64::NAN, f64::NAN))).unzip());
    Ok((array(py, found.0), array(py, found.1)))
}

fn values<'py>(object: &Bound<'py, PyAny>) -> PyResult<PyReadonlyArray2<'py, u64>> {
    normalized(object, "values_of_texts")?.extract()
}

/// Cuts rows of minima() into b bands of r rows (columns of the array), and hashes each band: texts
/// that share the hash of a band are likely pairs.
///
/// Two texts of Jaccard similarity J share one with the probability 1 - (1 - J**r)**b, an S-shaped
/// curve that is steepest near threshold, (1 / b)**(1 / r) (Leskovec, Rajaraman and Ullman, Mining
/// of Massive Datasets, section 3.4). With more rows a match needs more similarity; with more bands
/// there are more matches. At most 65,536 minima.
///
/// >>> bands = Bands(32, 4)
/// >>> bands.minima, round(bands.threshold, 2), round(bands.probability(0.8), 6)
/// (128, 0.42, 1.0)
/// >>> texts = ["The cat sat on the mat all day.", "Trains leave at nine.", "The cat sat on the mat all night."]
/// >>> hashes = bands.hashes(minima(texts, bands.minima))
/// >>> hashes.shape, (hashes[0] == hashes[2]).any(), (hashes[0] == hashes[1]).any()
/// ((3, 32), np.True_, np.False_)
#[pyclass(frozen, eq, hash, module = "fpdb_engine")]
#[derive(Debug, PartialEq, Eq, Hash)]
pub(crate) struct Bands {
    /// The number of bands.
    #[pyo3(get)]
    b: usize,
    /// The number of rows of a band.
    #[pyo3(get)]
    r: usize,
    bands: Banding,
}

#[pymethods]
impl Bands {
    #[new]
    fn new(b: Number, r: Number) -> PyResult<Self> {
        let (b, r) = (b.count(), r.count());
        Ok(Self { b, r, bands: Banding::new(b, r).or_raise()? })
    }

    /// The number of minima in all bands: b times r.
    #[getter]
    fn minima(&self) -> usize {
        self.bands.minima()
    }

    /// The similarity near which the probability rises the most steeply.
    #[getter]
    fn threshold(&self) -> f64 {
        self.bands.threshold()
    }

    /// Returns the probability that two texts of this Jaccard similarity share the hash of a band.
    fn probability(&self, jaccard: f64) -> f64 {
        self.bands.probability(jaccard)
    }

    /// Returns the hashes of the bands of each text: an array of uint64 with b columns. minima are
    /// rows of minima() with at least b times r columns, of which only these count. Texts without
    /// features have 2**64 - 1 in all columns: leave them out.
    fn hashes<'py>(&self, minima: &Bound<'py, PyAny>) -> PyResult<Array<'py>> {
        let py = minima.py();
        let minima = values(minima)?;
        let (k, least) = (minima.shape()[1], self.bands.minima());
        if k < least {
            return Err(errors::invalid(format!("{k} minima, but these bands have {least}")));
        }
        let minima = minima.as_slice()?;
        let found = py.detach(|| {
            let mut found = Vec::with_capacity(minima.len() / k * self.b);
            for row in minima.chunks_exact(k) {
                let is_empty = row[0] == NONE;
                found.extend(self.bands.hashes(row).map(|hash| if is_empty { NONE } else { hash }));
            }
            found
        });
        Ok(rows(py, found, self.b))
    }

    fn __getnewargs__(&self) -> (usize, usize) {
        (self.b, self.r)
    }

    fn __repr__(&self) -> String {
        format!("Bands({}, {})", self.b, self.r)
    }
}
