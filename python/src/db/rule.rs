//! The rule of a database for a similarity, for programs that compare sketches themselves.

use fpdb::{Jaccard, Sketch};
use numpy::ndarray::Array2;
use numpy::{IntoPyArray, PyArray2, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::base::arrays::{array, byte};
use crate::base::errors::{self, OrRaise};
use crate::base::numbers::Number;
use crate::base::width::Bits;

/// Which sketches match: those that share a band, differ in few enough minima, and seem similar
/// enough by their parities. Db.match_rule has the rule of a database. Without one, a rule is
/// chosen for a similarity, a recall and a number of documents, as Db.create() does.
///
/// A program that has sketches elsewhere, such as in the tables of a cluster, can join them by
/// their bands and compare what it finds. Rules can be compared and pickled.
///
/// >>> rule = MatchRule(0.8, expected_entries=1_000_000)
/// >>> (rule.bands, rule.minima, rule.distance, rule.margin)
/// (10, 5, 38, 186)
/// >>> sketches, _ = fingerprint_batch(["a b c d e f g", "a b c d e f g h", "p q r s t u v w"], bits=1824)
/// >>> rule.bands_of(sketches).shape
/// (3, 10)
/// >>> rule.distances(sketches[[0, 0]], sketches[[0, 2]]).tolist()  # 255 if they do not match
/// [0, 255]
#[pyclass(frozen, eq, module = "fpdb_engine._native")]
#[derive(PartialEq)]
pub(crate) struct MatchRule {
    pub(crate) rule: fpdb::MatchRule,
}

impl MatchRule {
    fn jaccard(&self) -> Jaccard {
        self.rule.jaccard().unwrap_or_else(|| Jaccard::at_least(1.0))
    }
}

#[pymethods]
impl MatchRule {
    #[new]
    #[pyo3(signature = (similarity, *, recall=0.95, expected_entries=Number(1_000_000)))]
    #[pyo3(text_signature = "(similarity, *, recall=0.95, expected_entries=1000000)")]
    fn new(similarity: f64, recall: f64, expected_entries: Number) -> PyResult<Self> {
        let jaccard = Jaccard::at_least(similarity).recall(recall);
        let rule = fpdb::MatchRule::for_similarity(jaccard, expected_entries.0).or_raise()?;
        Ok(Self { rule })
    }

    /// Makes a rule of its parts.
    #[staticmethod]
    fn _of_parts(
        similarity: f64,
        recall: f64,
        bands: (u32, u32),
        distance: u32,
        margin: u16,
    ) -> PyResult<Self> {
        let jaccard = Jaccard::at_least(similarity).recall(recall);
        let rule = fpdb::MatchRule::of_bands(jaccard, bands, distance, margin).or_raise()?;
        Ok(Self { rule })
    }

    /// The Jaccard similarity that pairs are to have.
    #[getter]
    fn similarity(&self) -> f64 {
        self.jaccard().similarity()
    }

    /// The share of the pairs of exactly this similarity that are to be found.
    #[getter]
    fn recall(&self) -> f64 {
        self.jaccard().expected_recall()
    }

    /// How many bands a sketch has.
    #[getter]
    fn bands(&self) -> u32 {
        self.rule.bands().unwrap_or_default().0
    }

    /// Of how many minima each band consists.
    #[getter]
    fn minima(&self) -> u32 {
        self.rule.bands().unwrap_or_default().1
    }

    /// The number of minima of sketches that match may differ in, of 128.
    #[getter]
    fn distance(&self) -> u32 {
        self.rule.distance()
    }

    /// How much less similar two sketches may seem by their parities, in hundredths of the standard
    /// error.
    #[getter]
    fn margin(&self) -> u16 {
        self.rule.margin().unwrap_or_default()
    }

    /// Returns the bands of each sketch, as an array with a column per band. Sketches that match
    /// have an equal value in a column.
    fn bands_of<'py>(&self, sketches: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyArray2<u64>>> {
        Sketch::with_batch(sketches, |all| {
            let bands = all.iter().flat_map(|&sketch| self.rule.bands_of(sketch)).collect();
            let array = Array2::from_shape_vec((all.len(), self.bands() as usize), bands);
            Ok(array.expect("as many bands per sketch").into_pyarray(sketches.py()))
        })
    }

    /// Returns the distance of each of some sketches from the one of others at the same place, and
    /// 255 for those that do not match.
    fn distances<'py>(
        &self,
        a: &Bound<'py, PyAny>,
        b: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let matcher = self.rule.matcher();
        Sketch::with_batch(a, |left| {
            Sketch::with_batch(b, |right| {
                if left.len() != right.len() {
                    return Err(errors::invalid(format!(
                        "{} sketches and {} others: expected as many",
                        left.len(),
                        right.len()
                    )));
                }
                let distance =
                    |(&a, &b)| matcher.distance(a, b).and_then(|it| u8::try_from(it).ok());
                let found = left.iter().zip(right).map(|pair| distance(pair).unwrap_or(u8::MAX));
                Ok(array::<u8>(a.py(), found.collect()))
            })
        })
    }

    /// Prepares comparing these sketches with each other.
    fn _comparison(&self, sketches: &Bound<'_, PyAny>) -> PyResult<Comparison> {
        let matcher = self.rule.matcher();
        Sketch::with_batch(sketches, |all| Ok(Comparison { matcher, sketches: all.to_vec() }))
    }

    fn __repr__(&self) -> String {
        let Self { rule } = self;
        let (bands, minima) = rule.bands().unwrap_or_default();
        let (distance, margin) = (rule.distance(), self.margin());
        format!(
            "<MatchRule: {rule}; {bands} bands of {minima} minima, distance {distance}, margin {margin}>"
        )
    }

    fn __hash__(&self) -> u64 {
        let (bands, minima) = self.rule.bands().unwrap_or_default();
        let parts = [bands, minima, self.rule.distance(), self.margin().into()];
        parts
            .iter()
            .fold(self.similarity().to_bits(), |all, &part| all.wrapping_mul(31) ^ u64::from(part))
    }

    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let bands = (self.bands(), self.minima());
        let parts = (self.similarity(), self.recall(), bands, self.distance(), self.margin());
        let of_parts = py.get_type::<Self>().getattr("_of_parts")?;
        Ok((of_parts, parts).into_pyobject(py)?.into_any())
    }
}

/// Sketches that are compared with each other.
#[pyclass(frozen, module = "fpdb_engine._native", name = "_Comparison")]
pub(crate) struct Comparison {
    matcher: fpdb::Matcher,
    sketches: Vec<Sketch>,
}

#[pymethods]
impl Comparison {
    /// Compares the sketches from place `first` on, as many as there are ends, each with those that
    /// follow it up to its end, but with none before place `least`. Returns those that match: the
    /// places of both, and their distance.
    #[pyo3(signature = (first, ends, least = 0))]
    fn pairs<'py>(
        &self,
        py: Python<'py>,
        first: usize,
        ends: PyReadonlyArray1<'py, i64>,
        least: usize,
    ) -> PyResult<[Bound<'py, PyAny>; 3]> {
        let ends = ends.as_slice()?;
        let (a, b, distances) = py.detach(|| {
            let mut found: (Vec<i64>, Vec<i64>, Vec<u8>) = Default::default();
            for (place, &end) in (first..).zip(ends) {
                let Some(&sketch) = self.sketches.get(place) else { continue };
                let others = (0..end).zip(&self.sketches).skip(least.max(place + 1));
                for (other, &of_other) in others {
                    if let Some(distance) = self.matcher.distance(sketch, of_other) {
                        found.0.push(place as i64);
                        found.1.push(other);
                        found.2.push(byte(distance));
                    }
                }
            }
            found
        });
        Ok([array(py, a), array(py, b), array(py, distances)])
    }
}
